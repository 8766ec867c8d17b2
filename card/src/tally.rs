//! What `card archive` and `card prune` print: one JSON line of counts, and with `--dry-run` before it one line a task.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use shared::cli::Output;
use shared::exit::{Error, Exit};
use shared::id::TaskId;
use shared::talk::say;

/// Counts, and the first failure.
#[derive(Debug)]
pub(crate) struct Tally {
    done: &'static str,
    dry_run: bool,
    counts: Map<String, Value>,
    kept: BTreeMap<&'static str, u64>,
    exit: Exit,
    output: Output,
}

impl Tally {
    /// `done` is what is counted first: 0 so far.
    pub(crate) fn new(done: &'static str, dry_run: bool) -> Self {
        let counts = Map::from_iter([(done.to_owned(), json!(0))]);
        Self { done, dry_run, counts, kept: BTreeMap::new(), exit: Exit::Done, output: Output::new() }
    }

    fn of(&self, name: &str) -> u64 {
        self.counts.get(name).and_then(Value::as_u64).unwrap_or_default()
    }

    pub(crate) fn count(&mut self, name: &str, more: u64) {
        self.counts.insert(name.to_owned(), json!(self.of(name) + more));
    }

    /// It is done to this task, or would be.
    pub(crate) fn done(&mut self, id: &TaskId, verb: &str) -> Result<(), Error> {
        self.count(self.done, 1);
        self.tell(&json!({"task_id": id.as_str(), "would": verb}))
    }

    /// A path of this task is removed, or would be.
    pub(crate) fn removed(&mut self, id: &TaskId, path: &str) -> Result<(), Error> {
        self.count("removed_paths", 1);
        self.tell(&json!({"task_id": id.as_str(), "would": "remove", "path": path}))
    }

    /// This task stays where it is.
    pub(crate) fn keep(&mut self, id: &TaskId, reason: &'static str, detail: &str) -> Result<(), Error> {
        *self.kept.entry(reason).or_default() += 1;
        self.tell(&json!({"task_id": id.as_str(), "kept": reason, "detail": detail}))
    }

    /// One that fails hides no other.
    pub(crate) fn fail(&mut self, error: &Error) {
        say(&error.message);
        if self.exit == Exit::Done {
            self.exit = error.exit;
        }
    }

    /// Prints the counts.
    pub(crate) fn print(mut self) -> Result<Exit, Error> {
        let mut counts = std::mem::take(&mut self.counts);
        counts.insert("kept".to_owned(), json!(self.kept));
        if self.dry_run {
            counts.insert("dry_run".to_owned(), json!(true));
        }
        self.output.json_line(&Value::Object(counts))?;
        self.output.finish()?;
        Ok(self.exit)
    }

    fn tell(&mut self, line: &Value) -> Result<(), Error> {
        if self.dry_run { self.output.json_line(line) } else { Ok(()) }
    }
}
