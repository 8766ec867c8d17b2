//! All cards, each with the verdict that `watch` would give, for formats that tell how everything stands.
//!
//! As in `watch`, whoever is not quiet is parsed whole before anything is said about it, and what
//! does not parse is read once more at the end: others may write cards without care.

use shared::card::{Card, CardError};
use shared::document::Document;
use shared::exit::Error;
use shared::facts::Observer;
use shared::last_pass::LastPass;
use shared::listing::Entry;
use shared::signal::{self, Line};
use shared::store::{LoadError, Store};
use shared::time::Timestamp;
use shared::verdict::{Facts, Request, Verdict, silent_since};

/// A file in the card folder.
pub(crate) enum Found {
    /// A card.
    Seen(Box<Seen>),
    /// A file that is no usable card.
    Broken(Broken),
}

/// A card and how it stands.
pub(crate) struct Seen {
    pub(crate) card: Card,
    pub(crate) verdict: Verdict,
    facts: Facts,
}

/// A file that is no usable card.
pub(crate) struct Broken {
    pub(crate) error: CardError,
    /// What `watch` says of it.
    pub(crate) line: Line,
}

impl Seen {
    /// Seconds without a sign of life, as the verdict counts them: no machine's sleep is in them.
    pub(crate) fn silence_seconds(&self, now: Timestamp) -> f64 {
        now.seconds_since(silent_since(&self.card, &self.facts, now))
    }

    /// When the task last gave a sign of life. That the machine woke up is none.
    pub(crate) fn last_seen(&self, now: Timestamp) -> Timestamp {
        silent_since(&self.card, &Facts { awake_since: None, asleep_seconds: 0.0, ..self.facts.clone() }, now)
    }

    /// What `watch` says of it; nothing of what is quiet.
    pub(crate) fn line(&self, now: Timestamp) -> Option<Line> {
        match &self.verdict {
            Verdict::Quiet(_) => None,
            Verdict::Ready => Some(signal::ready(&self.card)),
            Verdict::Alert(due) => Some(signal::alert(&self.card, &self.facts, *due, now)),
            Verdict::Attention(attention) => Some(signal::needs_attention(&self.card, attention)),
        }
    }
}

/// Shows each card, at this one moment, to `visit`. What this machine had no room to read is an error at the end: the others are
/// shown all the same.
pub(crate) fn each(store: &Store, last_pass: &LastPass, now: Timestamp, visit: &mut dyn FnMut(Found)) -> Result<(), Error> {
    let observer = Observer::new(store, last_pass);
    let listing = store.list()?;
    let mut buffer = Vec::new();
    let mut doubtful = Vec::new();
    for entry in listing.iter() {
        let read = store.read_entry(entry, &mut buffer);
        match read.and_then(|bytes| judge(store, &observer, bytes, entry, now)) {
            Ok(seen) => visit(Found::Seen(Box::new(seen))),
            Err(LoadError::Missing) => {}
            Err(LoadError::Bad(_) | LoadError::Ours(_)) => doubtful.push(entry),
        }
    }
    let mut failed = Ok(());
    for entry in doubtful {
        let read = store.read_entry_carefully(entry, &mut buffer);
        match read.and_then(|bytes| judge(store, &observer, bytes, entry, now)) {
            Ok(seen) => visit(Found::Seen(Box::new(seen))),
            Err(LoadError::Missing) => {}
            Err(LoadError::Bad(error)) => {
                let path = store.folder().join(format!("{}.json", entry.id_text()));
                let line = signal::broken(&entry.id_text(), &error, &path.to_string_lossy());
                visit(Found::Broken(Broken { error, line }));
            }
            Err(error @ LoadError::Ours(_)) => failed = failed.and(Err(error.about(&entry.id_text()))),
        }
    }
    failed
}

fn judge(store: &Store, observer: &Observer, bytes: &[u8], entry: Entry<'_>, now: Timestamp) -> Result<Seen, LoadError> {
    let id_text = entry.id_text();
    let card = Card::parse(bytes, &id_text).map_err(LoadError::Bad)?;
    let (verdict, facts) = observer.judge(store, &card, Request::Pass, now);
    if !matches!(verdict, Verdict::Quiet(_)) {
        Document::validate(bytes, &id_text).map_err(LoadError::Bad)?;
    }
    Ok(Seen { card, verdict, facts })
}
