//! `card schema`, and the cards in `fixtures/cards`: the schema and the programs tell cards from what is none alike.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::process::Command;

use regex_lite::Regex;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tests::{Workspace, minutes_from_now, root};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A time at which the fixtures are due.
const NOW: &str = "2026-12-01T00:00:00Z";

/// The schema, read by the rules of JSON Schema 2020-12. It has only the keywords that the card's schema uses: any other one is an
/// error here, because skipping it would accept too much.
struct Schema {
    whole: Value,
    patterns: HashMap<String, Regex>,
}

impl Schema {
    fn read() -> Self {
        let whole: Value = serde_json::from_str(&fs::read_to_string(root().join("card/schema.json")).unwrap()).unwrap();
        let mut patterns = HashMap::new();
        collect_patterns(&whole, &mut patterns);
        Self { whole, patterns }
    }

    fn accepts(&self, card: &Value) -> bool {
        self.fits(&self.whole, card)
    }

    fn fits(&self, schema: &Value, value: &Value) -> bool {
        let (object, array, text) = (value.as_object(), value.as_array(), value.as_str());
        let listed = |wanted: &Value| wanted.as_array().unwrap().clone();
        schema.as_object().unwrap().iter().all(|(keyword, wanted)| match keyword.as_str() {
            "$schema" | "$id" | "$defs" | "title" | "description" | "default" | "deprecated" => true,
            "$ref" => self.fits(self.definition(wanted), value),
            "allOf" => listed(wanted).iter().all(|one| self.fits(one, value)),
            "anyOf" => listed(wanted).iter().any(|one| self.fits(one, value)),
            "type" => has_type(wanted.as_str().unwrap(), value),
            "const" => is_same(wanted, value),
            "enum" => listed(wanted).iter().any(|one| is_same(one, value)),
            "minimum" => !value.is_number() || !is_less(value, wanted),
            "maximum" => !value.is_number() || !is_less(wanted, value),
            "maxLength" => text.is_none_or(|text| text.chars().count() <= usize::try_from(count(wanted)).unwrap()),
            "pattern" => text.is_none_or(|text| self.patterns[wanted.as_str().unwrap()].is_match(text)),
            "required" => object.is_none_or(|object| listed(wanted).iter().all(|name| object.contains_key(name.as_str().unwrap()))),
            "properties" => wanted.as_object().unwrap().iter().all(|(name, one)| {
                let inner = object.and_then(|object| object.get(name));
                inner.is_none_or(|inner| self.fits(one, inner))
            }),
            "additionalProperties" => {
                let named = |name: &str| schema.get("properties").is_some_and(|properties| properties.get(name).is_some());
                object.is_none_or(|object| object.iter().all(|(name, inner)| named(name) || self.fits(wanted, inner)))
            }
            "items" => array.is_none_or(|items| items.iter().all(|item| self.fits(wanted, item))),
            other => panic!("{other} is no keyword that is known here"),
        })
    }

    fn definition(&self, reference: &Value) -> &Value {
        let pointer = reference.as_str().unwrap().strip_prefix('#').unwrap();
        self.whole.pointer(pointer).unwrap_or_else(|| panic!("{reference} leads nowhere"))
    }

    /// The properties that the schema names and no value here has, deprecated ones aside.
    fn unused(&self, schema: &Value, value: &Value) -> Vec<String> {
        let schema = schema.get("$ref").map_or(schema, |reference| self.definition(reference));
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let mut unused = Vec::new();
        for (name, one) in properties.filter(|(_, one)| one.get("deprecated").is_none()) {
            match value.get(name) {
                Some(value) => unused.extend(self.unused(one, value).into_iter().map(|inner| format!("{name}.{inner}"))),
                None => unused.push(name.clone()),
            }
        }
        let all_items = |one: &Value, items: &mut dyn Iterator<Item = &Value>| {
            items.map(|item| self.unused(one, item)).min_by_key(Vec::len).unwrap_or_else(|| vec!["an item".to_owned()])
        };
        match (schema.get("items"), schema.get("additionalProperties"), value) {
            (Some(one), _, Value::Array(items)) => unused.extend(all_items(one, &mut items.iter())),
            (_, Some(one), Value::Object(items)) => unused.extend(all_items(one, &mut items.values())),
            _ => {}
        }
        unused
    }
}

fn collect_patterns(schema: &Value, patterns: &mut HashMap<String, Regex>) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::String(pattern)) = object.get("pattern") {
                patterns.insert(pattern.clone(), Regex::new(pattern).unwrap());
            }
            object.values().for_each(|value| collect_patterns(value, patterns));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_patterns(item, patterns)),
        _ => {}
    }
}

fn has_type(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => whole(value).is_some() || (value.is_number() && float(value).fract() == 0.0),
        other => panic!("{other} is no type that is known here"),
    }
}

fn whole(number: &Value) -> Option<i128> {
    number.to_string().parse().ok()
}

/// Infinite beyond what a float can be.
fn float(number: &Value) -> f64 {
    number.to_string().parse().unwrap()
}

fn is_less(one: &Value, other: &Value) -> bool {
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => one < other,
        _ => float(one) < float(other),
    }
}

fn is_same(one: &Value, other: &Value) -> bool {
    if one.is_number() && other.is_number() { !is_less(one, other) && !is_less(other, one) } else { one == other }
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

/// The fixtures of a folder: ID and content.
fn fixtures(folder: &str) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join("tests/fixtures/cards").join(folder)).unwrap() {
        let path = entry.unwrap().path();
        let id = path.file_name().unwrap().to_str().unwrap().strip_suffix(".json").unwrap().to_owned();
        assert!(id.len() <= 128 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{id} is no good ID");
        let bytes = fs::read(path).unwrap();
        if let Ok(card) = serde_json::from_slice::<Value>(&bytes)
            && let Some(own) = card.get("task_id").or(card.get("id")).and_then(Value::as_str)
        {
            assert!(own == id || id.starts_with("task_id_") || id.starts_with("id_"), "{id} says that it is {own}");
        }
        found.push((id, bytes));
    }
    found.sort();
    found
}

fn valid_fixtures() -> Vec<(String, String, Value)> {
    let read = |(id, bytes)| {
        let text = String::from_utf8(bytes).unwrap();
        let card = serde_json::from_str(&text).unwrap();
        (id, text, card)
    };
    fixtures("valid").into_iter().map(read).collect()
}

/// What `watch` says about each card of the workspace.
fn reasons(workspace: &Workspace, args: &[&str]) -> BTreeMap<String, String> {
    let text = |line: &Value, name: &str| line[name].as_str().unwrap_or_default().to_owned();
    let lines = workspace.run("watch", &[args, &["--now", NOW]].concat()).ok().is_quiet().json();
    let found: BTreeMap<_, _> = lines.iter().map(|line| (text(line, "task_id"), text(line, "reason"))).collect();
    assert_eq!(found.len(), lines.len(), "a card has more than one line");
    found
}

#[test]
fn the_schema_is_printed_as_it_is_and_explains_every_property() {
    let workspace = Workspace::new();
    let text = fs::read_to_string(root().join("card/schema.json")).unwrap();
    assert_eq!(workspace.run("card", &["schema"]).ok().is_quiet().stdout(), text);
    let schema = Schema::read().whole;
    assert_eq!(text, format!("{schema:#}\n"), "it is indented with two spaces");
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["$id"], "urn:task-recovery:card:1");
    let explained = |schema: &Value| schema["description"].as_str().is_some_and(|text| text.len() > 10 && text.ends_with('.'));
    assert!(explained(&schema));
    let mut count = 0;
    let mut waiting = vec![("", &schema)];
    while let Some((at, schema)) = waiting.pop() {
        match schema {
            Value::Object(object) => {
                // Below "allOf" there are conditions on properties that are explained where they stand.
                for (name, inner) in object.iter().filter(|(name, _)| *name != "allOf") {
                    if at == "properties" {
                        assert!(explained(inner), "{name} is not explained");
                        count += 1;
                    }
                    waiting.push((name, inner));
                }
            }
            Value::Array(items) => waiting.extend(items.iter().map(|item| ("", item))),
            _ => {}
        }
    }
    assert!(count > 70, "{count}");
}

#[test]
fn what_is_valid_loads_everywhere() {
    let schema = Schema::read();
    let workspace = Workspace::new();
    let cards = valid_fixtures();
    for (id, text, card) in &cards {
        assert!(schema.accepts(card), "{id}");
        workspace.put_card(id, text);
    }
    for args in [&["--explain"] as &[&str], &[]] {
        for (id, reason) in reasons(&workspace, args) {
            assert!(!reason.starts_with("card_"), "{id}: {reason}");
        }
    }
    assert_eq!(reasons(&workspace, &["--explain"]).len(), cards.len());
    let listed = workspace.run("card", &["list"]).ok().is_quiet().json();
    assert_eq!(listed, cards.iter().map(|(_, _, card)| card.clone()).collect::<Vec<_>>());
    for (id, _, card) in &cards {
        assert_eq!(workspace.run("card", &["show", id]).ok().is_quiet().one(), *card, "{id}");
    }
    let (_, _, every) = cards.iter().find(|(id, _, _)| id == "every_field").unwrap();
    assert_eq!(schema.unused(&schema.whole, every), [""; 0]);
}

fn expect_refused(folder: &str) {
    let schema = Schema::read();
    let workspace = Workspace::new();
    let cards = fixtures(folder);
    for (id, bytes) in &cards {
        // What is no JSON at all never comes before a schema.
        let parsed: Option<Value> = serde_json::from_slice(bytes).ok();
        match folder {
            "invalid" => assert!(!schema.accepts(&parsed.unwrap()), "{id} is valid by the schema"),
            _ => assert!(parsed.is_none_or(|card| schema.accepts(&card)), "{id} is seen by the schema: it belongs to the others"),
        }
        fs::write(workspace.card_path(&format!("{id}.json")), bytes).unwrap();
    }
    let found = reasons(&workspace, &[]);
    for (id, _) in &cards {
        let expected = if id.starts_with("other_version") { "card_unknown_version" } else { "card_invalid" };
        assert_eq!(found.get(id).map(String::as_str), Some(expected), "{id}");
        workspace.run("card", &["show", id]).exits(65).complains(id);
    }
    assert_eq!(workspace.run("card", &["list"]).exits(65).stdout(), "");
    assert_eq!((found.len(), reasons(&workspace, &["--explain"])), (cards.len(), found.clone()));
}

#[test]
fn what_is_invalid_is_refused_by_the_schema_and_by_the_programs() {
    expect_refused("invalid");
}

#[test]
fn what_no_schema_sees_is_refused_by_the_programs() {
    expect_refused("invalid-to-readers");
}

/// Places in a value, as JSON pointers.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(object) => object.iter().map(|(name, inner)| (name.replace('~', "~0").replace('/', "~1"), inner)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(index, inner)| (index.to_string(), inner)).collect(),
        _ => Vec::new(),
    };
    for (name, inner) in inner {
        let at = format!("{at}/{name}");
        places(inner, &at, found);
        found.push(at);
    }
}

/// The card without the field at this place, if that is a field.
fn without(card: &Value, place: &str) -> Option<Value> {
    let mut card = card.clone();
    let (outer, name) = place.rsplit_once('/').unwrap();
    card.pointer_mut(outer)?.as_object_mut()?.shift_remove(name)?;
    Some(card)
}

/// Every value of two cards, replaced by one of each kind and taken away: no field has another type for the programs than the
/// schema says.
#[test]
fn every_field_has_the_type_that_the_schema_says() {
    let schema = Schema::read();
    let workspace = Workspace::new();
    let probes = [
        json!(null),
        json!(true),
        json!(-1),
        json!(0),
        json!(1),
        json!(""),
        json!("x y"),
        json!("running"),
        json!("2026-11-30T01:00:00Z"),
        json!([]),
        json!([1]),
        json!(["a"]),
        json!([{"at": "2026-11-30T01:00:00Z"}]),
        json!({}),
        json!({"a": 1}),
        json!({"a": "b"}),
    ];
    let mut cases = BTreeMap::new();
    for (_, _, base) in valid_fixtures().iter().filter(|(id, _, _)| id == "every_field" || id == "predecessor_blocked") {
        let mut found = Vec::new();
        places(base, "", &mut found);
        // That an ID is the file's name is another question.
        found.retain(|place| place != "/task_id" && place != "/id");
        for place in found {
            let replaced = probes.iter().map(|probe| {
                let mut card = base.clone();
                *card.pointer_mut(&place).unwrap() = probe.clone();
                (card, probe.to_string())
            });
            for (mut card, what) in replaced.chain(without(base, &place).map(|card| (card, "taken away".to_owned()))) {
                let id = format!("case_{}", cases.len());
                let name = if card.get("id").is_some() { "id" } else { "task_id" };
                card[name] = id.as_str().into();
                workspace.put_card(&id, &card.to_string());
                cases.insert(id, (format!("{place}: {what}"), schema.accepts(&card)));
            }
        }
    }
    assert!(cases.len() > 1000, "{}", cases.len());
    for (id, reason) in reasons(&workspace, &["--explain"]) {
        let (what, accepted) = &cases[&id];
        assert_eq!(!reason.starts_with("card_"), *accepted, "{what}: {reason:?}");
    }
}

#[test]
fn the_defaults_are_those_that_hold() {
    let schema = Schema::read().whole;
    let says = |name: &str, words: &str| {
        let description = schema["properties"][name]["description"].as_str().unwrap();
        assert!(description.contains(words), "{name}: {words}: {description}");
    };
    let workspace = Workspace::new();
    let created = minutes_from_now(-60);
    workspace.put_card("bare", &json!({"task_id": "bare", "status": "running", "created_at": created}).to_string());
    let bare = workspace.run("watch", &["--explain", "bare"]).ok().one();
    for name in ["allow_auto_resume", "retry_count", "max_retries", "failures", "max_failures"] {
        says(name, &format!("Default {}.", bare[name]));
        assert_eq!(schema["properties"][name]["default"], bare[name], "{name}");
    }
    says("stale_after_minutes", &format!("Default {}, but 0 for a plain command", bare["stale_after_minutes"]));

    let command = json!(["sh", "-c", "printf %s \"$TASK_TIMEOUT_SECONDS\" >plain"]);
    let plain = json!({"task_id": "plain", "status": "pending", "created_at": created, "resume_argv": command});
    workspace.put_card("plain", &plain.to_string());
    assert_eq!(workspace.run("watch", &["--explain", "plain"]).ok().one()["stale_after_minutes"], 0);

    let adapter = workspace.write("adapter.sh", "#!/bin/sh\nprintf %s \"$TASK_TIMEOUT_SECONDS\" >adapter\nexit 1\n");
    let phased = json!({"task_id": "phased", "status": "running", "created_at": created, "phase": "collect",
        "allow_auto_resume": true, "resume_adapter": tests::word(&adapter)});
    workspace.put_card("phased", &phased.to_string());
    let limit = &schema["properties"]["give_up_after_minutes"]["default"];
    let due = -30 + i64::try_from(count(limit)).unwrap();
    let explain = |minutes: i64| workspace.run("watch", &["--explain", "phased", "--now", &minutes_from_now(minutes)]).ok().one();
    assert_eq!(explain(due - 1)["verdict"], "alert");
    let old = explain(due + 1);
    assert_eq!(old["reason"], "too_old");
    assert!(old["detail"].as_str().unwrap().contains(&format!("the limit is {limit} (give_up_after_minutes)")), "{old}");
    says("give_up_after_minutes", &format!("Default {limit}, three days."));

    workspace.run("resume", &["plain", "phased"]).ok();
    says("timeout_seconds", &format!("Default {} with an adapter", workspace.lines("adapter")[0]));
    says("timeout_seconds", &format!("but {} for a plain command", workspace.lines("plain")[0]));
    let card = workspace.card("phased");
    let at = |value: &Value| OffsetDateTime::parse(value.as_str().unwrap(), &Rfc3339).unwrap();
    let waits = (at(&card["not_before"]) - at(&card["outcome"]["at"])).whole_seconds();
    let first = i64::try_from(count(&schema["properties"]["cooldown_seconds"]["default"])).unwrap();
    assert!((first..=first + 1).contains(&waits), "{card}");
    says("cooldown_seconds", &format!("Default {first}."));
}

/// The fields of a card in their order, each with its text.
fn fields(text: &str) -> Vec<(String, Box<RawValue>)> {
    let order: Map<String, Value> = serde_json::from_str(text).unwrap();
    let mut texts: HashMap<String, Box<RawValue>> = serde_json::from_str(text).unwrap();
    order.keys().map(|name| (name.clone(), texts.remove(name).unwrap())).collect()
}

/// A time without offset as it is written when a card is taken over.
fn with_offset(time: &Value) -> Value {
    let text = time.as_str().unwrap();
    if text.ends_with(['Z', 'z']) || text[19..].contains(['+', '-']) {
        return time.clone();
    }
    format!("{}T{}Z", &text[..10], &text[11..19]).into()
}

fn with_offset_in(object: &Value, name: &str) -> Value {
    let mut object = object.clone();
    if let Some(time) = object.get_mut(name) {
        *time = with_offset(time);
    }
    object
}

/// Artifacts that stand by themselves, put under the phase.
fn by_phase(artifacts: &Value, phase: &str) -> Value {
    let (flat, mut kept): (Map<_, _>, Map<_, _>) =
        artifacts.as_object().unwrap().clone().into_iter().partition(|(_, value)| value.is_string());
    if !flat.is_empty() {
        kept.insert(format!("phase_{phase}"), flat.into());
    }
    kept.into()
}

fn with_checkpoint(checkpoints: &Value, phase: &Value, at: &Value) -> Value {
    let mut entries: Vec<Value> = checkpoints.as_array().unwrap().iter().map(|entry| with_offset_in(entry, "at")).collect();
    entries.push(json!({"phase": phase, "at": at, "message": "m"}));
    let surplus = entries.len().saturating_sub(100);
    entries.drain(..surplus);
    entries.into()
}

#[test]
fn a_checkpoint_keeps_the_very_text_of_what_it_is_not_about() {
    let schema = Schema::read();
    let workspace = Workspace::new();
    let before = minutes_from_now(-1);
    for (id, text, card) in valid_fixtures() {
        workspace.put_card(&id, &text);
        let ran = workspace.run("checkpoint", &[&id, "--message", "m"]);
        let written = fs::read_to_string(workspace.card_path(&format!("{id}.json"))).unwrap();
        let status = card["status"].as_str().unwrap();
        if matches!(status, "completed" | "failed" | "cancelled" | "done") {
            ran.exits(77).complains("never changes again");
            assert_eq!(written, text, "{id}");
            continue;
        }
        ran.ok();
        let now = workspace.card(&id);
        assert!(schema.accepts(&now), "{id} is no longer valid\n{written}");
        for name in ["updated_at", "last_checkpoint_at"] {
            let time = now[name].as_str().unwrap();
            assert!(time > before.as_str() && time.len() == 20 && time.ends_with('Z'), "{id}: {name} is {time}");
        }
        let phase = card.get("phase").cloned().unwrap_or_else(|| "".into());

        let after = fields(&written);
        let mut order = Vec::new();
        for (name, text) in fields(&text) {
            let value = &card[&name];
            let renamed = match name.as_str() {
                "id" if card.get("task_id").is_none() => "task_id",
                "meta" if card.get("metadata").is_none() => "metadata",
                other => other,
            };
            if renamed == "not_before" && matches!(status, "pending" | "stalled") {
                assert_eq!(now.get("not_before"), None, "{id}");
                continue;
            }
            order.push(renamed.to_owned());
            let expected = match renamed {
                "revision" | "checkpoint_count" => json!(count(value) + 1),
                "updated_at" | "last_checkpoint_at" => now[renamed].clone(),
                "checkpoints" => with_checkpoint(value, &phase, &now["last_checkpoint_at"]),
                "retry_count" => json!(0),
                "status" => match status {
                    "pending" | "stalled" => json!("running"),
                    "blocked" => json!("needs_attention"),
                    _ => value.clone(),
                },
                "artifacts" => by_phase(value, phase.as_str().unwrap()),
                "created_at" | "approved_at" | "not_before" => with_offset(value),
                "run" => with_offset_in(value, "started_at"),
                "outcome" => with_offset_in(value, "at"),
                "attention" => with_offset_in(value, "since"),
                _ => value.clone(),
            };
            assert_eq!(now[renamed], expected, "{id}: {renamed}");
            if expected == *value && renamed == name {
                let (_, written) = after.iter().find(|(other, _)| other == renamed).unwrap();
                assert_eq!(written.get(), text.get(), "{id}: {renamed}");
            }
        }

        let names: Vec<&String> = after.iter().map(|(name, _)| name).collect();
        let (old, new) = names.split_at(order.len());
        assert_eq!(old, order.iter().collect::<Vec<_>>(), "{id}: fields keep their places");
        for name in new {
            match name.as_str() {
                "revision" => assert_eq!(now[*name], 1, "{id}"),
                // Those that the card shows were counted by nobody yet.
                "checkpoint_count" => assert_eq!(now[*name], card["checkpoints"].as_array().map_or(0, Vec::len) + 1, "{id}"),
                "updated_at" | "last_checkpoint_at" => {}
                "checkpoints" => assert_eq!(now[*name], with_checkpoint(&json!([]), &phase, &now["last_checkpoint_at"]), "{id}"),
                "manual_phases" => assert_eq!((&now[*name], &card["safe_to_retry"]), (&json!([phase]), &json!(false)), "{id}"),
                other => panic!("{id}: {other} is new"),
            }
        }
    }
}

/// The validator above could be wrong in the same way as the schema.
#[test]
fn a_validator_of_others_agrees() {
    const SCRIPT: &str = "
import json, pathlib, sys
from jsonschema import Draft202012Validator as Validator
read = lambda path: json.loads(path.read_text(encoding='utf-8'))
schema = read(pathlib.Path('card/schema.json'))
Validator.check_schema(schema)
for path in pathlib.Path('tests/fixtures/cards', sys.argv[1]).iterdir():
    if Validator(schema).is_valid(read(path)): print(path.stem)
";
    if !tests::has_tool("python3") {
        return;
    }
    let python = |args: &[&str]| Command::new("python3").arg("-c").args(args).current_dir(root()).output().unwrap();
    if !python(&["import jsonschema"]).status.success() {
        return tests::skip("python3 has no jsonschema");
    }
    let accepted = |folder: &str| {
        let output = python(&[SCRIPT, folder]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut ids: Vec<String> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
        ids.sort();
        ids
    };
    assert_eq!(accepted("valid"), valid_fixtures().into_iter().map(|(id, _, _)| id).collect::<Vec<_>>());
    // Python's "$" also matches before a last newline.
    assert_eq!(accepted("invalid"), ["time_ends_with_newline"]);
}
