//! The audit trail: `history/<task_id>.jsonl`, one JSON line an event, each with the card's revision.
//!
//! It is appended after the card was replaced and is not fsynced: a crash may cut its last line
//! or lose the last few. The next append, under the same update lock, takes a torn line away and
//! notes which revisions are missing, so that a gap is never mistaken for silence.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use nix::fcntl::OFlag;
use serde_json::{Map, Value, json};

use crate::time::Timestamp;

/// Longer than nearly every line; where no line ends in it, more is read.
const TAIL_BYTES: u64 = 64 * 1024;

/// What happened to a card.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    fields: Map<String, Value>,
}

impl Event {
    /// An event of this kind.
    #[must_use]
    pub fn new(kind: &str) -> Self {
        let mut fields = Map::new();
        fields.insert("event".into(), kind.into());
        Self { fields }
    }

    /// Adds a field.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }

    fn line(&self, revision: u64, at: Timestamp) -> String {
        let mut line = Map::new();
        line.insert("at".into(), at.to_string().into());
        line.insert("revision".into(), revision.into());
        line.extend(self.fields.clone());
        Value::Object(line).to_string() + "\n"
    }
}

/// Appends events that belong to this revision. Without any, it only notes what is missing up to this one.
///
/// # Errors
/// Those of open, read and write. The card is not touched.
pub fn append(path: &Path, revision: u64, at: Timestamp, events: &[Event]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(0o600);
    let file = options.custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    let (torn, last) = heal(&file)?;
    let mut text = String::new();
    if torn > 0 {
        text += &Event::new("history_healed").with("detail", format!("a torn line of {torn} bytes was removed")).line(revision, at);
    }
    let told_before = if events.is_empty() { revision } else { revision.saturating_sub(1) };
    if let Some(last) = last.filter(|last| *last < told_before) {
        let missing = format!("revisions {} to {told_before} are missing", last + 1);
        text += &Event::new("history_gap").with("detail", missing).line(revision, at);
    }
    events.iter().for_each(|event| text += &event.line(revision, at));
    (&file).write_all(text.as_bytes())
}

/// Removes a torn last line. Returns its length, and the revision of the last whole line.
fn heal(file: &File) -> io::Result<(usize, Option<u64>)> {
    let size = file.metadata()?.len();
    let mut wanted = TAIL_BYTES;
    let tail = loop {
        let start = size.saturating_sub(wanted);
        let mut tail = vec![0; usize::try_from(size - start).unwrap_or_default()];
        file.read_exact_at(&mut tail, start)?;
        // The torn line and the whole one before it.
        if start == 0 || tail.iter().filter(|byte| **byte == b'\n').count() > 1 {
            break tail;
        }
        wanted *= 4;
    };
    let whole = tail.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    let torn = tail.len() - whole;
    if torn > 0 {
        file.set_len(size - torn as u64)?;
    }
    let last = tail[..whole].split(|byte| *byte == b'\n').rev().find(|line| !line.is_empty());
    let revision = last.and_then(|line| serde_json::from_slice::<Value>(line).ok()).and_then(|line| line.get("revision")?.as_u64());
    Ok((torn, revision))
}

/// The history's lines, oldest first; a line that is no JSON object becomes one that says so.
///
/// # Errors
/// Those of reading; a history that is not there has no lines.
pub fn read(path: &Path) -> io::Result<Vec<Value>> {
    let mut options = OpenOptions::new();
    let mut file = match options.read(true).custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits()).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        file => file?,
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let parse = |line: &[u8]| {
        serde_json::from_slice(line).unwrap_or_else(|_| json!({"event": "unreadable", "detail": String::from_utf8_lossy(line)}))
    };
    Ok(lines.map(parse).collect())
}
