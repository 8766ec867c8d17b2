//! `heartbeat-install`, with stand-ins for the programs that it talks to.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};
use tests::{Ran, Workspace, word};

mod check;
mod cron;
mod heartbeat;
mod killed;
mod openclaw;
mod place;
mod plugin;
mod systemd;

/// crontab(1) as Debian's behaves, on a file.
const CRONTAB: &str = r#"#!/bin/sh
case $1 in
-l) [ -f "$STAND_INS/crontab.text" ] || { echo "no crontab for alice" >&2; exit 1; }
    cat "$STAND_INS/crontab.text" ;;
-) cat >"$STAND_INS/crontab.new"
    [ -z "$(tail -c1 "$STAND_INS/crontab.new")" ] || { echo "new crontab file is missing newline before EOF, can't install." >&2; exit 1; }
    mv "$STAND_INS/crontab.new" "$STAND_INS/crontab.text" ;;
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
fn programs() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("programs-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for name in ["card", "checkpoint", "watch", "resume", "heartbeat-install"] {
            let (from, to) = (tests::programs().join(name), folder.join(name));
            // strip comes with the C compiler that linked them; without it they are only larger.
            let stripped = Command::new("strip").arg("-o").arg(&to).arg(&from).status().is_ok_and(|status| status.success());
            if !stripped {
                fs::copy(from, to).unwrap();
            }
        }
        remove_older(&folder);
        folder
    })
}

/// Those of runs that are over.
fn remove_older(own: &Path) {
    for entry in fs::read_dir(own.parent().unwrap()).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(pid) = name.strip_prefix("programs-") else { continue };
        if entry.path() != own && !Path::new("/proc").join(pid).exists() {
            drop(fs::remove_dir_all(entry.path()));
        }
    }
}

/// A place to install into, with stand-ins beside it.
struct Bench {
    workspace: Workspace,
    /// Where the programs are installed from.
    release: PathBuf,
}

impl Bench {
    /// Without OpenClaw, with cron.
    fn new() -> Self {
        let bench = Self { workspace: Workspace::new(), release: programs().to_owned() };
        fs::remove_dir_all(bench.workspace.path("data")).unwrap();
        for folder in ["ws", "stand-ins", "home"] {
            fs::create_dir(bench.workspace.path(folder)).unwrap();
        }
        for (name, text) in [("crontab", CRONTAB), ("systemctl", SYSTEMCTL), ("loginctl", LOGINCTL)] {
            bench.workspace.write(&format!("stand-ins/{name}"), text);
        }
        bench
    }

    /// With this OpenClaw, whose default agent works in the workspace.
    fn with_openclaw(version: &str) -> Self {
        let bench = Self::new();
        symlink(env!("CARGO_BIN_EXE_openclaw-stand-in"), bench.path("stand-ins/openclaw")).unwrap();
        bench.put("stand-ins/version", version);
        bench.set_agents(&[("main", bench.ws())]);
        bench
    }

    /// With small stand-ins for the other four programs, where nothing runs them: placing them is quick.
    fn with_small_programs(mut self) -> Self {
        self.release = self.path("release");
        fs::create_dir(&self.release).unwrap();
        fs::hard_link(programs().join("heartbeat-install"), self.release.join("heartbeat-install")).unwrap();
        let version = self.workspace.run("card", &["--version"]).ok().stdout();
        for name in ["card", "checkpoint", "watch", "resume"] {
            let version = version.trim().replacen("card", name, 1);
            self.workspace.write(&format!("release/{name}"), &format!("#!/bin/sh\necho '{version}'\n"));
        }
        self
    }

    /// The first is the default one.
    fn set_agents(&self, agents: &[(&str, PathBuf)]) {
        let recorded = fs::read_to_string(tests::root().join("tests/fixtures/openclaw/2026.9.6/agents-list.json")).unwrap();
        let recorded: Value = serde_json::from_str(&recorded).unwrap();
        let agents = agents.iter().enumerate().map(|(index, (id, folder))| {
            let mut agent = recorded[0].clone();
            agent["id"] = json!(id);
            agent["workspace"] = json!(folder);
            agent["isDefault"] = json!(index == 0);
            agent
        });
        self.put("stand-ins/agents.json", &Value::from(agents.collect::<Vec<_>>()).to_string());
    }

    fn path(&self, name: &str) -> PathBuf {
        self.workspace.path(name)
    }

    /// The workspace that is installed into.
    fn ws(&self) -> PathBuf {
        self.path("ws")
    }

    fn put(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// A program of ours from the release's folder, among the stand-ins.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", self.path("stand-ins").display());
        command.current_dir(self.path("home")).env_clear().env("PATH", path).env("HOME", self.path("home"));
        command.env("STAND_INS", self.path("stand-ins")).env("OPENCLAW_STAND_IN", self.path("stand-ins"));
        command.stdin(std::process::Stdio::null());
        command
    }

    /// Installs, checks or uninstalls in the workspace.
    fn run(&self, args: &[&str]) -> Ran<'_> {
        self.workspace.finish(self.install(args), None)
    }

    fn install(&self, args: &[&str]) -> Command {
        let mut command = self.command(&self.release.join("heartbeat-install"));
        command.args(["--workspace", word(&self.ws())]).args(args);
        command
    }

    /// The same, which must go well without a word on stderr.
    fn answer(&self, args: &[&str]) -> Value {
        self.run(args).ok().is_quiet().one()
    }

    /// Runs the pass that was placed.
    fn pass(&self) -> Ran<'_> {
        let ran = self.workspace.finish(self.command(&self.path("ws/bin/recovery-pass")), None);
        ran.ok();
        ran
    }

    /// What OpenClaw was asked, without looking at its version, agents and jobs.
    fn changes(&self) -> Vec<Vec<String>> {
        let text = fs::read_to_string(self.path("stand-ins/calls")).unwrap_or_default();
        let calls = text.lines().map(|line| serde_json::from_str::<Vec<String>>(line).unwrap());
        calls.filter(|call| call[0] == "cron" && call[1] != "list").collect()
    }
}

/// Every file below a folder, with its mode and bytes; links by where they lead.
fn snapshot(folder: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut all = Vec::new();
    collect(folder, folder, &mut all);
    all.sort();
    all
}

fn collect(root: &Path, folder: &Path, all: &mut Vec<(PathBuf, u32, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let meta = fs::symlink_metadata(&path).unwrap();
        let bytes = match () {
            () if meta.is_symlink() => fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes(),
            () if meta.is_dir() => Vec::new(),
            () => fs::read(&path).unwrap(),
        };
        all.push((path.strip_prefix(root).unwrap().to_owned(), meta.permissions().mode(), bytes));
        if meta.is_dir() {
            collect(root, &path, all);
        }
    }
}
