//! How everything stands, as one page of HTML that needs nothing else: no script, no network, no fonts.
//!
//! ```text
//! mod      which task stands in which section, in which order; the page around them
//! task     one task
//! escape   values
//! phrases  both languages
//! style    the looks, in light and dark
//! ```
//! What needs a person comes first. A page has a limit: what is beyond it is counted.

use std::cmp::Reverse;
use std::path::PathBuf;

use shared::card::{Card, Status};
use shared::signal::shell_word;
use shared::store::Store;
use shared::time::Timestamp;
use shared::verdict::Verdict;

use super::language::{Language, Words};
use super::story::{Kind, Story};
use super::survey::{Broken, Found, Seen};
use phrases::Phrases;
use task::Task;

mod escape;
mod phrases;
mod task;

/// Tasks of one section.
const TASKS_MAX: usize = 200;
/// Finished tasks: the newest ones.
const FINISHED_MAX: usize = 50;
const STYLE: &str = include_str!("style.css");
/// Even if a value found a way to be more than text, it could load and run nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// The tasks of a page.
#[derive(Default)]
pub(crate) struct Page {
    person: Vec<(Option<Timestamp>, Box<Seen>)>,
    broken: Vec<Broken>,
    /// What is due comes first.
    running: Vec<(bool, Reverse<Timestamp>, Box<Seen>)>,
    waiting: Vec<(bool, Box<Seen>)>,
    /// Their cards are read again for those that are shown.
    finished: Vec<(Reverse<Option<Timestamp>>, String)>,
}

/// What a page is made from besides the tasks.
pub(crate) struct Source<'a> {
    pub(crate) store: &'a Store,
    pub(crate) language: Language,
    pub(crate) now: Timestamp,
    pub(crate) last_pass: Option<Timestamp>,
    pub(crate) refresh_seconds: Option<u64>,
    /// Where the commands' programs are, if a shell does not find them by name.
    pub(crate) programs: Option<PathBuf>,
    /// What a pass did, if one is told of.
    pub(crate) stories: Option<Vec<Story>>,
}

/// How a page speaks.
#[derive(Clone, Copy)]
struct Voice<'a> {
    words: &'a dyn Words,
    phrases: &'a Phrases,
    now: Timestamp,
}

impl Page {
    /// Puts a task into its section.
    pub(crate) fn add(&mut self, found: Found, now: Timestamp) {
        let seen = match found {
            Found::Broken(broken) => return self.broken.push(broken),
            Found::Seen(seen) => seen,
        };
        let is_quiet = matches!(seen.verdict, Verdict::Quiet(_));
        match (&seen.verdict, seen.card.status) {
            (Verdict::Attention(attention), _) => self.person.push((attention.since, seen)),
            (_, status) if status.is_terminal() && is_quiet => {
                self.finished.push((Reverse(ended(&seen.card)), seen.card.task_id().to_owned()));
            }
            (_, Status::Pending) => self.waiting.push((is_quiet, seen)),
            _ => self.running.push((is_quiet, Reverse(seen.last_seen(now)), seen)),
        }
    }

    /// The page.
    pub(crate) fn print(mut self, source: &Source<'_>) -> String {
        let voice = Voice { words: source.language.words(), phrases: Phrases::of(source.language), now: source.now };
        let phrases = voice.phrases;
        self.person.sort_by_key(|(since, _)| (since.is_none(), *since));
        self.running.sort_by_key(|(is_quiet, last_seen, _)| (*is_quiet, *last_seen));
        self.waiting.sort_by_key(|(is_quiet, _)| *is_quiet);
        self.finished.sort();
        let person = self.person.len() + self.broken.len();
        let counts = [
            ("alarm", voice.words.heading(Kind::Person), person),
            ("active", phrases.running, self.running.len()),
            ("faint", phrases.waiting, self.waiting.len()),
            ("good", phrases.finished, self.finished.len()),
        ];
        let mut text = head(source, phrases, person);
        text += &top(source, voice, &counts);
        if counts.iter().all(|(_, _, count)| *count == 0) {
            text += &format!("<p>{}</p>\n", phrases.nothing);
        } else if person == 0 {
            text += &format!("<p>{}</p>\n", phrases.calm);
        }
        if person > 0 {
            let way = escape::exact(&way(source.store));
            text += &format!("<p class=\"soft\">{}{}<code>{way}</code></p>\n", phrases.workspace, voice.words.colon());
        }
        if let (Some(folder), 1..) = (&source.programs, person) {
            let folder = format!("<code>{}</code>", escape::exact(&folder.to_string_lossy()));
            text += &format!("<p class=\"soft\">{}</p>\n", voice.words.programs(&folder));
        }
        let seen = |seen: &Seen| Task::of(seen, source.store, voice).print(voice);
        let broken = self.broken.iter().map(|broken| Task::broken(broken, voice).print(voice));
        let articles: Vec<String> = self.person.iter().map(|(_, task)| seen(task)).chain(broken).take(TASKS_MAX).collect();
        section(&mut text, voice, "person", voice.words.heading(Kind::Person), person, &articles);
        if let Some(stories) = &source.stories {
            text += &pass(stories, voice);
        }
        let articles: Vec<String> = self.running.iter().take(TASKS_MAX).map(|(_, _, task)| seen(task)).collect();
        section(&mut text, voice, "running", phrases.running, self.running.len(), &articles);
        let articles: Vec<String> = self.waiting.iter().take(TASKS_MAX).map(|(_, task)| seen(task)).collect();
        section(&mut text, voice, "waiting rest", phrases.waiting, self.waiting.len(), &articles);
        let finished = self.finished.iter().take(FINISHED_MAX);
        let articles: Vec<String> =
            finished.filter_map(|(_, id)| Some(Task::finished(id, source.store, voice)?.print(voice))).collect();
        section(&mut text, voice, "finished rest", phrases.finished, self.finished.len(), &articles);
        text + "</main>\n</body>\n</html>\n"
    }
}

/// What a shell is told first, so that it finds these cards and no others of the same names: the page may be read anywhere.
fn way(store: &Store) -> String {
    let (workspace, cards) = (store.workspace(), store.folder());
    if cards == workspace.join("data/task-runs") {
        format!("cd {}", shell_word(&workspace.to_string_lossy()))
    } else {
        format!("export TASK_RUNS_DIR={}", shell_word(&cards.to_string_lossy()))
    }
}

fn ended(card: &Card) -> Option<Timestamp> {
    card.updated_at.or(card.last_checkpoint_at).or(card.created_at)
}

fn head(source: &Source<'_>, phrases: &Phrases, person: usize) -> String {
    let refresh = source.refresh_seconds.map(|seconds| format!("<meta http-equiv=\"refresh\" content=\"{seconds}\">\n"));
    // Where the tab is all that is seen of it.
    let count = if person > 0 { format!("({person}) ") } else { String::new() };
    format!(
        "<!DOCTYPE html>\n<html lang=\"{}\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"robots\" content=\"noindex\">\n{}\
         <title>{count}{}</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        phrases.code,
        refresh.unwrap_or_default(),
        phrases.title,
    )
}

fn top(source: &Source<'_>, voice: Voice<'_>, counts: &[(&str, &str, usize)]) -> String {
    let Voice { words, phrases, .. } = voice;
    let pass = source.last_pass.map_or_else(|| phrases.no_pass.to_owned(), |at| voice.since(phrases.last_pass, at));
    let mut text = format!(
        "<header>\n<h1>{}</h1>\n<p class=\"soft\">{} {} · {pass}</p>\n<ul class=\"counts\">\n",
        phrases.title,
        phrases.as_of,
        time(source.now),
    );
    for (style, name, count) in counts {
        let style = if *count == 0 { "faint" } else { *style };
        text += &format!("<li class=\"badge {style}\">{name}{}{count}</li>\n", words.colon());
    }
    text + "</ul>\n</header>\n<main>\n"
}

fn section(text: &mut String, voice: Voice<'_>, class: &str, name: &str, count: usize, articles: &[String]) {
    if count == 0 {
        return;
    }
    *text += &format!("<section class=\"{class}\">\n<h2>{name} <span>· {count}</span></h2>\n");
    let told = articles.len();
    *text += &articles.concat();
    if told < count {
        *text += &format!("<p>{}</p>\n", escape::text(&voice.words.more(count - told)));
    }
    *text += "</section>\n";
}

/// What the pass did. Who needs a person stands above it already.
fn pass(stories: &[Story], voice: Voice<'_>) -> String {
    let told: Vec<&Story> = stories.iter().filter(|story| story.kind != Kind::Person).collect();
    if told.is_empty() {
        return String::new();
    }
    let mut text = format!("<section class=\"pass\">\n<h2>{} <span>· {}</span></h2>\n<ul>\n", voice.phrases.pass, told.len());
    for story in told.iter().take(TASKS_MAX) {
        let what = voice.words.join(&[story.what.clone(), story.detail.clone(), story.then.clone()]);
        let title = format!("<bdi>{}</bdi>", escape::text(&story.title));
        let id = format!("<code>{}</code>", escape::exact(&story.task));
        let task = if story.title.trim().is_empty() { id } else { voice.words.task(&title, &id) };
        text += &format!("<li>{}{} {task}{}", voice.words.heading(story.kind), voice.words.colon().trim_end(), voice.words.colon());
        text += &format!("<bdi>{}</bdi></li>\n", escape::text(&what));
    }
    text += "</ul>\n";
    if let Some(more @ 1..) = told.len().checked_sub(TASKS_MAX) {
        text += &format!("<p>{}</p>\n", escape::text(&voice.words.more(more)));
    }
    text + "</section>\n"
}

impl Voice<'_> {
    /// What happened then, and how long ago that is.
    fn since(self, what: &str, at: Timestamp) -> String {
        let span = self.words.span((self.now.unix_ms() - at.unix_ms()).div_euclid(1000));
        format!("{what}{}<time datetime=\"{at}\">{}</time>", self.words.colon(), (self.phrases.ago)(&span))
    }
}

/// A time of the day, in UTC.
fn time(at: Timestamp) -> String {
    let text = at.to_string();
    let minutes = text.get(..16).unwrap_or(&text).replace('T', " ");
    format!("<time datetime=\"{text}\">{minutes} UTC</time>")
}

#[cfg(test)]
#[path = "style_tests.rs"]
mod style_tests;
