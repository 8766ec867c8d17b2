//! What comes in: signal lines, alone, in arrays, or in a report object.
//!
//! As tolerant as resume's own input. Cards and plain IDs are read, too, and tell nothing.

use std::io::BufRead;

use serde_json::{Map, Value};
use shared::exit::{Error, cause};
use shared::id::TaskId;
use shared::signal::Line;
use shared::stream::{Record, Records};
use shared::talk::say;

/// Everything that came.
#[derive(Debug, Default)]
pub(crate) struct Input {
    /// The signals, in their order.
    pub(crate) lines: Vec<Line>,
    /// Something could not be read.
    pub(crate) bad: bool,
}

/// Reads everything. What cannot be read is said, and the rest is still told.
pub(crate) fn read(input: impl BufRead) -> Result<Input, Error> {
    let mut all = Input::default();
    for record in Records::new(input) {
        match record.map_err(|error| Error::io(format!("cannot read standard input: {}", cause(&error))))? {
            Record::Json(value) => all.value(value),
            Record::Word(word) => all.word(&word),
            Record::Bad(line, why) => all.complain(&format!("line {line} of standard input is skipped: {why}")),
        }
    }
    Ok(all)
}

impl Input {
    fn value(&mut self, value: Value) {
        match value {
            Value::String(word) => self.word(&word),
            Value::Array(values) => values.into_iter().for_each(|value| self.value(value)),
            Value::Object(object) => self.object(object),
            other => self.complain(&format!("standard input has {other}, which is no signal; it is skipped")),
        }
    }

    fn object(&mut self, object: Map<String, Value>) {
        let has = |name: &str| object.get(name).is_some_and(Value::is_string);
        match (has("task_id"), has("signal")) {
            (true, true) => self.lines.push(Line(object)),
            (true, false) => {}
            (false, _) => self.report(object),
        }
    }

    /// A report: lines in buckets. Those of `needs_attention` are the new ones.
    fn report(&mut self, object: Map<String, Value>) {
        for (name, value) in object {
            match (name.as_str(), value) {
                ("needs_attention", Value::Array(lines)) => {
                    let before = self.lines.len();
                    lines.into_iter().for_each(|line| self.value(line));
                    for line in &mut self.lines[before..] {
                        line.0.insert("new".to_owned(), true.into());
                    }
                }
                (_, Value::Array(lines)) => lines.into_iter().for_each(|line| self.value(line)),
                (name, _) => {
                    self.complain(&format!("standard input has an object with {name:?} and without task_id; it is skipped"));
                }
            }
        }
    }

    fn word(&mut self, word: &str) {
        if let Err(why) = word.parse::<TaskId>() {
            self.complain(&format!("standard input: {why}; it is skipped"));
        }
    }

    fn complain(&mut self, text: &str) {
        say(text);
        self.bad = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(text: &str) -> (Vec<String>, bool) {
        let input = read(text.as_bytes()).unwrap();
        (input.lines.iter().map(|line| line.text("task_id").to_owned()).collect(), input.bad)
    }

    #[test]
    fn signals_of_every_form() {
        let text = r#"{"signal":"alert","task_id":"a"} [{"signal":"recovery","task_id":"b"}]
            {"task_id":"card","revision":3}
            id
            "id"
            {"alerts":[{"signal":"alert","task_id":"c"}],"needs_attention":[{"signal":"needs_attention","task_id":"d"}]}
            {}"#;
        assert_eq!(ids(text), (["a", "b", "c", "d"].map(str::to_owned).to_vec(), false));
        let input = read(text.as_bytes()).unwrap();
        let new: Vec<bool> = input.lines.iter().map(|line| line.0.contains_key("new")).collect();
        assert_eq!(new, [false, false, false, true]);
    }

    #[test]
    fn what_cannot_be_read_hides_nothing() {
        for bad in ["{broken", "[7]", "watch: cannot list", "{\"alerts\":7}"] {
            assert_eq!(ids(&format!("{bad}\n{{\"signal\":\"alert\",\"task_id\":\"a\"}}\n")), (vec!["a".to_owned()], true), "{bad}");
        }
    }
}
