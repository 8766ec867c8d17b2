//! The command line as plain data. Nothing is opened here.

use std::path::PathBuf;

use lexopt::prelude::*;
use shared::command_line::{CommandLine, Stop};
use shared::exit::Error;
use shared::time::Timestamp;

use crate::every::Every;
use crate::lang::Lang;
use crate::trigger::Kind;

const HELP: &str = include_str!("../help.txt");

/// What is to be done with a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Install,
    Check,
    Uninstall,
}

/// Which triggers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Auto,
    /// These and no others; empty = none.
    These(Vec<Kind>),
}

/// How the answer is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Text,
}

/// What to do, where, and how to say it. What was not said is `None`, and then as it was the last time.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) task: Task,
    pub(crate) workspace: Option<PathBuf>,
    pub(crate) all_agents: bool,
    pub(crate) choice: Choice,
    /// That was said on the command line.
    pub(crate) chose: bool,
    pub(crate) every: Option<Every>,
    pub(crate) dry_run: bool,
    pub(crate) agents_md: bool,
    pub(crate) python_shim: bool,
    pub(crate) plugin: bool,
    pub(crate) enable: bool,
    pub(crate) lang: Option<Lang>,
    pub(crate) format: Option<Format>,
    pub(crate) now: Option<Timestamp>,
}

/// Parses everything.
pub(crate) fn parse(line: CommandLine) -> Result<Wanted, Stop> {
    let mut line = line.with_help(HELP);
    let (mut triggers, mut check, mut uninstall) = (Vec::new(), false, false);
    let mut wanted = Wanted {
        task: Task::Install,
        workspace: None,
        all_agents: false,
        choice: Choice::Auto,
        chose: false,
        every: None,
        dry_run: false,
        agents_md: false,
        python_shim: false,
        plugin: false,
        enable: false,
        lang: None,
        format: None,
        now: None,
    };
    while let Some(arg) = line.word()? {
        match arg {
            Long("all-agents") => wanted.all_agents = true,
            Long("trigger") => triggers.push(line.text("trigger")?),
            Long("every") => wanted.every = Some(every(&line.text("every")?)?),
            Long("dry-run") => wanted.dry_run = true,
            Long("check") => check = true,
            Long("uninstall") => uninstall = true,
            Long("agents-md") => wanted.agents_md = true,
            Long("python-shim") => wanted.python_shim = true,
            Long("plugin") => wanted.plugin = true,
            Long("enable") => wanted.enable = true,
            Long("lang") => wanted.lang = Some(lang(&line.text("lang")?)?),
            Long("format") => wanted.format = Some(format(&line.text("format")?)?),
            other => return Err(other.unexpected().into()),
        }
    }
    (wanted.workspace, wanted.now) = (line.common.workspace, line.common.now);
    wanted.choice = choice(&triggers)?;
    wanted.chose = !triggers.is_empty();
    wanted.task = match (check, uninstall) {
        (false, false) => Task::Install,
        (true, false) => Task::Check,
        (false, true) => Task::Uninstall,
        (true, true) => return Err(Stop::usage("--check and --uninstall: give one of them")),
    };
    if wanted.all_agents && wanted.workspace.is_some() {
        return Err(Stop::usage("--workspace and --all-agents: give one of them"));
    }
    if check && wanted.dry_run {
        return Err(Stop::usage("--dry-run: --check writes nothing anyway; give one of them"));
    }
    let placing = wanted.agents_md
        || wanted.python_shim
        || wanted.plugin
        || wanted.enable
        || wanted.every.is_some()
        || wanted.lang.is_some()
        || !triggers.is_empty();
    if wanted.task != Task::Install && placing {
        let name = if check { "check" } else { "uninstall" };
        return Err(Stop::usage(format!("--{name} goes by what was installed; it takes no other option of an installation")));
    }
    if wanted.enable && !wanted.plugin {
        return Err(Stop::usage("--enable: what is enabled is the plugin; give --plugin, too"));
    }
    Ok(wanted)
}

fn choice(words: &[String]) -> Result<Choice, Error> {
    let mut kinds: Vec<Kind> = Vec::new();
    for word in words {
        match word.as_str() {
            "auto" | "none" if words.len() > 1 => {
                return Err(Error::usage(format!("--trigger: {word} goes with no other trigger")));
            }
            "auto" => return Ok(Choice::Auto),
            "none" => return Ok(Choice::These(Vec::new())),
            _ => match Kind::ALL.into_iter().find(|kind| kind.word() == word) {
                Some(kind) if kinds.contains(&kind) => {}
                Some(kind) => kinds.push(kind),
                None => {
                    return Err(Error::usage(format!(
                        "--trigger: {word:?} is no trigger; known are auto, heartbeat, automation, cron, systemd, none"
                    )));
                }
            },
        }
    }
    Ok(if words.is_empty() { Choice::Auto } else { Choice::These(kinds) })
}

fn every(text: &str) -> Result<Every, Error> {
    text.parse().map_err(|why| Error::usage(format!("--every: {text:?} {why}")))
}

fn lang(text: &str) -> Result<Lang, Error> {
    match text {
        "en" => Ok(Lang::En),
        "zh" => Ok(Lang::Zh),
        _ => Err(Error::usage(format!("--lang: {text:?} is no language here; known are en, zh"))),
    }
}

fn format(text: &str) -> Result<Format, Error> {
    match text {
        "json" => Ok(Format::Json),
        "text" => Ok(Format::Text),
        _ => Err(Error::usage(format!("--format: {text:?} is no format; known are json, text"))),
    }
}
