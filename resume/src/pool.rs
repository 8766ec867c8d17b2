//! A pool: this program once per task, at most `--jobs` at a time.
//!
//! A member supervises its one attempt in a process of its own, so that one that hangs, or is
//! killed, delays and loses no other. Members are in process groups of their own: a Ctrl-C at the
//! terminal reaches them once, relayed, and not twice, which would mean KILL. A pool that is
//! killed leaves members that finish, settle and find nobody to tell.

use std::collections::VecDeque;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use shared::exit::{Error, Exit, cause};
use shared::signal::Line;
use shared::store::Store;
use shared::talk::{program, say};
use signal_hook::consts::{SIGCONT, SIGTSTP};

use crate::args::{Wanted, request_word};
use crate::budget::Budget;
use crate::items::Item;
use crate::live::Live;
use crate::signals::Signals;
use crate::tell::Teller;

/// Nothing is waited for this long without looking again.
const TICK: Duration = Duration::from_secs(60);

/// How often a person sees the state anew.
const LIVE_TICK: Duration = Duration::from_secs(1);

struct Member {
    item: Item,
    child: Child,
    output: ChildStdout,
    text: Vec<u8>,
    lines: usize,
    /// It said that its attempt runs, and lets go.
    started: bool,
}

/// Runs all tasks and tells their lines as they come.
pub(crate) fn run(
    store: &Store,
    wanted: &Wanted,
    tasks: &[Item],
    signals: &mut Signals,
    teller: &mut Teller<'_>,
    budget: Budget,
    live: &mut Live<'_>,
) {
    let mut started = 0;
    let mut waiting: VecDeque<&Item> = tasks.iter().collect();
    let mut members: Vec<Member> = Vec::new();
    loop {
        // What detached members run counts, too: a pass starts no more than that.
        while signals.first().is_none() && started + (members.len() as u64) < wanted.jobs {
            let Some(item) = waiting.pop_front() else { break };
            let left = budget.left(signals);
            if left.is_some_and(|left| left.is_zero()) {
                teller.tell(Line::new("skipped", item.id.as_str()).with("reason", "budget"));
                continue;
            }
            match start(store, wanted, item, left) {
                Ok(member) => members.push(member),
                Err(error) => teller.fail(&item.id, &error),
            }
        }
        if members.is_empty() {
            if started > 0 {
                let late = waiting.drain(..).map(|item| Line::new("skipped", item.id.as_str()).with("reason", "jobs"));
                late.for_each(|line| teller.tell(line));
            }
            return;
        }
        let outputs: Vec<&dyn AsFd> = members.iter().map(|member| &member.output as &dyn AsFd).collect();
        live.draw(members.iter().map(|member| &member.item.id));
        for signal in signals.wait(&outputs, if live.is_on() { LIVE_TICK } else { TICK }) {
            members.iter().for_each(|member| relay(member, signal));
        }
        live.clear();
        if signals.take_suspension() {
            members.iter().for_each(|member| relay(member, SIGTSTP));
            live.suspend(signals);
            members.iter().for_each(|member| relay(member, SIGCONT));
        }
        let mut running = Vec::new();
        for mut member in members {
            let ended = member.read(|line| teller.tell(line));
            if !ended {
                running.push(member);
            } else if member.started {
                // Detached: it goes on, and is nobody's child when this pass is over.
                started += 1;
            } else if let Some(line) = member.reap(teller) {
                teller.tell(line);
            }
        }
        members = running;
    }
}

fn start(store: &Store, wanted: &Wanted, item: &Item, budget: Option<Duration>) -> Result<Member, Error> {
    let failed = |error: &std::io::Error| Error::io(format!("cannot start a supervisor for {}: {}", item.id, cause(error)));
    // The file that this process runs, also when it was replaced or removed since.
    let own = Path::new("/proc/self/exe");
    let own = if own.exists() { own.to_owned() } else { std::env::current_exe().map_err(|error| failed(&error))? };
    let mut command = Command::new(own);
    command.arg0(program()).args(["--pool-member", request_word(item.request), "--format", "jsonl"]);
    command.arg("--grace-seconds").arg(wanted.grace_seconds.to_string());
    command.arg("--wait-seconds").arg(wanted.wait_seconds.to_string());
    if let Some(seconds) = wanted.timeout_seconds {
        command.arg("--timeout-seconds").arg(seconds.to_string());
    }
    if store.clock().is_replaced() {
        command.arg("--now").arg(store.clock().now().to_string());
    }
    command.arg("--output-limit").arg(wanted.output_limit.to_string());
    if let Some(left) = budget {
        command.arg("--budget-seconds").arg(left.as_secs_f64().max(0.001).to_string());
    }
    // The same place, however it was found; TASK_RUNS_DIR alone would not tell the workspace when data is a link.
    if std::fs::canonicalize(store.workspace().join("data/task-runs")).is_ok_and(|folder| folder == store.folder()) {
        command.arg("--workspace").arg(store.workspace());
    } else {
        command.env("TASK_RUNS_DIR", store.folder());
    }
    command.arg("--task-id").arg(item.id.as_str()).stdin(Stdio::null()).stdout(Stdio::piped());
    if wanted.detach {
        command.arg("--detached");
    } else {
        command.process_group(0);
    }
    let mut child = command.spawn().map_err(|error| failed(&error))?;
    let output = child.stdout.take().ok_or_else(|| Error::io("a supervisor has no stdout"))?;
    Ok(Member { item: item.clone(), child, output, text: Vec::new(), lines: 0, started: false })
}

fn relay(member: &Member, signal: i32) {
    let pid = i32::try_from(member.child.id()).map(Pid::from_raw);
    if let (Ok(pid), Ok(signal)) = (pid, Signal::try_from(signal)) {
        // It is a child that is not reaped yet: the number is still its own.
        kill(pid, signal).ok();
    }
}

impl Member {
    /// Takes what it printed. Returns whether it closed its output, as only its end does.
    fn read(&mut self, mut tell: impl FnMut(Line)) -> bool {
        use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
        let mut buffer = [0; 8192];
        loop {
            let mut look = [PollFd::new(self.output.as_fd(), PollFlags::POLLIN)];
            if !matches!(poll(&mut look, PollTimeout::ZERO), Ok(1..)) {
                return false;
            }
            match self.output.read(&mut buffer) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => return true,
                Ok(count) => self.text.extend_from_slice(&buffer[..count]),
            }
            while let Some(end) = self.text.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.text.drain(..=end).collect();
                if let Ok(fields) = serde_json::from_slice(&line) {
                    let line = Line(fields);
                    self.lines += 1;
                    self.started |= line.text("signal") == "started" && !line.0.contains_key("outcome");
                    tell(line);
                }
            }
        }
    }

    /// Returns a line for a member that told none.
    fn reap(mut self, teller: &mut Teller<'_>) -> Option<Line> {
        let id = &self.item.id;
        let detail = "its supervisor was killed; the next pass looks at the task again";
        let untold = Line::new("alert", id.as_str()).with("outcome", "supervisor_died").with("detail", detail);
        match self.child.wait().map(|status| status.code()) {
            Ok(Some(0)) => {}
            Ok(Some(code @ (65..=78))) => teller.note(exit_of(code)),
            Ok(Some(128..)) => {}
            Ok(None) => say(&format!("the supervisor of {id} was killed; the next pass looks at the task again")),
            Ok(Some(code)) => {
                say(&format!("the supervisor of {id} ended with exit status {code}; the next pass looks at the task again"));
                teller.note(Exit::Io);
            }
            Err(error) => say(&format!("cannot wait for the supervisor of {id}: {}", cause(&error))),
        }
        (self.lines == 0).then_some(untold)
    }
}

fn exit_of(code: i32) -> Exit {
    let known = [Exit::BadData, Exit::NoTask, Exit::Exists, Exit::Io, Exit::Busy, Exit::Refused, Exit::Config];
    known.into_iter().find(|exit| i32::from(exit.code()) == code).unwrap_or(Exit::Io)
}
