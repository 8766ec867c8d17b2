//! The command line as plain data. Nothing is opened here.

use lexopt::prelude::*;
use shared::command_line::{CommandLine, Common, Stop};
use shared::exit::Error;
use shared::id::TaskId;
use shared::verdict::Request;

const HELP: &str = include_str!("../help.txt");
/// Attempts at a time.
const JOBS: u64 = 4;
/// Seconds between TERM and KILL.
const GRACE_SECONDS: f64 = 10.0;

/// Bytes of output of one attempt.
const OUTPUT_LIMIT: u64 = 1 << 30;

/// How lines are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Jsonl,
    Text,
    Report,
}

/// What to bring back, and how.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) common: Common,
    /// The tasks that were named; empty when they come down the pipe.
    pub(crate) ids: Vec<TaskId>,
    pub(crate) jobs: u64,
    /// Instead of the cards' own.
    pub(crate) timeout_seconds: Option<f64>,
    pub(crate) grace_seconds: f64,
    /// Without a format: text on a terminal, JSON Lines elsewhere.
    pub(crate) format: Option<Format>,
    pub(crate) dry_run: bool,
    pub(crate) force: bool,
    pub(crate) wait_seconds: f64,
    /// Bytes of output that an attempt may print; 0 = no limit.
    pub(crate) output_limit: u64,
    /// For the whole pass; 0 = no limit.
    pub(crate) budget_seconds: f64,
    pub(crate) detach: bool,
    pub(crate) exit_status: bool,
    /// Set by a pool for its members: who asked for the one task that is given.
    pub(crate) member: Option<Request>,
    /// Set by a pool for a member that is to detach after its claim.
    pub(crate) detached: bool,
}

/// Parses everything.
pub(crate) fn parse(line: CommandLine) -> Result<Wanted, Stop> {
    let mut line = line.with_help(HELP);
    let mut wanted = Wanted {
        common: Common::default(),
        ids: Vec::new(),
        jobs: JOBS,
        timeout_seconds: None,
        grace_seconds: GRACE_SECONDS,
        format: None,
        dry_run: false,
        force: false,
        wait_seconds: 0.0,
        output_limit: OUTPUT_LIMIT,
        budget_seconds: 0.0,
        detach: false,
        exit_status: false,
        member: None,
        detached: false,
    };
    while let Some(arg) = line.word()? {
        match arg {
            Long("task-id") => wanted.ids.push(line.text("task-id")?.parse().map_err(Error::usage)?),
            Value(word) => wanted.ids.push(word.string()?.parse().map_err(Error::usage)?),
            Long("jobs") | Short('j') => wanted.jobs = line.count("jobs")?,
            Long("timeout-seconds") => wanted.timeout_seconds = Some(line.amount("timeout-seconds")?),
            Long("grace-seconds") => wanted.grace_seconds = line.amount("grace-seconds")?,
            Long("wait-seconds") => wanted.wait_seconds = line.amount("wait-seconds")?,
            Long("output-limit") => wanted.output_limit = line.count("output-limit")?,
            Long("budget-seconds") => wanted.budget_seconds = line.amount("budget-seconds")?,
            Long("detach") => wanted.detach = true,
            Long("detached") => wanted.detached = true,
            Long("format") => wanted.format = Some(format(&line.text("format")?)?),
            Long("report") => wanted.format = Some(Format::Report),
            Long("dry-run") => wanted.dry_run = true,
            Long("force") => wanted.force = true,
            Long("exit-status") => wanted.exit_status = true,
            Long("pool-member") => wanted.member = Some(request(&line.text("pool-member")?)?),
            other => return Err(other.unexpected().into()),
        }
    }
    wanted.common = line.common;
    if wanted.detach && wanted.budget_seconds > 0.0 {
        return Err(Stop::usage("--budget-seconds is for attempts that the pass waits for; with --detach give --timeout-seconds"));
    }
    if wanted.jobs == 0 {
        return Err(Stop::usage("--jobs 0 would start nothing; give 1 or more"));
    }
    if wanted.force && wanted.ids.is_empty() {
        return Err(Stop::usage("--force is for tasks that are named as arguments; name them"));
    }
    Ok(wanted)
}

fn format(text: &str) -> Result<Format, Error> {
    match text {
        "jsonl" => Ok(Format::Jsonl),
        "text" => Ok(Format::Text),
        "report" => Ok(Format::Report),
        _ => Err(Error::usage(format!("--format: {text:?} is no format; known are jsonl, text, report"))),
    }
}

/// The word for a member's `--pool-member`.
pub(crate) fn request_word(request: Request) -> &'static str {
    match request {
        Request::Pass => "pass",
        Request::Named | Request::Continued => "named",
        Request::Forced => "forced",
    }
}

fn request(word: &str) -> Result<Request, Error> {
    match word {
        "pass" => Ok(Request::Pass),
        "named" => Ok(Request::Named),
        "forced" => Ok(Request::Forced),
        _ => Err(Error::usage("--pool-member is for resume itself")),
    }
}
