//! A pass: everything that was given is looked at, brought back where it is due, and told.
//!
//! One task is handled in this process; for several a pool runs this program once per task.
//! Cards are settled before anything is printed, so a reader that goes away changes nothing.

use std::collections::BTreeSet;
use std::io::{IsTerminal, stdin};

use shared::cli::{Output, say};
use shared::exit::{Error, Exit};
use shared::facts::Observer;
use shared::last_pass::{Clocks, LastPass, Told};
use shared::signal::{self, Line};
use shared::store::Store;
use shared::verdict::{Request, Verdict};

use crate::args::{Format, Wanted};
use crate::attempt::Turn;
use crate::claim::failed_line;
use crate::dry_run;
use crate::items::{Item, Items};
use crate::pool;
use crate::signals::Signals;

/// Carries out a pass.
pub(crate) fn run(store: &Store, wanted: &Wanted) -> Result<Exit, Error> {
    let from_pipe = wanted.ids.is_empty();
    if from_pipe && stdin().is_terminal() {
        return Err(Error::usage("say which tasks, or pipe the lines of watch into it; see --help"));
    }
    let request = wanted.member.unwrap_or(if wanted.force { Request::Forced } else { Request::Named });
    let items = if from_pipe { Items::read(stdin().lock())? } else { Items::named(&wanted.ids, request) };
    let last_pass = LastPass::load(store);
    let observer = Observer::new(store, &last_pass);
    let mut teller = Teller::new(wanted, &last_pass);
    for line in items.passed_on {
        teller.tell(line)?;
    }
    let mut errors = Errors { first: items.bad.then_some(Exit::BadData) };
    let mut stopped = None;
    if wanted.dry_run {
        for item in &items.tasks {
            let line = dry_run::foresee(store, &observer, item).unwrap_or_else(|error| errors.take(item, &error));
            teller.tell(line)?;
        }
    } else if !items.tasks.is_empty() {
        stopped = bring_back(store, wanted, &observer, &items.tasks, &mut teller, &mut errors)?;
    }
    teller.finish()?;
    if from_pipe && !wanted.dry_run && stopped.is_none() {
        stamp(store, &observer, &last_pass, &teller)?;
    }
    let attention = wanted.exit_status && teller.needs_person;
    Ok(stopped.map(Exit::Signal).or(errors.first).unwrap_or(if attention { Exit::NeedsPerson } else { Exit::Done }))
}

fn bring_back(
    store: &Store,
    wanted: &Wanted,
    observer: &Observer,
    tasks: &[Item],
    teller: &mut Teller<'_>,
    errors: &mut Errors,
) -> Result<Option<i32>, Error> {
    let mut signals = Signals::install()?;
    match tasks {
        [item] => {
            let lines = Turn { store, observer, wanted, signals: &mut signals }.take(item);
            for line in lines.unwrap_or_else(|error| vec![errors.take(item, &error)]) {
                teller.tell(line)?;
            }
        }
        _ => pool::run(store, wanted, tasks, &mut signals, teller, errors)?,
    }
    Ok(signals.first())
}

/// What the pass could not carry out: said when it happens, remembered for the exit status.
#[derive(Debug, Default)]
pub(crate) struct Errors {
    pub(crate) first: Option<Exit>,
}

impl Errors {
    fn take(&mut self, item: &Item, error: &Error) -> Line {
        say(&error.message);
        self.note(error.exit);
        failed_line(&item.id, error)
    }

    /// Remembers a status.
    pub(crate) fn note(&mut self, exit: Exit) {
        self.first = self.first.or(Some(exit));
    }
}

/// Prints lines as they come, or collects them for a report.
pub(crate) struct Teller<'a> {
    output: Output,
    format: Format,
    last_pass: &'a LastPass,
    member: bool,
    collected: Vec<Line>,
    told: BTreeSet<Told>,
    needs_person: bool,
}

impl<'a> Teller<'a> {
    fn new(wanted: &Wanted, last_pass: &'a LastPass) -> Self {
        let output = Output::new();
        let format = wanted.format.unwrap_or(if output.is_terminal() { Format::Text } else { Format::Jsonl });
        let member = wanted.member.is_some();
        Self { output, format, last_pass, member, collected: Vec::new(), told: BTreeSet::new(), needs_person: false }
    }

    /// Tells a line. Lines that need a person say whether they are new.
    pub(crate) fn tell(&mut self, mut line: Line) -> Result<(), Error> {
        if line.needs_person() && !self.member {
            self.needs_person = true;
            let told = line.told();
            line.0.shift_remove("new");
            if !self.last_pass.told.contains(&told) {
                line = line.with("new", true);
            }
            if self.told.contains(&told) && self.format == Format::Report {
                return Ok(());
            }
            self.told.insert(told);
        }
        match self.format {
            Format::Jsonl => self.output.json_line(&line.0.into())?,
            Format::Text => self.output.text(&(signal::sentence(&line) + "\n"))?,
            Format::Report => self.collected.push(line),
        }
        self.output.finish()
    }

    fn finish(&mut self) -> Result<(), Error> {
        if self.format == Format::Report {
            let report = signal::report(&self.collected, |line| line.0.contains_key("new"));
            self.output.json(&report)?;
        }
        self.output.finish()
    }
}

/// Remembers the clocks, and what people were told as long as it stays so.
fn stamp(store: &Store, observer: &Observer, last_pass: &LastPass, teller: &Teller<'_>) -> Result<(), Error> {
    if !store.folder().is_dir() {
        return Ok(());
    }
    let looked_at: BTreeSet<&str> = teller.told.iter().map(|(task, ..)| task.as_str()).collect();
    let elsewhere = last_pass.told.iter().filter(|(task, ..)| !looked_at.contains(task.as_str()));
    let mut told: BTreeSet<Told> = elsewhere.filter(|told| is_still_so(store, observer, told)).cloned().collect();
    if teller.output.is_terminal() {
        told.extend(teller.told.intersection(&last_pass.told).cloned());
    } else {
        told.extend(teller.told.iter().cloned());
    }
    let clocks = if store.clock().is_replaced() { None } else { Clocks::read() };
    last_pass.save(store, clocks, told)
}

/// Whether a task still needs a person for the same reason. This pass may not have been about it.
fn is_still_so(store: &Store, observer: &Observer, (task, reason, phase): &Told) -> bool {
    let Ok(id) = task.parse() else { return false };
    match store.load(&id) {
        Ok((_, card)) => {
            let failed = card.status == shared::card::Status::Failed && reason == "task_failed";
            let (verdict, _) = observer.judge(store, &card, Request::Pass, store.clock().now());
            let same = matches!(verdict, Verdict::Attention(attention) if attention.reason == *reason);
            failed || (same && card.phase == *phase)
        }
        Err(shared::store::LoadError::Bad(error)) => error.fault.reason() == reason,
        Err(shared::store::LoadError::Missing) => false,
    }
}
