//! A pass: everything that was given is looked at, brought back where it is due, and told.
//!
//! One task is handled in this process; for several a pool runs this program once per task.
//! Cards are settled before anything is printed, so a reader that goes away changes nothing.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::{IsTerminal, stdin};

use shared::exit::{Error, Exit};
use shared::facts::Observer;
use shared::last_pass::{Clocks, LastPass, Told};
use shared::signal::Line;
use shared::store::Store;
use shared::talk::command;
use shared::verdict::{Request, Verdict};

use crate::args::Wanted;
use crate::attempt::Turn;
use crate::budget::Budget;
use crate::claim::{Claimed, failed_line};
use crate::detach;
use crate::dry_run;
use crate::items::{Item, Items};
use crate::live::Live;
use crate::outbox::{self, Taken};
use crate::pool;
use crate::signals::Signals;
use crate::tell::Teller;

/// Carries out a pass.
pub(crate) fn run(store: &Store, wanted: &Wanted) -> Result<Exit, Error> {
    let from_pipe = wanted.ids.is_empty();
    if from_pipe && stdin().is_terminal() {
        return Err(Error::usage(format!("say which tasks, or pipe the lines of {} into it; see --help", command("watch"))));
    }
    let request = wanted.member.unwrap_or(if wanted.force { Request::Forced } else { Request::Named });
    let items = if from_pipe { Items::read(stdin().lock())? } else { Items::named(&wanted.ids, request) };
    let last_pass = LastPass::load(store);
    let observer = Observer::new(store, &last_pass);
    let mut teller = Teller::new(wanted, &last_pass);
    let mut reported = if from_pipe && !wanted.dry_run { outbox::take(store) } else { Vec::new() };
    for line in reported.iter().flat_map(|taken| taken.lines.clone()).chain(items.passed_on) {
        teller.tell(line);
    }
    if teller.has_delivered() {
        reported.drain(..).for_each(Taken::done);
    }
    if items.bad {
        teller.note(Exit::BadData);
    }
    let mut stopped = None;
    if wanted.dry_run {
        for item in &items.tasks {
            match dry_run::foresee(store, &observer, item) {
                Ok(line) => teller.tell(line),
                Err(error) => teller.fail(&item.id, &error),
            }
        }
    } else if !items.tasks.is_empty() {
        stopped = bring_back(store, wanted, &items.tasks, &mut teller)?;
    }
    teller.finish()?;
    if teller.has_delivered() {
        reported.into_iter().for_each(Taken::done);
    }
    if from_pipe && !wanted.dry_run && stopped.is_none() {
        stamp(store, &observer, &teller)?;
    }
    let attention = wanted.exit_status && teller.needs_person;
    Ok(stopped.map(Exit::Signal).or(teller.failed()).unwrap_or(if attention { Exit::NeedsPerson } else { Exit::Done }))
}

fn bring_back(store: &Store, wanted: &Wanted, tasks: &[Item], teller: &mut Teller<'_>) -> Result<Option<i32>, Error> {
    let mut signals = Signals::install()?;
    let budget = Budget::from_now(wanted.budget_seconds);
    let mut live = Live::new(store, wanted.timeout_seconds, wanted.member.is_some());
    match tasks {
        [item] if !wanted.detach => {
            let detached = Cell::new(None);
            let mut on_claim = |claimed: &Claimed| {
                if !wanted.detached || detached.get().is_some() {
                    return Ok(());
                }
                detached.set(Some(claimed.number));
                teller.tell(Line::new("started", item.id.as_str()).with("attempt", claimed.number));
                detach::let_go()
            };
            let lines = Turn { store, wanted, signals: &mut signals, live: &mut live, budget, on_claim: &mut on_claim }.take(item);
            match (lines, detached.get()) {
                (Ok(lines), Some(attempt)) => outbox::leave(store, item.id.as_str(), attempt, &lines)?,
                (Err(error), Some(attempt)) => outbox::leave(store, item.id.as_str(), attempt, &[failed_line(&item.id, &error)])?,
                (Ok(lines), None) => lines.into_iter().for_each(|line| teller.tell(line)),
                (Err(error), None) => teller.fail(&item.id, &error),
            }
        }
        _ => pool::run(store, wanted, tasks, &mut signals, teller, budget, &mut live),
    }
    Ok(signals.first())
}

/// Remembers the clocks, and what people were told as long as it stays so.
fn stamp(store: &Store, observer: &Observer, teller: &Teller<'_>) -> Result<(), Error> {
    if !store.folder().is_dir() {
        return Ok(());
    }
    let looked_at: BTreeSet<&str> = teller.told.iter().map(|(task, ..)| task.as_str()).collect();
    let clocks = if store.clock().is_replaced() { None } else { Clocks::read() };
    LastPass::save(store, clocks, |last| {
        let elsewhere = last.iter().filter(|(task, ..)| !looked_at.contains(task.as_str()));
        let still = elsewhere.filter(|told| is_still_so(store, observer, told));
        let told = teller.told.iter().filter(|told| teller.was_heard() || last.contains(*told));
        still.chain(told).cloned().collect()
    })
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
        Err(shared::store::LoadError::Ours(_)) => true,
    }
}
