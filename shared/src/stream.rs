//! Tolerant reading of what comes down a pipe: JSON values of any layout, or plain lines.
//!
//! A line that begins with `{`, `[` or `"` starts a JSON value, which ends where its brackets
//! close, on the same line or a later one, and may be followed by the next on the same line. Any
//! other line is one bare word. What cannot be read is reported with its line number, and reading
//! goes on with the next line, so that one broken record hides no other: a value that turns out
//! broken, or that swallows a line which is a whole object by itself, is given up after its first
//! line. The lines after it are read again; when that was done too often, values that do not end on
//! their first line are given up at once, so that no input takes long, and no line is lost.

use std::collections::VecDeque;
use std::io::{self, BufRead};

use serde_json::Value;

/// The largest record, in bytes.
pub const RECORD_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Lines read again in all after broken values, in bytes; beyond it a value must end on its first line.
const READ_AGAIN_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Something that came down the pipe.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// A JSON value.
    Json(Value),
    /// A plain line, trimmed.
    Word(String),
    /// What cannot be read: the line's number and why.
    Bad(u64, String),
}

/// Reads records until the end.
#[derive(Debug)]
pub struct Records<R> {
    input: R,
    line_number: u64,
    /// Lines that were taken back, each with its number; the first is the next.
    pending: VecDeque<(u64, Vec<u8>)>,
    read_again: usize,
    done: bool,
}

impl<R: BufRead> Records<R> {
    /// Reads from here.
    pub fn new(input: R) -> Self {
        Self { input, line_number: 0, pending: VecDeque::new(), read_again: 0, done: false }
    }

    fn next_line(&mut self) -> io::Result<Option<(u64, Vec<u8>)>> {
        if let Some(line) = self.pending.pop_front() {
            return Ok(Some(line));
        }
        if self.done {
            return Ok(None);
        }
        let mut line = Vec::new();
        // The limit holds for a line without end, too: the rest of it becomes records of its own, and errors.
        let count = io::Read::take(&mut self.input, RECORD_BYTES_MAX as u64).read_until(b'\n', &mut line)?;
        if count == 0 {
            self.done = true;
            return Ok(None);
        }
        self.line_number += 1;
        if self.line_number == 1 && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        Ok(Some((self.line_number, line)))
    }

    /// The JSON value that starts this line, taking further lines as far as it needs them.
    fn value(&mut self, number: u64, first: Vec<u8>) -> io::Result<Record> {
        let mut text = first;
        let mut later: Vec<(u64, Vec<u8>)> = Vec::new();
        let mut scanner = Scanner::default();
        let mut scanned = 0;
        loop {
            if let Some(length) = scanner.end(&text[scanned..]) {
                let end = scanned + length;
                return Ok(match serde_json::from_slice(&text[..end]) {
                    Ok(value) => {
                        let rest = text[end..].trim_ascii_start();
                        // A comma between values is what a cut-out piece of an array leaves.
                        let rest = rest.strip_prefix(b",").unwrap_or(rest).to_vec();
                        if !rest.trim_ascii().is_empty() {
                            let number = later.last().map_or(number, |(number, _)| *number);
                            self.pending.push_front((number, rest));
                        }
                        Record::Json(value)
                    }
                    Err(error) => self.give_up(number, later, &error.to_string()),
                });
            }
            scanned = text.len();
            if text[0] == b'"' {
                return Ok(self.give_up(number, later, "the text has no closing quote"));
            }
            if self.read_again > READ_AGAIN_BYTES_MAX {
                return Ok(self.give_up(number, later, "the JSON value does not end on its line, after too much that was broken"));
            }
            match self.next_line()? {
                None => return Ok(self.give_up(number, later, "the JSON value does not end")),
                Some((at, line)) if text.len() + line.len() > RECORD_BYTES_MAX => {
                    later.push((at, line));
                    return Ok(self.give_up(number, later, "the JSON value is larger than 4 MiB"));
                }
                Some((at, line)) => {
                    let whole_object = text[0] == b'{' && line.starts_with(b"{") && serde_json::from_slice::<Value>(&line).is_ok();
                    later.push((at, line.clone()));
                    if whole_object {
                        return Ok(self.give_up(number, later, "the JSON value does not end"));
                    }
                    text.extend_from_slice(&line);
                }
            }
        }
    }

    fn give_up(&mut self, number: u64, later: Vec<(u64, Vec<u8>)>, why: &str) -> Record {
        self.read_again += later.iter().map(|(_, line)| line.len()).sum::<usize>();
        later.into_iter().rev().for_each(|line| self.pending.push_front(line));
        Record::Bad(number, why.to_owned())
    }
}

impl<R: BufRead> Iterator for Records<R> {
    type Item = io::Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (number, line) = match self.next_line() {
                Ok(line) => line?,
                Err(error) => {
                    self.done = true;
                    return Some(Err(error));
                }
            };
            let trimmed = line.trim_ascii();
            match trimmed.first() {
                None => {}
                Some(b'{' | b'[' | b'"') => return Some(self.value(number, line.trim_ascii_start().to_vec())),
                Some(_) => {
                    return Some(Ok(match std::str::from_utf8(trimmed) {
                        Ok(word) => Record::Word(word.to_owned()),
                        Err(_) => Record::Bad(number, "it is not UTF-8".to_owned()),
                    }));
                }
            }
        }
    }
}

/// Finds where a JSON value's brackets close, across pieces.
#[derive(Debug, Default)]
struct Scanner {
    depth: usize,
    in_text: bool,
    escaped: bool,
}

impl Scanner {
    /// The length of this piece that still belongs to the value, if the value ends in it.
    fn end(&mut self, piece: &[u8]) -> Option<usize> {
        for (index, byte) in piece.iter().enumerate() {
            if self.in_text {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_text = false,
                    _ => continue,
                }
                if self.in_text || self.escaped {
                    continue;
                }
            } else {
                match byte {
                    b'"' => {
                        self.in_text = true;
                        continue;
                    }
                    b'{' | b'[' => self.depth += 1,
                    b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                    _ => continue,
                }
            }
            if self.depth == 0 && !self.in_text {
                return Some(index + 1);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(text: &str) -> Vec<Record> {
        Records::new(text.as_bytes()).map(Result::unwrap).collect()
    }

    fn value(value: Value) -> Record {
        Record::Json(value)
    }

    #[test]
    fn values_of_any_layout_and_plain_lines() {
        assert_eq!(read("{\"a\":1}\n{\"b\":2}\n"), [value(json!({"a": 1})), value(json!({"b": 2}))]);
        assert_eq!(read("{\"a\":1} {\"b\":\"}\"}\n"), [value(json!({"a": 1})), value(json!({"b": "}"}))]);
        assert_eq!(
            read("{\n  \"a\": {\n    \"b\": \"\\\"}\"\n  }\n}\nword\n"),
            [value(json!({"a": {"b": "\"}"}})), Record::Word("word".into())]
        );
        assert_eq!(read("[\n{\"a\":1},\n{\"b\":2}\n]\n"), [value(json!([{"a": 1}, {"b": 2}]))]);
        assert_eq!(read("\"one\"\n\"two\" \"three\""), [value(json!("one")), value(json!("two")), value(json!("three"))]);
        assert_eq!(read("\u{feff}one\r\n\n  two  \nthree"), ["one", "two", "three"].map(|word| Record::Word(word.into())));
        assert_eq!(read(""), []);
    }

    #[test]
    fn one_broken_record_hides_no_other() {
        let bad = |records: &[Record]| {
            records.iter().filter_map(|r| if let Record::Bad(line, _) = r { Some(*line) } else { None }).collect::<Vec<_>>()
        };
        for (text, bad_lines) in [
            ("{broken\n{\"a\":1}\n", vec![1]),
            ("{\"a\":\n{\"a\":1}\n", vec![1]),
            ("{\"a\":}\n{\"a\":1}\n", vec![1]),
            ("\"open\n{\"a\":1}\n", vec![1]),
            ("[1,\n{\"a\":1}\n", vec![1]),
            ("{\"a\":1}\n{", vec![2]),
            ("{\n{\n{\"a\":1}\n{\n", vec![1, 2, 4]),
            ("{} }\n{\"a\":1}\n", vec![]),
        ] {
            let records = read(text);
            assert_eq!(bad(&records), bad_lines, "{text:?} {records:?}");
            assert!(records.contains(&value(json!({"a": 1}))), "{text:?} {records:?}");
        }
        let records: Vec<_> = Records::new(&b"\xff\xfe\nword\n"[..]).map(Result::unwrap).collect();
        assert_eq!(bad(&records), [1]);
        assert!(records.contains(&Record::Word("word".into())));
    }

    #[test]
    fn many_broken_records_hide_no_other() {
        let sound = "{\"a\":1}\n".repeat(100);
        let text = format!("[1, {}\n{sound}", "x".repeat(1000)).repeat(300);
        let found = read(&text).into_iter().filter(|record| *record == value(json!({"a": 1}))).count();
        assert_eq!(found, 300 * 100);
    }

    #[test]
    fn an_array_that_is_too_large_is_read_line_by_line() {
        let lines = format!("{{\"a\":\"{}\"}},\n", "x".repeat(1000)).repeat(5000);
        let records = read(&format!("[\n{lines}{{}}\n]\n"));
        assert_eq!(records.iter().filter(|record| matches!(record, Record::Json(Value::Object(_)))).count(), 5001);
        assert!(matches!(&records[0], Record::Bad(1, why) if why.contains("larger than 4 MiB")));
    }

    #[test]
    fn many_broken_records_take_no_time_and_no_memory() {
        let text = "{\n".repeat(200_000);
        assert!(read(&text).iter().all(|record| matches!(record, Record::Bad(..))));
    }
}
