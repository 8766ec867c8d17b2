//! One task on the page.

use serde_json::Value;
use shared::card::{Card, Status};
use shared::document::Document;
use shared::store::Store;
use shared::text::{clean, cut};
use shared::time::Timestamp;
use shared::verdict::Verdict;

use super::{Voice, escape, time};
use crate::report::story::{self, Kind, Story};
use crate::report::survey::{Broken, Seen};
use crate::table::steps;

/// Columns of what a task or a program says in its own words.
const VALUE_COLUMNS_MAX: usize = 1000;
/// Of a title: what to do stands below it, and has to be on the same screen of a phone.
const TITLE_COLUMNS_MAX: usize = 200;
/// The newest checkpoints that are listed: cards of others may have any number, and a page has hundreds of tasks.
const CHECKPOINTS_MAX: usize = 30;
/// Steps that are listed.
const STEPS_MAX: usize = 100;

/// What is shown of a task.
pub(super) struct Task {
    id: String,
    title: String,
    badge: &'static str,
    /// How the badge looks.
    style: &'static str,
    /// What it needs or why it is left alone.
    what: String,
    /// How the last attempt ended.
    attempt: String,
    command: String,
    /// When it last gave a sign of life, or was over.
    seen: Option<(&'static str, Timestamp)>,
    /// Nothing when the card could not be read, or was changed meanwhile so that it cannot.
    document: Option<Document>,
}

impl Task {
    /// A task that is not finished.
    pub(super) fn of(seen: &Seen, store: &Store, voice: Voice<'_>) -> Self {
        let Voice { words, phrases, now } = voice;
        let card = &seen.card;
        let told = seen.line(now).map(|line| story::of(&line, words, now));
        let what = match (&told, &seen.verdict) {
            (Some(story), _) => words.join(&[story.what.clone(), story.detail.clone()]),
            (None, Verdict::Quiet(quiet)) => {
                let phase = if card.phase.is_empty() { String::new() } else { words.phase(&card.phase) };
                let until = if quiet.reason == "cooling_down" { quiet.until } else { None };
                let reason = words.reason(quiet.reason).unwrap_or(quiet.reason).to_owned();
                words.join(&[reason, until.map(|at| words.until(at, now)).unwrap_or_default(), phase])
            }
            (None, _) => String::new(),
        };
        let (badge, style) = match &told {
            Some(Story { kind: Kind::Person, .. }) => (words.heading(Kind::Person), "alarm"),
            Some(Story { kind: kind @ Kind::Silent, .. }) => (words.heading(*kind), "warning"),
            Some(Story { kind: kind @ Kind::Ready, .. }) => (words.heading(*kind), "active"),
            _ => ((phrases.status)(card.status), style(card.status)),
        };
        Self {
            badge,
            style,
            what,
            command: told.map(|story| story.next).unwrap_or_default(),
            seen: (card.status != Status::Pending).then(|| (phrases.last_sign, seen.last_seen(now))),
            ..Self::bare(card, load(store, card.task_id()), voice)
        }
    }

    /// One that is over; nothing when it is gone.
    pub(super) fn finished(id: &str, store: &Store, voice: Voice<'_>) -> Option<Self> {
        let (document, card) = store.load(&id.parse().ok()?).ok()?;
        Some(Self { seen: super::ended(&card).map(|at| (voice.phrases.ended, at)), ..Self::bare(&card, Some(document), voice) })
    }

    /// A file that is no usable card.
    pub(super) fn broken(broken: &Broken, voice: Voice<'_>) -> Self {
        let story = story::of(&broken.line, voice.words, voice.now);
        Self {
            id: story.task,
            title: String::new(),
            badge: voice.phrases.unusable,
            style: "alarm",
            what: voice.words.join(&[story.what, story.detail]),
            attempt: String::new(),
            command: story.next,
            seen: None,
            document: None,
        }
    }

    fn bare(card: &Card, document: Option<Document>, voice: Voice<'_>) -> Self {
        let ended = |kind: &str, attempt: u64| voice.words.attempt(&attempt.to_string(), voice.words.outcome(kind).unwrap_or(kind));
        let attempt = card.outcome.as_ref().map(|outcome| ended(&outcome.kind, outcome.attempt));
        Self {
            id: card.task_id().to_owned(),
            title: card.title.clone(),
            badge: (voice.phrases.status)(card.status),
            style: style(card.status),
            what: String::new(),
            attempt: attempt.unwrap_or_default(),
            command: String::new(),
            seen: None,
            document: document.map(|mut document| {
                document.adopt();
                document
            }),
        }
    }

    /// The article.
    pub(super) fn print(&self, voice: Voice<'_>) -> String {
        let id = format!("<code>{}</code>", escape::exact(&self.id));
        let title = escape::text(&cut(clean(&self.title).trim(), TITLE_COLUMNS_MAX));
        let head = if title.is_empty() { id } else { format!("<bdi>{title}</bdi> {id}") };
        let mut text =
            format!("<article class=\"is-{}\">\n<h3>{head}</h3>\n<p><span class=\"badge {0}\">{}</span>", self.style, self.badge);
        if !self.what.is_empty() {
            text += &format!(" <bdi>{}</bdi>", value(&self.what));
        }
        text += "</p>\n";
        if !self.command.is_empty() {
            text += &format!("<p class=\"command\"><code>{}</code></p>\n", escape::exact(&self.command));
        }
        if let Some(document) = &self.document {
            text += &progress(document, voice);
            text += &last_message(document);
        }
        let seen = self.seen.map(|(what, at)| voice.since(what, at));
        let facts: Vec<String> = seen.into_iter().chain((!self.attempt.is_empty()).then(|| value(&self.attempt))).collect();
        if !facts.is_empty() {
            text += &format!("<p class=\"soft\">{}</p>\n", facts.join(" · "));
        }
        if let Some(document) = &self.document {
            text += &step_list(document, voice);
            text += &timeline(document, voice);
        }
        text + "</article>\n"
    }
}

fn load(store: &Store, id: &str) -> Option<Document> {
    store.load(&id.parse().ok()?).ok().map(|(document, _)| document)
}

fn style(status: Status) -> &'static str {
    match status {
        Status::Pending | Status::Cancelled => "faint",
        Status::Running => "active",
        Status::Stalled => "warning",
        Status::NeedsAttention | Status::Failed => "alarm",
        Status::Completed => "good",
    }
}

fn progress(document: &Document, voice: Voice<'_>) -> String {
    let Some((done, all)) = steps(document) else { return String::new() };
    let said = (voice.phrases.steps)(done, all);
    format!("<p class=\"progress\"><progress value=\"{done}\" max=\"{all}\" aria-label=\"{said}\"></progress> {said}</p>\n")
}

fn step_list(document: &Document, voice: Voice<'_>) -> String {
    let list: Vec<&Value> = entries(document, "steps").collect();
    if list.is_empty() {
        return String::new();
    }
    let mut text = format!("<details><summary>{}</summary>\n<ol class=\"steps\">\n", voice.phrases.step_list);
    for step in list.iter().take(STEPS_MAX) {
        let status = (voice.phrases.step)(field(step, "status"));
        let result = step.get("result").and_then(Value::as_str).filter(|result| !result.is_empty());
        let result = result.map(|result| format!(" — <bdi>{}</bdi>", value(result))).unwrap_or_default();
        text += &format!("<li><bdi>{}</bdi> <span class=\"soft\">({status})</span>{result}</li>\n", value(field(step, "name")));
    }
    text += "</ol>\n";
    if let Some(more @ 1..) = list.len().checked_sub(STEPS_MAX) {
        text += &format!("<p>{}</p>\n", (voice.phrases.more_steps)(more));
    }
    text + "</details>\n"
}

fn last_message(document: &Document) -> String {
    let messages = entries(document, "checkpoints").map(|entry| field(entry, "message")).filter(|message| !message.is_empty());
    messages.last().map(|message| format!("<p class=\"message\"><bdi>{}</bdi></p>\n", value(message))).unwrap_or_default()
}

/// The newest checkpoint first.
fn timeline(document: &Document, voice: Voice<'_>) -> String {
    let list: Vec<&Value> = entries(document, "checkpoints").collect();
    if list.is_empty() {
        return String::new();
    }
    let all = document.count("checkpoint_count").max(list.len() as u64);
    let shown = list.len().min(CHECKPOINTS_MAX);
    let mut text = format!("<details><summary>{}</summary>\n<ol class=\"timeline\">\n", (voice.phrases.checkpoints)(shown, all));
    for entry in list.iter().rev().take(shown) {
        let at = Timestamp::parse(field(entry, "at")).map(|(at, _)| time(at)).unwrap_or_default();
        let phase = Some(field(entry, "phase")).filter(|phase| !phase.is_empty());
        let phase = phase.map(|phase| format!("<strong><bdi>{}</bdi></strong> ", value(phase))).unwrap_or_default();
        text += &format!("<li>{at}{phase}<bdi>{}</bdi></li>\n", value(field(entry, "message")));
    }
    text + "</ol>\n</details>\n"
}

fn entries<'d>(document: &'d Document, name: &str) -> impl Iterator<Item = &'d Value> {
    document.get(name).and_then(Value::as_array).into_iter().flatten()
}

fn field<'v>(entry: &'v Value, name: &str) -> &'v str {
    entry.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn value(text: &str) -> String {
    escape::text(&cut(clean(text).trim(), VALUE_COLUMNS_MAX))
}
