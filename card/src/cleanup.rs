//! `card archive --cleanup`: removes the paths that a task lists in `metadata.cleanup`.
//!
//! A card's values are not trusted. A path is removed only when it is absolute, without `..`, and,
//! with every link on the way to it followed, strictly inside the workspace or the temporary folder,
//! and neither holds the workspace or its data folder nor is in the card folder. The last name is
//! never followed: a link is removed, not what it points to.
//!
//! Somebody may put a link in the way between the look and the removal. So the removal opens each
//! folder from the one before it, following nothing, from the root down: a link there is an error.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::Mode;
use nix::unistd::{UnlinkatFlags, unlinkat};
use serde_json::Value;
use shared::document::Document;
use shared::store::Store;

/// Folders in folders beyond this are not removed: each keeps one open.
const DEPTH_MAX: usize = 200;
/// Links aside, nothing is opened but folders.
const FOLDER: OFlag = OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

/// Where paths may be removed, and what may not.
#[derive(Debug)]
pub(crate) struct Cleanup {
    roots: Vec<PathBuf>,
    /// Neither these nor what holds them.
    kept: [PathBuf; 3],
    cards: PathBuf,
}

/// What became of a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Removal {
    /// There was nothing.
    Absent,
    Removed,
    /// Why not.
    Refused(String),
}

impl Cleanup {
    /// For this workspace, and the temporary folder of this environment.
    pub(crate) fn new(store: &Store) -> Self {
        let roots = [store.workspace().to_owned(), std::env::temp_dir()];
        // A root that is everything limits nothing.
        let roots = roots.into_iter().filter_map(|root| fs::canonicalize(root).ok()).filter(|root| root.parent().is_some());
        let cards = store.folder().to_owned();
        let data = cards.parent().map_or_else(|| cards.clone(), Path::to_owned);
        Self { roots: roots.collect(), kept: [store.workspace().to_owned(), data, cards.clone()], cards }
    }

    /// The paths of a card, as they are written; what is no text shows as JSON, and is refused as a path.
    pub(crate) fn paths(document: &Document) -> Vec<String> {
        let listed = document.get("metadata").and_then(|metadata| metadata.get("cleanup"));
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match listed {
            None => Vec::new(),
            Some(Value::Array(paths)) => paths.iter().map(text).collect(),
            Some(other) => vec![text(other)],
        }
    }

    /// Removes a path with everything in it; with `dry_run` only says what would become of it.
    pub(crate) fn remove(&self, path: &str, dry_run: bool) -> io::Result<Removal> {
        let path = Path::new(path);
        let refused = |why: &str| Ok(Removal::Refused(why.to_owned()));
        if !path.is_absolute() || path.components().any(|part| part == Component::ParentDir) {
            return refused("it is no absolute path without ..");
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return refused("it is everything") };
        let parent = match fs::canonicalize(parent) {
            Err(error) if is_absence(&error) => return Ok(Removal::Absent),
            parent => parent?,
        };
        let full = parent.join(name);
        let Some(inside) = self.roots.iter().find_map(|root| Some((root, parent.strip_prefix(root).ok()?))) else {
            return refused("it is neither in the workspace nor in the temporary folder");
        };
        if full.starts_with(&self.cards) || self.kept.iter().any(|kept| kept.starts_with(&full)) {
            return refused("it holds the workspace or its data, or is a part of them");
        }
        match fs::symlink_metadata(&full) {
            Ok(_) => {}
            Err(error) if is_absence(&error) => return Ok(Removal::Absent),
            Err(error) => return Err(error),
        }
        if !dry_run {
            let (root, way) = inside;
            let mut folder = open(root, FOLDER, Mode::empty())?;
            for part in way {
                folder = openat(&folder, part, FOLDER, Mode::empty())?;
            }
            remove_in(&folder, Path::new(name), 0)?;
        }
        Ok(Removal::Removed)
    }
}

/// Removes a name of a folder: first as a file or link, then as a folder.
fn remove_in(folder: &OwnedFd, name: &Path, depth: usize) -> io::Result<()> {
    let inner = match openat(folder, name, FOLDER, Mode::empty()) {
        Ok(inner) => inner,
        Err(Errno::ENOENT) => return Ok(()),
        // A file or a link: neither is a folder that is followed into.
        Err(Errno::ENOTDIR | Errno::ELOOP) => return gone(unlinkat(folder, name, UnlinkatFlags::NoRemoveDir)),
        Err(error) => return Err(error.into()),
    };
    if depth == DEPTH_MAX {
        return Err(io::Error::other(format!("more than {DEPTH_MAX} folders are in each other")));
    }
    // All names first: what a listing shows while it is removed from is not said.
    let mut names = Vec::new();
    for entry in Dir::from_fd(inner.as_fd().try_clone_to_owned()?)?.iter() {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            names.push(entry.file_name().to_owned());
        }
    }
    for name in names {
        remove_in(&inner, Path::new(OsStr::from_bytes(name.to_bytes())), depth + 1)?;
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

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
