//! An adapter's answer: one JSON object as the last thing on its stdout.
//!
//! Whatever was printed before it is
//! somebody's log. An object with `revision` is a card or its summary, never an answer.

use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use nix::fcntl::OFlag;
use serde_json::{Map, Value};
use shared::answer::{Answer, parse};
use shared::stream::RECORD_BYTES_MAX;

/// Reads the answer at the end of this file. `Err` says what is wrong with one that is there.
pub(crate) fn read(path: &Path, workspace: &Path) -> Result<Option<Answer>, String> {
    let tail = tail(path, RECORD_BYTES_MAX as u64);
    match last_object(&tail) {
        Some(object) if !object.contains_key("revision") => parse(object, workspace).map(Some),
        None if tail.trim_ascii_end().ends_with(b"}") => Err(no_object(&tail)),
        _ => Ok(None),
    }
}

fn no_object(tail: &[u8]) -> String {
    if tail.len() == RECORD_BYTES_MAX {
        return format!(
            "what it printed last ends like an answer, and none begins in the last {RECORD_BYTES_MAX} bytes: it is no JSON object, \
             or too long; keep large values in files"
        );
    }
    "what it printed last ends like an answer and is no JSON object".to_owned()
}

/// The last bytes of a file; of one that cannot be read, none.
pub(crate) fn tail(path: &Path, bytes: u64) -> Vec<u8> {
    let read = || -> std::io::Result<Vec<u8>> {
        // The attempt may have put anything in its place.
        let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        let meta = file.metadata()?;
        let size = if meta.is_file() { meta.len() } else { 0 };
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
    let starts = || text.iter().enumerate().rev().filter(|(_, byte)| **byte == b'{').map(|(index, _)| index);
    let begins_line = |start: &usize| matches!(text[..*start].last(), None | Some(b'\n' | b'\r'));
    let parse = |start: usize| serde_json::from_slice(&text[start..]).ok();
    // Nearly every answer begins a line: that finds a large one at once, whatever it holds.
    let found = starts().filter(begins_line).take(TRIES_MAX).find_map(parse);
    found.or_else(|| starts().take(TRIES_MAX).find_map(parse))
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
        let large = format!("log\n{{\"a\":[{}{{}}]}}", "{\"b\":0},".repeat(20_000));
        assert_eq!(last(large.as_bytes()).as_deref(), Some(&large[4..]));
        assert_eq!(last(b"{\"a\":\"{}\"}").as_deref(), Some("{\"a\":\"{}\"}"));
        for text in ["", "log", "{\"a\":1} done", "[{\"a\":1}]", "}", "{\"a\":1"] {
            assert_eq!(last(text.as_bytes()), None, "{text}");
        }
    }
}
