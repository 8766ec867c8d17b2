//! Odd cards by hand, each through the real `watch`, `card show` and `checkpoint`, beside two healthy silent ones.
//!
//! Each kind of oddness has one answer: the line of `watch`, the exit status of the others, and
//! that a card which is none stays byte by byte as it is.

use std::fs;

use serde_json::Value;
use tests::Workspace;

use super::cards;
use crate::mutator::shown;
use Answer::{Attention, Broken, BrokenFurtherIn, Finished, Quiet, Start};
use list::{FIELDS, FILES};

mod list;

/// How a program ended: its status, stdout, stderr.
type Ended = (Option<i32>, String, String);
/// Runs a program of ours.
type Programs = fn(&Workspace, &str, &[&str]) -> Ended;

/// What the programs do with a card.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Answer {
    /// It is none: an attention with this reason; exit status 65, or 74 for one that cannot be read.
    Broken(&'static str),
    /// It is none, but in something that no verdict needs, and it needs nothing: `watch` does not look that far.
    BrokenFurtherIn,
    /// It is to be started for this reason.
    Start(&'static str),
    /// It is a card, and needs a person for this reason.
    Attention(&'static str),
    /// It is a card that needs nothing.
    Quiet,
    /// It is finished, and never changes again.
    Finished,
}

/// A card that is silent, field by field. `TASK` is its file's name.
const BASE: [(&str, &str); 8] = [
    ("task_id", "\"TASK\""),
    ("task_type", "\"report\""),
    ("status", "\"running\""),
    ("phase", "\"collect\""),
    ("resume_adapter", "\"/bin/sh\""),
    ("allow_auto_resume", "true"),
    ("created_at", "\"2026-11-30T22:00:00Z\""),
    ("revision", "4"),
];

/// Returns the number of cards.
pub(super) fn run() -> Result<usize, String> {
    let programs: Programs = |workspace, program, args| {
        let ran = workspace.run(program, args);
        (ran.status(), ran.stdout(), ran.stderr())
    };
    let cases = cases();
    cases.iter().try_for_each(|case| examine(case, programs))?;
    Ok(cases.len())
}

/// A `watch` that is content with what it has when something is broken, and a `card show` that shows anything.
pub(super) fn control() -> Result<String, String> {
    let stops: Programs = |workspace, program, args| {
        let ran = workspace.run(program, args);
        let stdout = ran.stdout();
        let keep = |line: &&str| !stdout.contains("\"card_") || !line.contains("z_healthy");
        (ran.status(), stdout.lines().filter(keep).map(|line| format!("{line}\n")).collect(), ran.stderr())
    };
    let shows: Programs = |workspace, program, args| {
        let ran = workspace.run(program, args);
        (if args[0] == "show" { Some(0) } else { ran.status() }, ran.stdout(), ran.stderr())
    };
    for (name, broken) in [("programs that stop at what is broken", stops), ("a card show that shows anything", shows)] {
        if cases().iter().all(|case| examine(case, broken).is_ok()) {
            return Err(format!("{name} were not noticed"));
        }
    }
    Ok("2 sets of broken programs noticed".to_owned())
}

struct Case {
    name: String,
    id: String,
    bytes: Vec<u8>,
    answer: Answer,
}

fn cases() -> Vec<Case> {
    let fields = FIELDS.iter().map(|(name, value, answer)| (format!("{name}: {value}"), with(name, value).into_bytes(), *answer));
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let large = format!("{}{}", with("foreign", "1"), " ".repeat(4 * 1024 * 1024));
    let places: [(&str, &str); 4] = [
        ("CARD", &with("foreign", "1")),
        ("DONE", "{\"task_id\":\"TASK\",\"status\":\"completed\""),
        ("DEEP", &deep),
        ("LARGE", &large),
    ];
    let files = FILES.iter().map(|(name, bytes, answer)| {
        let filled = places.iter().fold(bytes.to_vec(), |bytes, (place, text)| replaced(&bytes, place, text));
        ((*name).to_owned(), filled, *answer)
    });
    let all = fields.chain(files).enumerate();
    let named = all.map(|(number, (name, bytes, answer))| {
        let id = format!("odd_{number:03}");
        Case { bytes: replaced(&bytes, cards::ID, &id), name, id, answer }
    });
    named.collect()
}

fn with(name: &str, value: &str) -> String {
    let known = BASE.iter().map(|(base, usual)| (*base, if *base == name { value } else { *usual }));
    let new = BASE.iter().all(|(base, _)| *base != name).then_some((name, value));
    let members: Vec<String> = known.chain(new).map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}

fn replaced(bytes: &[u8], place: &str, text: &str) -> Vec<u8> {
    let mut rest = bytes;
    let mut made = Vec::new();
    while let Some(at) = rest.windows(place.len()).position(|piece| piece == place.as_bytes()) {
        made.extend_from_slice(&rest[..at]);
        made.extend_from_slice(text.as_bytes());
        rest = &rest[at + place.len()..];
    }
    made.extend_from_slice(rest);
    made
}

fn examine(case: &Case, programs: Programs) -> Result<(), String> {
    let workspace = Workspace::new();
    for id in ["a_healthy", "z_healthy"] {
        workspace.put_card(id, &cards::named(cards::SILENT, id).replace("\"done_1\"", ""));
    }
    let path = workspace.card_path(&format!("{}.json", case.id));
    fs::write(&path, &case.bytes).map_err(|error| error.to_string())?;
    let told = watched(case, programs(&workspace, "watch", &["--now", cards::NOW]));
    told.and_then(|()| shown_and_written(case, &workspace, programs))
        .map_err(|why| format!("{}, which is {:?}: {why}\n  {}: {}", case.name, case.answer, case.id, shown(&case.bytes)))
}

fn watched(case: &Case, (status, stdout, stderr): Ended) -> Result<(), String> {
    if status != Some(0) || !stderr.is_empty() {
        return Err(format!("watch ended with {status:?}: {stderr}"));
    }
    let mut found = Vec::new();
    for line in stdout.lines() {
        let line: Value = serde_json::from_str(line).map_err(|error| format!("{error}: {line}"))?;
        let text = |name: &str| line.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        found.push((text("task_id"), text("signal"), text("reason")));
    }
    let expect = |id: &str, signal: &str, reason: &str| (id.to_owned(), signal.to_owned(), reason.to_owned());
    let own = match case.answer {
        Broken(reason) | Attention(reason) => Some(expect(&case.id, "needs_attention", reason)),
        Start(reason) => Some(expect(&case.id, "alert", reason)),
        BrokenFurtherIn | Quiet | Finished => None,
    };
    let healthy = ["a_healthy", "z_healthy"].map(|id| expect(id, "alert", "silent"));
    let mut expected: Vec<_> = healthy.into_iter().chain(own).collect();
    found.sort();
    expected.sort();
    if found == expected { Ok(()) } else { Err(format!("watch said {found:?}")) }
}

fn shown_and_written(case: &Case, workspace: &Workspace, programs: Programs) -> Result<(), String> {
    let (show, checkpoint) = match case.answer {
        Broken("card_unreadable") => (74, 74),
        Broken(_) | BrokenFurtherIn => (65, 65),
        Start(_) | Attention(_) | Quiet => (0, 0),
        Finished => (0, 77),
    };
    let before = fs::read(workspace.card_path(&format!("{}.json", case.id))).unwrap_or_default();
    for (program, args, expected) in
        [("card", vec!["show", &case.id], show), ("checkpoint", vec![&case.id, "--message", "m", "--now", cards::NOW], checkpoint)]
    {
        let (status, stdout, stderr) = programs(workspace, program, &args);
        let said_why = stderr.lines().count() == 1 && stderr.starts_with(&format!("{program}: ")) && stderr.contains(&case.id);
        if status != Some(expected) || (expected != 0 && !(said_why && stdout.is_empty())) {
            return Err(format!("{program} ended with {status:?}, expected {expected}: {stdout}{}", shown(stderr.as_bytes())));
        }
    }
    let after = fs::read(workspace.card_path(&format!("{}.json", case.id))).unwrap_or_default();
    if (checkpoint == 0) != (before != after) {
        return Err(format!("checkpoint left {}", shown(&after)));
    }
    Ok(())
}
