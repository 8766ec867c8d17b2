//! An adapter's answer, which is also what `checkpoint ID -` reads: one JSON object.
//!
//! `{"phase", "next_phase", "status", "message", "artifacts", "steps", "context", "metadata",
//! "reason", "retry_after_seconds", "continue"}`, all optional. `next_phase` means: in that phase,
//! and again now.

use std::path::Path;

use serde_json::{Map, Value};

use crate::entry::{Entry, Step, check_name};
use crate::status::Status;

/// An answer cannot ask for a longer wait, in seconds.
pub const RETRY_AFTER_SECONDS_MAX: f64 = 7.0 * 86_400.0;

/// What the adapter said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// What is recorded.
    pub entry: Entry,
    /// The status that it asks for.
    pub status: Option<Status>,
    /// Why a person is needed.
    pub reason: Option<String>,
    /// Not earlier than in this time.
    pub retry_after_seconds: Option<f64>,
    /// Run it again now.
    pub again: bool,
}

/// Reads an answer's fields; those that it does not know are skipped. Relative paths of artifacts are in `folder`.
///
/// # Errors
/// Which field is wrong.
pub fn parse(object: Map<String, Value>, folder: &Path) -> Result<Answer, String> {
    let mut answer = Answer::default();
    for (name, value) in object {
        let wrong = |expected: &str| Err(format!("the answer's {name} is {}; {expected} was expected", shown(&value)));
        match (name.as_str(), &value) {
            ("phase", Value::String(phase)) => answer.entry.phase = Some(named("phase", phase)?),
            ("next_phase", Value::String(phase)) => {
                answer.entry.next_phase = Some(named("next_phase", phase)?);
                answer.again = true;
            }
            ("status", Value::String(status)) => match Status::of_others(status) {
                Ok(Status::Pending) | Err(_) => return wrong("running, stalled, needs_attention, completed, failed or cancelled"),
                Ok(status) => answer.status = Some(status),
            },
            ("message", Value::String(message)) => answer.entry.message = Some(message.clone()),
            ("reason", Value::String(reason)) => answer.reason = Some(named("reason", reason)?),
            ("retry_after_seconds", Value::Number(number)) => {
                match number.as_f64().filter(|seconds| seconds.is_finite() && *seconds >= 0.0) {
                    Some(seconds) => answer.retry_after_seconds = Some(seconds),
                    None => return wrong("a number of 0 or more"),
                }
            }
            ("continue", Value::Bool(again)) => answer.again |= again,
            ("artifacts", Value::Object(artifacts)) => answer.entry.artifacts = paths(artifacts, folder)?,
            ("steps", Value::Array(items)) => answer.entry.steps = items.iter().map(step).collect::<Result<_, _>>()?,
            ("context", Value::Object(values)) => answer.entry.context = values.clone(),
            ("metadata", Value::Object(values)) => answer.entry.metadata = values.clone(),
            ("phase" | "next_phase" | "status" | "message" | "reason", _) => return wrong("a text"),
            ("retry_after_seconds", _) => return wrong("a number"),
            ("continue", _) => return wrong("true or false"),
            ("artifacts" | "context" | "metadata", _) => return wrong("an object"),
            ("steps", _) => return wrong("a list of objects with a name"),
            _ => {}
        }
    }
    Ok(answer)
}

/// The beginning of a value.
fn shown(value: &Value) -> String {
    value.to_string().chars().take(60).collect()
}

fn named(what: &str, name: &str) -> Result<String, String> {
    check_name(&format!("the answer's {what}"), name).map(|()| name.to_owned())
}

fn paths(artifacts: &Map<String, Value>, folder: &Path) -> Result<Vec<(String, String)>, String> {
    let mut found = Vec::new();
    for (name, value) in artifacts {
        match value {
            // As a card holds them: by phase.
            Value::Object(inner) => found.extend(paths(inner, folder)?),
            Value::String(path) if !path.is_empty() => {
                let path = folder.join(path).into_os_string().into_string();
                found.push((named("artifact", name)?, path.map_err(|path| format!("{} is not UTF-8", path.display()))?));
            }
            other => return Err(format!("the answer's artifact {name} is {}; a path was expected", shown(other))),
        }
    }
    Ok(found)
}

fn step(item: &Value) -> Result<Step, String> {
    let text = |name: &str| item.get(name).and_then(Value::as_str);
    let status = text("status").unwrap_or("done");
    match text("name") {
        Some(name) if matches!(status, "pending" | "done" | "failed") => {
            Ok(Step { name: named("step", name)?, status: status.to_owned(), result: text("result").map(str::to_owned) })
        }
        _ => Err(format!("the answer's step {} has no name, or another status than pending, done or failed", shown(item))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_and_its_wrong_types() {
        let parse = |text: &str| parse(serde_json::from_str(text).unwrap(), Path::new("/w"));
        let answer = parse(
            r#"{"phase":"a","next_phase":"b","status":"running","message":"m","artifacts":{"x":"y","phase_a":{"z":"/z"}},
                "steps":[{"name":"s"}],"context":{"k":1},"metadata":{"l":2},"reason":"r","retry_after_seconds":1.5,"other":null}"#,
        )
        .unwrap();
        assert!(answer.again);
        assert_eq!(answer.entry.artifacts, [("x".to_owned(), "/w/y".to_owned()), ("z".to_owned(), "/z".to_owned())]);
        assert_eq!((answer.status, answer.retry_after_seconds), (Some(Status::Running), Some(1.5)));
        for wrong in [
            r#"{"phase":1}"#,
            r#"{"phase":""}"#,
            r#"{"status":"finished"}"#,
            r#"{"status":"pending"}"#,
            r#"{"continue":"yes"}"#,
            r#"{"retry_after_seconds":-1}"#,
            r#"{"retry_after_seconds":"5"}"#,
            r#"{"artifacts":{"x":null}}"#,
            r#"{"steps":["s"]}"#,
            r#"{"steps":[{"name":"s","status":"half"}]}"#,
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
