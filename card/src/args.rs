//! The command line as plain data. Nothing is opened here.

use lexopt::prelude::*;
use serde_json::Map;
use shared::card::Status;
use shared::cli::{self, Common, Parsed, artifact, later_status, name, pair, set_id, take_policy, text};
use shared::entry::Entry;
use shared::exit::Error;
use shared::id::TaskId;
use shared::policy::Policy;
use shared::talk;

use crate::archive::Archive;
use crate::export::Export;
use crate::field::Field;
use crate::import::Import;
use crate::prune::Prune;
use crate::report::{Asked, Monitor, Report};
use crate::scaffold::Scaffold;

mod exchange;
mod file_away;
mod look;

const HELP: &str = include_str!("../help.txt");

/// What to do.
#[derive(Debug)]
pub(crate) enum Verb {
    Create(Box<Create>),
    Show(Show),
    Field(Field),
    List(Filter),
    Log(TaskId),
    Decide(Box<Decision>),
    Update(Box<Update>),
    Put(TaskId),
    Archive(Archive),
    Prune(Prune),
    Import(Import),
    Export(Export),
    Report(Report),
    Ask(Asked),
    Monitor(Monitor),
    Schema,
}

/// `card create`.
#[derive(Debug, Default)]
pub(crate) struct Create {
    pub(crate) id: Option<TaskId>,
    pub(crate) task_type: String,
    pub(crate) status: Option<Status>,
    pub(crate) policy: Policy,
    pub(crate) steps: Vec<String>,
    pub(crate) entry: Entry,
    /// The adapter that is made from a template.
    pub(crate) scaffold: Option<Scaffold>,
}

/// `card update`.
#[derive(Debug)]
pub(crate) struct Update {
    pub(crate) id: TaskId,
    pub(crate) task_type: Option<String>,
    pub(crate) status: Option<Status>,
    pub(crate) policy: Policy,
    pub(crate) steps: Vec<String>,
    pub(crate) entry: Entry,
}

/// How a card is printed that is only read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// One line a card, or indented on a terminal when it is the only one.
    Json,
    Text,
}

/// `card show`.
#[derive(Debug)]
pub(crate) struct Show {
    pub(crate) id: TaskId,
    /// Without a format: text on a terminal, JSON elsewhere.
    pub(crate) format: Option<Format>,
}

/// `card list`.
#[derive(Debug, Default)]
pub(crate) struct Filter {
    /// As for `card show`.
    pub(crate) format: Option<Format>,
    pub(crate) statuses: Vec<Status>,
    pub(crate) task_type: Option<String>,
    /// The cards of the archive instead.
    pub(crate) archived: bool,
}

/// What a person, or the task itself, decides about a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Complete,
    Fail,
    Block,
    Cancel,
    Approve,
}

/// `card complete` and its siblings.
#[derive(Debug)]
pub(crate) struct Decision {
    pub(crate) id: TaskId,
    pub(crate) choice: Choice,
    pub(crate) entry: Entry,
    pub(crate) reason: Option<String>,
    pub(crate) detail: Option<String>,
}

/// Parses everything.
pub(crate) fn parse(mut parser: lexopt::Parser) -> Result<Parsed<(Common, Verb)>, Error> {
    let mut common = Common::default();
    let verb = loop {
        match parser.next()? {
            Some(Long("workspace")) => common.workspace = Some(parser.value()?.into()),
            Some(Long("now")) => common.now = Some(cli::time(&mut parser, "now")?),
            Some(Short('h') | Long("help")) => return Ok(Parsed::Print(HELP.to_owned())),
            Some(Short('V') | Long("version")) => return Ok(Parsed::Print(cli::version())),
            Some(Value(verb)) => break verb.string()?,
            Some(other) => return Err(other.unexpected().into()),
            None => {
                return Err(Error::usage(
                    "say what to do: create, update, put, show, list, log, report, complete, fail, block, cancel, approve, archive, prune, import, export or schema; see --help",
                ));
            }
        }
    };
    let mut line = Line { parser, common };
    let parsed = match verb.as_str() {
        "create" => create(&mut line)?,
        "update" => update(&mut line)?,
        "put" => one_id(&mut line, "put")?.map(Verb::Put),
        "schema" => schema(&mut line)?,
        "import" => exchange::import(&mut line)?,
        "export" => exchange::export(&mut line)?,
        "archive" => file_away::archive(&mut line)?,
        "prune" => file_away::prune(&mut line)?,
        "show" => look::show(&mut line)?,
        "log" => one_id(&mut line, "log")?.map(Verb::Log),
        "list" => look::list(&mut line)?,
        "report" => look::report(&mut line)?,
        "complete" => decision(&mut line, "complete", Choice::Complete)?,
        "fail" => decision(&mut line, "fail", Choice::Fail)?,
        "block" => decision(&mut line, "block", Choice::Block)?,
        "cancel" => decision(&mut line, "cancel", Choice::Cancel)?,
        "approve" => decision(&mut line, "approve", Choice::Approve)?,
        other => return Err(Error::usage(format!("{other:?} is nothing that {} does; see --help", talk::program()))),
    };
    Ok(match parsed {
        Answer::Verb(verb) => Parsed::Run((line.common, verb)),
        Answer::Print(text) => Parsed::Print(text),
    })
}

struct Line {
    parser: lexopt::Parser,
    common: Common,
}

enum Answer<T = Verb> {
    Verb(T),
    Print(String),
}

impl<T> Answer<T> {
    fn map(self, make: impl FnOnce(T) -> Verb) -> Answer {
        match self {
            Self::Verb(value) => Answer::Verb(make(value)),
            Self::Print(text) => Answer::Print(text),
        }
    }
}

fn create(line: &mut Line) -> Result<Answer, Error> {
    let Line { parser, common } = line;
    let mut wanted = Create::default();
    let mut task_type = None;
    loop {
        // Everything after `--` is the command, also what looks like an option.
        if let Some(mut raw) = parser.try_raw_args()
            && raw.peek() == Some("--".as_ref())
        {
            raw.next();
            let words = raw.map(|word| {
                word.into_string().map_err(|word| Error::usage(format!("the command has {word:?}, which is not UTF-8")))
            });
            let words: Vec<String> = words.collect::<Result<_, _>>()?;
            if words.is_empty() {
                return Err(Error::usage("there is no command after --"));
            }
            wanted.policy.set_command(words);
            break;
        }
        let Some(arg) = parser.next()? else { break };
        match arg {
            Long("task-id") => set_id(&mut wanted.id, &text(parser, "task-id")?)?,
            Value(id) => set_id(&mut wanted.id, &id.string()?)?,
            Long("task-type") => task_type = Some(name(parser, "task-type")?),
            Long("phase") => wanted.entry.phase = Some(name(parser, "phase")?),
            Long("status") => wanted.status = Some(first_status(&text(parser, "status")?)?),
            Long("step") => wanted.steps.push(name(parser, "step")?),
            Long("scaffold") => wanted.scaffold = Some(scaffold(&text(parser, "scaffold")?)?),
            Long("artifact") => wanted.entry.artifacts.push(artifact(parser, "artifact")?),
            Long("meta") => insert(&mut wanted.entry.metadata, pair(parser, "meta")?),
            Long("context") => insert(&mut wanted.entry.context, pair(parser, "context")?),
            Long("workspace") => common.workspace = Some(parser.value()?.into()),
            Long("now") => common.now = Some(cli::time(parser, "now")?),
            Short('h') | Long("help") => return Ok(Answer::Print(HELP.to_owned())),
            Short('V') | Long("version") => return Ok(Answer::Print(cli::version())),
            Long(option) => {
                let option = option.to_owned();
                take_policy(&mut wanted.policy, &option, parser)?;
            }
            other @ Short(_) => return Err(other.unexpected().into()),
        }
    }
    wanted.task_type = task_type.ok_or_else(|| Error::usage("create: --task-type is missing"))?;
    if !wanted.policy.sets("title") {
        return Err(Error::usage("create: --title is missing"));
    }
    let has_adapter = wanted.policy.sets("resume_adapter");
    if has_adapter && wanted.scaffold.is_some() {
        return Err(Error::usage("create: --resume-adapter and --scaffold exclude each other"));
    }
    if (has_adapter || wanted.scaffold.is_some()) && wanted.policy.has_command() {
        return Err(Error::usage("create: an adapter and a command exclude each other"));
    }
    if wanted.policy.commands() > 1 {
        return Err(Error::usage("create: --resume-command and a command after -- exclude each other"));
    }
    Ok(Answer::Verb(Verb::Create(Box::new(wanted))))
}

fn update(line: &mut Line) -> Result<Answer, Error> {
    let Line { parser, common } = line;
    let (mut id, mut task_type, mut status, mut steps) = (None, None, None, Vec::new());
    let (mut policy, mut entry) = (Policy::default(), Entry::default());
    while let Some(arg) = parser.next()? {
        match arg {
            Long("task-id") => set_id(&mut id, &text(parser, "task-id")?)?,
            Value(word) => set_id(&mut id, &word.string()?)?,
            Long("task-type") => task_type = Some(name(parser, "task-type")?),
            Long("phase") => entry.phase = Some(name(parser, "phase")?),
            Long("status") => status = Some(later_status(&text(parser, "status")?)?),
            Long("step") => steps.push(name(parser, "step")?),
            Long("artifact") => entry.artifacts.push(artifact(parser, "artifact")?),
            Long("meta") => insert(&mut entry.metadata, pair(parser, "meta")?),
            Long("context") => insert(&mut entry.context, pair(parser, "context")?),
            Long("workspace") => common.workspace = Some(parser.value()?.into()),
            Long("now") => common.now = Some(cli::time(parser, "now")?),
            Short('h') | Long("help") => return Ok(Answer::Print(HELP.to_owned())),
            Short('V') | Long("version") => return Ok(Answer::Print(cli::version())),
            Long(option) => {
                let option = option.to_owned();
                take_policy(&mut policy, &option, parser)?;
            }
            other @ Short(_) => return Err(other.unexpected().into()),
        }
    }
    let id = id.ok_or_else(|| Error::usage("update: say which task"))?;
    Ok(Answer::Verb(Verb::Update(Box::new(Update { id, task_type, status, policy, steps, entry }))))
}

fn schema(line: &mut Line) -> Result<Answer, Error> {
    match line.parser.next()? {
        None => Ok(Answer::Verb(Verb::Schema)),
        Some(Short('h') | Long("help")) => Ok(Answer::Print(HELP.to_owned())),
        Some(Short('V') | Long("version")) => Ok(Answer::Print(cli::version())),
        Some(other) => Err(other.unexpected().into()),
    }
}

fn scaffold(name: &str) -> Result<Scaffold, Error> {
    Scaffold::parse(name).ok_or_else(|| Error::usage(format!("--scaffold: {name:?} is no template; known are sh, python")))
}

fn one_id(line: &mut Line, verb: &str) -> Result<Answer<TaskId>, Error> {
    let Line { parser, common } = line;
    let mut id = None;
    while let Some(arg) = parser.next()? {
        match arg {
            Long("task-id") => set_id(&mut id, &text(parser, "task-id")?)?,
            Value(word) => set_id(&mut id, &word.string()?)?,
            Long("workspace") => common.workspace = Some(parser.value()?.into()),
            Long("now") => common.now = Some(cli::time(parser, "now")?),
            Short('h') | Long("help") => return Ok(Answer::Print(HELP.to_owned())),
            Short('V') | Long("version") => return Ok(Answer::Print(cli::version())),
            other => return Err(other.unexpected().into()),
        }
    }
    id.map(Answer::Verb).ok_or_else(|| Error::usage(format!("{verb}: say which task")))
}

fn decision(line: &mut Line, verb: &str, choice: Choice) -> Result<Answer, Error> {
    let Line { parser, common } = line;
    let mut id = None;
    let (mut entry, mut reason, mut detail) = (Entry::default(), None, None);
    while let Some(arg) = parser.next()? {
        match arg {
            Long("task-id") => set_id(&mut id, &text(parser, "task-id")?)?,
            Value(word) => set_id(&mut id, &word.string()?)?,
            Long("message") => entry.message = Some(text(parser, "message")?),
            Long("phase") => entry.phase = Some(name(parser, "phase")?),
            Long("artifact") => entry.artifacts.push(artifact(parser, "artifact")?),
            Long("meta") => insert(&mut entry.metadata, pair(parser, "meta")?),
            Long("reason") if choice == Choice::Block => reason = Some(name(parser, "reason")?),
            Long("detail") if choice == Choice::Block => detail = Some(text(parser, "detail")?),
            Long("workspace") => common.workspace = Some(parser.value()?.into()),
            Long("now") => common.now = Some(cli::time(parser, "now")?),
            Short('h') | Long("help") => return Ok(Answer::Print(HELP.to_owned())),
            Short('V') | Long("version") => return Ok(Answer::Print(cli::version())),
            other => return Err(other.unexpected().into()),
        }
    }
    let id = id.ok_or_else(|| Error::usage(format!("{verb}: say which task")))?;
    Ok(Answer::Verb(Verb::Decide(Box::new(Decision { id, choice, entry, reason, detail }))))
}

fn first_status(text: &str) -> Result<Status, Error> {
    match text.parse() {
        Ok(status @ (Status::Pending | Status::Running)) => Ok(status),
        _ => Err(Error::usage(format!("--status: {text:?} is no status to begin with; known are pending, running"))),
    }
}

fn insert(object: &mut Map<String, serde_json::Value>, (name, value): (String, String)) {
    object.insert(name, value.into());
}
