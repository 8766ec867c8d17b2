//! From OpenClaw: runs of an agent that ended. A run that was interrupted makes the card of its session stalled, so that `resume`
//! continues it; one that was finished completes the card that an earlier one had made.
//!
//! For each run: find the session's cards → was it taken before? → decide what its end means
//! (`classify.rs`) → change the card (`edits.rs`), under its lock, where it is looked at again. What
//! is stalled, or needs a person, is printed: whatever reads that can bring it back. Reading the same
//! again changes nothing and prints the same, so the next pass of a cron job finds what the last
//! one had to leave for later.
//!
//! **The attempt and the run.** An attempt's adapter starts a run of its own and waits for it; both
//! ends arrive here, in either order. The attempt's settlement comes first: a record waits for it, for
//! a while. Then the run's end decides, because only it knows of tools and words: a run that
//! OpenClaw calls good may have ended with a failed tool. Each attempt counts once: `retry_count` was
//! charged by the claim, and is only brought back up when an adapter took a good status for
//! progress (`memory.rs`, `resumes`). An adapter may tell its own run from within its attempt: that is
//! noted, and taken up when the run is told once more after the settlement.

use std::fs::File;
use std::io::{BufRead, BufReader, stdin};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use shared::attempt::Cookie;
use shared::card::{Card, Status};
use shared::cli::Output;
use shared::document::Document;
use shared::edit::edit;
use shared::exit::{Error, Exit, cause};
use shared::history::Event;
use shared::id::TaskId;
use shared::liveness::Logs;
use shared::policy::Policy;
use shared::store::Store;
use shared::stream::{Record, Records};
use shared::talk::say;
use shared::time::Timestamp;

mod cards;
mod classify;
mod edits;
mod errors;
mod lists;
mod memory;
mod phrases;
mod record;
mod reset;

use cards::{Cards, Found, new_card};
use classify::{Class, Reason, Why, classify};
use edits::Interruption;
use memory::Memory;
use phrases::Phrases;
use record::Run;

/// An attempt that waits for the run is settled within this time of the run's end, or is at work on something else.
const SETTLE_PATIENCE: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(50);
/// What ended longer ago gets no new card: nobody waits for it any more.
const NEW_CARD_AGE_SECONDS_MAX: f64 = 86_400.0;
/// A list of sessions is believed about what ended this long ago: whoever saw the run itself knows more, and comes first.
const SESSION_AGE_SECONDS_MIN: f64 = 10.0;
/// Cards may move while they are looked at; they do not for ever.
const TRIES: usize = 100;

/// Where the runs are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// One JSON record a run.
    Runs,
    /// What `openclaw sessions --json` prints.
    Sessions,
}

/// What the command line says beside the source.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Options {
    pub(crate) policy: Policy,
    pub(crate) intent_phrases: Vec<String>,
}

/// Takes all runs, and prints the cards that are to be looked at.
pub(super) fn import(store: &Store, told: From, from: Option<&Path>, options: &Options) -> Result<Exit, Error> {
    let input: Box<dyn BufRead> = match from {
        None => Box::new(stdin().lock()),
        Some(path) if path == Path::new("-") => Box::new(stdin().lock()),
        Some(path) => {
            let file = File::open(path);
            Box::new(BufReader::new(file.map_err(|error| Error::io(format!("cannot read {}: {}", path.display(), cause(&error))))?))
        }
    };
    let phrases = Phrases { own: options.intent_phrases.clone() };
    let mut import = Import { store, told, policy: &options.policy, phrases, output: Output::new(), exit: Exit::Done };
    for record in Records::new(input) {
        match record.map_err(|error| Error::io(format!("cannot read the runs: {}", cause(&error))))? {
            Record::Json(value) => import.value(value)?,
            Record::Word(word) => import.refuse(&format!("the runs have {word:?}, which is no JSON record; it is skipped")),
            Record::Bad(line, why) => import.refuse(&format!("line {line} of the runs is skipped: {why}")),
        }
    }
    import.output.finish()?;
    Ok(import.exit)
}

struct Import<'a> {
    store: &'a Store,
    told: From,
    policy: &'a Policy,
    phrases: Phrases,
    output: Output,
    exit: Exit,
}

impl Import<'_> {
    fn value(&mut self, value: Value) -> Result<(), Error> {
        match value {
            Value::Array(values) => values.into_iter().try_for_each(|value| self.value(value)),
            Value::Object(mut object) => match (self.told, object.shift_remove("sessions")) {
                (From::Sessions, Some(Value::Array(sessions))) => sessions.into_iter().try_for_each(|session| self.value(session)),
                _ => self.object(&object),
            },
            other => {
                self.refuse(&format!("the runs have {other}, which is no record of a run; it is skipped"));
                Ok(())
            }
        }
    }

    /// One run. That one cannot be taken hides no other.
    fn object(&mut self, object: &Map<String, Value>) -> Result<(), Error> {
        let run = match self.told {
            From::Runs => Run::of_record(object),
            From::Sessions => Run::of_session(object),
        };
        let run = match run {
            Ok(run) => run,
            Err(why) => {
                self.refuse(&format!("a run is skipped: {why}"));
                return Ok(());
            }
        };
        match self.take(&run) {
            Ok(Some(card)) => self.output.json_line(&Value::Object(card.object().clone())),
            Ok(None) => Ok(()),
            Err(error) if error.exit == Exit::Io => Err(error),
            Err(error) => {
                say(&format!("the run of {} is not taken: {}", run.session(), error.message));
                self.exit = error.exit;
                Ok(())
            }
        }
    }

    fn refuse(&mut self, why: &str) {
        say(why);
        self.exit = Exit::BadData;
    }

    /// The card that is to be looked at, if there is one.
    fn take(&self, run: &Run) -> Result<Option<Document>, Error> {
        if matches!(classify(run, &self.phrases, false), Class::Ignore(Why::Running | Why::OpenClaws)) {
            return Ok(None);
        }
        let now = self.store.clock().now();
        let ended_at = run.ended_at.map_or(now, |at| at.min(now));
        let end = End { run, ended_at, age_seconds: now.seconds_since(ended_at) };
        let mut tried = 0;
        for _ in 0..TRIES {
            let cards = Cards::find(self.store, run)?;
            if cards.of_session.iter().any(|found| Memory::of(&found.document).knows(run)) {
                return Ok(cards.open().map(|found| self.look_again(found, run)).transpose()?.filter(to_be_looked_at));
            }
            // The next pass sees what comes of it: a list of sessions is read again.
            let early = end.age_seconds < SESSION_AGE_SECONDS_MIN || cards.all_open().any(|found| self.is_alive(&found.card));
            if self.told == From::Sessions && early {
                return Ok(None);
            }
            match self.decide(&cards, &end, tried)? {
                Taken::Done(card) => return Ok(card.filter(to_be_looked_at)),
                Taken::Moved => {}
                Taken::NoFreeId => tried += 1,
            }
        }
        Err(Error::new(Exit::Busy, "its cards change all the time; try again".to_owned()))
    }

    fn decide(&self, cards: &Cards, end: &End<'_>, tried: usize) -> Result<Taken, Error> {
        let run = end.run;
        // Somebody went on with the session since: that is another story.
        let taken_over = cards.all_open().any(|found| is_of_later(found, end.ended_at));
        let open = cards.open().filter(|_| !taken_over);
        let by_runs = || cards.all_open().filter(|found| Memory::of(&found.document).is_made_by_import());
        match (classify(run, &self.phrases, open.is_some()), open) {
            (Class::Interrupted(reason), Some(found)) => {
                let card = self.interrupt(found, end, reason)?;
                return Ok(card.map_or(Taken::Moved, |card| Taken::Done(Some(card))));
            }
            (Class::Interrupted(reason), None) => {
                let too_old = end.age_seconds > NEW_CARD_AGE_SECONDS_MAX;
                if reason != Reason::NonAction && !too_old && !taken_over {
                    return self.make(&cards.free_id(run, tried)?, end, reason);
                }
            }
            (Class::Finished, _) => {
                let concerned = cards.all_open().filter(|found| !is_of_later(found, end.ended_at) && !is_of_nobody(found, run));
                for found in concerned {
                    self.wait_until_settled(found);
                    self.change(&found.id, run, "finished", |card, _| edits::finish(card, run, end.ended_at))?;
                }
            }
            (Class::Ignore(why @ (Why::Killed | Why::Unsure)), _) => {
                let stopped = why == Why::Killed;
                let concerned = by_runs().filter(|found| stopped || found.card.status == Status::Running);
                for found in concerned.filter(|found| found.card.status != Status::NeedsAttention) {
                    self.wait_until_settled(found);
                    let class = if stopped { "killed" } else { "unsure" };
                    self.change(&found.id, run, class, |card, _| edits::leave_alone(card, run, end.ended_at, stopped))?;
                }
            }
            (Class::Ignore(Why::Running | Why::OpenClaws), _) => {}
        }
        Ok(Taken::Done(None))
    }

    /// The card of a run that was taken already. It may have been told by the attempt that waited for it.
    fn look_again(&self, found: &Found, run: &Run) -> Result<Document, Error> {
        if self.told == From::Runs {
            self.wait_until_settled(found);
        }
        let (document, card) = self.store.load(&found.id).map_err(|error| error.about(found.id.as_str()))?;
        if !Memory::of(&document).is_pending() || self.is_alive(&card) || card.status.is_terminal() {
            return Ok(document);
        }
        edit(self.store, &found.id, |document, card, now| {
            if !Memory::of(document).is_pending() || self.is_alive(card) || card.status.is_terminal() {
                return Ok(None);
            }
            edits::take_up(document, now)?;
            Ok(Some(self.event(run, "settled")))
        })
    }

    /// None when the card is not open any more.
    fn interrupt(&self, found: &Found, end: &End<'_>, reason: Reason) -> Result<Option<Document>, Error> {
        self.wait_until_settled(found);
        self.change(&found.id, end.run, reason.word(), |document, card| {
            self.interruption(end, reason, self.is_alive(card)).apply(document, self.store.clock().stamp())
        })
    }

    fn make(&self, id: &TaskId, end: &End<'_>, reason: Reason) -> Result<Taken, Error> {
        let now = self.store.clock().stamp();
        let mut card = new_card(id, end.run, end.ended_at, now);
        self.interruption(end, reason, false).apply(&mut card, now)?;
        match self.store.create(id, card, self.event(end.run, reason.word())) {
            // Made by another import, perhaps of this very run; or filed away.
            Err(error) if error.exit == Exit::Exists => Ok(Taken::NoFreeId),
            made => made.map(|card| Taken::Done(Some(card))),
        }
    }

    fn interruption<'a>(&'a self, end: &End<'a>, reason: Reason, attempt_alive: bool) -> Interruption<'a> {
        let (policy, workspace) = (self.policy, self.store.workspace());
        Interruption { run: end.run, reason, ended_at: end.ended_at, policy, workspace, attempt_alive }
    }

    /// Under the lock; nothing when another import took the run meanwhile. None when the task is finished.
    fn change<F>(&self, id: &TaskId, run: &Run, class: &str, change: F) -> Result<Option<Document>, Error>
    where
        F: FnOnce(&mut Document, &Card) -> Result<(), Error>,
    {
        let mut finished = false;
        let card = edit(self.store, id, |document, card, _| {
            finished = card.status.is_terminal();
            if finished || Memory::of(document).knows(run) {
                return Ok(None);
            }
            let before = document.clone();
            change(document, card)?;
            Ok(Some(self.event(run, class).with("fields", before.changed_fields(document))))
        })?;
        Ok((!finished).then_some(card))
    }

    fn event(&self, run: &Run, class: &str) -> Event {
        let from = if self.told == From::Runs { "openclaw-run" } else { "openclaw-sessions" };
        let event = Event::new("imported").with("by", "card").with("from", from).with("run_ended", class);
        if run.run_id.is_empty() { event } else { event.with("run_id", run.run_id.as_str()) }
    }

    /// Whether an attempt lives whose settlement is to come.
    fn is_alive(&self, card: &Card) -> bool {
        card.run.as_ref().filter(|run| !run.background).is_some_and(|run| {
            let logs = Logs::new(self.store.logs_folder(card.task_id()), run.attempt);
            logs.supervisor_alive() || logs.attempt_alive()
        })
    }

    /// Waits for the settlement of the attempt that may have started the run. An attempt that imports its own run waits for itself
    /// in vain.
    fn wait_until_settled(&self, found: &Found) {
        let own = Cookie::of_process(self.store, found.id.as_str());
        if found.card.run.as_ref().is_some_and(|run| own.is_some_and(|own| own.token == run.token)) {
            return;
        }
        let start = Instant::now();
        let mut alive = self.is_alive(&found.card);
        while alive && start.elapsed() < SETTLE_PATIENCE {
            std::thread::sleep(LOOK);
            alive = self.store.load(&found.id).is_ok_and(|(_, card)| self.is_alive(&card));
        }
    }
}

/// The end of a run.
struct End<'a> {
    run: &'a Run,
    /// Never ahead of the clock.
    ended_at: Timestamp,
    age_seconds: f64,
}

/// What came of a look at the cards.
enum Taken {
    Done(Option<Document>),
    /// The card that was found is not open any more.
    Moved,
    NoFreeId,
}

/// Whether somebody made the card after the run had ended: it is not about that run.
fn is_of_later(found: &Found, ended_at: Timestamp) -> bool {
    !Memory::of(&found.document).is_made_by_import()
        && found.card.created_at.is_some_and(|created| created.seconds_since(ended_at) >= 1.0)
}

/// Whether no person began a run since the card's last one ended: then what ended since was a heartbeat's own.
fn is_of_nobody(found: &Found, run: &Run) -> bool {
    Memory::of(&found.document).ended_at().zip(run.interaction_at).is_some_and(|(known, interaction)| interaction < known)
}

/// Whether somebody who reads the card can do something: bring it back, or tell a person.
fn to_be_looked_at(card: &Document) -> bool {
    Memory::of(card).reason().is_some() && matches!(card.status(), Ok(Status::Stalled | Status::NeedsAttention))
}
