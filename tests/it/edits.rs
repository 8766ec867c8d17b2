//! Edits by people and programs: `card update`, `card put`, `checkpoint ID -`, and the predecessor's words.

use std::fs;

use serde_json::{Value, json};
use tests::{Workspace, minutes_from_now, rivals, word};

fn with_task() -> Workspace {
    let workspace = Workspace::new();
    let args = ["create", "a", "--task-type", "t", "--title", "x", "--phase", "collect", "--max-retries", "7", "--depends-on", "b"];
    workspace.run("card", &args).ok();
    workspace
}

#[test]
fn policies_are_set_and_taken_away() {
    let workspace = with_task();
    let adapter = workspace.write("adapter.sh", "#!/bin/sh\n");
    let update = |args: &[&str]| workspace.run("card", &[&["update", "a"], args].concat()).ok().one();
    let card = update(&[
        "--resume-adapter",
        word(&adapter),
        "--allow-auto-resume",
        "--stale-after-minutes",
        "2.5",
        "--max-failures",
        "4",
        "--timeout-seconds",
        "9",
        "--cooldown-seconds",
        "0",
        "--give-up-after-minutes",
        "1",
        "--manual-phase",
        "send",
        "--manual-phase",
        "pay",
        "--title",
        "月报",
        "--step",
        "one",
        "--context",
        "k=v",
        "--meta",
        "m=n",
        "--task-type",
        "u",
    ]);
    for (name, value) in [
        ("resume_adapter", json!(word(&adapter))),
        ("allow_auto_resume", json!(true)),
        ("stale_after_minutes", json!(2.5)),
        ("max_retries", json!(7)),
        ("max_failures", json!(4)),
        ("timeout_seconds", json!(9)),
        ("cooldown_seconds", json!(0)),
        ("give_up_after_minutes", json!(1)),
        ("manual_phases", json!(["send", "pay"])),
        ("title", json!("月报")),
        ("task_type", json!("u")),
        ("steps", json!([{"name": "one", "status": "pending"}])),
        ("context", json!({"k": "v"})),
        ("metadata", json!({"depends_on": ["b"], "m": "n"})),
        ("revision", json!(2)),
    ] {
        assert_eq!(card[name], value, "{name}");
    }
    // Nothing to change is nothing written.
    assert_eq!(update(&["--title", "月报", "--step", "one"])["revision"], 2);
    let card = update(&[
        "--no-resume-adapter",
        "--no-allow-auto-resume",
        "--no-stale-after-minutes",
        "--no-max-retries",
        "--no-max-failures",
        "--no-timeout-seconds",
        "--no-cooldown-seconds",
        "--no-give-up-after-minutes",
        "--no-manual-phase",
        "--no-depends-on",
    ]);
    let names: Vec<&str> = card.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "schema_version",
        "revision",
        "task_id",
        "task_type",
        "title",
        "created_at",
        "updated_at",
        "status",
        "phase",
        "allow_auto_resume",
        "metadata",
        "context",
        "steps",
    ];
    assert_eq!(names, expected);
    assert_eq!((&card["allow_auto_resume"], &card["metadata"]), (&json!(false), &json!({"m": "n"})));
    assert_eq!(update(&["--manual-phase", "x"])["manual_phases"], json!(["x"]));
    assert_eq!(update(&["--manual-phase", "y"])["manual_phases"], json!(["x", "y"]));
    assert_eq!(
        update(&["--manual-phase", "z", "--no-safe-to-retry", "--manual-phase", "z"])["manual_phases"],
        json!(["x", "y", "z", "collect"])
    );
    assert_eq!(update(&["--no-manual-phase", "--manual-phase", "x"])["manual_phases"], json!(["x"]));
    assert_eq!(workspace.history("a")[1]["event"], "updated");
    workspace.run("card", &["update", "a", "--no-title"]).exits(64).complains("--no-title");
    workspace.run("card", &["update", "a", "--status", "completed"]).ok();
    workspace.run("card", &["update", "a", "--title", "z"]).exits(77).complains("never changes again");
}

#[test]
fn a_checkpoint_changes_policies_in_the_same_write() {
    let workspace = with_task();
    workspace
        .run("checkpoint", &["a", "--message", "m", "--stale-after-minutes", "90", "--no-max-retries", "--manual-phase", "send"])
        .ok();
    let card = workspace.card("a");
    assert_eq!((&card["revision"], &card["stale_after_minutes"], card.get("max_retries")), (&json!(2), &json!(90), None));
    assert_eq!(card["manual_phases"], json!(["send"]));
    workspace.run("checkpoint", &["a", "--frob"]).exits(64).complains("--frob");
}

#[test]
fn a_checkpoint_is_read_from_stdin_in_the_shape_of_an_answer() {
    let workspace = with_task();
    let object = r#"{"phase": "collect", "next_phase": "analyze", "message": "第一步", "artifacts": {"raw": "raw.json"},
        "steps": [{"name": "one", "result": "fine"}, {"name": "two", "status": "pending"}], "context": {"n": 1.50}, "metadata": {"k": [1]}}"#;
    let summary = workspace.run_with("checkpoint", &["a", "-", "--meta", "l=m"], object).exits(0).one();
    assert_eq!((&summary["phase"], &summary["revision"]), (&json!("analyze"), &json!(2)));
    let card = workspace.card("a");
    assert_eq!(card["artifacts"]["phase_collect"]["raw"], word(&workspace.path("raw.json")));
    assert_eq!(
        (card["context"]["n"].to_string(), &card["metadata"]["k"], &card["metadata"]["l"]),
        ("1.50".into(), &json!([1]), &json!("m"))
    );
    assert_eq!(card["steps"][0], json!({"name": "one", "status": "done", "result": "fine"}));
    // An option says it last.
    workspace.run_with("checkpoint", &["a", "-", "--phase", "render"], r#"{"phase":"x","message":"y"}"#).ok();
    assert_eq!(workspace.card("a")["phase"], "render");
    let wait = r#"{"status":"stalled","retry_after_seconds":3600,"reason":"quota"}"#;
    workspace.run_with("checkpoint", &["a", "-"], wait).ok();
    assert_eq!(workspace.card("a")["status"], "stalled");
    assert!(workspace.card("a")["not_before"].as_str().unwrap() > minutes_from_now(59).as_str());
    let asks = r#"{"status":"needs_attention","reason":"which_one","message":"A or B?"}"#;
    workspace.run_with("checkpoint", &["a", "-"], asks).ok();
    assert_eq!(workspace.card("a")["attention"]["reason"], "which_one");
    let before = workspace.card("a");
    for (bad, complaint) in [
        ("", "no JSON object"),
        ("[]", "no JSON object"),
        ("{\"phase\":7}", "standard input's phase is 7"),
        ("{\"phase\":\"a\"} x", "no JSON object"),
        ("{\"status\":\"finished\"}", "input's status is \"finished\"; running, stalled,"),
        ("{\"revision\":3}", "card put takes whole cards"),
    ] {
        workspace.run_with("checkpoint", &["a", "-"], bad).exits(65).complains(complaint);
    }
    assert_eq!(workspace.card("a"), before);
}

#[test]
fn put_takes_a_whole_card_if_nobody_wrote_it_since() {
    let workspace = with_task();
    let mut card = workspace.card("a");
    card["title"] = "new".into();
    card["x"] = json!({"y": [1, 2]});
    let put = |card: &Value| workspace.run_with("card", &["put", "a"], &card.to_string());
    assert_eq!(put(&card).exits(0).one()["revision"], 2);
    assert_eq!(workspace.card("a")["x"], json!({"y": [1, 2]}));
    put(&card).exits(75).complains("a moved: revision 1 was given, it is 2 now; read it again");
    let current = workspace.card("a");
    let changed = |name: &str, value: Value| {
        let mut card = current.clone();
        card[name] = value;
        card
    };
    for (card, code, complaint) in [
        (changed("status", "pending".into()), 77, "cannot become pending"),
        (changed("attempt", 5.into()), 77, "attempt belongs to resume"),
        (
            changed("run", json!({"attempt": 1, "token": "t", "host": "h", "pid": 1, "started_at": "2026-11-30T01:00:00Z"})),
            77,
            "run belongs",
        ),
        (changed("task_id", "b".into()), 65, "task_id is \"b\""),
        (changed("max_retries", "3".into()), 65, "no card of a"),
        (changed("x", "x".repeat(4 << 20).into()), 65, "larger than 4194304"),
    ] {
        put(&card).exits(code).complains(complaint);
    }
    workspace.run_with("card", &["put", "a"], "{").exits(65).complains("no card of a");
    workspace.run_with("card", &["put", "nobody"], &current.to_string().replace("\"a\"", "\"nobody\"")).exits(66);
    assert_eq!(workspace.card("a"), current);
    assert_eq!(put(&current).exits(0).one()["revision"], 2, "nothing changed, nothing written");
    let live = json!({"attempt": 1, "token": "t", "host": "h", "pid": 1, "started_at": "2026-11-30T01:00:00Z"});
    let mut running = current.clone();
    running["attempt"] = 1.into();
    running["run"] = live;
    workspace.put_card("a", &running.to_string());
    running["status"] = "completed".into();
    assert_eq!(put(&running).exits(0).one().get("run"), None);
    put(&workspace.card("a")).exits(77).complains("never changes again");
}

/// A quick sample; `make proof` makes ten thousand calls.
#[test]
fn no_accepted_change_is_lost_and_every_refused_one_was_stale() {
    let (accepted, refused) = rivals::compete(800, |workspace, id| workspace.run("checkpoint", &[id, "--message", "m"])).unwrap();
    assert!(accepted > 0 && refused > 0, "{accepted} accepted, {refused} refused");
}

#[test]
fn the_predecessors_words_are_accepted() {
    let workspace = Workspace::new();
    let args = [
        "create",
        "a",
        "--task-type",
        "t",
        "--title",
        "x",
        "--phase",
        "collect",
        "--mode",
        "batch",
        "--notes",
        "by hand",
        "--owner-skill",
        "report",
        "--resume-command",
        "python3 'a b.py' --x=\"1 2\" \\$HOME",
        "--no-safe-to-retry",
    ];
    let card = workspace.run("card", &args).exits(0).one();
    assert_eq!((&card["mode"], &card["notes"], &card["owner_skill"]), (&json!("batch"), &json!("by hand"), &json!("report")));
    assert_eq!(card["resume_argv"], json!(["python3", "a b.py", "--x=1 2", "$HOME"]));
    assert_eq!((&card["status"], &card["manual_phases"]), (&json!("pending"), &json!(["collect"])));
    assert_eq!(workspace.run("card", &["update", "a", "--safe-to-retry"]).ok().one()["manual_phases"], json!([]));
    workspace.run("checkpoint", &["a", "--phase", "send", "--no-safe-to-retry", "--notes", "n"]).ok();
    assert_eq!((&workspace.card("a")["manual_phases"], &workspace.card("a")["notes"]), (&json!(["send"]), &json!("n")));
    workspace
        .run("card", &["update", "a", "--resume-command", "make 'all"])
        .exits(64)
        .complains("has a quote or a backslash that does not end");
    workspace.run("card", &["update", "a", "--resume-command", " "]).exits(64).complains("the command is empty");
    let card = workspace.run("card", &["update", "a", "--no-resume-command"]).ok().one();
    assert!(card.get("resume_argv").is_none() && card.get("cwd").is_none() && card.get("path").is_none());
    workspace.run("card", &["block", "a"]).ok();
}

/// A card as the Python predecessor wrote it, through its whole life.
#[test]
fn a_predecessors_card_lives_on_without_losing_a_field() {
    let workspace = Workspace::new();
    workspace.write(
        "resume_it.sh",
        "#!/bin/sh\necho \"$TASK_PHASE\" >>ran.txt\necho '{\"next_phase\":\"analyze\",\"message\":\"resumed\"}'\n",
    );
    let card = format!(
        r#"{{
  "id": "legacy_1",
  "task_type": "report",
  "title": "\u6708\u62a5",
  "status": "running",
  "phase": "collect",
  "created_at": "2026-11-30T09:00:00+08:00",
  "updated_at": "2026-11-30T09:05:00+08:00",
  "last_checkpoint_at": "2026-11-30T09:05:00",
  "meta": {{"owner": "\u7231\u4e3d\u4e1d", "ratio": 1.10}},
  "history": [{{"at": "2026-11-30T09:00:00+08:00", "event": "created"}}],
  "artifacts": {{"raw": "/tmp/raw.json"}},
  "watchdog": {{"alerts": 2, "last": null}},
  "allow_auto_resume": true,
  "give_up_after_minutes": 0,
  "resume_command_argv": ["sh", "{}"],
  "safe_to_retry": true,
  "max_retries": 2
}}
"#,
        workspace.path("resume_it.sh").display()
    );
    workspace.put_card("legacy_1", &card);
    let late = ["--now", "2026-11-30T18:00:00+08:00"];
    assert_eq!(workspace.run("card", &["list"]).ok().is_quiet().one()["id"], "legacy_1");
    assert_eq!(workspace.run("card", &["show", "legacy_1"]).ok().one()["meta"]["ratio"].to_string(), "1.10");
    // A plain command of which only a person knows how long it may be silent.
    assert_eq!(workspace.run("watch", &[&["--explain", "legacy_1"], &late[..]].concat()).ok().one()["reason"], "healthy");
    workspace
        .run(
            "checkpoint",
            &["legacy_1", "--message", "第二步", "--now", "2026-11-30T09:10:00+08:00", "--stale-after-minutes", "30"],
        )
        .ok();
    let after = fs::read_to_string(workspace.card_path("legacy_1.json")).unwrap();
    assert!(
        after.contains(r#""title": "\u6708\u62a5""#) && after.contains(r#""created_at": "2026-11-30T09:00:00+08:00""#),
        "{after}"
    );
    let card = workspace.card("legacy_1");
    assert_eq!((&card["task_id"], card.get("id"), card.get("meta")), (&json!("legacy_1"), None, None));
    assert_eq!((&card["metadata"]["owner"], card["metadata"]["ratio"].to_string()), (&json!("爱丽丝"), "1.10".to_owned()));
    assert_eq!(
        (&card["artifacts"], &card["watchdog"]),
        (&json!({"phase_collect": {"raw": "/tmp/raw.json"}}), &json!({"alerts": 2, "last": null}))
    );
    assert_eq!(card["history"][0]["event"], "created");
    let notes: Vec<String> = workspace
        .history("legacy_1")
        .iter()
        .filter(|line| line["event"] == "adopted")
        .map(|line| line["detail"].to_string())
        .collect();
    assert!(notes.len() == 1 && notes[0].contains("last_checkpoint_at 2026-11-30T09:05:00 had no offset"), "{notes:?}");
    let script = format!("watch --now {0} | resume --now {0}", late[1]);
    assert_eq!(workspace.shell(&script).ok().one()["outcome"], "completed");
    assert_eq!(workspace.lines("ran.txt"), ["collect"]);
    for name in ["history", "watchdog", "metadata", "artifacts", "safe_to_retry", "resume_command_argv"] {
        assert_eq!(workspace.card("legacy_1")[name], card[name], "{name}");
    }

    let blocked =
        r#"{"id":"b","status":"blocked","phase":"send","created_at":"2026-11-30T09:00:00+08:00","safe_to_retry":false,"x":[1]}"#;
    workspace.put_card("b", blocked);
    assert_eq!(workspace.run("watch", &[]).ok().one()["reason"], "blocked");
    assert_eq!(workspace.run("card", &["list", "--status", "needs_attention"]).ok().one()["id"], "b");
    let card = workspace.run("card", &["update", "b", "--manual-phase", "pay"]).ok().one();
    assert_eq!(card["manual_phases"], json!(["send", "pay"]));
    assert_eq!(workspace.run("card", &["update", "b", "--no-manual-phase"]).ok().one()["manual_phases"], json!([]));
    let card = workspace.run("card", &["complete", "b"]).ok().one();
    assert_eq!((&card["status"], &card["x"], &card["safe_to_retry"]), (&json!("completed"), &json!([1]), &json!(false)));
    workspace.put_card("d", r#"{"id":"d","status":"done"}"#);
    assert_eq!(workspace.run("card", &["complete", "d"]).ok().one()["status"], "completed");
    assert_eq!(workspace.card("d")["status"], "done", "nothing was written");
    assert_eq!(workspace.run("watch", &["--explain", "d"]).ok().one()["reason"], "completed");
}
