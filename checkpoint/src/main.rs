//! `checkpoint`: records progress of a running task.

use std::process::ExitCode;

use serde_json::{Map, Value};
use shared::attempt::{self, Writer};
use shared::card::Status;
use shared::cli::{self, Output, Parsed};
use shared::document::Document;
use shared::exit::{Error, Exit};
use shared::progress;
use shared::store::Store;
use shared::talk::say;

mod args;

use args::Wanted;

fn main() -> ExitCode {
    cli::run("checkpoint", || match args::parse(lexopt::Parser::from_env())? {
        Parsed::Print(text) => cli::print(&text),
        Parsed::Run(wanted) => {
            let (store, _) = wanted.common.open()?;
            let saved = record(&store, &wanted)?;
            let mut output = Output::new();
            output.json(&summary(&saved))?;
            output.finish()?;
            Ok(Exit::Done)
        }
    })
}

fn record(store: &Store, wanted: &Wanted) -> Result<Document, Error> {
    let mut unknown_steps = Vec::new();
    let saved = store.update(&wanted.id, |document, card, now| {
        let writer = attempt::fence(store, card)?;
        if card.status.is_terminal() {
            return Err(Error::refused(format!("{} is {} and never changes again; make a new task", wanted.id, card.status)));
        }
        let before = document.clone();
        unknown_steps = wanted.entry.apply(document, true, now);
        set_status(document, card.status, wanted, now)?;
        if progress::between(&before, document) && document.count("retry_count") > 0 {
            document.set("retry_count", 0);
        }
        let mut event = wanted.entry.event("checkpoint", &before).with("by", "checkpoint");
        if document.text("status") != before.text("status") {
            event = event.with("from", before.text("status")).with("to", document.text("status"));
        }
        if writer == Writer::Unfenced {
            event = event.with("unfenced", true);
        }
        Ok(Some(event))
    })?;
    for name in unknown_steps {
        say(&format!("{} had no step {name:?}: it is added", wanted.id));
    }
    Ok(saved)
}

/// Work is going on, unless the caller says otherwise. What a person has to decide stays with the person.
fn set_status(document: &mut Document, now: Status, wanted: &Wanted, at: shared::time::Timestamp) -> Result<(), Error> {
    if matches!(now, Status::Pending | Status::Stalled) {
        document.set_status(Status::Running)?;
        document.remove("not_before");
    }
    match wanted.status {
        Some(Status::NeedsAttention) => document.set_attention("blocked", wanted.entry.message.as_deref(), at),
        Some(status) => document.set_status(status),
        None if now == Status::NeedsAttention => {
            say(&format!("{} waits for a person and stays needs_attention; see card show {0}", wanted.id));
            Ok(())
        }
        None => Ok(()),
    }
}

/// The card's summary. It has a `revision`, so that it is never taken for an adapter's answer.
fn summary(card: &Document) -> Value {
    let names = ["task_id", "revision", "status", "phase", "checkpoint_count", "last_checkpoint_at", "retry_count", "attempt"];
    let fields = names.into_iter().filter_map(|name| Some((name.to_owned(), card.get(name)?.clone())));
    Value::Object(fields.collect::<Map<_, _>>())
}
