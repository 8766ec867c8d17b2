//! Signal lines: what `watch` and `resume` print, one JSON object a line, and their other forms.
//!
//! A line is kept as an ordered object, because `resume` passes on lines with fields that it does
//! not know.

use serde_json::{Map, Value};

use crate::card::{Card, CardError};
use crate::last_pass::Told;
use crate::talk::command;
use crate::time::Timestamp;
use crate::verdict::{Attention, Due, Facts, minutes, silent_since};

/// One signal.
#[derive(Clone, Debug, PartialEq)]
pub struct Line(pub Map<String, Value>);

impl Line {
    /// A signal about this task.
    #[must_use]
    pub fn new(signal: &str, task_id: &str) -> Self {
        let mut fields = Map::new();
        fields.insert("signal".into(), signal.into());
        fields.insert("task_id".into(), task_id.into());
        Self(fields)
    }

    /// With this field.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// With this field, if there is a value.
    #[must_use]
    pub fn with_some(self, name: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// A field's text; empty when it is absent.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// A field as it is shown, whatever it is; empty when it is absent.
    #[must_use]
    pub fn shown(&self, name: &str) -> String {
        match self.0.get(name) {
            Some(Value::String(text)) => text.clone(),
            None | Some(Value::Null) => String::new(),
            Some(other) => other.to_string(),
        }
    }

    /// A field's time; none when it is absent or no time.
    #[must_use]
    pub fn time(&self, name: &str) -> Option<Timestamp> {
        Timestamp::parse(self.text(name)).ok().map(|(at, _)| at)
    }

    /// Whether a person is needed.
    #[must_use]
    pub fn needs_person(&self) -> bool {
        self.text("signal") == "needs_attention"
    }

    /// What a person is told by it.
    #[must_use]
    pub fn told(&self) -> Told {
        (self.text("task_id").to_owned(), self.text("reason").to_owned(), self.text("phase").to_owned())
    }
}

/// A task that is due.
#[must_use]
pub fn alert(card: &Card, facts: &Facts, due: Due, now: crate::time::Timestamp) -> Line {
    let silence = now.seconds_since(silent_since(card, facts, now));
    Line::new("alert", card.task_id())
        .with("task_type", card.task_type.as_str())
        .with("title", card.title.as_str())
        .with("phase", card.phase.as_str())
        .with("status", card.status.as_str())
        .with("reason", due.reason)
        .with("stale_for_minutes", number(minutes(silence)))
        .with_some("last_checkpoint", card.last_checkpoint_at.map(|at| at.to_string()))
        .with("retry_count", card.retry_count)
        .with("max_retries", card.max_retries())
}

/// A task that can start.
#[must_use]
pub fn ready(card: &Card) -> Line {
    Line::new("ready", card.task_id()).with("phase", card.phase.as_str())
}

/// A task that needs a person.
#[must_use]
pub fn needs_attention(card: &Card, attention: &Attention) -> Line {
    let detail = detail(card, attention);
    Line::new("needs_attention", card.task_id())
        .with("phase", card.phase.as_str())
        .with("reason", attention.reason.as_str())
        .with_some("detail", Some(detail.as_str()).filter(|detail| !detail.is_empty()))
        .with_some("blocked_since", attention.since.map(|at| at.to_string()))
        .with("next", next_command(card, &attention.reason))
}

/// What a person is told of it: the sentence, and what the person is about to allow.
#[must_use]
pub fn detail(card: &Card, attention: &Attention) -> String {
    let parts = [Some(attention.detail.clone()), card.pending_action().map(|action| format!("pending action: {action}"))];
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

/// A file that is no usable card.
#[must_use]
pub fn broken(id_text: &str, error: &CardError, path: &str) -> Line {
    Line::new("needs_attention", id_text)
        .with("reason", error.fault.reason())
        .with("detail", error.detail.as_str())
        .with("next", format!("ls -l {}", shell_word(path)))
}

/// The command that a person would run next.
#[must_use]
pub fn next_command(card: &Card, reason: &str) -> String {
    let id = card.task_id();
    let (card_program, resume) = (command("card"), command("resume"));
    match reason {
        "no_adapter" | "adapter_missing" | "adapter_insecure" | "dependency_failed" | "dependency_missing" | "clock_skew" => {
            format!("{card_program} show {id}")
        }
        "supervisor_silent" | "attempt_not_contained" | "task_failed" => format!("{card_program} log {id}"),
        _ if card.resume_adapter.is_some() || card.is_plain_command() => {
            format!("{card_program} approve {id} | {resume}")
        }
        _ => format!("{card_program} approve {id}"),
    }
}

/// A number without a needless `.0`.
#[must_use]
pub fn number(value: f64) -> Value {
    #[expect(clippy::cast_possible_truncation, reason = "only whole values come here, and a cast from f64 saturates")]
    if value.fract() == 0.0 && value.abs() < 9e15 { Value::from(value as i64) } else { Value::from(value) }
}

/// A word that a POSIX shell reads back as it is.
#[must_use]
pub fn shell_word(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+,:=@%".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// All lines of a pass as one object; a quiet pass is `{}`.
///
/// `needs_attention` holds those that `is_new` picks, `active_needs_attention` all of them.
#[must_use]
pub fn report(lines: &[Line], is_new: impl Fn(&Line) -> bool) -> Value {
    let mut buckets: Map<String, Value> = Map::new();
    for name in ["alerts", "recoveries", "needs_attention", "active_needs_attention", "ready", "started"] {
        let picked = lines.iter().filter(|line| match (name, line.text("signal")) {
            ("alerts", "alert") | ("recoveries", "recovery") | ("ready", "ready") | ("started", "started") => true,
            ("active_needs_attention", "needs_attention") => true,
            ("needs_attention", "needs_attention") => is_new(line),
            _ => false,
        });
        let picked: Vec<Value> = picked.map(|line| Value::Object(line.0.clone())).collect();
        if !picked.is_empty() {
            buckets.insert(name.to_owned(), picked.into());
        }
    }
    Value::Object(buckets)
}
