//! The archive: finished cards, filed away with their history and logs, and deleted from there one day.
//!
//! ```text
//! <cards>/<id>.json            → <cards>/archive/<id>.json
//! <cards>/history/<id>.jsonl   → <cards>/archive/history/<id>.jsonl
//! <cards>/logs/<id>/           → <cards>/archive/logs/<id>/
//! ```
//! Everything happens under the task's update lock. The card comes last, both ways: where it is, the
//! task is. Filing away moves the logs, the history, then the card, each by one rename that is durable
//! in both folders before the next; a kill in between leaves a card that is simply filed away again.
//! Deleting takes the logs, the history, then the card, and at the very end the lock file; a kill in
//! between leaves an archived card that is simply deleted again, or an empty lock file, which is none's.
//!
//! Readers take no lock. They look in the folder first and in the archive then: the one rename in
//! between cannot hide the card from both looks.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{Held, Store, make_folder};
use crate::card::Card;
use crate::document::Document;
use crate::durable::{self, ReplaceError, sync_folder};
use crate::exit::{Error, Exit, cause};
use crate::folder::{names, open_folder, remove_tree};
use crate::id::TaskId;
use crate::listing::Listing;
use crate::read::LoadError;

const HISTORY: &str = "history";
const LOGS: &str = "logs";

/// A card, wherever it was.
#[derive(Debug)]
pub struct Found {
    /// As it is written.
    pub document: Document,
    /// As it is read.
    pub card: Card,
    /// It is in the archive.
    pub filed: bool,
}

impl Store {
    /// The archive's folder, which need not be there.
    #[must_use]
    pub fn archive(&self) -> PathBuf {
        self.folder.join("archive")
    }

    /// The cards of the archive, by name.
    ///
    /// # Errors
    /// As `list`.
    pub fn list_filed(&self) -> Result<Listing, Error> {
        let folder = self.archive();
        Listing::read(&folder).map_err(|error| Error::io(format!("cannot list {}: {}", folder.display(), cause(&error))))
    }

    /// Loads a card of the archive, everything in it checked.
    ///
    /// # Errors
    /// See `LoadError`.
    pub fn load_filed(&self, id: &TaskId) -> Result<(Document, Card), LoadError> {
        let mut buffer = Vec::new();
        let read = self.read(&format!("archive/{id}.json"), &mut buffer);
        let parsed = read.and_then(|bytes| Document::parse(bytes, id.as_str()).map_err(LoadError::Bad));
        parsed.map_err(|error| error.at(self.archive().join(format!("{id}.json"))))
    }

    /// Loads a card, filed away or not.
    ///
    /// # Errors
    /// See `LoadError`.
    pub fn find(&self, id: &TaskId) -> Result<Found, LoadError> {
        match self.load(id) {
            Ok((document, card)) => Ok(Found { document, card, filed: false }),
            Err(LoadError::Missing) => self.load_filed(id).map(|(document, card)| Found { document, card, filed: true }),
            Err(error) => Err(error),
        }
    }

    /// Whether a card of this ID is in the archive.
    ///
    /// # Errors
    /// `Io` when that cannot be told.
    pub fn is_filed(&self, id: &TaskId) -> Result<bool, Error> {
        let path = self.archive().join(format!("{id}.json"));
        is_there(&path).map_err(|error| Error::io(format!("cannot look for {}: {}", path.display(), cause(&error))))
    }

    /// Takes the update lock of a task that is in the archive. Whether it still is, is seen under the lock.
    ///
    /// # Errors
    /// As `lock`, but for `NoTask`.
    pub fn lock_filed(&self, id: &TaskId) -> Result<Held<'_>, Error> {
        self.lock_name(id)
    }

    /// Whether a detached attempt of the task has left lines that no pass has told yet.
    ///
    /// # Errors
    /// `Io` when the outbox cannot be listed.
    pub fn is_untold(&self, id: &TaskId) -> Result<bool, Error> {
        let folder = self.folder.join(".outbox");
        let names = match open_folder(&folder).and_then(|folder| names(&folder)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            names => names.map_err(|error| Error::io(format!("cannot list {}: {}", folder.display(), cause(&error))))?,
        };
        // An ID may have dots; the attempt's number has none.
        let parts = names.iter().filter_map(|name| name.to_str()?.rsplit_once('.'));
        let is_its = |(task, attempt): (&str, &str)| task == id.as_str() && attempt.bytes().all(|byte| byte.is_ascii_digit());
        Ok(parts.into_iter().any(is_its))
    }
}

impl Held<'_> {
    /// Files the task away. Whether it may be is the caller's question, under this lock.
    ///
    /// # Errors
    /// `Exists` when another card of this ID is in the archive, `Io`. The card is where it was unless the message says otherwise.
    pub fn file_away(&self) -> Result<(), Error> {
        let (id, folder, archive) = (&self.id, &self.store.folder, self.store.archive());
        for folder in [archive.clone(), archive.join(HISTORY), archive.join(LOGS)] {
            make_folder(&folder)?;
        }
        let failed = |what: &str, error: &io::Error| {
            Error::io(format!("cannot file {id} away: {what}: {}; the card is where it was: try again", cause(error)))
        };
        let name = format!("{id}.json");
        let (from, to) = (folder.join(&name), archive.join(&name));
        if is_there(&to).map_err(|error| failed("the archive", &error))? {
            // After a power cut a file system may have the same card in both folders.
            let same =
                fs::read(&from).and_then(|card| Ok(card == fs::read(&to)?)).map_err(|error| failed("the archive", &error))?;
            if !same {
                let other = format!("{} is another card of this ID: rename one of them, and its task_id, by hand", to.display());
                return Err(Error::new(Exit::Exists, other));
            }
        }
        self.file_logs().map_err(|error| failed("its logs", &error))?;
        self.file_history().map_err(|error| failed("its history", &error))?;
        // Of a writer that was killed. Nobody would ever come across it again.
        drop(fs::remove_file(folder.join(format!("{name}.tmp"))));
        move_over(&from, &to).map_err(|error| failed("rename", &error))?;
        let durable = sync_folder(&archive).and_then(|()| sync_folder(folder));
        durable.map_err(|error| Error::io(format!("{id} is filed away: {}", ReplaceError::DurabilityUnknown(error))))
    }

    /// Deletes the task from the archive, and its lock file with it.
    ///
    /// # Errors
    /// `Io`. The card is still there unless the message says otherwise.
    pub fn delete_filed(self) -> Result<(), Error> {
        let (id, archive) = (&self.id, self.store.archive());
        let failed = |what: &str, error: &io::Error| {
            Error::io(format!("cannot delete {id} from the archive: {what}: {}; try again", cause(error)))
        };
        let (history, logs) = (archive.join(HISTORY), archive.join(LOGS));
        let removed = unless_absent(open_folder(&logs).and_then(|logs| remove_tree(&logs, id.as_str().as_ref())));
        removed.and_then(|there| if there { sync_folder(&logs) } else { Ok(()) }).map_err(|error| failed("its logs", &error))?;
        let removed = unless_absent(fs::remove_file(history.join(format!("{id}.jsonl"))));
        removed
            .and_then(|gone| if gone { sync_folder(&history) } else { Ok(()) })
            .map_err(|error| failed("its history", &error))?;
        unless_absent(fs::remove_file(archive.join(format!("{id}.json")))).map_err(|error| failed("its card", &error))?;
        sync_folder(&archive).map_err(|error| Error::io(format!("{id} is deleted: {}", ReplaceError::DurabilityUnknown(error))))?;
        self.lock.remove();
        Ok(())
    }

    fn file_logs(&self) -> io::Result<()> {
        let (live, filed) = (self.store.folder.join(LOGS), self.store.archive().join(LOGS));
        let (from, to) = (live.join(self.id.as_str()), filed.join(self.id.as_str()));
        if !is_there(&from)? {
            return Ok(());
        }
        if !is_there(&to)? {
            return rename(&from, &to);
        }
        // Both are there after a power cut, or when somebody brought back a part by hand.
        for name in names(&open_folder(&from)?)? {
            move_over(&from.join(&name), &to.join(&name))?;
        }
        sync_folder(&to)?;
        fs::remove_dir(&from)?;
        sync_folder(&live)
    }

    fn file_history(&self) -> io::Result<()> {
        let (live, filed) = (self.store.folder.join(HISTORY), self.store.archive().join(HISTORY));
        let name = format!("{}.jsonl", self.id);
        let (from, to) = (live.join(&name), filed.join(&name));
        if !is_there(&from)? {
            return Ok(());
        }
        if !is_there(&to)? {
            return rename(&from, &to);
        }
        // As with the logs; or a command was repeated after a kill between the history's move and the card's.
        for path in [&from, &to] {
            if !fs::symlink_metadata(path)?.is_file() {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
            }
        }
        let (new, mut all) = (fs::read(&from)?, fs::read(&to)?);
        // It ends so when a kill came between this replace and the unlink.
        if !all.ends_with(&new) {
            all.extend(new);
            durable::replace(&filed, &name, &all).map_err(|error| io::Error::other(error.to_string()))?;
        }
        fs::remove_file(&from)?;
        sync_folder(&live)
    }
}

/// Renames, for good: the new place before the old one, so that a power cut never leaves neither.
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    to.parent().map_or(Ok(()), sync_folder)?;
    from.parent().map_or(Ok(()), sync_folder)
}

/// Renames a file over what is there. A rename does nothing when both are names of one file, which is how a file system's own log
/// may bring back a rename that the power cut.
fn move_over(from: &Path, to: &Path) -> io::Result<()> {
    let file = |path| fs::symlink_metadata(path).map(|meta| (meta.dev(), meta.ino()));
    if file(from)? == file(to).unwrap_or_default() { fs::remove_file(from) } else { fs::rename(from, to) }
}

fn is_there(path: &Path) -> io::Result<bool> {
    unless_absent(fs::symlink_metadata(path).map(drop))
}

/// Whether there was something.
fn unless_absent(result: io::Result<()>) -> io::Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
