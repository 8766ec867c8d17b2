//! `card show` for a person: where the task stands, why, and what to do next.

use serde_json::Value;
use shared::card::{Card, Status};
use shared::document::Document;
use shared::prose::{Prose, print_whole};
use shared::screen::{Screen, Style};
use shared::signal::{detail, next_command, shell_word};
use shared::talk::command;
use shared::text::{clean, cut, pad, width};
use shared::time::Timestamp;
use shared::verdict::{Attention, Quiet, Verdict, own_attention};
use shared::words::{age, ahead, lasting, outcome, reason};

use crate::policies;
use crate::table::{steps, style};

/// Where values begin.
const MARGIN: usize = 14;
/// Where the items of a list begin when they would have less room than this.
const NARROW_MARGIN: usize = 2;
const ITEM_COLUMNS_MIN: usize = 40;
const CHECKPOINTS_MAX: usize = 5;
/// Steps and artifacts beyond this many are counted.
const ITEMS_MAX: usize = 40;

/// What is known beside the card.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) verdict: Verdict,
    pub(crate) last_seen: Timestamp,
    pub(crate) now: Timestamp,
}

/// The block. The document has today's names.
pub(crate) fn print(document: &Document, card: &Card, seen: &Seen, filed: bool, screen: &Screen) -> String {
    let mut block = Block { screen, text: String::new() };
    let title = Prose::default().styled(style(card.status), card.task_id());
    let title = if card.title.trim().is_empty() { title } else { title.plain(": ").styled(Style::Strong, &card.title) };
    block.text += &title.print(screen, (Style::Plain, ""), 4);
    status(&mut block, document, card, seen);
    block.value("filed away", if filed { "in the archive" } else { "" });
    block.value("phase", &card.phase);
    if let Some((done, all)) = steps(document) {
        block.value("steps", &format!("{done}/{all}"));
        list_steps(&mut block, document);
    }
    checkpoints(&mut block, document, card, seen.now);
    artifacts(&mut block, document);
    run_by(&mut block, card);
    block.value("depends on", &card.depends_on().join(", "));
    block.value("policies", &policies::of(document, card).join(", "));
    next(&mut block, card, seen);
    block.text
}

struct Block<'a> {
    screen: &'a Screen,
    text: String,
}

impl Block<'_> {
    fn value(&mut self, label: &str, value: &str) {
        if !value.trim().is_empty() {
            self.prose(label, &Prose::default().plain(value));
        }
    }

    fn prose(&mut self, label: &str, prose: &Prose) {
        let label = if label.is_empty() { String::new() } else { format!("{label}:") };
        self.text += &prose.print(self.screen, (Style::Faint, &pad(&label, MARGIN)), MARGIN);
    }

    /// A line that is not broken but cut.
    fn item(&mut self, item: &str) {
        let item = clean(item);
        let margin = if self.screen.room(MARGIN) < ITEM_COLUMNS_MIN { NARROW_MARGIN } else { MARGIN };
        let line = if self.screen.columns.is_some() { cut(&item, self.screen.room(margin)) } else { item };
        self.text += &format!("{}{}\n", pad("", margin), line.trim_end());
    }

    fn whole(&mut self, label: &str, text: &str) {
        self.text += &print_whole(self.screen, (Style::Faint, &pad(label, MARGIN)), text);
    }
}

fn status(block: &mut Block<'_>, document: &Document, card: &Card, seen: &Seen) {
    let now = seen.now;
    let mut prose = Prose::default().styled(style(card.status), card.status.as_str());
    if let Some(run) = &card.run {
        let what = match seen.verdict {
            _ if run.background => "left a process in the background",
            Verdict::Quiet(Quiet { reason: "supervised" | "alive", .. }) => "is running",
            _ => "was never settled",
        };
        let run =
            format!("attempt {} {what}, started {} ago as {} on {}", run.attempt, age(run.started_at, now), run.pid, run.host);
        prose = prose.and().plain(&run);
    }
    block.prose("status", &prose.and().plain(&format!("last seen {} ago", age(seen.last_seen, now))));
    let attention = match (&seen.verdict, card.status) {
        (Verdict::Attention(attention), _) => Some(attention.clone()),
        (_, Status::NeedsAttention) => Some(own_attention(card)),
        _ => None,
    };
    if let Some(attention) = attention {
        let told = Attention { detail: detail(card, &attention), ..attention };
        block.prose("why", &why(&told, now));
    }
    last_outcome(block, document, card, now);
}

fn why(attention: &Attention, now: Timestamp) -> Prose {
    let known = reason(&attention.reason);
    let mut prose = Prose::default().plain(known.unwrap_or(&attention.reason));
    if known.is_some() {
        prose = prose.styled(Style::Faint, &format!(" [{}]", attention.reason));
    }
    if let Some(since) = attention.since {
        prose = prose.and().plain(&lasting(since, now));
    }
    if attention.detail.is_empty() { prose } else { prose.and().plain(&attention.detail) }
}

fn last_outcome(block: &mut Block<'_>, document: &Document, card: &Card, now: Timestamp) {
    let Some(ended) = &card.outcome else { return };
    let text =
        |name: &str| document.get("outcome").and_then(|outcome| outcome.get(name)).and_then(Value::as_str).unwrap_or_default();
    let what = outcome(&ended.kind).unwrap_or(&ended.kind);
    // What ended without an attempt was the agent's own run.
    let who = if ended.attempt == 0 { "a run".to_owned() } else { format!("attempt {}", ended.attempt) };
    let mut prose = Prose::default().plain(&format!("{who} {what} {} ago", age(ended.at, now)));
    prose = prose.styled(Style::Faint, &format!(" [{}]", ended.kind));
    if !text("detail").is_empty() {
        prose = prose.and().plain(text("detail"));
    }
    prose = prose.and().plain(&format!("retries {}/{}", card.retry_count, card.max_retries()));
    if card.failures > 0 {
        prose = prose.and().plain(&format!("failures {}/{}", card.failures, card.max_failures()));
    }
    block.prose("outcome", &prose);
    if let Some(last) = text("stderr_tail").lines().rev().find(|line| !line.trim().is_empty()) {
        block.item(&format!("stderr: {}", last.trim()));
    }
}

fn list_steps(block: &mut Block<'_>, document: &Document) {
    let steps = document.get("steps").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for step in steps.iter().take(ITEMS_MAX) {
        let text = |name: &str| step.get(name).and_then(Value::as_str).unwrap_or_default();
        let mark = match text("status") {
            "done" => "[x]",
            "failed" => "[!]",
            _ => "[ ]",
        };
        let result = if text("result").is_empty() { String::new() } else { format!(": {}", text("result")) };
        block.item(&format!("{mark} {}{result}", text("name")));
    }
    more(block, steps.len());
}

fn more(block: &mut Block<'_>, count: usize) {
    if count > ITEMS_MAX {
        block.item(&format!("… and {} more", count - ITEMS_MAX));
    }
}

fn checkpoints(block: &mut Block<'_>, document: &Document, card: &Card, now: Timestamp) {
    let entries = document.get("checkpoints").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let count = card.checkpoint_count.max(entries.len() as u64);
    if count == 0 {
        return;
    }
    let shown: Vec<&Value> = entries.iter().rev().take(CHECKPOINTS_MAX).collect();
    let newest = if count > shown.len() as u64 && !shown.is_empty() { ", the newest:" } else { "" };
    block.value("checkpoints", &format!("{count}{newest}"));
    let text = |entry: &Value, name: &str| clean(entry.get(name).and_then(Value::as_str).unwrap_or_default());
    let ages: Vec<String> = shown
        .iter()
        .map(|entry| {
            Timestamp::parse(&text(entry, "at")).map_or_else(|_| "?".to_owned(), |(at, _)| format!("{} ago", age(at, now)))
        })
        .collect();
    let columns = ages.iter().map(|age| width(age)).max().unwrap_or(0);
    for (entry, age) in shown.iter().zip(&ages) {
        let parts = [text(entry, "phase"), text(entry, "message")];
        let parts: Vec<&str> = parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        block.item(&format!("{}  {}", pad(age, columns), parts.join(": ")));
    }
}

fn artifacts(block: &mut Block<'_>, document: &Document) {
    let phases = document.get("artifacts").and_then(Value::as_object).into_iter().flatten();
    let paths: Vec<(String, &str)> = phases
        .flat_map(|(phase, paths)| paths.as_object().into_iter().flatten().map(move |(name, path)| (phase, name, path)))
        .filter_map(|(phase, name, path)| {
            let phase = phase.strip_prefix("phase_").unwrap_or(phase);
            Some((if phase == "main" { name.clone() } else { format!("{phase}/{name}") }, path.as_str()?))
        })
        .collect();
    for (index, (name, path)) in paths.iter().take(ITEMS_MAX).enumerate() {
        let prose = Prose::default().plain(name).plain(": ").whole(Style::Plain, path);
        block.prose(if index == 0 { "artifacts" } else { "" }, &prose);
    }
    more(block, paths.len());
}

fn run_by(block: &mut Block<'_>, card: &Card) {
    let words: Vec<String> = card.argv().iter().map(|word| shell_word(word)).collect();
    match (&card.resume_adapter, words.as_slice()) {
        (Some(adapter), _) => block.whole("adapter:", adapter),
        (None, []) => {}
        (None, words) => block.whole("command:", &words.join(" ")),
    }
}

fn next(block: &mut Block<'_>, card: &Card, seen: &Seen) {
    let id = card.task_id();
    let can_be_run = card.resume_adapter.is_some() || card.is_plain_command();
    let resume = format!("{} {id}", command("resume"));
    let (words, next) = match &seen.verdict {
        Verdict::Attention(attention) => (String::new(), Some(next_command(card, &attention.reason))),
        Verdict::Alert(due) => (format!("due: {} [{}]", reason(due.reason).unwrap_or(due.reason), due.reason), Some(resume)),
        Verdict::Ready => ("ready to start".to_owned(), Some(resume)),
        Verdict::Quiet(Quiet { reason: "not_started", .. }) if can_be_run => ("start it".to_owned(), Some(resume)),
        Verdict::Quiet(Quiet { reason: "failed", .. }) => {
            ("see what happened".to_owned(), Some(format!("{} log {id}", command("card"))))
        }
        Verdict::Quiet(quiet) => (nothing(*quiet, seen.now), None),
    };
    match next {
        Some(next) => {
            block.value("next", &words);
            let label = if words.is_empty() { "next:" } else { "" };
            block.whole(label, &next);
        }
        None => block.value("next", &words),
    }
}

fn nothing(quiet: Quiet, now: Timestamp) -> String {
    let why = reason(quiet.reason).unwrap_or(quiet.reason);
    let when = match (quiet.reason, quiet.until) {
        (_, None) => String::new(),
        ("healthy" | "alive", Some(until)) => format!(", and counts as silent {}", ahead(until, now)),
        (_, Some(until)) => format!(", {}", ahead(until, now)),
    };
    format!("nothing: {why}{when}")
}
