//! `--check`: installed is not running.

use std::fs;

use tests::install::Bench;
use tests::{copy_program, minutes_from_now, word};

/// The one finding: what and the remedy.
fn finding(bench: &Bench, args: &[&str]) -> (String, String) {
    let ran = bench.run(&[&["--check"], args].concat());
    let one = ran.exits(1).one();
    assert_eq!(one["ok"], false);
    (one["finding"].as_str().unwrap().to_owned(), one["remedy"].as_str().unwrap().to_owned())
}

fn is_well(bench: &Bench) {
    let ran = bench.run(&["--check"]);
    assert_eq!(ran.ok().is_quiet().one()["ok"], true);
}

#[test]
fn it_is_red_until_a_pass_was_finished_and_when_none_is_any_more() {
    let bench = Bench::new();
    assert_eq!(finding(&bench, &[]).0, "nothing is installed here");
    bench.answer(&["--trigger", "cron"]);
    let (what, remedy) = finding(&bench, &[]);
    assert_eq!(what, "no pass was finished yet");
    // The remedy is the command itself.
    bench.workspace.finish(shell(&bench, &remedy), None).ok();
    is_well(&bench);
    assert_eq!(bench.run(&["--check", "--now", &minutes_from_now(14)]).ok().one()["ok"], true);
    let (what, _) = finding(&bench, &["--now", &minutes_from_now(16)]);
    assert!(what.starts_with("no pass was finished for over 3 intervals of 5m"), "{what}");
    let (what, _) = finding(&bench, &["--now", &minutes_from_now(-10)]);
    assert!(what.contains("ahead of the clock"), "{what}");
    let text = bench.run(&["--check", "--format", "text"]).ok().stdout();
    assert!(text.contains("all is well; the last pass was at 20"), "{text}");
}

fn shell(bench: &Bench, script: &str) -> std::process::Command {
    let mut shell = bench.command("/bin/sh".as_ref());
    shell.args(["-c", script]);
    shell
}

fn well() -> Bench {
    let bench = Bench::new();
    bench.answer(&["--trigger", "cron"]);
    bench.pass();
    is_well(&bench);
    bench
}

#[test]
fn it_is_red_when_the_trigger_is_gone_or_another() {
    let bench = well();
    let line = bench.text("stand-ins/crontab.text");
    for text in ["", "* * * * * other\n"] {
        bench.put("stand-ins/crontab.text", text);
        let (what, remedy) = finding(&bench, &[]);
        assert_eq!(what, "the line in the crontab is gone");
        bench.workspace.finish(shell(&bench, &remedy), None).ok();
        is_well(&bench);
    }
    bench.put("stand-ins/crontab.text", &line.replace("*/5", "0"));
    assert_eq!(finding(&bench, &[]).0, "the line in the crontab is not the one that was installed");
}

#[test]
fn it_is_red_when_an_automation_is_gone_or_switched_off() {
    let bench = Bench::with_openclaw("2026.9.6");
    bench.answer(&[]);
    bench.pass();
    is_well(&bench);
    bench.put("stand-ins/down", "");
    let (what, remedy) = finding(&bench, &[]);
    assert!(what.contains("the Gateway that runs the automation is down") && remedy == "openclaw gateway run", "{what}");
    fs::remove_file(bench.path("stand-ins/down")).unwrap();
    let jobs = bench.text("stand-ins/jobs.json");
    let ours = jobs.find("task-recovery:watch").unwrap();
    let off = jobs[..ours].rfind("\"enabled\":true").or_else(|| jobs[ours..].find("\"enabled\":true").map(|at| at + ours));
    let start = jobs[ours..].find("\"enabled\":true").map_or_else(|| off.unwrap(), |at| at + ours);
    bench.put("stand-ins/jobs.json", &format!("{}\"enabled\":false{}", &jobs[..start], &jobs[start + 14..]));
    assert!(finding(&bench, &[]).0.ends_with("is switched off"));
    bench.put("stand-ins/jobs.json", "[]");
    let (what, remedy) = finding(&bench, &[]);
    assert_eq!(what, "the automation task-recovery:watch is gone");
    bench.workspace.finish(shell(&bench, &remedy), None).ok();
    is_well(&bench);
    // From cron's bare environment OpenClaw is found where it was.
    let mut command = bench.command(&bench.path("ws/bin/heartbeat-install"));
    command.args(["--check", "--workspace", word(&bench.ws())]).env("PATH", "/usr/bin:/bin");
    assert_eq!(bench.workspace.finish(command, None).ok().one()["ok"], true);
}

#[test]
fn it_is_red_when_the_heartbeats_text_is_gone_or_changed() {
    let bench = Bench::with_openclaw("2026.7.35");
    bench.answer(&["--trigger", "heartbeat"]);
    bench.pass();
    is_well(&bench);
    let text = bench.text("ws/HEARTBEAT.md");
    bench.put("ws/HEARTBEAT.md", &text.replace("Say nothing", "Say much"));
    assert_eq!(finding(&bench, &[]).0, "our section in HEARTBEAT.md is not the one that was installed");
    bench.put("ws/HEARTBEAT.md", "");
    let (what, remedy) = finding(&bench, &[]);
    assert_eq!(what, "our section in HEARTBEAT.md is gone");
    bench.workspace.finish(shell(&bench, &remedy), None).ok();
    is_well(&bench);
    // Its heartbeats come every half hour.
    assert_eq!(bench.run(&["--check", "--now", &minutes_from_now(80)]).ok().one()["ok"], true);
    bench.run(&["--check", "--now", &minutes_from_now(100)]).exits(1);
}

#[test]
fn it_is_red_when_a_file_is_gone_or_another() {
    let bench = well();
    bench.workspace.shell("chmod -x ws/bin/resume").ok();
    assert_eq!(finding(&bench, &[]).0, "bin/resume cannot be executed");
    bench.workspace.shell("chmod +x ws/bin/resume && rm ws/skills/task-recovery/SKILL.md").ok();
    let (what, remedy) = finding(&bench, &[]);
    assert_eq!(what, "skills/task-recovery/SKILL.md is gone");
    bench.workspace.finish(shell(&bench, &remedy), None).ok();
    is_well(&bench);
    copy_program(&bench.path("ws/bin/card"), &bench.path("ws/bin/resume.new"));
    bench.workspace.shell("mv ws/bin/resume.new ws/bin/resume").ok();
    let (what, remedy) = finding(&bench, &[]);
    assert_eq!(what, "bin/resume is not what was placed");
    bench.workspace.finish(shell(&bench, &remedy), None).ok();
    is_well(&bench);
    bench.workspace.shell("echo '# mine' >>ws/docs/task-recovery/en/practice.md").ok();
    let (what, remedy) = finding(&bench, &[]);
    assert!(what.starts_with("docs/task-recovery/en/practice.md was changed"), "{what}");
    bench.workspace.finish(shell(&bench, &remedy), None).ok();
    is_well(&bench);
}

#[test]
fn it_is_red_when_watch_fails_in_the_pass() {
    let bench = well();
    // One that a person put there, and that was taken note of: only its failing is wrong.
    bench.workspace.write("ws/bin/watch", "#!/bin/sh\necho 'watch: out of order' >&2\nexit 74\n");
    let sum = bench.workspace.shell("sha256sum ws/bin/watch | cut -d' ' -f1").ok().stdout();
    let mut manifest: serde_json::Value = serde_json::from_str(&bench.text("ws/data/task-runs/.installed")).unwrap();
    manifest["files"]["bin/watch"]["changed"] = sum.trim().into();
    bench.put("ws/data/task-runs/.installed", &manifest.to_string());
    let stamp = bench.text("ws/data/task-runs/.last-pass");
    bench.workspace.finish(bench.command(&bench.path("ws/bin/recovery-pass")), None).exits(74);
    assert_eq!(bench.text("ws/data/task-runs/.last-pass"), stamp, "no pass was finished");
    let (what, remedy) = finding(&bench, &[]);
    assert_eq!(what, "watch fails, so no pass goes on: watch: out of order");
    assert_eq!(bench.workspace.finish(shell(&bench, &remedy), None).exits(74).stderr(), "watch: out of order\n");
}
