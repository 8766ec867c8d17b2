//! From OpenClaw's task status file: one task, told by whoever runs it.
//!
//! `{"taskId","taskType","status":"pending|running|waiting_for_input|completed|failed",
//! "progress":{"current","total","percentage"},"message","requiresInput","history","updatedAt",
//! "extensions"}`. What a card has no field for is kept whole in `metadata.task_status`.

use std::path::Path;

use serde_json::{Map, Value};
use shared::card::{SCHEMA_VERSION, Status, json_error};
use shared::document::Document;
use shared::edit::edit;
use shared::exit::{Error, Exit, cause};
use shared::history::Event;
use shared::id::TaskId;
use shared::store::{LoadError, Store};
use shared::task_state::task_id;
use shared::time::Timestamp;

use super::standard_input;
use crate::show;

/// Makes or refreshes the card of the file.
pub(super) fn import(store: &Store, from: Option<&Path>) -> Result<Exit, Error> {
    let (bytes, name) = match from {
        None => return Err(Error::usage("import: say which file, or - for standard input")),
        Some(path) if path == Path::new("-") => (standard_input()?, "standard input".to_owned()),
        Some(path) => {
            let bytes = std::fs::read(path);
            (
                bytes.map_err(|error| Error::io(format!("cannot read {}: {}", path.display(), cause(&error))))?,
                path.display().to_string(),
            )
        }
    };
    let told = Told::parse(&bytes).map_err(|why| Error::data(format!("{name}: {why}")))?;
    let event = || Event::new("imported").with("by", "card").with("from", "task-status");
    let card = match store.load(&told.id) {
        Err(LoadError::Missing) => store.create(&told.id, told.new_card(store.clock().stamp())?, event())?,
        Ok((document, card)) if card.status.is_terminal() => document,
        Ok(_) => edit(store, &told.id, |document, _, now| {
            let before = document.clone();
            told.refresh(document, now)?;
            let fields = before.changed_fields(document);
            Ok((!fields.is_empty()).then(|| event().with("fields", fields)))
        })?,
        Err(error) => return Err(error.about(told.id.as_str())),
    };
    show::print(&card)
}

/// A task as such a file tells it.
struct Told {
    object: Map<String, Value>,
    id: TaskId,
    status: Status,
    updated: Option<Timestamp>,
}

impl Told {
    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let object: Map<String, Value> = serde_json::from_slice(bytes).map_err(|error| json_error(&error))?;
        let text = |name: &str| object.get(name).and_then(Value::as_str);
        let id = task_id(object.get("taskId"))?;
        let status = match text("status").unwrap_or_default() {
            "pending" => Status::Pending,
            "running" => Status::Running,
            "waiting_for_input" => Status::NeedsAttention,
            "completed" => Status::Completed,
            "failed" => Status::Failed,
            other => return Err(format!("status is {other:?}; known are pending, running, waiting_for_input, completed, failed")),
        };
        let updated = text("updatedAt").map(Timestamp::parse).transpose().map_err(|why| format!("updatedAt: {why}"))?;
        Ok(Self { id, status, updated: updated.map(|(time, _)| time), object })
    }

    fn new_card(&self, now: Timestamp) -> Result<Document, Error> {
        let mut card = Document::new(Map::new());
        card.set("schema_version", SCHEMA_VERSION);
        card.set("revision", 0);
        card.set("task_id", self.id.as_str());
        card.set("task_type", self.object.get("taskType").and_then(Value::as_str).unwrap_or("task"));
        card.set("title", self.id.as_str());
        card.set_time("created_at", self.updated.unwrap_or(now).min(now));
        card.set_time("updated_at", now);
        let first = if self.status == Status::Pending { Status::Pending } else { Status::Running };
        card.set("status", first.as_str());
        card.set("allow_auto_resume", false);
        card.set("stale_after_minutes", 0);
        self.refresh(&mut card, now)?;
        Ok(card)
    }

    /// Brings what the file tells into a card.
    fn refresh(&self, card: &mut Document, now: Timestamp) -> Result<(), Error> {
        let at = self.updated.unwrap_or(now).min(now);
        let message = self.object.get("message").and_then(Value::as_str).unwrap_or_default();
        let told = card.get("checkpoints").and_then(Value::as_array).and_then(|entries| entries.last());
        let phase = card.text("phase").to_owned();
        if !message.is_empty() && told.and_then(|entry| entry.get("message")).and_then(Value::as_str) != Some(message) {
            card.add_checkpoint(&phase, message, at);
        }
        let rest: Map<String, Value> =
            self.object.clone().into_iter().filter(|(name, _)| !matches!(name.as_str(), "taskId" | "taskType")).collect();
        if card.get("metadata").and_then(|metadata| metadata.get("task_status")).and_then(Value::as_object) != Some(&rest) {
            card.object_at("metadata").insert("task_status".into(), rest.into());
        }
        let asks = self.object.get("requiresInput").filter(|value| !matches!(value, Value::Null | Value::Bool(_)));
        match self.status {
            Status::NeedsAttention if card.text("status") != "needs_attention" => {
                let asked = asks.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
                let detail = asked.or_else(|| (!message.is_empty()).then(|| message.to_owned()));
                card.set_attention("waiting_for_input", detail.as_deref(), at)
            }
            status if card.text("status") != status.as_str() => card.set_status(status),
            _ => Ok(()),
        }
    }
}
