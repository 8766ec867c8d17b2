//! The policies of a task on the command line: how it is brought back, and under which limits.
//!
//! The same options for making, updating and checkpointing a card. `--no-X` takes a policy away,
//! so that the default holds again. The Python predecessor's words are understood, too.

use serde_json::Value;

use crate::command_line::CommandLine;
use crate::document::Document;
use crate::entry::absolute;
use crate::exit::{Error, cause};
use crate::id::TaskId;
use crate::signal::number;

/// Changes of policies, in the order that they were given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policy {
    changes: Vec<Change>,
}

#[derive(Clone, Debug, PartialEq)]
enum Change {
    Set(&'static str, Value),
    Remove(&'static str),
    /// Added to an array.
    Add(&'static str, String),
    DependsOn(Option<TaskId>),
    Command(Vec<String>),
    SafeToRetry(bool),
    /// The OpenClaw session that the work is done in.
    Session(Option<String>),
}

/// The options, without the `no-` of those that have it.
pub const OPTIONS: [&str; 17] = [
    "resume-adapter",
    "resume-command",
    "allow-auto-resume",
    "stale-after-minutes",
    "max-retries",
    "max-failures",
    "timeout-seconds",
    "cooldown-seconds",
    "give-up-after-minutes",
    "manual-phase",
    "depends-on",
    "safe-to-retry",
    "session-key",
    "title",
    "mode",
    "notes",
    "owner-skill",
];

impl Policy {
    /// Takes an option and its value if it is one of these. Returns whether it was.
    ///
    /// # Errors
    /// `Usage`, naming the option.
    pub fn take(&mut self, option: &str, line: &mut CommandLine) -> Result<bool, Error> {
        let change = match option {
            "allow-auto-resume" => Change::Set("allow_auto_resume", true.into()),
            "no-allow-auto-resume" => Change::Set("allow_auto_resume", false.into()),
            "safe-to-retry" => Change::SafeToRetry(true),
            "no-safe-to-retry" => Change::SafeToRetry(false),
            "resume-adapter" => Change::Set("resume_adapter", absolute("--resume-adapter", &line.text(option)?)?.into()),
            "resume-command" => Change::Command(words(&line.text(option)?)?),
            "stale-after-minutes" | "timeout-seconds" | "cooldown-seconds" | "give-up-after-minutes" => {
                Change::Set(field(option), number(line.amount(option)?))
            }
            "max-retries" | "max-failures" => Change::Set(field(option), line.count(option)?.into()),
            "manual-phase" => Change::Add("manual_phases", line.name(option)?),
            "depends-on" => Change::DependsOn(Some(line.text(option)?.parse().map_err(Error::usage)?)),
            "title" | "mode" | "notes" | "owner-skill" => Change::Set(field(option), line.text(option)?.into()),
            "session-key" => Change::Session(Some(line.text(option)?)),
            "no-session-key" => Change::Session(None),
            "no-resume-command" => Change::Command(Vec::new()),
            "no-manual-phase" => Change::Remove("manual_phases"),
            "no-depends-on" => Change::DependsOn(None),
            other => match other.strip_prefix("no-") {
                Some(rest) if OPTIONS.contains(&rest) && rest != "title" => Change::Remove(field(rest)),
                _ => return Ok(false),
            },
        };
        self.changes.push(change);
        Ok(true)
    }

    /// Makes a plain command what is run.
    pub fn set_command(&mut self, words: Vec<String>) {
        self.changes.push(Change::Command(words));
    }

    /// Whether a plain command was given.
    #[must_use]
    pub fn has_command(&self) -> bool {
        self.commands() > 0
    }

    /// How many plain commands were given.
    #[must_use]
    pub fn commands(&self) -> usize {
        self.changes.iter().filter(|change| matches!(change, Change::Command(words) if !words.is_empty())).count()
    }

    /// Whether this field was given a value.
    #[must_use]
    pub fn sets(&self, wanted: &str) -> bool {
        self.changes.iter().any(|change| matches!(change, Change::Set(field, _) if *field == wanted))
    }

    /// Writes the changes into a card.
    ///
    /// # Errors
    /// `Io` when a command is given and the current folder is unknown, `Usage` for a task that waits for itself.
    pub fn apply(&self, card: &mut Document) -> Result<(), Error> {
        // Whether the current phase is safe is said last: of two words the careful one counts.
        let last = |change: &&Change| matches!(change, Change::SafeToRetry(_));
        let (late, early): (Vec<&Change>, Vec<&Change>) = self.changes.iter().partition(last);
        for change in early.into_iter().chain(late) {
            match change {
                Change::Set(name, value) => {
                    card.set(name, value.clone());
                    if *name == "resume_adapter" {
                        remove_command(card);
                    }
                }
                // The predecessor's own word counts again as soon as there is no list.
                Change::Remove("manual_phases") if card.get("safe_to_retry").is_some() => {
                    card.set("manual_phases", Vec::<Value>::new());
                }
                Change::Remove(name) => drop(card.remove(name)),
                Change::Add(name, item) => {
                    let mut items = items(card, name);
                    add(&mut items, item);
                    card.set(name, items);
                }
                Change::DependsOn(None) => drop(card.object_at("metadata").shift_remove("depends_on")),
                Change::DependsOn(Some(id)) if id.as_str() == card.text("task_id") => {
                    return Err(Error::usage(format!("--depends-on: {id} cannot wait for itself")));
                }
                Change::DependsOn(Some(id)) => {
                    let metadata = card.object_at("metadata");
                    let mut ids = metadata.get("depends_on").and_then(Value::as_array).cloned().unwrap_or_default();
                    add(&mut ids, id.as_str());
                    metadata.insert("depends_on".into(), ids.into());
                }
                Change::Command(words) if words.is_empty() => remove_command(card),
                Change::Command(words) => set_command(card, words)?,
                Change::SafeToRetry(safe) => set_safe(card, *safe),
                Change::Session(key) => set_session(card, key.as_deref()),
            }
        }
        Ok(())
    }
}

fn field(option: &str) -> &'static str {
    match option {
        "resume-adapter" => "resume_adapter",
        "stale-after-minutes" => "stale_after_minutes",
        "timeout-seconds" => "timeout_seconds",
        "cooldown-seconds" => "cooldown_seconds",
        "give-up-after-minutes" => "give_up_after_minutes",
        "max-retries" => "max_retries",
        "max-failures" => "max_failures",
        "owner-skill" => "owner_skill",
        "title" => "title",
        "mode" => "mode",
        _ => "notes",
    }
}

/// Splits a command as a shell would, without running one: quotes and backslashes count, nothing else does.
fn words(command: &str) -> Result<Vec<String>, Error> {
    match shlex::split(command) {
        Some(words) if !words.is_empty() => Ok(words),
        Some(_) => Err(Error::usage("--resume-command: the command is empty")),
        None => Err(Error::usage(format!("--resume-command: {command:?} has a quote or a backslash that does not end"))),
    }
}

fn add(items: &mut Vec<Value>, item: &str) {
    if !items.iter().any(|known| known == item) {
        items.push(item.into());
    }
}

fn items(card: &Document, name: &str) -> Vec<Value> {
    card.get(name).and_then(Value::as_array).cloned().unwrap_or_default()
}

fn remove_command(card: &mut Document) {
    for name in ["resume_argv", "resume_command_argv", "cwd", "path"] {
        card.remove(name);
    }
}

/// A command runs where it was given, with the PATH that it was given with.
fn set_command(card: &mut Document, words: &[String]) -> Result<(), Error> {
    card.remove("resume_adapter");
    card.set("resume_argv", words.to_vec());
    card.set("cwd", current_folder()?);
    match std::env::var("PATH").ok().filter(|path| !path.is_empty()) {
        Some(path) => card.set("path", path),
        None => drop(card.remove("path")),
    }
    Ok(())
}

fn current_folder() -> Result<String, Error> {
    let folder = std::env::current_dir()
        .map_err(|error| Error::io(format!("cannot find the current folder: {}; change to one that exists", cause(&error))))?;
    folder
        .into_os_string()
        .into_string()
        .map_err(|folder| Error::usage(format!("the current folder {} is not UTF-8", folder.display())))
}

/// What the card remembers of a session is about that one; of another one it knows nothing yet.
fn set_session(card: &mut Document, key: Option<&str>) {
    let metadata = card.object_at("metadata");
    let known = metadata.get("openclaw").and_then(|session| session.get("session_key")).and_then(Value::as_str);
    match key {
        Some(key) if known == Some(key) => {}
        Some(key) => drop(metadata.insert("openclaw".into(), serde_json::json!({"session_key": key}))),
        None => drop(metadata.shift_remove("openclaw")),
    }
}

/// The predecessor's word: whether the current phase may be run again is whether it is manual.
fn set_safe(card: &mut Document, safe: bool) {
    let phase = Value::from(card.text("phase"));
    let mut phases = items(card, "manual_phases");
    phases.retain(|manual| *manual != phase);
    if !safe {
        phases.push(phase);
    }
    // Even when it is empty: from then on this field counts, and not the predecessor's own.
    card.set("manual_phases", phases);
}
