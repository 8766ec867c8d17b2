//! The outbox: what detached supervisors have to tell, until a pass tells it.
//!
//! `.outbox/<task_id>.<attempt>` holds the lines of one supervisor, written whole by its end. A
//! pass locks such a file, prints it, unlinks it, and lets go. Of two passes one gets the lock;
//! the other goes on, or finds the file unlinked. A pass that dies in between leaves the file:
//! its lines are told once more rather than never.

use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use serde_json::Value;
use shared::durable;
use shared::exit::{Error, cause};
use shared::signal::Line;
use shared::store::Store;
use shared::stream::RECORD_BYTES_MAX;
use shared::talk::say;

fn folder(store: &Store) -> PathBuf {
    store.folder().join(".outbox")
}

/// Leaves lines for the next pass.
pub(crate) fn leave(store: &Store, task_id: &str, attempt: u64, lines: &[Line]) -> Result<(), Error> {
    let folder = folder(store);
    let text: String = lines.iter().map(|line| Value::Object(line.0.clone()).to_string() + "\n").collect();
    durable::make_folder(&folder).map_err(|error| Error::io(format!("cannot make {}: {}", folder.display(), cause(&error))))?;
    let name = format!("{task_id}.{attempt}");
    durable::replace(&folder, &name, text.as_bytes())
        .map_err(|error| Error::io(format!("cannot write {}: {error}", folder.join(&name).display())))
}

/// Lines that this pass is about to tell, and nobody else.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) lines: Vec<Line>,
    path: PathBuf,
    /// Locked; let go when it is dropped.
    _file: File,
}

impl Taken {
    /// They were told.
    pub(crate) fn done(self) {
        // What stays is told once more.
        drop(fs::remove_file(&self.path));
    }
}

/// Takes what nobody else is telling.
pub(crate) fn take(store: &Store) -> Vec<Taken> {
    let entries = fs::read_dir(folder(store)).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end != "tmp")).collect();
    paths.sort();
    paths.into_iter().filter_map(|path| take_one(&path)).collect()
}

fn take_one(path: &Path) -> Option<Taken> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits());
    let mut file = options.open(path).ok()?;
    file.try_lock().ok()?;
    let meta = file.metadata().ok()?;
    // Told and unlinked by another pass between our open and our lock; or somebody else's.
    if meta.nlink() == 0 || !meta.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    let read = (&mut file).take(RECORD_BYTES_MAX as u64).read_to_end(&mut bytes);
    let lines: Result<Vec<Line>, _> = bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).map(Line))
        .collect();
    match (read, lines) {
        (Ok(_), Ok(lines)) => Some(Taken { lines, path: path.to_owned(), _file: file }),
        _ => {
            say(&format!("{} is not what a supervisor leaves and is skipped; look at it, then remove it", path.display()));
            None
        }
    }
}
