//! A signal as a story: what kind it is, what is said of it, and whether it is news.
//!
//! News is what a chat is told: what was recovered or finished, what failed, and what needs a
//! person for the first time. What is quiet by itself (`skipped`, `started`, `ready`, an attempt
//! that was put off) is only told where everything is.

use serde_json::Value;
use shared::signal::{Line, shell_word};
use shared::talk::command;
use shared::time::{Timestamp, ms};

use super::language::Words;

/// Of what kind it is, in the order in which they are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Person,
    Failed,
    Trouble,
    Silent,
    Recovered,
    Finished,
    Started,
    Ready,
    Other,
}

/// What is said of a task. Nothing in it is harmless yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Story {
    pub(crate) kind: Kind,
    pub(crate) is_news: bool,
    pub(crate) task: String,
    /// Empty when it is not known.
    pub(crate) title: String,
    pub(crate) what: String,
    /// In the words of the program that noticed it; may be empty.
    pub(crate) detail: String,
    /// What comes of it, said last; may be empty.
    pub(crate) then: String,
    /// A log's path; may be empty.
    pub(crate) log: String,
    /// The command that a person would run; may be empty.
    pub(crate) next: String,
}

/// The story of a line.
pub(crate) fn of(line: &Line, words: &dyn Words, now: Timestamp) -> Story {
    let (kind, is_news, parts) = match line.text("signal") {
        "needs_attention" => (Kind::Person, line.0.get("new") == Some(&Value::Bool(true)), person(line, words, now)),
        "alert" if line.0.contains_key("outcome") => {
            (Kind::Failed, !matches!(line.text("outcome"), "postponed" | "stopped"), failed(line, words))
        }
        "alert" => (Kind::Silent, true, silent(line, words)),
        "recovery" => (Kind::Recovered, true, vec![ended_well(line, words)]),
        "started" if line.text("outcome") == "completed" => (Kind::Finished, true, vec![ended_well(line, words)]),
        "started" => (Kind::Started, false, vec![ended_well(line, words)]),
        "ready" => (Kind::Ready, false, vec![words.is_ready().to_owned(), phase(line, words)]),
        "skipped" if matches!(line.text("reason"), "error" | "refused") => (Kind::Trouble, true, vec![reason(line, words)]),
        "skipped" => (Kind::Other, false, vec![reason(line, words), until(line, words, now)]),
        "contained" => (Kind::Other, true, vec![words.is_contained(&line.shown("attempt"))]),
        "dry_run" => (Kind::Other, false, vec![words.would(line.text("would"), &reason(line, words)), until(line, words, now)]),
        other => (Kind::Other, false, vec![other.to_owned(), reason(line, words)]),
    };
    Story {
        kind,
        is_news,
        task: line.text("task_id").to_owned(),
        title: line.text("title").to_owned(),
        what: words.join(&parts),
        detail: words.detail(detail(line).0),
        then: if kind == Kind::Failed { words.again(line.time("next_attempt_at"), now) } else { String::new() },
        log: line.text("log").to_owned(),
        next: next(line, kind),
    }
}

fn person(line: &Line, words: &dyn Words, now: Timestamp) -> Vec<String> {
    let last = if line.0.contains_key("outcome") { attempt(line, words) } else { String::new() };
    let seconds = line.time("blocked_since").map(|since| ms(now.seconds_since(since)) / 1000).filter(|seconds| *seconds >= 60);
    let lasting = seconds.map(|seconds| words.lasting(&words.span(seconds))).unwrap_or_default();
    let pending = detail(line).1.map(|action| words.pending(action)).unwrap_or_default();
    vec![reason(line, words), phase(line, words), last, lasting, pending]
}

fn failed(line: &Line, words: &dyn Words) -> Vec<String> {
    let progress = if line.0.contains_key("progress") { words.progress_on_the_way() } else { "" };
    vec![attempt(line, words), progress.to_owned()]
}

fn silent(line: &Line, words: &dyn Words) -> Vec<String> {
    let minutes = line.0.get("stale_for_minutes").and_then(Value::as_f64);
    let said = match minutes {
        Some(minutes) => words.silence(line.text("reason"), &reason(line, words), &words.span(ms(minutes * 60.0) / 1000)),
        None => reason(line, words),
    };
    vec![said, phase(line, words)]
}

fn ended_well(line: &Line, words: &dyn Words) -> String {
    let number = line.shown("attempt");
    match line.text("outcome") {
        "completed" => words.is_finished(&number),
        "" => words.is_running(&number),
        "progressed" => words.goes_on(line.text("from_phase"), line.text("to_phase"), &number),
        _ => attempt(line, words),
    }
}

fn attempt(line: &Line, words: &dyn Words) -> String {
    let kind = line.text("outcome");
    words.attempt(&line.shown("attempt"), words.outcome(kind).unwrap_or(kind))
}

/// The phrase for a reason; a task's own reason is said as it is.
fn reason(line: &Line, words: &dyn Words) -> String {
    let word = line.text("reason");
    let known = words.reason(word).unwrap_or(if word.is_empty() { words.no_reason() } else { word });
    known.to_owned()
}

fn phase(line: &Line, words: &dyn Words) -> String {
    let phase = line.text("phase");
    if phase.is_empty() { String::new() } else { words.phase(phase) }
}

fn until(line: &Line, words: &dyn Words, now: Timestamp) -> String {
    line.time("until").map(|at| words.until(at, now)).unwrap_or_default()
}

/// The program's own words, and what is about to happen, which is written behind them.
fn detail(line: &Line) -> (&str, Option<&str>) {
    const PENDING: &str = "pending action: ";
    let detail = line.text("detail");
    let (own, pending) = match detail.split_once(PENDING) {
        Some((own, action)) => (own.trim_end_matches("; "), Some(action)),
        None => (detail, None),
    };
    // That the phase is manual was said already.
    let said = line.text("reason") == "non_idempotent_phase_blocked" && own.ends_with("is not entered without a person's word");
    (if said { "" } else { own }, pending)
}

fn next(line: &Line, kind: Kind) -> String {
    match (line.text("next"), kind) {
        ("", Kind::Silent | Kind::Ready) => format!("{} {}", command("resume"), shell_word(line.text("task_id"))),
        (given, _) => given.to_owned(),
    }
}
