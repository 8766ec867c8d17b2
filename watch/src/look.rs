//! Looks at every card once.
//!
//! A card is first read only as far as a verdict needs it. Whoever is not quiet is parsed whole
//! before anything is said about it. What does not parse is read once more when all others are
//! done: others may write cards without care, and by then they are through with it.

use shared::card::{Card, CardError};
use shared::document::Document;
use shared::exit::Error;
use shared::facts::Observer;
use shared::id::TaskId;
use shared::store::{Entry, LoadError, Store};
use shared::time::Timestamp;
use shared::verdict::{Facts, Request, Verdict};

/// One card as it was found.
#[derive(Debug)]
pub(crate) enum Found<'a> {
    /// A card and its verdict.
    Judged { card: &'a Card, facts: &'a Facts, verdict: Verdict, now: Timestamp },
    /// A file that is no usable card.
    Broken { id_text: String, error: CardError },
}

/// Shows each card to `visit` until that is satisfied.
pub(crate) fn look_at_all(
    store: &Store,
    observer: &Observer,
    visit: &mut dyn FnMut(Found<'_>) -> Result<bool, Error>,
) -> Result<(), Error> {
    let mut buffer = Vec::new();
    let mut doubtful = Vec::new();
    for entry in store.list()? {
        let id_text = entry.id_text();
        match store.read_entry(&entry, &mut buffer).and_then(|bytes| judge(store, observer, bytes, &id_text)) {
            Ok((card, facts, verdict, now)) => {
                if !visit(Found::Judged { card: &card, facts: &facts, verdict, now })? {
                    return Ok(());
                }
            }
            Err(LoadError::Missing) => {}
            Err(LoadError::Bad(_) | LoadError::Ours(_)) => doubtful.push(entry),
        }
    }
    let mut failed = Ok(());
    for entry in doubtful {
        match look_again(store, observer, &entry, visit) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            // The others are told all the same.
            Err(error) => failed = failed.and(Err(error)),
        }
    }
    failed
}

fn look_again(
    store: &Store,
    observer: &Observer,
    entry: &Entry,
    visit: &mut dyn FnMut(Found<'_>) -> Result<bool, Error>,
) -> Result<bool, Error> {
    let id_text = entry.id_text();
    let mut buffer = Vec::new();
    match store.read_entry_carefully(entry, &mut buffer).and_then(|bytes| judge(store, observer, bytes, &id_text)) {
        Ok((card, facts, verdict, now)) => visit(Found::Judged { card: &card, facts: &facts, verdict, now }),
        Err(LoadError::Missing) => Ok(true),
        Err(LoadError::Bad(error)) => visit(Found::Broken { id_text, error }),
        Err(error @ LoadError::Ours(_)) => Err(error.about(&id_text)),
    }
}

/// Looks at one task.
pub(crate) fn look_at_one(
    store: &Store,
    observer: &Observer,
    id: &TaskId,
    visit: &mut dyn FnMut(Found<'_>) -> Result<bool, Error>,
) -> Result<(), Error> {
    match store.load(id) {
        Ok((_, card)) => {
            let now = store.clock().now();
            let (verdict, facts) = observer.judge(store, &card, Request::Pass, now);
            visit(Found::Judged { card: &card, facts: &facts, verdict, now }).map(drop)
        }
        Err(error @ (LoadError::Missing | LoadError::Ours(_))) => Err(error.about(id.as_str())),
        Err(LoadError::Bad(error)) => visit(Found::Broken { id_text: id.to_string(), error }).map(drop),
    }
}

fn judge(store: &Store, observer: &Observer, bytes: &[u8], id_text: &str) -> Result<(Card, Facts, Verdict, Timestamp), LoadError> {
    let card = Card::parse(bytes, id_text).map_err(LoadError::Bad)?;
    let now = store.clock().now();
    let (verdict, facts) = observer.judge(store, &card, Request::Pass, now);
    if !matches!(verdict, Verdict::Quiet(_)) {
        Document::validate(bytes, id_text).map_err(LoadError::Bad)?;
    }
    Ok((card, facts, verdict, now))
}
