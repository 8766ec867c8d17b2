//! Files, folders and disks that are not as they should be (`odd_cases.rs`), in front of the real programs.
//!
//! Each case: the program ends by itself and soon, with its exit status and at most one line that names the cause; and
//! nothing is lost: every file that was there is there and has the bytes that it had, but for the card where it could
//! be written, and its history. No case depends on another, so they run side by side.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::unistd::Uid;
use tests::sweep;
use tests::writers::{self, Before, Writer};
use tests::{Background, Workspace, programs, word};

use crate::controlled::{FAILURES_MAX, controlled};
use crate::odd_cases::{CASES, Card, Case, Needs};
use crate::{Context, Outcome, Passed};

/// Whoever takes longer hangs. The longest that a program may wait is the ten seconds of a lock.
const PATIENCE: Duration = Duration::from_secs(30);
/// A stand-in that waits for a FIFO is let wait for this long.
const PATIENCE_CONTROL: Duration = Duration::from_secs(5);
const CASES_MIN: usize = 25;
/// No file of these cases that should be read whole is larger.
const LARGE_BYTES: u64 = 8 * 1024 * 1024;

pub(crate) fn run(_: &Context) -> Outcome {
    let possible: Vec<&Case> = CASES.iter().filter(|case| is_possible(case.needs)).collect();
    sweep::each(&possible, FAILURES_MAX, |case| check(case, Subject::Programs))?;
    let left_out = match CASES.len() - possible.len() {
        0 => String::new(),
        count => format!("; {count} left out that need root, or not to be root"),
    };
    if possible.len() < CASES_MIN {
        return Err(format!("only {} cases{left_out}", possible.len()));
    }
    Ok(Passed::Done(format!("{} cases{left_out}", possible.len())))
}

pub(crate) fn control(_: &Context) -> Outcome {
    let cases: Vec<&Case> = CASES.iter().filter(|case| case.control && is_possible(case.needs)).collect();
    let broken = [
        ("follows", "it hangs"),
        ("replaces", "exit status 74 was expected"),
        ("in-place", "is not as it was"),
        ("swallows", "exit status 74 was expected"),
        ("wrong-status", "exit status 74 was expected"),
    ];
    controlled(&broken, |mode| sweep::each(&cases, 1, |case| check(case, Subject::StandIn(mode))))
}

#[derive(Clone, Copy)]
enum Subject<'a> {
    Programs,
    /// In place of `checkpoint`. Its words are its own.
    StandIn(&'a str),
}

fn is_possible(needs: Needs) -> bool {
    match needs {
        Needs::Nothing => true,
        // Root becomes nobody for it.
        Needs::NotRoot => !Uid::effective().is_root() || tests::has_tool("setpriv"),
        Needs::Root => Uid::effective().is_root(),
        Needs::Mount => {
            Uid::effective().is_root()
                && Command::new("unshare").args(["-m", "true"]).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
        }
    }
}

fn check(case: &Case, subject: Subject<'_>) -> Result<(), String> {
    let workspace = Writer::new("checkpoint", "a", Before::Used, &["a"]).workspace();
    let told = |what: String| format!("{}: {what}\n{}", case.what, case.run);
    install(&workspace, subject).map_err(told)?;
    let mut line = format!("set -e; R=data/task-runs; export R; {}", case.prepare);
    if case.needs == Needs::Mount {
        // A mount is seen by this shell alone and goes with it: what it holds is looked at from within.
        return in_one_shell(case, &workspace, &line).map_err(told);
    }
    if case.needs == Needs::NotRoot && Uid::effective().is_root() {
        line += "; chown -R nobody .";
    }
    let _socket = UnixListener::bind(workspace.path("socket")).map_err(|error| told(format!("no socket: {error}")))?;
    let prepared = workspace.shell(&line);
    if prepared.status() != Some(0) {
        return Err(told(format!("it cannot be prepared\n{prepared}")));
    }
    let before = files(&workspace);
    let ran = end(&workspace, case, subject)?;
    let after = files(&workspace);
    let restored = workspace.shell("chmod -R u+rwX data 2>/dev/null; true");
    let checked = ran.fits(case, subject).and_then(|()| nothing_is_lost(case, &before, &after, &workspace));
    checked.map_err(|what| {
        told(format!("{what}\nexit status {:?}\nstdout: {}\nstderr: {}\n{restored}", ran.status, ran.stdout, ran.stderr))
    })
}

struct End {
    /// None when it had to be killed, or was.
    status: Option<i32>,
    hung: bool,
    stdout: String,
    stderr: String,
}

/// The programs, where also another user may run them.
fn install(workspace: &Workspace, subject: Subject<'_>) -> Result<(), String> {
    let mut script = format!("mkdir bin && cp '{0}/card' '{0}/checkpoint' '{0}/watch' '{0}/resume' bin/", word(programs()));
    if let Subject::StandIn(_) = subject {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        script += &format!(" && cp '{}' bin/checkpoint", word(&own.with_file_name("broken-writer")));
    }
    let copied = workspace.shell(&script);
    if copied.status() == Some(0) { Ok(()) } else { Err(format!("the programs cannot be copied\n{copied}")) }
}

fn command(workspace: &Workspace, case: &Case, subject: Subject<'_>) -> Command {
    let as_nobody = case.needs == Needs::NotRoot && Uid::effective().is_root();
    let user = if as_nobody { "setpriv --reuid nobody --regid nogroup --clear-groups " } else { "" };
    let mut command = workspace.shell_command(&format!("exec {user}sh -c '{}'", case.run));
    command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", word(&workspace.path("bin")))).env("R", "data/task-runs");
    if let Subject::StandIn(mode) = subject {
        command.env("BROKEN", mode);
    }
    command
}

fn end(workspace: &Workspace, case: &Case, subject: Subject<'_>) -> Result<End, String> {
    let patience = if let Subject::Programs = subject { PATIENCE } else { PATIENCE_CONTROL };
    let mut child = Background::start(command(workspace, case, subject));
    let start = Instant::now();
    while child.runs() && start.elapsed() < patience {
        std::thread::sleep(Duration::from_millis(5));
    }
    let hung = child.runs();
    if hung {
        child.kill();
    }
    let output = child.output();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(End { status: output.status.code(), hung, stdout: text(output.stdout), stderr: text(output.stderr) })
}

impl End {
    fn fits(&self, case: &Case, subject: Subject<'_>) -> Result<(), String> {
        if self.hung {
            return Err("it hangs".to_owned());
        }
        if self.status != Some(case.status) {
            return Err(format!("exit status {} was expected", case.status));
        }
        let lines = self.stderr.lines().count();
        match subject {
            Subject::Programs if case.says.is_empty() && lines == 0 => Ok(()),
            Subject::Programs if !case.says.is_empty() && lines == 1 && self.stderr.contains(case.says) => Ok(()),
            Subject::Programs => Err(format!("stderr was expected to be one line with {:?}, or nothing", case.says)),
            Subject::StandIn(_) => Ok(()),
        }
    }
}

type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Every regular file of the card folder and beside it, by what it holds. Nothing is followed, and nothing odd is opened.
fn files(workspace: &Workspace) -> Files {
    let mut found = Files::new();
    collect(&workspace.path("data"), &mut found);
    collect(&workspace.path("elsewhere"), &mut found);
    found
}

fn collect(folder: &Path, found: &mut Files) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => collect(&entry.path(), found),
            Ok(kind) if kind.is_file() => {
                found.insert(entry.path(), content(&entry.path()));
            }
            _ => {}
        }
    }
}

/// Of what is too large to be a card, its length.
fn content(path: &Path) -> Vec<u8> {
    match fs::metadata(path) {
        Ok(meta) if meta.len() > LARGE_BYTES => format!("{} bytes", meta.len()).into_bytes(),
        _ => fs::read(path).unwrap_or_default(),
    }
}

fn nothing_is_lost(case: &Case, before: &Files, after: &Files, workspace: &Workspace) -> Result<(), String> {
    let card = workspace.card_path("a.json");
    let may_change = |path: &Path| {
        let name = path.file_name().unwrap_or_default();
        let own = path == card || name == "a.json.tmp" || name == "a.jsonl";
        (case.card == Card::Written && own) || case.changes.iter().any(|changed| path.ends_with(changed))
    };
    if let Some((path, _)) = before.iter().find(|(path, bytes)| after.get(*path) != Some(bytes) && !may_change(path)) {
        return Err(format!("{} is not as it was", path.display()));
    }
    let revision = || Some(writers::cards(workspace).ok()?["a"].as_ref()?["revision"].clone());
    if case.card == Card::Written && revision() != Some(4.into()) {
        return Err("the card is not written".to_owned());
    }
    let then = workspace.shell(&format!("R=data/task-runs; {}", if case.then.is_empty() { "true" } else { case.then }));
    if then.status() == Some(0) { Ok(()) } else { Err(format!("what should be so afterwards is not\n{then}")) }
}

/// In a mount namespace of its own, which goes with the shell: it also compares the card itself.
fn in_one_shell(case: &Case, workspace: &Workspace, prepare: &str) -> Result<(), String> {
    let script = format!(
        "{prepare}; export PATH='{}':$PATH; old=$(cat $R/a.json); set +e; {}; status=$?; set -e; [ \"$(cat $R/a.json)\" = \"$old\" ] || \
         echo 'the card is not as it was'; exit $status",
        word(&workspace.path("bin")),
        case.run
    );
    let mut command = Command::new("unshare");
    let shell = workspace.shell_command(&script);
    command.arg("-m").arg(shell.get_program()).args(shell.get_args()).current_dir(workspace.path("")).stdin(Stdio::null());
    let ran = workspace.finish(command, None);
    let one_line = ran.stderr().lines().count() == 1 && ran.stderr().contains(case.says);
    if ran.status() == Some(case.status) && one_line && !ran.stdout().contains("is not as it was") {
        return Ok(());
    }
    Err(format!("exit status {} and one line with {:?} were expected, and the card as it was\n{ran}", case.status, case.says))
}
