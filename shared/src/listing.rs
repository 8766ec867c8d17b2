//! The card files of a folder, by name: one arena for all names, and the folder held open, so that
//! a card costs three system calls on a short path and no allocation.

use std::borrow::Cow;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use nix::dir::{Dir, Type};
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;

use crate::interrupted::again;

/// Files that are cards, or stand where one would, ascending by name.
#[derive(Debug, Default)]
pub struct Listing {
    folder: Option<OwnedFd>,
    /// All names, each with its NUL.
    names: Vec<u8>,
    spans: Vec<Span>,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    start: u32,
    /// A file's name has at most 255 bytes (`NAME_MAX`).
    length: u8,
    regular: bool,
}

/// A card file as the folder lists it.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'l> {
    pub(crate) folder: BorrowedFd<'l>,
    pub(crate) name: &'l CStr,
    /// False when the listing did not tell that it is a regular file.
    pub(crate) regular: bool,
}

impl<'l> Entry<'l> {
    /// The file's name without `.json`; a task ID if it is valid.
    #[must_use]
    pub fn id_text(&self) -> Cow<'l, str> {
        let name = self.name.to_bytes();
        String::from_utf8_lossy(name.strip_suffix(b".json").unwrap_or(name))
    }
}

impl Listing {
    /// Lists a folder; one that is not there has none.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let folder = match again(|| open(path, flags, Mode::empty()).map_err(io::Error::from)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            folder => folder?,
        };
        let mut listing = Self::default();
        for entry in Dir::from_fd(folder.try_clone()?)?.iter() {
            let entry = entry?;
            let name = entry.file_name();
            if name.to_bytes().ends_with(b".json") && !name.to_bytes().starts_with(b".") {
                listing.push(name, entry.file_type() == Some(Type::File))?;
            }
        }
        listing.sort();
        listing.folder = Some(folder);
        Ok(listing)
    }

    /// By the eight bytes after what all names begin with, and by the rest only where these are the same: names of tasks differ late,
    /// and to fetch two of them for each comparison takes several times as long.
    fn sort(&mut self) {
        let names = &self.names;
        let Some(first) = self.spans.first().map(|span| span.bytes(names)) else { return };
        let shared = |span: &Span| span.bytes(names).iter().zip(first).take_while(|(one, other)| one == other).count();
        let common = self.spans.iter().map(shared).min().unwrap_or_default();
        let mut keyed: Vec<(u64, Span)> = self.spans.iter().map(|span| (key(&span.bytes(names)[common..]), *span)).collect();
        keyed.sort_unstable_by(|(one, a), (other, b)| one.cmp(other).then_with(|| a.bytes(names).cmp(b.bytes(names))));
        self.spans.clear();
        self.spans.extend(keyed.into_iter().map(|(_, span)| span));
    }

    fn push(&mut self, name: &CStr, regular: bool) -> io::Result<()> {
        let too_many = |_| io::Error::other("its files' names are too many or too long");
        let start = u32::try_from(self.names.len()).map_err(too_many)?;
        let length = u8::try_from(name.count_bytes()).map_err(too_many)?;
        self.names.extend_from_slice(name.to_bytes_with_nul());
        self.spans.push(Span { start, length, regular });
        Ok(())
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// One of them.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Entry<'_>> {
        let span = self.spans.get(index)?;
        let folder = self.folder.as_ref()?.as_fd();
        let start = span.start as usize;
        let name = CStr::from_bytes_with_nul(self.names.get(start..=start + usize::from(span.length))?).ok()?;
        Some(Entry { folder, name, regular: span.regular })
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Entry<'_>> {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

/// The first eight bytes as a number that is ordered as they are; a name has no NUL.
fn key(name: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = name.len().min(8);
    bytes[..length].copy_from_slice(&name[..length]);
    u64::from_be_bytes(bytes)
}

impl Span {
    fn bytes<'n>(&self, names: &'n [u8]) -> &'n [u8] {
        let start = self.start as usize;
        &names[start..start + usize::from(self.length)]
    }
}

/// Gives this thread a table of open files of its own: in a shared one each open and close waits for those of the other threads.
/// Where that is not allowed, nothing changes.
pub fn separate_open_files() {
    #[cfg(target_os = "linux")]
    nix::sched::unshare(nix::sched::CloneFlags::CLONE_FILES).ok();
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;

    use super::*;

    #[test]
    fn names_are_ordered_by_their_bytes_however_late_they_differ() {
        let names =
            ["a", "a.b", "a0", "task_000000010_x", "task_000000010_", "task_00000001", "task_000000010-9", "task_9", "é", "Z"];
        for names in [&names[..], &names[3..7], &names[..1], &[]] {
            let mut listing = Listing::default();
            for name in names {
                listing.push(&CString::new(format!("{name}.json")).unwrap(), true).unwrap();
            }
            listing.sort();
            let sorted: Vec<_> = listing.spans.iter().map(|span| span.bytes(&listing.names).to_vec()).collect();
            let mut wanted: Vec<_> = names.iter().map(|name| format!("{name}.json").into_bytes()).collect();
            wanted.sort();
            assert_eq!(sorted, wanted);
        }
    }
}
