//! `card prune`: deletes tasks from the archive, for good.
//!
//! Only what is old enough, and what no task that is still to be done waits for: it would never start.

use std::collections::BTreeMap;

use shared::card::Card;
use shared::exit::{Error, Exit};
use shared::id::TaskId;
use shared::store::{LoadError, Store};

use crate::archive::{Kept, too_recent};
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

/// What is to be done with a task of the archive.
enum Fate {
    Keep(Kept),
    Delete,
    /// Another one was faster.
    Gone,
}

fn one(store: &Store, wanted: &Prune, waiting: &Waiting, id: &TaskId, tally: &mut Tally) -> Result<(), Error> {
    match fate(store, wanted, waiting, id)? {
        Fate::Gone => return Ok(()),
        Fate::Keep((reason, detail)) => return tally.keep(id, reason, &detail),
        Fate::Delete => {}
    }
    if !wanted.dry_run {
        let held = store.lock_filed(id)?;
        // Looked at again: the lock may have been waited for.
        match fate(store, wanted, waiting, id)? {
            // Then this lock is a new one: its file goes, too.
            Fate::Gone => return held.delete_filed(),
            Fate::Keep((reason, detail)) => return tally.keep(id, reason, &detail),
            Fate::Delete => held.delete_filed()?,
        }
    }
    tally.done(id, "prune")
}

fn fate(store: &Store, wanted: &Prune, waiting: &Waiting, id: &TaskId) -> Result<Fate, Error> {
    let card = match store.load_filed(id) {
        Err(LoadError::Missing) => return Ok(Fate::Gone),
        loaded => loaded.map_err(|error| error.about(id.as_str()))?.1,
    };
    match store.load(id) {
        Err(LoadError::Missing) => {}
        Ok(_) => {
            let detail = "a card of this ID is also in the folder itself; look at both";
            return Ok(Fate::Keep(("not_only_archived", detail.to_owned())));
        }
        // Not knowing is no leave to delete.
        Err(error) => return Err(error.about(id.as_str())),
    }
    if let Some(other) = waiting.get(id.as_str()) {
        return Ok(Fate::Keep(("awaited", format!("{other} depends on it"))));
    }
    Ok(too_recent(&card, wanted.older_than_seconds, store.clock().now()).map_or(Fate::Delete, Fate::Keep))
}

/// The tasks that others wait for, each with one of those.
type Waiting = BTreeMap<String, String>;

fn waiting(store: &Store) -> Result<Waiting, Error> {
    let mut waiting = Waiting::new();
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
