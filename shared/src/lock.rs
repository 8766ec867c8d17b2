//! Locks: `flock(2)` on permanent files. A lock belongs to the open file, is shared by its
//! duplicates and by children that inherit them, and is freed when the last of them is closed:
//! a crash frees it, and nothing has to be cleaned up.
//!
//! The update lock of a card is held for milliseconds. It is tried first; when it is busy, a
//! helper thread waits for it, because a blocking `flock` knows no time limit. When the caller
//! gives up before the thread gets the lock, nobody receives the file and the thread drops it,
//! which frees the lock. Only its holder unlinks it, with a task that is deleted for good: whoever
//! waited for it then gets the lock on a file without a name, sees that, and takes the one that has
//! the name now. Else two processes would hold "the" lock on two different files.
//!
//! Probing asks for a shared lock on a fresh read-only open: two exclusive probes would take
//! each other for holders, and unlocking through a duplicate would free the owner's lock too.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use nix::fcntl::OFlag;

use crate::exit::{Error, Exit, cause};
use crate::interrupted::again;
use crate::talk::say;

/// The longest wait for an update lock.
pub const WAIT_MAX: Duration = Duration::from_secs(10);
/// Waits shorter than this are not mentioned.
const WAIT_UNSAID: Duration = Duration::from_secs(1);

/// A held update lock; dropping it frees it.
#[derive(Debug)]
pub struct UpdateLock {
    file: File,
    path: PathBuf,
}

impl UpdateLock {
    /// Takes the lock in this file, made when it is absent. `what` names it for people.
    ///
    /// # Errors
    /// `Busy` after ten seconds, naming the holder where the system tells; `Io` otherwise.
    pub fn take(path: &Path, what: &str) -> Result<Self, Error> {
        loop {
            let lock = Self::take_once(path, what)?;
            let meta = lock.file.metadata();
            let meta = meta.map_err(|error| Error::io(format!("cannot lock {what}: {}: {}", path.display(), cause(&error))))?;
            if meta.nlink() > 0 {
                return Ok(lock);
            }
        }
    }

    /// Frees it and takes its file away. Best effort: an empty file that stays is nobody's lock.
    pub fn remove(self) {
        drop(fs::remove_file(&self.path));
    }

    fn take_once(path: &Path, what: &str) -> Result<Self, Error> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        options.custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits());
        let failed = |error: &io::Error| Error::io(format!("cannot lock {what}: {}: {}", path.display(), cause(error)));
        let file = options.open(path).map_err(|error| failed(&error))?;
        let tried = again(|| match file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        });
        if tried.map_err(|error| failed(&error))? {
            return Ok(Self { file, path: path.to_owned() });
        }
        let inode = file.metadata().map(|meta| meta.ino()).unwrap_or_default();
        let (sender, receiver) = mpsc::channel();
        let waiter = std::thread::Builder::new().spawn(move || {
            let locked = again(|| file.lock());
            // Nobody receives it any more: the file is dropped with the message, and so unlocked.
            drop(sender.send(locked.map(|()| file)));
        });
        waiter.map_err(|error| failed(&error))?;
        let answer = match receiver.recv_timeout(WAIT_UNSAID) {
            Err(_) => {
                say(&format!("waiting for the lock of {what}, {}", holder(inode)));
                receiver.recv_timeout(WAIT_MAX.saturating_sub(WAIT_UNSAID))
            }
            answer => answer,
        };
        match answer {
            Ok(Ok(file)) => Ok(Self { file, path: path.to_owned() }),
            Ok(Err(error)) => Err(failed(&error)),
            Err(_) => Err(Error::new(
                Exit::Busy,
                format!("cannot lock {what}: {} (waited {} s); try again", holder(inode), WAIT_MAX.as_secs()),
            )),
        }
    }
}

impl Drop for UpdateLock {
    fn drop(&mut self) {
        // Explicitly: a process that is being spawned by another thread may hold a copy for a moment.
        drop(self.file.unlock());
    }
}

/// Whether anyone holds an exclusive lock on this file. A file that is not there is held by nobody; one that cannot be
/// opened counts as held, because running a task twice is worse than waiting.
#[must_use]
pub fn is_held(path: &Path) -> bool {
    probe(path).unwrap_or(true)
}

/// The same for callers that tell why it is not known.
///
/// # Errors
/// Those of open and flock.
pub fn probe(path: &Path) -> io::Result<bool> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits());
    let file = match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        file => file?,
    };
    again(|| match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    })
}

/// Who holds the lock on the file with this inode, as far as `/proc/locks` tells.
fn holder(inode: u64) -> String {
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    let pid = locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, "WRITE", pid, place, ..] = words.as_slice() else { return None };
        (place.rsplit(':').next() == Some(&inode.to_string())).then(|| (*pid).to_owned())
    });
    pid.map_or_else(|| "held by another process".to_owned(), |pid| format!("held by pid {pid}"))
}
