//! What a card remembers of its session, in `metadata.openclaw`.
//!
//! ```text
//! session_key, session_id, agent_id   whose card it is: the key, and the ID where it is named
//! made_by        "import" when an ended run made the card; nobody else's card is ever completed
//! run_id, ended_at, reason            the run that was taken last; the reason as long as it holds
//! last_tool      the tool call that failed: name, params, error, exit_code
//! taken          the newest 20 runs, so that each is taken once
//! attempt        the card's attempt when that was
//! resumes        runs in a row that were interrupted although an attempt had brought them back
//! pending        the run was told while an attempt lived: once that is settled, the run still counts
//! silenced       its silence does not count until a run is interrupted again
//! ```

use serde_json::{Map, Value, json};
use shared::document::Document;
use shared::time::Timestamp;

use super::classify::Reason;
use super::record::{Run, cut};

/// The field of `metadata`.
const FIELD: &str = "openclaw";
/// Runs that are remembered by their IDs.
const TAKEN_MAX: usize = 20;
/// A plugin and OpenClaw's list of sessions know the end of the same run within this time.
const SAME_END_SECONDS: f64 = 5.0;
/// The longest text of an error that a card keeps, in bytes.
const ERROR_BYTES_MAX: usize = 1000;

/// What a card remembers; an empty object when it is nobody's.
pub(super) struct Memory<'a>(&'a Document);

impl<'a> Memory<'a> {
    pub(super) fn of(document: &'a Document) -> Self {
        Self(document)
    }

    fn get(&self, name: &str) -> Option<&'a Value> {
        self.0.get("metadata")?.get(FIELD)?.get(name)
    }

    fn text(&self, name: &str) -> &'a str {
        self.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    fn count(&self, name: &str) -> u64 {
        self.get(name).and_then(Value::as_u64).unwrap_or_default()
    }

    pub(super) fn ended_at(&self) -> Option<Timestamp> {
        Timestamp::parse(self.text("ended_at")).ok().map(|(at, _)| at)
    }

    /// Whether an ended run made the card.
    pub(super) fn is_made_by_import(&self) -> bool {
        self.text("made_by") == "import"
    }

    /// Why the run that was taken last was interrupted, if it was.
    pub(super) fn reason(&self) -> Option<Reason> {
        Reason::ALL.into_iter().find(|reason| reason.word() == self.text("reason"))
    }

    /// Whether that is to be seen to when the attempt is settled.
    pub(super) fn is_pending(&self) -> bool {
        self.get("pending") == Some(&Value::Bool(true))
    }

    pub(super) fn is_silenced(&self) -> bool {
        self.get("silenced") == Some(&Value::Bool(true))
    }

    /// Whether the card belongs to this run's session. A key lives on when the session behind it is reset: a card that an ended
    /// run made stays with the old one.
    pub(super) fn belongs_to(&self, run: &Run) -> bool {
        let (key, id) = (self.text("session_key"), self.text("session_id"));
        if key.is_empty() || run.session_key.is_empty() {
            return !id.is_empty() && id == run.session_id;
        }
        let same_id = id.is_empty() || run.session_id.is_empty() || id == run.session_id;
        key == run.session_key && (same_id || !self.is_made_by_import())
    }

    /// Whether this run was taken already, or is older than what was.
    pub(super) fn knows(&self, run: &Run) -> bool {
        let taken = self.get("taken").and_then(Value::as_array).into_iter().flatten();
        if !run.run_id.is_empty() && taken.into_iter().any(|id| *id == run.run_id) {
            return true;
        }
        let (Some(known), Some(ended_at)) = (self.ended_at(), run.ended_at) else { return false };
        let other_source = run.run_id.is_empty() || self.text("run_id").is_empty();
        ended_at < if other_source { known.plus_seconds(SAME_END_SECONDS) } else { known }
    }

    /// Runs in a row that were interrupted although an attempt had brought them back.
    pub(super) fn resumes(&self) -> u64 {
        self.count("resumes")
    }

    /// The same with the run that just ended, which an attempt brought back if there was one since the last. A person's word starts
    /// the count anew.
    fn resumes_with(&self, attempt: u64) -> u64 {
        let approved_at = Timestamp::parse(self.0.text("approved_at")).ok().map(|(at, _)| at);
        let before = if approved_at.is_some() && approved_at >= self.ended_at() { 0 } else { self.resumes() };
        before + u64::from(attempt > self.count("attempt"))
    }
}

/// What a new card knows of its session.
pub(super) fn begin(card: &mut Document, run: &Run) {
    let memory = memory(card);
    for (name, value) in [("session_key", &run.session_key), ("session_id", &run.session_id), ("agent_id", &run.agent_id)] {
        if !value.is_empty() {
            memory.insert(name.into(), value.as_str().into());
        }
    }
    memory.insert("made_by".into(), "import".into());
}

/// Notes that a run was taken; interrupted for this reason, or with a clean end, which starts the count of attempts anew.
pub(super) fn note(card: &mut Document, run: &Run, reason: Option<Reason>, ended_at: Timestamp) {
    let attempt = card.count("attempt");
    let resumes = if reason.is_some() { Memory::of(card).resumes_with(attempt) } else { 0 };
    let memory = memory(card);
    for (name, value) in [("run_id", run.run_id.as_str()), ("reason", reason.map_or("", Reason::word))] {
        if value.is_empty() {
            memory.shift_remove(name);
        } else {
            memory.insert(name.into(), value.into());
        }
    }
    memory.insert("ended_at".into(), ended_at.to_string().into());
    match run.last_tool.as_ref().filter(|_| reason == Some(Reason::ToolFailure)) {
        None => drop(memory.shift_remove("last_tool")),
        Some(tool) => {
            let mut told = Map::new();
            told.insert("name".into(), tool.name.as_str().into());
            for (name, text) in [("params", tool.params.as_str()), ("error", cut(&tool.error, ERROR_BYTES_MAX))] {
                if !text.is_empty() {
                    told.insert(name.into(), text.into());
                }
            }
            if let Some(code) = tool.exit_code {
                told.insert("exit_code".into(), code.into());
            }
            memory.insert("last_tool".into(), told.into());
        }
    }
    remember(memory, run);
    memory.insert("attempt".into(), attempt.into());
    memory.insert("resumes".into(), resumes.into());
    memory.shift_remove("pending");
}

/// What follows from the run waits for the attempt that lives.
pub(super) fn set_pending(card: &mut Document) {
    memory(card).insert("pending".into(), true.into());
}

/// Nothing waits any more.
pub(super) fn end_pending(card: &mut Document) {
    memory(card).shift_remove("pending");
}

/// Notes that a run was seen, and that the card's silence does not count any more.
pub(super) fn silence(card: &mut Document, run: &Run, ended_at: Timestamp) {
    let memory = memory(card);
    memory.shift_remove("reason");
    memory.shift_remove("pending");
    memory.insert("ended_at".into(), ended_at.to_string().into());
    remember(memory, run);
    memory.insert("silenced".into(), true.into());
}

/// Its silence counts again.
pub(super) fn end_silence(card: &mut Document) {
    memory(card).shift_remove("silenced");
}

fn remember(memory: &mut Map<String, Value>, run: &Run) {
    if run.run_id.is_empty() {
        return;
    }
    let mut taken = memory.get("taken").and_then(Value::as_array).cloned().unwrap_or_default();
    taken.push(json!(cut(&run.run_id, 256)));
    let surplus = taken.len().saturating_sub(TAKEN_MAX);
    memory.insert("taken".into(), taken.split_off(surplus).into());
}

fn memory(card: &mut Document) -> &mut Map<String, Value> {
    let slot = card.object_at("metadata").entry(FIELD).or_insert_with(|| Value::Object(Map::new()));
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    match slot {
        Value::Object(memory) => memory,
        _ => unreachable!("the slot was just made an object"),
    }
}

/// What is said of an interruption, in one sentence; empty when the reason says it all.
pub(super) fn detail(run: &Run, reason: Reason) -> String {
    let tool = run.last_tool.as_ref().filter(|_| reason == Reason::ToolFailure);
    let text = match (reason, tool) {
        (_, Some(tool)) => {
            let code = tool.exit_code.filter(|code| *code != 0).map(|code| format!("exit status {code}"));
            let what = if tool.error.is_empty() { code.unwrap_or_default() } else { tool.error.clone() };
            format!("{}: {what}", tool.name)
        }
        (Reason::NonAction, _) => run.final_text.clone(),
        _ => run.error.clone(),
    };
    cut(text.trim(), ERROR_BYTES_MAX).to_owned()
}
