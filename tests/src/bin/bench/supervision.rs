//! What supervision costs: an attempt, the end of a deadline, waiting.

use std::fs;
use std::io::{self, Write};
use std::process::Command;
use std::time::{Duration, Instant};

use tests::{Background, Workspace, eventually};

use crate::measure::{median, seconds};

/// Attempts, or commands, of the first row.
const COMMANDS: usize = 200;
/// At a time.
const JOBS: usize = 4;
/// How often each is measured; the median counts.
const ROUNDS: usize = 5;
/// How long an idle supervisor is watched.
const IDLE: Duration = Duration::from_secs(30);

pub(crate) fn bench(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\nsupervision                                             measured     beside it    ratio")?;
    overhead(out)?;
    deadline(out)?;
    idle(out)
}

/// N trivial commands, each supervised and recorded, beside `xargs -P` with `timeout`.
fn overhead(out: &mut dyn Write) -> io::Result<()> {
    let ids: Vec<String> = (0..COMMANDS).map(|number| format!("t{number}")).collect();
    let mut ours = Vec::new();
    let mut theirs = Vec::new();
    for _ in 0..ROUNDS {
        let workspace = Workspace::new();
        for id in &ids {
            workspace.run("card", &["create", id, "--task-type", "t", "--title", "x", "--allow-auto-resume", "--", "true"]).ok();
        }
        ours.push(seconds(|| {
            workspace.shell(&format!("watch | resume --jobs {JOBS} >lines")).ok();
        }));
        assert_eq!(workspace.lines("lines").iter().filter(|line| line.contains("\"completed\"")).count(), COMMANDS);
        let words = ids.join("\\n");
        theirs.push(seconds(|| {
            workspace.shell(&format!("printf '{words}\\n' | xargs -n1 -P{JOBS} timeout 60 true")).ok();
        }));
    }
    let (ours, theirs) = (median(ours), median(theirs));
    row(out, &format!("{COMMANDS} commands, {JOBS} at a time; xargs -P with timeout"), ours, theirs)?;
    let each = |total: f64| total * 1000.0 / f64::from(u32::try_from(COMMANDS).unwrap_or(u32::MAX));
    writeln!(out, "  a command                                        {:>8.2} ms   {:>8.2} ms", each(ours), each(theirs))
}

/// From the end of the grace to the last of eleven processes gone that ignore TERM.
fn deadline(out: &mut dyn Write) -> io::Result<()> {
    const TIMEOUT: f64 = 0.5;
    const GRACE: f64 = 0.5;
    let mut late = Vec::new();
    for _ in 0..ROUNDS {
        let workspace = Workspace::new();
        let script = "#!/bin/sh\ntrap '' TERM\nfor i in 1 2 3 4 5 6 7 8 9 10; do sh -c \"trap '' TERM; while [ -e hold ]; do sleep 0.05; done\" & done\n\
                      while [ -e hold ]; do sleep 0.05; done\n";
        let adapter = workspace.write("adapter.sh", script);
        workspace.write("hold", "");
        let create =
            ["create", "a", "--task-type", "t", "--title", "x", "--status", "pending", "--resume-adapter", tests::word(&adapter)];
        workspace.run("card", &create).ok();
        let limits =
            [("--timeout-seconds", TIMEOUT), ("--grace-seconds", GRACE)].map(|(name, value)| [name.to_owned(), value.to_string()]);
        let args: Vec<&str> = ["a"].into_iter().chain(limits.iter().flatten().map(String::as_str)).collect();
        late.push(
            seconds(|| {
                workspace.run("resume", &args).ok();
            }) - TIMEOUT
                - GRACE,
        );
    }
    writeln!(out, "from the end of the grace to 11 processes gone         {:>8.3} s", median(late))
}

/// The processor time of a supervisor whose attempt does nothing.
fn idle(out: &mut dyn Write) -> io::Result<()> {
    let workspace = Workspace::new();
    let adapter = workspace.write("adapter.sh", "#!/bin/sh\n: >runs\nwhile [ -e hold ]; do sleep 1; done\n");
    workspace.write("hold", "");
    let create =
        ["create", "a", "--task-type", "t", "--title", "x", "--status", "pending", "--resume-adapter", tests::word(&adapter)];
    workspace.run("card", &create).ok();
    let mut command = workspace.command("resume");
    command.arg("a");
    let supervisor = Background::start(command);
    eventually("it runs", || workspace.path("runs").exists());
    let before = ticks(supervisor.0.id());
    let start = Instant::now();
    while start.elapsed() < IDLE {
        std::thread::sleep(IDLE.saturating_sub(start.elapsed()));
    }
    let used = ticks(supervisor.0.id()) - before;
    fs::remove_file(workspace.path("hold"))?;
    supervisor.output();
    let per_second = Command::new("getconf").arg("CLK_TCK").output().ok();
    let per_second: f64 = per_second.and_then(|output| String::from_utf8(output.stdout).ok()?.trim().parse().ok()).unwrap_or(100.0);
    writeln!(out, "processor time of an idle supervisor in {} s           {:>8.3} s", IDLE.as_secs(), used / per_second)
}

/// User and system time of a process, in clock ticks.
fn ticks(pid: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit_once(") ").map_or(Vec::new(), |(_, rest)| rest.split(' ').collect());
    let number = |index: usize| fields.get(index).and_then(|field| field.parse::<f64>().ok()).unwrap_or_default();
    number(11) + number(12)
}

fn row(out: &mut dyn Write, what: &str, ours: f64, theirs: f64) -> io::Result<()> {
    writeln!(out, "{what:<52} {ours:>8.3} s    {theirs:>8.3} s    {:>5.1}x", ours / theirs)
}
