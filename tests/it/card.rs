//! `card`.

use serde_json::json;
use tests::{Workspace, minutes_from_now, word};

fn create<'a>(workspace: &'a Workspace, args: &[&str]) -> tests::Ran<'a> {
    let mut all = vec!["create", "--task-type", "report", "--title", "Report on 人工智能"];
    all.extend(args);
    workspace.run("card", &all)
}

#[test]
fn create_writes_what_was_asked_for_and_nothing_else() {
    let workspace = Workspace::new();
    let made = create(
        &workspace,
        &[
            "--task-id",
            "report_1",
            "--phase",
            "collect",
            "--allow-auto-resume",
            "--stale-after-minutes",
            "0.5",
            "--max-retries",
            "2",
            "--max-failures",
            "9",
            "--timeout-seconds",
            "60",
            "--cooldown-seconds",
            "1.5",
            "--give-up-after-minutes",
            "10",
            "--manual-phase",
            "deliver",
            "--step",
            "one",
            "--step",
            "two",
            "--depends-on",
            "other",
            "--artifact",
            "raw=raw.json",
            "--meta",
            "owner=alice",
            "--context",
            "k=v=w",
        ],
    );
    let card = made.ok().one();
    assert_eq!(card, workspace.card("report_1"));
    let at = &card["created_at"];
    let raw = workspace.path("raw.json");
    let expected = json!({"schema_version": 1, "revision": 1, "task_id": "report_1", "task_type": "report", "title": "Report on 人工智能",
        "created_at": at, "updated_at": at, "status": "running", "phase": "collect", "allow_auto_resume": true,
        "stale_after_minutes": 0.5, "max_retries": 2, "max_failures": 9, "timeout_seconds": 60, "cooldown_seconds": 1.5,
        "give_up_after_minutes": 10, "manual_phases": ["deliver"], "artifacts": {"phase_collect": {"raw": word(&raw)}},
        "metadata": {"owner": "alice", "depends_on": ["other"]}, "context": {"k": "v=w"},
        "steps": [{"name": "one", "status": "pending"}, {"name": "two", "status": "pending"}]});
    assert_eq!(card, expected);
    made.complains("allows auto-resume but has no adapter and no command");
}

#[test]
fn create_refuses_an_id_that_exists_and_changes_nothing() {
    let workspace = Workspace::new();
    create(&workspace, &["one"]).ok().is_quiet();
    let before = workspace.card("one");
    create(&workspace, &["one", "--phase", "other"]).exits(73).complains("card: task one exists already");
    assert_eq!(workspace.card("one"), before);
    std::fs::create_dir(workspace.card_path("archive")).unwrap();
    std::fs::rename(workspace.card_path("one.json"), workspace.card_path("archive/one.json")).unwrap();
    create(&workspace, &["one"]).exits(73).complains("archive/one.json");
}

#[test]
fn create_finds_a_free_id_from_type_and_time() {
    let workspace = Workspace::new();
    let now = ["--now", "2026-11-30T09:00:00+08:00"];
    assert_eq!(create(&workspace, &now).ok().one()["task_id"], "report-20261130T010000Z");
    assert_eq!(create(&workspace, &now).ok().one()["task_id"], "report-20261130T010000Z-2");
    let odd = workspace.run("card", &["create", "--task-type", "月报 a/b", "--title", "x", "--now", now[1]]);
    assert_eq!(odd.ok().one()["task_id"], "task---a-b-20261130T010000Z");
}

#[test]
fn a_command_is_kept_as_words_with_its_folder_and_path() {
    let workspace = Workspace::new();
    let card = create(&workspace, &["build", "--", "sh", "-c", "echo \"$1\"", "--now", "a b"]).ok().one();
    assert_eq!(card["resume_argv"], json!(["sh", "-c", "echo \"$1\"", "--now", "a b"]));
    assert_eq!(card["cwd"], json!(workspace.path("")).as_str().unwrap().trim_end_matches('/'));
    assert_eq!((&card["status"], &card["path"]), (&json!("pending"), &json!("/usr/local/bin:/usr/bin:/bin")));
    create(&workspace, &["x", "--"]).exits(64).complains("no command after --");
    create(&workspace, &["y", "--", "no-such-program"]).ok().complains("command no-such-program is not found");
}

#[test]
fn a_missing_or_distrusted_adapter_is_warned_of() {
    let workspace = Workspace::new();
    create(&workspace, &["one", "--resume-adapter", "nowhere.sh"]).ok().complains("could not be resumed now: ");
    assert_eq!(workspace.card("one")["resume_adapter"], word(&workspace.path("nowhere.sh")));
    let adapter = workspace.write("adapter.sh", "#!/bin/sh\n");
    create(&workspace, &["two", "--resume-adapter", "adapter.sh"]).ok().is_quiet();
    workspace.shell("chmod 777 adapter.sh").ok();
    create(&workspace, &["three", "--resume-adapter", word(&adapter)]).ok().complains("everyone may write it");
}

#[test]
fn decisions_end_a_task_once() {
    let workspace = Workspace::new();
    for (verb, status) in [("complete", "completed"), ("fail", "failed"), ("cancel", "cancelled")] {
        create(&workspace, &[verb]).ok();
        let card = workspace.run("card", &[verb, verb, "--message", "so it is", "--artifact", "out=/tmp/out"]).ok().one();
        assert_eq!((&card["status"], &card["revision"]), (&json!(status), &json!(2)));
        assert_eq!(card["checkpoints"][0]["message"], "so it is");
        workspace.run("card", &[verb, verb]).ok().complains(&format!("{verb} is {status} already: nothing is changed"));
        for other in ["complete", "fail", "block", "cancel", "approve"] {
            if other != verb {
                workspace.run("card", &[other, verb]).exits(77).complains("never changes again");
            }
        }
        assert_eq!(workspace.card(verb)["revision"], 2);
    }
}

#[test]
fn block_and_approve() {
    let workspace = Workspace::new();
    create(&workspace, &["one", "--phase", "send", "--now", &minutes_from_now(-10)]).ok();
    let blocked = workspace.run("card", &["block", "one", "--reason", "which_account", "--detail", "A or B?"]).ok().one();
    assert_eq!(blocked["status"], "needs_attention");
    assert_eq!((&blocked["attention"]["reason"], &blocked["attention"]["detail"]), (&json!("which_account"), &json!("A or B?")));
    let approved = workspace.run("card", &["approve", "one", "--meta", "account=A"]).ok().one();
    assert_eq!(
        (&approved["status"], &approved["permit"], &approved["attention"]),
        (&json!("running"), &json!("send"), &json!(null))
    );
    assert_eq!(approved["metadata"]["account"], "A");
    workspace.run("card", &["block", "one", "--message", "why"]).ok();
    assert_eq!(workspace.card("one")["attention"]["reason"], "blocked");
    assert_eq!(workspace.card("one")["attention"]["detail"], "why");
}

#[test]
fn a_pending_task_is_not_completed_by_a_slip() {
    let workspace = Workspace::new();
    create(&workspace, &["one", "--status", "pending"]).ok();
    workspace.run("card", &["complete", "one"]).exits(77).complains("is pending: nothing was done yet");
    workspace.run("card", &["cancel", "one"]).ok();
}

#[test]
fn list_filters_and_names_what_it_cannot_read() {
    let workspace = Workspace::new();
    create(&workspace, &["a"]).ok();
    create(&workspace, &["b", "--status", "pending"]).ok();
    workspace.run("card", &["create", "c", "--task-type", "mail", "--title", "x"]).ok();
    let ids = |args: &[&str]| -> Vec<String> {
        let mut all = vec!["list"];
        all.extend(args);
        workspace.run("card", &all).json().iter().map(|card| card["task_id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&[]), ["a", "b", "c"]);
    assert_eq!(ids(&["--status", "pending"]), ["b"]);
    assert_eq!(ids(&["--status", "pending", "--status", "running", "--task-type", "report"]), ["a", "b"]);
    workspace.put_card("broken", "{");
    let listed = workspace.run("card", &["list"]);
    listed.exits(65).complains("the card of broken is not valid");
    assert_eq!(listed.json().len(), 3);
}

#[test]
fn show_and_log() {
    let workspace = Workspace::new();
    create(&workspace, &["a", "--status", "pending"]).ok();
    assert_eq!(workspace.run("card", &["show", "a"]).ok().one(), workspace.card("a"));
    workspace.run("card", &["cancel", "a", "--message", "no longer needed"]).ok();
    let log = workspace.run("card", &["log", "a"]).ok().json();
    let events: Vec<_> = log.iter().map(|line| (line["event"].as_str().unwrap(), line["revision"].as_u64().unwrap())).collect();
    assert_eq!(events, [("created", 1), ("cancelled", 2)]);
    assert_eq!(log[1]["message"], "no longer needed");
    for verb in ["show", "log", "complete"] {
        workspace.run("card", &[verb, "nobody"]).exits(66).complains("no task nobody");
    }
    assert!(!workspace.card_path(".locks/nobody").exists());
}

#[test]
fn a_history_that_was_torn_or_lost_lines_says_so() {
    let workspace = Workspace::new();
    create(&workspace, &["a"]).ok();
    workspace.run("checkpoint", &["a", "--message", "one"]).ok();
    workspace.run("checkpoint", &["a", "--message", "two"]).ok();
    let path = workspace.card_path("history/a.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let cut = text.find("\"one\"").unwrap();
    std::fs::write(&path, &text[..cut]).unwrap();
    workspace.run("checkpoint", &["a", "--message", "three"]).ok();
    let events: Vec<_> = workspace.history("a").iter().map(|line| line["event"].as_str().unwrap().to_owned()).collect();
    assert_eq!(events, ["created", "history_healed", "history_gap", "checkpoint"]);
    assert_eq!(workspace.history("a")[2]["detail"], "revisions 2 to 3 are missing");
}

#[test]
fn an_end_that_the_history_lost_is_a_noted_gap_when_the_command_is_repeated() {
    let workspace = Workspace::new();
    create(&workspace, &["a"]).ok();
    let path = workspace.card_path("history/a.jsonl");
    let killed_before_the_history = std::fs::read(&path).unwrap();
    workspace.run("card", &["complete", "a"]).ok();
    std::fs::write(&path, killed_before_the_history).unwrap();
    for _ in 0..2 {
        workspace.run("card", &["complete", "a"]).ok();
        let history = workspace.history("a");
        assert_eq!(history.len(), 2, "{history:?}");
        assert_eq!(
            (&history[1]["event"], &history[1]["revision"], &history[1]["detail"]),
            (&json!("history_gap"), &json!(2), &json!("revisions 2 to 2 are missing"))
        );
    }
}

#[test]
fn unknown_fields_keep_their_place_through_a_change() {
    let workspace = Workspace::new();
    let before = "{\n  \"task_id\": \"a\",\n  \"x\": [1.10, {\"y\": 123456789012345678901234567890}],\n  \"status\": \"running\",\n  \"revision\": 7,\n  \
                  \"created_at\": \"2026-11-30T01:00:00Z\",\n  \"updated_at\": \"2026-11-30T01:00:00Z\",\n  \"z\": null\n}\n";
    workspace.put_card("a", before);
    workspace.run("card", &["block", "a", "--now", "2026-11-30T02:00:00Z"]).ok();
    let after = std::fs::read_to_string(workspace.card_path("a.json")).unwrap();
    assert!(after.contains("1.10,") && after.contains("\"y\": 123456789012345678901234567890"), "{after}");
    let names: Vec<_> = workspace.card("a").as_object().unwrap().keys().cloned().collect();
    assert_eq!(names, ["task_id", "x", "status", "revision", "created_at", "updated_at", "z", "attention"]);
}
