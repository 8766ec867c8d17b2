//! How attempts begin and end: adapters that cannot be started, that leave something running, that complete their task themselves.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;
use tests::{Workspace, eventually, word};

use super::{
    HANG, WORK, add_task, change, has_proc, holding, is_alive, kill_by_pid, lines_of, run_of_a_dead_supervisor, start, stranger,
    token,
};

/// What cannot work is a person's, and nothing is claimed; what was found out by trying is a failed attempt.
#[test]
fn an_adapter_that_cannot_be_started_is_told_with_its_own_reason() {
    let cases = [
        ("chmod 644 a.sh", "adapter_missing", "a.sh is not executable; run chmod +x on it"),
        ("rm a.sh", "adapter_missing", "a.sh: No such file or directory"),
        ("rm a.sh; mkdir a.sh", "adapter_missing", "a.sh is no regular file"),
        ("rm a.sh; ln -s nowhere a.sh", "adapter_missing", "a.sh: No such file or directory"),
        ("chmod 777 a.sh", "adapter_insecure", "a.sh: "),
        ("chmod 777 .", "adapter_insecure", "a.sh: everyone may write its folder"),
    ];
    for (spoil, reason, detail) in cases {
        let workspace = Workspace::new();
        add_task(&workspace, "a", "echo run >>ran.txt");
        workspace.shell(spoil).ok();
        let before = workspace.card("a");
        for script in ["watch | resume", "resume a"] {
            let line = workspace.shell(script).ok().one();
            assert_eq!((&line["signal"], &line["reason"]), (&json!("needs_attention"), &json!(reason)), "{spoil}: {line}");
            assert!(line["detail"].as_str().unwrap().contains(detail), "{spoil}: {line}");
        }
        assert_eq!(workspace.card("a"), before, "{spoil}");
        assert!(workspace.lines("ran.txt").is_empty(), "{spoil}");
    }
    let cases = [
        ("#!/nowhere/sh\necho run >>ran.txt\n", "its first line names an interpreter that is not there: /nowhere/sh"),
        ("#!/bin/sh\r\necho run >>ran.txt\r\n", "its first line ends with a carriage return; save it with Unix line ends"),
        ("echo run >>ran.txt\n", "it is neither a program nor a script with a #! line"),
        ("", "it is neither a program nor a script with a #! line"),
    ];
    for (text, detail) in cases {
        let workspace = Workspace::new();
        add_task(&workspace, "a", "");
        let adapter = workspace.write("a.sh", text);
        let line = workspace.shell("watch | resume").ok().one();
        assert_eq!((&line["signal"], &line["outcome"]), (&json!("alert"), &json!("failed")), "{text:?}: {line}");
        let shown = line["detail"].as_str().unwrap();
        assert!(shown.starts_with(&format!("cannot start {}: ", word(&adapter))) && shown.contains(detail), "{text:?}: {line}");
        let card = workspace.card("a");
        assert_eq!((&card["status"], &card["retry_count"], &card["failures"]), (&json!("stalled"), &json!(1), &json!(1)));
        assert!(workspace.lines("ran.txt").is_empty(), "{text:?}");
    }
}

/// Between the claim and the start an earlier attempt has its grace; the adapter is deleted in that time.
#[test]
fn an_adapter_that_is_deleted_after_the_claim_is_a_failed_attempt() {
    if !has_proc() {
        return;
    }
    let workspace = holding();
    add_task(&workspace, "a", "echo run >>ran.txt");
    let own = token();
    let mut survivor = stranger(&workspace, "survivor", &[("TASK_ATTEMPT", &format!("a/1/{own}"))], Stdio::null());
    change(&workspace, "a", &run_of_a_dead_supervisor(&workspace, &own, 1));
    let resume = start(&workspace, &["a", "--grace-seconds", "30"]);
    eventually("the survivor was asked to end", || !workspace.lines("signalled.txt").is_empty());
    assert_eq!(workspace.card("a")["attempt"], 2);
    fs::remove_file(workspace.path("a.sh")).unwrap();
    survivor.kill();
    let lines = lines_of(resume);
    assert_eq!((&lines[0]["signal"], &lines[0]["outcome"]), (&json!("alert"), &json!("failed")), "{lines:?}");
    assert!(lines[0]["detail"].as_str().unwrap().ends_with("a.sh: No such file or directory"), "{lines:?}");
    let card = workspace.card("a");
    assert_eq!((&card["status"], &card["retry_count"], &card["failures"]), (&json!("stalled"), &json!(1), &json!(1)));
    assert_eq!(workspace.run("watch", &[]).ok().one()["reason"], "adapter_missing");
    assert!(workspace.lines("ran.txt").is_empty());
}

#[test]
fn what_keeps_the_output_after_a_good_end_is_not_waited_for_and_counts_as_alive() {
    let workspace = holding();
    let background = "sh -c 'echo $$ >worker.pid; exec sleep 120' & while [ ! -s worker.pid ]; do sleep 0.02; done";
    add_task(&workspace, "a", &format!("if [ ! -e again ]; then : >again; {background}; else {WORK}; fi"));
    let begun = Instant::now();
    let line = workspace.run("resume", &["a", "--grace-seconds", "60"]).ok().one();
    assert!(begun.elapsed() < Duration::from_secs(20), "it waited: {:?}", begun.elapsed());
    assert_eq!((&line["signal"], &line["outcome"]), (&json!("started"), &json!("background")));
    let worker = workspace.lines("worker.pid")[0].clone();
    assert!(!has_proc() || is_alive(&worker));
    assert_eq!(workspace.run("watch", &[]).ok().stdout(), "");
    assert_eq!(workspace.run("watch", &["--explain", "a"]).ok().one()["reason"], "alive");
    assert_eq!(workspace.run("resume", &["a", "--force"]).ok().one()["reason"], "attempt_alive");
    kill_by_pid(&worker);
    eventually("it is due", || workspace.run("watch", &[]).stdout().contains("attempt_died"));
    assert_eq!(workspace.shell("watch | resume").ok().one()["outcome"], "progressed");
}

#[test]
fn an_attempt_that_completes_its_task_itself_may_finish_its_own_work() {
    let workspace = holding();
    let complete = "\"$TASK_BIN/card\" complete a --message done >&2";
    add_task(
        &workspace,
        "a",
        &format!("trap 'echo TERM >>signalled.txt' TERM; {complete}; echo $$ >pid.txt; {HANG}; echo over >after.txt"),
    );
    let mut resume = start(&workspace, &["a"]);
    eventually("it is completed", || workspace.card("a")["status"] == "completed" && !workspace.lines("pid.txt").is_empty());
    let begun = Instant::now();
    eventually("its supervisor looked at the card more than once", || begun.elapsed() > Duration::from_millis(2500));
    assert!(resume.runs());
    fs::remove_file(workspace.path("hold")).unwrap();
    let lines = lines_of(resume);
    assert_eq!((&lines[0]["signal"], &lines[0]["outcome"]), (&json!("recovery"), &json!("completed")), "{lines:?}");
    assert_eq!((workspace.lines("after.txt"), workspace.lines("signalled.txt")), (vec!["over".to_owned()], vec![]));
    assert_eq!(workspace.shell("watch | resume").ok().stdout(), "");
}
