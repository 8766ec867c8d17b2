//! `card report --format prometheus|html`: how all tasks stand, read from the cards themselves.
//!
//! With `-` the lines of a pass are read first, to their end: the cards are looked at when the
//! pass is through, and what it did is told beside how things stand.

use std::io::{IsTerminal, stdin};

use shared::cli::Output;
use shared::command_line::Common;
use shared::exit::{Error, Exit};
use shared::last_pass::LastPass;
use shared::store::Store;
use shared::talk::command;
use shared::time::Timestamp;

use super::html::{Page, Source};
use super::language::{self, Language};
use super::lines::{self, Input};
use super::prometheus::Metrics;
use super::story::Story;
use super::survey;

/// What is wanted.
#[derive(Debug)]
pub(crate) struct Monitor {
    pub(crate) form: Form,
    /// Read the lines of a pass, too.
    pub(crate) from_pipe: bool,
    /// Without one: that of the environment.
    pub(crate) language: Option<Language>,
}

/// What it is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Prometheus,
    Html {
        /// A browser loads the page again after so many seconds.
        refresh_seconds: Option<u64>,
    },
}

/// Prints how everything stands.
pub(crate) fn monitor(store: &Store, common: &Common, wanted: &Monitor) -> Result<Exit, Error> {
    let input = wanted.from_pipe.then(read).transpose()?;
    let last_pass = LastPass::load(store);
    // One moment for all cards; with --now exactly that one.
    let now = common.now.unwrap_or_else(|| store.clock().now());
    let (text, read) = match wanted.form {
        Form::Prometheus => {
            let mut metrics = Metrics::new(input.as_ref());
            let read = survey::each(store, &last_pass, now, &mut |found| metrics.count(&found, now));
            (metrics.print(last_pass.finished_at()), read)
        }
        Form::Html { refresh_seconds } => {
            let language = wanted.language.unwrap_or_else(language::of_process);
            let mut page = Page::default();
            let read = survey::each(store, &last_pass, now, &mut |found| page.add(found, now));
            let stories = input.as_ref().map(|input| stories(store, input, language, now));
            let programs = super::programs();
            let source = Source { store, language, now, last_pass: last_pass.finished_at(), refresh_seconds, programs, stories };
            (page.print(&source), read)
        }
    };
    let mut output = Output::new();
    output.text(&text)?;
    output.finish()?;
    read?;
    Ok(if input.is_some_and(|input| input.bad) { Exit::BadData } else { Exit::Done })
}

fn read() -> Result<Input, Error> {
    if stdin().is_terminal() {
        return Err(Error::usage(format!(
            "report: with -, pipe the lines of {} or {} into it; without, it reads the cards alone",
            command("watch"),
            command("resume")
        )));
    }
    lines::read(stdin().lock())
}

fn stories(store: &Store, input: &Input, language: Language, now: Timestamp) -> Vec<Story> {
    let mut stories = super::told(input, language.words(), now, &|_| true);
    super::fill_titles(store, &mut stories);
    stories
}
