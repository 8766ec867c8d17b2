//! Looks at every card once.
//!
//! A card is first read only as far as a verdict needs it. Whoever is not quiet is parsed whole
//! before anything is said about it. What does not parse is read once more when all others are
//! done: others may write cards without care, and by then they are through with it.
//!
//! Cards are looked at in chunks, in a large folder by several threads; what is to be said comes
//! in the order of the names all the same.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use shared::card::{Card, CardError};
use shared::document::Document;
use shared::exit::{Error, Exit};
use shared::facts::Observer;
use shared::id::TaskId;
use shared::listing::{Entry, Listing, separate_open_files};
use shared::store::{LoadError, Store};
use shared::talk::command;
use shared::time::Timestamp;
use shared::verdict::{Facts, Request, Verdict};

/// Cards that are handed to a thread at once.
const CHUNK: usize = 256;
/// In a smaller folder further threads cost more than they bring.
const CARDS_FOR_THREADS: usize = 512;
/// More than these wait for the same disk.
const THREADS_MAX: usize = 4;

/// One card as it was found.
#[derive(Debug)]
pub(crate) enum Found {
    /// A card and its verdict.
    Judged(Box<Judged>),
    /// A file that is no usable card.
    Broken { id_text: String, error: CardError },
}

/// A card and its verdict.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) card: Card,
    pub(crate) facts: Facts,
    pub(crate) verdict: Verdict,
    pub(crate) now: Timestamp,
}

/// What each card is shown to; false when that is enough.
pub(crate) type Visit<'v> = &'v mut dyn FnMut(Found) -> Result<bool, Error>;

/// Looks at cards on any thread.
#[derive(Clone, Copy)]
struct Looker<'a> {
    store: &'a Store,
    observer: &'a Observer,
    listing: &'a Listing,
    quiet_too: bool,
}

/// What a chunk held, by name.
#[derive(Default)]
struct Chunk {
    found: Vec<Found>,
    /// Entries to be read once more.
    doubtful: Vec<usize>,
}

/// Shows each card, or each that is not quiet, to `visit` until that is satisfied.
pub(crate) fn look_at_all(store: &Store, observer: &Observer, quiet_too: bool, visit: Visit<'_>) -> Result<(), Error> {
    let listing = store.list()?;
    let looker = Looker { store, observer, listing: &listing, quiet_too };
    let mut doubtful = Vec::new();
    let mut show = |chunk: Chunk| {
        doubtful.extend(chunk.doubtful);
        show_all(chunk.found, visit)
    };
    let threads = if listing.len() < CARDS_FOR_THREADS { 1 } else { thread::available_parallelism().map_or(1, usize::from) };
    let satisfied = if threads > 1 { looker.on_threads(threads.min(THREADS_MAX), &mut show)? } else { looker.here(&mut show)? };
    if satisfied {
        return Ok(());
    }
    let mut failed = Ok(());
    for entry in doubtful.into_iter().filter_map(|index| listing.get(index)) {
        match look_again(store, observer, entry) {
            Ok(None) => {}
            Ok(Some(found)) => {
                if !visit(found)? {
                    return Ok(());
                }
            }
            // The others are told all the same.
            Err(error) => failed = failed.and(Err(error)),
        }
    }
    failed
}

/// Returns whether that was enough.
fn show_all(found: Vec<Found>, visit: Visit<'_>) -> Result<bool, Error> {
    for found in found {
        if !visit(found)? {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Looker<'_> {
    fn here(&self, show: &mut dyn FnMut(Chunk) -> Result<bool, Error>) -> Result<bool, Error> {
        let mut buffer = Vec::new();
        for number in 0..self.chunks() {
            if show(self.chunk(number, &mut buffer))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn on_threads(&self, threads: usize, show: &mut dyn FnMut(Chunk) -> Result<bool, Error>) -> Result<bool, Error> {
        let (next, satisfied) = (&AtomicUsize::new(0), &AtomicBool::new(false));
        thread::scope(|scope| {
            let (sender, receiver) = sync_channel(2 * threads);
            let start = |sender| thread::Builder::new().spawn_scoped(scope, move || self.work(&sender, next, satisfied));
            let started = (0..threads).filter(|_| start(sender.clone()).is_ok()).count();
            drop(sender);
            if started == 0 {
                return self.here(show);
            }
            let mut early = BTreeMap::new();
            let mut wanted = 0;
            let mut enough = Ok(false);
            for (number, chunk) in receiver {
                early.insert(number, chunk);
                while let Some(chunk) = early.remove(&wanted) {
                    wanted += 1;
                    enough = if matches!(enough, Ok(false)) { show(chunk) } else { enough };
                }
                if !matches!(enough, Ok(false)) {
                    satisfied.store(true, Ordering::Relaxed);
                }
            }
            enough
        })
    }

    fn work(&self, sender: &SyncSender<(usize, Chunk)>, next: &AtomicUsize, satisfied: &AtomicBool) {
        separate_open_files();
        let mut buffer = Vec::new();
        while !satisfied.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= self.chunks() || sender.send((number, self.chunk(number, &mut buffer))).is_err() {
                return;
            }
        }
    }

    fn chunks(&self) -> usize {
        self.listing.len().div_ceil(CHUNK)
    }

    fn chunk(&self, number: usize, buffer: &mut Vec<u8>) -> Chunk {
        let range: Range<usize> = number * CHUNK..((number + 1) * CHUNK).min(self.listing.len());
        let mut chunk = Chunk::default();
        for index in range {
            let Some(entry) = self.listing.get(index) else { continue };
            let read = self.store.read_entry(entry, buffer);
            match read.and_then(|bytes| judge(self.store, self.observer, bytes, entry)) {
                Ok(judged) if self.quiet_too || !matches!(judged.verdict, Verdict::Quiet(_)) => {
                    chunk.found.push(Found::Judged(Box::new(judged)));
                }
                Ok(_) | Err(LoadError::Missing) => {}
                Err(LoadError::Bad(_) | LoadError::Ours(_)) => chunk.doubtful.push(index),
            }
        }
        chunk
    }
}

fn look_again(store: &Store, observer: &Observer, entry: Entry<'_>) -> Result<Option<Found>, Error> {
    let mut buffer = Vec::new();
    match store.read_entry_carefully(entry, &mut buffer).and_then(|bytes| judge(store, observer, bytes, entry)) {
        Ok(judged) => Ok(Some(Found::Judged(Box::new(judged)))),
        Err(LoadError::Missing) => Ok(None),
        Err(LoadError::Bad(error)) => Ok(Some(Found::Broken { id_text: entry.id_text().into_owned(), error })),
        Err(error @ LoadError::Ours(_)) => Err(error.about(&entry.id_text())),
    }
}

/// Looks at one task.
pub(crate) fn look_at_one(store: &Store, observer: &Observer, id: &TaskId, visit: Visit<'_>) -> Result<(), Error> {
    let found = match store.load(id) {
        Ok((_, card)) => {
            let now = store.clock().now();
            let (verdict, facts) = observer.judge(store, &card, Request::Pass, now);
            Found::Judged(Box::new(Judged { card, facts, verdict, now }))
        }
        Err(LoadError::Missing) if store.is_filed(id)? => {
            let card = command("card");
            return Err(Error::new(Exit::NoTask, format!("{id} is filed away, so nothing is to be judged; see {card} show {id}")));
        }
        Err(error @ (LoadError::Missing | LoadError::Ours(_))) => return Err(error.about(id.as_str())),
        Err(LoadError::Bad(error)) => Found::Broken { id_text: id.to_string(), error },
    };
    visit(found).map(drop)
}

fn judge(store: &Store, observer: &Observer, bytes: &[u8], entry: Entry<'_>) -> Result<Judged, LoadError> {
    let id_text = entry.id_text();
    let card = Card::parse(bytes, &id_text).map_err(LoadError::Bad)?;
    let now = store.clock().now();
    let (verdict, facts) = observer.judge(store, &card, Request::Pass, now);
    if !matches!(verdict, Verdict::Quiet(_)) {
        Document::validate(bytes, &id_text).map_err(LoadError::Bad)?;
    }
    Ok(Judged { card, facts, verdict, now })
}
