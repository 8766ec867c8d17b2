//! Gathers what the verdict needs beside the card: looks at locks, files and other cards, and
//! only at those that can matter for this card.

use crate::adapter::{self, Usability};
use crate::card::{Card, Status};
use crate::id::TaskId;
use crate::last_pass::{Clocks, LastPass};
use crate::liveness::Logs;
use crate::store::{LoadError, Store};
use crate::time::Timestamp;
use crate::verdict::{self, Dependencies, Facts, Request, Standing, Verdict};

/// What is the same for all cards of a pass.
#[derive(Clone, Debug)]
pub struct Observer {
    host: String,
    awake_since: Option<Timestamp>,
}

impl Observer {
    /// Looks at the machine and at what the last pass left.
    #[must_use]
    pub fn new(store: &Store, last_pass: &LastPass) -> Self {
        let clocks = if store.clock().is_replaced() { None } else { Clocks::read() };
        Self { host: host_name(), awake_since: last_pass.awake_since(clocks.as_ref()) }
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
                facts.adapter = adapter::usability(card);
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
            last_output: None,
            awake_since: self.awake_since,
            adapter: Usability::Usable,
            dependencies: Dependencies::default(),
        };
        if let Some(run) = &card.run {
            let logs = Logs::new(store.logs_folder(card.task_id()), run.attempt);
            facts.supervisor_alive = logs.supervisor_alive();
            facts.attempt_alive = logs.attempt_alive();
            facts.last_output = logs.last_output();
        }
        facts
    }
}

/// This machine's name, as it is recorded with an attempt.
#[must_use]
pub fn host_name() -> String {
    nix::unistd::gethostname().map_or_else(|_| "unknown".to_owned(), |name| name.to_string_lossy().into_owned())
}

fn dependencies(store: &Store, card: &Card) -> Dependencies {
    let mut found = Dependencies::default();
    for name in card.depends_on() {
        let Ok(id) = name.parse::<TaskId>() else { continue };
        match store.load(&id).map(|(_, other)| other.status) {
            Ok(Status::Completed) => {}
            Ok(status @ (Status::Failed | Status::Cancelled)) => found.failed.push((name.clone(), status)),
            Ok(_) | Err(LoadError::Bad(_)) => found.unfinished.push(name.clone()),
            Err(LoadError::Missing) => found.missing.push(name.clone()),
        }
    }
    found
}
