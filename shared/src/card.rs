//! The run card as it is read: schema version 1.
//!
//! `Card` is only ever deserialized; writing edits the ordered object (`document.rs`). A field
//! that is present has its type or the card is invalid: nothing is guessed. Fields that are not
//! named here are somebody else's and are skipped.

use serde::Deserialize;

pub use crate::fault::{CardError, Fault, json_error};
use crate::id;
use crate::parts::{Checkpoint, Digest, Step};
use crate::shape::{Amount, ArrayOf, Object, ObjectOf, PathOrPaths, Unread, counted, object, present, present_object};
pub use crate::status::Status;
use crate::time::Timestamp;
use crate::usual::without_checkpoints;

/// The largest card, in bytes.
pub const BYTES_MAX: usize = 4 * 1024 * 1024;
/// The schema version that this program reads and writes.
pub const SCHEMA_VERSION: u64 = 1;

/// The attempt that is not settled yet, or a settled one that left a background process.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Run {
    /// Its number.
    pub attempt: u64,
    /// Tells its processes from those of other attempts with the same number.
    pub token: String,
    /// The machine that it runs on.
    pub host: String,
    /// The supervisor, for a person to read. Never believed.
    pub pid: u64,
    /// When it was claimed.
    pub started_at: Timestamp,
    /// Whether it counts against `max_retries` and `max_failures`.
    #[serde(default)]
    pub charged: bool,
    /// The lowest number of an attempt that may still have processes, when earlier ones were never settled.
    #[serde(default, deserialize_with = "present")]
    pub forerunners_from: Option<u64>,
    /// Settled with exit 0, but a process of it lives on.
    #[serde(default)]
    pub background: bool,
}

/// How the last attempt ended; the rest of it is for people.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Outcome {
    /// When it was settled.
    pub at: Timestamp,
    /// Its number.
    pub attempt: u64,
    /// One word.
    pub kind: String,
}

/// Why a person is needed; only with status `needs_attention`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Attention {
    /// One word.
    pub reason: String,
    /// One sentence.
    #[serde(default, deserialize_with = "present")]
    pub detail: Option<String>,
    /// Since when.
    #[serde(default, deserialize_with = "present")]
    pub since: Option<Timestamp>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
struct Metadata {
    #[serde(default)]
    depends_on: Vec<String>,
    #[serde(default)]
    pending_action: Option<serde_json::Value>,
}

/// One run card. Accessor methods apply the defaults.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Card {
    #[serde(default, deserialize_with = "present")]
    schema_version: Option<u64>,
    /// Counts every write, from 1.
    #[serde(default, deserialize_with = "counted")]
    pub revision: u64,
    #[serde(default, deserialize_with = "present")]
    task_id: Option<String>,
    #[serde(rename = "id", default, deserialize_with = "present")]
    predecessor_id: Option<String>,
    /// What kind of work this is.
    #[serde(default)]
    pub task_type: String,
    /// For people.
    #[serde(default)]
    pub title: String,
    /// When the card was made.
    #[serde(default, deserialize_with = "present")]
    pub created_at: Option<Timestamp>,
    /// When the card was last written.
    #[serde(default, deserialize_with = "present")]
    pub updated_at: Option<Timestamp>,
    /// Where the task stands.
    pub status: Status,
    /// Where a new attempt starts.
    #[serde(default)]
    pub phase: String,
    /// Absolute path of the adapter.
    #[serde(default, deserialize_with = "present")]
    pub resume_adapter: Option<String>,
    #[serde(default)]
    resume_argv: Vec<String>,
    #[serde(default)]
    resume_command_argv: Vec<String>,
    /// Where a plain command runs.
    #[serde(default, deserialize_with = "present")]
    pub cwd: Option<String>,
    /// The PATH that a plain command runs with.
    #[serde(default, deserialize_with = "present")]
    pub path: Option<String>,
    /// Whether a silent task is brought back without a person.
    #[serde(default)]
    pub allow_auto_resume: bool,
    #[serde(default, deserialize_with = "present")]
    stale_after_minutes: Option<Amount>,
    #[serde(default, deserialize_with = "present")]
    max_retries: Option<u64>,
    /// Charged attempts in a row without progress.
    #[serde(default, deserialize_with = "counted")]
    pub retry_count: u64,
    #[serde(default, deserialize_with = "present")]
    max_failures: Option<u64>,
    /// Charged attempts that did not end well.
    #[serde(default, deserialize_with = "counted")]
    pub failures: u64,
    /// Number of the newest attempt: the fencing token.
    #[serde(default, deserialize_with = "counted")]
    pub attempt: u64,
    #[serde(default, deserialize_with = "present")]
    timeout_seconds: Option<Amount>,
    #[serde(default, deserialize_with = "present")]
    cooldown_seconds: Option<Amount>,
    /// No attempt starts before this time.
    #[serde(default, deserialize_with = "present")]
    pub not_before: Option<Timestamp>,
    #[serde(default, deserialize_with = "present")]
    give_up_after_minutes: Option<Amount>,
    #[serde(default, deserialize_with = "present")]
    manual_phases: Option<Vec<String>>,
    #[serde(default, deserialize_with = "present")]
    safe_to_retry: Option<bool>,
    /// When a person last said: go on.
    #[serde(default, deserialize_with = "present")]
    pub approved_at: Option<Timestamp>,
    /// The phase that this was said for; used up by the next claim.
    #[serde(default, deserialize_with = "present")]
    pub permit: Option<String>,
    #[serde(rename = "permit_artifacts", default, deserialize_with = "present")]
    _permit_artifacts: Option<bool>,
    /// When work last recorded progress.
    #[serde(default, deserialize_with = "present")]
    pub last_checkpoint_at: Option<Timestamp>,
    /// How many checkpoints there were.
    #[serde(default, deserialize_with = "counted")]
    pub checkpoint_count: u64,
    #[serde(rename = "checkpoints", default, deserialize_with = "present")]
    _checkpoints: Option<ArrayOf<Object<Checkpoint>>>,
    #[serde(rename = "artifacts", default, deserialize_with = "present")]
    _artifacts: Option<ObjectOf<PathOrPaths>>,
    #[serde(rename = "artifact_digests", default, deserialize_with = "present")]
    _artifact_digests: Option<ObjectOf<Object<Digest>>>,
    #[serde(rename = "steps", default, deserialize_with = "present")]
    _steps: Option<ArrayOf<Object<Step>>>,
    #[serde(rename = "context", default, deserialize_with = "present")]
    _context: Option<ObjectOf<serde::de::IgnoredAny>>,
    #[serde(default, deserialize_with = "present_object")]
    metadata: Option<Metadata>,
    /// The predecessor's name of it, as long as there is no other.
    #[serde(default, deserialize_with = "present")]
    meta: Option<Unread>,
    /// The attempt that is not settled yet.
    #[serde(default, deserialize_with = "present_object")]
    pub run: Option<Run>,
    /// How the last attempt ended.
    #[serde(default, deserialize_with = "present_object")]
    pub outcome: Option<Outcome>,
    /// Why a person is needed.
    #[serde(default, deserialize_with = "present_object")]
    pub attention: Option<Attention>,
}

impl Card {
    /// Reads the card that the file `<file_id>.json` holds.
    ///
    /// Fields that no verdict needs are skipped without being checked in depth; `Document::parse`
    /// reads everything.
    ///
    /// # Errors
    /// `Invalid` or `UnknownVersion`, with one sentence.
    pub fn parse(bytes: &[u8], file_id: &str) -> Result<Self, CardError> {
        if !id::is_valid(file_id) {
            return Err(CardError::new(Fault::Invalid, "the file's name without .json is no task ID"));
        }
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => return Err(CardError::new(Fault::Invalid, format!("byte {} is not UTF-8", error.valid_up_to() + 1))),
        };
        if text.trim_ascii().is_empty() {
            return Err(CardError::new(Fault::Invalid, "it is empty"));
        }
        // What is wrong is said of the whole text: of its lines and columns.
        let short = without_checkpoints(text).and_then(|short| read_text(&short).ok()).filter(|card| !card.keeps_values());
        let mut card = short.map_or_else(|| read_text(text), Ok).map_err(|error| match version(text) {
            Some(other) => unknown_version(other),
            None => CardError::new(Fault::Invalid, json_error(&error)),
        })?;
        if let Some(other) = card.schema_version.filter(|version| *version != SCHEMA_VERSION) {
            return Err(unknown_version(other));
        }
        if let (None, Some(meta)) = (&card.metadata, card.meta.take()) {
            let read = object(&mut serde_json::Deserializer::from_str(meta.text()));
            let read = read.map_err(|error| CardError::new(Fault::Invalid, format!("meta: {}", json_error(&error))))?;
            card.metadata = Some(read);
        }
        card.check(file_id)?;
        Ok(card)
    }

    /// Whether there is a value in it that anybody may have laid out in any way: what was left out may be of that.
    fn keeps_values(&self) -> bool {
        let action = self.metadata.as_ref().and_then(|metadata| metadata.pending_action.as_ref());
        self.meta.is_some() || action.is_some_and(|action| action.is_object() || action.is_array())
    }

    fn check(&self, file_id: &str) -> Result<(), CardError> {
        let invalid = |detail: String| Err(CardError::new(Fault::Invalid, detail));
        if self.task_id() != file_id {
            return invalid(format!("task_id is {:?}, the file's name says {file_id:?}", self.task_id()));
        }
        if !self.status.is_terminal() && self.created_at.is_none() && self.last_checkpoint_at.is_none() && self.updated_at.is_none()
        {
            return invalid("created_at is missing".to_owned());
        }
        if let Some(bad) = self.depends_on().iter().find(|id| !id::is_valid(id)) {
            return invalid(format!("metadata.depends_on names {bad:?}, which is no task ID"));
        }
        Ok(())
    }

    /// The task's ID.
    #[must_use]
    pub fn task_id(&self) -> &str {
        self.task_id.as_deref().or(self.predecessor_id.as_deref()).unwrap_or_default()
    }

    /// The plain command; empty when there is none.
    #[must_use]
    pub fn argv(&self) -> &[String] {
        if self.resume_argv.is_empty() { &self.resume_command_argv } else { &self.resume_argv }
    }

    /// Whether attempts are a plain command that can simply be run again.
    #[must_use]
    pub fn is_plain_command(&self) -> bool {
        self.resume_adapter.is_none() && !self.argv().is_empty()
    }

    /// Minutes of silence that count as lost; 0 = never.
    #[must_use]
    pub fn stale_after_minutes(&self) -> f64 {
        let default = if self.is_plain_command() { 0.0 } else { 30.0 };
        self.stale_after_minutes.map_or(default, |amount| amount.0)
    }

    /// Charged attempts in a row without progress that are too many.
    #[must_use]
    pub fn max_retries(&self) -> u64 {
        self.max_retries.unwrap_or(3)
    }

    /// Charged attempts that did not end well that are too many.
    #[must_use]
    pub fn max_failures(&self) -> u64 {
        self.max_failures.unwrap_or(50)
    }

    /// Seconds of the longest single attempt; 0 = no limit.
    #[must_use]
    pub fn timeout_seconds(&self) -> f64 {
        let default = if self.is_plain_command() { 0.0 } else { 300.0 };
        self.timeout_seconds.map_or(default, |amount| amount.0)
    }

    /// Seconds of the first wait between attempts.
    #[must_use]
    pub fn cooldown_seconds(&self) -> f64 {
        self.cooldown_seconds.map_or(15.0, |amount| amount.0)
    }

    /// Minutes of being due after which a person decides; 0 = never.
    #[must_use]
    pub fn give_up_after_minutes(&self) -> f64 {
        self.give_up_after_minutes.map_or(4320.0, |amount| amount.0)
    }

    /// Whether no attempt enters the current phase without a person's word. The predecessor's `safe_to_retry` counts as long as
    /// the card has no list of its own.
    #[must_use]
    pub fn in_manual_phase(&self) -> bool {
        match &self.manual_phases {
            Some(phases) => phases.contains(&self.phase),
            None => self.safe_to_retry == Some(false),
        }
    }

    /// Whether a person said "go on" for the current phase.
    #[must_use]
    pub fn is_permitted(&self) -> bool {
        self.permit.as_ref() == Some(&self.phase)
    }

    /// What a person is about to allow, in the card's own words.
    #[must_use]
    pub fn pending_action(&self) -> Option<String> {
        match self.metadata.as_ref()?.pending_action.as_ref()? {
            serde_json::Value::Null => None,
            serde_json::Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }
    }

    /// The tasks that must be completed first.
    #[must_use]
    pub fn depends_on(&self) -> &[String] {
        self.metadata.as_ref().map_or(&[], |metadata| &metadata.depends_on)
    }
}

fn read_text(text: &str) -> Result<Card, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    object(&mut deserializer).and_then(|card| deserializer.end().map(|()| card))
}

fn version(text: &str) -> Option<u64> {
    #[derive(Deserialize)]
    struct Version {
        schema_version: u64,
    }
    let version = serde_json::from_str::<Version>(text).ok()?.schema_version;
    (version != SCHEMA_VERSION).then_some(version)
}

fn unknown_version(version: u64) -> CardError {
    CardError::new(
        Fault::UnknownVersion,
        format!("schema_version is {version}, this program knows {SCHEMA_VERSION}: update task-recovery"),
    )
}

#[cfg(test)]
#[path = "card_tests.rs"]
mod tests;
