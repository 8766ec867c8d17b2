//! The harness: real programs in a temporary workspace.
//!
//! The programs are built once and found by name. Each test has a workspace of its own that is
//! removed at the end; what it started ends by itself when the workspace is gone (adapters wait
//! on files in it), or is ended by its own pid. Time is given to the programs with `--now`;
//! waiting is `eventually`.

mod executable;
pub mod install;
mod process;
pub mod rivals;
pub mod strace;
pub mod sweep;
pub mod writers;

pub use executable::{copy_program, write_script};
pub use process::{has_proc, is_alive, process_state};

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A condition that does not come true within this time never will. Generous, for machines under load.
const PATIENCE: Duration = Duration::from_secs(60);

/// The folder of the programs, built from this checkout; or the one that `TASK_TESTS_PROGRAMS` names, for what is built
/// elsewhere or, to see a test fail, is broken on purpose.
pub fn programs() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        if let Some(folder) = std::env::var_os("TASK_TESTS_PROGRAMS") {
            return folder.into();
        }
        let folder = own_folder();
        // What is measured and proved is what people get.
        let (profile, folder) = match folder.ends_with("release") || folder.ends_with("proof") {
            true => ("release", folder.with_file_name("release")),
            false => ("dev", folder),
        };
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--quiet", "--locked", "--workspace", "--exclude", "tests", "--bins", "--profile", profile]);
        cargo.arg("--target-dir").arg(folder.parent().expect("the target folder"));
        let built = cargo.current_dir(root()).status().expect("cargo runs");
        assert!(built.success(), "the programs do not build");
        folder
    })
}

/// `target/<profile>`, where this program is, and the stand-ins beside it.
pub fn own_folder() -> PathBuf {
    let own = std::env::current_exe().expect("this program's own path");
    let folder = own.parent().expect("target/<profile>, or deps in it");
    if folder.ends_with("deps") { folder.parent().expect("target/<profile>").to_owned() } else { folder.to_owned() }
}

/// The checkout.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests folder has a parent")
}

/// Waits until a condition is true.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "not within {} s: {what}", PATIENCE.as_secs());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The system's time moved by these minutes, as the programs read it.
pub fn minutes_from_now(minutes: i64) -> String {
    let at = OffsetDateTime::from(SystemTime::now()) + time::Duration::minutes(minutes);
    at.format(&Rfc3339).expect("a time in this century")
}

/// The system's time moved by these seconds.
pub fn seconds_from_now(seconds: i64) -> String {
    let at = OffsetDateTime::from(SystemTime::now()) + time::Duration::seconds(seconds);
    at.format(&Rfc3339).expect("a time in this century")
}

/// A temporary workspace.
#[derive(Debug)]
pub struct Workspace {
    folder: PathBuf,
}

impl Default for Workspace {
    fn default() -> Self {
        Self::new()
    }
}

impl Workspace {
    /// A new one, with an empty card folder.
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("task recovery test {}-{number}", std::process::id()));
        fs::create_dir_all(folder.join("data/task-runs")).expect("a temporary workspace");
        let folder = fs::canonicalize(folder).expect("its canonical path");
        Self { folder }
    }

    /// A file in the workspace.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A file in the card folder.
    pub fn card_path(&self, name: &str) -> PathBuf {
        self.folder.join("data/task-runs").join(name)
    }

    /// A program of ours, in this workspace and with a bare environment.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(programs().join(program));
        command.current_dir(&self.folder).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", self.path("home"));
        command.stdin(Stdio::null());
        command
    }

    /// Runs a program of ours.
    pub fn run(&self, program: &str, args: &[&str]) -> Ran<'_> {
        let mut command = self.command(program);
        command.args(args);
        self.finish(command, None)
    }

    /// Runs a program of ours with this on stdin.
    pub fn run_with(&self, program: &str, args: &[&str], input: &str) -> Ran<'_> {
        let mut command = self.command(program);
        command.args(args);
        self.finish(command, Some(input))
    }

    /// Runs a shell script with our programs first on the PATH.
    pub fn shell(&self, script: &str) -> Ran<'_> {
        self.finish(self.shell_command(script), None)
    }

    /// A shell script with our programs first on the PATH.
    pub fn shell_command(&self, script: &str) -> Command {
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", programs().display());
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", script]).current_dir(&self.folder).env_clear().env("PATH", path).env("HOME", self.path("home"));
        shell.stdin(Stdio::null());
        shell
    }

    /// Runs a command to its end.
    pub fn finish(&self, mut command: Command, input: Option<&str>) -> Ran<'_> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        if input.is_some() {
            command.stdin(Stdio::piped());
        }
        let shown: String = format!("{command:?}").chars().take(2000).collect();
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{shown}: {error}"));
        if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input) {
            // Whoever does not read all of it has its reasons.
            drop(stdin.write_all(input.as_bytes()));
        }
        Ran { workspace: self, shown, output: child.wait_with_output().expect("its output") }
    }

    /// Writes a file that can be run.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        write_script(&path, text);
        path
    }

    /// Writes a card as it is given.
    pub fn put_card(&self, id: &str, text: &str) {
        fs::write(self.card_path(&format!("{id}.json")), text).expect("a card");
    }

    /// A card as it is in the file.
    pub fn card(&self, id: &str) -> Value {
        let path = self.card_path(&format!("{id}.json"));
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}\n{text}", path.display()))
    }

    /// The lines of a file; none when it is not there.
    pub fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.path(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// The history's events.
    pub fn history(&self, id: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.card_path(&format!("history/{id}.jsonl"))).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
    }

    fn listing(&self) -> String {
        let mut text = String::new();
        list(&self.folder, &self.folder, &mut text);
        text
    }
}

fn list(root: &Path, folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(meta) = entry.metadata() else { continue };
        if meta.is_dir() {
            list(root, &path, text);
        } else {
            let name = path.strip_prefix(root).unwrap_or(&path);
            writeln!(text, "  {} ({} bytes)", name.display(), meta.len()).expect("a string");
        }
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // The workspace of a test that failed stays; the adapters that hang in it, by convention as long as this file is there, do not.
        drop(fs::remove_file(self.path("hold")));
        // Adapters that still run may be writing into it: what stays is in the temporary folder.
        if !std::thread::panicking() && fs::remove_dir_all(&self.folder).is_err() {
            drop(fs::remove_dir_all(&self.folder));
        }
    }
}

/// A command that was run to its end.
#[derive(Debug)]
pub struct Ran<'a> {
    workspace: &'a Workspace,
    shown: String,
    output: Output,
}

impl Ran<'_> {
    /// Its stdout.
    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    /// Its stderr.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    /// How it ended.
    pub fn exit(&self) -> std::process::ExitStatus {
        self.output.status
    }

    /// Its exit status.
    pub fn status(&self) -> Option<i32> {
        self.output.status.code()
    }

    /// Asserts that it exited with this.
    #[track_caller]
    pub fn exits(&self, code: i32) -> &Self {
        assert!(self.status() == Some(code), "exit status {code} was expected\n{self}");
        self
    }

    /// Asserts that it exited with 0.
    #[track_caller]
    pub fn ok(&self) -> &Self {
        self.exits(0)
    }

    /// Asserts that stderr is one line that contains this.
    #[track_caller]
    pub fn complains(&self, text: &str) -> &Self {
        let stderr = self.stderr();
        assert!(stderr.lines().count() == 1 && stderr.contains(text), "one line on stderr with {text:?} was expected\n{self}");
        self
    }

    /// Asserts that nothing was said.
    #[track_caller]
    pub fn is_quiet(&self) -> &Self {
        assert!(self.output.stderr.is_empty(), "nothing on stderr was expected\n{self}");
        self
    }

    /// Its stdout as JSON Lines.
    #[track_caller]
    pub fn json(&self) -> Vec<Value> {
        let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}\n{self}"));
        self.stdout().lines().map(parse).collect()
    }

    /// Its stdout as one JSON value, on however many lines.
    #[track_caller]
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.stdout()).unwrap_or_else(|error| panic!("{error}\n{self}"))
    }

    /// Its stdout as the one JSON line that it is.
    #[track_caller]
    pub fn one(&self) -> Value {
        let mut lines = self.json();
        assert!(lines.len() == 1, "one line was expected\n{self}");
        lines.remove(0)
    }
}

impl std::fmt::Display for Ran<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "command: {}\n{}", self.shown, self.output.status)?;
        writeln!(f, "stdout:\n{}\nstderr:\n{}", self.stdout(), self.stderr())?;
        write!(f, "files in {}:\n{}", self.workspace.folder.display(), self.workspace.listing())
    }
}

/// A child that is killed, by its own pid, when the test is done with it.
#[derive(Debug)]
pub struct Background(pub Child);

impl Background {
    /// Starts it.
    pub fn start(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(command.spawn().expect("a child"))
    }

    /// Its end, with everything that it printed.
    pub fn output(mut self) -> Output {
        let mut output = Output { status: self.0.wait().expect("its end"), stdout: Vec::new(), stderr: Vec::new() };
        let read = |from: &mut dyn std::io::Read, to: &mut Vec<u8>| drop(from.read_to_end(to));
        if let Some(mut stdout) = self.0.stdout.take() {
            read(&mut stdout, &mut output.stdout);
        }
        if let Some(mut stderr) = self.0.stderr.take() {
            read(&mut stderr, &mut output.stderr);
        }
        output
    }

    /// Whether it runs.
    pub fn runs(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(None))
    }

    /// Ends it with SIGKILL.
    pub fn kill(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Whether a tool is there; if not, says that the test is skipped.
pub fn has_tool(name: &str) -> bool {
    let found = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).any(|folder| folder.join(name).is_file());
    if !found {
        skip(&format!("{name} is not installed"));
    }
    found
}

/// Says that a test is skipped, and why, also when the runner captures output.
pub fn skip(why: &str) {
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    drop(writeln!(std::io::stderr(), "SKIPPED {name}: {why}"));
}

/// Whether this process is root; if not, says that the test is skipped.
pub fn is_root() -> bool {
    let root = nix::unistd::Uid::effective().is_root();
    if !root {
        skip("it needs root");
    }
    root
}

/// A word for a command line.
pub fn word(path: &Path) -> &str {
    OsStr::to_str(path.as_os_str()).expect("a UTF-8 path")
}
