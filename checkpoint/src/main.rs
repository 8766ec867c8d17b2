//! `checkpoint`: records progress of a running task.

use std::process::ExitCode;

use serde_json::{Map, Value};
use shared::answer::{Answer, RETRY_AFTER_SECONDS_MAX};
use shared::card::Status;
use shared::cli::{self, Output};
use shared::document::{Document, step_place};
use shared::edit::{edit, refuse_finished};
use shared::exit::{Error, Exit};
use shared::store::Store;
use shared::talk::{command, say};
use shared::time::Timestamp;

mod args;
mod note;

use args::Wanted;

fn main() -> ExitCode {
    cli::run("checkpoint", args::parse, |wanted| {
        let (store, _) = wanted.common.open()?;
        let note = note::note(&wanted)?;
        let saved = record(&store, &wanted, &note)?;
        let mut output = Output::new();
        output.json(&summary(&saved))?;
        output.finish()?;
        Ok(Exit::Done)
    })
}

fn record(store: &Store, wanted: &Wanted, note: &Answer) -> Result<Document, Error> {
    let mut unknown_steps = Vec::new();
    let saved = edit(store, &wanted.id, |document, card, now| {
        refuse_finished(card)?;
        let before = document.clone();
        unknown_steps = note.entry.apply(document, true, now);
        if let Some(name) = unknown_steps.iter().find(|name| step_place(name).is_some()) {
            let count = before.get("steps").and_then(Value::as_array).map_or(0, Vec::len);
            let why = format!("{} has no step {name}, it has {count}; see {} show {0}", wanted.id, command("card"));
            let of_options = wanted.entry.steps.iter().any(|step| step.name == *name);
            return Err(if of_options { Error::usage(why) } else { Error::data(why) });
        }
        wanted.policy.apply(document)?;
        set_status(document, card.status, note, now)?;
        let mut event = note.entry.event("checkpoint", &before).with("by", "checkpoint");
        if document.text("status") != before.text("status") {
            event = event.with("from", before.text("status")).with("to", document.text("status"));
        }
        Ok(Some(event))
    })?;
    for name in unknown_steps {
        say(&format!("{} had no step {name:?}: it is added", wanted.id));
    }
    Ok(saved)
}

/// Work is going on, unless the caller says otherwise. What a person has to decide stays with the person.
fn set_status(card: &mut Document, before: Status, note: &Answer, now: Timestamp) -> Result<(), Error> {
    if matches!(before, Status::Pending | Status::Stalled) {
        card.set_status(Status::Running)?;
        card.remove("not_before");
    }
    match note.status {
        Some(Status::NeedsAttention) => {
            let reason = note.reason.as_deref().unwrap_or("blocked");
            card.set_attention(reason, note.entry.message.as_deref(), now)?;
        }
        Some(status) => card.set_status(status)?,
        None if before == Status::NeedsAttention => {
            let id = card.text("task_id");
            say(&format!("{id} waits for a person and stays needs_attention; see {} show {id}", command("card")));
        }
        None => {}
    }
    if let (Some(Status::Stalled), Some(seconds)) = (note.status, note.retry_after_seconds) {
        card.set_time("not_before", now.plus_seconds(seconds.min(RETRY_AFTER_SECONDS_MAX)).ceil_second());
    }
    Ok(())
}

/// The card's summary. It has a `revision`, so that it is never taken for an adapter's answer.
fn summary(card: &Document) -> Value {
    let names = ["task_id", "revision", "status", "phase", "checkpoint_count", "last_checkpoint_at", "retry_count", "attempt"];
    let fields = names.into_iter().filter_map(|name| Some((name.to_owned(), card.get(name)?.clone())));
    Value::Object(fields.collect::<Map<_, _>>())
}
