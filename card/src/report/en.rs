//! English.

use shared::time::Timestamp;
use shared::words;

use super::language::{Words, clock_time};
use super::story::Kind;

/// English.
pub(crate) struct English;

impl Words for English {
    fn heading(&self, kind: Kind) -> &'static str {
        match kind {
            Kind::Person => "Needs a person",
            Kind::Failed => "Failed",
            Kind::Trouble => "Could not be looked after",
            Kind::Silent => "Went silent",
            Kind::Recovered => "Recovered",
            Kind::Finished => "Finished",
            Kind::Started => "Started",
            Kind::Ready => "Can start",
            Kind::Other => "Besides",
        }
    }

    fn reason(&self, word: &str) -> Option<&'static str> {
        words::reason(word)
    }

    fn outcome(&self, kind: &str) -> Option<&'static str> {
        words::outcome(kind)
    }

    fn detail(&self, detail: &str) -> String {
        detail.to_owned()
    }

    fn span(&self, seconds: i64) -> String {
        words::span(seconds)
    }

    fn task(&self, title: &str, id: &str) -> String {
        if title.is_empty() { id.to_owned() } else { format!("{title} ({id})") }
    }

    fn colon(&self) -> &'static str {
        ": "
    }

    fn join(&self, parts: &[String]) -> String {
        let said: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        said.join("; ")
    }

    fn no_reason(&self) -> &'static str {
        "no reason is given"
    }

    fn phase(&self, phase: &str) -> String {
        format!("phase {phase}")
    }

    fn lasting(&self, span: &str) -> String {
        format!("for {span} now")
    }

    fn pending(&self, action: &str) -> String {
        format!("about to: {action}")
    }

    fn attempt(&self, number: &str, outcome: &str) -> String {
        if number.is_empty() { format!("an attempt {outcome}") } else { format!("attempt {number} {outcome}") }
    }

    fn progress_on_the_way(&self) -> &'static str {
        "it made progress on the way"
    }

    fn again(&self, at: Option<Timestamp>, now: Timestamp) -> String {
        match at {
            Some(at) if at > now => format!("next attempt at {}", self.moment(at, now)),
            _ => "next attempt with the next pass".to_owned(),
        }
    }

    fn silence(&self, word: &str, phrase: &str, span: &str) -> String {
        match word {
            "silent" | "attempt_silent" => format!("{phrase} for {span}"),
            _ => format!("{phrase}, last sign of life {span} ago"),
        }
    }

    fn goes_on(&self, from: &str, to: &str, attempt: &str) -> String {
        match (from, to) {
            (_, "") => format!("it goes on (attempt {attempt})"),
            (from, to) if from.is_empty() || from == to => format!("it goes on in phase {to} (attempt {attempt})"),
            (from, to) => format!("it went on from phase {from} to {to} (attempt {attempt})"),
        }
    }

    fn is_finished(&self, attempt: &str) -> String {
        format!("it is finished (attempt {attempt})")
    }

    fn is_running(&self, attempt: &str) -> String {
        format!("attempt {attempt} is running")
    }

    fn is_ready(&self) -> &'static str {
        "ready to start"
    }

    fn is_contained(&self, attempt: &str) -> String {
        format!("what attempt {attempt} of the cancelled task had left was ended")
    }

    fn would(&self, what: &str, phrase: &str) -> String {
        match what {
            "resume" => format!("would be resumed: {phrase}"),
            "start" => format!("would be started: {phrase}"),
            "skip" => format!("would be skipped: {phrase}"),
            "contain" => format!("would be contained: {phrase}"),
            other => format!("would be handled ({other}): {phrase}"),
        }
    }

    fn until(&self, at: Timestamp, now: Timestamp) -> String {
        if at > now { format!("until {}", self.moment(at, now)) } else { String::new() }
    }

    fn log(&self) -> &'static str {
        "log: "
    }

    fn command(&self) -> &'static str {
        "run: "
    }

    fn more(&self, count: usize) -> String {
        format!("… and {count} more")
    }

    fn programs(&self, folder: &str) -> String {
        format!("The programs are in {folder}")
    }
}

impl English {
    fn moment(&self, at: Timestamp, now: Timestamp) -> String {
        let ahead = self.span((at.unix_ms() - now.unix_ms()) / 1000);
        match clock_time(at, now) {
            (None, time) => format!("{time} UTC (in {ahead})"),
            (Some(day), time) => format!("{day} {time} UTC (in {ahead})"),
        }
    }
}
