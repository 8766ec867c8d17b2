//! `checkpoint`.

use serde_json::json;
use tests::{Workspace, minutes_from_now, word};

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    let args = ["create", "a", "--task-type", "t", "--title", "x", "--phase", "collect", "--now", &minutes_from_now(-60)];
    workspace.run("card", &args).ok();
    workspace
}

#[test]
fn artifacts_and_the_entry_go_to_the_phase_and_the_card_to_the_next() {
    let workspace = workspace();
    let args = ["a", "--phase", "analyze", "--next-phase", "render", "--message", "分析完成", "--artifact", "result=out/a.json"];
    let summary = workspace.run("checkpoint", &args).ok().is_quiet().one();
    assert_eq!((&summary["task_id"], &summary["revision"], &summary["phase"]), (&json!("a"), &json!(2), &json!("render")));
    let card = workspace.card("a");
    assert_eq!(card["artifacts"], json!({"phase_analyze": {"result": word(&workspace.path("out/a.json"))}}));
    assert_eq!((&card["checkpoints"][0]["phase"], &card["checkpoints"][0]["message"]), (&json!("analyze"), &json!("分析完成")));
    assert_eq!(card["last_checkpoint_at"], card["checkpoints"][0]["at"]);
    workspace.run("checkpoint", &["a", "--phase", "phase_x", "--artifact", "y=/y"]).ok();
    let card = workspace.card("a");
    assert_eq!((&card["phase"], &card["artifacts"]["phase_x"]["y"]), (&json!("phase_x"), &json!("/y")));
    workspace.run("checkpoint", &["--task-id", "a"]).ok();
    assert_eq!(workspace.card("a")["checkpoint_count"], 3);
}

#[test]
fn a_checkpoint_means_that_work_goes_on() {
    let workspace = workspace();
    for (before, args, after) in [
        ("pending", vec![], "running"),
        ("stalled", vec![], "running"),
        ("running", vec![], "running"),
        ("needs_attention", vec![], "needs_attention"),
        ("stalled", vec!["--status", "stalled"], "stalled"),
        ("running", vec!["--status", "completed"], "completed"),
        ("pending", vec!["--status", "completed"], "completed"),
        ("running", vec!["--status", "failed"], "failed"),
        ("running", vec!["--status", "needs_attention"], "needs_attention"),
    ] {
        let card = json!({"task_id": "b", "status": before, "created_at": minutes_from_now(-5), "not_before": minutes_from_now(1)});
        workspace.put_card("b", &card.to_string());
        let mut all = vec!["b", "--message", "m"];
        all.extend(&args);
        workspace.run("checkpoint", &all).ok();
        assert_eq!(workspace.card("b")["status"], after, "{before} {args:?}");
        if matches!(before, "pending" | "stalled") && after == "running" {
            assert_eq!(workspace.card("b")["not_before"], json!(null), "{before}");
        }
    }
    for status in ["completed", "failed", "cancelled"] {
        let card = json!({"task_id": "b", "status": status, "created_at": minutes_from_now(-5)});
        workspace.put_card("b", &card.to_string());
        workspace.run("checkpoint", &["b"]).exits(77).complains("never changes again");
        assert_eq!(workspace.card("b"), card);
    }
}

#[test]
fn steps_are_marked_and_unknown_ones_are_added_and_said() {
    let workspace = Workspace::new();
    workspace.run("card", &["create", "a", "--task-type", "t", "--title", "x", "--step", "one", "--step", "two"]).ok();
    workspace.run("checkpoint", &["a", "--step", "one", "--result", "fine", "--step", "two"]).ok().is_quiet();
    workspace.run("checkpoint", &["a", "--step", "three"]).ok().complains("a had no step \"three\": it is added");
    let steps = &workspace.card("a")["steps"];
    let expected = json!([{"name": "one", "status": "done", "result": "fine"}, {"name": "two", "status": "done"},
        {"name": "three", "status": "done"}]);
    assert_eq!(*steps, expected);
    assert_eq!(workspace.card("a")["status"], "running");
    workspace.run("checkpoint", &["a", "--result", "x"]).exits(64).complains("--result needs a --step before it");
}

#[test]
fn progress_resets_the_count_of_attempts_and_a_repeated_message_does_not() {
    let workspace = Workspace::new();
    let card = json!({"task_id": "a", "status": "running", "phase": "p", "created_at": minutes_from_now(-5), "retry_count": 2,
        "checkpoints": [{"phase": "p", "at": minutes_from_now(-5), "message": "1 of 3"}]});
    workspace.put_card("a", &card.to_string());
    workspace.run("checkpoint", &["a", "--message", "1 of 3"]).ok();
    assert_eq!(workspace.card("a")["retry_count"], 2);
    workspace.run("checkpoint", &["a", "--message", "2 of 3"]).ok();
    assert_eq!(workspace.card("a")["retry_count"], 0);
}

#[test]
fn a_superseded_attempt_changes_nothing() {
    let workspace = Workspace::new();
    let now = minutes_from_now(0);
    let host = workspace.shell("uname -n").stdout().trim().to_owned();
    let run = json!({"attempt": 3, "token": "new", "host": host, "pid": 1, "started_at": now, "charged": true});
    let card = json!({"task_id": "a", "status": "running", "phase": "p", "created_at": now, "attempt": 3, "run": run});
    workspace.put_card("a", &card.to_string());
    let write = |program: &str, args: &[&str], cookie: &str| {
        let mut command = workspace.command(program);
        command.args(args).env("TASK_ATTEMPT", cookie);
        workspace.finish(command, None)
    };
    for cookie in ["a/2/new", "a/2/old", "a/3/old"] {
        write("checkpoint", &["a", "--message", "late"], cookie).exits(77).complains("attempt");
        write("card", &["complete", "a"], cookie)
            .exits(77)
            .complains("was superseded by attempt 3: nothing is changed; stop this one");
        assert_eq!(workspace.card("a"), card, "{cookie}");
    }
    for (count, cookie) in ["a/3/new", "b/1/old", "nonsense"].into_iter().enumerate() {
        write("checkpoint", &["a", "--message", cookie], cookie).ok();
        assert_eq!(workspace.card("a")["checkpoint_count"], count + 1, "{cookie}");
    }
}

#[test]
fn a_long_message_is_cut_with_a_mark() {
    let workspace = workspace();
    workspace.run("checkpoint", &["a", "--message", &"长".repeat(5000)]).ok();
    let card = workspace.card("a");
    let message = card["checkpoints"][0]["message"].as_str().unwrap();
    assert!(message.len() <= 4096 && message.ends_with("… (cut)"), "{}", message.len());
}

#[test]
fn a_card_of_over_four_megabytes_is_not_written() {
    let workspace = Workspace::new();
    let text = format!(
        "{{\"task_id\":\"a\",\"status\":\"running\",\"created_at\":\"2026-11-30T01:00:00Z\",\"x\":\"{}\"}}",
        "x".repeat(4_194_000)
    );
    workspace.put_card("a", &text);
    workspace.run("checkpoint", &["a", "--message", &"m".repeat(1000)]).exits(65).complains("the limit is 4194304");
    assert_eq!(std::fs::read_to_string(workspace.card_path("a.json")).unwrap(), text);
}

#[test]
fn a_torn_temporary_file_of_a_killed_writer_is_no_obstacle() {
    let workspace = workspace();
    std::fs::write(workspace.card_path("a.json.tmp"), "{\"task_id\":").unwrap();
    workspace.run("checkpoint", &["a"]).ok();
    assert!(!workspace.card_path("a.json.tmp").exists());
}
