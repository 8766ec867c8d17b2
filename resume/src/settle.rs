//! Settling an attempt: what its end means for the card. The decision is pure; the caller holds
//! the update lock and writes.
//!
//! ```text
//! outcome                                    leaves status            not_before   charge
//! made the card terminal / needs_attention   as it is                 -            reset on progress
//! overtaken: others ended it before a start  as it is                 -            taken back
//! completed, 78, the answer's own status     that one                 -            reset on progress
//! progressed with continue                   stalled, again at once   removed      taken back
//! progressed                                 running                  removed      taken back
//! background, handed_over                    running                  removed      kept
//! postponed                                  stalled                  later, or -  taken back
//! stopped; also exit 0 in a manual phase     cancelled, else stalled; removed      taken back
//! that it was not given                      needs_attention for an
//!                                            artifact that changed
//! no_progress, failed, timeout, silent,      stalled, needs_attention cooldown     kept; reset on progress
//! output_limit, budget                       when exhausted                        (budget: taken back on it)
//! ```
//! "Taken back" means both counters; "reset" means `retry_count`, which counts attempts in a row
//! without progress. An exit status alone is never progress.

use serde_json::Value;
use shared::answer::{Answer, RETRY_AFTER_SECONDS_MAX};
use shared::card::{Card, Status};
use shared::document::Document;
use shared::exit::Error;
use shared::progress;
use shared::signal::Line;
use shared::talk::command;
use shared::time::Timestamp;
use shared::verdict::exhaustion;

use crate::step::Ending;

mod told;
use told::{line, outcome, recovery, task_failed};
pub(crate) use told::{not_contained, not_contained_line};

/// Room that the outcome itself needs in a card.
const OUTCOME_BYTES: usize = 64 * 1024;
/// The cooldown doubles up to this.
const COOLDOWN_SECONDS_MAX: f64 = 3600.0;

/// What is known of an attempt that ended.
#[derive(Debug)]
pub struct Ended<'a> {
    /// The card as the attempt was given it.
    pub given: &'a Document,
    /// Its number.
    pub number: u64,
    /// It was the task's first, or continues that at once.
    pub first_start: bool,
    /// What ended it.
    pub why: Ending,
    /// What the adapter said, or what was wrong with that.
    pub answer: Result<Option<Answer>, String>,
    /// A process of it still holds its output.
    pub output_held: bool,
    /// When processes could not be ended: a sentence about them.
    pub left: Option<String>,
    /// The last that it complained about.
    pub stderr_tail: String,
    /// The path of all of it.
    pub stderr_log: String,
}

/// What follows.
#[derive(Debug, PartialEq)]
pub struct Settled {
    /// The card changed and is to be written.
    pub changed: bool,
    /// The outcome in one word.
    pub kind: &'static str,
    /// What is told.
    pub line: Line,
    /// Run it again now.
    pub again: bool,
}

/// What an outcome does to the charge.
#[derive(Clone, Copy, PartialEq)]
enum Charge {
    Kept,
    TakenBack,
}

struct Decision {
    kind: &'static str,
    detail: Option<String>,
    charge: Charge,
    next: Next,
}

enum Next {
    /// The card says it already.
    AsItIs,
    Status(Status),
    Attention(String),
    /// Stalled until then.
    Stalled(Option<Timestamp>),
    /// Stalled in a phase that needs a person's word.
    Blocked,
    /// Stalled for the cooldown, or a person's when exhausted.
    Retry,
    Again,
    Background,
}

/// Decides, and edits the document accordingly.
///
/// # Errors
/// `Refused` and `BadData` for a card that nobody could have read.
pub fn settle(document: &mut Document, card: &Card, ended: &Ended<'_>, now: Timestamp) -> Result<Settled, Error> {
    if card.status.is_terminal() {
        return Ok(settle_terminal(document, card, ended));
    }
    if card.status == Status::Pending && ended.why != Ending::Overtaken {
        // Somebody rewrote it; there was an attempt all the same.
        document.set("status", Status::Running.as_str());
    }
    let mut refused = ended.answer.as_ref().err().cloned();
    let answer = match (&ended.answer, &ended.why) {
        (Ok(Some(answer)), Ending::Exited(0 | 75 | 78)) => Some(answer),
        _ => None,
    };
    let mut answer = answer;
    if let Some(given) = answer {
        let before = document.clone();
        given.entry.apply(document, given.entry.tells_of_work(), now);
        let usable = document
            .bytes_leaving(OUTCOME_BYTES)
            .and_then(|_| document.card(card.task_id()).map_err(|error| Error::data(error.detail)));
        if let Err(error) = usable {
            // An answer that no card can hold is none, and the attempt is settled all the same.
            *document = before;
            answer = None;
            refused = Some(format!("the answer cannot be recorded: {}", error.message));
        }
    }
    let progressed = progress::between(ended.given, document);
    let mut decision = decide(document, card, ended, answer, progressed, now);
    if let Some(why) = refused {
        decision.detail = Some(decision.detail.map_or_else(|| why.clone(), |detail| format!("{detail}; {why}")));
    }
    if let Some(detail) = &ended.left {
        decision.detail = Some(detail.clone());
        decision.next = Next::Attention("attempt_not_contained".to_owned());
    }
    settle_charge(document, card, &decision, progressed);
    let run = document.remove("run");
    apply(document, run.clone(), &decision, now)?;
    let asked =
        answer.and_then(|answer| answer.retry_after_seconds).map(|seconds| now.plus_seconds(seconds.min(RETRY_AFTER_SECONDS_MAX)));
    wait_as_asked(document, asked);
    keep_background(document, run, ended)?;
    document.set("outcome", outcome(document, ended, &decision, now));
    let again = matches!(decision.next, Next::Again);
    Ok(Settled { changed: true, kind: decision.kind, line: line(document, ended, &decision, progressed, now)?, again })
}

fn decide(
    document: &Document,
    card: &Card,
    ended: &Ended<'_>,
    answer: Option<&Answer>,
    progressed: bool,
    now: Timestamp,
) -> Decision {
    let failed = |kind, detail| Decision { kind, detail, charge: Charge::Kept, next: Next::Retry };
    if card.status == Status::NeedsAttention && ended.why != Ending::Overtaken {
        let detail = card.attention.as_ref().and_then(|attention| attention.detail.clone());
        return Decision { kind: "needs_attention", detail, charge: Charge::Kept, next: Next::AsItIs };
    }
    match &ended.why {
        Ending::Overtaken => {
            let detail = Some(format!("the task is {} now: the attempt was not started", card.status));
            Decision { kind: "stopped", detail, charge: Charge::TakenBack, next: Next::AsItIs }
        }
        Ending::Exited(0) => good_end(document, card, ended, answer, progressed),
        Ending::Exited(75) => {
            let asked = answer.and_then(|answer| answer.retry_after_seconds);
            let seconds = asked.unwrap_or_else(|| cooldown_seconds(card, 1)).min(RETRY_AFTER_SECONDS_MAX);
            let detail = answer.and_then(|answer| answer.entry.message.clone());
            postponed(detail, Some(now.plus_seconds(seconds).ceil_second()))
        }
        Ending::Exited(78) => {
            let reason = answer.and_then(|answer| answer.reason.clone()).unwrap_or_else(|| "needs_person".to_owned());
            let said = answer.and_then(|answer| answer.entry.message.clone());
            let detail = said.or_else(|| Some("the adapter ended with exit status 78".to_owned()));
            Decision { kind: "needs_attention", detail, charge: Charge::Kept, next: Next::Attention(reason) }
        }
        Ending::Exited(code) => failed("failed", Some(format!("exit status {code}"))),
        Ending::Killed(signal) => failed("failed", Some(format!("ended by signal {signal}"))),
        Ending::Timeout => failed("timeout", Some("longer than its time-out".to_owned())),
        Ending::Silent => failed("silent", Some(format!("no sign of life for {} min", card.stale_after_minutes()))),
        Ending::OutputLimit => {
            failed("output_limit", Some("it printed more than --output-limit allows; make it print less, or raise it".to_owned()))
        }
        Ending::Budget => {
            let detail = Some("the pass's time was over: give --budget-seconds more, or let phases be shorter".to_owned());
            let charge = if progressed { Charge::TakenBack } else { Charge::Kept };
            Decision { kind: "budget", detail, charge, next: Next::Retry }
        }
        Ending::ManualPhase => blocked(document),
        Ending::Cancelled => Decision { next: Next::Stalled(None), ..blocked(document) },
        Ending::Interrupted(signal) => postponed(Some(format!("resume was stopped by signal {signal}")), None),
        Ending::ArtifactFault { reason, detail } => {
            let detail = Some(format!(
                "{detail}; approve the task to go on all the same, or record the file anew with {} --verified-artifact and then approve",
                command("checkpoint")
            ));
            Decision { kind: "stopped", detail, charge: Charge::TakenBack, next: Next::Attention((*reason).to_owned()) }
        }
        Ending::NotStarted { ours: true, detail } => {
            postponed(Some(detail.clone()), Some(now.plus_seconds(cooldown_seconds(card, 1)).ceil_second()))
        }
        Ending::NotStarted { ours: false, detail } => failed("failed", Some(detail.clone())),
    }
}

fn good_end(document: &Document, card: &Card, ended: &Ended<'_>, answer: Option<&Answer>, progressed: bool) -> Decision {
    let well = |kind, next| Decision { kind, detail: None, charge: Charge::TakenBack, next };
    if card.is_plain_command() {
        return well("completed", Next::Status(Status::Completed));
    }
    let detail = answer.and_then(|answer| answer.reason.clone().or_else(|| answer.entry.message.clone()));
    match answer.and_then(|answer| answer.status) {
        Some(Status::Completed) => return well("completed", Next::Status(Status::Completed)),
        Some(Status::Failed) => {
            return Decision { kind: "failed", detail, charge: Charge::Kept, next: Next::Status(Status::Failed) };
        }
        Some(Status::Cancelled) => return well("stopped", Next::Status(Status::Cancelled)),
        Some(Status::NeedsAttention) => {
            let reason = answer.and_then(|answer| answer.reason.clone()).unwrap_or_else(|| "needs_person".to_owned());
            let detail = answer.and_then(|answer| answer.entry.message.clone());
            return Decision { kind: "needs_attention", detail, charge: Charge::Kept, next: Next::Attention(reason) };
        }
        // Whether its supervisor sees it in such a phase, or it ends first, makes no difference.
        _ if moved_into_manual_phase(document, card, ended) => return blocked(document),
        Some(Status::Running) if !progressed => {
            return Decision { kind: "handed_over", detail, charge: Charge::Kept, next: Next::Status(Status::Running) };
        }
        Some(Status::Stalled) if progressed => return well("progressed", Next::Stalled(None)),
        _ => {}
    }
    if progressed {
        let again = answer.is_some_and(|answer| answer.again) && progress::reaches_further(ended.given, document);
        return well("progressed", if again { Next::Again } else { Next::Status(Status::Running) });
    }
    if ended.output_held {
        return Decision { kind: "background", detail: None, charge: Charge::Kept, next: Next::Background };
    }
    let detail = "exit status 0, but no phase, artifact, step or new message was recorded".to_owned();
    Decision { kind: "no_progress", detail: Some(detail), charge: Charge::Kept, next: Next::Retry }
}

/// Whether the attempt, or its answer, moved the task into a phase that still needs a person's word.
fn moved_into_manual_phase(document: &Document, card: &Card, ended: &Ended<'_>) -> bool {
    let moved = document.text("phase") != ended.given.text("phase");
    moved && document.card(card.task_id()).is_ok_and(|card| card.in_manual_phase() && !card.is_permitted())
}

fn blocked(document: &Document) -> Decision {
    let detail = format!("it moved into phase {}, which needs a person's word", document.text("phase"));
    Decision { kind: "stopped", detail: Some(detail), charge: Charge::TakenBack, next: Next::Blocked }
}

fn postponed(detail: Option<String>, until: Option<Timestamp>) -> Decision {
    Decision { kind: "postponed", detail, charge: Charge::TakenBack, next: Next::Stalled(until) }
}

fn settle_charge(document: &mut Document, card: &Card, decision: &Decision, progressed: bool) {
    let charged = card.run.as_ref().is_some_and(|run| run.charged);
    let taken = u64::from(charged && decision.charge == Charge::TakenBack);
    let retries = if progressed { 0 } else { document.count("retry_count").saturating_sub(taken) };
    for (name, value) in [("retry_count", retries), ("failures", document.count("failures").saturating_sub(taken))] {
        if document.count(name) != value {
            document.set(name, value);
        }
    }
}

fn apply(document: &mut Document, run: Option<Value>, decision: &Decision, now: Timestamp) -> Result<(), Error> {
    document.remove("not_before");
    match &decision.next {
        Next::AsItIs => {}
        Next::Status(status) => document.set_status(*status)?,
        Next::Attention(reason) => {
            if let (Some(run), true) = (run, reason == "attempt_not_contained") {
                document.set("run", run);
            }
            document.set_attention(reason, decision.detail.as_deref(), now)?;
        }
        Next::Again | Next::Blocked => document.set_status(Status::Stalled)?,
        Next::Stalled(until) => {
            document.set_status(Status::Stalled)?;
            if let Some(until) = until {
                document.set_time("not_before", *until);
            }
        }
        Next::Background => document.set_status(Status::Running)?,
        Next::Retry => {
            let counted = document.card(document.text("task_id")).map_err(|error| Error::data(error.detail))?;
            match exhaustion(&counted) {
                Some((reason, detail)) => {
                    let last = decision.detail.clone().unwrap_or_default();
                    document.set_attention(reason, Some(&format!("{detail}; the last one: {last}")), now)?;
                }
                None => {
                    document.set_status(Status::Stalled)?;
                    let seconds = cooldown_seconds(&counted, counted.retry_count);
                    document.set_time("not_before", now.plus_seconds(seconds).ceil_second());
                }
            }
        }
    }
    Ok(())
}

/// Whatever the outcome: a stalled task that asked for a later time waits until then.
fn wait_as_asked(document: &mut Document, asked: Option<Timestamp>) {
    let stands = Timestamp::parse(document.text("not_before")).ok().map(|(until, _)| until);
    if let Some(asked) = asked.filter(|asked| document.text("status") == "stalled" && stands.is_none_or(|until| until < *asked)) {
        document.set_time("not_before", asked.ceil_second());
    }
}

/// After exit 0 a process may live on, whatever the attempt recorded: it is remembered, so that it counts as alive, is due when it
/// ends or falls silent, and is ended before another attempt starts.
fn keep_background(document: &mut Document, run: Option<Value>, ended: &Ended<'_>) -> Result<(), Error> {
    let lives_on = ended.why == Ending::Exited(0) && ended.output_held && !document.status()?.is_terminal();
    if let (true, None, Some(Value::Object(mut run))) = (lives_on, document.get("run"), run) {
        run.insert("background".into(), true.into());
        document.set("run", run);
    }
    Ok(())
}

/// The first wait, doubled with each attempt in a row that brought no progress.
fn cooldown_seconds(card: &Card, attempts: u64) -> f64 {
    let doublings = i32::try_from(attempts.saturating_sub(1).min(60)).unwrap_or(60);
    let longest = COOLDOWN_SECONDS_MAX.max(card.cooldown_seconds()).min(RETRY_AFTER_SECONDS_MAX);
    (card.cooldown_seconds() * 2_f64.powi(doublings)).min(longest)
}

/// A card that became terminal meanwhile never changes again; only the run of a cancelled task, which is contained now, goes.
fn settle_terminal(document: &mut Document, card: &Card, ended: &Ended<'_>) -> Settled {
    let id = card.task_id();
    let (from, to) = (ended.given.text("phase"), document.text("phase"));
    let now = card.updated_at.unwrap_or(Timestamp::from_unix_ms(0));
    let about = |signal: &str| Line::new(signal, id).with("attempt", ended.number);
    let (kind, line) = match (card.status, &ended.left) {
        (status, Some(detail)) if status == Status::Cancelled || ended.why == Ending::Overtaken => {
            let line = not_contained_line(card, detail).with("outcome", "stopped").with("attempt", ended.number);
            ("stopped", line.with("log", ended.stderr_log.as_str()))
        }
        // What it left in the background is found, and ended, by the next pass.
        (Status::Cancelled, None) if ended.output_held => ("stopped", about("skipped").with("reason", "cancelled")),
        (Status::Cancelled, _) => ("stopped", about("contained")),
        (status, _) if ended.why == Ending::Overtaken => ("stopped", about("skipped").with("reason", status.as_str())),
        (Status::Failed, _) => ("failed", task_failed(id, to, ended, None)),
        _ if ended.first_start => ("completed", about("started").with("outcome", "completed").with("to_phase", to)),
        _ => ("completed", recovery(id, from, to, ended.number, "completed", now)),
    };
    let contained = card.status == Status::Cancelled && ended.left.is_none() && !ended.output_held;
    let changed = contained && document.remove("run").is_some();
    Settled { changed, kind, line, again: false }
}

#[cfg(test)]
#[path = "settle_tests.rs"]
mod tests;
