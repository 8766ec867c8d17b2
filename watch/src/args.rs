//! The command line as plain data. Nothing is opened here.

use lexopt::prelude::*;
use shared::command_line::{CommandLine, Common, Stop, set_id};
use shared::exit::Error;
use shared::id::TaskId;

const HELP: &str = include_str!("../help.txt");

/// Long options of procps' watch, whose short ones are all foreign here.
const PROCPS: [&str; 12] = [
    "beep",
    "chgexit",
    "color",
    "differences",
    "equexit",
    "errexit",
    "exec",
    "interval",
    "no-linewrap",
    "no-rerun",
    "no-title",
    "precise",
];

/// How signals are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Jsonl,
    Text,
    Report,
    Ids,
}

/// What to look for and how to say it.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) common: Common,
    pub(crate) task_type: Option<String>,
    /// Without a format: text on a terminal, JSON Lines elsewhere.
    pub(crate) format: Option<Format>,
    pub(crate) exit_status: bool,
    /// All verdicts, or that of one task.
    pub(crate) explain: Option<Option<TaskId>>,
}

/// Parses everything.
pub(crate) fn parse(line: CommandLine) -> Result<Wanted, Stop> {
    let mut line = line.with_help(HELP);
    let (mut explain, mut id) = (false, None);
    let mut wanted = Wanted { common: Common::default(), task_type: None, format: None, exit_status: false, explain: None };
    while let Some(arg) = line.word()? {
        match arg {
            Long("task-type") => wanted.task_type = Some(line.text("task-type")?),
            Long("format") => wanted.format = Some(format(&line.text("format")?)?),
            Long("report") => wanted.format = Some(Format::Report),
            Long("exit-status") => wanted.exit_status = true,
            Long("explain") => {
                explain = true;
                if let Some(value) = line.optional_text()? {
                    set_id(&mut id, &value)?;
                }
            }
            Value(word) if explain => set_id(&mut id, &word.string()?)?,
            Short(option) => return Err(other_watch(&format!("option -{option}")).into()),
            Value(word) => return Err(other_watch(&format!("argument {word:?}")).into()),
            Long(option) if PROCPS.contains(&option) => return Err(other_watch(&format!("option --{option}")).into()),
            other @ Long(_) => return Err(other.unexpected().into()),
        }
    }
    wanted.explain = explain.then_some(id);
    wanted.common = line.common;
    Ok(wanted)
}

fn format(text: &str) -> Result<Format, Error> {
    match text {
        "jsonl" => Ok(Format::Jsonl),
        "text" => Ok(Format::Text),
        "report" => Ok(Format::Report),
        "ids" => Ok(Format::Ids),
        _ => Err(Error::usage(format!("--format: {text:?} is no format; known are jsonl, text, report, ids"))),
    }
}

/// For whoever meant the program that repeats a command.
fn other_watch(what: &str) -> Error {
    Error::usage(format!(
        "invalid {what}: this is task-recovery's watch, which looks after run cards; \
         the one of procps that repeats a command is usually /usr/bin/watch; see --help"
    ))
}
