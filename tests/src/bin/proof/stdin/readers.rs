//! The readers of standard input, in this process.

use std::panic;
use std::path::Path;

use serde_json::{Map, Value};
use shared::answer;
use shared::document::Document;
use shared::stream::{Record, Records};
use shared::time::Timestamp;

use super::{ANSWERS, ID, examine, mutation, records, slices};
use crate::malformed::cards;
use crate::malformed::oracle::{self, Read};

const STREAMS: u64 = 10_000;
/// Mutated records of one stream, and sound ones among them.
const BROKEN: u64 = 12;
const SOUND: u64 = 3;
const ANSWER_MUTATIONS: u64 = 50_000;
const CARD_MUTATIONS: u64 = 30_000;

/// Reads a stream: its JSON values.
type Reader = fn(&[u8]) -> Result<Vec<Value>, String>;
/// Takes an answer into a card: the card's bytes, none when it is refused.
type Recorder = fn(&[u8], &str) -> Option<Vec<u8>>;

/// Returns the number of mutations.
pub(super) fn run(seed: u64) -> Result<u64, String> {
    (0..STREAMS).try_for_each(|number| stream(seed, number, read))?;
    checkpoints(seed, ANSWER_MUTATIONS, record)?;
    (0..CARD_MUTATIONS).try_for_each(|number| put(seed, number))?;
    Ok(STREAMS * BROKEN + ANSWER_MUTATIONS + CARD_MUTATIONS)
}

/// Returns the number of broken readers, all of which were noticed.
pub(super) fn control(seed: u64) -> Result<usize, String> {
    let stops: Reader = |bytes| {
        let sound = Records::new(bytes).map_while(|record| match record {
            Ok(Record::Bad(..)) | Err(_) => None,
            Ok(record) => Some(record),
        });
        Ok(sound.filter_map(|record| if let Record::Json(value) = record { Some(value) } else { None }).collect())
    };
    let swallows: Reader = |bytes| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let values = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
        Ok(values.map_while(Result::ok).collect())
    };
    let panics: Reader = |bytes| {
        std::str::from_utf8(bytes).expect("UTF-8");
        read(bytes)
    };
    let merges: Recorder = |bytes, card| {
        let mut object: Map<String, Value> = serde_json::from_str(card).ok()?;
        object.extend(serde_json::from_slice::<Map<String, Value>>(bytes).ok()?);
        Some(Document::new(object).bytes())
    };
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let missed = [("stops", stops), ("swallows", swallows), ("panics", panics)]
        .into_iter()
        .find(|(_, reader)| (0..500).all(|number| stream(seed, number, *reader).is_ok()));
    let merged = checkpoints(seed, 500, merges).is_ok();
    panic::set_hook(hook);
    if checkpoints(seed, 500, |_, _| None).is_ok() {
        return Err("a checkpoint that refuses everything was not noticed".to_owned());
    }
    match (missed, merged) {
        (Some((name, _)), _) => Err(format!("a reader of streams that {name} was not noticed")),
        (None, true) => Err("a checkpoint that takes every field was not noticed".to_owned()),
        (None, false) => Ok(5),
    }
}

fn read(bytes: &[u8]) -> Result<Vec<Value>, String> {
    let lines = bytes.split(|byte| *byte == b'\n').count() as u64;
    let mut values = Vec::new();
    for (count, record) in Records::new(bytes).enumerate() {
        if count > bytes.len() {
            return Err("there are more records than bytes".to_owned());
        }
        match record.map_err(|error| error.to_string())? {
            Record::Json(value) => values.push(value),
            Record::Word(word) if word.is_empty() || word.trim_ascii() != word => return Err(format!("a word {word:?}")),
            Record::Bad(line, why) if !(1..=lines).contains(&line) || why.is_empty() => {
                return Err(format!("line {line} of {lines} is bad: {why:?}"));
            }
            Record::Word(_) | Record::Bad(..) => {}
        }
    }
    Ok(values)
}

/// Sound records stand among broken ones, each on a line of its own: none may be lost.
fn stream(seed: u64, number: u64, read: Reader) -> Result<(), String> {
    let texts = records(&["t", "report_1", "x.y-2"]);
    let mut bytes = Vec::new();
    for part in 0..BROKEN {
        bytes.extend(mutation(seed, number * BROKEN + part, &slices(&texts)));
        bytes.push(b'\n');
        if part % (BROKEN / SOUND) == 1 {
            let sound = format!("{{\"signal\":\"alert\",\"task_id\":\"sound_{}\"}}\n", part / (BROKEN / SOUND));
            bytes.extend_from_slice(sound.as_bytes());
        }
    }
    examine(seed, number, &bytes, |bytes| {
        let values = read(bytes)?;
        let mut found = Vec::new();
        values.iter().for_each(|value| collect(value, &mut found));
        let expected: Vec<String> = (0..SOUND).map(|sound| format!("sound_{sound}")).collect();
        if found == expected { Ok(()) } else { Err(format!("of {expected:?} there came {found:?}")) }
    })
}

fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(object) => match object.get("task_id").and_then(Value::as_str) {
            Some(id) if id.starts_with("sound_") => found.push(id.to_owned()),
            _ => object.values().for_each(|item| collect(item, found)),
        },
        _ => {}
    }
}

fn at() -> Timestamp {
    Timestamp::parse(cards::NOW).expect("a time").0
}

fn record(bytes: &[u8], card: &str) -> Option<Vec<u8>> {
    let object: Map<String, Value> = serde_json::from_slice(bytes).ok()?;
    if object.contains_key("revision") {
        return None;
    }
    let answer = answer::parse(object, Path::new("/w")).ok()?;
    let (mut document, _) = Document::parse(card.as_bytes(), ID).ok()?;
    answer.entry.apply(&mut document, true, at());
    let bytes = document.bytes();
    Document::validate(&bytes, ID).ok().map(|()| bytes)
}

/// Fields that no checkpoint on standard input changes; without them its own rules would not hold.
pub(super) const PROTECTED: &[&str] = &[
    "schema_version",
    "task_id",
    "task_type",
    "title",
    "created_at",
    "resume_adapter",
    "resume_argv",
    "cwd",
    "path",
    "allow_auto_resume",
    "stale_after_minutes",
    "max_retries",
    "max_failures",
    "failures",
    "attempt",
    "timeout_seconds",
    "cooldown_seconds",
    "give_up_after_minutes",
    "manual_phases",
    "approved_at",
    "permit",
    "run",
    "outcome",
    "note",
];

fn checkpoints(seed: u64, count: u64, record: Recorder) -> Result<(), String> {
    let mut recorded = 0;
    for number in 0..count {
        recorded += u64::from(checkpoint(seed, number, record)?);
    }
    // Who refuses everything breaks nothing.
    if recorded >= count / 20 { Ok(()) } else { Err(format!("{recorded} of {count} answers were recorded: that proves nothing")) }
}

/// Returns whether it was recorded.
fn checkpoint(seed: u64, number: u64, record: Recorder) -> Result<bool, String> {
    let texts: Vec<&[u8]> = ANSWERS.iter().map(|answer| answer.as_bytes()).collect();
    let card = cards::named(cards::SILENT, ID);
    let mut is_recorded = false;
    examine(seed, number, &mutation(seed, (1 << 41) + number, &texts), |bytes| {
        let recorded = record(bytes, &card);
        let sound = is_answer(bytes);
        is_recorded = recorded.is_some();
        match recorded {
            Some(after) if sound => unchanged(card.as_bytes(), &after, PROTECTED),
            Some(_) => Err("what is no answer was recorded".to_owned()),
            None => Ok(()),
        }
    })?;
    Ok(is_recorded)
}

/// That a card still is one, and has these fields as they were.
pub(super) fn unchanged(before: &[u8], after: &[u8], names: &[&str]) -> Result<(), String> {
    match (oracle::read(before, ID), oracle::read(after, ID)) {
        (Read::Card(before), Read::Card(after)) => match names.iter().find(|name| before.get(**name) != after.get(**name)) {
            Some(name) => Err(format!("{name} was changed: {:?}", after.get(*name))),
            None => Ok(()),
        },
        (_, after) => Err(format!("the card is none any more: {after:?}")),
    }
}

/// Whether this may be an adapter's answer: an object whose known fields have their types.
pub(super) fn is_answer(bytes: &[u8]) -> bool {
    let Ok(object) = serde_json::from_slice::<Map<String, Value>>(bytes) else { return false };
    let is_name =
        |value: &Value| value.as_str().is_some_and(|name| (1..=256).contains(&name.len()) && !name.chars().any(char::is_control));
    object.iter().all(|(name, value)| match name.as_str() {
        "revision" => false,
        "phase" | "next_phase" | "reason" => is_name(value),
        "message" => value.is_string(),
        "status" => ["running", "stalled", "needs_attention", "completed", "failed", "cancelled", "done", "blocked"]
            .iter()
            .any(|status| value == status),
        "continue" => value.is_boolean(),
        "retry_after_seconds" => value.as_f64().is_some_and(|seconds| seconds.is_finite() && seconds >= 0.0),
        "artifacts" | "context" | "metadata" => value.is_object(),
        "steps" => value.as_array().is_some_and(|steps| steps.iter().all(|step| step.get("name").is_some_and(is_name))),
        _ => true,
    })
}

fn put(seed: u64, number: u64) -> Result<(), String> {
    let texts: Vec<String> = cards::CARDS.iter().map(|(card, _)| cards::named(card, ID)).collect();
    examine(seed, number, &mutation(seed, (1 << 42) + number, &slices(&texts)), |bytes| {
        let is_card = matches!(oracle::read(bytes, ID), Read::Card(_));
        match Document::parse(bytes, ID) {
            Ok((mut wanted, _)) if is_card => {
                wanted.adopt();
                Document::validate(&wanted.bytes(), ID).map_err(|error| error.detail)
            }
            Ok(_) => Err("what is no card was taken".to_owned()),
            Err(_) if is_card => Err("a card was refused".to_owned()),
            Err(_) => Ok(()),
        }
    })
}
