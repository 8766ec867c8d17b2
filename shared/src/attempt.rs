//! The cookie of an attempt, `TASK_ATTEMPT=<id>/<attempt>/<token>`, and fencing by it.
//!
//! Every process of an attempt carries the cookie in its environment. The attempt's number is a
//! fencing token: it only grows, and a writer with a lower one than the card's was superseded,
//! however alive it still is.

use std::path::Path;

use crate::card::Card;
use crate::exit::Error;
use crate::liveness::Logs;
use crate::store::Store;

/// The environment variable.
pub const VARIABLE: &str = "TASK_ATTEMPT";

/// Which attempt a process belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cookie {
    /// The task.
    pub task_id: String,
    /// The attempt's number.
    pub attempt: u64,
    /// Tells attempts with the same number apart.
    pub token: String,
}

impl Cookie {
    /// Reads a cookie; what is none, is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('/');
        let (task_id, attempt, token) = (parts.next()?, parts.next()?, parts.next()?);
        let whole = parts.next().is_none() && !task_id.is_empty() && !token.is_empty();
        let attempt = attempt.parse().ok()?;
        whole.then(|| Self { task_id: task_id.to_owned(), attempt, token: token.to_owned() })
    }

    /// This process's cookie, if it is of this task in this store.
    #[must_use]
    pub fn of_process(store: &Store, task_id: &str) -> Option<Self> {
        let cookie = Self::parse(&std::env::var(VARIABLE).ok()?)?;
        // An attempt of another workspace may know a task of the same name.
        let elsewhere =
            std::env::var_os("TASK_RUNS_DIR").is_some_and(|folder| same_folder(Path::new(&folder), store.folder()) == Some(false));
        (cookie.task_id == task_id && !elsewhere).then_some(cookie)
    }
}

fn same_folder(one: &Path, other: &Path) -> Option<bool> {
    Some(std::fs::canonicalize(one).ok()? == other)
}

impl std::fmt::Display for Cookie {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}", self.task_id, self.attempt, self.token)
    }
}

/// Whether a write came from inside the attempts of the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// From the newest attempt, or nothing runs.
    Fenced,
    /// From outside while an attempt lives: accepted and marked. It may be the agent that the adapter woke.
    Unfenced,
}

/// Lets the newest attempt and outsiders write, and nobody else.
///
/// # Errors
/// `Refused` for a superseded attempt.
pub fn fence(store: &Store, card: &Card) -> Result<Writer, Error> {
    let id = card.task_id();
    fence_by(card, Cookie::of_process(store, id).as_ref(), || {
        card.run.as_ref().is_some_and(|run| {
            let logs = Logs::new(store.logs_folder(id), run.attempt);
            logs.supervisor_alive() || logs.attempt_alive()
        })
    })
}

/// The same by a writer's cookie of this task, if it has one; `is_alive` looks whether the recorded attempt lives.
///
/// # Errors
/// `Refused` for a superseded attempt.
pub fn fence_by(card: &Card, cookie: Option<&Cookie>, is_alive: impl FnOnce() -> bool) -> Result<Writer, Error> {
    let Some(cookie) = cookie else {
        return Ok(if is_alive() { Writer::Unfenced } else { Writer::Fenced });
    };
    let other_token = card.run.as_ref().is_some_and(|run| run.token != cookie.token);
    if cookie.attempt < card.attempt || (cookie.attempt == card.attempt && other_token) {
        return Err(Error::refused(format!(
            "attempt {} of {} was superseded by attempt {}: nothing is changed; stop this one",
            cookie.attempt,
            card.task_id(),
            card.attempt
        )));
    }
    Ok(Writer::Fenced)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies() {
        let cookie = Cookie::parse("report_1/2/0f").unwrap();
        assert_eq!((cookie.task_id.as_str(), cookie.attempt, cookie.token.as_str()), ("report_1", 2, "0f"));
        assert_eq!(cookie.to_string(), "report_1/2/0f");
        for bad in ["", "a", "a/1", "a/x/t", "a/1/", "/1/t", "a/1/t/u", "a/-1/t"] {
            assert_eq!(Cookie::parse(bad), None, "{bad}");
        }
    }
}
