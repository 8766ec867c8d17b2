//! An adapter's answer: one JSON object as the last thing on its stdout.
//!
//! `{"phase", "next_phase", "status", "message", "artifacts", "steps", "context", "metadata",
//! "reason", "retry_after_seconds", "continue"}`, all optional. Whatever was printed before it is
//! somebody's log. An object with `revision` is a card or its summary, never an answer.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde_json::{Map, Value};
use shared::card::Status;
use shared::entry::{Entry, Step, check_name};
use shared::stream::RECORD_BYTES_MAX;

/// What the adapter said.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Answer {
    pub(crate) entry: Entry,
    pub(crate) status: Option<Status>,
    pub(crate) reason: Option<String>,
    pub(crate) retry_after_seconds: Option<f64>,
    pub(crate) again: bool,
}

/// Reads the answer at the end of this file. `Err` says what is wrong with one that is there.
pub(crate) fn read(path: &Path, workspace: &Path) -> Result<Option<Answer>, String> {
    let tail = tail(path, RECORD_BYTES_MAX as u64);
    match last_object(&tail) {
        Some(object) if !object.contains_key("revision") => parse(object, workspace).map(Some),
        _ => Ok(None),
    }
}

/// The last bytes of a file; of one that cannot be read, none.
pub(crate) fn tail(path: &Path, bytes: u64) -> Vec<u8> {
    let read = || -> std::io::Result<Vec<u8>> {
        let file = File::open(path)?;
        let size = file.metadata()?.len();
        let start = size.saturating_sub(bytes);
        let mut tail = vec![0; usize::try_from(size - start).unwrap_or_default()];
        file.read_exact_at(&mut tail, start)?;
        Ok(tail)
    };
    read().unwrap_or_default()
}

/// The object that ends where the text ends. Tried from the last `{` backwards: an inner object leaves brackets over, so the
/// first that leaves nothing is the whole one.
fn last_object(text: &[u8]) -> Option<Map<String, Value>> {
    const TRIES_MAX: usize = 10_000;
    let text = text.trim_ascii_end();
    if text.last() != Some(&b'}') {
        return None;
    }
    let starts = text.iter().enumerate().rev().filter(|(_, byte)| **byte == b'{').map(|(index, _)| index);
    starts.take(TRIES_MAX).find_map(|start| serde_json::from_slice(&text[start..]).ok())
}

fn parse(object: Map<String, Value>, workspace: &Path) -> Result<Answer, String> {
    let mut answer = Answer::default();
    for (name, value) in object {
        let wrong = || Err(format!("the answer's {name} is {value}"));
        match (name.as_str(), &value) {
            ("phase", Value::String(phase)) => answer.entry.phase = Some(named("phase", phase)?),
            ("next_phase", Value::String(phase)) => {
                answer.entry.next_phase = Some(named("next_phase", phase)?);
                answer.again = true;
            }
            ("status", Value::String(status)) => answer.status = Some(status.parse()?),
            ("message", Value::String(message)) => answer.entry.message = Some(message.clone()),
            ("reason", Value::String(reason)) => answer.reason = Some(named("reason", reason)?),
            ("retry_after_seconds", Value::Number(number)) => {
                match number.as_f64().filter(|seconds| seconds.is_finite() && *seconds >= 0.0) {
                    Some(seconds) => answer.retry_after_seconds = Some(seconds),
                    None => return wrong(),
                }
            }
            ("continue", Value::Bool(again)) => answer.again |= again,
            ("artifacts", Value::Object(artifacts)) => answer.entry.artifacts = paths(artifacts, workspace)?,
            ("steps", Value::Array(items)) => answer.entry.steps = items.iter().map(step).collect::<Result<_, _>>()?,
            ("context", Value::Object(values)) => answer.entry.context = values.clone(),
            ("metadata", Value::Object(values)) => answer.entry.metadata = values.clone(),
            (
                "phase"
                | "next_phase"
                | "status"
                | "message"
                | "reason"
                | "retry_after_seconds"
                | "continue"
                | "artifacts"
                | "steps"
                | "context"
                | "metadata",
                _,
            ) => return wrong(),
            _ => {}
        }
    }
    Ok(answer)
}

fn named(what: &str, name: &str) -> Result<String, String> {
    check_name(&format!("the answer's {what}"), name).map(|()| name.to_owned())
}

fn paths(artifacts: &Map<String, Value>, workspace: &Path) -> Result<Vec<(String, String)>, String> {
    let mut found = Vec::new();
    for (name, value) in artifacts {
        match value {
            // As a card holds them: by phase.
            Value::Object(inner) => found.extend(paths(inner, workspace)?),
            Value::String(path) if !path.is_empty() => {
                let path = workspace.join(path).into_os_string().into_string();
                found.push((named("artifact", name)?, path.map_err(|path| format!("{} is not UTF-8", path.display()))?));
            }
            other => return Err(format!("the answer's artifact {name} is {other}")),
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
        _ => Err(format!("the answer has the step {item}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(text: &[u8]) -> Option<String> {
        last_object(text).map(|object| Value::Object(object).to_string())
    }

    #[test]
    fn the_last_object_whatever_was_printed_before_it() {
        for text in [
            "{\"a\":{\"b\":1}}",
            "log line\n{\"a\":{\"b\":1}}\n",
            "{\"first\":1}\n{\"a\":{\"b\":1}}\n\n",
            "50%\r100%\r{\"a\":\n  {\"b\": 1}\n}\n",
            "broken { \"x\n{\"a\":{\"b\":1}}",
        ] {
            assert_eq!(last(text.as_bytes()).as_deref(), Some("{\"a\":{\"b\":1}}"), "{text}");
        }
        assert_eq!(last(b"\xff\xfe{\"a\":1}").as_deref(), Some("{\"a\":1}"));
        assert_eq!(last(b"{\"a\":\"{}\"}").as_deref(), Some("{\"a\":\"{}\"}"));
        for text in ["", "log", "{\"a\":1} done", "[{\"a\":1}]", "}", "{\"a\":1"] {
            assert_eq!(last(text.as_bytes()), None, "{text}");
        }
    }

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
            r#"{"status":"done"}"#,
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
