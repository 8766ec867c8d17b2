//! The last look before an attempt starts.
//!
//! Between the claim and the start may lie the grace of an earlier attempt and the reading of
//! large artifacts: minutes in which a person may have ended the task or changed the adapter. What
//! they decided stands, and nothing is started.

use shared::adapter::{Usability, usability};
use shared::card::Fault;
use shared::store::{LoadError, Store};

use crate::budget::Budget;
use crate::claim::Claimed;
use crate::record::may_start;
use crate::signals::Signals;
use crate::step::Ending;

/// What has come between, if anything.
pub(crate) fn obstacle(store: &Store, claimed: &Claimed, budget: Budget, signals: &mut Signals) -> Option<Ending> {
    if let Some(signal) = signals.first() {
        return Some(Ending::Interrupted(signal));
    }
    match standing(store, claimed) {
        Standing::Ours => {}
        Standing::Overtaken => return Some(Ending::Overtaken),
        Standing::Unknown(why) => {
            return Some(Ending::NotStarted { ours: true, detail: format!("its card cannot be read again: {why}") });
        }
    }
    if budget.is_over(signals) {
        let detail = "the pass's time was over before it started".to_owned();
        return Some(Ending::NotStarted { ours: true, detail });
    }
    match usability(&claimed.card, store.workspace()) {
        Usability::Usable => None,
        Usability::None => Some("its card names neither an adapter nor a command".to_owned()),
        Usability::Missing(why) | Usability::Insecure(why) => Some(why),
    }
    .map(|why| Ending::NotStarted { ours: false, detail: format!("cannot start {why}") })
}

/// Whether the card no longer says that this attempt is to run. One that cannot be read is looked at again when it is settled.
pub(crate) fn is_overtaken(store: &Store, claimed: &Claimed) -> bool {
    matches!(standing(store, claimed), Standing::Overtaken)
}

enum Standing {
    Ours,
    Overtaken,
    /// Neither is known, and why: nothing is started on a guess.
    Unknown(String),
}

fn standing(store: &Store, claimed: &Claimed) -> Standing {
    match store.load(&claimed.id) {
        Ok((_, card)) if may_start(&card, claimed.number, &claimed.token) => Standing::Ours,
        Err(LoadError::Bad(error)) if error.fault == Fault::Unreadable => Standing::Unknown(error.detail),
        Err(LoadError::Ours(why)) => Standing::Unknown(why),
        Ok(_) | Err(LoadError::Missing | LoadError::Bad(_)) => Standing::Overtaken,
    }
}
