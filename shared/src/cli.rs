//! A program's streams and its end: stdout is data and may be closed by its reader at any time, which is success; stderr is talk,
//! one line each, and its failures are nobody's.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::process::ExitCode;

use nix::sys::signal::{SigSet, Signal};
use serde_json::Value;

use crate::command_line::{CommandLine, Stop};
use crate::exit::{Error, Exit, cause};
use crate::talk::{self, say};

/// Runs a program, whose own name this is: `parse` reads the command line, `body` does the work, errors become one line and a status.
pub fn run<T>(
    name: &'static str,
    parse: impl FnOnce(CommandLine) -> Result<T, Stop>,
    body: impl FnOnce(T) -> Result<Exit, Error>,
) -> ExitCode {
    talk::set_program(name);
    // Over a file size limit a write fails, and is reported, instead of ending the program without a word.
    let limit = SigSet::from_iter([Signal::SIGXFSZ]);
    limit.thread_block().ok();
    let done = match parse(CommandLine::of_process()) {
        Ok(wanted) => body(wanted),
        Err(Stop::Print(text)) => print(&text),
        Err(Stop::Wrong(error)) => Err(error),
    };
    let exit = done.unwrap_or_else(|error| {
        say(&error.message);
        error.exit
    });
    ExitCode::from(exit.code())
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
