//! The decisions under test: the product's, and broken ones that the invariants must catch.

use resume::record::{NewAttempt, Recorded, may_start, record};
use resume::settle::{Ended, Settled, settle};
use resume::step::{Act, Ending, News, State, step};
use shared::attempt::{Cookie, Writer, fence_by};
use shared::card::Card;
use shared::document::Document;
use shared::exit::Error;
use shared::time::Timestamp;
use shared::verdict::{Facts, Quiet, Request, Verdict, judge};

pub(super) type Judge = fn(&Card, &Facts, Request, Timestamp) -> Verdict;

#[derive(Clone, Copy)]
pub(super) struct Deciders {
    /// `watch`'s verdict, and that of the claim.
    pub(super) watch: Judge,
    pub(super) claim: Judge,
    pub(super) record: fn(&mut Document, &Card, &NewAttempt<'_>) -> Result<Recorded, Error>,
    pub(super) step: fn(State, &News, f64) -> (State, Act),
    pub(super) settle: fn(&mut Document, &Card, &Ended<'_>, Timestamp) -> Result<Settled, Error>,
    pub(super) fence: fn(&Card, &Cookie) -> Result<Writer, Error>,
    /// The last look at the card before a start.
    pub(super) may_start: fn(&Card, u64, &str) -> bool,
    /// Whether the process that was started is written down.
    pub(super) knows_leaders: bool,
    /// Whether it is asked anew, before each claim, how the machine slept.
    pub(super) looks_again: bool,
}

pub(super) const PRODUCT: Deciders = Deciders {
    watch: judge,
    claim: judge,
    record,
    step,
    settle,
    fence: |card, cookie| fence_by(card, Some(cookie), || true),
    may_start,
    knows_leaders: true,
    looks_again: true,
};

/// A name, what is broken, and the invariants of which one must say so.
pub(super) struct Broken {
    pub(super) name: &'static str,
    pub(super) deciders: Deciders,
    pub(super) caught_by: &'static [&'static str],
}

pub(super) const BROKEN: &[Broken] = &[
    Broken {
        name: "settle forgets the charge",
        deciders: Deciders { settle: forget_charge, ..PRODUCT },
        caught_by: &["limit_passed", "exhausted_unreported"],
    },
    Broken {
        name: "settle revives a finished task",
        deciders: Deciders { settle: revive, ..PRODUCT },
        caught_by: &["finished_changed"],
    },
    Broken {
        name: "settle asks for no cooldown",
        deciders: Deciders { settle: no_cooldown, ..PRODUCT },
        caught_by: &["too_early"],
    },
    Broken {
        name: "the verdict ignores the supervisor's lock",
        deciders: Deciders { watch: deaf_to_locks, claim: deaf_to_locks, ..PRODUCT },
        caught_by: &["two_at_once"],
    },
    Broken {
        name: "the verdict ignores the attempt's locks",
        deciders: Deciders { watch: deaf_to_attempts, claim: deaf_to_attempts, ..PRODUCT },
        caught_by: &["healthy_stopped"],
    },
    Broken {
        name: "the verdict forgets that the machine slept",
        deciders: Deciders { watch: sleepless, claim: sleepless, ..PRODUCT },
        caught_by: &["healthy_stopped"],
    },
    Broken {
        name: "a resume that waits knows only how the machine slept before",
        deciders: Deciders { looks_again: false, ..PRODUCT },
        caught_by: &["healthy_stopped"],
    },
    Broken {
        name: "the verdict never reports exhausted tasks",
        deciders: Deciders { watch: discreet, ..PRODUCT },
        caught_by: &["exhausted_unreported"],
    },
    Broken {
        name: "the verdict takes silence for health",
        deciders: Deciders { watch: patient, ..PRODUCT },
        caught_by: &["silence_unreported"],
    },
    Broken { name: "the claim ignores not_before", deciders: Deciders { claim: hasty, ..PRODUCT }, caught_by: &["too_early"] },
    Broken {
        name: "the claim forgets the forerunners",
        deciders: Deciders { record: forget_forerunners, ..PRODUCT },
        caught_by: &["two_at_once"],
    },
    Broken {
        name: "the supervisor forgets to kill",
        deciders: Deciders { step: never_kill, ..PRODUCT },
        caught_by: &["left_behind"],
    },
    Broken {
        name: "the first signal in a grace kills",
        deciders: Deciders { step: kill_at_first_signal, ..PRODUCT },
        caught_by: &["killed_early"],
    },
    Broken {
        name: "nobody looks at the card before a start",
        deciders: Deciders { may_start: |_, _, _| true, ..PRODUCT },
        caught_by: &["started_overtaken"],
    },
    Broken {
        name: "nobody writes down which process was started",
        deciders: Deciders { knows_leaders: false, ..PRODUCT },
        caught_by: &["two_at_once"],
    },
    Broken {
        name: "settle lets a task run on in a manual phase",
        deciders: Deciders { settle: run_on, ..PRODUCT },
        caught_by: &["manual_running"],
    },
    Broken {
        name: "the fence lets superseded attempts write",
        deciders: Deciders { fence: |_, _| Ok(Writer::Fenced), ..PRODUCT },
        caught_by: &["superseded_wrote"],
    },
];

fn forget_charge(document: &mut Document, card: &Card, ended: &Ended<'_>, now: Timestamp) -> Result<Settled, Error> {
    let settled = settle(document, card, ended, now)?;
    if !card.status.is_terminal() {
        document.set("retry_count", document.count("retry_count").min(card.retry_count.saturating_sub(1)));
        document.set("failures", document.count("failures").min(card.failures.saturating_sub(1)));
    }
    Ok(settled)
}

fn revive(document: &mut Document, card: &Card, ended: &Ended<'_>, now: Timestamp) -> Result<Settled, Error> {
    let mut settled = settle(document, card, ended, now)?;
    if card.status.is_terminal() {
        document.set("status", "stalled");
        settled.changed = true;
    }
    Ok(settled)
}

fn no_cooldown(document: &mut Document, card: &Card, ended: &Ended<'_>, now: Timestamp) -> Result<Settled, Error> {
    let settled = settle(document, card, ended, now)?;
    if settled.changed {
        document.remove("not_before");
    }
    Ok(settled)
}

fn deaf_to_locks(card: &Card, facts: &Facts, request: Request, now: Timestamp) -> Verdict {
    judge(card, &Facts { supervisor_alive: false, attempt_alive: false, ..facts.clone() }, request, now)
}

fn deaf_to_attempts(card: &Card, facts: &Facts, request: Request, now: Timestamp) -> Verdict {
    judge(card, &Facts { attempt_alive: false, ..facts.clone() }, request, now)
}

fn sleepless(card: &Card, facts: &Facts, request: Request, now: Timestamp) -> Verdict {
    judge(card, &Facts { awake_since: None, asleep_seconds: 0.0, ..facts.clone() }, request, now)
}

fn discreet(card: &Card, facts: &Facts, request: Request, now: Timestamp) -> Verdict {
    match judge(card, facts, request, now) {
        Verdict::Attention(attention) if attention.reason.ends_with("_exhausted") => {
            Verdict::Quiet(Quiet { reason: "healthy", until: None })
        }
        other => other,
    }
}

fn patient(card: &Card, facts: &Facts, request: Request, now: Timestamp) -> Verdict {
    match judge(card, facts, request, now) {
        Verdict::Alert(due) if due.reason == "silent" => Verdict::Quiet(Quiet { reason: "healthy", until: None }),
        other => other,
    }
}

fn hasty(card: &Card, facts: &Facts, request: Request, now: Timestamp) -> Verdict {
    let mut card = card.clone();
    card.not_before = None;
    judge(&card, facts, request, now)
}

fn forget_forerunners(document: &mut Document, card: &Card, attempt: &NewAttempt<'_>) -> Result<Recorded, Error> {
    let mut card = card.clone();
    card.run = None;
    record(document, &card, attempt)
}

fn run_on(document: &mut Document, card: &Card, ended: &Ended<'_>, now: Timestamp) -> Result<Settled, Error> {
    let settled = settle(document, card, ended, now)?;
    if settled.kind == "stopped" && ended.why == Ending::Exited(0) && document.text("status") == "stalled" {
        document.set("status", "running");
    }
    Ok(settled)
}

fn kill_at_first_signal(state: State, news: &News, grace_seconds: f64) -> (State, Act) {
    match state {
        State::Terminating { why, kill_at, .. } => step(State::Terminating { why, kill_at, asked: true }, news, grace_seconds),
        other => step(other, news, grace_seconds),
    }
}

fn never_kill(state: State, news: &News, grace_seconds: f64) -> (State, Act) {
    match step(state, news, grace_seconds) {
        (State::Killing { why, .. }, Act::Kill) => (State::Done { why, contained: true }, Act::Nothing),
        other => other,
    }
}
