//! One task's turn: claim, supervise, settle, and again while the adapter asks for it.

use std::time::{Duration, Instant};

use shared::card::Card;
use shared::exit::{Error, Exit};
use shared::facts::{FORERUNNERS_MAX, Observer};
use shared::history::Event;
use shared::last_pass::LastPass;
use shared::liveness::Logs;
use shared::signal::Line;
use shared::store::{LoadError, Store};
use shared::talk::say;
use shared::verdict::Request;

use crate::answer;
use crate::args::Wanted;
use crate::budget::Budget;
use crate::claim::{Claim, Claimed, claim};
use crate::contain::{LOOK, Target};
use crate::items::Item;
use crate::limits::Limits;
use crate::live::Live;
use crate::record::{forget_contained, is_newest};
use crate::settle::{Ended, Settled, not_contained, not_contained_line, settle};
use crate::signals::Signals;
use crate::supervise::{End, supervise};

/// The longest stderr that a card keeps, in bytes.
const STDERR_TAIL_BYTES: u64 = 4096;
/// What a shell started in the background has redirected its output by then.
const REDIRECTION: Duration = Duration::from_millis(300);
/// Attempts at settling when another process holds the card's lock.
const SETTLE_TRIES: usize = 3;

/// Everything that a task's turn needs.
pub(crate) struct Turn<'a> {
    pub(crate) store: &'a Store,
    pub(crate) wanted: &'a Wanted,
    pub(crate) signals: &'a mut Signals,
    pub(crate) live: &'a mut Live<'a>,
    /// The pass's time.
    pub(crate) budget: Budget,
    /// Told of each claim.
    pub(crate) on_claim: &'a mut dyn FnMut(&Claimed) -> Result<(), Error>,
}

impl Turn<'_> {
    /// Brings a task back. Returns what is to be said about it.
    pub(crate) fn take(&mut self, item: &Item) -> Result<Vec<Line>, Error> {
        let mut lines: Vec<Line> = Vec::new();
        let mut request = item.request;
        let mut first: Option<Line> = None;
        let mut first_start = None;
        loop {
            if self.budget.is_over(self.signals) {
                lines.extend(first.or_else(|| Some(Line::new("skipped", item.id.as_str()).with("reason", "budget"))));
                return Ok(lines);
            }
            let mut claimed = match self.claim_or_wait(item, request)? {
                Claim::Ours(claimed) => claimed,
                Claim::Contain(card) => {
                    lines.push(self.contain(&card)?);
                    return Ok(lines);
                }
                Claim::NotNow { line, explanation, .. } => {
                    explanation.iter().for_each(|text| say(text));
                    lines.extend(first);
                    lines.push(line);
                    return Ok(lines);
                }
            };
            let limits = Limits {
                timeout_seconds: self.wanted.timeout_seconds.unwrap_or_else(|| claimed.card.timeout_seconds()),
                grace_seconds: self.wanted.grace_seconds,
                output_max: self.wanted.output_limit,
            };
            (self.on_claim)(&claimed)?;
            let end = supervise(self.store, &mut claimed, limits, self.budget, self.signals, self.live);
            let settled = self.settle(&claimed, end, *first_start.get_or_insert(claimed.first_start))?;
            let line = match first.take() {
                Some(first) => joined(first, settled.line, &mut lines),
                None => settled.line,
            };
            if !settled.again || self.signals.first().is_some() {
                lines.push(line);
                return Ok(lines);
            }
            first = Some(line);
            request = Request::Continued;
        }
    }

    /// Claims, waiting for a task that will be due soon if that was asked for, and if the pass's time reaches that far.
    fn claim_or_wait(&mut self, item: &Item, request: Request) -> Result<Claim, Error> {
        let mut start = Instant::now();
        loop {
            // The machine may have slept since this program began: that is no silence.
            let observer = Observer::new(self.store, &LastPass::load(self.store));
            let answer = claim(self.store, &observer, &item.id, request)?;
            let Claim::NotNow { line, until: Some(until), explanation } = answer else { return Ok(answer) };
            let not_now = |line| Ok(Claim::NotNow { line, until: Some(until), explanation });
            let ahead = until.seconds_since(self.store.clock().now()).max(0.0);
            let left = self.wanted.wait_seconds - start.elapsed().as_secs_f64();
            if ahead > left || self.signals.first().is_some() {
                return not_now(line);
            }
            if self.budget.left(self.signals).is_some_and(|left| left.as_secs_f64() <= ahead) {
                return not_now(line.with("reason", "budget"));
            }
            let wait = Duration::from_secs_f64(ahead.clamp(0.01, 1.0));
            if !self.signals.wait(&[], wait).is_empty() {
                return not_now(line);
            }
            if self.signals.take_suspension() {
                start += self.signals.suspend();
            }
        }
    }

    /// `first_start`: this attempt, or the one that it continues at once, was the task's first.
    fn settle(&self, claimed: &Claimed, end: End, first_start: bool) -> Result<Settled, Error> {
        let stderr = answer::tail(&claimed.logs.err(), STDERR_TAIL_BYTES);
        let ended = Ended {
            given: &claimed.given,
            number: claimed.number,
            first_start,
            answer: match claimed.card.is_plain_command() {
                true => Ok(None),
                false => answer::read(&claimed.logs.out(), self.store.workspace()),
            },
            why: end.why,
            output_held: still_held(&claimed.logs),
            left: end.left.as_deref().map(not_contained),
            stderr_tail: shared::document::cut(String::from_utf8_lossy(&stderr).trim()),
            stderr_log: claimed.logs.err().to_string_lossy().into_owned(),
        };
        let mut tries = 1;
        loop {
            match self.try_settle(claimed, &ended) {
                Err(error) if error.exit == Exit::Busy && tries < SETTLE_TRIES => tries += 1,
                result => return result,
            }
        }
    }

    fn try_settle(&self, claimed: &Claimed, ended: &Ended<'_>) -> Result<Settled, Error> {
        let id = &claimed.id;
        let gone = || {
            say(&format!("the card of {id} went away while attempt {} was running", claimed.number));
            Ok(superseded(claimed))
        };
        let held = match self.store.lock(id) {
            Err(error) if error.exit == Exit::NoTask => return gone(),
            held => held?,
        };
        let (mut document, card) = match held.load() {
            Ok(loaded) => loaded,
            Err(LoadError::Missing) => return gone(),
            Err(error) => return Err(error.about(id.as_str())),
        };
        if !is_newest(&card, claimed.number, &claimed.token) {
            let event = Event::new("superseded").with("by", "resume").with("attempt", claimed.number);
            held.note(card.revision, self.store.clock().stamp(), &[event]);
            return Ok(superseded(claimed));
        }
        let now = self.store.clock().stamp();
        let settled = settle(&mut document, &card, ended, now)?;
        let event = Event::new("settled").with("by", "resume").with("attempt", claimed.number).with("outcome", settled.kind);
        let event = event.with("from_phase", claimed.given.text("phase")).with("to_phase", document.text("phase"));
        if settled.changed {
            held.replace(document, event)?;
        } else {
            held.note(card.revision, now, &[event]);
        }
        Ok(settled)
    }

    /// Ends the attempt of a task that was cancelled when its supervisor was gone.
    fn contain(&mut self, card: &Card) -> Result<Line, Error> {
        let id = card.task_id();
        let task = id.parse().map_err(Error::data)?;
        let Some(run) = &card.run else { return Ok(Line::new("skipped", id).with("reason", "cancelled")) };
        let logs = |number| Logs::new(self.store.logs_folder(id), number);
        let first = run.forerunners_from.unwrap_or(run.attempt);
        let numbers = || (first..=run.attempt).rev().take(FORERUNNERS_MAX);
        let target = Target {
            group: None,
            task_id: id.to_owned(),
            token: run.token.clone(),
            first,
            last: run.attempt,
            logs: numbers().map(logs).collect(),
            descendants: None,
            led: Vec::new(),
        };
        let left = target.end(self.wanted.grace_seconds, self.signals);
        if !left.is_empty() || numbers().map(logs).any(|logs| logs.attempt_alive()) {
            return Ok(not_contained_line(card, &not_contained(&left)));
        }
        self.store.update(&task, |document, now_card, _| {
            Ok(forget_contained(document, now_card, run.attempt, &run.token)
                .then(|| Event::new("contained").with("by", "resume").with("attempt", run.attempt)))
        })?;
        Ok(Line::new("contained", id).with("attempt", run.attempt))
    }
}

/// Whether a process keeps the attempt's output. One that was just forked, and is about to redirect it, is given a moment.
fn still_held(logs: &Logs) -> bool {
    let start = Instant::now();
    while logs.is_held() {
        if start.elapsed() > REDIRECTION {
            return true;
        }
        std::thread::sleep(LOOK);
    }
    false
}

fn superseded(claimed: &Claimed) -> Settled {
    let line = Line::new("skipped", claimed.id.as_str()).with("reason", "superseded").with("attempt", claimed.number);
    Settled { changed: false, kind: "superseded", line, again: false }
}

/// Attempts that follow each other at once are told as one: from the first one's phase to the last one's. What went well before
/// one that did not is told before it.
fn joined(first: Line, last: Line, lines: &mut Vec<Line>) -> Line {
    if !matches!(last.text("signal"), "recovery" | "started") {
        lines.push(first);
        return last;
    }
    match first.0.get("from_phase") {
        Some(from) => last.with("from_phase", from.clone()),
        None => last,
    }
}
