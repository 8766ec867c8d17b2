//! What a pass prints, and what it could not carry out.

use std::collections::BTreeSet;

use shared::cli::Output;
use shared::exit::{Error, Exit};
use shared::id::TaskId;
use shared::last_pass::{LastPass, Told};
use shared::screen::Screen;
use shared::sentence::sentence;
use shared::signal::{self, Line};
use shared::talk::say;
use shared::time::Clock;

use crate::args::{Format, Wanted};
use crate::claim::failed_line;

/// Prints lines as they come, or collects them for a report.
pub(crate) struct Teller<'a> {
    output: Output,
    screen: Screen,
    clock: Clock,
    format: Format,
    last_pass: &'a LastPass,
    member: bool,
    collected: Vec<Line>,
    failure: Option<Error>,
    /// The first thing that could not be carried out.
    failed: Option<Exit>,
    /// What a person was told by this pass.
    pub(crate) told: BTreeSet<Told>,
    /// Something needs one.
    pub(crate) needs_person: bool,
}

impl<'a> Teller<'a> {
    pub(crate) fn new(wanted: &Wanted, last_pass: &'a LastPass) -> Self {
        let output = Output::new();
        let format = wanted.format.unwrap_or(if output.is_terminal() { Format::Text } else { Format::Jsonl });
        let member = wanted.member.is_some();
        Self {
            output,
            screen: Screen::of_stdout(),
            clock: Clock::new(wanted.common.now),
            format,
            last_pass,
            member,
            collected: Vec::new(),
            failure: None,
            failed: None,
            told: BTreeSet::new(),
            needs_person: false,
        }
    }

    /// Whether what was told counts as told: a terminal's reader may not have looked, one that went away has not.
    pub(crate) fn was_heard(&self) -> bool {
        !self.output.is_terminal() && !self.output.is_closed()
    }

    /// Whether everything so far was handed to the reader: a report is only at the end.
    pub(crate) fn has_delivered(&self) -> bool {
        self.collected.is_empty() && self.failure.is_none() && !self.output.is_closed()
    }

    /// Says what could not be carried out with a task, and tells it.
    pub(crate) fn fail(&mut self, id: &TaskId, error: &Error) {
        say(&error.message);
        self.note(error.exit);
        self.tell(failed_line(id, error));
    }

    /// Remembers a status for the end.
    pub(crate) fn note(&mut self, exit: Exit) {
        self.failed = self.failed.or(Some(exit));
    }

    /// The first status that was noted.
    pub(crate) fn failed(&self) -> Option<Exit> {
        self.failed
    }

    /// Tells a line. Lines that need a person say whether they are new. A stdout that fails stops no work: that is said last.
    pub(crate) fn tell(&mut self, mut line: Line) {
        if line.needs_person() && !self.member {
            self.needs_person = true;
            let told = line.told();
            line.0.shift_remove("new");
            // After an attempt it is a new question, however alike it is to one that was answered.
            if line.0.contains_key("outcome") || !self.last_pass.told.contains(&told) {
                line = line.with("new", true);
            }
            if self.told.contains(&told) && self.format == Format::Report {
                return;
            }
            self.told.insert(told);
        }
        let written = match self.format {
            Format::Jsonl => self.output.json_line(&line.0.into()),
            Format::Text => self.output.text(&sentence(&line, self.clock.now(), &self.screen)),
            Format::Report => {
                self.collected.push(line);
                Ok(())
            }
        };
        if let Err(error) = written.and_then(|()| self.output.finish()) {
            self.failure.get_or_insert(error);
        }
    }

    /// Tells what was collected.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        if self.format == Format::Report {
            let lines = std::mem::take(&mut self.collected);
            self.output.json(&signal::report(&lines, |line| line.0.contains_key("new")))?;
        }
        self.failure.take().map_or_else(|| self.output.finish(), Err)
    }
}
