//! Killed at any moment, it can simply be run again.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use tests::install::{Bench, snapshot};
use tests::{strace, word};

/// What changes the disk, with the occurrences at which it is killed: each file is a rename, the last of them are the texts.
/// With a question mark: where the machine has a call of that name.
const CALLS: [(&str, &[usize]); 6] = [
    ("?rename", &[1, 2, 3, 9, 20, 24, 26, 27, 28, 29, 30]),
    ("?renameat", &[1, 2, 3, 9, 20, 24, 26, 27, 28, 29, 30]),
    ("?unlink", &[1, 2, 9, 27]),
    ("?mkdir", &[1, 2, 3, 8]),
    ("?rmdir", &[1, 4]),
    ("fsync", &[1, 2, 3, 30, 60]),
];

const TRIGGERS: [&str; 4] = ["--trigger", "heartbeat", "--trigger", "cron"];

/// A workspace with things of its own in the places of ours.
fn bench() -> Bench {
    let bench = Bench::with_openclaw("2026.7.35").with_small_programs();
    bench.put("ws/HEARTBEAT.md", "Mine, no end");
    bench.put("ws/AGENTS.md", "# Agents\n");
    bench.workspace.shell("mkdir -p ws/scripts ws/bin").ok();
    bench.put("ws/scripts/task_runtime.py", "# the predecessor\n");
    bench.put("ws/bin/recovery-pass", "my own\n");
    bench.put("stand-ins/crontab.text", "# mine\n");
    bench
}

fn clean(bench: &Bench) {
    drop(fs::remove_file(bench.path("stand-ins/calls")));
    // Cut before there was a manifest: the empty folder for it may be a workspace's mark, and is left.
    if !bench.path("ws/data/task-runs/.installed").exists() {
        drop(fs::remove_dir(bench.path("ws/data/task-runs")));
        drop(fs::remove_dir(bench.path("ws/data")));
    }
}

fn run(bench: &Bench, args: &[&str]) {
    bench.run(args).ok();
    clean(bench);
}

/// Runs it and kills it at the n-th of a call; false when it came to its end before.
fn killed(bench: &Bench, args: &[&str], call: &str, occurrence: usize) -> bool {
    let mut strace = Command::new("strace");
    let inject = format!("--inject={call}:signal=KILL:when={occurrence}");
    let killed = bench.install(args);
    strace.args(["-qq", "-o", "/dev/null", "-e", call, &inject]).arg(killed.get_program()).args(killed.get_args());
    strace.env_clear().stdin(Stdio::null()).current_dir(bench.path("home"));
    for (name, value) in killed.get_envs() {
        strace.env(name, value.unwrap());
    }
    let ran = bench.workspace.finish(strace, None);
    assert!(ran.status() == Some(0) || ran.exit().signal() == Some(9), "{ran}");
    ran.status() != Some(0)
}

#[test]
fn an_installation_and_its_removal_that_are_killed_are_run_again() {
    if let Err(why) = strace::is_usable() {
        return tests::skip(&why);
    }
    let args = [&TRIGGERS[..], &["--agents-md"]].concat();
    let clean_run = bench();
    clean(&clean_run);
    let before = snapshot(&clean_run.path(""));
    run(&clean_run, &args);
    let installed = snapshot(&clean_run.ws());
    let mut points = 0;
    for (call, occurrences) in CALLS {
        for &occurrence in occurrences {
            let bench = bench();
            let cut = killed(&bench, &args, call, occurrence);
            // From here it is removed ...
            if cut {
                points += 1;
                run(&bench, &["--uninstall"]);
                assert_same(&snapshot(&bench.path("")), &before, &format!("{call} {occurrence}: removed"));
                assert!(killed(&bench, &args, call, occurrence));
            }
            // ... or run again.
            run(&bench, &args);
            assert_same_but_paths(&bench, &snapshot(&bench.ws()), &clean_run, &installed, &format!("{call} {occurrence}: again"));
            let cut_out = killed(&bench, &["--uninstall"], call, occurrence);
            points += usize::from(cut_out);
            run(&bench, &["--uninstall"]);
            assert_same(&snapshot(&bench.path("")), &before, &format!("{call} {occurrence}: cut out"));
            if !cut && !cut_out {
                break;
            }
        }
    }
    assert!(points > 30, "only {points} points");
}

/// A text that is handed on to another program is whole before that program starts.
#[test]
fn no_kill_while_the_crontab_is_handed_on_empties_it() {
    if let Err(why) = strace::is_usable() {
        return tests::skip(&why);
    }
    let mut points = 0;
    for (before, args) in [(&["--trigger", "none"][..], &["--trigger", "cron"][..]), (&["--trigger", "cron"], &["--uninstall"])] {
        for call in ["?clone3", "?clone", "?vfork", "?wait4"] {
            for occurrence in 1..60 {
                let bench = bench();
                run(&bench, before);
                let cut = killed(&bench, args, call, occurrence);
                points += usize::from(cut);
                run(&bench, &["--trigger", "cron"]);
                // Whoever was started before the kill goes on, and may have the last word: with all that others wrote in it.
                let text = bench.text("stand-ins/crontab.text");
                assert!(text.starts_with("# mine\n"), "{args:?} {call} {occurrence}: {text:?}");
                if !cut {
                    break;
                }
            }
        }
    }
    assert!(points > 5, "only {points} points");
}

type Snapshot = [(std::path::PathBuf, u32, Vec<u8>)];

#[track_caller]
fn assert_same(now: &Snapshot, before: &Snapshot, what: &str) {
    let names = |all: &Snapshot| all.iter().map(|(path, mode, _)| format!("{} {mode:o}", path.display())).collect::<Vec<_>>();
    assert_eq!(names(now), names(before), "{what}");
    let other: Vec<_> =
        now.iter().zip(before).filter(|(now, before)| now.2 != before.2 && !now.0.ends_with("agents.json")).collect();
    assert!(other.is_empty(), "{what}: {:?}", other.iter().map(|(now, _)| &now.0).collect::<Vec<_>>());
}

/// The manifests differ in the workspaces' names.
#[track_caller]
fn assert_same_but_paths(bench: &Bench, now: &Snapshot, other: &Bench, before: &Snapshot, what: &str) {
    let rename = |all: &Snapshot, bench: &Bench| {
        let all = all.iter().map(|(path, mode, bytes)| {
            let manifest = path.ends_with(".installed");
            let text = manifest.then(|| String::from_utf8_lossy(bytes).replace(word(&bench.path("")), "/"));
            // Of a run that was cut before there was a manifest nobody knows that it made the folder for it.
            let told = |line: &&str| !line.contains("# task-recovery:") && !line.contains("\"data");
            let text = text.map(|text| text.lines().filter(told).collect::<String>());
            (path.clone(), *mode, text.map_or_else(|| bytes.clone(), String::into_bytes))
        });
        all.collect::<Vec<_>>()
    };
    assert_same(&rename(now, bench), &rename(before, other), what);
}
