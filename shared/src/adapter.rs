//! Whether what a card wants to run can be run, and may be.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::card::Card;
use crate::read::distrust;

/// What is known of the adapter or the plain command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Usability {
    /// It can be run.
    Usable,
    /// The card names none.
    None,
    /// It is not there or cannot be executed.
    Missing(String),
    /// Others could have written it.
    Insecure(String),
}

/// Looks at what the card wants to run.
#[must_use]
pub fn usability(card: &Card, workspace: &Path) -> Usability {
    match (&card.resume_adapter, card.argv()) {
        (Some(path), _) => adapter(Path::new(path)),
        (None, []) => Usability::None,
        (None, [program, ..]) => command(program, card, workspace),
    }
}

/// A file that Python runs, whether or not it may be executed.
#[must_use]
pub fn needs_python(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "py") && !is_executable(path)
}

fn adapter(path: &Path) -> Usability {
    let shown = path.display();
    if !path.is_absolute() {
        return Usability::Missing(format!("resume_adapter {shown} is no absolute path"));
    }
    let meta = match fs::metadata(path) {
        Ok(meta) => meta,
        Err(error) => return Usability::Missing(format!("{shown}: {}", crate::exit::cause(&error))),
    };
    if !meta.is_file() {
        return Usability::Missing(format!("{shown} is no regular file"));
    }
    if let Some(why) = distrust(&meta) {
        return Usability::Insecure(format!("{shown}: {why}"));
    }
    let in_open_folder = path.parent().and_then(|folder| fs::metadata(folder).ok());
    if in_open_folder.is_some_and(|folder| folder.mode() & 0o1002 == 0o002) {
        return Usability::Insecure(format!("{shown}: everyone may write its folder"));
    }
    if !is_executable(path) && !needs_python(path) {
        return Usability::Missing(format!("{shown} is not executable; run chmod +x on it"));
    }
    Usability::Usable
}

fn command(program: &str, card: &Card, workspace: &Path) -> Usability {
    if let Some(folder) = card.cwd.as_deref().filter(|folder| !Path::new(folder).is_dir()) {
        return Usability::Missing(format!("cwd {folder} is no folder"));
    }
    if find_program(program, card, workspace).is_none() {
        return Usability::Missing(format!("command {program} is not found or not executable"));
    }
    Usability::Usable
}

/// The file that a plain command's first word means, with the card's own folder (else the workspace) and PATH.
#[must_use]
pub fn find_program(program: &str, card: &Card, workspace: &Path) -> Option<PathBuf> {
    let folder = card.cwd.as_deref().map_or(workspace, Path::new);
    let search = card.path.clone().or_else(|| std::env::var("PATH").ok()).unwrap_or_default();
    let candidates: Vec<PathBuf> = if program.contains('/') {
        vec![folder.join(program)]
    } else {
        std::env::split_paths(&search).map(|entry| folder.join(entry).join(program)).collect()
    };
    candidates.into_iter().find(|path| path.is_file() && is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o111 != 0)
}
