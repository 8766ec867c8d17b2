//! What holds a task back: dependencies, manual phases, artifacts that are not as they were.

use std::fs;

use serde_json::{Value, json};
use tests::{Workspace, minutes_from_now, word};

fn chain(workspace: &Workspace, links: &[(&str, &[&str])]) {
    for (id, depends_on) in links {
        let mut args = vec!["create", id, "--task-type", "t", "--title", "x", "--allow-auto-resume"];
        depends_on.iter().for_each(|other| args.extend(["--depends-on", other]));
        args.extend(["--", "sh", "-c", "echo $TASK_ID >>ran.txt; [ ! -e fail.$TASK_ID ]"]);
        workspace.run("card", &args).ok();
    }
}

#[test]
fn a_circle_of_dependencies_is_named() {
    let workspace = Workspace::new();
    chain(&workspace, &[("a", &["b"]), ("b", &["a"]), ("c", &["a"]), ("d", &[])]);
    let lines = workspace.run("watch", &["--explain"]).ok().json();
    let of = |id: &str| lines.iter().find(|line| line["task_id"] == id).unwrap();
    assert_eq!(of("a")["cycle"], json!(["a", "b", "a"]));
    assert_eq!(of("b")["cycle"], json!(["b", "a", "b"]));
    assert_eq!(of("c")["cycle"], json!(["a", "b", "a"]));
    assert_eq!((&of("a")["reason"], &of("a")["waits_for"]), (&json!("waiting"), &json!(["b"])));
    assert_eq!(of("d").get("cycle"), None);
    workspace.run("card", &["update", "d", "--depends-on", "d"]).exits(64).complains("cannot wait for itself");
}

#[test]
fn a_chain_completes_pass_by_pass() {
    let workspace = Workspace::new();
    let ids = ["a", "b", "c", "d", "e"];
    chain(&workspace, &[("e", &["d"]), ("d", &["c"]), ("c", &["b"]), ("b", &["a"]), ("a", &[])]);
    for (pass, id) in ids.iter().enumerate() {
        assert_eq!(workspace.run("watch", &[]).ok().one()["signal"], "ready");
        assert_eq!(workspace.shell("watch | resume").ok().one()["task_id"], *id);
        assert_eq!(workspace.lines("ran.txt"), &ids[..=pass]);
    }
    assert_eq!(workspace.run("watch", &[]).ok().stdout(), "");
}

#[test]
fn a_failed_link_is_named_to_every_task_behind_it() {
    let workspace = Workspace::new();
    chain(&workspace, &[("a", &[]), ("b", &["a"]), ("c", &["b"]), ("d", &["c"]), ("e", &["d", "f"]), ("f", &[])]);
    workspace.run("card", &["cancel", "b"]).ok();
    let lines = workspace.run("watch", &[]).ok().json();
    for id in ["c", "d", "e"] {
        let line = lines.iter().find(|line| line["task_id"] == id).unwrap();
        assert_eq!((&line["signal"], &line["reason"]), (&json!("needs_attention"), &json!("dependency_failed")), "{line}");
        let remedy =
            if id == "c" { "go on without it: card update c --no-depends-on" } else { "see to the task between them first" };
        assert_eq!(line["detail"], format!("it depends on b, which is cancelled; {remedy}"));
    }
    fs::remove_file(workspace.card_path("f.json")).unwrap();
    workspace.run("card", &["update", "e", "--no-depends-on", "--depends-on", "f", "--depends-on", "a"]).ok();
    let lines = workspace.run("watch", &[]).ok().json();
    let line = lines.iter().find(|line| line["task_id"] == "e").unwrap();
    assert_eq!(
        (&line["reason"], &line["detail"]),
        (
            &json!("dependency_missing"),
            &json!(
                "it depends on f, and there is no such task; make it, or go on without it: card update e --no-depends-on --depends-on a"
            )
        )
    );
}

fn with_adapter(script: &str, more: &[&str]) -> Workspace {
    let workspace = Workspace::new();
    let adapter = workspace.write("adapter.sh", &format!("#!/bin/sh\n{script}\n"));
    let at = minutes_from_now(-45);
    let args = ["create", "a", "--task-type", "t", "--title", "x", "--phase", "collect", "--allow-auto-resume", "--now", &at];
    workspace.run("card", &[&args[..], &["--resume-adapter", word(&adapter)], more].concat()).ok();
    workspace
}

#[test]
fn an_attempt_that_moves_into_a_manual_phase_is_stopped_and_reported() {
    let workspace = with_adapter(
        "echo \"$TASK_PHASE\" >>ran.txt\n\
         [ \"$TASK_PHASE\" = send ] && { \"$TASK_BIN/card\" complete a --message sent; exit; }\n\
         \"$TASK_BIN/checkpoint\" a --phase collect --next-phase send --message collected\n\
         while [ -e hold ]; do sleep 0.02; done",
        &["--manual-phase", "send", "--meta", "pending_action=send mail to 40 people"],
    );
    workspace.write("hold", "");
    let line = workspace.shell("watch | resume --grace-seconds 0.5").ok().one();
    assert_eq!((&line["signal"], &line["reason"]), (&json!("needs_attention"), &json!("non_idempotent_phase_blocked")), "{line}");
    let card = workspace.card("a");
    assert_eq!((&card["status"], &card["outcome"]["kind"], &card["failures"]), (&json!("stalled"), &json!("stopped"), &json!(0)));
    let line = workspace.shell("watch | resume").ok().one();
    let detail = line["detail"].as_str().unwrap();
    assert!(
        line["reason"] == "non_idempotent_phase_blocked" && detail.ends_with("; pending action: send mail to 40 people"),
        "{line}"
    );
    assert_eq!(workspace.shell("card approve a | resume").ok().one()["outcome"], "completed");
    assert_eq!(workspace.lines("ran.txt"), ["collect", "send"]);
}

#[test]
fn an_attempt_that_ends_in_a_manual_phase_before_anybody_looks_is_reported_at_once_too() {
    for end in [
        "\"$TASK_BIN/checkpoint\" a --phase collect --next-phase send --message collected >&2",
        "echo '{\"message\": \"collected\", \"next_phase\": \"send\", \"continue\": true}'",
    ] {
        let script = "[ \"$TASK_PHASE\" = send ] && exec \"$TASK_BIN/card\" complete a --message sent\necho run >>ran.txt\n";
        // An answer moves it when it is over; a checkpoint may be seen by its supervisor, or not.
        let workspace = with_adapter(&format!("{script}{end}"), &["--manual-phase", "send"]);
        let line = workspace.shell("watch | resume").ok().one();
        let told = (&line["signal"], &line["reason"], &line["outcome"], &line["phase"]);
        let expected = (&json!("needs_attention"), &json!("non_idempotent_phase_blocked"), &json!("stopped"), &json!("send"));
        assert_eq!(told, expected, "{line}");
        let card = workspace.card("a");
        let kept = (&card["status"], &card["outcome"]["kind"], &card["failures"], &card["retry_count"]);
        assert_eq!(kept, (&json!("stalled"), &json!("stopped"), &json!(0), &json!(0)), "{card}");
        let line = workspace.run("watch", &[]).ok().one();
        assert_eq!(
            (&line["signal"], &line["reason"]),
            (&json!("needs_attention"), &json!("non_idempotent_phase_blocked")),
            "{line}"
        );
        assert_eq!(workspace.shell("card approve a | resume").ok().one()["outcome"], "completed");
        assert_eq!(workspace.lines("ran.txt"), ["run"]);
    }
}

#[test]
fn a_verified_artifact_that_changed_stops_an_attempt_before_anything_runs() {
    let workspace = with_adapter("echo run >>ran.txt; \"$TASK_BIN/checkpoint\" a --message \"$TASK_ATTEMPT\" >&2", &[]);
    fs::write(workspace.path("raw.json"), "[1,2,3]").unwrap();
    workspace.run("checkpoint", &["a", "--verified-artifact", "raw=raw.json", "--now", &minutes_from_now(-40)]).ok();
    let path = word(&workspace.path("raw.json")).to_owned();
    let card = workspace.card("a");
    assert_eq!(card["artifacts"]["phase_collect"]["raw"], path);
    // printf '[1,2,3]' | sha256sum
    let sum = "a615eeaee21de5179de080de8c3052c8da901138406ba71c38c032845f7d54f4";
    assert_eq!(card["artifact_digests"][&path], json!({"bytes": 7, "sha256": sum}));
    let resume = || workspace.shell("watch | resume").ok().one();
    fs::write(workspace.path("raw.json"), "[1,2,4]").unwrap();
    let line = resume();
    assert_eq!((&line["signal"], &line["reason"]), (&json!("needs_attention"), &json!("artifact_changed")));
    assert!(line["detail"].as_str().unwrap().contains("raw.json has another content"), "{line}");
    assert_eq!((&workspace.card("a")["failures"], &workspace.card("a")["retry_count"]), (&json!(0), &json!(0)));
    fs::write(workspace.path("raw.json"), "[1,2,3,4]").unwrap();
    assert!(workspace.run("card", &["block", "a"]).status() == Some(0) && workspace.lines("ran.txt").is_empty());
    fs::remove_file(workspace.path("raw.json")).unwrap();
    // Recorded anew, it is as it was; the person says go on.
    fs::write(workspace.path("raw.json"), "[]").unwrap();
    workspace.run("checkpoint", &["a", "--verified-artifact", "raw=raw.json"]).ok();
    workspace.run("card", &["approve", "a"]).ok();
    assert_eq!(resume()["outcome"], "progressed");
    // A word for the phase is no word for the file.
    fs::write(workspace.path("raw.json"), "[1]").unwrap();
    workspace.run("card", &["update", "a", "--manual-phase", "collect"]).ok();
    workspace.run("card", &["approve", "a"]).ok();
    assert_eq!(resume()["reason"], "artifact_changed");
    workspace.run("card", &["update", "a", "--no-manual-phase"]).ok();
    workspace.run("checkpoint", &["a", "--verified-artifact", "raw=raw.json"]).ok();
    workspace.run("card", &["approve", "a"]).ok();
    assert_eq!(resume()["outcome"], "progressed");
    // Missing. A person may say so once, too.
    fs::remove_file(workspace.path("raw.json")).unwrap();
    assert_eq!(workspace.run("resume", &["a", "--force"]).ok().one()["reason"], "artifact_missing");
    workspace.run("card", &["approve", "a"]).ok();
    assert_eq!(resume()["outcome"], "progressed");
    assert_eq!(workspace.lines("ran.txt").len(), 3);
    // A file that no artifact is any more holds nothing back.
    workspace.run("checkpoint", &["a", "--artifact", "raw=other.json"]).ok();
    assert_eq!(workspace.card("a")["artifact_digests"], json!({}));
    workspace.run("checkpoint", &["a", "--verified-artifact", "x=nowhere"]).exits(74).complains("No such file");
    workspace.run("checkpoint", &["a", "--verified-artifact", "x=."]).exits(74).complains("no regular file");
}

#[test]
fn a_task_that_is_pending_and_manual_needs_a_word_before_its_first_start() {
    let workspace = with_adapter(
        "echo run >>ran.txt; \"$TASK_BIN/card\" complete a >&2",
        &["--status", "pending", "--manual-phase", "collect"],
    );
    assert_eq!(workspace.shell("watch | resume").ok().one()["reason"], "non_idempotent_phase_blocked");
    let line = workspace.shell("card approve a | resume").ok().one();
    assert_eq!((&line["signal"], &line["outcome"]), (&json!("started"), &json!("completed")));
    let all: Vec<Value> = workspace.history("a");
    assert_eq!(all.iter().filter(|event| event["event"] == "claimed").count(), 1);
}
