//! `card archive --cleanup`: removes the paths that a task lists in `metadata.cleanup`.
//!
//! A card's values are not trusted. A path is removed only when it is absolute, without `..`, and,
//! with every link on the way to it followed, strictly inside the workspace or the temporary folder,
//! and neither holds the workspace or its data folder nor is in the card folder. The last name is
//! never followed: a link is removed, not what it points to.
//!
//! Somebody may put a link in the way between the look and the removal. So the removal opens each
//! folder from the one before it, following nothing, from the workspace or the temporary folder down:
//! a link there is an error.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;
use shared::document::Document;
use shared::folder::{open_folder, open_in, remove_tree};
use shared::store::Store;

/// Where paths may be removed, and what may not.
#[derive(Debug)]
pub(crate) struct Cleanup {
    roots: Vec<PathBuf>,
    /// Neither these nor what holds them.
    kept: Vec<PathBuf>,
    cards: PathBuf,
    /// What a dry run said would be removed: what is in it, or named again, would be gone then.
    gone: HashSet<PathBuf>,
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
        // Where they are, and where they are looked for: data or task-runs may be a link.
        let way = store.workspace().join("data/task-runs");
        let way = if fs::canonicalize(&way).is_ok_and(|found| found == cards) { way } else { cards.clone() };
        let mut kept = vec![store.workspace().to_owned()];
        kept.extend([&cards, &way].into_iter().flat_map(|cards| cards.ancestors().take(2)).map(Path::to_owned));
        Self { roots: roots.collect(), kept, cards, gone: HashSet::new() }
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
    pub(crate) fn remove(&mut self, path: &str, dry_run: bool) -> io::Result<Removal> {
        let path = Path::new(path);
        let refused = |why: &str| Ok(Removal::Refused(why.to_owned()));
        if !path.is_absolute() || path.components().any(|part| part == Component::ParentDir) {
            return refused("it is no absolute path without ..");
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return refused("it is everything") };
        if self.is_gone(path) {
            return Ok(Removal::Absent);
        }
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
            Ok(_) if self.is_gone(&full) => return Ok(Removal::Absent),
            Ok(_) => {}
            Err(error) if is_absence(&error) => return Ok(Removal::Absent),
            Err(error) => return Err(error),
        }
        if dry_run {
            self.gone.insert(full);
            return Ok(Removal::Removed);
        }
        let (root, way) = inside;
        let mut folder = open_folder(root)?;
        for part in way {
            folder = open_in(&folder, part)?;
        }
        remove_tree(&folder, name)?;
        Ok(Removal::Removed)
    }

    fn is_gone(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.gone.contains(above))
    }
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
