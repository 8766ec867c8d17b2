//! The command line as plain data. Nothing is opened here.

use lexopt::prelude::*;
use shared::card::Status;
use shared::cli::{self, Common, Parsed, artifact, name, pair, set_id, text};
use shared::entry::{Entry, Step};
use shared::exit::Error;
use shared::id::TaskId;

const HELP: &str = include_str!("../help.txt");

/// What to record.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) common: Common,
    pub(crate) id: TaskId,
    pub(crate) entry: Entry,
    pub(crate) status: Option<Status>,
}

/// Parses everything.
pub(crate) fn parse(mut parser: lexopt::Parser) -> Result<Parsed<Wanted>, Error> {
    let mut common = Common::default();
    let mut id: Option<TaskId> = None;
    let (mut entry, mut status) = (Entry::default(), None);
    while let Some(arg) = parser.next()? {
        match arg {
            Long("phase") => entry.phase = Some(name(&mut parser, "phase")?),
            Long("next-phase") => entry.next_phase = Some(name(&mut parser, "next-phase")?),
            Long("message") => entry.message = Some(text(&mut parser, "message")?),
            Long("artifact") => entry.artifacts.push(artifact(&mut parser)?),
            Long("step") => entry.steps.push(Step { name: name(&mut parser, "step")?, status: "done".to_owned(), result: None }),
            Long("result") => {
                let result = text(&mut parser, "result")?;
                let step = entry.steps.last_mut().ok_or_else(|| Error::usage("--result needs a --step before it"))?;
                step.result = Some(result);
            }
            Long("status") => status = Some(later_status(&text(&mut parser, "status")?)?),
            Long("meta") => {
                let (name, value) = pair(&mut parser, "meta")?;
                entry.metadata.insert(name, value.into());
            }
            Long("task-id") => set_id(&mut id, &text(&mut parser, "task-id")?)?,
            Value(word) => set_id(&mut id, &word.string()?)?,
            Long("workspace") => common.workspace = Some(parser.value()?.into()),
            Long("now") => common.now = Some(cli::time(&mut parser, "now")?),
            Short('h') | Long("help") => return Ok(Parsed::Print(HELP.to_owned())),
            Short('V') | Long("version") => return Ok(Parsed::Print(cli::version())),
            other => return Err(other.unexpected().into()),
        }
    }
    let id = id.ok_or_else(|| Error::usage("say which task; see --help"))?;
    Ok(Parsed::Run(Wanted { common, id, entry, status }))
}

fn later_status(text: &str) -> Result<Status, Error> {
    match text.parse() {
        Ok(Status::Pending) | Err(_) => {
            let known: Vec<&str> =
                Status::ALL.into_iter().filter(|status| *status != Status::Pending).map(Status::as_str).collect();
            Err(Error::usage(format!("--status: {text:?} is no status that work can lead to: {}", known.join(", "))))
        }
        Ok(status) => Ok(status),
    }
}
