//! `card update`: changes policies, titles, steps, metadata and the like of a task that exists.

use shared::card::Status;
use shared::edit::{edit, refuse_finished};
use shared::exit::{Error, Exit};
use shared::history::Event;
use shared::store::Store;

use crate::args::Update;
use crate::show;

/// Changes the card and prints it. Without a change nothing is written.
pub(crate) fn update(store: &Store, wanted: &Update) -> Result<Exit, Error> {
    let changed = edit(store, &wanted.id, |document, card, now| {
        refuse_finished(card)?;
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
        Ok(Some(Event::new("updated").with("by", "card").with("fields", before.changed_fields(document))))
    })?;
    show::print(&changed)
}
