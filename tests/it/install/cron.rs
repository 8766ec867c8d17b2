//! The crontab: a stand-in for its many shapes, and the real one.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use tests::install::{Bench, programs};
use tests::{Background, Workspace, eventually, has_tool, is_root, minutes_from_now, word};

#[test]
fn other_lines_stay_byte_for_byte() {
    let bench = Bench::new().with_small_programs();
    for before in [None, Some(""), Some("# mine\nMAILTO=alice\n\n0 4 * * * backup %x\\%y\n"), Some("@reboot x # task-recovery:0\n")]
    {
        if let Some(text) = before {
            bench.put("stand-ins/crontab.text", text);
        }
        bench.answer(&["--trigger", "cron"]);
        let installed = bench.text("stand-ins/crontab.text");
        assert!(installed.starts_with(before.unwrap_or_default()), "{installed}");
        let ours = &installed[before.unwrap_or_default().len()..];
        let line = format!("*/5 * * * * '{}' # task-recovery:", word(&bench.path("ws/bin/recovery-pass")));
        assert!(ours.starts_with(&line) && ours.lines().count() == 1, "{installed}");
        assert_eq!(bench.answer(&["--trigger", "cron"])["changed"], false);
        assert_eq!(bench.answer(&["--trigger", "cron", "--every", "1h"])["changed"], true);
        assert!(bench.text("stand-ins/crontab.text").contains("\n0 * * * * '") || before.unwrap_or_default().is_empty());
        bench.answer(&["--uninstall"]);
        assert_eq!(fs::read_to_string(bench.path("stand-ins/crontab.text")).ok().as_deref(), before);
        drop(fs::remove_file(bench.path("stand-ins/crontab.text")));
    }
}

#[test]
fn each_workspace_has_its_own_line() {
    let bench = Bench::new().with_small_programs();
    bench.workspace.shell("mkdir other").ok();
    bench.answer(&["--trigger", "cron"]);
    let mut command = bench.command(&bench.release.join("heartbeat-install"));
    command.args(["--workspace", word(&bench.path("other")), "--trigger", "cron", "--lang", "zh"]);
    bench.workspace.finish(command, None).ok();
    let text = bench.text("stand-ins/crontab.text");
    assert!(text.lines().count() == 2 && text.contains("other/bin/recovery-pass' --lang zh #"), "{text}");
    bench.answer(&["--uninstall"]);
    assert_eq!(bench.text("stand-ins/crontab.text").lines().count(), 1);
}

/// The crontab is one for all workspaces: each installation writes back what it read, with its own line put in or taken out.
#[test]
fn installations_at_once_lose_no_line_of_each_other_or_of_a_person() {
    let bench = Bench::new().with_small_programs();
    let mine = "# mine\n0 4 * * * backup\n";
    bench.put("stand-ins/crontab.text", mine);
    let folders: Vec<String> = (0..8).map(|number| format!("ws{number}")).collect();
    for folder in &folders {
        fs::create_dir(bench.path(folder)).unwrap();
    }
    let all_at_once = |args: &[&str]| {
        let runs = folders.iter().map(|folder| {
            let mut command = bench.command(&bench.release.join("heartbeat-install"));
            command.args(["--workspace", word(&bench.path(folder))]).args(args);
            Background::start(command)
        });
        for run in runs.collect::<Vec<_>>() {
            let output = run.output();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        bench.text("stand-ins/crontab.text")
    };
    for _ in 0..3 {
        let text = all_at_once(&["--trigger", "cron"]);
        assert!(text.starts_with(mine) && text.lines().count() == 2 + folders.len(), "{text}");
        for folder in &folders {
            assert_eq!(text.matches(&format!("/{folder}/bin/recovery-pass'")).count(), 1, "{folder}: {text}");
        }
        assert_eq!(all_at_once(&["--uninstall"]), mine);
    }
}

#[test]
fn a_crontab_that_is_no_utf_8_is_not_written() {
    let bench = Bench::new().with_small_programs();
    fs::write(bench.path("stand-ins/crontab.text"), b"0 1 * * * caf\xe9\n").unwrap();
    bench.run(&["--trigger", "cron"]).exits(78).complains("the crontab is not UTF-8");
    assert_eq!(fs::read(bench.path("stand-ins/crontab.text")).unwrap(), b"0 1 * * * caf\xe9\n");
}

/// Puts the person's crontab back, whatever happens.
struct RealCrontab(Option<Vec<u8>>);

impl RealCrontab {
    fn read() -> Option<Vec<u8>> {
        let output = Command::new("crontab").arg("-l").stderr(Stdio::null()).output().unwrap();
        output.status.success().then_some(output.stdout)
    }

    fn write(text: Option<&[u8]>) {
        let mut command = Command::new("crontab");
        command.arg(if text.is_some() { "-" } else { "-r" }).stdin(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.unwrap_or_default()).unwrap();
        child.wait().unwrap();
    }
}

impl Drop for RealCrontab {
    fn drop(&mut self) {
        Self::write(self.0.as_deref());
    }
}

/// Everything that a path may have in it, through the real crontab(1), and the line run as cron runs it.
#[test]
fn the_real_crontab_gets_a_line_that_brings_a_silent_task_back() {
    if !has_tool("crontab") || !is_root() {
        return;
    }
    // There is one for all who run these tests as root.
    let turn = fs::File::create(std::env::temp_dir().join("task-recovery-test.crontab.lock")).unwrap();
    turn.lock().unwrap();
    let before = RealCrontab(RealCrontab::read());
    let mine = b"# mine\n0 4 1 1 * true 50\\% # mine, too\n";
    RealCrontab::write(Some(mine));
    let bench = Bench::new();
    fs::remove_file(bench.path("stand-ins/crontab")).unwrap();
    let odd = bench.path("ws/a 'b\" $HOME `id` 50% \\n 工作 & #x");
    fs::create_dir(&odd).unwrap();
    let run = |args: &[&str]| {
        let mut command = bench.command(&programs().join("heartbeat-install"));
        command.arg("--workspace").arg(&odd).args(args);
        let ran = bench.workspace.finish(command, None);
        ran.ok().one()["changed"].as_bool().unwrap()
    };
    assert!(run(&["--trigger", "cron", "--every", "1m"]));
    assert!(!run(&["--trigger", "cron"]));
    let installed = RealCrontab::read().unwrap();
    let ours = String::from_utf8(installed.strip_prefix(mine.as_slice()).expect("the other lines first").to_vec()).unwrap();
    assert_eq!(ours.lines().count(), 1, "{ours}");

    let adapter = bench.workspace.write("adapter.sh", "#!/bin/sh\necho '{\"status\":\"completed\"}'\n");
    let mut create = bench.command(&odd.join("bin/card"));
    create.args(["create", "a", "--task-type", "t", "--title", "x", "--phase", "p", "--allow-auto-resume", "--resume-adapter"]);
    create.arg(&adapter).args(["--now", &minutes_from_now(-120)]).current_dir(&odd);
    bench.workspace.finish(create, None).ok();
    let command = ours.trim_end().strip_prefix("* * * * * ").unwrap();
    bench.workspace.finish(as_cron(&bench.workspace, command), None).ok();
    let card = || fs::read_to_string(odd.join("data/task-runs/a.json")).unwrap();
    eventually("the task is completed", || card().contains("\"completed\""));

    assert!(run(&["--uninstall"]));
    assert_eq!(RealCrontab::read().as_deref(), Some(mine.as_slice()));
    drop(before);
}

/// cron's bare environment; a per cent sign would be a line break, with what follows on stdin.
fn as_cron(workspace: &Workspace, line: &str) -> Command {
    assert!(!line.contains('%'), "{line}");
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", line]).env_clear().current_dir("/").stdin(Stdio::null());
    shell.env("HOME", workspace.path("home")).env("LOGNAME", "root").env("SHELL", "/bin/sh").env("PATH", "/usr/bin:/bin");
    shell
}
