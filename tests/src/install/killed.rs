//! The installer, killed before a call that changes something, and run again: what is there then is what a run that nobody
//! disturbed leaves, down to the byte.
//!
//! What it had started when it was killed goes on, and may have the last word: it is waited for. By then already the crontab has
//! all the lines of others.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::{Bench, Entry, snapshot};
use crate::strace::{self, Call, Point};
use crate::writers::was_killed;
use crate::{eventually, sweep, word};

/// What others have in the crontab.
pub const OTHERS: &str = "# mine\n";
/// Calls that change something, by the beginning of their names: `renameat2` is a rename, too.
const CHANGES: [&str; 12] =
    ["rename", "link", "symlink", "unlink", "mkdir", "rmdir", "fsync", "fdatasync", "ftruncate", "chmod", "fchmod", "write"];
/// A program that was started is at work. How often it is looked at depends on time: only the first time is a point.
const WAITS: [&str; 2] = ["wait4", "waitid"];
/// Where units are.
const UNITS: &str = "home/.config/systemd/user/";
/// A unit in a point, whatever it is called.
const UNIT: &str = "@unit@";
/// Points that share a bench.
const POINTS: usize = 6;

/// What is installed and removed, and where.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// For people.
    pub name: &'static str,
    /// The place, with things of its own.
    pub bench: fn() -> Bench,
    /// What is there before: only what differs from it is swept. Empty = nothing.
    pub first: &'static [&'static str],
    /// Installs.
    pub install: &'static [&'static str],
    /// Undoes that.
    pub remove: &'static [&'static str],
}

/// Everything that can be placed, with texts in files of others.
pub const EVERYTHING: Case = Case {
    name: "all files, a heartbeat's text and a line of cron",
    bench: full,
    first: &[],
    install: &["--trigger", "heartbeat", "--trigger", "cron", "--agents-md"],
    remove: &["--uninstall"],
};

const NONE: &[&str] = &["--trigger", "none"];

/// Each trigger, where the files are placed already.
pub const TRIGGERS: [Case; 5] = [
    Case { name: "cron", bench: plain, first: NONE, install: &["--trigger", "cron"], remove: NONE },
    Case { name: "HEARTBEAT.md", bench: older, first: NONE, install: &["--trigger", "heartbeat"], remove: NONE },
    Case { name: "automation", bench: newer, first: NONE, install: &["--trigger", "automation"], remove: NONE },
    Case { name: "scratch", bench: newer, first: NONE, install: &["--trigger", "heartbeat"], remove: NONE },
    Case { name: "systemd", bench: plain, first: NONE, install: &["--trigger", "systemd"], remove: NONE },
];

fn full() -> Bench {
    let bench = older();
    bench.workspace.shell("mkdir -p ws/scripts ws/bin").ok();
    bench.put("ws/AGENTS.md", "# Agents\n");
    bench.put("ws/scripts/task_runtime.py", "# the predecessor\n");
    bench.put("ws/bin/recovery-pass", "my own\n");
    bench
}

fn older() -> Bench {
    let bench = with_others(Bench::with_openclaw("2026.7.35"));
    bench.put("ws/HEARTBEAT.md", "Mine, no end");
    bench
}

fn newer() -> Bench {
    with_others(Bench::with_openclaw("2026.9.6"))
}

fn plain() -> Bench {
    let bench = with_others(Bench::new());
    fs::create_dir(bench.path("stand-ins/units")).expect("a folder");
    bench
}

fn with_others(bench: Bench) -> Bench {
    bench.put("stand-ins/crontab.text", OTHERS);
    bench.with_small_programs()
}

/// Kills it at every so many-th point of installing and of removing. Returns at how many.
///
/// # Errors
/// What a run after a kill did not put right.
pub fn survives(case: &Case, every: usize) -> Result<usize, String> {
    let mut points = Vec::new();
    {
        let round = Round::begin(case)?;
        points.extend(round.points_of(case.install)?.into_iter().map(|point| (true, point)));
        points.extend(round.points_of(case.remove)?.into_iter().map(|point| (false, point)));
    }
    let points: Vec<_> = points.into_iter().step_by(every).collect();
    let shares: Vec<_> = points.chunks(POINTS).collect();
    sweep::each(&shares, 1, |share| {
        let round = Round::begin(case)?;
        share.iter().try_for_each(|(installs, point)| {
            let done = if *installs { round.cut_in(point) } else { round.cut_out(point) };
            done.map_err(|what| {
                format!("{}, {} killed before {point}: {what}", case.name, if *installs { "installing" } else { "removing" })
            })
        })
    })?;
    Ok(points.len())
}

/// The place with what is there before.
fn begun(case: &Case) -> Result<Bench, String> {
    let bench = (case.bench)();
    if !case.first.is_empty() {
        // Once before it counts: OpenClaw's list of jobs is a file from then on, and a scratch is only emptied.
        [case.first, case.install, case.remove].into_iter().try_for_each(|args| well(&bench, args))?;
    }
    Ok(bench)
}

fn changes(call: &Call) -> bool {
    CHANGES.iter().any(|name| call.name.starts_with(name)) || (call.name == "openat" && call.line.contains("O_CREAT"))
}

fn waits(name: &str) -> bool {
    WAITS.contains(&name)
}

fn well(bench: &Bench, args: &[&str]) -> Result<(), String> {
    let ran = bench.run(args);
    if ran.status() == Some(0) { Ok(()) } else { Err(format!("it does not end well\n{ran}")) }
}

/// A bench, and what it looks like when nobody disturbs.
struct Round {
    case: Case,
    bench: Bench,
    before: Vec<Entry>,
    installed: Vec<Entry>,
    /// What its units are called, if there are any.
    unit: String,
}

impl Round {
    fn begin(case: &Case) -> Result<Self, String> {
        let bench = begun(case)?;
        let before = state(&bench);
        well(&bench, case.install)?;
        let installed = state(&bench);
        let timer = installed.iter().find_map(|(path, ..)| path.to_str()?.strip_prefix(UNITS)?.strip_suffix(".timer"));
        let unit = timer.unwrap_or_default().to_owned();
        let round = Self { case: *case, bench, before, installed, unit };
        round.removes()?;
        Ok(round)
    }

    /// Writes and the like by the file in the place that they are about: how often a process wakes its own threads varies.
    fn points_of(&self, args: &[&str]) -> Result<Vec<Point>, String> {
        let calls = strace::trace(&self.bench.workspace, &self.bench.install(args), None, 0)?;
        let root = self.bench.path("");
        let mut counts: BTreeMap<(&str, Option<&str>), usize> = BTreeMap::new();
        let mut points = Vec::new();
        for call in &calls {
            // The names of files that are without one at once have a process's number in them.
            let path =
                call.path.as_deref().and_then(|path| path.strip_prefix(word(&root))).filter(|path| !path.starts_with("tmp/"));
            let count = counts.entry((&call.name, path)).or_default();
            *count += 1;
            let starts = call.name.starts_with("clone") || call.name.contains("fork");
            if starts || (waits(&call.name) && *count == 1) || (path.is_some() && changes(call)) {
                points.push(Point {
                    call: call.name.clone(),
                    path: path.map(|path| self.renamed(path, &self.unit, UNIT)),
                    occurrence: *count,
                });
            }
        }
        Ok(points)
    }

    /// The units are named after the place, of which each bench has another one.
    fn renamed(&self, path: &str, from: &str, to: &str) -> String {
        if self.unit.is_empty() { path.to_owned() } else { path.replace(from, to) }
    }

    fn installs(&self) -> Result<(), String> {
        well(&self.bench, self.case.install)?;
        same(&state(&self.bench), &self.installed).map_err(|what| format!("not installed as ever: {what}"))
    }

    fn removes(&self) -> Result<(), String> {
        well(&self.bench, self.case.remove)?;
        // Of a run that was cut before there was a manifest nobody knows that it made the folder: it may be a workspace's mark.
        if !self.bench.path("ws/data/task-runs/.installed").exists() {
            drop(fs::remove_dir(self.bench.path("ws/data/task-runs")));
            drop(fs::remove_dir(self.bench.path("ws/data")));
        }
        same(&state(&self.bench), &self.before).map_err(|what| format!("not removed as ever: {what}"))
    }

    /// Killed while it installs, it is run again; killed once more, it is removed.
    fn cut_in(&self, point: &Point) -> Result<(), String> {
        self.kill(self.case.install, point)?;
        self.installs()?;
        self.removes()?;
        self.kill(self.case.install, point)?;
        self.removes()
    }

    /// Killed while it removes, it is run again; killed once more, it is installed.
    fn cut_out(&self, point: &Point) -> Result<(), String> {
        self.installs()?;
        self.kill(self.case.remove, point)?;
        self.removes()?;
        self.installs()?;
        self.kill(self.case.remove, point)?;
        self.installs()?;
        self.removes()
    }

    fn kill(&self, args: &[&str], point: &Point) -> Result<(), String> {
        let path = point.path.as_deref().map(|path| self.renamed(path, UNIT, &self.unit));
        let options = Point { path, ..point.clone() }.harmed(&self.bench.workspace, "signal=KILL");
        let ran = self.bench.workspace.finish(strace::under(&self.bench.install(args), options, "/dev/null"), None);
        // What is waited for may be over before.
        let was_over = waits(&point.call) && ran.status() == Some(0);
        if !was_killed(&ran) && !was_over {
            return Err(format!("it was not killed\n{ran}"));
        }
        eventually("what it started is over", || !is_at_work(&self.bench));
        let crontab = fs::read_to_string(self.bench.path("stand-ins/crontab.text")).unwrap_or_default();
        if crontab.starts_with(OTHERS) { Ok(()) } else { Err(format!("other lines of the crontab are lost: {crontab:?}")) }
    }
}

/// Whether a process lives that was started on this bench: it works in the bench's home, also between its start and its exec.
fn is_at_work(bench: &Bench) -> bool {
    let home = bench.path("home");
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(|process| fs::read_link(process.path().join("cwd")).ok()).any(|folder| folder == home)
}

/// Everything that is there, without what only tells how often something was done.
fn state(bench: &Bench) -> Vec<Entry> {
    let mut all = snapshot(&bench.path(""));
    // A file for a program that is started is without a name at once; a kill in between leaves it, empty.
    all.retain(|(path, ..)| !path.starts_with("tmp/"));
    all.retain(|(path, ..)| !["trace", "stand-ins/calls", "stand-ins/systemctl.calls"].iter().any(|name| path.ends_with(name)));
    for (path, _, bytes) in &mut all {
        if path.ends_with(".installed") {
            // Nor does its manifest name that folder.
            let text = String::from_utf8_lossy(bytes).into_owned();
            *bytes = text.lines().filter(|line| !line.contains("\"data")).collect::<String>().into_bytes();
        } else if path.to_string_lossy().contains("scratch-") {
            let held: Value = serde_json::from_slice(bytes).unwrap_or_default();
            // It cannot be unset again, only emptied.
            *bytes = held["content"].to_string().into_bytes();
        }
    }
    all.retain(|(_, _, bytes)| bytes != b"\"\"");
    all
}

fn same(now: &[Entry], expected: &[Entry]) -> Result<(), String> {
    let names = |all: &[Entry]| all.iter().map(|(path, mode, _)| format!("{} {mode:o}", path.display())).collect::<Vec<_>>();
    let (have, want) = (names(now), names(expected));
    if have != want {
        let extra: Vec<_> = have.iter().filter(|name| !want.contains(name)).collect();
        let lost: Vec<_> = want.iter().filter(|name| !have.contains(name)).collect();
        return Err(format!("too much: {extra:?}, missing: {lost:?}"));
    }
    let text = |entry: &Entry| String::from_utf8_lossy(&entry.2).chars().take(2000).collect::<String>();
    match now.iter().zip(expected).find(|(now, expected)| now.2 != expected.2) {
        Some((now, expected)) => Err(format!("{} is {:?}, not {:?}", now.0.display(), text(now), text(expected))),
        None => Ok(()),
    }
}
