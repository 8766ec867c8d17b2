//! Gathers what the verdict needs beside the card: looks at locks, files and other cards, and
//! only at those that can matter for this card.

use std::collections::BTreeSet;
use std::io;

use crate::adapter::{self, Usability};
use crate::attempt::Cookie;
use crate::card::{Card, Run, Status};
use crate::id::TaskId;
use crate::last_pass::{Clocks, LastPass, Sleep};
use crate::liveness::{Logs, logged_attempts};
use crate::processes;
use crate::store::{LoadError, Store};
use crate::time::Timestamp;
use crate::verdict::{self, Dependencies, Facts, Request, Standing, Verdict};

/// Dependencies of dependencies are followed over this many tasks in all.
const LINKS_MAX: usize = 10_000;
/// Superseded attempts that are asked for signs of life.
pub const FORERUNNERS_MAX: usize = 1000;
/// And this far in a circle's search.
const DEPTH_MAX: usize = 1000;

/// What is the same for all cards of a pass.
#[derive(Clone, Debug)]
pub struct Observer {
    host: String,
    sleep: Sleep,
}

impl Observer {
    /// Looks at the machine and at what the last pass left.
    #[must_use]
    pub fn new(store: &Store, last_pass: &LastPass) -> Self {
        let clocks = if store.clock().is_replaced() { None } else { Clocks::read() };
        Self { host: host_name(), sleep: last_pass.sleep(clocks.as_ref()) }
    }

    /// This machine's name.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Looks and judges.
    #[must_use]
    pub fn judge(&self, store: &Store, card: &Card, request: Request, now: Timestamp) -> (Verdict, Facts) {
        let mut facts = self.liveness(store, card);
        match verdict::standing(card, &facts, request, now) {
            Standing::Decided(verdict) => (verdict, facts),
            Standing::Due(_) | Standing::Startable => {
                facts.adapter = adapter::usability(card, store.workspace());
                facts.dependencies = dependencies(store, card);
                (verdict::judge(card, &facts, request, now), facts)
            }
        }
    }

    fn liveness(&self, store: &Store, card: &Card) -> Facts {
        let mut facts = Facts {
            host: self.host.clone(),
            supervisor_alive: false,
            attempt_alive: false,
            forerunner_alive: false,
            last_output: None,
            awake_since: self.sleep.awake_since,
            asleep_seconds: self.sleep.asleep_seconds,
            adapter: Usability::Usable,
            dependencies: Dependencies::default(),
        };
        if let Some(run) = &card.run {
            let logs = Logs::new(store.logs_folder(card.task_id()), run.attempt);
            facts.supervisor_alive = logs.supervisor_alive();
            facts.attempt_alive = logs.attempt_alive() || (!facts.supervisor_alive && carries_on(card.task_id(), run));
            facts.last_output = logs.last_output();
            if let (Status::Cancelled, Some(first)) = (card.status, run.forerunners_from) {
                let folder = store.logs_folder(card.task_id());
                let mut forerunners = (first..run.attempt).rev().take(FORERUNNERS_MAX);
                facts.forerunner_alive = forerunners.any(|number| Logs::new(folder.clone(), number).attempt_alive());
            }
        }
        facts
    }
}

/// Whether a process of an unsettled attempt lives that gave its output away: it carries the attempt's cookie. After a settled
/// exit 0 that is its own business.
fn carries_on(task_id: &str, run: &Run) -> bool {
    let is_its = |cookie: &Cookie| cookie.task_id == task_id && cookie.attempt == run.attempt && cookie.token == run.token;
    !run.background && processes::any_carrier(&is_its)
}

/// Whether anything of the task's attempts lives: a supervisor, a process, also in the background. A finished card records no run,
/// so all logs are asked.
///
/// # Errors
/// When that cannot be told.
pub fn any_alive(store: &Store, card: &Card) -> io::Result<bool> {
    let folder = store.logs_folder(card.task_id());
    for attempt in logged_attempts(&folder)? {
        if Logs::new(folder.clone(), attempt).any_alive()? {
            return Ok(true);
        }
    }
    Ok(card.run.as_ref().is_some_and(|run| carries_on(card.task_id(), run)))
}

/// This machine's name, as it is recorded with an attempt.
#[must_use]
pub fn host_name() -> String {
    nix::unistd::gethostname().map_or_else(|_| "unknown".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Those that are not completed. A pending one is looked behind: what it waits for in vain, its own dependents wait for in vain.
fn dependencies(store: &Store, card: &Card) -> Dependencies {
    let mut found = Dependencies::default();
    let mut seen = BTreeSet::from([card.task_id().to_owned()]);
    let mut waiting: Vec<String> = card.depends_on().to_vec();
    while let Some(name) = waiting.pop() {
        let Ok(id) = name.parse::<TaskId>() else { continue };
        if !seen.insert(name.clone()) {
            continue;
        }
        let direct = card.depends_on().contains(&name);
        // A completed one may have been filed away since.
        match store.find(&id).map(|found| found.card) {
            Ok(other) if other.status == Status::Completed => {}
            Ok(other) if other.status.is_terminal() => found.failed.push((name, other.status)),
            Err(LoadError::Missing) => found.missing.push(name),
            Ok(other) => {
                if other.status == Status::Pending && seen.len() < LINKS_MAX {
                    waiting.extend_from_slice(other.depends_on());
                }
                if direct {
                    found.unfinished.push(name);
                }
            }
            Err(LoadError::Bad(_) | LoadError::Ours(_)) if direct => found.unfinished.push(name),
            Err(LoadError::Bad(_) | LoadError::Ours(_)) => {}
        }
    }
    found.unfinished.sort();
    found
}

/// The tasks of a circle of dependencies that this card stands in or waits for, the first one twice.
#[must_use]
pub fn cycle(store: &Store, card: &Card) -> Option<Vec<String>> {
    let mut path = vec![card.task_id().to_owned()];
    let mut done = BTreeSet::new();
    follow(store, card.depends_on(), &mut path, &mut done)
}

fn follow(store: &Store, names: &[String], path: &mut Vec<String>, done: &mut BTreeSet<String>) -> Option<Vec<String>> {
    for name in names {
        if let Some(start) = path.iter().position(|seen| seen == name) {
            return Some(path[start..].iter().cloned().chain([name.clone()]).collect());
        }
        if !done.insert(name.clone()) || done.len() > LINKS_MAX || path.len() > DEPTH_MAX {
            continue;
        }
        let Some((_, other)) = name.parse().ok().and_then(|id| store.load(&id).ok()) else { continue };
        if !other.status.is_terminal() {
            path.push(name.clone());
            let found = follow(store, other.depends_on(), path, done);
            path.pop();
            if found.is_some() {
                return found;
            }
        }
    }
    None
}
