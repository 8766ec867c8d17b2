//! The supervision matrix (`tests/it/supervision/`) again and again, with every core kept busy.
//!
//! Its tests wait on conditions, never for a time; what depends on who runs first shows when
//! nobody gets a core in time. The burners are threads of this process and end with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde_json::Value;
use tests::Workspace;

use crate::{Context, Outcome, Passed};

const REPETITIONS: usize = 20;
/// What is shown of a failure, in characters.
const SHOWN_MAX: usize = 16 * 1024;
/// A `resume` that only runs the adapters: nothing is claimed, recorded, limited, contained or told.
const RUNS_THE_ADAPTERS: &str = r#"#!/bin/sh
ids=$1
[ -n "$ids" ] || ids=$(sed -n 's/.*"task_id":"\([^"]*\)".*/\1/p')
for id in $ids; do
	adapter=$(sed -n 's/.*"resume_adapter": *"\([^"]*\)".*/\1/p' "data/task-runs/$id.json")
	TASK_ID=$id TASK_ATTEMPT=$id/1/0 TASK_BIN=$(dirname "$0") "$adapter" >&2
done
exit 0
"#;
/// Of the matrix, for the control: those that fail at once where nobody supervises, instead of waiting for what never comes.
const CONTROL: &[&str] = &["supervision::passes::sixteen_passes", "supervision::ends::an_adapter_that_cannot_be_started"];

pub(crate) fn run(_: &Context) -> Outcome {
    let matrix = build()?;
    let mut slowest: f64 = 0.0;
    let mut tests = 0;
    for repetition in 1..=REPETITIONS {
        let (passed, seconds) = under_load(|| repeat(&matrix, tests::programs(), &std::env::temp_dir(), &["supervision::"]))
            .map_err(|output| format!("repetition {repetition} of {REPETITIONS} failed:\n{output}"))?;
        tests = passed;
        slowest = slowest.max(seconds);
    }
    Ok(Passed::Done(format!("{REPETITIONS} repetitions of {tests} tests on {} busy cores, the slowest {slowest:.1} s", cores())))
}

pub(crate) fn control(_: &Context) -> Outcome {
    let matrix = build()?;
    let workspace = Workspace::new();
    fs::create_dir(workspace.path("programs")).map_err(|error| error.to_string())?;
    for program in ["card", "checkpoint", "watch"] {
        let link = workspace.path("programs").join(program);
        std::os::unix::fs::symlink(tests::programs().join(program), link).map_err(|error| error.to_string())?;
    }
    workspace.write("programs/resume", RUNS_THE_ADAPTERS);
    // A test that fails leaves its workspace: in ours, for once.
    let temporary = workspace.path("tmp");
    fs::create_dir(&temporary).map_err(|error| error.to_string())?;
    match under_load(|| repeat(&matrix, &workspace.path("programs"), &temporary, CONTROL)) {
        Ok((tests, _)) => Err(format!("{tests} tests passed without a supervisor")),
        Err(output) => {
            let failed = output.lines().filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"));
            let failed: Vec<&str> = failed.collect();
            match failed.len() == CONTROL.len() {
                true => Ok(Passed::Done(format!("with a resume that only runs the adapter fail {}", failed.join(" and ")))),
                false => Err(format!("not all of them failed:\n{output}")),
            }
        }
    }
}

/// The matrix's test binary, in this program's own profile.
fn build() -> Result<PathBuf, String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["test", "--quiet", "--locked", "--package", "tests", "--test", "it", "--no-run", "--message-format", "json"]);
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let folder = own.parent().and_then(Path::parent).ok_or("this program is not in target/<profile>")?;
    let profile = if own.parent().is_some_and(|folder| folder.ends_with("proof")) { "proof" } else { "dev" };
    cargo.args(["--profile", profile, "--target-dir"]).arg(folder).current_dir(tests::root()).stderr(Stdio::inherit());
    let output = cargo.output().map_err(|error| format!("cargo: {error}"))?;
    let messages = String::from_utf8_lossy(&output.stdout);
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let built = messages
        .filter(|message| message["target"]["name"] == "it")
        .find_map(|message| Some(message["executable"].as_str()?.to_owned()));
    built.map(PathBuf::from).filter(|_| output.status.success()).ok_or_else(|| "the matrix does not build".to_owned())
}

/// Runs these tests once: how many passed, in how many seconds; or everything that was printed.
fn repeat(matrix: &Path, programs: &Path, temporary: &Path, filters: &[&str]) -> Result<(usize, f64), String> {
    let start = Instant::now();
    let output = Command::new(matrix)
        .args(filters)
        .env("TASK_TESTS_PROGRAMS", programs)
        .env("TMPDIR", temporary)
        .stdin(Stdio::null())
        .output();
    let output = output.map_err(|error| format!("{}: {error}", matrix.display()))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let summary = said.lines().find_map(|line| line.strip_prefix("test result: ok. ")).and_then(|rest| rest.split(' ').next());
    let passed = summary.and_then(|count| count.parse().ok()).filter(|count| *count > 0);
    match passed.filter(|_| output.status.success()) {
        Some(passed) => Ok((passed, start.elapsed().as_secs_f64())),
        None => {
            let stderr = String::from_utf8_lossy(&output.stderr);
            Err(format!("{}\n{}\n{stderr}", output.status, said.chars().take(SHOWN_MAX).collect::<String>()))
        }
    }
}

/// Does it while every core is busy with something else.
fn under_load<T>(work: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..cores() {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let _stop = StopAtTheEnd(&stop);
        work()
    })
}

/// Also when the work panics: the scope waits for the burners.
struct StopAtTheEnd<'a>(&'a AtomicBool);

impl Drop for StopAtTheEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
