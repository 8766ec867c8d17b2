//! The systemd timer.

use std::fs;
use std::process::Command;

use serde_json::json;
use tests::has_tool;
use tests::install::{Bench, programs, snapshot};

fn with_manager() -> Bench {
    let bench = Bench::new();
    fs::create_dir(bench.path("stand-ins/units")).unwrap();
    bench
}

fn units(bench: &Bench) -> Vec<String> {
    let folder = bench.path("home/.config/systemd/user");
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_timer_and_its_service_come_and_go() {
    let bench = with_manager();
    let before = snapshot(&bench.path("home"));
    let answer = bench.answer(&["--trigger", "systemd", "--every", "90s"]);
    assert!(answer["next"][0].as_str().unwrap().starts_with("loginctl enable-linger "), "{answer}");
    let units = units(&bench);
    let [service, timer] = units.as_slice() else { panic!("{units:?}") };
    let service = bench.text(&format!("home/.config/systemd/user/{service}"));
    assert!(service.contains("\nKillMode=process\n") && service.contains("\nType=oneshot\n"), "{service}");
    assert!(bench.text(&format!("home/.config/systemd/user/{timer}")).contains("\nOnUnitActiveSec=90s\n"));
    assert!(bench.path(&format!("stand-ins/units/{timer}.active")).exists());
    assert!(bench.path(&format!("stand-ins/units/{timer}.enabled")).exists());
    assert_eq!(bench.answer(&["--trigger", "systemd"])["changed"], false);
    bench.pass();
    assert_eq!(bench.run(&["--check"]).ok().one()["ok"], true);
    fs::remove_file(bench.path(&format!("stand-ins/units/{timer}.active"))).unwrap();
    assert!(bench.run(&["--check"]).exits(1).stdout().contains(".timer is not running"));
    assert_eq!(bench.answer(&[])["changed"], true);
    bench.answer(&["--uninstall"]);
    assert_eq!(fs::read_dir(bench.path("stand-ins/units")).unwrap().count(), 0);
    assert_eq!(snapshot(&bench.path("home")), before);
    assert_eq!(fs::read_dir(bench.ws()).unwrap().count(), 0);
}

#[test]
fn with_linger_it_is_picked_before_cron() {
    let bench = with_manager();
    assert_eq!(bench.answer(&[])["triggers"], json!(["cron"]));
    bench.answer(&["--uninstall"]);
    bench.put("stand-ins/linger", "yes\n");
    let answer = bench.answer(&[]);
    assert_eq!((&answer["triggers"], &answer["next"]), (&json!(["systemd"]), &json!(null)), "{answer}");
    // The manager cannot be asked just now: what is there stays.
    fs::rename(bench.path("stand-ins/units"), bench.path("stand-ins/away")).unwrap();
    let answer = bench.answer(&[]);
    assert_eq!((&answer["changed"], &answer["triggers"]), (&json!(false), &json!(["systemd"])), "{answer}");
    assert_eq!(units(&bench).len(), 2);
}

#[test]
fn systemd_reads_the_units_whatever_the_path() {
    if !has_tool("systemd-analyze") {
        return;
    }
    let bench = with_manager();
    let odd = bench.path("ws/a 'b\" $HOME 50% \\n 工作");
    fs::create_dir(&odd).unwrap();
    let mut command = bench.command(&programs().join("heartbeat-install"));
    command.arg("--workspace").arg(&odd).args(["--trigger", "systemd"]);
    bench.workspace.finish(command, None).ok();
    for unit in units(&bench) {
        let path = bench.path("home/.config/systemd/user").join(unit);
        let mut verify = Command::new("systemd-analyze");
        verify.args(["verify", "--user"]).arg(&path).env("HOME", bench.path("home")).env("XDG_RUNTIME_DIR", bench.path("home"));
        let ran = bench.workspace.finish(verify, None);
        // It may not be able to look at other units here; about ours it says nothing.
        let about_ours = ran.stderr().lines().any(|line| line.contains("task-recovery"));
        assert!(!about_ours, "{ran}");
    }
    // What systemd makes of ExecStart= runs the pass: its escapes undone as systemd.service(5) tells.
    let service = units(&bench).into_iter().find(|name| name.ends_with(".service")).unwrap();
    let text = bench.text(&format!("home/.config/systemd/user/{service}"));
    let line = text.lines().find_map(|line| line.strip_prefix("ExecStart=/bin/sh \"")).unwrap().strip_suffix('"').unwrap();
    let path = line.replace("%%", "%").replace("$$", "$").replace("\\\"", "\"").replace("\\\\", "\\");
    let mut shell = bench.command("/bin/sh".as_ref());
    shell.arg(path);
    bench.workspace.finish(shell, None).ok().is_quiet();
    assert!(odd.join("data/task-runs/.last-pass").exists());
}
