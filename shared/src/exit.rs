//! Exit statuses, the same for all programs, and the error that carries one.
//!
//! The numbers are those of `sysexits.h` (4.3BSD) where it has one for the case.

use std::fmt;

/// How a program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The work is done; for `watch` and `resume`: the pass was carried out, whatever it found.
    Done,
    /// Something needs a person (only with `--exit-status`).
    NeedsPerson,
    /// The command line is wrong.
    Usage,
    /// Input data is wrong.
    BadData,
    /// There is no such task.
    NoTask,
    /// The task exists already.
    Exists,
    /// Reading or writing failed.
    Io,
    /// Busy: try later.
    Busy,
    /// Refused: not permitted, or superseded by a newer attempt.
    Refused,
    /// The configuration is wrong.
    Config,
    /// Ended by this signal.
    Signal(i32),
}

impl Exit {
    /// The number that the shell sees.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::NeedsPerson => 1,
            Self::Usage => 64,
            Self::BadData => 65,
            Self::NoTask => 66,
            Self::Exists => 73,
            Self::Io => 74,
            Self::Busy => 75,
            Self::Refused => 77,
            Self::Config => 78,
            Self::Signal(number) => 128_u8.saturating_add(u8::try_from(number).unwrap_or(127)),
        }
    }
}

/// A failure: one line for the person, one status for the shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The status to exit with.
    pub exit: Exit,
    /// One line without a final period: what, which, why, and what to do where that isn't obvious.
    pub message: String,
}

impl Error {
    /// An error with this status and text.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into() }
    }

    /// A wrong command line.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Wrong input data.
    pub fn data(message: impl Into<String>) -> Self {
        Self::new(Exit::BadData, message)
    }

    /// A failed read or write.
    pub fn io(message: impl Into<String>) -> Self {
        Self::new(Exit::Io, message)
    }

    /// Something that is not permitted.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(Exit::Refused, message)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<lexopt::Error> for Error {
    fn from(error: lexopt::Error) -> Self {
        Self::usage(format!("{error}; see --help"))
    }
}

/// The system's words for an error, without Rust's "(os error N)".
#[must_use]
pub fn cause(error: &std::io::Error) -> String {
    match error.raw_os_error() {
        Some(number) => nix::errno::Errno::from_raw(number).desc().to_owned(),
        None => error.to_string(),
    }
}
