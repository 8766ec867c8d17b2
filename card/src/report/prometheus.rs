//! How everything stands, as metrics in Prometheus' text format, for node_exporter's textfile collector.
//!
//! Everything is a gauge, also what only grows for one task: when a card is filed away its part
//! goes, and a counter that falls would be read as one that began anew. Every series that an alert
//! may want is there from the start, with 0. A task can give a reason of its own; so that no task
//! can flood the database, only so many of these get a series.

use std::collections::BTreeMap;

use shared::card::{Card, Fault, Status};
use shared::text::clean;
use shared::time::{Timestamp, ms};
use shared::verdict::Verdict;

use super::lines::Input;
use super::survey::{Broken, Found, Seen};

/// Reasons that are not ours and get a series of their own; the others share one.
const OWN_REASONS_MAX: usize = 20;
/// Characters of such a reason.
const REASON_CHARACTERS_MAX: usize = 64;

const ALERTS: [&str; 5] = ["attempt_died", "attempt_silent", "contain", "retry_due", "silent"];
const ATTENTIONS: [&str; 24] = [
    "adapter_insecure",
    "adapter_missing",
    "artifact_changed",
    "artifact_missing",
    "attempt_not_contained",
    "auto_resume_off",
    "blocked",
    "card_insecure",
    "card_invalid",
    "card_unknown_version",
    "card_unreadable",
    "clock_skew",
    "dependency_failed",
    "dependency_missing",
    "failures_exhausted",
    "needs_person",
    "no_adapter",
    "non_idempotent_phase_blocked",
    "other_host",
    "retries_exhausted",
    "supervisor_silent",
    "task_failed",
    "too_old",
    OTHER,
];
const OUTCOMES: [&str; 14] = [
    "background",
    "budget",
    "completed",
    "failed",
    "handed_over",
    "needs_attention",
    "no_progress",
    "output_limit",
    "postponed",
    "progressed",
    "silent",
    "stopped",
    "supervisor_died",
    "timeout",
];
const FAULTS: [Fault; 4] = [Fault::Insecure, Fault::Invalid, Fault::UnknownVersion, Fault::Unreadable];
const PASS_SIGNALS: [&str; 7] = ["alert", "contained", "needs_attention", "ready", "recovery", "skipped", "started"];
const OTHER: &str = "other";

/// What is counted.
pub(crate) struct Metrics {
    tasks: BTreeMap<&'static str, u64>,
    signals: BTreeMap<(&'static str, String), u64>,
    broken: BTreeMap<&'static str, u64>,
    outcomes: BTreeMap<&'static str, u64>,
    attempts: u64,
    oldest_silence: f64,
    pass: Option<BTreeMap<&'static str, u64>>,
}

impl Metrics {
    /// Everything is 0; with the lines of a pass, those are counted.
    pub(crate) fn new(input: Option<&Input>) -> Self {
        let alerts = ALERTS.map(|reason| ("alert", reason.to_owned()));
        let attentions = ATTENTIONS.map(|reason| ("needs_attention", reason.to_owned()));
        let signals = alerts.into_iter().chain(attentions).chain([("ready", "pending".to_owned())]);
        let pass = input.map(|input| {
            let mut counts: BTreeMap<_, _> = PASS_SIGNALS.into_iter().chain([OTHER]).map(|signal| (signal, 0)).collect();
            for line in &input.lines {
                *counts.entry(known(&PASS_SIGNALS, line.text("signal"))).or_default() += 1;
            }
            counts
        });
        Self {
            tasks: Status::ALL.map(|status| (status.as_str(), 0)).into(),
            signals: signals.map(|key| (key, 0)).collect(),
            broken: FAULTS.map(|fault| (fault.reason(), 0)).into(),
            outcomes: OUTCOMES.into_iter().chain([OTHER]).map(|kind| (kind, 0)).collect(),
            attempts: 0,
            oldest_silence: 0.0,
            pass,
        }
    }

    /// Counts a file of the card folder.
    pub(crate) fn count(&mut self, found: &Found, now: Timestamp) {
        match found {
            Found::Seen(seen) => self.count_card(seen, now),
            Found::Broken(Broken { error, .. }) => {
                *self.broken.entry(error.fault.reason()).or_default() += 1;
                self.signal("needs_attention", error.fault.reason());
            }
        }
    }

    fn count_card(&mut self, seen: &Seen, now: Timestamp) {
        let Card { status, attempt, outcome, .. } = &seen.card;
        *self.tasks.entry(status.as_str()).or_default() += 1;
        self.attempts = self.attempts.saturating_add(*attempt);
        if let Some(outcome) = outcome {
            *self.outcomes.entry(known(&OUTCOMES, &outcome.kind)).or_default() += 1;
        }
        if matches!(status, Status::Running | Status::Stalled) {
            self.oldest_silence = self.oldest_silence.max(seen.silence_seconds(now));
        }
        match &seen.verdict {
            Verdict::Quiet(_) => {}
            Verdict::Ready => self.signal("ready", "pending"),
            Verdict::Alert(due) => self.signal("alert", due.reason),
            Verdict::Attention(attention) => self.signal("needs_attention", &attention.reason),
        }
    }

    fn signal(&mut self, signal: &'static str, reason: &str) {
        let mut key = (signal, clean(reason).chars().take(REASON_CHARACTERS_MAX).collect());
        if !self.signals.contains_key(&key) && self.signals.len() >= ALERTS.len() + ATTENTIONS.len() + 1 + OWN_REASONS_MAX {
            key.1 = OTHER.to_owned();
        }
        *self.signals.entry(key).or_default() += 1;
    }

    /// The text.
    pub(crate) fn print(&self, last_pass: Option<Timestamp>) -> String {
        let mut text = String::new();
        let one = |value: u64| (Vec::new(), value.to_string());
        let by = |name, counts: &BTreeMap<&'static str, u64>| -> Vec<Series> {
            counts.iter().map(|(value, count)| (vec![(name, (*value).to_owned())], count.to_string())).collect()
        };
        let statuses =
            Status::ALL.iter().map(|status| (vec![("status", status.to_string())], self.tasks[status.as_str()].to_string()));
        let signals = self.signals.iter().map(|((signal, reason), count)| {
            (vec![("signal", (*signal).to_owned()), ("reason", reason.clone())], count.to_string())
        });
        let went_well = ["completed", "progressed"].iter().map(|kind| self.outcomes[kind]).sum();
        family(&mut text, "tasks", "Tasks whose cards are in the card folder, by status.", &statuses.collect::<Vec<_>>());
        family(
            &mut text,
            "signals",
            "Tasks that need something now, by the signal and the reason that watch gives; task-specific reasons beyond 20 count as other.",
            &signals.collect::<Vec<_>>(),
        );
        family(
            &mut text,
            "oldest_silence_seconds",
            "Longest time without a sign of life among the running and stalled tasks; 0 without any.",
            &[(Vec::new(), seconds(self.oldest_silence))],
        );
        family(
            &mut text,
            "attempts",
            "Attempts so far, first starts too: the sum of the attempt numbers in the cards. Falls when cards are filed away.",
            &[one(self.attempts)],
        );
        family(
            &mut text,
            "recoveries",
            "Tasks whose last settled attempt went well (outcome completed or progressed), at most one a task; a first start counts, too.",
            &[one(went_well)],
        );
        family(&mut text, "last_outcomes", "Tasks by how their last settled attempt ended.", &by("outcome", &self.outcomes));
        family(
            &mut text,
            "unusable_cards",
            "Files in the card folder that cannot be read, parsed or trusted, by reason.",
            &by("reason", &self.broken),
        );
        family(
            &mut text,
            "last_pass_timestamp_seconds",
            "When the last pass (watch | resume) was finished, in seconds since 1970; 0 when none is recorded.",
            &[(Vec::new(), last_pass.map_or_else(|| "0".to_owned(), |at| (at.unix_ms().div_euclid(1000)).to_string()))],
        );
        if let Some(pass) = &self.pass {
            family(&mut text, "pass_signals", "Signal lines of the pass that these metrics were made in.", &by("signal", pass));
        }
        text
    }
}

type Series = (Vec<(&'static str, String)>, String);

fn family(text: &mut String, name: &str, help: &str, series: &[Series]) {
    *text += &format!("# HELP task_recovery_{name} {help}\n# TYPE task_recovery_{name} gauge\n");
    for (labels, value) in series {
        let labels: Vec<String> = labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escape(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        *text += &format!("task_recovery_{name}{labels} {value}\n");
    }
}

fn escape(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

fn known(words: &[&'static str], word: &str) -> &'static str {
    words.iter().find(|known| **known == word).copied().unwrap_or(OTHER)
}

/// Whole milliseconds are exact enough, and are written the same everywhere.
fn seconds(seconds: f64) -> String {
    let ms = ms(seconds.max(0.0));
    if ms % 1000 == 0 { (ms / 1000).to_string() } else { format!("{}.{:03}", ms / 1000, ms % 1000) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An alert that waits for a series that only comes with the first case misses that case.
    #[test]
    fn every_reason_of_the_verdict_has_a_series_from_the_start() {
        let source = include_str!("../../../shared/src/verdict.rs");
        let words = |mark: &str| -> Vec<&str> {
            source.split(mark).skip(1).filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next()).collect()
        };
        let due = words("Due { reason: ");
        assert!(due.len() > 4, "{due:?}");
        for word in due {
            assert!(ALERTS.contains(&word) || word == "forced", "{word}");
        }
        let attentions: Vec<&str> =
            ["closed(", "attention(", "Attention { reason: ", "Some(("].iter().flat_map(|mark| words(mark)).collect();
        assert!(attentions.len() > 12, "{attentions:?}");
        for word in attentions {
            assert!(ATTENTIONS.contains(&word), "{word}");
        }
        for fault in FAULTS {
            assert!(ATTENTIONS.contains(&fault.reason()));
        }
        for kind in OUTCOMES {
            assert!(shared::words::outcome(kind).is_some(), "{kind}");
        }
        for reason in ALERTS.into_iter().chain(ATTENTIONS).filter(|reason| *reason != OTHER) {
            assert!(shared::words::reason(reason).is_some(), "{reason}");
        }
    }

    #[test]
    fn labels_and_seconds() {
        assert_eq!(escape("a\"b\\c\nd"), r#"a\"b\\c\nd"#);
        assert_eq!([seconds(-1.0), seconds(0.0), seconds(59.5), seconds(60.0)], ["0", "0", "59.500", "60"]);
    }
}
