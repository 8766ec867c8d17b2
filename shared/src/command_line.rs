//! The command line as plain data: nothing is opened before it was read to its end, so `--help` and `--version` need no workspace.
//! The options that every program has are taken here.

use std::path::PathBuf;

use lexopt::prelude::*;
use lexopt::{Arg, Parser};

use crate::entry::{absolute, check_name};
use crate::exit::Error;
use crate::id::TaskId;
use crate::policy::Policy;
use crate::status::Status;
use crate::store::Store;
use crate::talk;
use crate::time::{Clock, Timestamp};
use crate::workspace::{Place, Surroundings};

/// Why nothing is carried out.
#[derive(Debug)]
pub enum Stop {
    /// Help or the version is to be printed.
    Print(String),
    /// The command line is wrong.
    Wrong(Error),
}

impl Stop {
    /// A wrong command line.
    pub fn usage(message: impl Into<String>) -> Self {
        Error::usage(message).into()
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Wrong(error)
    }
}

impl From<lexopt::Error> for Stop {
    fn from(error: lexopt::Error) -> Self {
        Self::Wrong(error.into())
    }
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

/// A command line, word for word.
#[derive(Debug)]
pub struct CommandLine {
    /// What was taken of the options of every program.
    pub common: Common,
    parser: Parser,
    help: &'static str,
    /// The long option that was read last.
    option: String,
    /// What stands behind `--` is a command.
    has_command: bool,
}

impl CommandLine {
    /// That of this process.
    #[must_use]
    pub fn of_process() -> Self {
        Self { common: Common::default(), parser: Parser::from_env(), help: "", option: String::new(), has_command: false }
    }

    /// The same, with what `--help` prints.
    #[must_use]
    pub fn with_help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    /// The next option or argument of the program's own.
    ///
    /// # Errors
    /// `Stop`, also when only help or the version is to be printed.
    pub fn word(&mut self) -> Result<Option<Arg<'_>>, Stop> {
        loop {
            if self.has_command && self.is_at_dashes() {
                return Ok(None);
            }
            match self.parser.next()? {
                None => return Ok(None),
                Some(Short('h')) => "help".clone_into(&mut self.option),
                Some(Short('V')) => "version".clone_into(&mut self.option),
                Some(Short(option)) => return Ok(Some(Short(option))),
                Some(Value(word)) => return Ok(Some(Value(word))),
                Some(Long(option)) => option.clone_into(&mut self.option),
            }
            match self.option.as_str() {
                "workspace" => self.common.workspace = Some(self.parser.value()?.into()),
                "now" => self.common.now = Some(self.time("now")?),
                "help" => return Err(Stop::Print(talk::help(self.help))),
                "version" => return Err(Stop::Print(version())),
                _ => break,
            }
        }
        Ok(Some(Long(&self.option)))
    }

    /// From now on the words end at `--`, and what stands behind it is a command: also what looks like an option.
    pub fn end_at_dashes(&mut self) {
        self.has_command = true;
    }

    fn is_at_dashes(&mut self) -> bool {
        self.parser.try_raw_args().is_some_and(|raw| raw.peek() == Some("--".as_ref()))
    }

    /// The command, when the words ended at `--`.
    ///
    /// # Errors
    /// `Usage` when a word is not UTF-8.
    pub fn command(&mut self) -> Result<Option<Vec<String>>, Error> {
        if !self.is_at_dashes() {
            return Ok(None);
        }
        let raw = self.parser.raw_args()?.skip(1);
        let text = |word: std::ffi::OsString| {
            word.into_string().map_err(|word| Error::usage(format!("the command has {word:?}, which is not UTF-8")))
        };
        raw.map(text).collect::<Result<_, _>>().map(Some)
    }

    /// The value of the option that was read last, where it was given with `=`.
    ///
    /// # Errors
    /// `Usage` when it is not UTF-8.
    pub fn optional_text(&mut self) -> Result<Option<String>, Error> {
        Ok(self.parser.optional_value().map(ValueExt::string).transpose()?)
    }

    /// Takes the option that was read last, which the program itself does not know, if it is one of a policy's.
    ///
    /// # Errors
    /// `Usage` when nobody knows it, or its value is wrong.
    pub fn take_policy(&mut self, policy: &mut Policy) -> Result<(), Error> {
        let option = self.option.clone();
        if policy.take(&option, self)? { Ok(()) } else { Err(lexopt::Error::UnexpectedOption(format!("--{option}")).into()) }
    }

    /// A time on the command line.
    ///
    /// # Errors
    /// `Usage`, naming the option.
    pub fn time(&mut self, option: &str) -> Result<Timestamp, Error> {
        let (time, _) = Timestamp::parse(&self.text(option)?).map_err(|why| Error::usage(format!("--{option}: {why}")))?;
        Ok(time)
    }

    /// A number of minutes or seconds on the command line.
    ///
    /// # Errors
    /// `Usage`, naming the option.
    pub fn amount(&mut self, option: &str) -> Result<f64, Error> {
        let text = self.text(option)?;
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        number.ok_or_else(|| Error::usage(format!("--{option}: {text:?} is no number of 0 or more")))
    }

    /// A count on the command line.
    ///
    /// # Errors
    /// `Usage`, naming the option.
    pub fn count(&mut self, option: &str) -> Result<u64, Error> {
        let text = self.text(option)?;
        text.parse().map_err(|_| Error::usage(format!("--{option}: {text:?} is no whole number of 0 or more")))
    }

    /// An option's text.
    ///
    /// # Errors
    /// `Usage` when there is none or it is not UTF-8.
    pub fn text(&mut self, option: &str) -> Result<String, Error> {
        self.parser.value()?.string().map_err(|error| Error::usage(format!("--{option}: {error}")))
    }

    /// An option's `NAME=VALUE`.
    ///
    /// # Errors
    /// `Usage`, naming the option.
    pub fn pair(&mut self, option: &str) -> Result<(String, String), Error> {
        let text = self.text(option)?;
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
            _ => Err(Error::usage(format!("--{option}: {text:?} is not of the form NAME=VALUE"))),
        }
    }

    /// An option's name of a phase, step or artifact.
    ///
    /// # Errors
    /// `Usage`, naming the option.
    pub fn name(&mut self, option: &str) -> Result<String, Error> {
        let name = self.text(option)?;
        check_name(&format!("--{option}"), &name).map_err(Error::usage)?;
        Ok(name)
    }

    /// An option's `NAME=PATH`, with the path made absolute.
    ///
    /// # Errors
    /// `Usage`.
    pub fn artifact(&mut self, option: &str) -> Result<(String, String), Error> {
        let (name, path) = self.pair(option)?;
        check_name(&format!("--{option}"), &name).map_err(Error::usage)?;
        Ok((name, absolute(&format!("--{option}"), &path)?))
    }
}

fn version() -> String {
    format!("{} (task-recovery) {}\n", talk::program(), env!("CARGO_PKG_VERSION"))
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
