//! What came down the pipe, sorted: tasks to look at, and lines to pass on.

use std::collections::HashSet;
use std::io::BufRead;

use serde_json::{Map, Value};
use shared::exit::{Error, cause};
use shared::id::TaskId;
use shared::signal::Line;
use shared::stream::{Record, Records};
use shared::talk::say;
use shared::verdict::Request;

/// One task to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) id: TaskId,
    pub(crate) request: Request,
}

/// Everything that a pass was given.
#[derive(Debug, Default)]
pub(crate) struct Items {
    pub(crate) tasks: Vec<Item>,
    /// Tasks that need a person: passed on, never started.
    pub(crate) passed_on: Vec<Line>,
    /// Something could not be read.
    pub(crate) bad: bool,
    seen: HashSet<TaskId>,
}

impl Items {
    /// Tasks that were named on the command line.
    pub(crate) fn named(ids: &[TaskId], request: Request) -> Self {
        let mut items = Self::default();
        ids.iter().for_each(|id| items.add(id.clone(), request));
        items
    }

    /// Reads everything from a pipe. What cannot be read is said, and the rest is still done.
    pub(crate) fn read(input: impl BufRead) -> Result<Self, Error> {
        let mut items = Self::default();
        for record in Records::new(input) {
            match record.map_err(|error| Error::io(format!("cannot read standard input: {}", cause(&error))))? {
                Record::Json(value) => items.value(value),
                Record::Word(word) => items.word(&word),
                Record::Bad(line, why) => items.complain(&format!("line {line} of standard input is skipped: {why}")),
            }
        }
        Ok(items)
    }

    fn value(&mut self, value: Value) {
        match value {
            Value::String(word) => self.word(&word),
            Value::Array(values) => values.into_iter().for_each(|value| self.value(value)),
            Value::Object(object) => self.object(object),
            other => self.complain(&format!("standard input has {other}, which is no signal, card or ID; it is skipped")),
        }
    }

    fn object(&mut self, object: Map<String, Value>) {
        let word = |name: &str| object.get(name).and_then(Value::as_str).map(str::to_owned);
        match (word("task_id"), word("signal").as_deref()) {
            (Some(id), None) => self.word(&id),
            (Some(id), Some("alert" | "ready")) => self.task(&id, Request::Pass),
            (Some(_), Some("needs_attention")) => self.passed_on.push(Line(object)),
            (Some(_), Some(_)) => {}
            (None, _) => self.report(object),
        }
    }

    /// A report: lines in buckets. A card that needs a person may stand in two of them.
    fn report(&mut self, object: Map<String, Value>) {
        let twice = object.contains_key("active_needs_attention");
        for (name, value) in object {
            match (name.as_str(), value) {
                ("needs_attention", _) if twice => {}
                (_, Value::Array(lines)) => lines.into_iter().for_each(|line| self.value(line)),
                (name, _) => {
                    self.complain(&format!("standard input has an object with {name:?} and without task_id; it is skipped"));
                }
            }
        }
    }

    fn word(&mut self, word: &str) {
        self.task(word, Request::Named);
    }

    fn task(&mut self, id: &str, request: Request) {
        match id.parse() {
            Ok(id) => self.add(id, request),
            Err(why) => self.complain(&format!("standard input: {why}; it is skipped")),
        }
    }

    fn add(&mut self, id: TaskId, request: Request) {
        if self.seen.insert(id.clone()) {
            self.tasks.push(Item { id, request });
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

    fn read(text: &str) -> Items {
        Items::read(text.as_bytes()).unwrap()
    }

    fn ids(items: &Items) -> Vec<(&str, Request)> {
        items.tasks.iter().map(|item| (item.id.as_str(), item.request)).collect()
    }

    #[test]
    fn signals_cards_arrays_reports_and_plain_ids() {
        let items = read(
            r#"{"signal":"alert","task_id":"a"}
            {"signal":"ready","task_id":"b"} {"signal":"needs_attention","task_id":"c","x":1}
            {"signal":"recovery","task_id":"d"}
            {"task_id":"e","revision":3,"status":"pending"}
            ["f", {"signal":"alert","task_id":"g"}]
            {"alerts":[{"signal":"alert","task_id":"h"}],"needs_attention":[{"signal":"needs_attention","task_id":"i"}],
             "active_needs_attention":[{"signal":"needs_attention","task_id":"i"}]}
            {}
            "j"
k
a
"#,
        );
        let expected = [
            ("a", Request::Pass),
            ("b", Request::Pass),
            ("e", Request::Named),
            ("f", Request::Named),
            ("g", Request::Pass),
            ("h", Request::Pass),
            ("j", Request::Named),
            ("k", Request::Named),
        ];
        assert_eq!(ids(&items), expected);
        assert_eq!(items.passed_on.iter().map(|line| line.text("task_id")).collect::<Vec<_>>(), ["c", "i"]);
        assert!(!items.bad);
    }

    #[test]
    fn what_cannot_be_read_is_said_and_the_rest_is_done() {
        for bad in ["{broken", "[7]", "[null]", "../x", "a b", "{\"alerts\":7}", "{\"task_id\":\"../x\"}"] {
            let items = read(&format!("{bad}\n{{\"task_id\":\"a\"}}\n"));
            assert!(items.bad, "{bad}");
            assert_eq!(ids(&items), [("a", Request::Named)], "{bad}");
        }
    }
}
