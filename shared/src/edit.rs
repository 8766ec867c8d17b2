//! Edits by programs that may run inside an attempt: fenced, marked in the history, and with progress counted.

use crate::attempt::{Writer, fence};
use crate::card::Card;
use crate::document::Document;
use crate::exit::Error;
use crate::history::Event;
use crate::id::TaskId;
use crate::progress;
use crate::store::Store;
use crate::time::Timestamp;

/// Changes a card: `change` edits the document and says what happened; no event, no write.
///
/// # Errors
/// `Refused` for a superseded attempt; those of `change` and of the store.
pub fn edit<F>(store: &Store, id: &TaskId, change: F) -> Result<Document, Error>
where
    F: FnOnce(&mut Document, &Card, Timestamp) -> Result<Option<Event>, Error>,
{
    store.update(id, |document, card, now| {
        let writer = fence(store, card)?;
        let before = document.clone();
        let Some(event) = change(document, card, now)? else { return Ok(None) };
        count_progress(&before, document);
        Ok(Some(if writer == Writer::Unfenced { event.with("unfenced", true) } else { event }))
    })
}

/// Progress begins the count of attempts without it anew, whoever brings it.
pub fn count_progress(before: &Document, after: &mut Document) {
    if after.count("retry_count") > 0 && progress::between(before, after) {
        after.set("retry_count", 0);
    }
}

/// A finished task never changes again.
///
/// # Errors
/// `Refused` when it is finished.
pub fn refuse_finished(card: &Card) -> Result<(), Error> {
    if card.status.is_terminal() {
        return Err(Error::refused(format!("{} is {} and never changes again; make a new task", card.task_id(), card.status)));
    }
    Ok(())
}
