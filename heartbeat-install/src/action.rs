//! One step of a plan: carried out, or shown.
//!
//! Each step is whole or not done at all, and the next run of this program finds out which: a file is written beside its
//! place, made durable and renamed; a text is only replaced while it is what the plan was made from.

use std::borrow::Cow;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use shared::durable::{self, Mode};
use shared::exit::{Error, Exit, cause};

use crate::diff::unified;
use crate::disk::{Text, permissions};
use crate::manifest::{self, Manifest};
use crate::trigger::Call;

/// A step.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Makes a folder whose parent is there.
    MakeFolder { path: PathBuf, mode: u32 },
    /// Writes the manifest.
    Record(Box<Manifest>),
    /// Places a file; what is there is kept under another name first, if there is one.
    Place { path: PathBuf, bytes: Cow<'static, [u8]>, mode: u32, keep_as: Option<PathBuf> },
    /// Removes a file that is ours.
    Remove(PathBuf),
    /// Gives a file its name back.
    Restore { from: PathBuf, to: PathBuf },
    /// Removes a folder that was made, if it is empty.
    RemoveFolder(PathBuf),
    /// Replaces a text that belongs to others; `None` = no file. `lost` is a sentence about what others wrote into ours.
    Edit { file: PathBuf, before: Option<String>, after: Option<String>, lost: Option<String> },
    /// Something that another program does.
    Call(Box<Call>),
    /// Removes the manifest and what passes noted, and a card folder that was made and has no cards.
    Forget { workspace: PathBuf, card_folder_was_made: bool },
}

impl Action {
    /// Carries it out; whether it changed anything.
    pub(crate) fn carry_out(&self) -> Result<bool, Error> {
        match self {
            Self::MakeFolder { path, mode } => make_folder(path, *mode),
            Self::Record(manifest) => manifest.save().map(|()| true),
            Self::Place { path, bytes, mode, keep_as } => {
                if let Some(kept) = keep_as {
                    rename(path, kept)?;
                }
                replace(path, bytes, &Mode::New(*mode)).map(|()| true)
            }
            Self::Remove(path) => remove(path),
            Self::Restore { from, to } => rename(from, to).map(|()| true),
            Self::RemoveFolder(path) => Ok(fs::remove_dir(path).is_ok()),
            Self::Edit { file, before, after, .. } => edit(file, before.as_deref(), after.as_deref()).map(|()| true),
            Self::Call(call) => call.carry_out(),
            Self::Forget { workspace, card_folder_was_made } => forget(workspace, *card_folder_was_made),
        }
    }

    /// What another program does.
    pub(crate) fn call(call: Call) -> Self {
        Self::Call(Box::new(call))
    }

    /// Whether it is what the agent itself may not do.
    pub(crate) fn adds_job(&self) -> bool {
        matches!(self, Self::Call(call) if matches!(**call, Call::AddJob { .. }))
    }

    /// What others wrote into a text of ours, and lose.
    pub(crate) fn lost(&self) -> Option<String> {
        match self {
            Self::Edit { lost, .. } => lost.clone(),
            Self::Call(call) => match &**call {
                Call::Scratch(change) => change.lost(),
                _ => None,
            },
            _ => None,
        }
    }

    /// What a person would see of it beforehand: a diff of texts, a line starting with `#` for the rest.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::MakeFolder { path, .. } => format!("# make folder {}\n", path.display()),
            Self::Record(manifest) => format!("# note what is placed in {}\n", manifest::path(&manifest.workspace).display()),
            Self::Place { path, bytes, keep_as, .. } => {
                let kept = keep_as.as_ref().map(|kept| format!("# keep {} as {}\n", path.display(), kept.display()));
                let before = if keep_as.is_some() { None } else { fs::read(path).ok() };
                kept.unwrap_or_default() + &diff(path, before.as_deref(), Some(bytes))
            }
            Self::Remove(path) => diff(path, fs::read(path).ok().as_deref(), None),
            Self::Restore { from, to } => format!("# give {} its name {} back\n", from.display(), to.display()),
            Self::RemoveFolder(path) => format!("# remove folder {} if it is empty\n", path.display()),
            Self::Edit { file, before, after, .. } => unified(&file.to_string_lossy(), before.as_deref(), after.as_deref()),
            Self::Call(call) => call.shown(),
            Self::Forget { workspace, .. } => {
                let manifest = manifest::path(workspace);
                format!("# remove {} and {}\n", manifest.with_file_name(".last-pass").display(), manifest.display())
            }
        }
    }
}

fn diff(path: &Path, before: Option<&[u8]>, after: Option<&[u8]>) -> String {
    let text = |bytes: Option<&[u8]>| bytes.map(|bytes| std::str::from_utf8(bytes).map(str::to_owned)).transpose();
    match (text(before), text(after)) {
        (Ok(before), Ok(after)) => unified(&path.to_string_lossy(), before.as_deref(), after.as_deref()),
        _ if before == after => format!("# set the mode of {}\n", path.display()),
        _ if before.is_none() => format!("Binary files /dev/null and {} differ\n", path.display()),
        _ if after.is_none() => format!("Binary files {} and /dev/null differ\n", path.display()),
        _ => format!("Binary files {0} and {0} differ\n", path.display()),
    }
}

fn make_folder(path: &Path, mode: u32) -> Result<bool, Error> {
    match DirBuilder::new().mode(mode).create(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => return Ok(false),
        Err(error) => return Err(Error::io(format!("cannot make {}: {}", path.display(), cause(&error)))),
    }
    path.parent().map_or(Ok(()), sync).map(|()| true)
}

fn sync(folder: &Path) -> Result<(), Error> {
    durable::sync_folder(folder).map_err(|error| Error::io(format!("cannot fsync {}: {}", folder.display(), cause(&error))))
}

fn replace(path: &Path, bytes: &[u8], mode: &Mode) -> Result<(), Error> {
    let failed = |why: &dyn std::fmt::Display| Error::io(format!("cannot write {}: {why}", path.display()));
    let temporary = temporary(path);
    let text = |path: &Path| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    let (Some(folder), Some(name), Some(temporary)) = (path.parent(), text(path), text(&temporary)) else {
        return Err(failed(&"it has no name"));
    };
    durable::replace_through(folder, &name, &temporary, bytes, mode).map_err(|error| failed(&error))
}

/// What a file is first written as. The manifest's is as the store names those of its files.
pub(crate) fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name == manifest::NAME {
        path.with_file_name(format!("{name}.tmp"))
    } else {
        path.with_file_name(format!(".{name}.task-recovery.tmp"))
    }
}

fn edit(file: &Path, before: Option<&str>, after: Option<&str>) -> Result<(), Error> {
    if Text::read(file)?.content.as_deref() != before {
        return Err(Error::new(Exit::Busy, format!("{} was changed by someone else just now; run it again", file.display())));
    }
    match after {
        Some(text) => replace(file, text.as_bytes(), &permissions(file).map_or(Mode::New(0o644), Mode::Kept)),
        None => remove(file).map(drop),
    }
}

fn remove(path: &Path) -> Result<bool, Error> {
    match fs::remove_file(path) {
        Ok(()) => path.parent().map_or(Ok(()), sync).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::io(format!("cannot remove {}: {}", path.display(), cause(&error)))),
    }
}

fn rename(from: &Path, to: &Path) -> Result<(), Error> {
    let renamed = fs::rename(from, to);
    renamed.map_err(|error| Error::io(format!("cannot rename {} to {}: {}", from.display(), to.display(), cause(&error))))?;
    to.parent().map_or(Ok(()), sync)
}

/// The manifest goes last, with what passes noted. A card folder that was made for passes and never had a card goes with it.
fn forget(workspace: &Path, card_folder_was_made: bool) -> Result<bool, Error> {
    let cards = workspace.join(manifest::FOLDER);
    for left in [".locks/.last-pass", ".last-pass"] {
        remove(&cards.join(left))?;
    }
    if card_folder_was_made && has_only_passes(&cards) {
        for folder in [".locks", ".outbox"] {
            // What is in them is not ours.
            drop(fs::remove_dir(cards.join(folder)));
        }
    }
    remove(&manifest::path(workspace))
}

fn has_only_passes(cards: &Path) -> bool {
    let names =
        |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name()).collect::<Vec<_>>();
    names(cards).iter().all(|name| [manifest::NAME, ".locks", ".outbox"].iter().any(|known| name == known))
        && names(&cards.join(".locks")).is_empty()
        && names(&cards.join(".outbox")).is_empty()
}
