//! Between the claim and the start an earlier attempt has its grace. What people do in that time stands.

use std::process::Stdio;

use serde_json::{Value, json};
use tests::{Workspace, eventually};

use crate::supervision::{add_task, change, has_proc, holding, lines_of, run_of_a_dead_supervisor, start, stranger, token};

/// Claims, does this while a survivor is ended, and returns the line that is told.
fn after_the_claim(workspace: &Workspace, act: &str) -> Value {
    add_task(workspace, "a", "echo run >>ran.txt");
    let own = token();
    let mut survivor = stranger(workspace, "survivor", &[("TASK_ATTEMPT", &format!("a/1/{own}"))], Stdio::null());
    change(workspace, "a", &run_of_a_dead_supervisor(workspace, &own, 1));
    let resume = start(workspace, &["a", "--grace-seconds", "60"]);
    eventually("the survivor was asked to end", || !workspace.lines("signalled.txt").is_empty());
    assert_eq!(workspace.card("a")["attempt"], 2);
    workspace.shell(act).ok();
    survivor.kill();
    let mut lines = lines_of(resume);
    assert_eq!(lines.len(), 1, "{act}: {lines:?}");
    assert!(workspace.lines("ran.txt").is_empty(), "{act}: it was started");
    lines.remove(0)
}

#[test]
fn a_task_that_a_person_ended_is_not_started_nor_told_as_recovered() {
    if !has_proc() {
        return;
    }
    for (verb, status, signal, reason) in [
        ("complete", "completed", "skipped", Some("completed")),
        ("fail", "failed", "skipped", Some("failed")),
        ("cancel", "cancelled", "contained", None),
        ("block", "needs_attention", "needs_attention", Some("blocked")),
        ("approve", "stalled", "alert", None),
    ] {
        let workspace = holding();
        let line = after_the_claim(&workspace, &format!("card {verb} a"));
        assert_eq!((line["signal"].as_str(), line["reason"].as_str()), (Some(signal), reason), "{verb}: {line}");
        let card = workspace.card("a");
        assert_eq!((&card["status"], card.get("run")), (&json!(status), None), "{verb}");
        if matches!(verb, "block" | "approve") {
            assert_eq!((&card["retry_count"], &card["failures"]), (&json!(0), &json!(0)), "{verb}");
            assert_eq!((&card["outcome"]["kind"], &line["outcome"]), (&json!("stopped"), &json!("stopped")), "{verb}");
        }
    }
}

#[test]
fn an_adapter_that_anyone_may_write_by_now_is_not_executed() {
    if !has_proc() {
        return;
    }
    for (act, detail) in [
        ("chmod 777 a.sh", "a.sh: "),
        ("chmod 777 .", "a.sh: everyone may write its folder"),
        ("chmod 644 a.sh", "a.sh is not executable; run chmod +x on it"),
        ("rm a.sh; mkdir a.sh", "a.sh is no regular file"),
    ] {
        let workspace = holding();
        let line = after_the_claim(&workspace, act);
        assert_eq!((&line["signal"], &line["outcome"]), (&json!("alert"), &json!("failed")), "{act}: {line}");
        let shown = line["detail"].as_str().unwrap();
        assert!(shown.starts_with("cannot start /") && shown.contains(detail), "{act}: {line}");
        let card = workspace.card("a");
        assert_eq!((&card["status"], &card["retry_count"], &card["failures"]), (&json!("stalled"), &json!(1), &json!(1)));
    }
}
