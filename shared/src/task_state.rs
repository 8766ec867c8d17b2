//! `.task-state.json`: the file in which a session's skill keeps one task, its steps and its context.
//!
//! ```text
//! {"version":1,"taskId","createdAt","updatedAt","description","status":"in_progress",
//!  "steps":[{"name","status":"done|pending","result"}],"context":{},"lastCheckpoint"}
//! ```
//!
//! A card that came from such a file names it in `metadata.task_state_file`, and is written back
//! to it with every write of the card: what the card knows better is changed, everything else
//! stays as the very text that it was. When the task is completed or cancelled the file goes. A
//! file that is another task's by now is left alone. Fields that a card has no place for are kept
//! in `metadata.task_state`, so that the file can be made anew.

use std::fs;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use nix::fcntl::AT_FDCWD;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use crate::card::{BYTES_MAX, SCHEMA_VERSION, Status, json_error};
use crate::document::Document;
use crate::durable::{self, Mode};
use crate::exit::cause;
use crate::id::TaskId;
use crate::read::{self, LoadError};
use crate::time::Timestamp;

mod write;

/// The file's usual name.
pub const FILE_NAME: &str = ".task-state.json";
/// Where a card names its file.
const FILE_FIELD: &str = "task_state_file";
/// Where a card keeps what it has no place for.
const REST_FIELD: &str = "task_state";
/// The file's fields that a card has a place for.
const KNOWN: [&str; 8] = ["taskId", "createdAt", "updatedAt", "description", "status", "steps", "context", "lastCheckpoint"];

/// Those fields, each of which may be there once.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only that none comes twice is of interest")]
struct Once {
    task_id: Option<IgnoredAny>,
    created_at: Option<IgnoredAny>,
    updated_at: Option<IgnoredAny>,
    description: Option<IgnoredAny>,
    status: Option<IgnoredAny>,
    steps: Option<IgnoredAny>,
    context: Option<IgnoredAny>,
    last_checkpoint: Option<IgnoredAny>,
}

/// A task as such a file tells it.
#[derive(Clone, Debug)]
pub struct TaskState {
    document: Document,
    id: TaskId,
    status: Status,
    modified: Option<SystemTime>,
}

impl TaskState {
    /// Reads the content of a file; none when there is nothing but blanks.
    ///
    /// # Errors
    /// One sentence that says what is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Option<Self>, String> {
        if bytes.trim_ascii().is_empty() {
            return Ok(None);
        }
        if bytes.len() > BYTES_MAX {
            return Err(format!("it is larger than {BYTES_MAX} bytes"));
        }
        let document = Document::read_object(bytes)?;
        // Nobody can tell which of two values was meant.
        serde_json::from_slice::<Once>(bytes).map_err(|error| json_error(&error))?;
        let id = task_id(document.get("taskId"))?;
        let status = match document.text("status") {
            "" | "in_progress" | "running" | "active" | "pending" | "paused" | "interrupted" => Status::Running,
            "completed" | "done" => Status::Completed,
            "failed" => Status::Failed,
            "cancelled" | "canceled" => Status::Cancelled,
            other => return Err(format!("status is {other:?}; known are in_progress, completed, failed, cancelled")),
        };
        if let Some(other) = document.get("steps").filter(|steps| !steps.as_array().is_some_and(|steps| steps.iter().all(is_step)))
        {
            return Err(format!("steps is {}; a list of objects with a name was expected", shown(other)));
        }
        if let Some(other) = document.get("context").filter(|context| !context.is_object()) {
            return Err(format!("context is {}; an object was expected", shown(other)));
        }
        for name in ["createdAt", "updatedAt"] {
            if let Some(value) = document.get(name) {
                Timestamp::parse(value.as_str().unwrap_or_default()).map_err(|why| format!("{name}: {why}"))?;
            }
        }
        Ok(Some(Self { document, id, status, modified: None }))
    }

    /// The task's ID.
    #[must_use]
    pub fn id(&self) -> &TaskId {
        &self.id
    }

    /// Where the task stands.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status
    }

    /// Whether the file is older than a card that was last written then.
    #[must_use]
    pub fn is_behind(&self, written: Option<SystemTime>) -> bool {
        matches!((self.modified, written), (Some(own), Some(written)) if own < written)
    }

    /// A new card of it, which nobody brings back without being asked.
    #[must_use]
    pub fn new_card(&self, file: Option<&Path>, now: Timestamp) -> Document {
        let mut card = Document::new(Map::new());
        card.set("schema_version", SCHEMA_VERSION);
        card.set("revision", 0);
        card.set("task_id", self.id.as_str());
        card.set("task_type", "session");
        card.set("title", "");
        card.set("created_at", self.document.get("createdAt").cloned().unwrap_or_else(|| now.to_string().into()));
        card.set_time("updated_at", now);
        card.set("status", self.status.as_str());
        card.set("allow_auto_resume", false);
        card.set("stale_after_minutes", 0);
        self.refresh(&mut card, file, false);
        // Its last sign of life, where it keeps no time of a checkpoint.
        let updated = Timestamp::parse(self.document.text("updatedAt")).ok().filter(|(at, _)| *at <= now);
        if updated.is_some() && card.get("last_checkpoint_at").is_none() {
            card.set("last_checkpoint_at", self.document.text("updatedAt"));
        }
        card
    }

    /// Brings what the file tells into a card that exists. A step that is done stays so. A file that is `behind` missed a write of
    /// the card: it only adds.
    pub fn refresh(&self, card: &mut Document, file: Option<&Path>, behind: bool) {
        let title = self.document.text("description");
        if !title.is_empty() && (!behind || card.text("title").is_empty()) && title != card.text("title") {
            card.set("title", title);
        }
        let told = self.document.get("steps").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        refresh_steps(card, told, behind);
        for (name, value) in self.document.get("context").and_then(Value::as_object).into_iter().flatten() {
            let known = card.get("context").and_then(|context| context.get(name));
            if known != Some(value) && (!behind || known.is_none()) {
                card.object_at("context").insert(name.clone(), value.clone());
            }
        }
        let last = Timestamp::parse(self.document.text("lastCheckpoint")).ok();
        let known = Timestamp::parse(card.text("last_checkpoint_at")).ok();
        if last > known {
            card.set("last_checkpoint_at", self.document.text("lastCheckpoint"));
        }
        let rest = self.document.object().iter().filter(|(name, _)| !KNOWN.contains(&name.as_str()));
        let mut rest: Map<String, Value> = rest.map(|(name, value)| (name.clone(), value.clone())).collect();
        if let Some(text) = self.document.get("lastCheckpoint").filter(|_| last.is_none()) {
            rest.insert("lastCheckpoint".into(), text.clone());
        }
        let metadata = card.object_at("metadata");
        if let Some(file) = file {
            metadata.insert(FILE_FIELD.into(), file.to_string_lossy().into());
        }
        if !rest.is_empty() {
            metadata.insert(REST_FIELD.into(), rest.into());
        }
    }

    /// The file's content.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.document.bytes()
    }
}

/// The task that a `taskId` names.
///
/// # Errors
/// One sentence when it names none.
pub fn task_id(value: Option<&Value>) -> Result<TaskId, String> {
    match value {
        None => Err("it has no taskId".to_owned()),
        Some(Value::String(text)) => text.parse().map_err(|why: String| format!("taskId: {why}")),
        Some(other) => Err(format!("taskId is {}; a text in quotation marks was expected", shown(other))),
    }
}

/// The beginning of a value.
fn shown(value: &Value) -> String {
    value.to_string().chars().take(60).collect()
}

fn is_step(step: &Value) -> bool {
    step.get("name").is_some_and(Value::is_string)
}

/// A step's status in the words of a card.
fn step_status(step: &Value) -> &'static str {
    match step.get("status").and_then(Value::as_str) {
        Some("done" | "completed" | "complete") => "done",
        Some("failed" | "error") => "failed",
        _ => "pending",
    }
}

fn step_name(step: &Value) -> &str {
    step.get("name").and_then(Value::as_str).unwrap_or_default()
}

/// Where the step at `index` of `steps` is in another list: the second of a name is the second there too.
fn nth_named(list: &[Value], steps: &[Value], index: usize) -> Option<usize> {
    let name = steps.get(index).map(step_name)?;
    let nth = steps.iter().take(index).filter(|step| step_name(step) == name).count();
    list.iter().enumerate().filter(|(_, step)| step_name(step) == name).nth(nth).map(|(at, _)| at)
}

fn refresh_steps(card: &mut Document, told: &[Value], behind: bool) {
    let before = card.get("steps").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut steps = before.clone();
    for (index, told_step) in told.iter().enumerate() {
        let status = step_status(told_step);
        match nth_named(&before, told, index).and_then(|at| steps.get_mut(at)) {
            Some(Value::Object(step)) => {
                if status != "pending" && (!behind || step.get("status").is_none_or(|known| known == "pending")) {
                    step.insert("status".into(), status.into());
                }
                let known = step.get("result").is_some_and(|result| !result.is_null());
                if let Some(result) = told_step.get("result").filter(|result| !result.is_null() && (!behind || !known)) {
                    step.insert("result".into(), result.clone());
                }
            }
            _ => {
                let mut step = told_step.as_object().cloned().unwrap_or_default();
                step.insert("status".into(), status.into());
                steps.push(step.into());
            }
        }
    }
    if steps != before {
        card.set("steps", steps);
    }
}

/// Reads such a file; none when it is not there or holds nothing.
///
/// # Errors
/// One sentence. The file is left alone.
pub fn load(path: &Path) -> Result<Option<TaskState>, String> {
    let mut buffer = Vec::new();
    match read::card_file(AT_FDCWD, path, false, false, &mut buffer) {
        Ok(bytes) => {
            let modified = modified(path);
            Ok(TaskState::parse(bytes)?.map(|state| TaskState { modified, ..state }))
        }
        Err(LoadError::Missing) => Ok(None),
        Err(LoadError::Bad(error)) => Err(error.detail),
        Err(LoadError::Ours(detail)) => Err(detail),
    }
}

/// When a file was last written; none when it is not there.
#[must_use]
pub fn modified(path: &Path) -> Option<SystemTime> {
    fs::symlink_metadata(path).ok()?.modified().ok()
}

/// The file that a card names.
pub(crate) fn named_by(card: &Document) -> Option<&Path> {
    let named = card.get("metadata").and_then(|metadata| metadata.get(FILE_FIELD)).and_then(Value::as_str);
    named.map(Path::new).filter(|path| path.is_absolute())
}

/// Removes the file of a finished task whose writer was killed before it could. A file that is younger than the card was begun anew.
///
/// # Errors
/// One sentence.
pub(crate) fn remove_leftover(card: &Document, card_path: &Path) -> Result<(), String> {
    let is_over = matches!(card.status(), Ok(Status::Completed | Status::Cancelled));
    let is_older = named_by(card).and_then(modified).zip(modified(card_path)).is_some_and(|(file, card)| file < card);
    if is_over && is_older { mirror(card, None) } else { Ok(()) }
}

/// Brings the file that a card names up to the card. The caller holds the task's update lock. `old` is the card as it was, and when
/// that was written.
///
/// # Errors
/// One sentence; the card is not concerned.
pub(crate) fn mirror(card: &Document, old: Option<&(Document, SystemTime)>) -> Result<(), String> {
    let Some(path) = named_by(card) else { return Ok(()) };
    let failed = |error: &dyn std::fmt::Display| format!("{} is not kept up to date: {error}", path.display());
    let before = load(path).map_err(|error| failed(&error))?;
    if before.as_ref().is_some_and(|state| state.id.as_str() != card.text("task_id")) {
        return Ok(());
    }
    if matches!(card.status(), Ok(Status::Completed | Status::Cancelled)) {
        return match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(&cause(&error))),
            _ => Ok(()),
        };
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else { return Ok(()) };
    let known = old.filter(|(_, written)| before.as_ref().is_some_and(|state| !state.is_behind(Some(*written))));
    let kept = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file);
    let mode = kept.map_or(Mode::New(0o600), |meta| Mode::Kept(meta.permissions()));
    let bytes = TaskState::of_card(card, before, known.map(|(old, _)| old)).bytes();
    durable::replace_through(folder, name, &format!("{name}.tmp"), &bytes, &mode).map_err(|error| failed(&error))
}

#[cfg(test)]
#[path = "task_state_tests.rs"]
mod tests;
