//! `resume --detach`, the outbox, and the limits of a pass.

use std::fs;

use serde_json::{Value, json};
use tests::{Workspace, eventually, minutes_from_now, word};

fn add_task(workspace: &Workspace, id: &str, script: &str) {
    let adapter = workspace.write(&format!("{id}.sh"), &format!("#!/bin/sh\n{script}\n"));
    let at = minutes_from_now(-45);
    let args = ["create", id, "--task-type", "t", "--title", "x", "--phase", "collect", "--allow-auto-resume", "--now", &at];
    workspace.run("card", &[&args[..], &["--resume-adapter", word(&adapter), "--cooldown-seconds", "0"]].concat()).ok();
}

const WORK: &str =
    "echo $TASK_ID >>ran.txt; while [ -e hold ]; do sleep 0.02; done; \"$TASK_BIN/checkpoint\" $TASK_ID --message done";

fn of<'a>(lines: &'a [Value], id: &str) -> &'a Value {
    lines.iter().find(|line| line["task_id"] == id).unwrap()
}

#[test]
fn a_detached_attempt_outlives_the_pass_and_is_told_once() {
    let workspace = Workspace::new();
    add_task(&workspace, "a", WORK);
    workspace.write("hold", "");
    // The pass's own shell ends, and its time-out kills what is left of its group.
    let line = workspace.shell("watch | timeout 20 resume --detach").ok().is_quiet().one();
    assert_eq!(line, json!({"signal": "started", "task_id": "a", "attempt": 1}));
    assert_eq!(workspace.run("watch", &["--explain", "a"]).ok().one()["reason"], "supervised");
    assert_eq!(workspace.shell("echo a | resume --detach").ok().one()["reason"], "attempt_alive");
    eventually("it runs", || workspace.lines("ran.txt") == ["a"]);
    fs::remove_file(workspace.path("hold")).unwrap();
    eventually("it is settled and told", || workspace.card_path(".outbox/a.1").exists());
    // Not told by a dry run, nor by a named task's resume; by one of several passes that come at once.
    workspace.shell("echo '[]' | resume --dry-run").ok();
    workspace.run("resume", &["a"]).ok();
    assert!(workspace.card_path(".outbox/a.1").exists());
    let lines = workspace.shell("for i in 1 2 3 4 5 6; do echo '[]' | resume & done; wait").ok().json();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!((&lines[0]["signal"], &lines[0]["outcome"]), (&json!("recovery"), &json!("progressed")));
    assert!(!workspace.card_path(".outbox/a.1").exists());
    assert_eq!(workspace.shell("watch | resume").ok().stdout(), "");
}

#[test]
fn a_reader_that_went_away_was_not_told() {
    let workspace = Workspace::new();
    fs::create_dir(workspace.card_path(".outbox")).unwrap();
    let line = json!({"signal": "recovery", "task_id": "a", "attempt": 1, "outcome": "progressed"});
    fs::write(workspace.card_path(".outbox/a.1"), format!("{line}\n")).unwrap();
    workspace.shell("echo '[]' | resume >/dev/full").exits(74);
    assert_eq!(workspace.shell("echo '[]' | resume").ok().one(), line);
    fs::write(workspace.card_path(".outbox/b.1"), "{").unwrap();
    workspace.shell("echo '[]' | resume").ok().complains("is not what a supervisor leaves");
}

#[test]
fn a_detached_pass_starts_no_more_than_its_jobs() {
    let workspace = Workspace::new();
    for id in ["a", "b", "c", "d", "e"] {
        add_task(&workspace, id, WORK);
    }
    workspace.write("hold", "");
    let lines = workspace.shell("watch | resume --detach --jobs 2").ok().json();
    assert_eq!(lines.iter().filter(|line| line["signal"] == "started").count(), 2, "{lines:?}");
    assert_eq!(lines.iter().filter(|line| line["reason"] == "jobs").count(), 3, "{lines:?}");
    fs::remove_file(workspace.path("hold")).unwrap();
    // By name: a temporary file of the second is no outcome yet.
    eventually("both are told", || [".outbox/a.1", ".outbox/b.1"].iter().all(|name| workspace.card_path(name).exists()));
    let lines = workspace.shell("watch | resume --detach --jobs 5").ok().json();
    assert_eq!(lines.iter().filter(|line| line["signal"] == "recovery").count(), 2, "{lines:?}");
    assert_eq!(lines.iter().filter(|line| line["signal"] == "started").count(), 3, "{lines:?}");
}

#[test]
fn a_pass_that_may_take_no_longer_stops_what_runs_and_starts_nothing_more() {
    let workspace = Workspace::new();
    add_task(&workspace, "a", "trap '' TERM; while [ -e hold ]; do sleep 0.02; done");
    add_task(&workspace, "b", "\"$TASK_BIN/checkpoint\" b --message m; while [ -e hold ]; do sleep 0.02; done");
    add_task(&workspace, "c", WORK);
    workspace.write("hold", "");
    let lines = workspace.shell("resume a b c --jobs 2 --budget-seconds 1 --grace-seconds 0.3").ok().json();
    let (a, b) = (of(&lines, "a"), of(&lines, "b"));
    assert_eq!((&a["outcome"], &b["outcome"], &of(&lines, "c")["reason"]), (&json!("budget"), &json!("budget"), &json!("budget")));
    assert!(a["detail"].as_str().unwrap().contains("--budget-seconds"), "{a}");
    assert_eq!((&workspace.card("a")["failures"], &workspace.card("a")["retry_count"]), (&json!(1), &json!(1)));
    assert_eq!((&workspace.card("b")["failures"], &workspace.card("b")["retry_count"]), (&json!(0), &json!(0)));
    assert!(workspace.lines("ran.txt").is_empty());
    workspace.run("resume", &["a", "--detach", "--budget-seconds", "5"]).exits(64).complains("--timeout-seconds");
}

#[test]
fn output_without_end_is_stopped() {
    let workspace = Workspace::new();
    add_task(&workspace, "a", "while :; do echo 0123456789012345678901234567890123456789; done");
    let line = workspace.run("resume", &["a", "--output-limit", "100000", "--grace-seconds", "0.2"]).ok().one();
    assert_eq!((&line["outcome"], &workspace.card("a")["outcome"]["kind"]), (&json!("output_limit"), &json!("output_limit")));
}
