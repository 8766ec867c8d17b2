//! What a claim writes into the card: pure edits, made under the update lock.
//!
//! Invariants: the number only grows, over the card's and over every log's; a claim that is no
//! first start is charged before anything is started; over a run that is not settled the token
//! stays, so that all of its forerunners can be found by it.

use serde_json::{Map, Value};
use shared::card::{Card, Status};
use shared::document::Document;
use shared::exit::Error;
use shared::time::Timestamp;

/// The attempt that is claimed.
#[derive(Clone, Debug)]
pub struct NewAttempt<'a> {
    /// Its number: see `next_number`.
    pub number: u64,
    /// For an attempt without unsettled forerunners.
    pub token: &'a str,
    /// This machine.
    pub host: &'a str,
    /// The supervisor.
    pub pid: u32,
    /// Now.
    pub started_at: Timestamp,
}

/// What was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The attempt's token.
    pub token: String,
    /// The task was not started before.
    pub first_start: bool,
    /// A person said "go on" with artifacts that are not as they were.
    pub artifacts_permitted: bool,
    /// The lowest number of an attempt that may still have processes.
    pub forerunners_from: Option<u64>,
}

/// The number of the next attempt. The newest log may be of one that no card tells of.
#[must_use]
pub fn next_number(card: &Card, newest_log: Option<u64>) -> u64 {
    1 + newest_log.unwrap_or_default().max(card.attempt)
}

/// Whether the card tells nothing of a running attempt: what holds the newest log then was started by a card that somebody
/// rewrote without care.
#[must_use]
pub fn tells_of_none(card: &Card) -> bool {
    card.run.is_none() || card.status == Status::Pending
}

/// Whether the card's newest attempt is still this one.
#[must_use]
pub fn is_newest(card: &Card, number: u64, token: &str) -> bool {
    card.attempt == number && card.run.as_ref().is_none_or(|run| run.token == token && run.attempt == number)
}

/// Whether the card still says that this attempt is to run.
#[must_use]
pub fn may_start(card: &Card, number: u64, token: &str) -> bool {
    card.status == Status::Running && card.run.as_ref().is_some_and(|run| run.token == token && run.attempt == number)
}

/// Records a claim.
///
/// # Errors
/// `Refused` for a card that cannot become running.
pub fn record(document: &mut Document, card: &Card, attempt: &NewAttempt<'_>) -> Result<Recorded, Error> {
    let first_start = card.status == Status::Pending;
    let unsettled = card.run.as_ref().filter(|run| !run.background);
    let token = unsettled.map_or_else(|| attempt.token.to_owned(), |run| run.token.clone());
    let forerunners_from = card.run.as_ref().map(|run| run.forerunners_from.unwrap_or(run.attempt));
    let artifacts_permitted = document.remove("permit_artifacts") == Some(Value::Bool(true));
    document.set_status(Status::Running)?;
    document.set("attempt", attempt.number);
    if !first_start {
        document.set("retry_count", card.retry_count + 1);
        document.set("failures", card.failures + 1);
    }
    document.remove("permit");
    document.remove("not_before");
    let mut run = Map::new();
    run.insert("attempt".into(), attempt.number.into());
    run.insert("token".into(), token.as_str().into());
    run.insert("host".into(), attempt.host.into());
    run.insert("pid".into(), attempt.pid.into());
    run.insert("started_at".into(), attempt.started_at.to_string().into());
    run.insert("charged".into(), (!first_start).into());
    if let Some(first) = forerunners_from {
        run.insert("forerunners_from".into(), first.into());
    }
    document.set("run", Value::Object(run));
    Ok(Recorded { token, first_start, artifacts_permitted, forerunners_from })
}

/// Notes that nothing is left of a cancelled task's attempt. Returns whether that changed the card; one that tells of another attempt
/// meanwhile stays as it is.
pub fn forget_contained(document: &mut Document, card: &Card, attempt: u64, token: &str) -> bool {
    let same = card.run.as_ref().is_some_and(|now| now.attempt == attempt && now.token == token);
    same && document.remove("run").is_some()
}
