//! What a checkpoint records, whoever brings it: the `checkpoint` program, a verb of `card`, or an attempt's answer.

use std::path::Path;

use serde_json::{Map, Value};

use crate::document::Document;
use crate::exit::{Error, cause};
use crate::history::Event;
use crate::time::Timestamp;

/// The longest name of a phase, step or artifact, in bytes.
const NAME_BYTES_MAX: usize = 256;

/// A step that was done or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its name.
    pub name: String,
    /// `pending`, `done` or `failed`.
    pub status: String,
    /// What came of it.
    pub result: Option<String>,
}

/// A checkpoint's content.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// The phase that the work was done in; without it the card's.
    pub phase: Option<String>,
    /// The phase that comes next; without it the same.
    pub next_phase: Option<String>,
    /// What was done.
    pub message: Option<String>,
    /// Names and absolute paths.
    pub artifacts: Vec<(String, String)>,
    /// Steps.
    pub steps: Vec<Step>,
    /// Goes into `metadata`.
    pub metadata: Map<String, Value>,
    /// Goes into `context`.
    pub context: Map<String, Value>,
    /// Paths of verified artifacts with their measures.
    pub digests: Map<String, Value>,
}

impl Entry {
    /// Whether it tells of work: phases, a message, artifacts.
    #[must_use]
    pub fn tells_of_work(&self) -> bool {
        self.phase.is_some() || self.next_phase.is_some() || self.message.is_some() || !self.artifacts.is_empty()
    }

    /// Adds another entry to this one; what both say, the other one says.
    pub fn extend(&mut self, other: Self) {
        self.phase = other.phase.or(self.phase.take());
        self.next_phase = other.next_phase.or(self.next_phase.take());
        self.message = other.message.or(self.message.take());
        self.artifacts.extend(other.artifacts);
        self.steps.extend(other.steps);
        self.metadata.extend(other.metadata);
        self.context.extend(other.context);
        self.digests.extend(other.digests);
    }

    /// Writes everything into the card, as a checkpoint when `checkpoint`. Returns the steps that were not known before.
    pub fn apply(&self, card: &mut Document, checkpoint: bool, at: Timestamp) -> Vec<String> {
        let phase = self.phase.clone().unwrap_or_else(|| card.text("phase").to_owned());
        for (name, path) in &self.artifacts {
            card.add_artifact(&phase, name, path);
        }
        if checkpoint {
            card.add_checkpoint(&phase, self.message.as_deref().unwrap_or_default(), at);
        }
        if let Some(next) = self.next_phase.as_ref().or(self.phase.as_ref()) {
            card.set("phase", next.as_str());
        }
        let unknown = self.steps.iter().filter(|step| !card.set_step(&step.name, &step.status, step.result.as_deref()));
        let unknown = unknown.map(|step| step.name.clone()).collect();
        for (name, values) in [("metadata", &self.metadata), ("context", &self.context), ("artifact_digests", &self.digests)] {
            if !values.is_empty() {
                card.object_at(name).extend(values.clone());
            }
        }
        unknown
    }

    /// The event that the history keeps.
    #[must_use]
    pub fn event(&self, kind: &str, before: &Document) -> Event {
        let phase = self.phase.as_deref().unwrap_or(before.text("phase"));
        let mut event = Event::new(kind).with("phase", phase);
        for (name, value) in [("next_phase", &self.next_phase), ("message", &self.message)] {
            if let Some(value) = value {
                event = event.with(name, crate::document::cut(value));
            }
        }
        if !self.artifacts.is_empty() {
            let artifacts = self.artifacts.iter().map(|(name, path)| (name.clone(), Value::from(path.as_str())));
            event = event.with("artifacts", artifacts.collect::<Map<_, _>>());
        }
        if !self.steps.is_empty() {
            event = event.with("steps", self.steps.iter().map(|step| step.name.as_str()).collect::<Vec<_>>());
        }
        event
    }
}

/// A name of a phase, step or artifact: any text of one line.
///
/// # Errors
/// What is wrong with it.
pub fn check_name(what: &str, name: &str) -> Result<(), String> {
    if name.is_empty() || name.len() > NAME_BYTES_MAX || name.chars().any(char::is_control) {
        return Err(format!("{what}: {name:?} is no name: one line of 1 to {NAME_BYTES_MAX} bytes"));
    }
    Ok(())
}

/// A path as it is stored: absolute, from here.
///
/// # Errors
/// `Usage` for an empty one, `Io` when the current folder is unknown.
pub fn absolute(what: &str, path: &str) -> Result<String, Error> {
    if path.is_empty() {
        return Err(Error::usage(format!("{what}: the path is empty")));
    }
    let path = std::path::absolute(Path::new(path)).map_err(|error| Error::io(format!("{what}: {path}: {}", cause(&error))))?;
    path.into_os_string().into_string().map_err(|path| Error::usage(format!("{what}: {} is not UTF-8", path.display())))
}
