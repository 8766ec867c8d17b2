//! What holds for every program: help, usage errors, closed pipes, full devices.

use std::fs::File;
use std::process::Stdio;

use tests::Workspace;

const PROGRAMS: [&str; 5] = ["card", "checkpoint", "watch", "resume", "heartbeat-install"];

#[test]
fn help_and_version_need_no_workspace() {
    let workspace = Workspace::new();
    for program in PROGRAMS {
        for option in ["--help", "-h", "--version", "-V"] {
            let mut command = workspace.command(program);
            command.arg(option).current_dir("/").env_clear();
            let ran = workspace.finish(command, None);
            ran.ok().is_quiet();
            let start = if option.to_lowercase().contains('h') { "usage: " } else { program };
            assert!(ran.stdout().starts_with(start), "{ran}");
        }
    }
    workspace.run("card", &["create", "--help"]).ok().is_quiet();
    assert!(!workspace.path("home").exists());
}

#[test]
fn a_usage_error_names_what_is_wrong() {
    let workspace = Workspace::new();
    for (program, args, complaint) in [
        ("card", &[] as &[&str], "say what to do"),
        ("card", &["frobnicate"], "\"frobnicate\""),
        ("card", &["create", "--task-type", "t"], "--title is missing"),
        ("card", &["create", "--frob"], "--frob"),
        ("card", &["create", "--max-retries", "-1"], "--max-retries: \"-1\""),
        ("card", &["create", "--stale-after-minutes", "NaN"], "--stale-after-minutes: \"NaN\""),
        ("card", &["create", "../x"], "\"../x\" is no task ID"),
        ("card", &["create", "a", "b"], "\"b\" is one ID too many, after a"),
        ("card", &["create", "--status", "completed"], "--status: \"completed\""),
        ("card", &["create", "--artifact", "x"], "--artifact: \"x\" is not of the form NAME=VALUE"),
        ("card", &["list", "--status", "done"], "--status: \"done\" is no status"),
        ("card", &["complete", "a", "--reason", "x"], "--reason"),
        ("card", &["complete"], "say which task"),
        ("card", &["show", "a", "--now", "tomorrow"], "--now: \"tomorrow\""),
        ("checkpoint", &[], "say which task"),
        ("checkpoint", &["a", "--status", "pending"], "--status: \"pending\""),
        ("checkpoint", &["a", "--phase", ""], "--phase: \"\""),
        ("checkpoint", &["a", "--message"], "--message"),
        ("watch", &["--format", "xml"], "--format: \"xml\""),
        ("watch", &["--frob"], "--frob"),
        ("resume", &["--jobs", "many", "a"], "--jobs: \"many\""),
        ("resume", &["--jobs", "0", "a"], "--jobs 0 would start nothing"),
        ("resume", &["--force"], "--force is for tasks that are named"),
        ("resume", &["--timeout-seconds", "-5", "a"], "--timeout-seconds: \"-5\""),
    ] {
        let ran = workspace.run(program, args);
        ran.exits(64).complains(complaint);
        assert!(ran.stderr().starts_with(&format!("{program}: ")) && ran.stdout().is_empty(), "{ran}");
        assert!(!ran.stderr().trim_end().ends_with('.'), "{ran}");
    }
}

#[test]
fn whoever_meant_the_other_watch_is_told() {
    let workspace = Workspace::new();
    for args in [
        &["-n1", "date"] as &[&str],
        &["-n", "1", "date"],
        &["date"],
        &["-d", "ls"],
        &["-t"],
        &["-c", "ls"],
        &["--interval", "2", "date"],
        &["--color"],
    ] {
        workspace.run("watch", args).exits(64).complains("this is task-recovery's watch").complains("/usr/bin/watch");
    }
}

fn with_cards() -> Workspace {
    let workspace = Workspace::new();
    for number in 0..2000 {
        let card = format!(
            "{{\"task_id\":\"t{number}\",\"status\":\"needs_attention\",\"created_at\":\"2026-11-30T01:00:00Z\",\"title\":\"{}\"}}",
            "x".repeat(100)
        );
        workspace.put_card(&format!("t{number}"), &card);
    }
    workspace
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let workspace = with_cards();
    for script in [
        "{ watch; echo $? >&2; } | head -1",
        "{ watch --explain; echo $? >&2; } | head -1",
        "{ card list; echo $? >&2; } | head -1",
        "{ watch --report; echo $? >&2; } | true",
        "watch | { resume; echo $? >&2; } | head -1",
        "{ card --help; echo $? >&2; } | true",
    ] {
        let ran = workspace.shell(script);
        assert_eq!(ran.stderr(), "0\n", "{script}\n{ran}");
    }
}

#[test]
fn a_reader_that_goes_away_loses_no_settlement() {
    let workspace = Workspace::new();
    for id in ["a", "b", "c"] {
        workspace
            .run("card", &["create", id, "--task-type", "t", "--title", "x", "--allow-auto-resume", "--", "sh", "-c", "exit 0"])
            .ok();
    }
    let ran = workspace.shell("watch | { resume; echo $? >&2; } | true");
    assert_eq!(ran.stderr(), "0\n", "{ran}");
    for id in ["a", "b", "c"] {
        assert_eq!(workspace.card(id)["status"], "completed", "{id}");
    }
    let one = ["create", "d", "--task-type", "t", "--title", "x", "--", "sh", "-c", "exit 0"];
    workspace.run("card", &one).ok();
    assert_eq!(workspace.shell("{ resume d; echo $? >&2; } | true").stderr(), "0\n");
    assert_eq!(workspace.card("d")["status"], "completed");
}

#[test]
fn a_device_that_is_full_is_an_error() {
    let Ok(_) = File::open("/dev/full") else { return tests::skip("there is no /dev/full") };
    let workspace = with_cards();
    let make = ["create", "made", "--task-type", "t", "--title", "x", "--status", "pending", "--", "true"];
    for (program, args) in [
        ("card", &make as &[&str]),
        ("card", &["list"]),
        ("card", &["show", "t1"]),
        ("card", &["--help"]),
        ("checkpoint", &["t1"]),
        ("watch", &[]),
        ("watch", &["--report"]),
        ("watch", &["--explain"]),
        ("resume", &["made"]),
    ] {
        let mut command = workspace.command(program);
        command.args(args).stdout(File::options().write(true).open("/dev/full").unwrap()).stderr(Stdio::piped());
        let output = command.spawn().unwrap().wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(74), "{program} {args:?}: {stderr}");
        assert!(stderr.contains("cannot write to standard output: No space left on device"), "{program} {args:?}: {stderr}");
    }
    assert_eq!(workspace.card("made")["status"], "completed");
    assert_eq!(workspace.card("t1")["checkpoint_count"], 1);
}

/// Whoever gets the message can go to the file, and knows what to do there.
#[test]
fn what_is_wrong_with_a_card_is_said_with_its_file() {
    let workspace = Workspace::new();
    let file = |id: &str| workspace.card_path(&format!("{id}.json")).display().to_string();
    workspace.put_card("cut", "{\"task_id\":\"cut\",");
    workspace.put_card("later", r#"{"schema_version":2,"task_id":"later","status":"running"}"#);
    std::os::unix::fs::symlink("cut.json", workspace.card_path("link.json")).unwrap();
    for args in [["show", "cut"], ["complete", "cut"]] {
        workspace.run("card", &args).exits(65).complains(&format!("correct {} by hand", file("cut")));
    }
    workspace.run("checkpoint", &["cut"]).exits(65).complains(&file("cut"));
    workspace.run("card", &["show", "link"]).exits(74).complains(&format!("see ls -l '{}'", file("link")));
    let later = workspace.run("card", &["show", "later"]);
    later.exits(65).complains("update task-recovery");
    assert!(!later.stderr().contains("by hand"), "{later}");
    let list = workspace.run("card", &["list"]).stderr();
    assert!(list.contains(&file("cut")), "{list}");
    workspace.run("card", &["show", "nobody"]).exits(66).complains("no task nobody in this workspace; see card list");
}
