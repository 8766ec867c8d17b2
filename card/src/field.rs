//! `card show ID|- --field PATH`: one value, bare, for scripts that have no reader of JSON at hand.
//!
//! A path is names and indices with dots between them (`metadata.pending_action`,
//! `checkpoints.-1.message`); a negative index counts from the end. It is no query language: it
//! leads to one value or to none. None, or null, prints nothing; it is no error.

use std::io::{Read, stdin};

use serde_json::Value;
use shared::card::json_error;
use shared::cli::Output;
use shared::command_line::Common;
use shared::exit::{Error, Exit, cause};
use shared::id::TaskId;
use shared::stream::RECORD_BYTES_MAX;

use crate::args::Format;
use crate::show;

/// What to print.
#[derive(Debug)]
pub(crate) struct Field {
    /// The card; none = any JSON value on stdin, such as the card that an adapter is given.
    pub(crate) of: Option<TaskId>,
    pub(crate) path: String,
    /// Without a format, a text is printed without its quotation marks.
    pub(crate) format: Option<Format>,
}

/// Prints the value.
pub(crate) fn print(common: &Common, wanted: &Field) -> Result<Exit, Error> {
    let whole = match &wanted.of {
        None => standard_input()?,
        Some(id) => {
            let (store, _) = common.open()?;
            let found = store.find(id).map_err(|error| error.about(id.as_str()))?;
            show::json(&found.document, found.filed)
        }
    };
    let mut output = Output::new();
    match (at(&whole, &wanted.path), wanted.format) {
        (None | Some(Value::Null), _) => {}
        (Some(Value::String(text)), None | Some(Format::Text)) => output.text(&format!("{text}\n"))?,
        (Some(value), _) => output.json_line(value)?,
    }
    output.finish()?;
    Ok(Exit::Done)
}

fn standard_input() -> Result<Value, Error> {
    let mut bytes = Vec::new();
    let read = stdin().lock().take(RECORD_BYTES_MAX as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| Error::io(format!("cannot read standard input: {}", cause(&error))))?;
    if bytes.len() > RECORD_BYTES_MAX {
        return Err(Error::data(format!("standard input is larger than {RECORD_BYTES_MAX} bytes")));
    }
    serde_json::from_slice(&bytes).map_err(|error| Error::data(format!("standard input is no JSON value: {}", json_error(&error))))
}

fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, step| match value {
        Value::Object(object) => object.get(step),
        Value::Array(items) => match step.strip_prefix('-') {
            Some(from_end) => items.len().checked_sub(from_end.parse().ok().filter(|&n| n > 0)?).and_then(|index| items.get(index)),
            None => items.get(step.parse::<usize>().ok()?),
        },
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_to_one_value_or_to_none() {
        let value: Value = serde_json::from_str(r#"{"a":{"b":[{"c":"x"},{"c":"y"}]},"0":1,"n":null}"#).unwrap();
        let find = |path: &str| at(&value, path).map(ToString::to_string);
        assert_eq!(find("a.b.0.c").as_deref(), Some("\"x\""));
        assert_eq!(find("a.b.-1.c").as_deref(), Some("\"y\""));
        assert_eq!(find("a.b.-2.c").as_deref(), Some("\"x\""));
        assert_eq!(find("0").as_deref(), Some("1"));
        assert_eq!(find("n").as_deref(), Some("null"));
        for path in ["", "a.", "a.x", "a.b.2", "a.b.-3", "a.b.-0", "a.b.+", "a.b.c", "0.a", "a..b"] {
            assert_eq!(find(path), None, "{path}");
        }
    }
}
