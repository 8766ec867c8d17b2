//! Opens and reads a card's file without following links, without blocking, and never more than 4 MiB and a byte.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::PathBuf;
use std::sync::OnceLock;

use nix::NixPath;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::Mode;
use nix::unistd::Uid;

use crate::card::{BYTES_MAX, CardError, Fault};
use crate::exit::{Error, Exit, cause};
use crate::signal::shell_word;
use crate::talk::command;

/// Large enough for nearly every card, so that one read gets it.
const READ_BYTES: usize = 64 * 1024;

/// Why a card could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// There is none.
    Missing,
    /// It cannot be used.
    Bad(CardError),
    /// Not the card's fault: this process or machine has no more files or memory.
    Ours(String),
}

impl LoadError {
    /// The same, of the card in this file.
    #[must_use]
    pub fn at(mut self, path: PathBuf) -> Self {
        if let Self::Bad(error) = &mut self {
            error.path = Some(path);
        }
        self
    }

    /// As an error about this task.
    #[must_use]
    pub fn about(&self, id: &str) -> Error {
        let file = match self {
            Self::Bad(CardError { path: Some(path), .. }) => path.display().to_string(),
            _ => format!("{id}.json"),
        };
        match self {
            Self::Missing => Error::new(
                Exit::NoTask,
                format!("no task {id} in this workspace; see {} list, or give --workspace DIR", command("card")),
            ),
            Self::Ours(detail) => Error::io(format!("cannot read the card of {id}: {detail}")),
            Self::Bad(error) if error.fault == Fault::Unreadable => {
                Error::io(format!("cannot read the card of {id}: {}; see ls -l {}", error.detail, shell_word(&file)))
            }
            Self::Bad(error) if error.fault == Fault::Insecure => {
                Error::refused(format!("the card of {id} is not trusted: {}; correct the owner or mode of {file}", error.detail))
            }
            Self::Bad(error) if error.fault == Fault::UnknownVersion => {
                Error::data(format!("the card of {id} cannot be used: {}", error.detail))
            }
            Self::Bad(error) => Error::data(format!("the card of {id} is not valid: {}; correct {file} by hand", error.detail)),
        }
    }
}

/// Reads a file that stands where a card would: in this folder, or at this absolute path. `known_regular` = the listing told that
/// it is a regular file; with `others_may_search` its owner and mode count.
///
/// # Errors
/// `Missing`, or what is wrong with it as a sentence.
pub(crate) fn card_file<'b, P: NixPath + ?Sized>(
    folder: BorrowedFd<'_>,
    path: &P,
    known_regular: bool,
    others_may_search: bool,
    buffer: &'b mut Vec<u8>,
) -> Result<&'b [u8], LoadError> {
    let unreadable = |detail: String| LoadError::Bad(CardError::new(Fault::Unreadable, detail));
    let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let opened = loop {
        match openat(folder, path, flags, Mode::empty()) {
            Err(Errno::EINTR) => {}
            opened => break opened,
        }
    };
    let mut file = File::from(opened.map_err(|error| match error {
        Errno::ENOENT => LoadError::Missing,
        Errno::EMFILE | Errno::ENFILE | Errno::ENOMEM => LoadError::Ours(cause(&error.into())),
        Errno::ELOOP | Errno::EMLINK => unreadable("it is a symbolic link, not a regular file".to_owned()),
        Errno::ENXIO => unreadable("it is a socket, not a regular file".to_owned()),
        _ => unreadable(cause(&error.into())),
    })?);
    if !known_regular || others_may_search {
        let meta = file.metadata().map_err(|error| unreadable(cause(&error)))?;
        if let Some(kind) = kind_of(&meta) {
            return Err(unreadable(format!("it is {kind}, not a regular file")));
        }
        if others_may_search && let Some(detail) = distrust(&meta) {
            return Err(LoadError::Bad(CardError::new(Fault::Insecure, detail)));
        }
    }
    let length = read_bounded(&mut file, known_regular, buffer).map_err(|error| unreadable(cause(&error)))?;
    if length > BYTES_MAX {
        return Err(unreadable(format!("it is larger than {BYTES_MAX} bytes")));
    }
    Ok(&buffer[..length])
}

/// Reads up to one byte over the limit and returns the length. `quick` stops at the first short read, which is the end of any
/// ordinary local file; whoever gets a card that does not parse that way reads it again without.
fn read_bounded(file: &mut File, quick: bool, buffer: &mut Vec<u8>) -> io::Result<usize> {
    if buffer.len() < READ_BYTES {
        buffer.resize(READ_BYTES, 0);
    }
    let mut length = 0;
    loop {
        match file.read(&mut buffer[length..]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
            Ok(0) => return Ok(length),
            Ok(count) => length += count,
        }
        if length > BYTES_MAX || (quick && length < buffer.len()) {
            return Ok(length);
        }
        if length == buffer.len() {
            buffer.resize((2 * length).min(BYTES_MAX + 1), 0);
        }
    }
}

fn kind_of(meta: &fs::Metadata) -> Option<&'static str> {
    let kind = meta.file_type();
    match () {
        () if kind.is_file() => None,
        () if kind.is_dir() => Some("a folder"),
        () if kind.is_fifo() => Some("a FIFO"),
        () if kind.is_socket() => Some("a socket"),
        () => Some("a device"),
    }
}

/// Why a file should not be believed, if others could have written it.
#[must_use]
pub(crate) fn distrust(meta: &fs::Metadata) -> Option<String> {
    // Asked once: thousands of cards are looked at.
    static OWN: OnceLock<Uid> = OnceLock::new();
    let own = OWN.get_or_init(Uid::effective);
    if meta.uid() != own.as_raw() && meta.uid() != 0 {
        return Some(format!("it is owned by uid {}", meta.uid()));
    }
    (meta.mode() & 0o002 != 0).then(|| format!("everyone may write it (mode {:o})", meta.mode() & 0o7777))
}
