//! `card prune`: deletes tasks from the archive, for good.
//!
//! Only what is old enough, and what no task that is still to be done waits for: it would never start.

use std::collections::BTreeMap;

use shared::card::Card;
use shared::exit::{Error, Exit};
use shared::id::TaskId;
use shared::store::{LoadError, Store};

use crate::archive::too_recent;
use crate::tally::Tally;

/// `card prune`.
#[derive(Debug)]
pub(crate) struct Prune {
    pub(crate) older_than_seconds: f64,
    pub(crate) dry_run: bool,
}

/// Deletes, and prints the counts.
pub(crate) fn prune(store: &Store, wanted: &Prune) -> Result<Exit, Error> {
    let mut tally = Tally::new("pruned", wanted.dry_run);
    let waiting = waiting(store)?;
    let listing = store.list_filed()?;
    for entry in listing.iter() {
        let id = entry.id_text().parse::<TaskId>().map_err(Error::data);
        if let Err(error) = id.and_then(|id| one(store, wanted, &waiting, &id, &mut tally)) {
            tally.fail(&error);
        }
    }
    tally.print()
}

fn one(store: &Store, wanted: &Prune, waiting: &BTreeMap<String, String>, id: &TaskId, tally: &mut Tally) -> Result<(), Error> {
    let bad = |error: LoadError| error.about(&format!("{id} in the archive"));
    let stays = |card: &Card| {
        if let Some(other) = waiting.get(id.as_str()) {
            return Some(("awaited", format!("{other} depends on it")));
        }
        too_recent(card, wanted.older_than_seconds, store.clock().now())
    };
    let card = match store.load_filed(id) {
        Err(LoadError::Missing) => return Ok(()),
        loaded => loaded.map_err(bad)?.1,
    };
    if let Some((reason, detail)) = stays(&card) {
        return tally.keep(id, reason, &detail);
    }
    if !matches!(store.load(id), Err(LoadError::Missing)) {
        return tally.keep(id, "not_only_archived", "a card of this ID is also in the folder itself; look at both");
    }
    if !wanted.dry_run {
        let held = store.lock_filed(id)?;
        // Looked at again: the lock may have been waited for.
        match store.load_filed(id) {
            Err(LoadError::Missing) => return Ok(()),
            loaded => {
                let (_, card) = loaded.map_err(bad)?;
                if let Some((reason, detail)) = stays(&card) {
                    return tally.keep(id, reason, &detail);
                }
            }
        }
        held.delete_filed()?;
    }
    tally.done(id, "prune")
}

/// The tasks that others wait for, each with one of those.
fn waiting(store: &Store) -> Result<BTreeMap<String, String>, Error> {
    let mut waiting = BTreeMap::new();
    let listing = store.list()?;
    let mut buffer = Vec::new();
    for entry in listing.iter() {
        let id = entry.id_text();
        // What cannot be read names nothing; watch tells of it.
        let Ok(card) = store.read_entry(entry, &mut buffer).and_then(|bytes| Card::parse(bytes, &id).map_err(LoadError::Bad))
        else {
            continue;
        };
        if !card.status.is_terminal() {
            waiting.extend(card.depends_on().iter().map(|other| (other.clone(), id.to_string())));
        }
    }
    Ok(waiting)
}
