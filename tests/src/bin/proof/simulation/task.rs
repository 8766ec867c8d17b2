//! A task: its card, the processes that live for it, and what is true of it.
//!
//! Processes are modelled as the product can see them: who holds an attempt's log, who carries its
//! cookie, who obeys which signal. What is *true* (when work was last done, which attempts brought
//! nothing) is kept by the world alone and never shown to a decision.

use std::rc::Rc;

use resume::limits::{Limits, Watched};
use resume::step::{Ending, State};
use shared::adapter::Usability;
use shared::answer::Answer;
use shared::card::{Card, Status};
use shared::document::Document;
use shared::time::Timestamp;
use shared::verdict::Facts;

use super::machine::{Machine, Moment};

/// What a process does about signals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Obeys {
    /// Ends this long after TERM.
    Term(i64),
    /// Ends at KILL only.
    Kill,
    /// Hangs in the kernel.
    Nothing,
}

#[derive(Clone, Debug)]
pub(super) struct Process {
    pub(super) key: u64,
    pub(super) number: u64,
    pub(super) token: String,
    pub(super) holds_lock: bool,
    pub(super) carries_cookie: bool,
    pub(super) obeys: Obeys,
    /// Of an attempt that was settled with exit 0: without a lock it is nobody's business any more.
    pub(super) settled: bool,
    /// For the leader, which was written down when it was started.
    pub(super) work: Option<Work>,
}

impl Process {
    /// What says that its attempt lives, whoever asks: its lock, or that it is the one that was started.
    pub(super) fn shows(&self, leaders_are_known: bool) -> bool {
        self.holds_lock || (leaders_are_known && self.work.is_some())
    }
}

/// What an attempt does until its end.
#[derive(Clone, Debug)]
pub(super) struct Work {
    pub(super) acts: i64,
    pub(super) pause: i64,
    pub(super) end: End,
    /// Its last sign of life.
    pub(super) active: Moment,
}

#[derive(Clone, Debug)]
pub(super) enum End {
    /// Exit status, answer, and whether that tells of something new.
    Exits(i32, Option<Box<Answer>>, bool),
    Killed(i32),
    Hangs,
    Floods,
    /// And exits 0 at once, or waits there.
    EntersManualPhase(bool),
    /// Writes this status itself, then exits 0.
    Decides(Status),
    /// Wakes an agent that goes on.
    HandsOver,
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exits(code, None, _) => write!(f, "exits {code}"),
            Self::Exits(code, Some(answer), is_new) => {
                let (status, again, wait) = (answer.status, answer.again, answer.retry_after_seconds);
                write!(f, "exits {code} (status {status:?}, again {again}, new {is_new}, retry after {wait:?})")
            }
            other => write!(f, "{other:?}"),
        }
    }
}

/// What a supervisor is about to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stage {
    /// End what is left of forerunners: first TERM, then KILL, then give up.
    Contain(u8),
    Watch,
    Settle,
}

/// When a supervisor is killed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Crash {
    Never,
    BeforeWrite,
    AfterWrite,
    BeforeSpawn,
    Meanwhile(i64),
    BeforeSettle,
}

#[derive(Debug)]
pub(super) struct Supervisor {
    pub(super) key: u64,
    pub(super) pass: Option<u64>,
    pub(super) number: u64,
    pub(super) token: String,
    pub(super) given: Rc<Document>,
    pub(super) card: Rc<Card>,
    pub(super) first_start: bool,
    /// Over all attempts that follow each other at once.
    pub(super) first_of_chain: bool,
    pub(super) forerunners_from: Option<u64>,
    pub(super) crash: Crash,
    pub(super) stage: Stage,
    pub(super) state: State,
    pub(super) limits: Limits,
    pub(super) watched: Watched,
    pub(super) looked_at: i64,
    pub(super) next_look: i64,
    pub(super) seen_revision: u64,
    pub(super) spawned_at: i64,
    pub(super) stopped_since: Option<i64>,
    pub(super) stopped: i64,
    /// A signal asks it to stop.
    pub(super) stop: Option<i32>,
    /// So often did one.
    pub(super) asked: u32,
    /// When it asked the attempt to end, and what that had printed by then.
    pub(super) terminated: Option<(i64, u64)>,
    pub(super) bytes: u64,
    pub(super) leader: Option<Ending>,
    pub(super) answer: Option<Answer>,
    pub(super) answer_is_new: bool,
    pub(super) why: Option<Ending>,
    pub(super) left: Option<String>,
}

/// The work of somebody whom no supervisor knows: it only shows in checkpoints.
#[derive(Clone, Copy, Debug)]
pub(super) struct Agent {
    pub(super) key: u64,
    pub(super) acts: i64,
    pub(super) active: Moment,
}

/// What is true, whatever the card says.
#[derive(Debug)]
pub(super) struct Truth {
    /// Charged attempts without progress in a row, and those that did not end well.
    pub(super) retries: u64,
    pub(super) failures: u64,
    /// Something new was recorded since the newest claim.
    pub(super) progressed: bool,
    /// The last sign of life that the card knows.
    pub(super) signed: Moment,
    /// Names something new.
    pub(super) novelties: u64,
}

#[derive(Debug)]
pub(super) struct Task {
    pub(super) key: u64,
    pub(super) id: String,
    pub(super) document: Rc<Document>,
    pub(super) card: Rc<Card>,
    pub(super) made_at: i64,
    pub(super) newest_log: Option<u64>,
    /// The newest attempt that printed, and when.
    pub(super) printed: (u64, Timestamp, Moment),
    pub(super) processes: Vec<Process>,
    pub(super) supervisor: Option<Supervisor>,
    pub(super) agent: Option<Agent>,
    /// Somebody took its adapter away until then.
    pub(super) adapter_gone_until: i64,
    /// The last pass said that a person is needed.
    pub(super) asks_person: bool,
    pub(super) truth: Truth,
}

impl Task {
    pub(super) fn stale_ms(&self) -> i64 {
        shared::time::ms(self.card.stale_after_minutes() * 60.0)
    }

    /// What `Observer` would find, but for the machine's sleep, which it knows from the start.
    pub(super) fn facts(&self, machine: &Machine, leaders_are_known: bool, facts: &mut Facts) {
        facts.adapter =
            if self.adapter_gone_until > machine.now { Usability::Missing("gone".to_owned()) } else { Usability::Usable };
        (facts.supervisor_alive, facts.attempt_alive, facts.forerunner_alive, facts.last_output) = (false, false, false, None);
        let Some(run) = &self.card.run else { return };
        facts.supervisor_alive = self.supervisor.as_ref().is_some_and(|supervisor| supervisor.number == run.attempt);
        let by_cookie = !facts.supervisor_alive && !run.background;
        facts.attempt_alive = self.processes.iter().any(|process| {
            process.number == run.attempt
                && (process.shows(leaders_are_known) || (by_cookie && process.carries_cookie && process.token == run.token))
        });
        facts.last_output = (self.printed.0 == run.attempt).then_some(self.printed.1);
        if let (Status::Cancelled, Some(first)) = (self.card.status, run.forerunners_from) {
            facts.forerunner_alive = self
                .processes
                .iter()
                .any(|process| process.shows(leaders_are_known) && (first..run.attempt).contains(&process.number));
        }
    }

    /// Whose end must be seen to before another attempt may start: what holds a log of an attempt, was started as one, or
    /// carries the cookie of one that was not settled with exit 0.
    pub(super) fn forerunners(&self, number: u64) -> impl Iterator<Item = &Process> {
        self.processes.iter().filter(move |process| {
            process.number != number && (process.shows(true) || (process.carries_cookie && !process.settled))
        })
    }
}
