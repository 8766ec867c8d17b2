//! The plan for files: what is to be placed, against what is there and what was placed before. Pure.
//!
//! A file on the disk is *ours* when its digest is one that we placed. The manifest is written before the file, so for a
//! while it names a digest that is not there yet; the one before is kept in it, so that an update that was cut is not taken
//! for a person's change.
//!
//! | on the disk | a program | a text |
//! |---|---|---|
//! | nothing | placed | placed |
//! | ours | brought up to date | brought up to date |
//! | someone else's, never placed by us | kept as `.orig`, placed | kept as `.orig`, placed |
//! | changed since we placed it | placed again | left, and named |

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use shared::exit::Error;
use shared::verified::sha256;

use crate::action::Action;
use crate::disk::Seen;
use crate::manifest::Placed;

/// A file that is to be there.
#[derive(Clone, Debug)]
pub(crate) struct Desired {
    /// Below the workspace, or absolute.
    pub(crate) path: PathBuf,
    pub(crate) bytes: Cow<'static, [u8]>,
    pub(crate) mode: u32,
    /// A person may change it.
    pub(crate) is_text: bool,
}

/// What stands at a path and at the one that what was there is kept under.
pub(crate) type Look<'a> = &'a dyn Fn(&Path) -> Result<Seen, Error>;

/// What is done about one file.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) placed: Placed,
    pub(crate) action: Option<Action>,
    /// Something that a person should know.
    pub(crate) note: Option<Note>,
}

/// What there is to say about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// A person changed it, so it was left.
    Kept,
    /// What was there before is kept under this name.
    KeptAs(PathBuf),
    /// A program that was not ours any more was replaced.
    Replaced,
}

/// What is to be done so that a file is there. `root` is the workspace.
pub(crate) fn place(root: &Path, desired: &Desired, before: Option<&Placed>, look: Look<'_>) -> Result<Step, Error> {
    let path = root.join(&desired.path);
    let wanted = sha256(&desired.bytes);
    let seen = look(&path)?;
    let mut placed = Placed { sha256: wanted.clone(), ..before.cloned().unwrap_or_default() };
    let put = |keep_as: Option<PathBuf>| {
        Some(Action::Place { path: path.clone(), bytes: desired.bytes.clone(), mode: desired.mode, keep_as })
    };
    let done = |placed: Placed, action: Option<Action>, note: Option<Note>| Ok(Step { placed, action, note });
    match &seen {
        Seen::Missing => {
            placed.changed = None;
            done(placed, put(None), None)
        }
        Seen::Folder | Seen::Other => {
            Err(Error::data(format!("{} is no file, and one is to be placed there; move it away first", path.display())))
        }
        Seen::File { sha256, executable } if *sha256 == wanted => {
            placed.changed = None;
            let fit = *executable || desired.mode & 0o100 == 0;
            done(placed, if fit { None } else { put(None) }, None)
        }
        Seen::File { .. } | Seen::Link(_) => match before {
            Some(before) if before.is_ours(&seen) => {
                placed.was = Some(seen.digest());
                placed.changed = None;
                done(placed, put(None), None)
            }
            // Noted, but cut before it was done.
            Some(Placed { orig: Some(orig), .. }) if look(&root.join(orig))? == Seen::Missing => {
                let orig = root.join(orig);
                done(placed, put(Some(orig.clone())), Some(Note::KeptAs(orig)))
            }
            Some(before) if desired.is_text => {
                // What was placed is what it is compared with, until the person takes ours again.
                let placed = Placed { changed: Some(seen.digest()), ..before.clone() };
                done(placed, None, Some(Note::Kept))
            }
            Some(_) => done(placed, put(None), Some(Note::Replaced)),
            None => {
                let orig = free_name(root, &desired.path, look)?;
                placed.orig = Some(orig.clone());
                let orig = root.join(orig);
                done(placed, put(Some(orig.clone())), Some(Note::KeptAs(orig)))
            }
        },
    }
}

/// What is to be done so that files are gone and what was there before them is back; the ones that a person changed.
pub(crate) fn take(root: &Path, files: &BTreeMap<PathBuf, Placed>, look: Look<'_>) -> Result<(Vec<Action>, Vec<PathBuf>), Error> {
    let (mut actions, mut kept) = (Vec::new(), Vec::new());
    for (place, placed) in files {
        let path = root.join(place);
        let orig = placed.orig.as_ref().map(|orig| root.join(orig));
        let orig_waits = orig.as_ref().map(|orig| look(orig)).transpose()?.is_some_and(|seen| seen != Seen::Missing);
        let seen = look(&path)?;
        match seen {
            Seen::Missing => {}
            _ if placed.is_ours(&seen) => actions.push(Action::Remove(path.clone())),
            // It is back already, or was never taken away.
            _ if orig.is_some() && !orig_waits => continue,
            _ => {
                kept.push(place.clone());
                continue;
            }
        }
        if let Some(from) = orig.filter(|_| orig_waits) {
            actions.push(Action::Restore { from, to: path });
        }
    }
    Ok((actions, kept))
}

fn free_name(root: &Path, place: &Path, look: Look<'_>) -> Result<PathBuf, Error> {
    let name = place.to_string_lossy();
    let names = std::iter::once(format!("{name}.orig")).chain((1..100).map(|number| format!("{name}.orig.{number}")));
    for candidate in names.map(PathBuf::from) {
        if look(&root.join(&candidate))? == Seen::Missing {
            return Ok(candidate);
        }
    }
    Err(Error::data(format!("{name}: there are a hundred {name}.orig already; move some away")))
}
