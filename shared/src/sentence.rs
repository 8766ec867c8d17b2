//! A signal for a person: what happened, why, since when, and what to do next.
//!
//! ```text
//! report_1: due: no sign of life for 45 min [silent]
//!     Report on AI agents · phase collect · retries 0/3 · next: resume report_1
//! ```
//! The word in brackets is the signal's own, to be looked up. A command or path that does not fit
//! gets a line of its own.

use serde_json::Value;

use crate::prose::{Prose, print_whole};
use crate::screen::{Screen, Style};
use crate::signal::{Line, shell_word};
use crate::talk::command;
use crate::text::{clean, cut};
use crate::time::{Timestamp, ms};
use crate::words::{age, ahead, lasting, outcome, reason, span};

const INDENT: usize = 4;
/// A title takes no more columns than this where there is a limit, so that the rest stays near.
const TITLE_COLUMNS_MAX: usize = 60;

/// A signal as a person is told it.
#[derive(Debug, Default)]
struct Telling {
    style: Style,
    /// What happened, without the ID.
    what: String,
    /// The word that it can be looked up by.
    word: String,
    facts: Vec<String>,
    next: Option<String>,
}

/// The lines for a person.
#[must_use]
pub fn sentence(line: &Line, now: Timestamp, screen: &Screen) -> String {
    let telling = match line.text("signal") {
        "alert" if line.0.contains_key("outcome") => attempt_failed(line, now),
        "alert" => due(line, now),
        "needs_attention" => needs_attention(line, now),
        "recovery" => ended_well(line, "recovered"),
        "started" => ended_well(line, "started"),
        "ready" => ready(line),
        "skipped" => skipped(line, now),
        "contained" => contained(line),
        "dry_run" => planned(line, now),
        other => unknown(line, other),
    };
    print(line, &telling, screen)
}

fn print(line: &Line, telling: &Telling, screen: &Screen) -> String {
    let mut first = Prose::default().styled(telling.style, line.text("task_id"));
    if line.0.get("new") == Some(&Value::Bool(true)) {
        first = first.styled(Style::Strong, " (new)");
    }
    first = first.plain(": ").plain(&telling.what);
    if !telling.word.is_empty() {
        first = first.styled(Style::Faint, &format!(" [{}]", telling.word));
    }
    let mut text = first.print(screen, (Style::Plain, ""), INDENT);

    let room = screen.room(INDENT);
    // The dot after it has to fit, too.
    let title_columns = if screen.columns.is_some() { room.saturating_sub(2).min(TITLE_COLUMNS_MAX) } else { usize::MAX };
    let title = cut(&clean(line.text("title")), title_columns);
    let facts = std::iter::once(&title).chain(&telling.facts).filter(|fact| !fact.is_empty());
    let facts = facts.fold(Prose::default(), |facts, fact| facts.and().plain(fact));
    let command = line.0.get("command").and_then(Value::as_array).map(|words| {
        let words = words.iter().map(|word| shell_word(word.as_str().unwrap_or_default()));
        words.collect::<Vec<_>>().join(" ")
    });
    let given = |name: &str| Some(line.text(name).to_owned()).filter(|text| !text.is_empty());
    let wholes = [("log: ", given("log")), ("command: ", command), ("next: ", given("next").or_else(|| telling.next.clone()))];
    let wholes: Vec<(&str, String)> = wholes.into_iter().filter_map(|(label, text)| Some((label, text?))).collect();

    let all =
        wholes.iter().fold(facts.clone(), |all, (label, whole)| all.and().styled(Style::Faint, label).whole(Style::Strong, whole));
    let margin = " ".repeat(INDENT);
    if all.is_empty() {
        return text;
    }
    if all.fits(room) {
        return text + &all.print(screen, (Style::Plain, &margin), INDENT);
    }
    if !facts.is_empty() {
        text += &facts.print(screen, (Style::Plain, &margin), INDENT);
    }
    for (label, whole) in &wholes {
        text += &print_whole(screen, (Style::Faint, &format!("{margin}{label}")), whole);
    }
    text
}

fn due(line: &Line, now: Timestamp) -> Telling {
    let word = line.text("reason");
    let silence = line.0.get("stale_for_minutes").and_then(Value::as_f64).map(|minutes| span(ms(minutes * 60.0) / 1000));
    let how_long = match (word, &silence) {
        (_, None) => String::new(),
        ("silent" | "attempt_silent", Some(silence)) => format!(" for {silence}"),
        (_, Some(silence)) => format!(", last sign of life {silence} ago"),
    };
    let last = match line.time("last_checkpoint").map(|at| age(at, now)) {
        None => "no checkpoint yet".to_owned(),
        Some(age) if silence.as_ref() == Some(&age) => String::new(),
        Some(age) => format!("last checkpoint {age} ago"),
    };
    let what = format!("due: {}{how_long}", phrase(word));
    let facts = vec![phase(line), counts(line), last, line.shown("detail")];
    Telling { facts, next: Some(resume(line)), ..telling(Style::Warning, what, shown(word)) }
}

fn attempt_failed(line: &Line, now: Timestamp) -> Telling {
    let word = line.text("outcome");
    let again = match line.time("next_attempt_at") {
        Some(at) => format!("; the next one is due {}", ahead(at, now)),
        None => "; the next pass looks at it again".to_owned(),
    };
    let progress = if line.0.contains_key("progress") { "it made progress on the way" } else { "" };
    let facts = vec![phase(line), progress.to_owned(), line.shown("detail")];
    Telling { facts, ..telling(Style::Warning, format!("{}{again}", attempt(line)), ended_as(word)) }
}

fn needs_attention(line: &Line, now: Timestamp) -> Telling {
    let word = line.text("reason");
    let since = line.time("blocked_since").map(|at| lasting(at, now)).unwrap_or_default();
    let last = if line.0.contains_key("outcome") { attempt(line) } else { String::new() };
    let facts = vec![phase(line), since, last, line.shown("detail")];
    Telling { facts, ..telling(Style::Alarm, format!("needs a person: {}", phrase(word)), shown(word)) }
}

fn ended_well(line: &Line, how: &str) -> Telling {
    let word = line.text("outcome");
    let (from, to) = (line.shown("from_phase"), line.shown("to_phase"));
    let way = match (from.as_str(), to.as_str()) {
        (_, "") => String::new(),
        ("", to) => format!(", phase {to}"),
        (from, to) if from == to => format!(", phase {to}"),
        (from, to) => format!(", from phase {from} to {to}"),
    };
    let did = if word.is_empty() { format!("attempt {} is running", line.shown("attempt")) } else { attempt(line) };
    let style = if word.is_empty() { Style::Active } else { Style::Good };
    Telling { facts: vec![line.shown("detail")], ..telling(style, format!("{how}: {did}{way}"), ended_as(word)) }
}

fn ready(line: &Line) -> Telling {
    let facts = vec![phase(line), line.shown("detail")];
    Telling { facts, next: Some(resume(line)), ..telling(Style::Active, "ready to start".to_owned(), "") }
}

fn skipped(line: &Line, now: Timestamp) -> Telling {
    let word = line.text("reason");
    let facts = vec![phase(line), until(line, now), line.shown("detail")];
    Telling { facts, ..telling(Style::Faint, format!("skipped: {}", phrase(word)), shown(word)) }
}

fn contained(line: &Line) -> Telling {
    let what = format!("contained: what attempt {} of the cancelled task had left was ended", line.shown("attempt"));
    telling(Style::Good, what, "")
}

fn planned(line: &Line, now: Timestamp) -> Telling {
    let word = line.text("reason");
    let would = match line.text("would") {
        "resume" => "would be resumed".to_owned(),
        "start" => "would be started".to_owned(),
        "skip" => "would be skipped".to_owned(),
        "contain" => "would be contained".to_owned(),
        other => format!("would be handled: {other}"),
    };
    let first = if line.0.contains_key("would_first_end") { "its living attempt would be ended first" } else { "" };
    let facts = vec![phase(line), until(line, now), first.to_owned(), line.shown("detail")];
    let style = if line.text("would") == "skip" { Style::Faint } else { Style::Active };
    Telling { facts, ..telling(style, format!("{would}: {}", phrase(word)), shown(word)) }
}

fn unknown(line: &Line, signal: &str) -> Telling {
    let word = line.text("reason");
    let what = if word.is_empty() { signal.to_owned() } else { format!("{signal}: {}", phrase(word)) };
    Telling { facts: vec![phase(line), line.shown("detail")], ..telling(Style::Strong, what, shown(word)) }
}

fn telling(style: Style, what: String, word: &str) -> Telling {
    Telling { style, what, word: word.to_owned(), ..Telling::default() }
}

/// The phrase for a reason; a task's own reason is said as it is.
fn phrase(word: &str) -> &str {
    reason(word).unwrap_or(if word.is_empty() { "no reason is given" } else { word })
}

/// The word to look up; none when it is said already.
fn shown(word: &str) -> &str {
    if reason(word).is_some() { word } else { "" }
}

fn ended_as(word: &str) -> &str {
    if outcome(word).is_some() { word } else { "" }
}

fn attempt(line: &Line) -> String {
    let kind = line.text("outcome");
    format!("attempt {} {}", line.shown("attempt"), outcome(kind).unwrap_or(kind))
}

fn phase(line: &Line) -> String {
    labelled("phase ", &line.shown("phase"))
}

fn counts(line: &Line) -> String {
    labelled("retries ", &line.shown("retry_count")) + &labelled("/", &line.shown("max_retries"))
}

fn until(line: &Line, now: Timestamp) -> String {
    let Some(at) = line.time("until") else { return String::new() };
    match line.text("reason") {
        "healthy" | "alive" | "attempt_alive" => format!("it counts as silent {}", ahead(at, now)),
        _ => format!("over {}", ahead(at, now)),
    }
}

fn resume(line: &Line) -> String {
    format!("{} {}", command("resume"), shell_word(line.text("task_id")))
}

fn labelled(label: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{label}{text}") }
}

#[cfg(test)]
#[path = "sentence_tests.rs"]
mod tests;
