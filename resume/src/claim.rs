//! The claim: who may run the next attempt, decided under the task's update lock.
//!
//! Read again → judge again → make and lock the three log files → write the card with the new
//! attempt recorded (`record.rs`) → unlock. From the write on, the new attempt is the only one that counts, and
//! the lock on `.in` says that its supervisor lives. A crash before the write leaves files that
//! nobody counts; one after it leaves a run with nothing alive, which is due at once.
//!
//! An attempt that is not settled is superseded by the write (its number is too low from then
//! on), and contained afterwards by whoever claimed. The claim keeps its token, so that all of
//! its forerunners can be found by it, over any number of supervisors that died.

use std::fs;
use std::io::{Read, Write};

use shared::attempt::Cookie;
use shared::card::Card;
use shared::document::Document;
use shared::durable;
use shared::exit::{Error, Exit, cause};
use shared::facts::Observer;
use shared::history::Event;
use shared::id::TaskId;
use shared::liveness::{LOGS_KEPT, LockedLogs, Logs, logged_attempts};
use shared::signal::{self, Line};
use shared::store::{Held, LoadError, Store};
use shared::time::Timestamp;
use shared::verdict::{Attention, Facts, Quiet, Request, Verdict, minutes, silent_since};

use crate::record::{NewAttempt, Recorded, next_number, record, tells_of_none};

/// An attempt that is ours.
#[derive(Debug)]
pub(crate) struct Claimed {
    pub(crate) id: TaskId,
    /// The card as the attempt is given it.
    pub(crate) given: Document,
    pub(crate) card: Card,
    pub(crate) number: u64,
    pub(crate) token: String,
    pub(crate) logs: Logs,
    pub(crate) locked: LockedLogs,
    /// The task was not started before.
    pub(crate) first_start: bool,
    /// A person said "go on" with artifacts that are not as they were.
    pub(crate) artifacts_permitted: bool,
    /// The lowest number of an attempt that may still have processes.
    pub(crate) forerunners_from: Option<u64>,
}

/// What came of it.
#[derive(Debug)]
pub(crate) enum Claim {
    Ours(Box<Claimed>),
    /// Not ours, with the line that says why; if it is only too early, until when; and what the person who named it is told.
    NotNow {
        line: Line,
        until: Option<Timestamp>,
        explanation: Option<String>,
    },
    /// A cancelled task whose attempt lives.
    Contain(Box<Card>),
}

/// Claims the next attempt of a task, if it is due.
pub(crate) fn claim(store: &Store, observer: &Observer, id: &TaskId, request: Request) -> Result<Claim, Error> {
    let held = match store.lock(id) {
        Err(error) if error.exit == Exit::NoTask && request == Request::Pass => return Ok(skipped(id, "no_such_task")),
        held => held?,
    };
    let (document, card) = match held.load() {
        Ok(loaded) => loaded,
        Err(LoadError::Bad(error)) => {
            let line = signal::broken(id.as_str(), &error, &store.card_path(id).to_string_lossy());
            return Ok(Claim::NotNow { line, until: None, explanation: None });
        }
        Err(LoadError::Missing) if request == Request::Pass => return Ok(skipped(id, "no_such_task")),
        Err(error) => return Err(error.about(id.as_str())),
    };
    if is_own_attempt(store, &card) {
        return Ok(skipped(id, "attempt_alive"));
    }
    let now = store.clock().now();
    let (verdict, facts) = observer.judge(store, &card, request, now);
    match verdict {
        Verdict::Alert(due) if due.reason == "contain" => return Ok(Claim::Contain(Box::new(card))),
        Verdict::Alert(_) | Verdict::Ready => {}
        Verdict::Attention(attention) => {
            return Ok(Claim::NotNow { line: signal::needs_attention(&card, &attention), until: None, explanation: None });
        }
        Verdict::Quiet(quiet) => return Ok(not_due(&card, &facts, quiet, request, now)),
    }
    let folder = store.logs_folder(id.as_str());
    let logged =
        logged_attempts(&folder).map_err(|error| Error::io(format!("cannot list {}: {}", folder.display(), cause(&error))))?;
    let newest = logged.last().map(|number| Logs::new(folder.clone(), *number));
    // Someone rewrote the card without care: it no longer tells of the attempt that its logs tell of.
    if tells_of_none(&card) && newest.is_some_and(|logs| logs.supervisor_alive() || logs.attempt_alive()) {
        let detail = "processes still hold the newest attempt's log, and the card does not tell of it; end them".to_owned();
        let attention = Attention { reason: "attempt_not_recorded".to_owned(), detail, since: card.updated_at };
        return Ok(Claim::NotNow { line: signal::needs_attention(&card, &attention), until: None, explanation: None });
    }
    let number = next_number(&card, logged.last().copied());
    durable::make_folder(&folder).map_err(|error| Error::io(format!("cannot make {}: {}", folder.display(), cause(&error))))?;
    let logs = Logs::new(folder.clone(), number);
    let locked = logs.make().map_err(|error| Error::io(format!("cannot make {}: {}", logs.input().display(), cause(&error))))?;
    let claimed =
        write(&held, document, &card, Attempt { number, logs: &logs, locked, observer, started_at: store.clock().stamp() });
    match claimed {
        Ok(claimed) => {
            logged.iter().filter(|old| **old + LOGS_KEPT <= number).for_each(|old| forget(&Logs::new(folder.clone(), *old)));
            Ok(Claim::Ours(Box::new(claimed)))
        }
        Err(error) => {
            logs.remove();
            Err(error)
        }
    }
}

/// Whether this very process belongs to the attempt that the card records.
pub(crate) fn is_own_attempt(store: &Store, card: &Card) -> bool {
    let own = Cookie::of_process(store, card.task_id());
    card.run.as_ref().is_some_and(|run| own.is_some_and(|cookie| cookie.token == run.token))
}

struct Attempt<'a> {
    number: u64,
    logs: &'a Logs,
    locked: LockedLogs,
    observer: &'a Observer,
    started_at: Timestamp,
}

fn write(held: &Held<'_>, mut document: Document, card: &Card, attempt: Attempt<'_>) -> Result<Claimed, Error> {
    let Attempt { number, logs, locked, observer, started_at } = attempt;
    let token = new_token()?;
    let new = NewAttempt { number, token: &token, host: observer.host(), pid: std::process::id(), started_at };
    let Recorded { token, first_start, artifacts_permitted, forerunners_from } = record(&mut document, card, &new)?;
    let event = Event::new("claimed").with("by", "resume").with("attempt", number).with("phase", card.phase.as_str());
    let given = held.replace(document, event)?;
    let card = given.card(card.task_id()).map_err(|error| Error::data(error.detail))?;
    let id = card.task_id().parse().map_err(Error::data)?;
    // Its content is checked by the attempt's start: a card that could not be written there is a fault of ours.
    Ok(Claimed { id, given, card, number, token, logs: logs.clone(), locked, first_start, artifacts_permitted, forerunners_from })
}

impl Claimed {
    /// Writes the card into the file that becomes the attempt's stdin.
    pub(crate) fn write_input(&self) -> std::io::Result<()> {
        (&self.locked.input).write_all(&self.given.bytes())
    }
}

/// Logs are removed when they are old, unless something still holds them.
fn forget(logs: &Logs) {
    if !logs.supervisor_alive() && !logs.attempt_alive() {
        logs.remove();
    }
}

fn new_token() -> Result<String, Error> {
    let failed = |error: std::io::Error| Error::io(format!("cannot read /dev/urandom: {}", cause(&error)));
    let mut bytes = [0_u8; 8];
    fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes)).map_err(failed)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn skipped(id: &TaskId, reason: &str) -> Claim {
    Claim::NotNow { line: Line::new("skipped", id.as_str()).with("reason", reason), until: None, explanation: None }
}

fn not_due(card: &Card, facts: &Facts, quiet: Quiet, request: Request, now: Timestamp) -> Claim {
    let reason = match quiet.reason {
        "supervised" | "alive" => "attempt_alive",
        other => other,
    };
    let line = Line::new("skipped", card.task_id()).with("reason", reason);
    let line = line.with_some("until", quiet.until.map(|until| until.to_string()));
    let explanation = (request != Request::Pass).then(|| explain(card, facts, quiet, now));
    Claim::NotNow { line, until: quiet.until, explanation }
}

/// For the person who named a task: why it is not started.
fn explain(card: &Card, facts: &Facts, quiet: Quiet, now: Timestamp) -> String {
    let silence = minutes(now.seconds_since(silent_since(card, facts, now)));
    let id = card.task_id();
    let limit = card.stale_after_minutes();
    match quiet.reason {
        "healthy" if limit > 0.0 => {
            format!("{id} is not due: silent for {silence} min, and the limit is {limit} min; --force would start an attempt now")
        }
        "healthy" => {
            format!("{id} is not due: silent for {silence} min, and its silence has no limit; --force would start an attempt now")
        }
        "cooling_down" => {
            let until = quiet.until.map(|until| until.to_string()).unwrap_or_default();
            format!("{id} is not due: silent for {silence} min, and it waits until {until}; --force would start an attempt now")
        }
        "supervised" | "alive" => {
            format!("{id} is not due: an attempt is alive, silent for {silence} min; --force would not start a second one")
        }
        "waiting" => {
            format!("{id} is not due: it waits for {}; --force would not change that", facts.dependencies.unfinished.join(", "))
        }
        status => format!("{id} is {status}: it is never started again; make a new task"),
    }
}

/// So that a member of a pool and a single `resume` report the same.
pub(crate) fn failed_line(id: &TaskId, error: &Error) -> Line {
    let reason = match error.exit {
        Exit::NoTask => "no_such_task",
        Exit::Busy => "busy",
        Exit::Refused => "refused",
        _ => "error",
    };
    Line::new("skipped", id.as_str()).with("reason", reason).with("detail", error.message.as_str())
}
