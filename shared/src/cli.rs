//! What all programs share on the command line and on the standard streams.
//!
//! A command line is parsed to plain data first; nothing is opened before that, so `--help` and
//! `--version` need no workspace. stdout is data and may be closed by its reader at any time:
//! that is success. stderr is talk, one line each, and its failures are nobody's.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use lexopt::{Parser, ValueExt};
use nix::sys::signal::{SigSet, Signal};
use serde_json::Value;

use crate::entry::{absolute, check_name};
use crate::exit::{Error, Exit, cause};
use crate::id::TaskId;
use crate::policy::Policy;
use crate::status::Status;
use crate::store::Store;
use crate::talk::{self, say};
use crate::time::{Clock, Timestamp};
use crate::workspace::{Place, Surroundings};

/// A parsed command line.
#[derive(Debug)]
pub enum Parsed<T> {
    /// Do this.
    Run(T),
    /// Print this text and be done.
    Print(String),
}

/// The options of every program that works in a workspace.
#[derive(Clone, Debug, Default)]
pub struct Common {
    /// `--workspace DIR`.
    pub workspace: Option<PathBuf>,
    /// `--now TIME`.
    pub now: Option<Timestamp>,
}

impl Common {
    /// Opens the store that the options and the surroundings name.
    ///
    /// # Errors
    /// `Config`.
    pub fn open(&self) -> Result<(Store, Place), Error> {
        let place = Place::find(self.workspace.as_deref(), &Surroundings::of_process())?;
        Ok((Store::open(&place, Clock::new(self.now))?, place))
    }
}

/// What `--version` prints.
#[must_use]
pub fn version() -> String {
    format!("{} (task-recovery) {}\n", talk::program(), env!("CARGO_PKG_VERSION"))
}

/// A time on the command line.
///
/// # Errors
/// `Usage`, naming the option.
pub fn time(parser: &mut Parser, option: &str) -> Result<Timestamp, Error> {
    let (time, _) = Timestamp::parse(&text(parser, option)?).map_err(|why| Error::usage(format!("--{option}: {why}")))?;
    Ok(time)
}

/// A number of minutes or seconds on the command line.
///
/// # Errors
/// `Usage`, naming the option.
pub fn amount(parser: &mut Parser, option: &str) -> Result<f64, Error> {
    let text = text(parser, option)?;
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| Error::usage(format!("--{option}: {text:?} is no number of 0 or more")))
}

/// A count on the command line.
///
/// # Errors
/// `Usage`, naming the option.
pub fn count(parser: &mut Parser, option: &str) -> Result<u64, Error> {
    let text = text(parser, option)?;
    text.parse().map_err(|_| Error::usage(format!("--{option}: {text:?} is no whole number of 0 or more")))
}

/// An option's text.
///
/// # Errors
/// `Usage` when there is none or it is not UTF-8.
pub fn text(parser: &mut Parser, option: &str) -> Result<String, Error> {
    parser.value()?.string().map_err(|error| Error::usage(format!("--{option}: {error}")))
}

/// An option's `NAME=VALUE`.
///
/// # Errors
/// `Usage`, naming the option.
pub fn pair(parser: &mut Parser, option: &str) -> Result<(String, String), Error> {
    let text = text(parser, option)?;
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(Error::usage(format!("--{option}: {text:?} is not of the form NAME=VALUE"))),
    }
}

/// An option's name of a phase, step or artifact.
///
/// # Errors
/// `Usage`, naming the option.
pub fn name(parser: &mut Parser, option: &str) -> Result<String, Error> {
    let name = text(parser, option)?;
    check_name(&format!("--{option}"), &name).map_err(Error::usage)?;
    Ok(name)
}

/// An option's `NAME=PATH`, with the path made absolute.
///
/// # Errors
/// `Usage`.
pub fn artifact(parser: &mut Parser, option: &str) -> Result<(String, String), Error> {
    let (name, path) = pair(parser, option)?;
    check_name(&format!("--{option}"), &name).map_err(Error::usage)?;
    Ok((name, absolute(&format!("--{option}"), &path)?))
}

/// The one task ID of a command line.
///
/// # Errors
/// `Usage` when it is none or there was one already.
pub fn set_id(slot: &mut Option<TaskId>, text: &str) -> Result<(), Error> {
    match slot.replace(text.parse().map_err(Error::usage)?) {
        None => Ok(()),
        Some(first) => Err(Error::usage(format!("{text:?} is one ID too many, after {first}"))),
    }
}

/// Takes an option that the program itself does not know, if it is one of a policy's.
///
/// # Errors
/// `Usage` when nobody knows it, or its value is wrong.
pub fn take_policy(policy: &mut Policy, option: &str, parser: &mut Parser) -> Result<(), Error> {
    if policy.take(option, parser)? { Ok(()) } else { Err(lexopt::Error::UnexpectedOption(format!("--{option}")).into()) }
}

/// A status that work can lead to.
///
/// # Errors
/// `Usage` when it is none.
pub fn later_status(text: &str) -> Result<Status, Error> {
    match text.parse() {
        Ok(Status::Pending) | Err(_) => {
            let known: Vec<&str> =
                Status::ALL.into_iter().filter(|status| *status != Status::Pending).map(Status::as_str).collect();
            Err(Error::usage(format!("--status: {text:?} is no status that work can lead to; known are {}", known.join(", "))))
        }
        Ok(status) => Ok(status),
    }
}

/// Runs a program, whose own name this is: `body` does the work, errors become one line and a status.
pub fn run(name: &'static str, body: impl FnOnce() -> Result<Exit, Error>) -> ExitCode {
    talk::set_program(name);
    // Over a file size limit a write fails, and is reported, instead of ending the program without a word.
    let limit = SigSet::from_iter([Signal::SIGXFSZ]);
    limit.thread_block().ok();
    let exit = body().unwrap_or_else(|error| {
        say(&error.message);
        error.exit
    });
    ExitCode::from(exit.code())
}

/// Prints a program's help or version, and is done.
///
/// # Errors
/// `Io` when it cannot be written.
pub fn print_help(text: &str) -> Result<Exit, Error> {
    print(&talk::help(text))
}

/// Prints a text and is done.
///
/// # Errors
/// `Io` when it cannot be written.
pub fn print(text: &str) -> Result<Exit, Error> {
    let mut output = Output::new();
    output.text(text)?;
    output.finish()?;
    Ok(Exit::Done)
}

/// stdout. A reader that closed it gets nothing more; nothing else changes.
#[derive(Debug)]
pub struct Output {
    stream: BufWriter<Stdout>,
    terminal: bool,
    closed: bool,
}

impl Default for Output {
    fn default() -> Self {
        Self::new()
    }
}

impl Output {
    /// This process's stdout.
    #[must_use]
    pub fn new() -> Self {
        let stdout = io::stdout();
        Self { terminal: stdout.is_terminal(), stream: BufWriter::new(stdout), closed: false }
    }

    /// Whether a person reads it.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Whether its reader went away.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Writes a text.
    ///
    /// # Errors
    /// `Io`, but not when the reader went away.
    pub fn text(&mut self, text: &str) -> Result<(), Error> {
        let written = self.stream.write_all(text.as_bytes());
        self.outcome(written)
    }

    /// Writes a value as one JSON line.
    ///
    /// # Errors
    /// As `text`.
    pub fn json_line(&mut self, value: &Value) -> Result<(), Error> {
        self.text(&(value.to_string() + "\n"))
    }

    /// Writes a value as one JSON line, indented for a person on a terminal.
    ///
    /// # Errors
    /// As `text`.
    pub fn json(&mut self, value: &Value) -> Result<(), Error> {
        if self.terminal { self.text(&format!("{value:#}\n")) } else { self.json_line(value) }
    }

    /// Hands everything written so far to the reader.
    ///
    /// # Errors
    /// As `text`.
    pub fn finish(&mut self) -> Result<(), Error> {
        let flushed = self.stream.flush();
        self.outcome(flushed)
    }

    fn outcome(&mut self, result: io::Result<()>) -> Result<(), Error> {
        match result {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            Err(error) if !self.closed => Err(Error::io(format!("cannot write to standard output: {}", cause(&error)))),
            _ => Ok(()),
        }
    }
}
