//! `--explain`: the verdict on every card, quiet ones too, with the values that decided.

use serde_json::{Map, Value};
use shared::cli::Output;
use shared::exit::{Error, Exit};
use shared::facts::{Observer, cycle};
use shared::id::TaskId;
use shared::signal::{detail, number};
use shared::store::Store;
use shared::verdict::{Verdict, minutes, silent_since};

use crate::args::Wanted;
use crate::look::{Found, Judged, look_at_all, look_at_one};

/// Prints one object a card.
pub(crate) fn explain(store: &Store, observer: &Observer, id: Option<&TaskId>, wanted: &Wanted) -> Result<Exit, Error> {
    let mut output = Output::new();
    let mut needs_person = false;
    let mut visit = |found: Found| {
        if let (Found::Judged(judged), Some(wanted)) = (&found, &wanted.task_type)
            && judged.card.task_type != *wanted
        {
            return Ok(true);
        }
        let object = object(store, &found);
        needs_person |= object.get("verdict").and_then(Value::as_str) == Some("needs_attention");
        output.json(&Value::Object(object))?;
        Ok(!output.is_closed())
    };
    match id {
        Some(id) => look_at_one(store, observer, id, &mut visit)?,
        None => look_at_all(store, observer, true, &mut visit)?,
    }
    output.finish()?;
    Ok(if wanted.exit_status && needs_person { Exit::NeedsPerson } else { Exit::Done })
}

fn object(store: &Store, found: &Found) -> Map<String, Value> {
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
    let Judged { card, facts, verdict, now } = match found {
        Found::Broken { id_text, error } => {
            put("task_id", id_text.as_str().into());
            put("verdict", "needs_attention".into());
            put("reason", error.fault.reason().into());
            put("detail", error.detail.as_str().into());
            return object;
        }
        Found::Judged(judged) => &**judged,
    };
    put("task_id", card.task_id().into());
    match verdict {
        Verdict::Quiet(quiet) => {
            put("verdict", "quiet".into());
            put("reason", quiet.reason.into());
            if let Some(until) = quiet.until {
                put("until", until.to_string().into());
            }
        }
        Verdict::Ready => drop(put("verdict", "ready".into())),
        Verdict::Alert(due) => {
            put("verdict", "alert".into());
            put("reason", due.reason.into());
            put("due_since", due.since.to_string().into());
        }
        Verdict::Attention(attention) => {
            put("verdict", "needs_attention".into());
            put("reason", attention.reason.as_str().into());
            put("detail", detail(card, attention).into());
        }
    }
    put("now", now.to_string().into());
    put("status", card.status.as_str().into());
    put("phase", card.phase.as_str().into());
    let since = silent_since(card, facts, *now);
    put("silent_since", since.to_string().into());
    put("silent_for_minutes", number(minutes(now.seconds_since(since))));
    put("stale_after_minutes", number(card.stale_after_minutes()));
    put("allow_auto_resume", card.allow_auto_resume.into());
    put("retry_count", card.retry_count.into());
    put("max_retries", card.max_retries().into());
    put("failures", card.failures.into());
    put("max_failures", card.max_failures().into());
    if let Some(run) = &card.run {
        put("attempt", run.attempt.into());
        put("supervisor_alive", facts.supervisor_alive.into());
        put("attempt_alive", facts.attempt_alive.into());
    }
    if let Some(until) = card.not_before {
        put("not_before", until.to_string().into());
    }
    if !card.depends_on().is_empty() {
        put("depends_on", card.depends_on().into());
        if !facts.dependencies.unfinished.is_empty() {
            put("waits_for", facts.dependencies.unfinished.clone().into());
        }
        if let Some(cycle) = cycle(store, card) {
            put("cycle", cycle.into());
        }
    }
    if card.in_manual_phase() {
        put("manual_phase", true.into());
        put("permitted", card.is_permitted().into());
    }
    object
}
