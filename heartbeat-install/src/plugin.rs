//! The plugin of OpenClaw: known to it, enabled, and told how runs end.
//!
//! Its files are placed like any others (`assets.rs`). OpenClaw takes them from there by a link; what the plugin may do stands in
//! OpenClaw's own configuration, below `plugins.entries`. All of that is read and written by OpenClaw's commands, which need no
//! Gateway.
//!
//! ```text
//! install    what was in the configuration is noted in the manifest → link → enable → access → options, where none are set
//! uninstall  OpenClaw forgets the link and the settings → what was in the configuration comes back, or nothing is left of it
//! ```
//! One plugin serves all workspaces of an OpenClaw: for each run it looks for `bin/run-ended` in the workspace of the run's agent. A
//! second folder must not be linked: OpenClaw then loses its record of the first, and takes neither out again.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use shared::exit::{Error, Exit};

use crate::action::Action;
use crate::check::Finding;
use crate::child::{shell_word, shown};
use crate::manifest::{Enabled, Manifest};
use crate::openclaw::{Failure, OpenClaw, Plugin, is_unset};
use crate::trigger::Call;
use crate::trigger::call::refusal;
use crate::world::World;

const ID: &str = "task-recovery";
/// Where its files are, below the workspace.
const FOLDER: &str = "plugins/task-recovery";
const ENTRY: &str = "plugins.entries.task-recovery";
const ACCESS: &str = "plugins.entries.task-recovery.hooks.allowConversationAccess";
const CONFIG: &str = "plugins.entries.task-recovery.config";

/// 2026.9 asks that a source of its own be confirmed, and what the plugin may do, which is nothing, be accepted; 2026.7 knows the one
/// option not together with a link, and the other not at all.
const LINK_OPTIONS: [&[&str]; 3] = [&["--force", "--accept-capabilities"], &["--force"], &[]];

/// One thing that OpenClaw is told.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Link(PathBuf),
    Enable,
    Set(&'static str, Value),
    Forget,
    Unset,
}

/// What is to be done, and what there is to say about it.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) enabled: Enabled,
    pub(crate) actions: Vec<Action>,
    pub(crate) notes: Vec<String>,
    /// Commands that a person should run.
    pub(crate) next: Vec<String>,
}

/// What is to be done so that OpenClaw runs it.
pub(crate) fn plan(world: &World, before: Option<&Enabled>) -> Result<Planned, Error> {
    let remedy = remedy(world);
    let before = before.filter(|before| before.linked.is_some());
    let failed = |failure: Failure| refused(world, before, &failure, &remedy);
    let openclaw = world.openclaw().ok_or_else(|| failed(Failure::Absent))?;
    let folder = world.workspace.join(FOLDER);
    let known = openclaw.plugin(ID).map_err(failed)?;
    if let Some(plugin) = known.as_ref().filter(|plugin| !is_same(&plugin.folder, &folder)) {
        return Ok(elsewhere(openclaw, plugin));
    }
    // The workspace was moved: what OpenClaw has is a link to where it was, and goes first.
    let moved = before.is_some_and(|before| before.linked.as_ref() != Some(&folder));
    let known = known.filter(|_| !moved);
    let is_on = known.as_ref().is_some_and(|plugin| plugin.enabled && plugin.conversation_access);
    let settings = if before.is_none() || !is_on { openclaw.setting(ENTRY).map_err(failed)? } else { None };
    let kept = match before {
        Some(before) => before.before.clone(),
        // Of a plugin that is linked from here already, by hand, the settings go with it.
        None => settings.clone().filter(|_| known.is_none()),
    };
    let mut steps = Vec::new();
    if moved {
        steps.push(Step::Forget);
    }
    if known.is_none() {
        steps.push(Step::Link(folder.clone()));
    }
    if !known.as_ref().is_some_and(|plugin| plugin.enabled) {
        steps.push(Step::Enable);
    }
    if !known.is_some_and(|plugin| plugin.conversation_access) {
        steps.push(Step::Set(ACCESS, true.into()));
    }
    match settings.and_then(|settings| settings.get("config").cloned()) {
        // Forgetting took them away.
        Some(options) if moved => steps.push(Step::Set(CONFIG, options)),
        None if before.is_none() => steps.push(Step::Set(CONFIG, json!({"maxAutoResumes": 3, "cooldownMs": 15_000}))),
        Some(_) | None => {}
    }
    let waits = (!steps.is_empty() && is_old(openclaw))
        .then(|| format!("a Gateway of {} that runs has to be started anew to load the plugin", openclaw.name()));
    let enabled = Enabled { openclaw: openclaw.program.path.clone(), linked: Some(folder), before: kept };
    Ok(Planned { enabled, actions: actions(openclaw, steps, &remedy), notes: waits.into_iter().collect(), next: Vec::new() })
}

/// One that is linked from another folder, which is not ours to change.
fn elsewhere(openclaw: &OpenClaw, plugin: &Plugin) -> Planned {
    let note = format!("{} has the plugin from {}, which serves this workspace, too", openclaw.name(), plugin.folder.display());
    let missing = [(!plugin.enabled, Step::Enable), (!plugin.conversation_access, Step::Set(ACCESS, true.into()))];
    let next = missing.into_iter().filter(|(lacks, _)| *lacks).map(|(_, step)| step.words(Some(openclaw))).collect();
    let enabled = Enabled { openclaw: openclaw.program.path.clone(), linked: None, before: None };
    Planned { enabled, actions: Vec::new(), notes: vec![note], next }
}

/// The commands that a person runs to have the same.
pub(crate) fn commands(world: &World) -> Vec<String> {
    let steps = [Step::Link(world.workspace.join(FOLDER)), Step::Enable, Step::Set(ACCESS, true.into())];
    steps.iter().map(|step| step.words(world.openclaw())).collect()
}

/// What is to be done so that OpenClaw has nothing of it; and what there is to say.
pub(crate) fn take(world: &World, manifest: &Manifest) -> Result<(Vec<Action>, Option<String>), Error> {
    let Some(enabled) = &manifest.enabled else { return Ok((take_by_hand(world, manifest), None)) };
    let Some(linked) = &enabled.linked else { return Ok((Vec::new(), None)) };
    let Some(openclaw) = world.openclaw() else {
        let note = "openclaw is not on the PATH; if it is in use elsewhere, what it was told stays: the plugin task-recovery";
        return Ok((Vec::new(), Some(note.to_owned())));
    };
    let remedy = world.command(&["--uninstall"]);
    let known = openclaw.plugin(ID).map_err(|failure| refused(world, Some(enabled), &failure, &remedy))?;
    if let Some(other) = known.filter(|plugin| !is_same(&plugin.folder, linked)) {
        return Ok((Vec::new(), Some(format!("OpenClaw has the plugin from {} now, and keeps it", other.folder.display()))));
    }
    let back = enabled.before.clone().map_or(Step::Unset, |before| Step::Set(ENTRY, before));
    Ok((actions(openclaw, vec![Step::Forget, back], &remedy), None))
}

/// A person ran the commands that were printed: a link to files that go is of no use.
fn take_by_hand(world: &World, manifest: &Manifest) -> Vec<Action> {
    let Some(openclaw) = world.openclaw().filter(|_| manifest.plugin) else { return Vec::new() };
    match openclaw.plugin(ID) {
        Ok(Some(plugin)) if is_same(&plugin.folder, &world.workspace.join(FOLDER)) => {
            actions(openclaw, vec![Step::Forget, Step::Unset], &world.command(&["--uninstall"]))
        }
        Ok(_) | Err(_) => Vec::new(),
    }
}

/// What is wrong with it; its files aside.
pub(crate) fn check(world: &World) -> Option<Finding> {
    let found = |what: String, remedy: String| Some(Finding::new("plugin", what, remedy));
    let again = remedy(world);
    let Some(openclaw) = world.openclaw() else {
        return found("the plugin cannot be seen: openclaw is not on the PATH".to_owned(), again);
    };
    let plugin = match openclaw.plugin(ID) {
        Err(failure) => {
            let enabled = world.manifest.as_ref().and_then(|manifest| manifest.enabled.as_ref());
            let remedy = mend(world, enabled, &failure).unwrap_or(again);
            return found(format!("the plugin cannot be seen: {}", failure.message()), remedy);
        }
        Ok(None) => return found("OpenClaw does not know the plugin".to_owned(), again),
        Ok(Some(plugin)) => plugin,
    };
    let by_hand = |step: Step| step.words(Some(openclaw));
    match plugin {
        Plugin { enabled: false, .. } => found("the plugin is not enabled".to_owned(), by_hand(Step::Enable)),
        Plugin { conversation_access: false, .. } => found(
            "the plugin has no access to conversations, and is not told how runs end".to_owned(),
            by_hand(Step::Set(ACCESS, true.into())),
        ),
        Plugin { trouble: Some(why), .. } => {
            found(format!("OpenClaw did not load the plugin: {why}"), "openclaw plugins doctor".to_owned())
        }
        Plugin { .. } => None,
    }
}

/// As of a trigger, unless something is to be mended first.
fn refused(world: &World, enabled: Option<&Enabled>, failure: &Failure, remedy: &str) -> Error {
    match mend(world, enabled, failure) {
        Some(first) => Error::new(Exit::Config, format!("{}; run: {first}; then: {remedy}", failure.message())),
        None => refusal(failure, remedy),
    }
}

/// The command that makes a configuration valid that OpenClaw calls invalid: until then it does nothing that is asked here. A link to
/// a folder that is gone is enough for that in 2026.7, and its doctor cannot mend it: something must be there again.
fn mend(world: &World, enabled: Option<&Enabled>, failure: &Failure) -> Option<String> {
    if !failure.message().contains("config is invalid") {
        return None;
    }
    let gone = enabled.and_then(|enabled| enabled.linked.as_deref()).filter(|linked| !linked.exists());
    let Some((linked, parent)) = gone.and_then(|linked| Some((linked, linked.parent()?))) else {
        return Some("openclaw doctor --fix".to_owned());
    };
    let words = |words: &[&Path]| words.iter().map(|word| shell_word(&word.to_string_lossy())).collect::<Vec<_>>().join(" ");
    Some(format!("mkdir -p {} && ln -s {}", words(&[parent]), words(&[&world.workspace.join(FOLDER), linked])))
}

fn remedy(world: &World) -> String {
    world.command(&["--plugin", "--enable"])
}

fn is_same(one: &Path, other: &Path) -> bool {
    let canonical = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    canonical(one) == canonical(other)
}

fn actions(openclaw: &OpenClaw, steps: Vec<Step>, remedy: &str) -> Vec<Action> {
    let call = |step| Call::Plugin { openclaw: openclaw.clone(), step, remedy: remedy.to_owned() };
    steps.into_iter().map(call).map(Action::call).collect()
}

impl Step {
    /// Does it; whether that changed anything.
    pub(crate) fn carry_out(&self, openclaw: &OpenClaw, remedy: &str) -> Result<bool, Error> {
        let mut refused = None;
        for options in Self::link_options(openclaw) {
            let args = self.args(options);
            let words: Vec<&str> = args.iter().map(String::as_str).collect();
            match openclaw.tell(&words) {
                Ok(()) => return Ok(true),
                Err(failure) if self.is_done_already(failure.message()) => return Ok(false),
                Err(failure) => {
                    let of_options = matches!(self, Self::Link(_)) && names_options(failure.message());
                    let first = refused.get_or_insert(format!("{}: {}; then run: {remedy}", shown_as(&args), failure.message()));
                    if !of_options {
                        return Err(Error::io(first.clone()));
                    }
                }
            }
        }
        Err(Error::io(refused.unwrap_or_default()))
    }

    /// The command as a person types it.
    pub(crate) fn words(&self, openclaw: Option<&OpenClaw>) -> String {
        shown_as(&self.args(openclaw.map_or(LINK_OPTIONS[0], |openclaw| Self::link_options(openclaw)[0])))
    }

    /// What a link is asked for with: what this version is known to take comes first.
    fn link_options(openclaw: &OpenClaw) -> [&'static [&'static str]; 3] {
        let mut options = LINK_OPTIONS;
        if is_old(openclaw) {
            options.reverse();
        }
        options
    }

    fn args(&self, link_options: &[&str]) -> Vec<String> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        match self {
            Self::Link(folder) => words(&[&["plugins", "install", "--link", &folder.to_string_lossy()], link_options].concat()),
            Self::Enable => words(&["plugins", "enable", ID]),
            Self::Set(path, value) => words(&["config", "set", path, &value.to_string(), "--strict-json"]),
            // The files are ours to remove.
            Self::Forget => words(&["plugins", "uninstall", ID, "--force", "--keep-files"]),
            Self::Unset => words(&["config", "unset", ENTRY]),
        }
    }

    fn is_done_already(&self, why: &str) -> bool {
        match self {
            Self::Forget => why.contains("Plugin not found") || why.contains("not associated with a tracked package install"),
            Self::Unset => is_unset(why),
            Self::Link(_) | Self::Enable | Self::Set(..) => false,
        }
    }
}

fn is_old(openclaw: &OpenClaw) -> bool {
    openclaw.version.is_some_and(|(year, month, _)| (year, month) < (2026, 8))
}

/// Whether it is about an option that it wants, or does not know.
fn names_options(why: &str) -> bool {
    why.contains("--accept-capabilities") || why.contains("--force")
}

fn shown_as(args: &[String]) -> String {
    shown(&std::iter::once("openclaw").chain(args.iter().map(String::as_str)).collect::<Vec<_>>())
}
