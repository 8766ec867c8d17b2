//! Every errno at every file-system call of the writing commands, one a run.
//!
//! However it ends: every card is whole, the old one or a newer one, and the next command works.
//!
//! ```text
//! exit 0               the change is there; stderr is empty, or one warning that names the cause: the history and
//!                      what else is best effort may fail
//! 74 I/O, 78 folder    the change is not there, unless the line says so: "it is written, but", and when the answer
//!                      could not be written; one line that names the cause
//! ```
//! A supervisor has more ends: what fails between its claim and its settling is a postponed attempt, with
//! the cause in its line. EINTR is survived without a word where the call may be repeated.

use std::collections::BTreeSet;

use tests::Ran;
use tests::strace::{self, Point};
use tests::sweep;
use tests::writers::{self, Cards, Writer, writers};

use crate::controlled::{FAILURES_MAX, controlled};
use crate::{Context, Outcome, Passed};

/// Each with the system's words for it.
const ERRNOS: [(&str, &str); 7] = [
    ("EIO", "I/O error"),
    ("ENOSPC", "No space left on device"),
    ("EDQUOT", "Quota exceeded"),
    ("EACCES", "Permission denied"),
    ("EROFS", "Read-only file system"),
    ("EMFILE", "Too many open files"),
    ("EINTR", "Interrupted system call"),
];
/// So few would mean that the trace was not understood.
const INJECTIONS_MIN: usize = 500;
/// What signals may interrupt, and POSIX (for `flock`, Linux) lets the caller repeat.
const REPEATABLE: [&str; 8] = ["openat", "read", "pread64", "write", "fsync", "fdatasync", "flock", "ftruncate"];
/// Not about files: what a descriptor is.
const NO_FILE_CALLS: [&str; 2] = ["fcntl", "ioctl"];

struct Injection<'a> {
    writer: &'a Writer,
    point: Point,
    errno: &'static str,
    words: &'static str,
}

pub(crate) fn run(_: &Context) -> Outcome {
    if let Err(why) = strace::is_usable() {
        return Ok(Passed::Skipped(why));
    }
    let mut writers = writers();
    writers.push(Writer::refused());
    let mut injections = Vec::new();
    for writer in &writers {
        injections.extend(injections_of(writer)?);
    }
    if injections.len() < INJECTIONS_MIN {
        return Err(format!("only {} injections", injections.len()));
    }
    sweep::each(&injections, FAILURES_MAX, inject)?;
    Ok(Passed::Done(format!("{} injections into {} commands", injections.len(), writers.len())))
}

pub(crate) fn control(_: &Context) -> Outcome {
    let broken = [
        ("in-place", "is torn"),
        ("swallows", "success without the change"),
        ("vague", "does not name the cause"),
        ("wrong-status", "an exit status that does not fit"),
        ("no-retry", "it is not survived"),
    ];
    controlled(&broken, |mode| {
        let writer = Writer::broken(mode);
        sweep::each(&injections_of(&writer)?, 1, inject)
    })
}

fn injections_of(writer: &Writer) -> Result<Vec<Injection<'_>>, String> {
    let workspace = writer.workspace();
    let calls = strace::calls(&workspace, writer)?;
    let points: BTreeSet<Point> = strace::points(&workspace, &calls, false).into_iter().collect();
    // What others wrote, and cannot be read, is said of that file, as bad data.
    let is_given = |point: &Point| point.path.as_deref().is_some_and(|path| path.split('/').next() == Some(writers::GIVEN));
    let points = points.into_iter().filter(|point| !NO_FILE_CALLS.contains(&&*point.call) && !is_given(point));
    Ok(points.flat_map(|point| ERRNOS.map(|(errno, words)| Injection { writer, point: point.clone(), errno, words })).collect())
}

fn inject(injection: &Injection<'_>) -> Result<(), String> {
    let Injection { writer, point, errno, .. } = injection;
    for _ in 0..writer.tries() {
        let workspace = writer.workspace();
        let before = writers::cards(&workspace)?;
        let log = workspace.path("trace");
        let harm = point.harmed(&workspace, &format!("error={errno}"));
        let ran = workspace.finish(strace::under(&writer.command(&workspace), harm, tests::word(&log)), writer.input());
        let check = || {
            let after = writers::cards(&workspace)?;
            writers::are_old_or_new(&before, &after)?;
            writers::is_kept(&ran.stdout(), &after)?;
            injection.ends_well(&ran, &before, &after)?;
            writers::next_works(&workspace, writer)
        };
        check().map_err(|what| format!("{}, {errno} at {point}: {what}\n{ran}", writer.name))?;
        if std::fs::read(&log).is_ok_and(|trace| String::from_utf8_lossy(&trace).contains("(INJECTED)")) {
            return Ok(());
        }
    }
    Err(format!("{}: it did not come to {point}", writer.name))
}

impl Injection<'_> {
    fn ends_well(&self, ran: &Ran<'_>, before: &Cards, after: &Cards) -> Result<(), String> {
        let (stderr, stdout) = (ran.stderr(), ran.stdout());
        if self.errno == "EINTR" && REPEATABLE.contains(&&*self.point.call) {
            let silent = stderr.is_empty() || self.writer.status() != 0;
            let survived = ran.status() == Some(self.writer.status()) && silent && self.writer.is_done(after);
            return if survived { Ok(()) } else { Err("it is not survived".to_owned()) };
        }
        if stderr.lines().count() > 1 {
            return Err("more than one line on stderr".to_owned());
        }
        let told = stderr.contains(self.words) || stdout.contains(self.words);
        match ran.status() {
            Some(73) if self.writer.status() == 73 => Ok(()),
            _ if self.writer.status() == 73 && before != after => Err("a card that exists is replaced".to_owned()),
            Some(0) if self.writer.supervises() && !self.writer.is_done(after) => {
                if told {
                    Ok(())
                } else {
                    Err("the work is not done, and nothing names the cause".to_owned())
                }
            }
            Some(0) if !self.writer.is_done(after) => Err("success without the change".to_owned()),
            Some(0) if stderr.is_empty() || told => Ok(()),
            Some(0) => Err("a warning that does not name the cause".to_owned()),
            Some(74 | 78) if !told => Err("the line does not name the cause".to_owned()),
            Some(74 | 78) if self.writer.supervises() || before == after => Ok(()),
            Some(74) if stderr.contains("it is written, but") || stderr.contains("cannot write to standard output") => Ok(()),
            Some(74 | 78) => Err("it is reported as failed, and the change is there".to_owned()),
            _ => Err("an exit status that does not fit".to_owned()),
        }
    }
}
