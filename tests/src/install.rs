//! A place for `heartbeat-install` to install into, with stand-ins for the programs that it talks to.

pub mod killed;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::{Ran, Workspace, copy_program, own_folder, root, word, write_script};

/// crontab(1) as Debian's behaves, on a file.
const CRONTAB: &str = r#"#!/bin/sh
case $1 in
-l) [ -f "$STAND_INS/crontab.text" ] || { echo "no crontab for alice" >&2; exit 1; }
    cat "$STAND_INS/crontab.text" ;;
-) cat >"$STAND_INS/crontab.$$"
    [ -z "$(tail -c1 "$STAND_INS/crontab.$$")" ] || { echo "new crontab file is missing newline before EOF, can't install." >&2; exit 1; }
    mv "$STAND_INS/crontab.$$" "$STAND_INS/crontab.text" ;;
-r) rm "$STAND_INS/crontab.text" ;;
*) exit 2 ;;
esac
"#;

/// A user manager that answers when there is a folder for its units.
const SYSTEMCTL: &str = r#"#!/bin/sh
[ "$1" = --user ] && shift
[ -d "$STAND_INS/units" ] || { echo "Failed to connect to bus: No medium found" >&2; exit 1; }
echo "$*" >>"$STAND_INS/systemctl.calls"
case $1 in
show-environment) ;;
is-active) [ -f "$STAND_INS/units/$3.active" ] ;;
is-enabled) [ -f "$STAND_INS/units/$3.enabled" ] ;;
enable) : >"$STAND_INS/units/$2.enabled" ;;
restart) : >"$STAND_INS/units/$2.active" ;;
disable) rm -f "$STAND_INS/units/$3.enabled" "$STAND_INS/units/$3.active" ;;
daemon-reload) ;;
*) exit 2 ;;
esac
"#;

const LOGINCTL: &str = "#!/bin/sh\ncat \"$STAND_INS/linger\" 2>/dev/null || echo no\n";

/// The five programs without their symbols, so that placing them many times is quick.
pub fn programs() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = shared_folder("programs");
        for name in ["card", "checkpoint", "watch", "resume", "heartbeat-install"] {
            let (from, to) = (crate::programs().join(name), folder.join(name));
            // strip comes with the C compiler that linked them; without it they are only larger.
            let stripped = Command::new("strip").arg("-o").arg(&to).arg(&from).status().is_ok_and(|status| status.success());
            if !stripped {
                copy_program(&from, &to);
            }
        }
        folder
    })
}

/// The installer with small stand-ins for the other four programs, for where nothing runs them: placing them is quick.
fn small_programs() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = shared_folder("small");
        fs::hard_link(programs().join("heartbeat-install"), folder.join("heartbeat-install")).expect("a link to the installer");
        let version = Workspace::new().run("card", &["--version"]).ok().stdout();
        for name in ["card", "checkpoint", "watch", "resume"] {
            let version = version.trim().replacen("card", name, 1);
            write_script(&folder.join(name), &format!("#!/bin/sh\necho '{version}'\n"));
        }
        folder
    })
}

/// The stand-ins that are scripts, to be copied.
fn stand_ins() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = shared_folder("stand-ins");
        for (name, text) in SCRIPTS {
            write_script(&folder.join(name), text);
        }
        folder
    })
}

const SCRIPTS: [(&str, &str); 3] = [("crontab", CRONTAB), ("systemctl", SYSTEMCTL), ("loginctl", LOGINCTL)];

/// A folder for all tests of this process, beside those of processes that live.
fn shared_folder(name: &str) -> PathBuf {
    let all = own_folder().with_file_name("tmp");
    let folder = all.join(format!("{name}-{}", std::process::id()));
    // One of the same number that is over.
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder).expect("a folder in the target folder");
    for entry in fs::read_dir(all).expect("the folder").flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        let pid = file.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) && Path::new("/proc/self").exists() {
            drop(fs::remove_dir_all(entry.path()));
        }
    }
    folder
}

/// A place to install into, with stand-ins beside it.
#[derive(Debug)]
pub struct Bench {
    /// Everything is in it; what is installed into is `ws`.
    pub workspace: Workspace,
    /// Where the programs are installed from.
    pub release: PathBuf,
}

impl Default for Bench {
    fn default() -> Self {
        Self::new()
    }
}

impl Bench {
    /// Without OpenClaw, with cron.
    pub fn new() -> Self {
        let bench = Self { workspace: Workspace::new(), release: programs().to_owned() };
        fs::remove_dir_all(bench.workspace.path("data")).expect("it is as the test made it");
        for folder in ["ws", "stand-ins", "home", "tmp"] {
            fs::create_dir(bench.workspace.path(folder)).expect("it is as the test made it");
        }
        // As another process, like a script that is written. Not a link: the installer locks the crontab that it finds.
        let copied = Command::new("cp").args(SCRIPTS.map(|(name, _)| stand_ins().join(name))).arg(bench.path("stand-ins")).status();
        assert!(copied.is_ok_and(|status| status.success()), "the stand-ins cannot be copied");
        bench
    }

    /// With this OpenClaw, whose default agent works in the workspace.
    pub fn with_openclaw(version: &str) -> Self {
        let bench = Self::new();
        symlink(own_folder().join("openclaw-stand-in"), bench.path("stand-ins/openclaw")).expect("a link");
        bench.put("stand-ins/version", version);
        bench.set_agents(&[("main", bench.ws())]);
        bench
    }

    /// With small stand-ins for the other four programs, where nothing runs them.
    #[must_use]
    pub fn with_small_programs(mut self) -> Self {
        small_programs().clone_into(&mut self.release);
        self
    }

    /// The first is the default one.
    pub fn set_agents(&self, agents: &[(&str, PathBuf)]) {
        let recorded = fs::read_to_string(root().join("tests/fixtures/openclaw/2026.9.6/agents-list.json"))
            .expect("it is as the test made it");
        let recorded: Value = serde_json::from_str(&recorded).expect("it is as the test made it");
        let agents = agents.iter().enumerate().map(|(index, (id, folder))| {
            let mut agent = recorded[0].clone();
            agent["id"] = json!(id);
            agent["workspace"] = json!(folder);
            agent["isDefault"] = json!(index == 0);
            agent
        });
        self.put("stand-ins/agents.json", &Value::from(agents.collect::<Vec<_>>()).to_string());
    }

    /// A file beside the workspace that is installed into.
    pub fn path(&self, name: &str) -> PathBuf {
        self.workspace.path(name)
    }

    /// The workspace that is installed into.
    pub fn ws(&self) -> PathBuf {
        self.path("ws")
    }

    /// Writes a file.
    pub fn put(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("it is as the test made it");
    }

    /// Reads a file.
    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// A program of ours from the release's folder, among the stand-ins.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", self.path("stand-ins").display());
        command.current_dir(self.path("home")).env_clear().env("PATH", path).env("HOME", self.path("home"));
        command
            .env("TMPDIR", self.path("tmp"))
            .env("STAND_INS", self.path("stand-ins"))
            .env("OPENCLAW_STAND_IN", self.path("stand-ins"));
        command.stdin(std::process::Stdio::null());
        command
    }

    /// Installs, checks or uninstalls in the workspace.
    pub fn run(&self, args: &[&str]) -> Ran<'_> {
        self.workspace.finish(self.install(args), None)
    }

    /// The installer, not started yet.
    pub fn install(&self, args: &[&str]) -> Command {
        let mut command = self.command(&self.release.join("heartbeat-install"));
        command.args(["--workspace", word(&self.ws())]).args(args);
        command
    }

    /// The same, which must go well without a word on stderr.
    pub fn answer(&self, args: &[&str]) -> Value {
        self.run(args).ok().is_quiet().one()
    }

    /// Runs the pass that was placed.
    pub fn pass(&self) -> Ran<'_> {
        let ran = self.workspace.finish(self.command(&self.path("ws/bin/recovery-pass")), None);
        ran.ok();
        ran
    }

    /// What OpenClaw was asked, without looking at its version, agents and jobs.
    pub fn changes(&self) -> Vec<Vec<String>> {
        let text = fs::read_to_string(self.path("stand-ins/calls")).unwrap_or_default();
        let calls = text.lines().map(|line| serde_json::from_str::<Vec<String>>(line).expect("it is as the test made it"));
        calls.filter(|call| call[0] == "cron" && call[1] != "list").collect()
    }
}

/// A file: where it is in the folder, its mode and its bytes.
pub type Entry = (PathBuf, u32, Vec<u8>);

/// Every file below a folder, with its mode and bytes; links by where they lead.
pub fn snapshot(folder: &Path) -> Vec<Entry> {
    let mut all = Vec::new();
    collect(folder, folder, &mut all);
    all.sort();
    all
}

fn collect(root: &Path, folder: &Path, all: &mut Vec<Entry>) {
    for entry in fs::read_dir(folder).expect("it is as the test made it").flatten() {
        let path = entry.path();
        let meta = fs::symlink_metadata(&path).expect("it is as the test made it");
        let bytes = match () {
            () if meta.is_symlink() => {
                fs::read_link(&path).expect("it is as the test made it").into_os_string().into_encoded_bytes()
            }
            () if meta.is_dir() => Vec::new(),
            () => fs::read(&path).expect("it is as the test made it"),
        };
        all.push((path.strip_prefix(root).expect("it is as the test made it").to_owned(), meta.permissions().mode(), bytes));
        if meta.is_dir() {
            collect(root, &path, all);
        }
    }
}
