//! `card put`: a program's whole edit of a card, as a compare-and-swap on its revision.
//!
//! The program reads a card, changes what it wants and gives it back, with the revision that it
//! read. When the card moved meanwhile nothing is written (exit 75): read it again, and decide
//! again. What belongs to the supervision of attempts is not edited by others.

use std::io::{Read, stdin};

use shared::card::{BYTES_MAX, Card, Status};
use shared::document::{Document, cannot_become};
use shared::edit::{edit, refuse_finished};
use shared::exit::{Error, Exit, cause};
use shared::history::Event;
use shared::id::TaskId;
use shared::store::Store;

use crate::show;

/// Fields that only `resume` writes: without them an attempt could not be found again.
const SUPERVISION: [&str; 2] = ["run", "attempt"];

/// Writes the card on stdin if nobody wrote it since it was read.
pub(crate) fn put(store: &Store, id: &TaskId) -> Result<Exit, Error> {
    let mut bytes = Vec::new();
    let limit = BYTES_MAX as u64 + 1;
    let read = stdin().lock().take(limit).read_to_end(&mut bytes);
    read.map_err(|error| Error::io(format!("cannot read standard input: {}", cause(&error))))?;
    if bytes.len() > BYTES_MAX {
        return Err(Error::data(format!("standard input is larger than {BYTES_MAX} bytes, the limit of a card")));
    }
    let parsed = Document::parse(&bytes, id.as_str());
    let (mut wanted, given) =
        parsed.map_err(|error| Error::data(format!("standard input is no card of {id}: {}", error.detail)))?;
    wanted.adopt();
    if matches!(given.status, Status::Completed | Status::Failed) {
        // Becoming so ends the attempt's record, as it does elsewhere.
        wanted.remove("run");
    }
    let changed = edit(store, id, |document, card, _| {
        allow(document, card, &wanted, &given, id)?;
        if wanted == *document {
            return Ok(None);
        }
        let event = Event::new("put").with("by", "card").with("fields", document.changed_fields(&wanted));
        *document = wanted;
        Ok(Some(event))
    })?;
    show::print(&changed)
}

fn allow(document: &Document, card: &Card, wanted: &Document, given: &Card, id: &TaskId) -> Result<(), Error> {
    if given.revision != card.revision {
        let moved = format!("{id} moved: revision {} was given, it is {} now; read it again", given.revision, card.revision);
        return Err(Error::new(Exit::Busy, moved));
    }
    refuse_finished(card)?;
    if !card.status.may_become(given.status) {
        return Err(cannot_become(id.as_str(), card.status, given.status));
    }
    let ended = matches!(given.status, Status::Completed | Status::Failed);
    match SUPERVISION.into_iter().find(|name| wanted.get(name) != document.get(name) && !(ended && *name == "run")) {
        Some(name) => Err(Error::refused(format!("{name} belongs to resume and is not changed by put; leave it as it was read"))),
        None => Ok(()),
    }
}
