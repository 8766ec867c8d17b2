//! What another program does for us, as a step of a plan.

use shared::exit::{Error, Exit};

use crate::child::{Program, shown};
use crate::every::Every;
use crate::openclaw::{Failure, OpenClaw, add_job_args};
use crate::plugin::Step;
use crate::trigger::{cron, scratch};

/// A call.
#[derive(Clone, Debug)]
pub(crate) enum Call {
    /// Declares a command job of OpenClaw.
    AddJob { openclaw: OpenClaw, key: String, every: Every, argv: Vec<String>, folder: String, remedy: String },
    /// Removes a job of OpenClaw.
    RemoveJob { openclaw: OpenClaw, id: String },
    /// Tells OpenClaw of the plugin.
    Plugin { openclaw: OpenClaw, step: Step, remedy: String },
    /// Edits a monitor scratch.
    Scratch(scratch::Change),
    /// Edits the crontab.
    Crontab(cron::Change),
    /// Runs a command that changes something, or may fail without harm.
    Run { program: Program, args: Vec<String>, must: bool, remedy: String },
}

impl Call {
    /// Does it; whether that changed anything.
    pub(crate) fn carry_out(&self) -> Result<bool, Error> {
        match self {
            Self::AddJob { openclaw, key, every, argv, folder, remedy } => {
                let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
                openclaw.add_job(key, *every, &argv, folder).map_err(|failure| refusal(&failure, remedy))
            }
            Self::RemoveJob { openclaw, id } => {
                let remedy = format!("openclaw cron rm {id}");
                openclaw.remove_job(id).map_err(|failure| refusal(&failure, &remedy)).map(|()| true)
            }
            Self::Plugin { openclaw, step, remedy } => step.carry_out(openclaw, remedy),
            Self::Scratch(change) => change.carry_out(),
            Self::Crontab(change) => change.carry_out(),
            Self::Run { program, args, must, remedy } => {
                let words: Vec<&str> = args.iter().map(String::as_str).collect();
                let failed = match program.run(&words, None) {
                    Ok(answer) if answer.is_ok() => return Ok(true),
                    Ok(answer) => answer.complaint(),
                    Err(why) => why,
                };
                let name = self.words();
                if *must { Err(Error::io(format!("{name}: {failed}; then run: {remedy}"))) } else { Ok(true) }
            }
        }
    }

    /// What a person would see of it beforehand.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Scratch(change) => change.shown(),
            Self::Crontab(change) => change.shown(),
            _ => format!("# run: {}\n", self.words()),
        }
    }

    fn words(&self) -> String {
        let named = |program: &str, args: &[String]| {
            shown(&std::iter::once(program).chain(args.iter().map(String::as_str)).collect::<Vec<_>>())
        };
        match self {
            Self::AddJob { key, every, argv, folder, .. } => {
                let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
                named("openclaw", &add_job_args(key, *every, &argv, folder))
            }
            Self::RemoveJob { id, .. } => named("openclaw", &["cron", "rm", id, "--json"].map(str::to_owned)),
            Self::Run { program, args, .. } => named(&program.path.file_name().unwrap_or_default().to_string_lossy(), args),
            Self::Plugin { openclaw, step, .. } => step.words(Some(openclaw)),
            Self::Scratch(_) | Self::Crontab(_) => String::new(),
        }
    }
}

/// What a person reads when OpenClaw did not do it.
pub(crate) fn refusal(failure: &Failure, remedy: &str) -> Error {
    let message = failure.message();
    match failure {
        Failure::Down(_) => Error::new(
            Exit::Busy,
            format!("OpenClaw's Gateway is down: {message}; start it (openclaw gateway run), then run: {remedy}"),
        ),
        Failure::Stale => Error::new(Exit::Busy, format!("{message}; try again: {remedy}")),
        Failure::Absent => Error::new(Exit::Config, format!("{message}; add its folder to it, and run: {remedy}")),
        Failure::Refused(_) => Error::refused(format!("{message}; the operator should run: {remedy}")),
    }
}
