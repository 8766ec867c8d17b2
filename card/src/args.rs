//! The command line as plain data. Nothing is opened here.

use lexopt::prelude::*;
use serde_json::Map;
use shared::card::Status;
use shared::command_line::{CommandLine, Common, Stop, later_status, set_id};
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
pub(crate) fn parse(line: CommandLine) -> Result<(Common, Verb), Stop> {
    let mut line = line.with_help(HELP);
    let verb = match line.word()? {
        Some(Value(verb)) => verb.string()?,
        Some(other) => return Err(other.unexpected().into()),
        None => {
            return Err(Stop::usage(
                "say what to do: create, update, put, show, list, log, report, complete, fail, block, cancel, approve, archive, prune, import, export or schema; see --help",
            ));
        }
    };
    let verb = match verb.as_str() {
        "create" => create(&mut line)?,
        "update" => update(&mut line)?,
        "put" => Verb::Put(one_id(&mut line, "put")?),
        "schema" => schema(&mut line)?,
        "import" => exchange::import(&mut line)?,
        "export" => exchange::export(&mut line)?,
        "archive" => file_away::archive(&mut line)?,
        "prune" => file_away::prune(&mut line)?,
        "show" => look::show(&mut line)?,
        "log" => Verb::Log(one_id(&mut line, "log")?),
        "list" => look::list(&mut line)?,
        "report" => look::report(&mut line)?,
        "complete" => decision(&mut line, "complete", Choice::Complete)?,
        "fail" => decision(&mut line, "fail", Choice::Fail)?,
        "block" => decision(&mut line, "block", Choice::Block)?,
        "cancel" => decision(&mut line, "cancel", Choice::Cancel)?,
        "approve" => decision(&mut line, "approve", Choice::Approve)?,
        other => return Err(Stop::usage(format!("{other:?} is nothing that {} does; see --help", talk::program()))),
    };
    Ok((line.common, verb))
}

fn create(line: &mut CommandLine) -> Result<Verb, Stop> {
    let mut wanted = Create::default();
    let mut task_type = None;
    line.end_at_dashes();
    while let Some(arg) = line.word()? {
        match arg {
            Long("task-id") => set_id(&mut wanted.id, &line.text("task-id")?)?,
            Value(id) => set_id(&mut wanted.id, &id.string()?)?,
            Long("task-type") => task_type = Some(line.name("task-type")?),
            Long("phase") => wanted.entry.phase = Some(line.name("phase")?),
            Long("status") => wanted.status = Some(first_status(&line.text("status")?)?),
            Long("step") => wanted.steps.push(line.name("step")?),
            Long("scaffold") => wanted.scaffold = Some(scaffold(&line.text("scaffold")?)?),
            Long("artifact") => wanted.entry.artifacts.push(line.artifact("artifact")?),
            Long("meta") => insert(&mut wanted.entry.metadata, line.pair("meta")?),
            Long("context") => insert(&mut wanted.entry.context, line.pair("context")?),
            Long(_) => line.take_policy(&mut wanted.policy)?,
            other @ Short(_) => return Err(other.unexpected().into()),
        }
    }
    if let Some(words) = line.command()? {
        if words.is_empty() {
            return Err(Stop::usage("there is no command after --"));
        }
        wanted.policy.set_command(words);
    }
    wanted.task_type = task_type.ok_or_else(|| Error::usage("create: --task-type is missing"))?;
    if !wanted.policy.sets("title") {
        return Err(Stop::usage("create: --title is missing"));
    }
    let has_adapter = wanted.policy.sets("resume_adapter");
    if has_adapter && wanted.scaffold.is_some() {
        return Err(Stop::usage("create: --resume-adapter and --scaffold exclude each other"));
    }
    if (has_adapter || wanted.scaffold.is_some()) && wanted.policy.has_command() {
        return Err(Stop::usage("create: an adapter and a command exclude each other"));
    }
    if wanted.policy.commands() > 1 {
        return Err(Stop::usage("create: --resume-command and a command after -- exclude each other"));
    }
    Ok(Verb::Create(Box::new(wanted)))
}

fn update(line: &mut CommandLine) -> Result<Verb, Stop> {
    let (mut id, mut task_type, mut status, mut steps) = (None, None, None, Vec::new());
    let (mut policy, mut entry) = (Policy::default(), Entry::default());
    while let Some(arg) = line.word()? {
        match arg {
            Long("task-id") => set_id(&mut id, &line.text("task-id")?)?,
            Value(word) => set_id(&mut id, &word.string()?)?,
            Long("task-type") => task_type = Some(line.name("task-type")?),
            Long("phase") => entry.phase = Some(line.name("phase")?),
            Long("status") => status = Some(later_status(&line.text("status")?)?),
            Long("step") => steps.push(line.name("step")?),
            Long("artifact") => entry.artifacts.push(line.artifact("artifact")?),
            Long("meta") => insert(&mut entry.metadata, line.pair("meta")?),
            Long("context") => insert(&mut entry.context, line.pair("context")?),
            Long(_) => line.take_policy(&mut policy)?,
            other @ Short(_) => return Err(other.unexpected().into()),
        }
    }
    let id = id.ok_or_else(|| Error::usage("update: say which task"))?;
    Ok(Verb::Update(Box::new(Update { id, task_type, status, policy, steps, entry })))
}

fn schema(line: &mut CommandLine) -> Result<Verb, Stop> {
    match line.word()? {
        None => Ok(Verb::Schema),
        Some(other) => Err(other.unexpected().into()),
    }
}

fn scaffold(name: &str) -> Result<Scaffold, Error> {
    Scaffold::parse(name).ok_or_else(|| Error::usage(format!("--scaffold: {name:?} is no template; known are sh, python")))
}

fn one_id(line: &mut CommandLine, verb: &str) -> Result<TaskId, Stop> {
    let mut id = None;
    while let Some(arg) = line.word()? {
        match arg {
            Long("task-id") => set_id(&mut id, &line.text("task-id")?)?,
            Value(word) => set_id(&mut id, &word.string()?)?,
            other => return Err(other.unexpected().into()),
        }
    }
    id.ok_or_else(|| Stop::usage(format!("{verb}: say which task")))
}

fn decision(line: &mut CommandLine, verb: &str, choice: Choice) -> Result<Verb, Stop> {
    let mut id = None;
    let (mut entry, mut reason, mut detail) = (Entry::default(), None, None);
    while let Some(arg) = line.word()? {
        match arg {
            Long("task-id") => set_id(&mut id, &line.text("task-id")?)?,
            Value(word) => set_id(&mut id, &word.string()?)?,
            Long("message") => entry.message = Some(line.text("message")?),
            Long("phase") => entry.phase = Some(line.name("phase")?),
            Long("artifact") => entry.artifacts.push(line.artifact("artifact")?),
            Long("meta") => insert(&mut entry.metadata, line.pair("meta")?),
            Long("reason") if choice == Choice::Block => reason = Some(line.name("reason")?),
            Long("detail") if choice == Choice::Block => detail = Some(line.text("detail")?),
            other => return Err(other.unexpected().into()),
        }
    }
    let id = id.ok_or_else(|| Error::usage(format!("{verb}: say which task")))?;
    Ok(Verb::Decide(Box::new(Decision { id, choice, entry, reason, detail })))
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
