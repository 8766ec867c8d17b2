//! `card report [ID…]`: for a person at the start of a session. What the task was, what is done,
//! what is left, what matters, why it stopped, and whether to go on.
//!
//! Only what is recorded is said. Nobody's silence is an answer: the command changes nothing, and
//! asks again the next time.

use serde_json::Value;
use shared::card::{Card, Status};
use shared::document::Document;
use shared::facts::Observer;
use shared::signal::shell_word;
use shared::store::Store;
use shared::talk::command;
use shared::text::{clean, clean_exact, cut};
use shared::time::Timestamp;
use shared::verdict::{Facts, Request, silent_since};

use super::language::Words;
use super::phrases::{Phrases, Section};

/// Columns of a value that a task says in its own words.
const VALUE_COLUMNS_MAX: usize = 240;
/// Entries of one section; checkpoints count from the newest.
const ENTRIES_MAX: usize = 20;

/// One unfinished task.
pub(crate) struct Unfinished {
    document: Document,
    card: Card,
    facts: Facts,
    since: Timestamp,
}

impl Unfinished {
    pub(crate) fn new(document: Document, card: Card, store: &Store, observer: &Observer) -> Self {
        let now = store.clock().now();
        let (_, facts) = observer.judge(store, &card, Request::Pass, now);
        let since = silent_since(&card, &facts, now);
        Self { document, card, facts, since }
    }

    /// The one that was worked on last comes first.
    pub(crate) fn order(&self) -> (std::cmp::Reverse<Timestamp>, String) {
        (std::cmp::Reverse(self.since), self.card.task_id().to_owned())
    }

    fn at_work(&self) -> bool {
        self.facts.supervisor_alive || self.facts.attempt_alive
    }
}

/// How a report is written.
#[derive(Clone, Copy)]
pub(crate) struct Style<'a> {
    pub(crate) phrases: &'a Phrases,
    pub(crate) words: &'a dyn Words,
    /// No pictures, no marks of code.
    pub(crate) plain: bool,
}

/// The report; empty when there is nothing unfinished.
pub(crate) fn print(tasks: &[Unfinished], style: Style<'_>) -> String {
    let mut text = String::new();
    if tasks.is_empty() {
        return text;
    }
    style.head(&mut text, Section::Report, &(style.phrases.count)(tasks.len()));
    for task in tasks {
        text.push('\n');
        style.one(&mut text, task);
    }
    text
}

impl Style<'_> {
    fn head(&self, text: &mut String, section: Section, rest: &str) {
        let (picture, name) = (section.picture(), self.phrases.heading(section));
        let head = if self.plain { name.to_owned() } else { format!("{picture} {name}") };
        let colon = if rest.is_empty() { "" } else { self.words.colon() };
        *text += &format!("{head}{colon}{rest}\n");
    }

    fn section(&self, text: &mut String, section: Section, entries: &[String]) {
        if entries.is_empty() {
            return;
        }
        self.head(text, section, "");
        for entry in entries.iter().take(ENTRIES_MAX) {
            *text += &format!("- {entry}\n");
        }
        if let Some(more @ 1..) = entries.len().checked_sub(ENTRIES_MAX) {
            *text += &format!("- {}\n", self.words.more(more));
        }
    }

    fn one(&self, text: &mut String, task: &Unfinished) {
        let Unfinished { document, card, since, .. } = task;
        let title = value(card.title.as_str());
        self.head(text, Section::Task, &self.words.task(&title, &self.code(card.task_id())));
        let last = since.to_string().replace('T', " ").replace('Z', " UTC");
        *text += &format!("{}{}{last}\n", self.phrases.last, self.words.colon());
        let steps: Vec<&Value> = document.get("steps").and_then(Value::as_array).into_iter().flatten().collect();
        let with = |status: &str| -> Vec<String> {
            let fitting = steps.iter().filter(|step| step.get("status").and_then(Value::as_str) == Some(status));
            fitting.map(|step| step_line(step)).collect()
        };
        if steps.is_empty() {
            self.section(text, Section::Done, &checkpoints(document));
            // Where it goes on.
            let phase = (!card.phase.is_empty()).then(|| self.words.phase(&value(&card.phase)));
            self.section(text, Section::Left, &phase.into_iter().collect::<Vec<_>>());
        } else {
            self.section(text, Section::Done, &with("done"));
            self.section(text, Section::Failed, &with("failed"));
            self.section(text, Section::Left, &with("pending"));
        }
        self.section(text, Section::Context, &context(document));
        self.section(text, Section::Why, &self.why(task));
        if task.at_work() {
            self.head(text, Section::AtWork, "");
            return;
        }
        self.head(text, Section::Question, "");
        let id = shell_word(card.task_id());
        let resumed = card.resume_adapter.is_some() || card.is_plain_command();
        let (card_program, resume) = (command("card"), command("resume"));
        let go_on =
            if resumed { format!("{card_program} approve {id} | {resume}") } else { format!("{card_program} approve {id}") };
        for (answer, command) in [(self.phrases.yes, go_on), (self.phrases.no, format!("{card_program} cancel {id}"))] {
            *text += &format!("- {answer}{}{}\n", self.words.colon(), self.code(&command));
        }
    }

    /// Why it stopped, as far as that was recorded.
    fn why(&self, task: &Unfinished) -> Vec<String> {
        let (card, mut said) = (&task.card, Vec::new());
        let phrase = |word: &str| self.words.reason(word).map_or_else(|| value(word), str::to_owned);
        let detail = |detail: &str| if detail.is_empty() { Vec::new() } else { vec![value(&self.words.detail(detail))] };
        if let Some(attention) = &card.attention {
            let mut parts = vec![phrase(&attention.reason)];
            parts.extend(detail(attention.detail.as_deref().unwrap_or_default()));
            said.push(self.words.join(&parts));
        }
        if let Some(action) = card.pending_action() {
            said.push(self.words.pending(&value(&action)));
        }
        let outcome = task.document.get("outcome").and_then(Value::as_object);
        let stopped = matches!(card.status, Status::Stalled | Status::NeedsAttention);
        if let (Some(recorded), Some(known), true) = (outcome, &card.outcome, stopped) {
            let ended = self.words.outcome(&known.kind).map_or_else(|| value(&known.kind), str::to_owned);
            let mut parts = vec![self.words.attempt(&number(known.attempt), &ended)];
            parts.extend(detail(recorded.get("detail").and_then(Value::as_str).unwrap_or_default()));
            said.push(self.words.join(&parts));
        }
        said
    }

    fn code(&self, text: &str) -> String {
        let text = clean_exact(text);
        if self.plain || text.contains('`') { text } else { format!("`{text}`") }
    }
}

/// What ended without an attempt was the agent's own run.
fn number(attempt: u64) -> String {
    if attempt == 0 { String::new() } else { attempt.to_string() }
}

fn value(text: &str) -> String {
    cut(clean(text).trim(), VALUE_COLUMNS_MAX)
}

fn shown(told: &Value) -> String {
    told.as_str().map_or_else(|| value(&told.to_string()), value)
}

fn step_line(step: &Value) -> String {
    let name = step.get("name").map(shown).unwrap_or_default();
    match step.get("result").filter(|result| !result.is_null()).map(shown) {
        Some(result) if !result.is_empty() => format!("{name} — {result}"),
        _ => name,
    }
}

/// The newest ones, in the order in which they came.
fn checkpoints(document: &Document) -> Vec<String> {
    let entries = document.get("checkpoints").and_then(Value::as_array).into_iter().flatten();
    let text = |entry: &Value, name: &str| entry.get(name).and_then(Value::as_str).map(value).unwrap_or_default();
    let lines = entries.map(|entry| (text(entry, "phase"), text(entry, "message")));
    let told: Vec<String> = lines
        .filter_map(|(phase, message)| match (phase.is_empty(), message.is_empty()) {
            (true, true) => None,
            (true, false) => Some(message),
            (false, true) => Some(phase),
            (false, false) => Some(format!("{phase} — {message}")),
        })
        .collect();
    told[told.len().saturating_sub(ENTRIES_MAX)..].to_vec()
}

/// Values, and the files of all phases.
fn context(document: &Document) -> Vec<String> {
    let values = document.get("context").and_then(Value::as_object).into_iter().flatten();
    let mut lines: Vec<String> = values.map(|(name, told)| format!("{}: {}", value(name), shown(told))).collect();
    for (_, paths) in document.get("artifacts").and_then(Value::as_object).into_iter().flatten() {
        let paths = paths.as_object().into_iter().flatten();
        lines.extend(paths.map(|(name, path)| format!("{}: {}", value(name), shown(path))));
    }
    lines
}
