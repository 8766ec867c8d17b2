//! OpenClaw's command line: what is asked, and what the answers mean.
//!
//! Each call takes one to six seconds. Failures come as exit status 1 with `{"ok":false,"error":{"message"}}` on stdout.
//! Only `--version` and `agents list` work without a running Gateway.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::child::{Answer, Program};
use crate::every::Every;

/// Ten times what a call takes on an idle machine.
const LIMIT_SECONDS: u64 = 60;

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
    let Some(message) = message else { return Failure::Refused(format!("{asked}: {}", answer.complaint())) };
    let first = message.lines().next().unwrap_or_default().to_owned();
    match () {
        () if message.contains("changed concurrently") => Failure::Stale,
        () if message.contains("Gateway not reachable") || message.contains("ECONNREFUSED") => Failure::Down(first),
        () => Failure::Refused(format!("{asked}: {first}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
