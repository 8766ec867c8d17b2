//! What is told of an attempt that ended: to the card, and in a line.

use nix::unistd::Pid;
use serde_json::{Map, Value};
use shared::card::{Card, Status};
use shared::document::{Document, cut};
use shared::exit::Error;
use shared::signal::{self, Line};
use shared::talk::command;
use shared::time::Timestamp;
use shared::verdict::{Attention, own_attention};

use super::{Decision, Ended, Next};
use crate::step::Ending;

pub(super) fn outcome(document: &Document, ended: &Ended<'_>, decision: &Decision, now: Timestamp) -> Map<String, Value> {
    let mut outcome = Map::new();
    let mut put = |name: &str, value: Value| outcome.insert(name.to_owned(), value);
    put("at", now.to_string().into());
    put("attempt", ended.number.into());
    put("kind", decision.kind.into());
    if let Some(detail) = &decision.detail {
        put("detail", cut(detail).into());
    }
    match ended.why {
        Ending::Exited(code) => drop(put("exit_status", code.into())),
        Ending::Killed(signal) => drop(put("signal", signal.into())),
        _ => {}
    }
    let well = matches!(decision.kind, "completed" | "progressed" | "handed_over" | "background");
    if !well && !ended.stderr_tail.is_empty() {
        put("stderr_tail", ended.stderr_tail.as_str().into());
    }
    put("from_phase", ended.given.text("phase").into());
    put("to_phase", document.text("phase").into());
    outcome
}

pub(super) fn line(
    document: &Document,
    ended: &Ended<'_>,
    decision: &Decision,
    progressed: bool,
    now: Timestamp,
) -> Result<Line, Error> {
    let id = document.text("task_id");
    let status = document.status()?;
    let (from, to) = (ended.given.text("phase"), document.text("phase"));
    if status == Status::NeedsAttention {
        let card = document.card(id).map_err(|error| Error::data(error.detail))?;
        let line = signal::needs_attention(&card, &own_attention(&card));
        return Ok(line.with("outcome", decision.kind).with("attempt", ended.number).with("log", ended.stderr_log.as_str()));
    }
    if status == Status::Failed {
        return Ok(task_failed(id, to, ended, decision.detail.clone()));
    }
    if matches!(decision.next, Next::Blocked) {
        let line = Line::new("needs_attention", id).with("phase", to).with("reason", "non_idempotent_phase_blocked");
        let line = line.with_some("detail", decision.detail.clone()).with("blocked_since", now.to_string());
        let line = line.with("next", format!("{} approve {id} | {}", command("card"), command("resume")));
        return Ok(line.with("outcome", decision.kind).with("attempt", ended.number));
    }
    let good = matches!(decision.kind, "completed" | "progressed");
    if good && !ended.first_start {
        return Ok(recovery(id, from, to, ended.number, decision.kind, now));
    }
    if good || matches!(decision.kind, "handed_over" | "background") {
        return Ok(Line::new("started", id).with("attempt", ended.number).with("outcome", decision.kind).with("to_phase", to));
    }
    let line = Line::new("alert", id).with("outcome", decision.kind).with_some("detail", decision.detail.clone());
    let line = line.with("attempt", ended.number).with_some("progress", progressed.then_some(true));
    let line = line.with_some("next_attempt_at", document.get("not_before").cloned());
    Ok(line.with("log", ended.stderr_log.as_str()))
}

pub(super) fn recovery(id: &str, from: &str, to: &str, attempt: u64, kind: &str, now: Timestamp) -> Line {
    let line = Line::new("recovery", id).with("from_phase", from).with("to_phase", to);
    line.with("recovered_at", now.to_string()).with("attempt", attempt).with("outcome", kind)
}

pub(super) fn task_failed(id: &str, phase: &str, ended: &Ended<'_>, detail: Option<String>) -> Line {
    let line = Line::new("needs_attention", id).with("phase", phase).with("reason", "task_failed").with_some("detail", detail);
    let line = line.with("next", format!("{} log {id}", command("card"))).with("outcome", "failed").with("attempt", ended.number);
    line.with("log", ended.stderr_log.as_str())
}

/// What is said of processes that could not be ended.
pub(crate) fn not_contained(left: &[Pid]) -> String {
    if left.is_empty() {
        return "processes that still hold its log could not be found; end them, then approve the task".to_owned();
    }
    let pids: Vec<String> = left.iter().map(Pid::to_string).collect();
    format!("processes {} could not be ended; end them, then approve the task", pids.join(", "))
}

/// The line for a finished task that still has processes.
pub(crate) fn not_contained_line(card: &Card, detail: &str) -> Line {
    let attention = Attention { reason: "attempt_not_contained".to_owned(), detail: detail.to_owned(), since: card.updated_at };
    signal::needs_attention(card, &attention)
}
