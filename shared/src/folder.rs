//! Folders by descriptor: listing one, and removing a tree without following a link.
//!
//! The standard library ends a program when a folder cannot be closed. What is only read is closed here without a word.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::Mode;
use nix::unistd::{UnlinkatFlags, unlinkat};

use crate::interrupted::again;

/// Folders in folders beyond this are not removed: each keeps one open.
const DEPTH_MAX: usize = 200;
const FLAGS: OFlag = OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_CLOEXEC);

/// Opens a folder; links are followed.
///
/// # Errors
/// Those of open.
pub fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    again(|| Ok(open(path, FLAGS, Mode::empty())?))
}

/// Opens a folder in a folder; a link is none.
///
/// # Errors
/// Those of open.
pub fn open_in(folder: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    again(|| Ok(openat(folder, name, FLAGS.union(OFlag::O_NOFOLLOW), Mode::empty())?))
}

/// The names in an open folder, but for `.` and `..`.
///
/// # Errors
/// Those of reading.
pub fn names(folder: &OwnedFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::from_fd(folder.as_fd().try_clone_to_owned()?)?.iter() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    }
    Ok(names)
}

/// Removes a name of a folder with everything in it. One that is not there is removed already.
///
/// # Errors
/// Those of open and unlink; some of it may be gone then.
pub fn remove_tree(folder: &OwnedFd, name: &OsStr) -> io::Result<()> {
    remove(folder, name, 0)
}

fn remove(folder: &OwnedFd, name: &OsStr, depth: usize) -> io::Result<()> {
    let inner = match open_in(folder, name) {
        Ok(inner) => inner,
        Err(error) => match error.raw_os_error().map(Errno::from_raw) {
            Some(Errno::ENOENT) => return Ok(()),
            // A file or a link: neither is a folder that is followed into.
            Some(Errno::ENOTDIR | Errno::ELOOP) => return gone(unlinkat(folder, name, UnlinkatFlags::NoRemoveDir)),
            _ => return Err(error),
        },
    };
    if depth == DEPTH_MAX {
        return Err(io::Error::other(format!("more than {DEPTH_MAX} folders are in each other")));
    }
    // All names first: what a listing shows while it is removed from is not said.
    for name in names(&inner)? {
        remove(&inner, &name, depth + 1)?;
    }
    gone(unlinkat(folder, name, UnlinkatFlags::RemoveDir))
}

/// Somebody else may be removing the same.
fn gone(result: nix::Result<()>) -> io::Result<()> {
    match result {
        Err(Errno::ENOENT) => Ok(()),
        result => Ok(result?),
    }
}
