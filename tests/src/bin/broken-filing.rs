//! A stand-in for `card archive ID` that is broken on purpose: what `make proof` must notice.
//!
//! `BROKEN` says how; `sound` is not at all. It does what `card archive` does, in one page: lock, move the logs, the history
//! and the card, each with an fsync of both folders, answer.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::ExitCode;

use serde_json::json;

/// The ways to be broken, and what each one does.
const MODES: [&str; 6] = [
    "sound",
    // The card is moved before what belongs to it.
    "card-first",
    // The card has its new name before it loses the old one.
    "links",
    // The card loses its old name before it has the new one.
    "unlinks-first",
    // The answer is printed before the card is moved.
    "early-answer",
    // No move is on the disk when it is answered.
    "no-folder-fsync",
];

fn main() -> ExitCode {
    let mode = std::env::var("BROKEN").unwrap_or_default();
    let id = std::env::args().nth(2).unwrap_or_default();
    let folder = std::env::current_dir().unwrap_or_default().join("data/task-runs");
    match MODES.contains(&&*mode).then(|| Broken(mode).file_away(&folder, &id)) {
        Some(Ok(())) => ExitCode::SUCCESS,
        Some(Err(_)) => ExitCode::from(74),
        None => ExitCode::from(64),
    }
}

struct Broken(String);

impl Broken {
    fn is(&self, mode: &str) -> bool {
        self.0 == mode
    }

    fn file_away(&self, folder: &Path, id: &str) -> io::Result<()> {
        let lock = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(folder.join(".locks").join(id))?;
        lock.lock()?;
        for made in ["archive", "archive/history", "archive/logs"].map(|name| folder.join(name)) {
            match DirBuilder::new().mode(0o700).create(&made) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                result => result?,
            }
            self.sync(made.parent().unwrap_or(folder))?;
        }
        if self.is("early-answer") {
            answer()?;
        }
        if self.is("card-first") {
            self.card(folder, id)?;
        }
        self.rename(folder, "logs", id)?;
        self.rename(folder, "history", &format!("{id}.jsonl"))?;
        if !self.is("card-first") {
            self.card(folder, id)?;
        }
        if self.is("early-answer") { Ok(()) } else { answer() }
    }

    fn card(&self, folder: &Path, id: &str) -> io::Result<()> {
        let name = format!("{id}.json");
        let (from, to) = (folder.join(&name), folder.join("archive").join(&name));
        if self.is("links") {
            fs::hard_link(&from, &to)?;
            return fs::remove_file(&from);
        }
        if self.is("unlinks-first") {
            let aside = to.with_extension("json.tmp");
            fs::hard_link(&from, &aside)?;
            fs::remove_file(&from)?;
            return fs::rename(&aside, &to);
        }
        self.rename(folder, "", &name)
    }

    fn rename(&self, folder: &Path, place: &str, name: &str) -> io::Result<()> {
        let (from, to) = (folder.join(place), folder.join("archive").join(place));
        fs::rename(from.join(name), to.join(name))?;
        self.sync(&to)?;
        self.sync(&from)
    }

    fn sync(&self, folder: &Path) -> io::Result<()> {
        if self.is("no-folder-fsync") { Ok(()) } else { File::open(folder)?.sync_all() }
    }
}

fn answer() -> io::Result<()> {
    io::stdout().write_all(format!("{}\n", json!({"archived": 1})).as_bytes())
}
