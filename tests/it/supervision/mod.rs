//! A supervisor that can be trusted with anything: programs that hang, fork, hide, ignore signals, and supervisors that are killed.
//! `make proof` runs all of it again and again, with every core busy.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tests::{Background, Workspace, eventually, minutes_from_now, word};
pub(crate) use tests::{has_proc, is_alive};

mod ends;
mod hidden;
mod killed;
mod limits;
mod passes;
mod strangers;

/// What an adapter does that hangs until its workspace is gone.
pub(crate) const HANG: &str = "while [ -e hold ]; do sleep 0.05; done";

/// What it does to bring its task forward.
pub(crate) const WORK: &str = "\"$TASK_BIN/checkpoint\" \"$TASK_ID\" --message \"$TASK_ATTEMPT\" >&2";

/// A workspace in which adapters hang, as long as the test runs.
pub(crate) fn holding() -> Workspace {
    let workspace = Workspace::new();
    fs::write(workspace.path("hold"), "").unwrap();
    workspace
}

pub(crate) fn create(workspace: &Workspace, id: &str, adapter: &Path, more: &[&str]) {
    let at = minutes_from_now(-45);
    let args = ["create", id, "--task-type", "t", "--title", "x", "--phase", "collect", "--allow-auto-resume", "--now", &at];
    workspace.run("card", &[&args[..], &["--resume-adapter", word(adapter), "--cooldown-seconds", "0"], more].concat()).ok();
}

/// A task that is silent for 45 minutes.
pub(crate) fn add_task(workspace: &Workspace, id: &str, script: &str) {
    let adapter = workspace.write(&format!("{id}.sh"), &format!("#!/bin/sh\n{script}\n"));
    create(workspace, id, &adapter, &[]);
}

/// Changes a card as it is in the file.
pub(crate) fn change(workspace: &Workspace, id: &str, fields: &Value) {
    let mut card = workspace.card(id);
    card.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    workspace.put_card(id, &card.to_string());
}

/// Nobody else's on this machine, where other tests run, too.
pub(crate) fn token() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("{:08x}{:08x}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// A run that was recorded by a supervisor that is gone.
pub(crate) fn run_of_a_dead_supervisor(workspace: &Workspace, token: &str, pid: u32) -> Value {
    let host = workspace.shell("uname -n").stdout().trim().to_owned();
    let run = json!({"attempt": 1, "token": token, "host": host, "pid": pid, "started_at": minutes_from_now(-45), "charged": true});
    json!({"attempt": 1, "run": run})
}

pub(crate) fn start(workspace: &Workspace, args: &[&str]) -> Background {
    let mut command = workspace.command("resume");
    command.args(args);
    Background::start(command)
}

/// Its end, which comes.
pub(crate) fn end_of(mut resume: Background) -> Output {
    eventually("resume ends", || !resume.runs());
    resume.output()
}

pub(crate) fn lines_of(resume: Background) -> Vec<Value> {
    lines_of_text(&String::from_utf8(end_of(resume).stdout).unwrap())
}

pub(crate) fn lines_of_text(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Its supervisor wrote down which process the attempt is: an adapter may be quicker than that.
pub(crate) fn leader_is_known(workspace: &Workspace, id: &str, attempt: u32) {
    let file = workspace.card_path(&format!("logs/{id}/{attempt}.pid"));
    eventually("its leader is known", || fs::read_to_string(&file).is_ok_and(|text| text.ends_with('\n')));
}

pub(crate) fn kill_by_pid(pid: &str) {
    kill(Pid::from_raw(pid.parse().unwrap()), Signal::SIGKILL).unwrap();
}

/// A process that is none of resume's business, in a group of its own. It notes each signal that it gets.
pub(crate) fn stranger(workspace: &Workspace, name: &str, environment: &[(&str, &str)], stdin: Stdio) -> Background {
    let ready = format!("{name}.ready");
    let script = format!(
        "trap 'echo {name} >>signalled.txt' TERM INT HUP QUIT CONT USR1 USR2; : >{name}.ready\n\
         while [ -e hold ]; do sleep 0.05; done"
    );
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &script]).current_dir(workspace.path("")).env_clear().env("PATH", "/usr/bin:/bin");
    command.envs(environment.iter().copied()).stdin(stdin).process_group(0);
    let process = Background::start(command);
    eventually("the stranger is ready", || workspace.path(&ready).exists());
    process
}

/// Its number, as `/proc` names it.
pub(crate) fn pid_of(process: &Background) -> String {
    process.0.id().to_string()
}
