//! Liveness: alive is a held lock, not a pid.
//!
//! An attempt has three logs. Its supervisor locks `.in` from the claim until the attempt is
//! settled. `.out` and `.err` are the attempt's stdout and stderr and are locked through the same
//! open files: those locks live as long as any process of the attempt keeps either, whoever died
//! before it. A reboot frees them all, and no pid has to be believed. For a program that gives
//! both away there is a fourth file, `.pid`, about the process that was started (`leader.rs`).
//!
//! A probe opens the file afresh and asks for a shared lock (`lock.rs`). Between fork and exec a
//! child holds copies of every descriptor, so whoever spawns must not probe from another thread.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use nix::unistd::Pid;

use crate::folder;
use crate::interrupted::again;
use crate::leader;
use crate::lock;
use crate::processes::Process;
use crate::time::Timestamp;

/// Logs of this many attempts are kept.
pub const LOGS_KEPT: u64 = 10;

/// The log files of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logs {
    folder: PathBuf,
    attempt: u64,
}

impl Logs {
    /// Those of this attempt, in the task's log folder.
    #[must_use]
    pub fn new(folder: PathBuf, attempt: u64) -> Self {
        Self { folder, attempt }
    }

    /// The card as the attempt was given it: its stdin.
    #[must_use]
    pub fn input(&self) -> PathBuf {
        self.folder.join(format!("{}.in", self.attempt))
    }

    /// What it printed.
    #[must_use]
    pub fn out(&self) -> PathBuf {
        self.folder.join(format!("{}.out", self.attempt))
    }

    /// What it complained about.
    #[must_use]
    pub fn err(&self) -> PathBuf {
        self.folder.join(format!("{}.err", self.attempt))
    }

    /// Whether its supervisor lives.
    #[must_use]
    pub fn supervisor_alive(&self) -> bool {
        lock::is_held(&self.input())
    }

    /// Whether a process of the attempt keeps its stdout or stderr, or the one that was started lives.
    #[must_use]
    pub fn attempt_alive(&self) -> bool {
        self.is_held() || self.leader().is_some()
    }

    /// Whether anything of it lives, its supervisor included.
    ///
    /// # Errors
    /// When that cannot be told.
    pub fn any_alive(&self) -> io::Result<bool> {
        for path in [self.input(), self.out(), self.err()] {
            if lock::probe(&path)? {
                return Ok(true);
            }
        }
        Ok(self.leader().is_some())
    }

    /// Whether a process keeps the attempt's stdout or stderr.
    #[must_use]
    pub fn is_held(&self) -> bool {
        lock::is_held(&self.out()) || lock::is_held(&self.err())
    }

    /// The process that was started, if it lives.
    #[must_use]
    pub fn leader(&self) -> Option<Process> {
        leader::living(&self.pid())
    }

    /// Writes down which process was started.
    ///
    /// # Errors
    /// Those of open and write.
    pub fn remember_leader(&self, pid: Pid) -> io::Result<()> {
        leader::remember(&self.pid(), pid)
    }

    fn pid(&self) -> PathBuf {
        self.folder.join(format!("{}.pid", self.attempt))
    }

    /// When it last printed something.
    #[must_use]
    pub fn last_output(&self) -> Option<Timestamp> {
        let modified = |path: PathBuf| fs::symlink_metadata(path).and_then(|meta| meta.modified()).ok();
        modified(self.out()).max(modified(self.err())).map(SystemTime::into)
    }

    /// Makes the three files and locks them.
    ///
    /// # Errors
    /// Those of open and flock. Of files that were there already none is touched.
    pub fn make(&self) -> io::Result<LockedLogs> {
        let mut made = Vec::new();
        for path in [self.input(), self.out(), self.err()] {
            match make_locked(&path) {
                Ok(file) => made.push((path, file)),
                Err(error) => {
                    made.iter().for_each(|(path, _)| drop(fs::remove_file(path)));
                    return Err(error);
                }
            }
        }
        let mut files = made.into_iter().map(|(_, file)| file);
        match (files.next(), files.next(), files.next()) {
            (Some(input), Some(out), Some(err)) => Ok(LockedLogs { input, outputs: Some((out, err)) }),
            _ => Err(io::Error::other("a log is missing")),
        }
    }

    /// Removes all files, as far as they are there.
    pub fn remove(&self) {
        for path in [self.input(), self.out(), self.err(), self.pid()] {
            // A file that stays is harmless: its number is not used again.
            drop(fs::remove_file(path));
        }
    }
}

/// The open and locked files of an attempt that is about to start.
#[derive(Debug)]
pub struct LockedLogs {
    /// Held by the supervisor alone.
    pub input: File,
    outputs: Option<(File, File)>,
}

impl LockedLogs {
    /// The files to become the attempt's stdout and stderr. Once only: whoever keeps a copy keeps the attempt alive.
    pub fn take_outputs(&mut self) -> Option<(File, File)> {
        self.outputs.take()
    }
}

fn make_locked(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(path)?;
    // Not `try_lock`: a probe may hold its shared lock for a moment.
    again(|| file.lock())?;
    Ok(file)
}

/// The numbers of the attempts that left logs in this folder, ascending.
///
/// # Errors
/// Those of listing; a folder that is not there has none.
pub fn logged_attempts(folder: &Path) -> io::Result<Vec<u64>> {
    let names = match folder::open_folder(folder).and_then(|folder| folder::names(&folder)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        names => names?,
    };
    let mut numbers: Vec<u64> = names.iter().filter_map(|name| attempt_of(name.to_str()?)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

fn attempt_of(name: &str) -> Option<u64> {
    let (number, kind) = name.split_once('.')?;
    // What is longer was not made by us, and could not be counted up.
    (matches!(kind, "in" | "out" | "err" | "pid") && number.len() < 16).then(|| number.parse().ok())?
}
