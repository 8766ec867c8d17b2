//! What is on the disk where something is to be placed, or was.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use shared::exit::{Error, cause};
use shared::verified::sha256;

/// What stands at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Missing,
    File {
        sha256: String,
        executable: bool,
    },
    /// Where it leads. Never followed: what is placed takes the place of the link.
    Link(PathBuf),
    Folder,
    Other,
}

impl Seen {
    /// Looks.
    pub(crate) fn at(path: &Path) -> Result<Self, Error> {
        let failed = |error: &io::Error| Error::io(format!("cannot look at {}: {}", path.display(), cause(error)));
        let meta = match fs::symlink_metadata(path) {
            Ok(meta) => meta,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(Self::Missing);
            }
            Err(error) => return Err(failed(&error)),
        };
        let kind = meta.file_type();
        Ok(match () {
            () if kind.is_symlink() => Self::Link(fs::read_link(path).map_err(|error| failed(&error))?),
            () if kind.is_dir() => Self::Folder,
            () if !kind.is_file() => Self::Other,
            () => {
                let bytes = fs::read(path).map_err(|error| failed(&error))?;
                Self::File { sha256: sha256(&bytes), executable: meta.permissions().mode() & 0o100 != 0 }
            }
        })
    }

    /// Its content's digest, or what stands for it.
    pub(crate) fn digest(&self) -> String {
        match self {
            Self::File { sha256, .. } => sha256.clone(),
            Self::Link(to) => format!("link to {}", to.display()),
            Self::Missing | Self::Folder | Self::Other => String::new(),
        }
    }
}

/// A text that belongs to others.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    /// The file itself, behind any links.
    pub(crate) file: PathBuf,
    /// None when there is no such file.
    pub(crate) content: Option<String>,
}

impl Text {
    /// Reads it.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let file = behind_links(path);
        let content = match fs::read(&file) {
            Ok(bytes) => Some(String::from_utf8(bytes).map_err(|_| {
                Error::data(format!("{} is not UTF-8, so nothing is written into it; convert it first", path.display()))
            })?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(Error::io(format!("cannot read {}: {}", path.display(), cause(&error)))),
        };
        Ok(Self { file, content })
    }
}

/// Where a chain of links ends, be there a file or not.
pub(crate) fn behind_links(path: &Path) -> PathBuf {
    const LINKS_MAX: usize = 16;
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::read_link(&path) {
            Ok(to) => path = path.parent().map_or_else(|| to.clone(), |folder| folder.join(&to)),
            Err(_) => break,
        }
    }
    path
}

/// A file's mode, to be kept.
pub(crate) fn permissions(path: &Path) -> Option<Permissions> {
    fs::metadata(path).ok().map(|meta| meta.permissions())
}
