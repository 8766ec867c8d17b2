//! `card create`.

use serde_json::{Map, json};
use shared::adapter::{self, Usability};
use shared::card::{Card, SCHEMA_VERSION, Status};
use shared::document::Document;
use shared::exit::{Error, Exit};
use shared::history::Event;
use shared::id::TaskId;
use shared::store::Store;
use shared::talk::say;
use shared::time::Timestamp;
use shared::workspace::Place;

use crate::args::Create;
use crate::show;

/// IDs that were not asked for are tried with this many suffixes.
const SUFFIX_MAX: u32 = 1000;

/// Makes a card and prints it.
pub(crate) fn create(store: &Store, place: &Place, wanted: &Create) -> Result<Exit, Error> {
    if place.fallback && !store.folder().exists() {
        say(&format!("no workspace was found or named: making {}", place.workspace.display()));
    }
    let now = store.clock().now();
    let made = match &wanted.id {
        Some(id) => make(store, id, wanted)?,
        None => make_with_free_id(store, wanted, now)?,
    };
    if let Ok(card) = made.card(made.text("task_id")) {
        warn(store, &card);
    }
    show::print(&made)
}

fn make(store: &Store, id: &TaskId, wanted: &Create) -> Result<Document, Error> {
    let mut document = document(id, wanted, store.clock().stamp())?;
    // First the adapter, so that no card ever points at one that is not there.
    let placed = wanted.scaffold.map(|scaffold| scaffold.place(store.workspace(), id)).transpose()?;
    if let Some(placed) = &placed {
        document.set("resume_adapter", placed.adapter());
    }
    let event = Event::new("created").with("by", "card").with("status", document.text("status"));
    let made = store.create(id, document, event);
    if let (Err(_), Some(placed)) = (&made, placed) {
        placed.take_back();
    }
    made
}

fn make_with_free_id(store: &Store, wanted: &Create, now: Timestamp) -> Result<Document, Error> {
    let kind: String =
        wanted.task_type.chars().map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' }).take(80).collect();
    let kind = if kind.starts_with(|c: char| c.is_ascii_alphanumeric()) { kind } else { format!("task{kind}") };
    let base = format!("{kind}-{}", now.stamp());
    for suffix in 1..=SUFFIX_MAX {
        let text = if suffix == 1 { base.clone() } else { format!("{base}-{suffix}") };
        let id: TaskId = text.parse().map_err(Error::usage)?;
        match make(store, &id, wanted) {
            Err(error) if error.exit == Exit::Exists => {}
            result => return result,
        }
    }
    Err(Error::new(Exit::Exists, format!("{base} and {SUFFIX_MAX} more IDs exist already; name one with --task-id")))
}

fn document(id: &TaskId, wanted: &Create, now: Timestamp) -> Result<Document, Error> {
    let status = wanted.status.unwrap_or(if wanted.policy.has_command() { Status::Pending } else { Status::Running });
    let mut card = Document::new(Map::new());
    card.set("schema_version", SCHEMA_VERSION);
    card.set("revision", 0);
    card.set("task_id", id.as_str());
    card.set("task_type", wanted.task_type.as_str());
    card.set("title", "");
    card.set_time("created_at", now);
    card.set_time("updated_at", now);
    card.set("status", status.as_str());
    if let Some(phase) = &wanted.entry.phase {
        card.set("phase", phase.as_str());
    }
    card.set("allow_auto_resume", false);
    wanted.policy.apply(&mut card)?;
    wanted.entry.apply(&mut card, false, now);
    if !wanted.steps.is_empty() {
        card.set("steps", wanted.steps.iter().map(|name| json!({"name": name, "status": "pending"})).collect::<Vec<_>>());
    }
    Ok(card)
}

fn warn(store: &Store, card: &Card) {
    match adapter::usability(card, store.workspace()) {
        Usability::Missing(detail) => say(&format!("{} is made, but could not be resumed now: {detail}", card.task_id())),
        Usability::Insecure(detail) => {
            say(&format!("{} is made, but would not be resumed: {detail}; correct its owner or mode", card.task_id()));
        }
        Usability::None if card.allow_auto_resume => {
            say(&format!("{} allows auto-resume but has no adapter and no command: it can only be watched", card.task_id()));
        }
        Usability::Usable | Usability::None => {}
    }
}
