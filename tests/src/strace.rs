//! strace as an instrument: which system calls a command makes, and what happens when one of them goes wrong.
//!
//! A *point* is one call of one command: its name, the file in the workspace that it is about, and
//! which of all such calls it is. A run of its own harms exactly one point. Only the command's own process is
//! traced, not what it starts. How often `resume` looks at other processes depends on the machine: those calls
//! are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::process::Command;

use crate::writers::Writer;
use crate::{Workspace, word};

/// How often these happen depends on time: only the first is a point.
const TIMED: [&str; 6] = ["waitid", "wait4", "poll", "ppoll", "recvfrom", "rt_sigreturn"];
/// Whether these happen at all does.
const CHANCE: [&str; 3] = ["clock_nanosleep", "restart_syscall", "futex"];
/// Memory, which depends on what was read.
const MEMORY: [&str; 5] = ["brk", "mmap", "munmap", "mremap", "madvise"];

/// One system call as strace shows it.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its name.
    pub name: String,
    /// The file that it is about, by path or by descriptor.
    pub path: Option<String>,
    /// The whole line.
    pub line: String,
}

impl Call {
    fn parse(line: &str) -> Option<Self> {
        let (name, rest) = line.split_once('(')?;
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return None;
        }
        let descriptor = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let path = match descriptor.strip_prefix('<') {
            Some(named) if descriptor.len() < rest.len() => named.split_once('>').map(|(path, _)| path),
            _ => rest.split('"').nth(1),
        };
        let path = path.filter(|path| path.starts_with('/')).map(str::to_owned);
        Some(Self { name: name.to_owned(), path, line: line.to_owned() })
    }

    /// Whether it did what it was asked to.
    pub fn succeeded(&self) -> bool {
        self.line.rsplit_once(" = ").is_some_and(|(_, result)| !result.starts_with('-') && !result.starts_with('?'))
    }

    /// Whether it looks at a process, this one's memory map aside.
    fn looks_around(&self) -> bool {
        let rest = self.path.as_deref().and_then(|path| path.strip_prefix("/proc"));
        let is_process = |rest: &str| rest.is_empty() || rest[1..].starts_with(|c: char| c.is_ascii_digit());
        rest.is_some_and(|rest| is_process(rest) && !rest.ends_with("/maps"))
    }

    /// Whether it is about this descriptor.
    pub fn is_about(&self, descriptor: u32) -> bool {
        self.line[self.name.len() + 1..].starts_with(&format!("{descriptor}<"))
    }
}

/// Where a command can be harmed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    /// The call's name.
    pub call: String,
    /// The file that it is about, in the workspace unless absolute; none counts the calls about anything.
    pub path: Option<String>,
    /// 1 is the first.
    pub occurrence: usize,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} of {}", self.call, self.occurrence, self.path.as_deref().unwrap_or("anything"))
    }
}

impl Point {
    /// strace's options that do this at the point: `signal=KILL`, `error=EIO`.
    pub fn harmed(&self, workspace: &Workspace, what: &str) -> Vec<OsString> {
        let inject = format!("inject={}:{what}:when={}", self.call, self.occurrence);
        let mut options: Vec<OsString> = ["-e", &format!("trace={}", self.call), "-e", &inject].map(OsString::from).into();
        if let Some(path) = &self.path {
            options.extend([OsString::from("-P"), workspace.path(path).into()]);
        }
        options
    }
}

/// Whether strace is there and may trace; if not, why.
pub fn is_usable() -> Result<(), String> {
    let ran = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).output();
    match ran {
        Ok(output) if output.status.success() => Ok(()),
        Ok(_) => Err("strace may not trace here".to_owned()),
        Err(_) => Err("strace is not installed".to_owned()),
    }
}

/// The command under strace with these options.
pub fn under(command: &Command, options: impl IntoIterator<Item = OsString>, log: &str) -> Command {
    let mut strace = Command::new("strace");
    strace.args(["-qq", "-y", "-s", "4096", "-o", log]).args(options).arg("--").arg(command.get_program()).args(command.get_args());
    strace.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = command.get_current_dir() {
        strace.current_dir(folder);
    }
    strace.stdin(std::process::Stdio::null());
    strace
}

/// Runs a writer to its end; what it called since it began (before that the dynamic loader works, and touches nothing of ours).
///
/// # Errors
/// When it did not end as it should.
pub fn calls(workspace: &Workspace, writer: &Writer) -> Result<Vec<Call>, String> {
    trace(workspace, &writer.command(workspace), writer.input(), writer.status())
}

/// Runs a command to its end, with this exit status; what it called.
///
/// # Errors
/// When it did not end as it should.
pub fn trace(workspace: &Workspace, command: &Command, input: Option<&str>, status: i32) -> Result<Vec<Call>, String> {
    let log = workspace.path("trace");
    let ran = workspace.finish(under(command, [], word(&log)), input);
    if ran.status() != Some(status) {
        return Err(format!("it fails without any harm\n{ran}"));
    }
    let text = std::fs::read(&log).map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&text).lines().filter_map(Call::parse).collect())
}

/// The points of a trace. With `everything` also calls about other files or none; else those about files of the workspace, and
/// writes to standard output.
pub fn points(workspace: &Workspace, calls: &[Call], everything: bool) -> Vec<Point> {
    let root = workspace.path("");
    // What is called for each process of the machine cannot be counted by its name.
    let around: BTreeSet<&str> = calls.iter().filter(|call| call.looks_around()).map(|call| &*call.name).collect();
    let mut counts: BTreeMap<(&str, Option<&str>), usize> = BTreeMap::new();
    let mut points = Vec::new();
    // The first thing that a Rust program does is to look at its standard streams.
    let begin = calls.iter().position(|call| call.name == "poll" || call.name == "ppoll").unwrap_or_default();
    for (place, call) in calls.iter().enumerate() {
        let name = &*call.name;
        let inside = call.path.as_deref().and_then(|path| path.strip_prefix(word(&root)));
        let outside = call.path.as_deref().filter(|path| around.contains(name) && !path.starts_with("/proc"));
        let by_path = inside.or(outside);
        let occurrence = |counts: &BTreeMap<_, usize>| counts.get(&(name, by_path)).copied().unwrap_or_default();
        for key in BTreeSet::from([(name, None), (name, by_path)]) {
            *counts.entry(key).or_default() += 1;
        }
        let wanted = everything || inside.is_some() || (name == "write" && call.is_about(1));
        let countable = by_path.is_some() || !(around.contains(name) || (!around.is_empty() && MEMORY.contains(&name)));
        let varies = CHANCE.contains(&name) || (TIMED.contains(&name) && occurrence(&counts) > 1);
        if place >= begin && wanted && countable && !varies {
            points.push(Point { call: name.to_owned(), path: by_path.map(str::to_owned), occurrence: occurrence(&counts) });
        }
    }
    points
}
