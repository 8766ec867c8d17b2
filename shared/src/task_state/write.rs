//! From the card into the file: what the card knows better is changed, everything else stays.
//!
//! The skill may write the file at any time. When it holds what the card was before this write,
//! only what this write changed is the card's to say. A file that is older than that card missed
//! a write (a kill between the two): then the card tells all that it has.

use serde_json::{Map, Value, json};

use super::{REST_FIELD, TaskState, nth_named, step_status};
use crate::card::Status;
use crate::document::Document;
use crate::time::Timestamp;

impl TaskState {
    /// What a card's file says now: what it said before, changed where the card knows better. `known` is the card that the file
    /// has seen already.
    #[must_use]
    pub fn of_card(card: &Document, before: Option<Self>, known: Option<&Document>) -> Document {
        let blank = before.is_none();
        let known = known.filter(|_| !blank);
        let mut state = before.map_or_else(|| anew(card), |state| state.document);
        let status = match card.status() {
            Ok(Status::Completed) => "completed",
            Ok(Status::Failed) => "failed",
            Ok(Status::Cancelled) => "cancelled",
            // Its own user's word, which an import brings into the card.
            _ if known.is_some() => "",
            _ if matches!(state.text("status"), "completed" | "failed" | "cancelled" | "done" | "canceled") => "in_progress",
            _ => "",
        };
        let title = if known.is_some_and(|known| known.text("title") == card.text("title")) { "" } else { card.text("title") };
        for (name, value) in [("status", status), ("description", title)] {
            if !value.is_empty() && state.text(name) != value {
                state.set(name, value);
            }
        }
        write_steps(&mut state, &list(card), known.map(list).as_deref());
        let context = known.and_then(|known| known.get("context"));
        for (name, value) in card.get("context").and_then(Value::as_object).into_iter().flatten() {
            let changed = known.is_none() || context.and_then(|context| context.get(name)) != Some(value);
            if changed && state.get("context").and_then(|context| context.get(name)) != Some(value) {
                state.object_at("context").insert(name.clone(), value.clone());
            }
        }
        let time = |text: &str| Timestamp::parse(text).ok().map(|(time, _)| time);
        if time(state.text("updatedAt")) != time(card.text("updated_at")) {
            state.set("updatedAt", card.text("updated_at"));
        }
        let last = time(card.text("last_checkpoint_at"));
        let changed = known.map_or_else(
            // A text of the skill's own stays until there is a checkpoint.
            || {
                (blank && state.get("lastCheckpoint").is_none())
                    || card.count("checkpoint_count") > 0
                    || time(state.text("lastCheckpoint")).is_some()
            },
            |known| time(known.text("last_checkpoint_at")) != last,
        );
        if last.is_some() && changed && time(state.text("lastCheckpoint")) != last {
            state.set("lastCheckpoint", card.text("last_checkpoint_at"));
        }
        state
    }
}

fn list(document: &Document) -> Vec<Value> {
    document.get("steps").and_then(Value::as_array).cloned().unwrap_or_default()
}

fn write_steps(state: &mut Document, steps: &[Value], known: Option<&[Value]>) {
    let before = list(state);
    let mut told = before.clone();
    for (index, step) in steps.iter().enumerate() {
        let as_known = known.map(|known| nth_named(known, steps, index).and_then(|at| known.get(at)));
        if as_known == Some(Some(step)) {
            continue;
        }
        match nth_named(&before, steps, index).and_then(|at| told.get_mut(at)) {
            Some(Value::Object(told)) => {
                let status = step_status(step);
                // What the file's own user marked as done meanwhile stays done; an import brings it into the card.
                if status != "pending" && step_status(&Value::Object(told.clone())) != status {
                    told.insert("status".into(), status.into());
                }
                if let Some(result) = step.get("result").filter(|result| !result.is_null())
                    && told.get("result") != Some(result)
                    && as_known.flatten().and_then(|known| known.get("result")) != Some(result)
                {
                    told.insert("result".into(), result.clone());
                }
            }
            _ => told.push(step.clone()),
        }
    }
    if told != before {
        state.set("steps", told);
    }
}

/// The file of a card whose file is not there: in the order that the skill writes it.
fn anew(card: &Document) -> Document {
    let mut rest = card.get("metadata").and_then(|metadata| metadata.get(REST_FIELD)).and_then(Value::as_object).cloned();
    let mut state = Document::new(Map::new());
    let version = rest.as_mut().and_then(|rest| rest.shift_remove("version"));
    state.set("version", version.unwrap_or_else(|| 1.into()));
    state.set("taskId", card.text("task_id"));
    state.set("createdAt", card.text("created_at"));
    state.set("updatedAt", card.text("updated_at"));
    state.set("description", card.text("title"));
    state.set("status", "in_progress");
    state.set("steps", json!([]));
    state.set("context", json!({}));
    for (name, value) in rest.into_iter().flatten() {
        state.set(&name, value);
    }
    state
}
