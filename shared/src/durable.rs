//! Durable replace, in four steps: write a temporary file in the same folder, fsync it, rename
//! it over the old one, fsync the folder.
//!
//! States: before the rename the old content is there whole, after it the new one. A leftover
//! temporary file of a killed writer is unlinked by the next one; the caller holds the lock that
//! makes it the only writer of this name. Only a failed fsync of the folder leaves a doubt: the
//! new content is visible, but a power cut might bring the old one back.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use nix::fcntl::OFlag;

use crate::exit::cause;

/// How a replace failed.
#[derive(Debug)]
pub enum ReplaceError {
    /// The old content is still there. The step that failed, and why.
    NotApplied(&'static str, io::Error),
    /// The new content is there, but may not survive a power cut.
    DurabilityUnknown(io::Error),
}

impl std::fmt::Display for ReplaceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotApplied(step, error) => write!(f, "{step}: {}", cause(error)),
            Self::DurabilityUnknown(error) => {
                write!(
                    f,
                    "it is written, but whether it would survive a power cut is unknown: fsync of the folder: {}",
                    cause(error)
                )
            }
        }
    }
}

/// Replaces `folder/name` by these bytes, mode 0600.
///
/// # Errors
/// See `ReplaceError`.
pub fn replace(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), ReplaceError> {
    replace_through(folder, name, &format!("{name}.tmp"), bytes, &Mode::New(0o600))
}

/// The mode that a file gets.
#[derive(Clone, Debug)]
pub enum Mode {
    /// This one, less what the umask takes away.
    New(u32),
    /// Exactly this one, as the file had it before.
    Kept(Permissions),
}

/// Replaces `folder/name` by these bytes through a temporary file of this name in the same folder.
///
/// # Errors
/// See `ReplaceError`.
pub fn replace_through(folder: &Path, name: &str, temporary: &str, bytes: &[u8], mode: &Mode) -> Result<(), ReplaceError> {
    let path = folder.join(name);
    let temporary = folder.join(temporary);
    let written =
        write_new(&temporary, bytes, mode).and_then(|()| fs::rename(&temporary, &path).map_err(|error| ("rename", error)));
    if let Err((step, error)) = written {
        // Best effort: the next writer unlinks it too.
        drop(fs::remove_file(&temporary));
        return Err(ReplaceError::NotApplied(step, error));
    }
    sync_folder(folder).map_err(ReplaceError::DurabilityUnknown)
}

fn write_new(path: &Path, bytes: &[u8], mode: &Mode) -> Result<(), (&'static str, io::Error)> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(("unlink of an old temporary file", error)),
        _ => {}
    }
    let mut options = OpenOptions::new();
    let first = if let Mode::New(mode) = mode { *mode } else { 0o600 };
    options.write(true).create_new(true).mode(first).custom_flags(OFlag::O_NOFOLLOW.bits());
    let mut file = options.open(path).map_err(|error| ("create", error))?;
    if let Mode::Kept(permissions) = mode {
        file.set_permissions(permissions.clone()).map_err(|error| ("chmod", error))?;
    }
    file.write_all(bytes).map_err(|error| ("write", error))?;
    file.sync_all().map_err(|error| ("fsync", error))
}

/// Makes the entries of a folder durable.
///
/// # Errors
/// Those of open and fsync.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Makes a folder and its missing parents, mode 0700, durably.
///
/// # Errors
/// Those of mkdir and fsync.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return if fs::metadata(folder)?.is_dir() { Ok(()) } else { Err(error) };
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_folder(folder.parent().ok_or(error)?)?;
            return make_folder(folder);
        }
        Err(error) => return Err(error),
    }
    folder.parent().map_or(Ok(()), sync_folder)
}
