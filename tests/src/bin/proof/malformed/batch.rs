//! Folders of mutated cards, with healthy silent ones among them, through the real `watch`.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;
use shared::card::Card;
use shared::facts::host_name;
use tests::Workspace;

use super::due::{DONE, OPEN, Start, World, decide};
use super::oracle::{self, Read};
use super::{cards, failure};
use crate::mutator::{mutate, shown};
use crate::random::Random;

const FOLDERS: u64 = 2;
const CARDS: u64 = 4000;
const SENTINELS: u64 = 10;

/// Says what `watch` prints about a workspace: its lines.
type Watch = fn(&Workspace) -> Result<Vec<Value>, String>;

/// Returns the number of cards.
pub(super) fn run(seed: u64) -> Result<u64, String> {
    for folder in 0..FOLDERS {
        folder_of_mutations(seed, folder, CARDS, watch)?;
    }
    Ok(FOLDERS * CARDS)
}

/// One `watch` that stops at the first card that it cannot read, and one that passes over them in silence.
pub(super) fn control(seed: u64) -> Result<String, String> {
    let stops: Watch = |workspace| {
        let mut lines = watch(workspace)?;
        let broken =
            lines.iter().filter(|line| text(line, "reason") == "card_invalid").map(|line| text(line, "task_id").to_owned());
        let first = broken.min().unwrap_or_default();
        lines.retain(|line| text(line, "task_id") <= first.as_str());
        Ok(lines)
    };
    let passes_over: Watch = |workspace| {
        let mut lines = watch(workspace)?;
        lines.retain(|line| !text(line, "reason").starts_with("card_"));
        Ok(lines)
    };
    for (name, broken) in [("stops at the first broken card", stops), ("passes over broken cards", passes_over)] {
        if folder_of_mutations(seed, 0, 200, broken).is_ok() {
            return Err(format!("a watch that {name} was not noticed"));
        }
    }
    Ok("2 broken watches noticed".to_owned())
}

fn watch(workspace: &Workspace) -> Result<Vec<Value>, String> {
    let ran = workspace.run("watch", &["--now", cards::NOW]);
    if ran.status() != Some(0) || !ran.stderr().is_empty() {
        return Err(format!("watch ended with {}: {}", ran.exit(), shown(ran.stderr().as_bytes())));
    }
    ran.stdout().lines().map(|line| serde_json::from_str(line).map_err(|error| format!("{error}: {line}"))).collect()
}

fn text<'a>(line: &'a Value, name: &str) -> &'a str {
    line.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn folder_of_mutations(seed: u64, folder: u64, count: u64, watch: Watch) -> Result<(), String> {
    let workspace = Workspace::new();
    let put = |id: &str, bytes: &[u8]| {
        fs::write(workspace.card_path(&format!("{id}.json")), bytes).map_err(|error| format!("{id}: {error}"))
    };
    put(DONE, format!(r#"{{"task_id":"{DONE}","status":"completed"}}"#).as_bytes())?;
    put(OPEN, cards::named(cards::HEALTHY, OPEN).as_bytes())?;
    let sentinels: Vec<String> =
        (0..SENTINELS).map(|number| format!("m_{:05}_sentinel", number * count / (SENTINELS - 1))).collect();
    for id in &sentinels {
        put(id, cards::named(cards::SILENT, id).as_bytes())?;
    }
    let host = host_name();
    let mut written = Vec::new();
    for number in 0..count {
        // Numbers beyond those of the mutations in this process.
        let number_in_all = (1 << 40) + folder * count + number;
        let id = format!("m_{number:05}");
        let texts: Vec<String> =
            cards::CARDS.iter().map(|(card, _)| cards::named(card, &id).replace("\"here\"", &format!("{host:?}"))).collect();
        let texts: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
        let mut random = Random::new(seed, number_in_all);
        let bytes = mutate(random.pick(&texts), &texts, &mut random);
        put(&id, &bytes)?;
        written.push((number_in_all, id, bytes));
    }
    let mut lines: BTreeMap<String, Value> = BTreeMap::new();
    for line in watch(&workspace)? {
        if let Some(twice) = lines.insert(text(&line, "task_id").to_owned(), line) {
            return Err(format!("watch has two lines about one card: {twice}"));
        }
    }
    for id in &sentinels {
        let line = lines.remove(id).unwrap_or_default();
        if (text(&line, "signal"), text(&line, "reason")) != ("alert", "silent") {
            return Err(format!("folder {folder} of seed {seed}: the healthy silent card {id} is hidden: {line}"));
        }
    }
    let world = World::quiet(&host, &workspace.path(""));
    let mut listed = 2 + sentinels.len();
    for (number, id, bytes) in &written {
        let line = lines.remove(id);
        if let Err(why) = expect(&world, id, bytes, line.as_ref(), &mut listed) {
            return Err(failure(seed, *number, bytes, &format!("{why}: {}", line.unwrap_or_default())));
        }
    }
    if let Some((id, line)) = lines.first_key_value() {
        return Err(format!("watch has a line about {id}, which is no card of the folder: {line}"));
    }
    let list = workspace.run("card", &["list"]);
    let found = list.stdout().lines().count();
    if list.status() != Some(65) || found != listed {
        return Err(format!("card list ended with {} and printed {found} cards of {listed}", list.exit()));
    }
    Ok(())
}

fn expect(world: &World, id: &str, bytes: &[u8], line: Option<&Value>, listed: &mut usize) -> Result<(), String> {
    let signal = line.map(|line| (text(line, "signal"), text(line, "reason")));
    match oracle::read(bytes, id) {
        Read::Card(card) => {
            *listed += 1;
            if signal.is_some_and(|(_, reason)| reason.starts_with("card_")) {
                return Err("watch cannot read what is a card".to_owned());
            }
            let start = match signal {
                Some(("alert", reason)) => Start::For(reason),
                Some(("ready", _)) => Start::For("ready"),
                _ => Start::Not,
            };
            match decide(&card, world) {
                Start::Either => Ok(()),
                expected if expected == start => Ok(()),
                expected => Err(format!("watch would start it for {start:?}, the second judge says {expected:?}")),
            }
        }
        read => {
            // Of what no verdict needs, watch looks at nothing as long as the card needs nothing.
            let may_be_silent = Card::parse(bytes, id).is_ok();
            match signal {
                Some(("needs_attention", "card_invalid" | "card_unknown_version")) => Ok(()),
                None if may_be_silent => Ok(()),
                _ => Err(format!("watch does not say that this is no card ({read:?})")),
            }
        }
    }
}
