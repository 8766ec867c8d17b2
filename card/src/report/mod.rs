//! `card report`: what a pass found and did, for people.
//!
//! ```text
//! lines      signal lines come in, of whatever form resume would take
//! story      each becomes a story: of a kind, in a language, news or not
//! en  zh     the languages
//! chat text  stories go out
//! unfinished, with its phrases: without lines, what the cards themselves tell a person at the start of a session
//! monitor    how all tasks stand, from the survey of the cards and the stories of a pass
//! prometheus html  what that is written as
//! ```
//! Where the stories come from and what they are printed as are two things: a further source
//! (the cards themselves) or a further format is one more file beside these.

use std::collections::HashSet;
use std::io::{IsTerminal, stdin};
use std::path::{Path, PathBuf};

use shared::card::Status;
use shared::cli::{self, Output};
use shared::command_line::Common;
use shared::exit::{Error, Exit};
use shared::facts::Observer;
use shared::id::TaskId;
use shared::last_pass::LastPass;
use shared::screen::Screen;
use shared::store::{LoadError, Store};
use shared::talk::{command, say};
use shared::time::{Clock, Timestamp};

mod chat;
mod en;
mod html;
mod language;
mod lines;
mod monitor;
mod phrases;
mod prometheus;
mod story;
mod survey;
mod text;
mod unfinished;
mod zh;

pub(crate) use language::Language;
use language::Words;
use lines::Input;
pub(crate) use monitor::{Form, Monitor, monitor};
use phrases::Phrases;
use story::{Kind, Story};
use unfinished::{Style, Unfinished};

/// `card report [ID…]`.
#[derive(Debug)]
pub(crate) struct Asked {
    /// All that are unfinished when there is none.
    pub(crate) ids: Vec<TaskId>,
    /// Without one: that of the environment.
    pub(crate) language: Option<Language>,
    /// No pictures, no marks.
    pub(crate) plain: bool,
}

/// Tells of the unfinished tasks. Prints nothing when there is none.
pub(crate) fn ask(store: &Store, wanted: &Asked) -> Result<Exit, Error> {
    let observer = Observer::new(store, &LastPass::load(store));
    let mut tasks = Vec::new();
    let mut exit = Exit::Done;
    let named = !wanted.ids.is_empty();
    let ids =
        if named { wanted.ids.clone() } else { store.list()?.iter().filter_map(|entry| entry.id_text().parse().ok()).collect() };
    for id in ids {
        match store.load(&id) {
            // What was not begun cannot be gone on with, unless somebody asks for it.
            Ok((_, card)) if card.status.is_terminal() || (card.status == Status::Pending && !named) => {}
            Ok((document, card)) => tasks.push(Unfinished::new(document, card, store, &observer)),
            Err(LoadError::Missing) if !named || store.is_filed(&id)? => {}
            Err(error) => {
                let error = error.about(id.as_str());
                say(&error.message);
                exit = error.exit;
            }
        }
    }
    tasks.sort_by_cached_key(Unfinished::order);
    let language = wanted.language.unwrap_or_else(language::of_process);
    let style = Style { phrases: Phrases::of(language), words: language.words(), plain: wanted.plain };
    cli::print(&unfinished::print(&tasks, style))?;
    Ok(exit)
}

/// `card report -`.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) format: Format,
    /// Without one: that of the environment.
    pub(crate) language: Option<Language>,
    /// Printed when there is nothing to say.
    pub(crate) quiet_token: Option<String>,
    /// No pictures, no marks of code.
    pub(crate) plain: bool,
}

/// Whom a report is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// News only, as one short message.
    Chat,
    /// Everything.
    Text,
}

/// Reads signal lines to their end and prints what they tell.
pub(crate) fn report(common: &Common, wanted: &Report) -> Result<Exit, Error> {
    if stdin().is_terminal() {
        return Err(Error::usage(format!(
            "report: pipe the lines of {} or {} into it; see --help",
            command("watch"),
            command("resume")
        )));
    }
    let input = lines::read(stdin().lock())?;
    let language = wanted.language.unwrap_or_else(language::of_process).words();
    let now = Clock::new(common.now).now();
    let mut stories = told(&input, language, now, &|story| wanted.tells(story));
    add_titles(common, &mut stories)?;
    let text = match wanted.format {
        Format::Chat => chat::print(&stories, language, programs().as_deref(), wanted.plain),
        Format::Text => text::print(&stories, language, &Screen::of_stdout()),
    };
    let mut output = Output::new();
    match (&wanted.quiet_token, text.is_empty()) {
        (Some(token), true) if !input.bad => output.text(&format!("{token}\n"))?,
        _ => output.text(&text)?,
    }
    output.finish()?;
    Ok(if input.bad { Exit::BadData } else { Exit::Done })
}

/// The stories that `tells` picks, in the order in which they are told.
fn told(input: &Input, words: &dyn Words, now: Timestamp, tells: &dyn Fn(&Story) -> bool) -> Vec<Story> {
    let mut stories: Vec<Story> = input.lines.iter().map(|line| story::of(line, words, now)).filter(tells).collect();
    // What needs a person may come twice, once as it was found and once as an attempt ended.
    let mut seen = HashSet::new();
    stories.retain(|story| story.kind != Kind::Person || seen.insert((story.task.clone(), story.what.clone())));
    stories.sort_by_key(|story| story.kind);
    stories
}

/// People know a task by its title; resume's lines do not have it. Without a workspace there is none to add.
fn add_titles(common: &Common, stories: &mut [Story]) -> Result<(), Error> {
    if stories.iter().all(|story| !story.title.is_empty()) {
        return Ok(());
    }
    let store = match common.open() {
        Ok((store, _)) => store,
        Err(error) if common.workspace.is_some() => return Err(error),
        Err(_) => return Ok(()),
    };
    fill_titles(&store, stories);
    Ok(())
}

fn fill_titles(store: &Store, stories: &mut [Story]) {
    for story in stories.iter_mut().filter(|story| story.title.is_empty()) {
        story.title = title(store, &story.task).unwrap_or_default();
    }
}

fn title(store: &Store, task: &str) -> Option<String> {
    let (_, card) = store.load(&task.parse().ok()?).ok()?;
    Some(card.title)
}

/// The folder of these programs, where a person's shell would not find them by name.
fn programs() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?.parent()?.to_owned();
    let search = std::env::var_os("PATH").unwrap_or_default();
    // By a name with a prefix they are called through links.
    let leads_here = |folder: &Path| std::fs::canonicalize(folder.join(command("card"))).is_ok_and(|card| card == own.join("card"));
    (!std::env::split_paths(&search).any(|folder| folder == own || leads_here(&folder))).then_some(own)
}

impl Report {
    /// A chat gets the news only.
    fn tells(&self, story: &Story) -> bool {
        self.format != Format::Chat || story.is_news
    }
}
