//! The run card as it is written: an ordered JSON object, edited in place.
//!
//! A struct is never serialized as a card, so fields that somebody else added keep their place.
//! A field that was not changed is written as the very text that was read: numbers keep their
//! digits, texts their escapes, arrays their layout, and a diff shows what was changed. A card that
//! the Python predecessor wrote gets today's names when it is first rewritten (`adopt`).

use std::collections::HashMap;
use std::path::Path;

use nix::fcntl::AT_FDCWD;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::card::{BYTES_MAX, Card, CardError, Fault, Status};
use crate::exit::Error;
use crate::fault::json_error;
use crate::id::TaskId;
use crate::read::{self, LoadError};
use crate::time::Timestamp;

mod adopt;

/// Checkpoints that a card keeps; all of them are in the history.
pub const CHECKPOINTS_MAX: usize = 100;
/// The longest message, in bytes; longer ones are cut with a mark.
pub const MESSAGE_BYTES_MAX: usize = 4096;
/// Names the artifacts of a task that has no phases.
const NO_PHASE: &str = "main";

/// A card that is being edited.
#[derive(Clone, Debug)]
pub struct Document {
    object: Map<String, Value>,
    /// The fields as they were read: value and text.
    original: HashMap<String, (Value, Box<RawValue>)>,
    notes: Vec<String>,
}

impl PartialEq for Document {
    fn eq(&self, other: &Self) -> bool {
        self.object == other.object
    }
}

impl Document {
    /// A document from an object.
    #[must_use]
    pub fn new(object: Map<String, Value>) -> Self {
        Self { object, original: HashMap::new(), notes: Vec::new() }
    }

    /// Reads a whole card: everything in it, and as a `Card`.
    ///
    /// # Errors
    /// As `Card::parse`, also for what that skips: nesting, lone surrogates, bytes after the object.
    pub fn parse(bytes: &[u8], file_id: &str) -> Result<(Self, Card), CardError> {
        let card = Card::parse(bytes, file_id)?;
        let document = Self::read_object(bytes).map_err(|detail| CardError::new(Fault::Invalid, detail))?;
        Ok((document, card))
    }

    /// Reads a card from a file that is in no store of ours.
    ///
    /// # Errors
    /// See `LoadError`.
    pub fn load(path: &Path, id: &TaskId) -> Result<(Self, Card), LoadError> {
        let mut buffer = Vec::new();
        let bytes = read::card_file(AT_FDCWD, path, false, false, &mut buffer)?;
        Self::parse(bytes, id.as_str()).map_err(|error| LoadError::Bad(error).at(path.to_owned()))
    }

    /// Reads any JSON object, to be edited in the same way.
    ///
    /// # Errors
    /// One sentence.
    pub(crate) fn read_object(bytes: &[u8]) -> Result<Self, String> {
        refuse_private_names(bytes).map_err(|error| error.detail)?;
        let object: Map<String, Value> = serde_json::from_slice(bytes).map_err(|error| json_error(&error))?;
        let texts: HashMap<String, Box<RawValue>> = serde_json::from_slice(bytes).map_err(|error| json_error(&error))?;
        let original = texts.into_iter().filter_map(|(name, text)| Some((name.clone(), (object.get(&name)?.clone(), text))));
        Ok(Self { original: original.collect(), ..Self::new(object) })
    }

    /// Whether this is a whole card: what `parse` checks, without keeping anything.
    ///
    /// # Errors
    /// As `parse`.
    pub fn validate(bytes: &[u8], file_id: &str) -> Result<(), CardError> {
        Card::parse(bytes, file_id)?;
        refuse_private_names(bytes)?;
        let whole: Result<Map<String, Value>, _> = serde_json::from_slice(bytes);
        whole.map(drop).map_err(|error| CardError::new(Fault::Invalid, json_error(&error)))
    }

    /// The card that this document is now.
    ///
    /// # Errors
    /// When an edit made it something that no program would read.
    pub fn card(&self, file_id: &str) -> Result<Card, CardError> {
        Card::parse(&self.bytes(), file_id)
    }

    /// The file's content: a line a field, indented, with a final newline.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut text = String::from("{");
        for (index, (name, value)) in self.object.iter().enumerate() {
            text += if index == 0 { "\n  " } else { ",\n  " };
            text += &Value::from(name.as_str()).to_string();
            text += ": ";
            match self.original.get(name) {
                Some((read, raw)) if read == value => text += raw.get(),
                // No text of JSON holds a newline of its own, so this moves whole lines only.
                _ => text += &format!("{value:#}").replace('\n', "\n  "),
            }
        }
        text += "\n}\n";
        text.into_bytes()
    }

    /// The content, if it is not too large for a card.
    ///
    /// # Errors
    /// `BadData` over 4 MiB.
    pub fn bytes_checked(&self) -> Result<Vec<u8>, Error> {
        self.bytes_leaving(0)
    }

    /// The content, if there is this much room left in the card.
    ///
    /// # Errors
    /// `BadData` when there is not.
    pub fn bytes_leaving(&self, room: usize) -> Result<Vec<u8>, Error> {
        let bytes = self.bytes();
        if bytes.len() + room > BYTES_MAX {
            let kept = if room > 0 { format!(", of which {room} are kept for the outcome") } else { String::new() };
            return Err(Error::data(format!(
                "the card of {} would be {} bytes, the limit is {BYTES_MAX}{kept}: keep large values in files",
                self.text("task_id"),
                bytes.len()
            )));
        }
        Ok(bytes)
    }

    /// The object.
    #[must_use]
    pub fn object(&self) -> &Map<String, Value> {
        &self.object
    }

    /// A field.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.object.get(name)
    }

    /// A field's text; empty when it is absent or no text.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        self.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// A field's count; 0 when it is absent.
    #[must_use]
    pub fn count(&self, name: &str) -> u64 {
        self.get(name).and_then(Value::as_u64).unwrap_or_default()
    }

    /// Sets a field where it stands, or at the end.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.object.insert(name.to_owned(), value.into());
    }

    /// Sets a field to a time.
    pub fn set_time(&mut self, name: &str, time: Timestamp) {
        self.set(name, time.to_string());
    }

    /// Removes a field; the others keep their order.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        self.object.shift_remove(name)
    }

    /// The object in this field, made when it is absent.
    pub fn object_at(&mut self, name: &str) -> &mut Map<String, Value> {
        object_in(&mut self.object, name)
    }

    /// Changes the status.
    ///
    /// # Errors
    /// `Refused` for a transition that there is not.
    pub fn set_status(&mut self, next: Status) -> Result<(), Error> {
        let now = self.status()?;
        if !now.may_become(next) {
            return Err(cannot_become(self.text("task_id"), now, next));
        }
        self.set("status", next.as_str());
        if next != Status::NeedsAttention {
            self.remove("attention");
        }
        if matches!(next, Status::Completed | Status::Failed) {
            self.remove("run");
        }
        Ok(())
    }

    /// The status.
    ///
    /// # Errors
    /// `BadData` when it is none.
    pub fn status(&self) -> Result<Status, Error> {
        self.text("status").parse().map_err(Error::data)
    }

    /// Hands the task to a person.
    ///
    /// # Errors
    /// As `set_status`.
    pub fn set_attention(&mut self, reason: &str, detail: Option<&str>, since: Timestamp) -> Result<(), Error> {
        self.set_status(Status::NeedsAttention)?;
        let mut attention = Map::new();
        attention.insert("reason".into(), reason.into());
        if let Some(detail) = detail {
            attention.insert("detail".into(), cut(detail).into());
        }
        attention.insert("since".into(), since.to_string().into());
        self.set("attention", attention);
        Ok(())
    }

    /// Records a checkpoint in this phase. One that repeats an earlier phase and message takes its place: a thousand signs of life
    /// do not push out what was done before them.
    pub fn add_checkpoint(&mut self, phase: &str, message: &str, at: Timestamp) {
        let entry = json!({"phase": phase, "at": at.to_string(), "message": cut(message)});
        let known = self.get("checkpoints").and_then(Value::as_array).map_or(0, Vec::len) as u64;
        let count = self.get("checkpoint_count").and_then(Value::as_u64).unwrap_or(known);
        match self.object.get_mut("checkpoints") {
            Some(Value::Array(entries)) => {
                entries.retain(|old| old.get("phase") != entry.get("phase") || old.get("message") != entry.get("message"));
                entries.push(entry);
                let surplus = entries.len().saturating_sub(CHECKPOINTS_MAX);
                entries.drain(..surplus);
            }
            _ => self.set("checkpoints", vec![entry]),
        }
        self.set("checkpoint_count", count + 1);
        self.set_time("last_checkpoint_at", at);
    }

    /// Records an artifact of this phase.
    pub fn add_artifact(&mut self, phase: &str, name: &str, path: &str) {
        let key = artifacts_key(phase);
        let replaced = object_in(self.object_at("artifacts"), &key).insert(name.to_owned(), path.into());
        // A measure of a file that no artifact is any more would hold the task back for nothing.
        if let Some(Value::String(old)) = replaced.filter(|old| *old != path && !self.is_artifact(old))
            && let Some(Value::Object(digests)) = self.object.get_mut("artifact_digests")
        {
            digests.shift_remove(&old);
        }
    }

    fn is_artifact(&self, path: &Value) -> bool {
        let phases = self.get("artifacts").and_then(Value::as_object).into_iter().flatten();
        phases
            .into_iter()
            .any(|(_, paths)| paths == path || paths.as_object().is_some_and(|paths| paths.values().any(|one| one == path)))
    }

    /// Marks a step, by name or as `#2` by its place in the list; one that was not there is added. Returns whether it was there.
    pub fn set_step(&mut self, name: &str, status: &str, result: Option<&str>) -> bool {
        if !matches!(self.object.get("steps"), Some(Value::Array(_))) {
            self.set("steps", Value::Array(Vec::new()));
        }
        let Some(Value::Array(steps)) = self.object.get_mut("steps") else { return false };
        // Of several of one name the first that is not done.
        let mut named = steps.iter().enumerate().filter(|(_, step)| step.get("name").and_then(Value::as_str) == Some(name));
        let first = named.clone().next();
        let open = named.find(|(_, step)| step.get("status").and_then(Value::as_str) != Some("done"));
        let known = open.or(first).map(|(index, _)| index).or_else(|| step_place(name).filter(|index| *index < steps.len()));
        let index = known.unwrap_or_else(|| {
            steps.push(json!({"name": name, "status": "pending"}));
            steps.len() - 1
        });
        if let Value::Object(step) = &mut steps[index] {
            step.insert("status".into(), status.into());
            if let Some(result) = result {
                step.insert("result".into(), cut(result).into());
            }
        }
        known.is_some()
    }

    /// Adds a step to be done; one that is there stays as it is.
    pub fn add_step(&mut self, name: &str) {
        let known = self.get("steps").and_then(Value::as_array).into_iter().flatten();
        if known.into_iter().any(|step| step.get("name").and_then(Value::as_str) == Some(name)) {
            return;
        }
        let step = json!({"name": name, "status": "pending"});
        match self.object.get_mut("steps") {
            Some(Value::Array(steps)) => steps.push(step),
            _ => self.set("steps", vec![step]),
        }
    }

    /// The names of the fields that differ in another document.
    #[must_use]
    pub fn changed_fields(&self, other: &Self) -> Vec<String> {
        let mine = self.object.iter().filter(|(name, value)| other.get(name) != Some(*value)).map(|(name, _)| name);
        let new = other.object.keys().filter(|name| !self.object.contains_key(*name));
        mine.chain(new).cloned().collect()
    }

    /// Whether `adopt` changed anything since the notes were last taken.
    #[must_use]
    pub fn is_adopted(&self) -> bool {
        !self.notes.is_empty()
    }

    /// What `adopt` changed since the notes were last taken.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }
}

/// An object that begins with one of these names is another value to serde_json: a number, or what its text holds. What was read as
/// one thing would be written as another.
fn refuse_private_names(bytes: &[u8]) -> Result<(), CardError> {
    const PRIVATE: &str = "$serde_json::private::";
    if std::str::from_utf8(bytes).is_ok_and(|text| text.contains(PRIVATE)) {
        return Err(CardError::new(Fault::Invalid, format!("names that begin with {PRIVATE} are not supported")));
    }
    Ok(())
}

fn object_in<'a>(object: &'a mut Map<String, Value>, name: &str) -> &'a mut Map<String, Value> {
    let slot = object.entry(name).or_insert_with(|| Value::Object(Map::new()));
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    match slot {
        Value::Object(inner) => inner,
        _ => unreachable!("the slot was just made an object"),
    }
}

/// A transition that there is not.
#[must_use]
pub fn cannot_become(id: &str, now: Status, next: Status) -> Error {
    let possible = Status::ALL.into_iter().filter(|other| now != *other && now.may_become(*other)).map(Status::as_str);
    let possible = possible.collect::<Vec<_>>().join(", ");
    let then = if possible.is_empty() { "nothing any more; make a new task" } else { &possible };
    Error::refused(format!("{id} is {now} and cannot become {next}, only {then}"))
}

/// `phase_<phase>`, without a second `phase_`; `phase_main` for a task without phases.
#[must_use]
pub fn artifacts_key(phase: &str) -> String {
    match phase {
        "" => format!("phase_{NO_PHASE}"),
        _ if phase.starts_with("phase_") => phase.to_owned(),
        _ => format!("phase_{phase}"),
    }
}

/// The place in a list of steps, from 0, that `#1` and so on stand for; one that no list has for `#0` and what is too large.
#[must_use]
pub fn step_place(name: &str) -> Option<usize> {
    let digits = name.strip_prefix('#')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse::<usize>().ok().and_then(|number| number.checked_sub(1)).unwrap_or(usize::MAX))
}

/// A text of at most 4 KiB, with a mark where it was cut.
#[must_use]
pub fn cut(text: &str) -> String {
    const MARK: &str = " … (cut)";
    if text.len() <= MESSAGE_BYTES_MAX {
        return text.to_owned();
    }
    let mut end = MESSAGE_BYTES_MAX - MARK.len();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{MARK}", &text[..end])
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
