//! A stand-in for `checkpoint ID` that is broken on purpose: what `make proof` must notice.
//!
//! `BROKEN` says how; `sound` is not at all, so that a control which fails does so for what is broken. It does
//! what `checkpoint` does, in one page and without its care for anything else:
//! lock, read, write a temporary file, fsync, rename, fsync the folder, append to the history, answer.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::ExitCode;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::signal::{SigSet, Signal};
use serde_json::{Value, json};

/// The ways to be broken, and what each one does.
const MODES: [&str; 12] = [
    "sound",
    // The card itself is written over.
    "in-place",
    // The answer is printed before the rename.
    "early-answer",
    // The history is written before the card.
    "early-history",
    // What was written is not on the disk when it is renamed.
    "no-fsync",
    // The rename is not on the disk when it is answered.
    "no-folder-fsync",
    // A failure looks like success.
    "swallows",
    // A failure has no cause.
    "vague",
    // A failure has the wrong exit status.
    "wrong-status",
    // An interrupted call is a failure.
    "no-retry",
    // Symbolic links are followed, and FIFOs waited for.
    "follows",
    // What is no regular file is written over.
    "replaces",
];

fn main() -> ExitCode {
    // Over a file size limit a write fails instead of ending the program.
    SigSet::from_iter([Signal::SIGXFSZ]).thread_block().ok();
    let mode = std::env::var("BROKEN").unwrap_or_default();
    let id = std::env::args().nth(1).unwrap_or_default();
    if !MODES.contains(&&*mode) {
        return ExitCode::from(64);
    }
    let folder = std::env::current_dir().unwrap_or_default().join("data/task-runs");
    match Broken(mode.clone()).checkpoint(&folder, &id) {
        Err(_) if mode == "swallows" => ExitCode::SUCCESS,
        Err(_) if mode == "vague" => complain("broken-writer: something went wrong\n", 74),
        Err((what, error)) => {
            let cause = error.raw_os_error().map_or_else(|| error.to_string(), |number| Errno::from_raw(number).desc().to_owned());
            let status = if error.kind() == io::ErrorKind::InvalidData { 65 } else { 74 };
            complain(&format!("broken-writer: {what}: {cause}\n"), if mode == "wrong-status" { 1 } else { status })
        }
        Ok(()) => ExitCode::SUCCESS,
    }
}

fn complain(line: &str, status: u8) -> ExitCode {
    drop(io::stderr().write_all(line.as_bytes()));
    ExitCode::from(status)
}

type Step<T> = Result<T, (&'static str, io::Error)>;

struct Broken(String);

impl Broken {
    fn is(&self, mode: &str) -> bool {
        self.0 == mode
    }

    fn checkpoint(&self, folder: &Path, id: &str) -> Step<()> {
        let lock = at("lock", self.open(&folder.join(".locks").join(id), OpenOptions::new().read(true).write(true).create(true)))?;
        at("lock", if self.is("no-retry") { lock.lock() } else { retry(|| lock.lock()) })?;
        let path = folder.join(format!("{id}.json"));
        let old = match at("read", self.read(&path)) {
            Err(_) if self.is("replaces") => json!({"task_id": id, "revision": 0}),
            old => old?,
        };
        let mut card = old;
        card["revision"] = (card["revision"].as_u64().unwrap_or_default() + 1).into();
        let answer = json!({"task_id": id, "revision": card["revision"]});
        if self.is("early-answer") {
            at("answer", say(&answer))?;
        }
        if self.is("early-history") {
            at("append to the history", self.note(folder, id, &answer))?;
        }
        self.replace(folder, &path, &card)?;
        if !self.is("early-history") {
            // Best effort, as the card is safe.
            drop(self.note(folder, id, &answer));
        }
        drop(lock);
        if self.is("early-answer") { Ok(()) } else { at("cannot write to standard output", say(&answer)) }
    }

    fn open(&self, path: &Path, options: &mut OpenOptions) -> io::Result<File> {
        if !self.is("follows") {
            options.custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits());
        }
        options.open(path)
    }

    fn read(&self, path: &Path) -> io::Result<Value> {
        let mut text = String::new();
        let mut file = self.open(path, OpenOptions::new().read(true))?;
        if !self.is("follows") && !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        file.read_to_string(&mut text)?;
        serde_json::from_str(&text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    fn replace(&self, folder: &Path, path: &Path, card: &Value) -> Step<()> {
        let temporary = path.with_extension("json.tmp");
        if self.is("in-place") {
            return at("write", std::fs::write(path, card.to_string()));
        }
        drop(std::fs::remove_file(&temporary));
        let mut file = at("create", OpenOptions::new().write(true).create_new(true).open(&temporary))?;
        at("write", file.write_all(card.to_string().as_bytes()))?;
        if !self.is("no-fsync") {
            at("fsync", file.sync_all())?;
        }
        at("rename", std::fs::rename(&temporary, path))?;
        if !self.is("no-folder-fsync") {
            at("it is written, but fsync of the folder", File::open(folder).and_then(|folder| folder.sync_all()))?;
        }
        Ok(())
    }

    fn note(&self, folder: &Path, id: &str, answer: &Value) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let mut file = self.open(&folder.join("history").join(format!("{id}.jsonl")), options.append(true).create(true))?;
        file.write_all(format!("{answer}\n").as_bytes())
    }
}

fn retry(mut work: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    loop {
        match work() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

fn say(answer: &Value) -> io::Result<()> {
    io::stdout().write_all(format!("{answer}\n").as_bytes())
}

fn at<T>(what: &'static str, result: io::Result<T>) -> Step<T> {
    result.map_err(|error| (what, error))
}
