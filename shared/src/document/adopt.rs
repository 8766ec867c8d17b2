//! Today's names for a card that others wrote, the Python predecessor for one.

use serde_json::Value;

use super::{Document, artifacts_key, object_in};
use crate::status::Status;
use crate::time::Timestamp;

impl Document {
    /// Gives a card that was written by others today's names, and notes what it changed.
    pub fn adopt(&mut self) {
        let mut notes = Vec::new();
        for (old, new) in [("id", "task_id"), ("meta", "metadata")] {
            if self.object.contains_key(old) && !self.object.contains_key(new) {
                self.rename(old, new);
                notes.push(format!("{old} is {new} now"));
            }
        }
        if let Some(status) = Status::of_predecessor(self.text("status")) {
            notes.push(format!("status {} is {status} now", self.text("status")));
            self.set("status", status.as_str());
        }
        if self.get("safe_to_retry") == Some(&Value::Bool(false)) && !self.object.contains_key("manual_phases") {
            let phase = self.text("phase").to_owned();
            notes.push(format!("safe_to_retry false means that phase {phase} is manual"));
            self.set("manual_phases", vec![phase]);
        }
        self.adopt_artifacts(&mut notes);
        self.adopt_times(&mut notes);
        self.notes.append(&mut notes);
    }

    fn rename(&mut self, old: &str, new: &str) {
        let renamed = std::mem::take(&mut self.object).into_iter();
        self.object = renamed.map(|(name, value)| if name == old { (new.to_owned(), value) } else { (name, value) }).collect();
    }

    fn adopt_artifacts(&mut self, notes: &mut Vec<String>) {
        let key = artifacts_key(self.text("phase"));
        let Some(Value::Object(artifacts)) = self.object.get_mut("artifacts") else { return };
        let flat: Vec<String> = artifacts.iter().filter(|(_, value)| value.is_string()).map(|(name, _)| name.clone()).collect();
        for name in &flat {
            if let Some(path) = artifacts.shift_remove(name) {
                object_in(artifacts, &key).insert(name.clone(), path);
            }
        }
        if !flat.is_empty() {
            notes.push(format!("artifacts {} stand under {key} now", flat.join(", ")));
        }
    }

    fn adopt_times(&mut self, notes: &mut Vec<String>) {
        let mut fix = |name: &str, value: Option<&mut Value>| {
            if let Some(Value::String(text)) = value
                && let Ok((time, true)) = Timestamp::parse(text)
            {
                notes.push(format!("{name} {text} had no offset and was read as UTC"));
                *text = time.to_string();
            }
        };
        for name in ["created_at", "updated_at", "not_before", "approved_at", "last_checkpoint_at"] {
            fix(name, self.object.get_mut(name));
        }
        for (outer, inner) in [("run", "started_at"), ("outcome", "at"), ("attention", "since")] {
            fix(&format!("{outer}.{inner}"), self.object.get_mut(outer).and_then(|value| value.get_mut(inner)));
        }
        if let Some(Value::Array(entries)) = self.object.get_mut("checkpoints") {
            for entry in entries {
                fix("checkpoints.at", entry.get_mut("at"));
            }
        }
    }
}
