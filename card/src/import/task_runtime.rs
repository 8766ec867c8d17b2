//! From a folder of the Python predecessor's cards: each becomes a card of ours, with all that it held.
//!
//! A card that is here already is not touched: the predecessor's is the older one. What cannot be
//! taken is named on stderr with the reason, and the others are taken all the same.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::json;
use shared::cli::Output;
use shared::document::Document;
use shared::exit::{Error, Exit, cause};
use shared::history::Event;
use shared::id::TaskId;
use shared::store::{LoadError, Store};
use shared::talk::say;

/// More do not make the disk faster.
const THREADS: usize = 16;

/// Takes all cards of a folder, and prints one line for each new one.
pub(super) fn import(store: &Store, from: Option<&Path>) -> Result<Exit, Error> {
    let folder = from.ok_or_else(|| Error::usage("import: say which folder holds the cards, data/task-runs for example"))?;
    let failed = |error: &std::io::Error| Error::io(format!("cannot list {}: {}", folder.display(), cause(error)));
    let here = std::fs::canonicalize(folder).is_ok_and(|folder| folder == store.folder());
    let entries = std::fs::read_dir(folder).map_err(|error| failed(&error))?;
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>().map_err(|error| failed(&error))?;
    files.retain(|path| is_card(path));
    files.sort();
    let mut output = Output::new();
    let mut exit = Exit::Done;
    // What is wrong here, not with one of them: said of each all the same, as others were taken.
    let mut ours = None;
    for (path, taken) in files.iter().zip(take_all(store, &files, here)) {
        match taken {
            Ok(Some(card)) => {
                let line =
                    json!({"task_id": card.text("task_id"), "revision": card.count("revision"), "status": card.text("status")});
                output.json_line(&line)?;
            }
            Ok(None) => {}
            Err(error) => {
                say(&format!("{} is not taken: {}", path.display(), error.message));
                exit = Exit::BadData;
                ours = ours.or_else(|| Some(error.exit).filter(|exit| matches!(exit, Exit::Io | Exit::Busy)));
            }
        }
    }
    output.finish()?;
    Ok(ours.unwrap_or(exit))
}

/// By several threads: each write waits for the disk, which makes many durable at once.
fn take_all(store: &Store, files: &[PathBuf], here: bool) -> Vec<Result<Option<Document>, Error>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut taken = Vec::new();
        while let Some((index, path)) = next_of(files, &next) {
            taken.push((index, take(store, path, here)));
        }
        taken
    };
    let mut taken = thread::scope(|scope| {
        let threads: Vec<_> =
            (1..THREADS.min(files.len())).filter_map(|_| thread::Builder::new().spawn_scoped(scope, work).ok()).collect();
        let mut taken = work();
        taken.extend(threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()));
        taken
    });
    taken.sort_unstable_by_key(|(index, _)| *index);
    taken.into_iter().map(|(_, result)| result).collect()
}

fn next_of<'f>(files: &'f [PathBuf], next: &AtomicUsize) -> Option<(usize, &'f PathBuf)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    Some((index, files.get(index)?))
}

fn is_card(path: &Path) -> bool {
    let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    path.extension() == Some(OsStr::new("json")) && !hidden
}

/// The card that was made or given today's names; none when there was nothing to do.
fn take(store: &Store, path: &Path, here: bool) -> Result<Option<Document>, Error> {
    let name = path.file_stem().and_then(OsStr::to_str).unwrap_or_default();
    let id: TaskId = name.parse().map_err(Error::data)?;
    let event = || Event::new("imported").with("by", "card").with("from", "task-runtime").with("path", path.to_string_lossy());
    if here {
        let held = store.lock(&id)?;
        let (document, _) = held.load().map_err(|error| error.about(name))?;
        return if document.is_adopted() { held.replace(document, event()).map(Some) } else { Ok(None) };
    }
    if std::fs::symlink_metadata(store.card_path(&id)).is_ok() {
        return Ok(None);
    }
    let (document, _) = Document::load(path, &id).map_err(|error| match error {
        // The file's fault, not this machine's.
        LoadError::Bad(error) => Error::data(error.detail),
        error => error.about(name),
    })?;
    match store.create(&id, document, event()) {
        // Made meanwhile, or filed away: the same as above.
        Err(error) if error.exit == Exit::Exists => Ok(None),
        made => made.map(Some),
    }
}
