//! The command line as plain data. Nothing is opened here.

use lexopt::prelude::*;
use shared::card::Status;
use shared::command_line::{CommandLine, Common, Stop, later_status, set_id};
use shared::entry::{Entry, Step};
use shared::exit::Error;
use shared::id::TaskId;
use shared::policy::Policy;

const HELP: &str = include_str!("../help.txt");

/// What to record.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) common: Common,
    pub(crate) id: TaskId,
    /// There is an answer on stdin; the options add to it.
    pub(crate) from_stdin: bool,
    pub(crate) entry: Entry,
    /// Artifacts that are to be measured.
    pub(crate) verified: Vec<(String, String)>,
    pub(crate) status: Option<Status>,
    pub(crate) policy: Policy,
}

/// Parses everything.
pub(crate) fn parse(line: CommandLine) -> Result<Wanted, Stop> {
    let mut line = line.with_help(HELP);
    let mut id: Option<TaskId> = None;
    let (mut entry, mut status, mut verified, mut from_stdin) = (Entry::default(), None, Vec::new(), false);
    let mut policy = Policy::default();
    while let Some(arg) = line.word()? {
        match arg {
            Long("phase") => entry.phase = Some(line.name("phase")?),
            Long("next-phase") => entry.next_phase = Some(line.name("next-phase")?),
            Long("message") => entry.message = Some(line.text("message")?),
            Long("artifact") => entry.artifacts.push(line.artifact("artifact")?),
            Long("verified-artifact") => verified.push(line.artifact("verified-artifact")?),
            Long("step") => entry.steps.push(Step { name: line.name("step")?, status: "done".to_owned(), result: None }),
            Long("result") => {
                let result = line.text("result")?;
                let step = entry.steps.last_mut().ok_or_else(|| Error::usage("--result needs a --step before it"))?;
                step.result = Some(result);
            }
            Long("status") => status = Some(later_status(&line.text("status")?)?),
            Long("meta") => {
                let (name, value) = line.pair("meta")?;
                entry.metadata.insert(name, value.into());
            }
            Long("context") => {
                let (name, value) = line.pair("context")?;
                entry.context.insert(name, value.into());
            }
            Long("task-id") => set_id(&mut id, &line.text("task-id")?)?,
            Value(word) if word == "-" => from_stdin = true,
            Value(word) => set_id(&mut id, &word.string()?)?,
            Long(_) => line.take_policy(&mut policy)?,
            other @ Short(_) => return Err(other.unexpected().into()),
        }
    }
    let id = id.ok_or_else(|| Error::usage("say which task; see --help"))?;
    Ok(Wanted { common: line.common, id, from_stdin, entry, verified, status, policy })
}
