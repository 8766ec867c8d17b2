//! OpenClaw's command line: what is asked, and what the answers mean.
//!
//! Each call takes one to six seconds, those about plugins up to twenty. Failures come as exit status 1, with
//! `{"ok":false,"error":{"message"}}` on stdout when it was asked for JSON and knows how, else with words on stderr, among
//! warnings about other things. Only `--version`, `agents list`, `plugins` and `config` work without a running Gateway.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::child::{Answer, Program};
use crate::every::Every;

/// Ten times what a call takes on an idle machine.
const LIMIT_SECONDS: u64 = 60;
/// What is about plugins looks at all of them, twice.
const PLUGINS_LIMIT_SECONDS: u64 = 180;

/// OpenClaw as it is on this machine.
#[derive(Clone, Debug)]
pub(crate) struct OpenClaw {
    pub(crate) program: Program,
    /// Year, month and number; none when it could not be read.
    pub(crate) version: Option<(u32, u32, u32)>,
    /// It cannot be run, or does not answer: then nothing else is asked.
    broken: Option<String>,
}

/// An agent, as far as it matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Agent {
    pub(crate) id: String,
    pub(crate) workspace: PathBuf,
    pub(crate) is_default: bool,
}

/// A job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) id: String,
    pub(crate) key: String,
    pub(crate) enabled: bool,
    pub(crate) every_ms: Option<u64>,
    pub(crate) argv: Vec<String>,
}

/// Why a call did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// No Gateway answers.
    Down(String),
    /// There is no OpenClaw.
    Absent,
    /// The scratch changed since it was read.
    Stale,
    /// Anything else, in OpenClaw's words.
    Refused(String),
}

impl Failure {
    /// OpenClaw's words.
    pub(crate) fn message(&self) -> &str {
        match self {
            Self::Down(message) | Self::Refused(message) => message,
            Self::Absent => "openclaw is not on the PATH",
            Self::Stale => "it changes faster than it can be written",
        }
    }
}

/// A text and its revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scratch {
    pub(crate) content: Option<String>,
    pub(crate) revision: u64,
    pub(crate) bytes_max: usize,
}

/// A plugin as OpenClaw has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plugin {
    /// The folder that it is loaded from.
    pub(crate) folder: PathBuf,
    pub(crate) enabled: bool,
    /// Whether it is told what is said in conversations, and so how runs end.
    pub(crate) conversation_access: bool,
    /// Enabled, and not loaded all the same: why.
    pub(crate) trouble: Option<String>,
}

impl OpenClaw {
    /// Looks for it and asks for its version. `last` = where it was the last time.
    pub(crate) fn find(last: Option<&Path>) -> Option<Self> {
        let program = Program::find("openclaw", LIMIT_SECONDS, last)?;
        Some(match program.run(&["--version"], None) {
            Ok(answer) => Self { version: version(&answer.stdout), program, broken: None },
            Err(why) => Self { version: None, program, broken: Some(why) },
        })
    }

    /// Whether this version puts HEARTBEAT.md before the model. From 2026.8 on a file of that name is never read.
    pub(crate) fn reads_heartbeat_md(&self) -> bool {
        self.version.is_some_and(|(year, month, _)| (year, month) < (2026, 8))
    }

    /// Its name with its version.
    pub(crate) fn name(&self) -> String {
        match self.version {
            Some((year, month, number)) => format!("OpenClaw {year}.{month}.{number}"),
            None => "OpenClaw of a version that it does not tell".to_owned(),
        }
    }

    /// The agents.
    pub(crate) fn agents(&self) -> Result<Vec<Agent>, Failure> {
        let answer = self.ask(&["agents", "list", "--json"], None)?;
        let agent = |value: &Value| {
            Some(Agent {
                id: value.get("id")?.as_str()?.to_owned(),
                workspace: value.get("workspace")?.as_str()?.into(),
                is_default: value.get("isDefault").and_then(Value::as_bool).unwrap_or(false),
            })
        };
        Ok(answer.as_array().into_iter().flatten().filter_map(agent).collect())
    }

    /// The jobs, those of the system too.
    pub(crate) fn jobs(&self) -> Result<Vec<Job>, Failure> {
        let answer = self.ask(&["cron", "list", "--all", "--json"], None)?;
        let job = |value: &Value| {
            let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            let argv = value.pointer("/payload/argv").and_then(Value::as_array).into_iter().flatten();
            Some(Job {
                id: value.get("id")?.as_str()?.to_owned(),
                key: text("declarationKey"),
                enabled: value.get("enabled").and_then(Value::as_bool).unwrap_or(true),
                every_ms: value.pointer("/schedule/everyMs").and_then(Value::as_u64),
                argv: argv.filter_map(|word| word.as_str().map(str::to_owned)).collect(),
            })
        };
        let jobs = answer.get("jobs").and_then(Value::as_array);
        Ok(jobs.into_iter().flatten().filter_map(job).collect())
    }

    /// Declares a command job; whether that changed anything.
    pub(crate) fn add_job(&self, key: &str, every: Every, argv: &[&str], folder: &str) -> Result<bool, Failure> {
        let args = add_job_args(key, every, argv, folder);
        let words: Vec<&str> = args.iter().map(String::as_str).collect();
        let answer = self.ask(&words, None)?;
        let said = |name: &str| answer.get(name).and_then(Value::as_bool).unwrap_or(false);
        Ok(said("created") || said("updated"))
    }

    /// Removes a job.
    pub(crate) fn remove_job(&self, id: &str) -> Result<(), Failure> {
        self.ask(&["cron", "rm", id, "--json"], None).map(drop)
    }

    /// The monitor scratch of a heartbeat job.
    pub(crate) fn scratch(&self, job: &str) -> Result<Scratch, Failure> {
        let answer = self.ask(&["cron", "scratch", job, "--json"], None)?;
        let number = |name: &str| answer.get(name).and_then(Value::as_u64);
        let content = answer.pointer("/scratch/content").and_then(Value::as_str).map(str::to_owned);
        match number("currentRevision") {
            Some(revision) => {
                let bytes_max = number("maxBytes").and_then(|max| usize::try_from(max).ok()).unwrap_or(usize::MAX);
                Ok(Scratch { content, revision, bytes_max })
            }
            None => Err(Failure::Refused(format!("openclaw cron scratch {job}: its answer names no revision"))),
        }
    }

    /// Replaces the monitor scratch, if its revision is still this one.
    pub(crate) fn write_scratch(&self, job: &str, content: &str, revision: u64) -> Result<(), Failure> {
        let revision = revision.to_string();
        let args = ["cron", "scratch", job, "--file", "-", "--expected-revision", &revision, "--json"];
        self.ask(&args, Some(content)).map(drop)
    }

    /// A plugin, if it knows it.
    pub(crate) fn plugin(&self, id: &str) -> Result<Option<Plugin>, Failure> {
        let answer = match self.patient().ask(&["plugins", "inspect", id, "--json"], None) {
            Err(Failure::Refused(why)) if why.contains("Plugin not found") => return Ok(None),
            answer => answer?,
        };
        let plugin = |name: &str| answer.pointer("/plugin").and_then(|plugin| plugin.get(name));
        let text = |name: &str| plugin(name).and_then(Value::as_str);
        let Some(folder) = text("rootDir") else {
            return Err(Failure::Refused(format!("openclaw plugins inspect {id}: its answer names no folder")));
        };
        let enabled = plugin("enabled").and_then(Value::as_bool).unwrap_or(false);
        let status = text("status").unwrap_or_default();
        let why = || text("error").or_else(|| answer.pointer("/diagnostics/0/message").and_then(Value::as_str));
        Ok(Some(Plugin {
            folder: folder.into(),
            enabled,
            conversation_access: answer.pointer("/policy/allowConversationAccess") == Some(&Value::Bool(true)),
            trouble: (enabled && status != "loaded").then(|| why().unwrap_or(status).to_owned()),
        }))
    }

    /// What stands in its configuration, if anything does.
    pub(crate) fn setting(&self, path: &str) -> Result<Option<Value>, Failure> {
        match self.patient().ask(&["config", "get", path, "--json"], None) {
            Err(Failure::Refused(why)) if is_unset(&why) => Ok(None),
            answer => answer.map(Some),
        }
    }

    /// A command that changes something and is not asked for an answer.
    pub(crate) fn tell(&self, args: &[&str]) -> Result<(), Failure> {
        let patient = self.patient();
        let answer = patient.program.run(args, None).map_err(Failure::Refused)?;
        if answer.is_ok() { Ok(()) } else { Err(Failure::Refused(words(&answer))) }
    }

    fn patient(&self) -> Self {
        let program = Program { limit: std::time::Duration::from_secs(PLUGINS_LIMIT_SECONDS), ..self.program.clone() };
        Self { program, ..self.clone() }
    }

    fn ask(&self, args: &[&str], input: Option<&str>) -> Result<Value, Failure> {
        if let Some(why) = &self.broken {
            return Err(Failure::Refused(why.clone()));
        }
        let asked = || format!("openclaw {}", args.iter().take(2).copied().collect::<Vec<_>>().join(" "));
        let answer = self.program.run(args, input).map_err(Failure::Refused)?;
        if !answer.is_ok() {
            return Err(failure(&answer, &asked()));
        }
        serde_json::from_str(&answer.stdout)
            .map_err(|_| Failure::Refused(format!("{} answered no JSON: {}", asked(), answer.complaint())))
    }
}

/// The command that declares a job.
pub(crate) fn add_job_args(key: &str, every: Every, argv: &[&str], folder: &str) -> Vec<String> {
    let (every, argv) = (every.to_string(), serde_json::json!(argv).to_string());
    let words = ["cron", "add", "--name", "task-recovery", "--declaration-key", key, "--every", &every, "--command-argv", &argv];
    words.into_iter().chain(["--command-cwd", folder, "--no-deliver", "--json"]).map(str::to_owned).collect()
}

fn version(text: &str) -> Option<(u32, u32, u32)> {
    let word = text.split_whitespace().find(|word| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit()))?;
    let mut numbers = word.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    match (numbers.next()?, numbers.next()?, numbers.next()) {
        (Ok(year), Ok(month), number) => Some((year, month, number.and_then(Result::ok).unwrap_or(0))),
        _ => None,
    }
}

fn failure(answer: &Answer, asked: &str) -> Failure {
    let value: Option<Value> = serde_json::from_str(&answer.stdout).ok();
    let message = value.as_ref().and_then(|value| value.pointer("/error/message")).and_then(Value::as_str);
    let Some(message) = message else { return Failure::Refused(format!("{asked}: {}", words(answer))) };
    let first = message.lines().next().unwrap_or_default().to_owned();
    match () {
        () if message.contains("changed concurrently") => Failure::Stale,
        () if message.contains("Gateway not reachable") || message.contains("ECONNREFUSED") => Failure::Down(first),
        () => Failure::Refused(format!("{asked}: {first}")),
    }
}

/// Whether these are its words for a setting that is not there: those of 2026.9 and those of 2026.7.
pub(crate) fn is_unset(why: &str) -> bool {
    why.contains("valid but unset") || why.contains("path not found")
}

/// Its own words for what went wrong, on one line, without colours. Before them it warns of this and that.
fn words(answer: &Answer) -> String {
    let plain = |line: &str| {
        let mut parts = line.split('\u{1b}');
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |line, part| line + part.split_once('m').map_or(part, |(_, rest)| rest)).trim().to_owned()
    };
    let is_warning = |line: &str| ["[", "- ", "│", "◇", "├", "Config warnings"].iter().any(|mark| line.starts_with(mark));
    let lines = || answer.stderr.lines().map(plain).filter(|line| !line.is_empty());
    let Some(mut line) = lines().find(|line| !is_warning(line)) else { return answer.complaint() };
    // What is wrong with it stands below.
    if line.ends_with("config is invalid")
        && let Some(problem) = lines().skip_while(|line| line != "Problem:").nth(1)
    {
        line = format!("{line}: {}", problem.trim_start_matches("- "));
    }
    line.chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_words_are_found_among_its_warnings() {
        let answer = |stderr: &str| Answer { status: Some(1), stdout: String::new(), stderr: stderr.to_owned(), is_text: true };
        for (stderr, expected) in [
            (
                "\u{1b}[35m[config]\u{1b}[39m \u{1b}[33mwarnings: x\u{1b}[39m\n\u{1b}[31mIt was refused.\u{1b}[39m\n",
                "It was refused.",
            ),
            ("Config warnings:\n- plugins.entries.x: not found\nIt was refused.\nTry: openclaw --help\n", "It was refused."),
            ("Config warnings: x\n--force is not supported with --link.\n", "--force is not supported with --link."),
            (
                "OpenClaw config is invalid\nFile: ~/x\nProblem:\n  - plugins.load.paths: gone\n\nFix: y\n",
                "OpenClaw config is invalid: plugins.load.paths: gone",
            ),
            ("Config warnings: x\n", "Config warnings: x"),
            ("", "exit status 1"),
        ] {
            assert_eq!(words(&answer(stderr)), expected);
        }
    }

    #[test]
    fn versions_are_read_as_openclaw_prints_them() {
        for (text, expected) in [
            ("OpenClaw 2026.9.6 (eb377ac)\n", Some((2026, 9, 6))),
            ("OpenClaw 2026.7.35 (aa94808)", Some((2026, 7, 35))),
            ("2026.8.1-beta.2", Some((2026, 8, 1))),
            ("2027.1", Some((2027, 1, 0))),
            ("OpenClaw", None),
            ("", None),
        ] {
            assert_eq!(version(text), expected, "{text}");
        }
    }
}
