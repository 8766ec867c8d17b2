//! The command line as plain data. Nothing is opened here.

use lexopt::prelude::*;
use shared::card::Status;
use shared::cli::{self, Common, Parsed, artifact, later_status, name, pair, set_id, take_policy, text};
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
pub(crate) fn parse(mut parser: lexopt::Parser) -> Result<Parsed<Wanted>, Error> {
    let mut common = Common::default();
    let mut id: Option<TaskId> = None;
    let (mut entry, mut status, mut verified, mut from_stdin) = (Entry::default(), None, Vec::new(), false);
    let mut policy = Policy::default();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("phase") => entry.phase = Some(name(&mut parser, "phase")?),
            Long("next-phase") => entry.next_phase = Some(name(&mut parser, "next-phase")?),
            Long("message") => entry.message = Some(text(&mut parser, "message")?),
            Long("artifact") => entry.artifacts.push(artifact(&mut parser, "artifact")?),
            Long("verified-artifact") => verified.push(artifact(&mut parser, "verified-artifact")?),
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
            Long("context") => {
                let (name, value) = pair(&mut parser, "context")?;
                entry.context.insert(name, value.into());
            }
            Long("task-id") => set_id(&mut id, &text(&mut parser, "task-id")?)?,
            Value(word) if word == "-" => from_stdin = true,
            Value(word) => set_id(&mut id, &word.string()?)?,
            Long("workspace") => common.workspace = Some(parser.value()?.into()),
            Long("now") => common.now = Some(cli::time(&mut parser, "now")?),
            Short('h') | Long("help") => return Ok(Parsed::Print(HELP.to_owned())),
            Short('V') | Long("version") => return Ok(Parsed::Print(cli::version())),
            Long(option) => {
                let option = option.to_owned();
                take_policy(&mut policy, &option, &mut parser)?;
            }
            other @ Short(_) => return Err(other.unexpected().into()),
        }
    }
    let id = id.ok_or_else(|| Error::usage("say which task; see --help"))?;
    Ok(Parsed::Run(Wanted { common, id, from_stdin, entry, verified, status, policy }))
}
