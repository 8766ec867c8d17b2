//! The store: cards in a folder, one permanent lock file each.
//!
//! Update, in this order: take the lock → open the card without following links or blocking →
//! parse it whole → change → write, fsync, rename, fsync the folder (`durable.rs`) → append to
//! the history → bring the file that the card came from up to it (`task_state.rs`) → unlock →
//! only then may the caller answer. Readers take no lock: a rename shows them the old card or the
//! new one.
//!
//! Invariants: a card is only ever written from what was read under the lock; what is written
//! parses as a card; the revision grows by one with each write; a new card never replaces one.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::AT_FDCWD;
use nix::unistd::{Uid, User};
use serde_json::Value;

use crate::card::Card;
use crate::document::Document;
use crate::durable::{self, ReplaceError};
use crate::exit::{Error, Exit, cause};
use crate::history::{self, Event};
use crate::id::TaskId;
use crate::listing::{Entry, Listing};
use crate::lock::UpdateLock;
use crate::read;
pub use crate::read::LoadError;
use crate::talk::say;
use crate::task_state;
use crate::time::{Clock, Timestamp};
use crate::workspace::Place;

mod archive;

pub use archive::Found;

/// A folder of cards.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    workspace: PathBuf,
    owner: Uid,
    others_may_search: bool,
    clock: Clock,
}

impl Store {
    /// Opens the store at this place. A place that does not exist yet is an empty store.
    ///
    /// # Errors
    /// `Config` when the folder cannot be used.
    pub fn open(place: &Place, clock: Clock) -> Result<Self, Error> {
        let config = |path: &Path, error: &io::Error| {
            let why = cause(error);
            Error::new(Exit::Config, format!("cannot use {} for the cards: {why}; give another --workspace DIR", path.display()))
        };
        // A folder that is not there yet is canonical as soon as its nearest existing parent is.
        let mut missing = Vec::new();
        let mut existing = place.cards.as_path();
        let folder = loop {
            match fs::canonicalize(existing) {
                Ok(found) => break missing.iter().rev().fold(found, |path: PathBuf, name: &OsString| path.join(name)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let (Some(parent), Some(name)) = (existing.parent(), existing.file_name()) else {
                        return Err(config(&place.cards, &error));
                    };
                    missing.push(name.to_owned());
                    existing = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
                }
                Err(error) => return Err(config(&place.cards, &error)),
            }
        };
        let workspace = fs::canonicalize(&place.workspace).unwrap_or_else(|_| place.workspace.clone());
        let meta = fs::metadata(existing).map_err(|error| config(&folder, &error))?;
        if !meta.is_dir() {
            return Err(config(existing, &io::Error::from(Errno::ENOTDIR)));
        }
        let owner = Uid::from_raw(meta.uid());
        let others_may_search = meta.mode() & 0o011 != 0;
        Ok(Self { folder, workspace, owner, others_may_search, clock })
    }

    /// The workspace: where adapters run.
    #[must_use]
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// The card folder, for the environment of attempts.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The clock that written times come from.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Where the card is, for the environment of attempts.
    #[must_use]
    pub fn card_path(&self, id: &TaskId) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    /// Where the attempts' logs are.
    #[must_use]
    pub fn logs_folder(&self, id: &str) -> PathBuf {
        self.folder.join("logs").join(id)
    }

    /// The files that are cards, or stand where one would, by name.
    ///
    /// # Errors
    /// `Io` when the folder cannot be listed; one that does not exist is empty.
    pub fn list(&self) -> Result<Listing, Error> {
        Listing::read(&self.folder).map_err(|error| Error::io(format!("cannot list {}: {}", self.folder.display(), cause(&error))))
    }

    /// Reads a listed card's bytes; the buffer is kept for the next one.
    ///
    /// # Errors
    /// `Missing` when it went away since the listing.
    pub fn read_entry<'b>(&self, entry: Entry<'_>, buffer: &'b mut Vec<u8>) -> Result<&'b [u8], LoadError> {
        read::card_file(entry.folder, entry.name, entry.regular, self.others_may_search, buffer)
    }

    /// The same without trusting the listing or a short read.
    ///
    /// # Errors
    /// As `read_entry`.
    pub fn read_entry_carefully<'b>(&self, entry: Entry<'_>, buffer: &'b mut Vec<u8>) -> Result<&'b [u8], LoadError> {
        read::card_file(entry.folder, entry.name, false, self.others_may_search, buffer)
    }

    /// Loads a card, everything in it checked.
    ///
    /// # Errors
    /// See `LoadError`.
    pub fn load(&self, id: &TaskId) -> Result<(Document, Card), LoadError> {
        let mut buffer = Vec::new();
        let read = self.read(&format!("{id}.json"), &mut buffer);
        let parsed = read.and_then(|bytes| Document::parse(bytes, id.as_str()).map_err(LoadError::Bad));
        parsed.map_err(|error| error.at(self.card_path(id)))
    }

    /// The history of a task, filed away or not.
    ///
    /// # Errors
    /// `Io` when it cannot be read.
    pub fn history(&self, id: &TaskId) -> Result<Vec<Value>, Error> {
        let read = |path: PathBuf| {
            history::read(&path).map_err(|error| Error::io(format!("cannot read {}: {}", path.display(), cause(&error))))
        };
        // In this order: what is filed away between the two looks is then seen by both, and by none in the other one.
        let lines = read(self.history_path(id))?;
        let mut all = read(self.archive().join("history").join(format!("{id}.jsonl")))?;
        if !all.ends_with(&lines) {
            all.extend(lines);
        }
        Ok(all)
    }

    /// Takes the update lock of a task.
    ///
    /// # Errors
    /// `NoTask`, `Refused` when it is filed away or as root in another user's folder, `Busy` when another process holds it for
    /// long, `Io`.
    pub fn lock(&self, id: &TaskId) -> Result<Held<'_>, Error> {
        // So that a mistyped ID leaves no lock file behind. Whether the card is still there is seen under the lock.
        if fs::symlink_metadata(self.card_path(id)).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            if self.is_filed(id)? {
                return Err(Error::refused(format!("{id} is filed away and never changes again; make a new task")));
            }
            return Err(LoadError::Missing.about(id.as_str()));
        }
        self.lock_name(id)
    }

    fn lock_name(&self, id: &TaskId) -> Result<Held<'_>, Error> {
        self.refuse_root()?;
        let locks = self.folder.join(".locks");
        make_folder(&locks)?;
        let lock = UpdateLock::take(&locks.join(id.as_str()), id.as_str())?;
        Ok(Held { store: self, id: id.clone(), lock })
    }

    /// Changes a card: `change` edits the document and says what happened; no event, no write.
    ///
    /// # Errors
    /// Those of lock, load, `change` and write. The old card is there unless the message says otherwise.
    pub fn update<F>(&self, id: &TaskId, change: F) -> Result<Document, Error>
    where
        F: FnOnce(&mut Document, &Card, Timestamp) -> Result<Option<Event>, Error>,
    {
        let held = self.lock(id)?;
        let (mut document, card) = held.load().map_err(|error| error.about(id.as_str()))?;
        match change(&mut document, &card, self.clock.stamp())? {
            Some(event) => held.replace(document, event),
            None => {
                // Whoever wrote this state may have been killed before the history had it. When it is the task's end, nobody
                // writes after it: a command that is repeated notes the gap.
                held.note(document.count("revision"), self.clock.stamp(), &[]);
                if let Err(error) = task_state::remove_leftover(&document, &self.card_path(id)) {
                    say(&error);
                }
                Ok(document)
            }
        }
    }

    /// Makes a new card.
    ///
    /// # Errors
    /// `Exists` when there is one, filed away or not; those of lock and write.
    pub fn create(&self, id: &TaskId, document: Document, event: Event) -> Result<Document, Error> {
        self.refuse_root()?;
        make_folder(&self.folder)?;
        let held = self.lock_name(id)?;
        for folder in [self.folder.clone(), self.archive()] {
            let path = folder.join(format!("{id}.json"));
            match fs::symlink_metadata(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Ok(_) => {
                    let taken = format!("task {id} exists already: {}; choose another ID", path.display());
                    return Err(Error::new(Exit::Exists, taken));
                }
                // Not knowing whether there is one is no leave to replace it.
                Err(error) => return Err(Error::io(format!("cannot look for {}: {}", path.display(), cause(&error)))),
            }
        }
        held.replace(document, event)
    }

    /// Changes a file of the store's own that is no card: what it held, or nothing, becomes what `change` makes of it.
    ///
    /// # Errors
    /// Those of lock and write.
    pub fn update_private(&self, name: &str, change: impl FnOnce(&[u8]) -> Vec<u8>) -> Result<(), Error> {
        self.refuse_root()?;
        let locks = self.folder.join(".locks");
        make_folder(&locks)?;
        let _lock = UpdateLock::take(&locks.join(name), name)?;
        let bytes = change(&self.read_private(name));
        let failed = |error| Error::io(format!("cannot write {}: {error}", self.folder.join(name).display()));
        durable::replace(&self.folder, name, &bytes).map_err(failed)
    }

    /// Reads a file of the store's own that is no card; empty when it is not there or too large.
    #[must_use]
    pub fn read_private(&self, name: &str) -> Vec<u8> {
        let mut buffer = Vec::new();
        self.read(name, &mut buffer).map(<[u8]>::to_vec).unwrap_or_default()
    }

    fn history_path(&self, id: &TaskId) -> PathBuf {
        self.folder.join("history").join(format!("{id}.jsonl"))
    }

    /// So that no file that root owns locks the user out.
    fn refuse_root(&self) -> Result<(), Error> {
        if Uid::effective().is_root() && !self.owner.is_root() {
            let name = User::from_uid(self.owner).ok().flatten().map_or_else(|| format!("uid {}", self.owner), |user| user.name);
            return Err(Error::refused(format!("{} belongs to {name}: run it as {name}, not as root", self.folder.display())));
        }
        Ok(())
    }

    fn read<'b>(&self, name: &str, buffer: &'b mut Vec<u8>) -> Result<&'b [u8], LoadError> {
        read::card_file(AT_FDCWD, self.folder.join(name).as_path(), false, self.others_may_search, buffer)
    }
}

fn make_folder(folder: &Path) -> Result<(), Error> {
    durable::make_folder(folder).map_err(|error| Error::io(format!("cannot make {}: {}", folder.display(), cause(&error))))
}

/// A task whose update lock is held.
#[derive(Debug)]
pub struct Held<'a> {
    store: &'a Store,
    id: TaskId,
    lock: UpdateLock,
}

impl Held<'_> {
    /// The card as it is now, to be edited.
    ///
    /// # Errors
    /// See `LoadError`.
    pub fn load(&self) -> Result<(Document, Card), LoadError> {
        let (mut document, card) = self.store.load(&self.id)?;
        document.adopt();
        Ok((document, card))
    }

    /// Writes the card, and what happened into the history.
    ///
    /// # Errors
    /// `BadData` when it would be no valid card or too large, `Io` when it could not be written.
    pub fn replace(&self, mut document: Document, event: Event) -> Result<Document, Error> {
        let id = self.id.as_str();
        let now = self.store.clock.stamp();
        document.adopt();
        let notes = document.take_notes();
        let revision = document.count("revision") + 1;
        document.set("revision", revision);
        document.set_time("updated_at", now);
        let bytes = document.bytes_checked()?;
        Document::validate(&bytes, id)
            .map_err(|error| Error::data(format!("the card of {id} would not be valid: {}; nothing is written", error.detail)))?;
        // What the session's file has seen already; read again, as the caller may have brought a whole card of its own.
        let old = task_state::named_by(&document).and_then(|_| {
            let written = task_state::modified(&self.store.card_path(&self.id))?;
            Some((self.store.load(&self.id).ok()?.0, written))
        });
        durable::replace(&self.store.folder, &format!("{id}.json"), &bytes).map_err(|error| match error {
            ReplaceError::NotApplied(..) => {
                let path = self.store.card_path(&self.id);
                let left = if revision > 1 { "the old one is unchanged" } else { "no card was made" };
                Error::io(format!("cannot write the card of {id}: {}: {error}; {left}", path.display()))
            }
            ReplaceError::DurabilityUnknown(_) => Error::io(format!("the card of {id}: {error}")),
        })?;
        let mut events = vec![event];
        if !notes.is_empty() {
            events.push(Event::new("adopted").with("detail", notes.join("; ")));
        }
        self.note(revision, now, &events);
        if let Err(error) = task_state::mirror(&document, old.as_ref()) {
            say(&format!("the card of {id} is saved, but {error}"));
        }
        Ok(document)
    }

    /// Appends to the history without touching the card.
    pub fn note(&self, revision: u64, at: Timestamp, events: &[Event]) {
        let path = self.store.history_path(&self.id);
        let made = path.parent().map_or(Ok(()), durable::make_folder);
        if let Err(error) = made.and_then(|()| history::append(&path, revision, at, events)) {
            // The card is the only source of state, and it is safe.
            say(&format!(
                "the card of {} is saved, but its history {} lacks the event: {}",
                self.id,
                path.display(),
                cause(&error)
            ));
        }
    }
}
