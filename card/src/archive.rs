//! `card archive`: files finished tasks away, with their history and logs.
//!
//! Which ones is decided under the task's lock, by the card as it is then. A task stays where it is
//! as long as anything of it lives, or how it ended was not told yet. With `--cleanup` the paths in
//! its metadata go first: a kill in between leaves a card that is asked again. `--dry-run` decides
//! without the lock, says it of each task, and changes nothing.

use shared::card::{Card, Status};
use shared::document::Document;
use shared::exit::{Error, Exit, cause};
use shared::facts;
use shared::id::TaskId;
use shared::store::{LoadError, Store};
use shared::talk::say;
use shared::time::Timestamp;

use crate::cleanup::{Cleanup, Removal};
use crate::tally::Tally;

/// How long a task has been finished before it is filed away, unless it is named.
const OLDER_THAN_SECONDS: f64 = 7.0 * 86_400.0;

/// `card archive`.
#[derive(Debug, Default)]
pub(crate) struct Archive {
    /// All tasks without any.
    pub(crate) ids: Vec<TaskId>,
    pub(crate) older_than_seconds: Option<f64>,
    /// Terminal ones; all of them without any.
    pub(crate) statuses: Vec<Status>,
    pub(crate) cleanup: bool,
    pub(crate) dry_run: bool,
}

/// Why a task stays where it is: a word, and a sentence's rest.
pub(crate) type Kept = (&'static str, String);

/// Files away what is to be, and prints the counts.
pub(crate) fn archive(store: &Store, wanted: &Archive) -> Result<Exit, Error> {
    let mut filing = Filing { store, wanted, cleanup: Cleanup::new(store), tally: Tally::new("archived", wanted.dry_run) };
    if wanted.cleanup {
        filing.tally.count("removed_paths", 0);
    }
    if wanted.ids.is_empty() {
        filing.all()?;
    } else {
        for id in &wanted.ids {
            if let Err(error) = filing.one(id) {
                filing.tally.fail(&error);
            }
        }
    }
    filing.tally.print()
}

struct Filing<'a> {
    store: &'a Store,
    wanted: &'a Archive,
    cleanup: Cleanup,
    tally: Tally,
}

impl Filing<'_> {
    /// Every card of the folder that looks as if; the lock is taken only for those.
    fn all(&mut self) -> Result<(), Error> {
        let listing = self.store.list()?;
        let mut buffer = Vec::new();
        for entry in listing.iter() {
            let id_text = entry.id_text();
            let read = self.store.read_entry(entry, &mut buffer);
            let done = match read.and_then(|bytes| Document::parse(bytes, &id_text).map_err(LoadError::Bad)) {
                Ok((_, card)) => match (self.stays(&card), id_text.parse()) {
                    (Some(kept), Ok(id)) => self.keep(&id, kept),
                    (None, Ok(id)) => self.one(&id),
                    (_, Err(why)) => Err(Error::data(why)),
                },
                Err(LoadError::Missing) => Ok(()),
                Err(error) => Err(error.at(self.store.folder().join(format!("{id_text}.json"))).about(&id_text)),
            };
            if let Err(error) = done {
                self.tally.fail(&error);
            }
        }
        Ok(())
    }

    fn one(&mut self, id: &TaskId) -> Result<(), Error> {
        let found = || self.store.find(id).map_err(|error| error.about(id.as_str()));
        if self.wanted.dry_run {
            let found = found()?;
            if found.filed {
                return self.filed_before(id, &found.document);
            }
            return if self.is_fit(id, &found.document, &found.card)? { self.tally.done(id, "archive") } else { Ok(()) };
        }
        let held = match self.store.lock(id) {
            Err(_) if self.store.is_filed(id)? => self.store.lock_filed(id)?,
            held => held?,
        };
        match held.load() {
            Ok((document, card)) => {
                if self.is_fit(id, &document, &card)? {
                    held.file_away()?;
                    self.tally.done(id, "archive")?;
                }
                Ok(())
            }
            // Or another one was faster.
            Err(LoadError::Missing) => {
                let found = found()?;
                self.filed_before(id, &found.document)
            }
            Err(error) => Err(error.about(id.as_str())),
        }
    }

    /// Whether it may be filed away, and its paths are gone; else it is counted as kept.
    fn is_fit(&mut self, id: &TaskId, document: &Document, card: &Card) -> Result<bool, Error> {
        let alive = || {
            let alive = facts::any_alive(self.store, card);
            alive.map_err(|error| Error::io(format!("cannot tell whether {id} lives: {}", cause(&error))))
        };
        let kept = match self.stays(card) {
            Some(kept) => Some(kept),
            None if alive()? => Some(("attempt_alive", "a process of its attempts is alive".to_owned())),
            None if self.store.is_untold(id)? => {
                Some(("outcome_untold", "no pass has told yet how its attempt ended; run watch | resume".to_owned()))
            }
            None => None,
        };
        match kept {
            Some(kept) => self.keep(id, kept).map(|()| false),
            None => self.clean(id, document).map(|()| true),
        }
    }

    /// What the card alone says.
    fn stays(&self, card: &Card) -> Option<Kept> {
        if !card.status.is_terminal() {
            return Some(("not_finished", format!("it is {}, not finished", card.status)));
        }
        if !self.wanted.statuses.is_empty() && !self.wanted.statuses.contains(&card.status) {
            return Some(("other_status", format!("it is {}", card.status)));
        }
        let default = self.wanted.ids.is_empty().then_some(OLDER_THAN_SECONDS);
        too_recent(card, self.wanted.older_than_seconds.or(default)?, self.store.clock().now())
    }

    fn keep(&mut self, id: &TaskId, (reason, detail): Kept) -> Result<(), Error> {
        self.tally.keep(id, reason, &detail)?;
        if self.wanted.ids.is_empty() || self.wanted.dry_run {
            return Ok(());
        }
        Err(Error::refused(format!("{id} is not filed away: {detail}")))
    }

    fn filed_before(&mut self, id: &TaskId, document: &Document) -> Result<(), Error> {
        self.clean(id, document)?;
        self.tally.count("already_archived", 1);
        Ok(())
    }

    /// Removes the paths that the task left for that. What is refused is named; what cannot be removed keeps the task.
    fn clean(&mut self, id: &TaskId, document: &Document) -> Result<(), Error> {
        if !self.wanted.cleanup {
            return Ok(());
        }
        // With today's names.
        let mut document = document.clone();
        document.adopt();
        for path in Cleanup::paths(&document) {
            match self.cleanup.remove(&path, self.wanted.dry_run) {
                Ok(Removal::Absent) => {}
                Ok(Removal::Removed) => self.tally.removed(id, &path)?,
                Ok(Removal::Refused(why)) => {
                    self.tally.count("refused_paths", 1);
                    say(&format!("{id}: {path:?} is not removed: {why}"));
                }
                Err(error) => {
                    return Err(Error::io(format!("cannot remove {path:?} of {id}: {}; the card is where it was", cause(&error))));
                }
            }
        }
        Ok(())
    }
}

/// Why a card is too young, or its age unknown.
pub(crate) fn too_recent(card: &Card, seconds: f64, now: Timestamp) -> Option<Kept> {
    let Some(at) = card.updated_at.or(card.last_checkpoint_at).or(card.created_at) else {
        return Some(("age_unknown", "it does not say when it was changed; name it".to_owned()));
    };
    (now.seconds_since(at) < seconds).then(|| ("too_recent", format!("it was changed at {at}")))
}
