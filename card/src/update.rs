//! `card update`: changes policies, titles, steps, metadata and the like of a task that exists.

use serde_json::Value;
use shared::attempt::{self, Writer};
use shared::card::Status;
use shared::cli::Output;
use shared::exit::{Error, Exit};
use shared::history::Event;
use shared::progress;
use shared::store::Store;

use crate::args::Update;

/// Changes the card and prints it. Without a change nothing is written.
pub(crate) fn update(store: &Store, wanted: &Update) -> Result<Exit, Error> {
    let changed = store.update(&wanted.id, |document, card, now| {
        let writer = attempt::fence(store, card)?;
        if card.status.is_terminal() {
            return Err(Error::refused(format!("{} is {} and never changes again; make a new task", wanted.id, card.status)));
        }
        let before = document.clone();
        wanted.entry.apply(document, false, now);
        wanted.policy.apply(document)?;
        if let Some(task_type) = &wanted.task_type {
            document.set("task_type", task_type.as_str());
        }
        for name in &wanted.steps {
            document.add_step(name);
        }
        match wanted.status {
            Some(Status::NeedsAttention) => document.set_attention("blocked", None, now)?,
            Some(status) => document.set_status(status)?,
            None => {}
        }
        if *document == before {
            return Ok(None);
        }
        if progress::between(&before, document) && document.count("retry_count") > 0 {
            document.set("retry_count", 0);
        }
        let event = Event::new("updated").with("by", "card").with("fields", before.changed_fields(document));
        Ok(Some(if writer == Writer::Unfenced { event.with("unfenced", true) } else { event }))
    })?;
    let mut output = Output::new();
    output.json(&Value::Object(changed.object().clone()))?;
    output.finish()?;
    Ok(Exit::Done)
}
