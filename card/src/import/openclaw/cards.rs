//! The cards of a session, and new ones for it.

use std::collections::BTreeSet;

use serde_json::Map;
use shared::card::{Card, SCHEMA_VERSION, Status};
use shared::document::Document;
use shared::exit::Error;
use shared::id::TaskId;
use shared::store::Store;
use shared::time::Timestamp;

use super::memory::{self, Memory};
use super::record::Run;

/// The longest part of a session's key in an ID, in bytes.
const KEY_BYTES_MAX: usize = 96;
/// A whole attempt of the adapter: the agent's own run in it may take long. Less than the silence that counts as lost.
const TIMEOUT_SECONDS: u64 = 1500;

/// A card of the session.
pub(super) struct Found {
    pub(super) id: TaskId,
    pub(super) document: Document,
    pub(super) card: Card,
}

/// All that was found.
pub(super) struct Cards {
    pub(super) of_session: Vec<Found>,
    /// Of all cards that are there, whoever's they are.
    ids: BTreeSet<String>,
}

impl Cards {
    /// Looks through all cards. One that cannot be read is nobody's; `watch` names it.
    pub(super) fn find(store: &Store, run: &Run) -> Result<Self, Error> {
        let listing = store.list()?;
        let mut found = Self { of_session: Vec::new(), ids: BTreeSet::new() };
        let mut buffer = Vec::new();
        for entry in listing.iter() {
            let name = entry.id_text();
            found.ids.insert(name.to_string());
            let Ok(bytes) = store.read_entry(entry, &mut buffer) else { continue };
            // Most cards are no session's: a look at the bytes spares parsing them.
            if !bytes.windows(10).any(|window| window == b"\"openclaw\"") {
                continue;
            }
            let (Ok(id), Ok((document, card))) = (name.parse(), Document::parse(bytes, &name)) else { continue };
            if Memory::of(&document).belongs_to(run) {
                found.of_session.push(Found { id, document, card });
            }
        }
        Ok(found)
    }

    /// Those that are not finished.
    pub(super) fn all_open(&self) -> impl Iterator<Item = &Found> {
        self.of_session.iter().filter(|found| !found.card.status.is_terminal())
    }

    /// The card that an interrupted run concerns: the one that an earlier run made, because it counts the attempts; else the
    /// newest.
    pub(super) fn open(&self) -> Option<&Found> {
        self.all_open().max_by_key(|found| (Memory::of(&found.document).is_made_by_import(), found.card.created_at))
    }

    /// An ID for a new card: by the session's name, with the first number behind it that is free. `tried` numbers were not.
    pub(super) fn free_id(&self, run: &Run, tried: usize) -> Result<TaskId, Error> {
        let name: String =
            run.session().chars().map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' }).collect();
        let base = format!("openclaw-{}", super::record::cut(&name, KEY_BYTES_MAX));
        let names = (1..).map(|number| if number == 1 { base.clone() } else { format!("{base}-{number}") });
        let free = names.filter(|name| !self.ids.contains(name)).nth(tried).unwrap_or(base.clone());
        free.parse().map_err(Error::data)
    }
}

/// A card for a session that has none. The caller makes it stalled.
pub(super) fn new_card(id: &TaskId, run: &Run, ended_at: Timestamp, now: Timestamp) -> Document {
    let mut card = Document::new(Map::new());
    card.set("schema_version", SCHEMA_VERSION);
    card.set("revision", 0);
    card.set("task_id", id.as_str());
    card.set("task_type", "openclaw-run");
    card.set("title", format!("OpenClaw session {}", super::record::cut(run.session(), 200)));
    card.set_time("created_at", ended_at);
    card.set_time("updated_at", now);
    card.set("status", Status::Running.as_str());
    card.set("allow_auto_resume", false);
    card.set("max_retries", 3);
    card.set("cooldown_seconds", 15);
    card.set("timeout_seconds", TIMEOUT_SECONDS);
    memory::begin(&mut card, run);
    card
}
