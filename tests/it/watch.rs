//! `watch`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};
use tests::{Workspace, minutes_from_now};

/// A task that is silent, and the lines of the other cards.
fn with_silent_task() -> Workspace {
    let workspace = Workspace::new();
    let adapter = workspace.write("adapter.sh", "#!/bin/sh\n");
    let args = [
        "create",
        "silent",
        "--task-type",
        "report",
        "--title",
        "报告",
        "--phase",
        "collect",
        "--allow-auto-resume",
        "--now",
        &minutes_from_now(-45),
        "--resume-adapter",
        tests::word(&adapter),
    ];
    workspace.run("card", &args).ok();
    workspace
}

fn of<'a>(lines: &'a [Value], id: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["task_id"] == id).collect()
}

#[test]
fn the_lines_have_the_fields_that_readers_rely_on() {
    let workspace = with_silent_task();
    let at = workspace.card("silent")["created_at"].clone();
    workspace.run("card", &["create", "go", "--task-type", "t", "--title", "x", "--allow-auto-resume", "--", "true"]).ok();
    workspace.run("card", &["create", "stop", "--task-type", "t", "--title", "x", "--phase", "send"]).ok();
    workspace.run("card", &["block", "stop", "--reason", "which_one", "--detail", "A or B?"]).ok();
    let since = workspace.card("stop")["attention"]["since"].clone();
    let expected = [
        json!({"signal": "ready", "task_id": "go", "phase": ""}),
        json!({"signal": "alert", "task_id": "silent", "task_type": "report", "title": "报告", "phase": "collect", "status": "running",
            "reason": "silent", "stale_for_minutes": 45, "retry_count": 0, "max_retries": 3}),
        json!({"signal": "needs_attention", "task_id": "stop", "phase": "send", "reason": "which_one", "detail": "A or B?",
            "blocked_since": since, "next": "card approve stop"}),
    ];
    assert_eq!(workspace.run("watch", &[]).ok().is_quiet().json(), expected);
    workspace.run("checkpoint", &["silent", "--now", at.as_str().unwrap()]).ok();
    assert_eq!(workspace.run("watch", &[]).json()[1]["last_checkpoint"], at);
}

/// A folder that is large enough for several threads.
#[test]
fn in_a_large_folder_the_lines_come_in_the_order_of_the_names_and_none_is_missing() {
    let workspace = with_silent_task();
    let silent = workspace.card("silent");
    let mut expected = vec!["silent".to_owned()];
    for number in 0..5000 {
        let id = format!("t{:04}", (number * 1_237) % 5_000);
        let mut card = silent.clone();
        card["task_id"] = id.as_str().into();
        match number % 10 {
            0 => expected.push(id.clone()),
            // What is broken is read again, and told last.
            1 if number % 1_000 == 1 => card["status"] = "sleeping".into(),
            _ => card["status"] = "completed".into(),
        }
        workspace.put_card(&id, &card.to_string());
    }
    expected.sort();
    let lines = workspace.run("watch", &[]).ok().is_quiet().json();
    let (broken, due): (Vec<&Value>, Vec<&Value>) = lines.iter().partition(|line| line["reason"] == "card_invalid");
    let ids: Vec<&str> = due.iter().filter_map(|line| line["task_id"].as_str()).collect();
    assert_eq!((ids, broken.len()), (expected.iter().map(String::as_str).collect(), 5));
    assert_eq!(lines[lines.len() - 5..].iter().collect::<Vec<_>>(), broken);
    assert_eq!(workspace.run("watch", &["--explain"]).ok().json().len(), 5001);
    // Whoever has read enough ends it.
    assert_eq!(workspace.shell("watch | head -n 1").ok().is_quiet().one()["task_id"], "silent");
}

#[test]
fn formats_and_exit_status() {
    let workspace = with_silent_task();
    assert_eq!(workspace.run("watch", &["--format", "ids"]).ok().stdout(), "silent\n");
    let text = workspace.run("watch", &["--format", "text"]).ok().stdout();
    let expected = "silent: due: no sign of life for 45 min [silent]\n    报告 · phase collect · retries 0/3 · no checkpoint yet · next: resume silent\n";
    assert_eq!(text, expected);
    let report = workspace.run("watch", &["--report"]).ok().one();
    assert_eq!(report["alerts"][0]["task_id"], "silent");
    assert_eq!(report.as_object().unwrap().len(), 1);
    workspace.run("watch", &["--exit-status"]).ok();
    workspace.run("card", &["block", "silent"]).ok();
    workspace.run("watch", &["--exit-status"]).exits(1);
    let report = workspace.run("watch", &["--report"]).ok().one();
    assert_eq!((&report["needs_attention"], report.as_object().unwrap().len()), (&report["active_needs_attention"], 2));
    assert_eq!(workspace.run("watch", &["--format", "ids"]).ok().stdout(), "");
    assert_eq!(workspace.run("watch", &["--task-type", "other"]).ok().stdout(), "");
    workspace.run("card", &["cancel", "silent"]).ok();
    assert_eq!(workspace.run("watch", &["--report"]).ok().stdout(), "{}\n");
}

#[test]
fn explain_tells_every_verdict() {
    let workspace = with_silent_task();
    workspace.run("card", &["create", "well", "--task-type", "t", "--title", "x"]).ok();
    workspace.put_card("broken", "{");
    let lines = workspace.run("watch", &["--explain"]).ok().json();
    let verdicts: Vec<_> = ["broken", "silent", "well"]
        .iter()
        .map(|id| (of(&lines, id)[0]["verdict"].clone(), of(&lines, id)[0]["reason"].clone()))
        .collect();
    let expected = [("needs_attention", "card_invalid"), ("alert", "silent"), ("quiet", "healthy")];
    assert_eq!(verdicts, expected.map(|(verdict, reason)| (json!(verdict), json!(reason))));
    let one = workspace.run("watch", &["--explain", "well"]).ok().one();
    assert_eq!((&one["silent_for_minutes"], &one["stale_after_minutes"]), (&json!(0), &json!(30)));
    assert_eq!(workspace.run("watch", &["--explain=well"]).ok().one()["task_id"], "well");
    workspace.run("watch", &["--explain", "nobody"]).exits(66).complains("no task nobody");
}

/// Everything that can stand where a card should: each is its own line with its own reason, and the others are judged as if
/// it were not there.
#[test]
fn what_is_no_card_is_named_and_hides_nothing() {
    let workspace = with_silent_task();
    let good =
        |fields: &str| format!("{{\"task_id\":\"ID\",\"status\":\"running\",\"created_at\":\"2026-11-30T01:00:00Z\"{fields}}}");
    let put = |id: &str, fields: &str| workspace.put_card(id, &good(fields).replace("ID", id));
    workspace.put_card("garbage", "garbage");
    workspace.put_card("empty", "");
    workspace.put_card("half", &good("")[..40]);
    workspace.put_card("trailing", &(good("").replace("ID", "trailing") + "x"));
    workspace.put_card("array", "[]");
    put("text_bool", ",\"allow_auto_resume\":\"false\"");
    put("null", ",\"phase\":null");
    put("twice", ",\"phase\":\"a\",\"phase\":\"b\"");
    put("bad_time", ",\"not_before\":\"soon\"");
    put("later_version", ",\"schema_version\":2");
    // What only the whole parse sees, in a card that would be due.
    put("surrogate", ",\"x\":\"\\ud800\",\"last_checkpoint_at\":\"2020-01-01T00:00:00Z\"");
    put("deep", &format!(",\"x\":{}{},\"last_checkpoint_at\":\"2020-01-01T00:00:00Z\"", "[".repeat(500), "]".repeat(500)));
    workspace.put_card("other_name", &good("").replace("ID", "another"));
    fs::write(workspace.card_path("no id!.json"), good("")).unwrap();
    workspace.put_card("large", &good(&format!(",\"x\":\"{}\"", "x".repeat(5 * 1024 * 1024))).replace("ID", "large"));
    fs::create_dir(workspace.card_path("folder.json")).unwrap();
    nix::unistd::mkfifo(&workspace.card_path("fifo.json"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    symlink(workspace.card_path("silent.json"), workspace.card_path("link.json")).unwrap();
    symlink("/dev/zero", workspace.card_path("zero.json")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(workspace.card_path("socket.json")).unwrap();
    let future = minutes_from_now(60);
    workspace.put_card("future", &json!({"task_id": "future", "status": "running", "created_at": future}).to_string());
    put("writable", "");
    fs::set_permissions(workspace.card_path("writable.json"), fs::Permissions::from_mode(0o666)).unwrap();
    fs::set_permissions(workspace.card_path(""), fs::Permissions::from_mode(0o755)).unwrap();

    let ran = workspace.run("watch", &[]);
    let lines = ran.ok().is_quiet().json();
    for (id, reason) in [
        ("garbage", "card_invalid"),
        ("empty", "card_invalid"),
        ("half", "card_invalid"),
        ("trailing", "card_invalid"),
        ("array", "card_invalid"),
        ("text_bool", "card_invalid"),
        ("null", "card_invalid"),
        ("twice", "card_invalid"),
        ("bad_time", "card_invalid"),
        ("later_version", "card_unknown_version"),
        ("surrogate", "card_invalid"),
        ("deep", "card_invalid"),
        ("other_name", "card_invalid"),
        ("no id!", "card_invalid"),
        ("large", "card_unreadable"),
        ("folder", "card_unreadable"),
        ("fifo", "card_unreadable"),
        ("link", "card_unreadable"),
        ("zero", "card_unreadable"),
        ("socket", "card_unreadable"),
        ("future", "clock_skew"),
        ("writable", "card_insecure"),
    ] {
        let found = of(&lines, id);
        assert_eq!(found.len(), 1, "{id}\n{ran}");
        let seen = (&found[0]["signal"], &found[0]["reason"]);
        assert_eq!(seen, (&json!("needs_attention"), &json!(reason)), "{id}: {}", found[0]);
        assert!(!found[0]["detail"].as_str().unwrap().is_empty() && !found[0]["next"].as_str().unwrap().is_empty(), "{}", found[0]);
    }
    assert_eq!((of(&lines, "silent").len(), of(&lines, "silent")[0]["signal"].as_str()), (1, Some("alert")));
    assert_eq!(lines.len(), 23, "{ran}");

    // The other programs read the same folder.
    assert!(workspace.run("card", &["list"]).status() != Some(0));
    for (id, code) in
        [("garbage", 65), ("later_version", 65), ("large", 74), ("folder", 74), ("fifo", 74), ("link", 74), ("writable", 77)]
    {
        workspace.run("card", &["show", id]).exits(code).complains(id);
        workspace.run("checkpoint", &[id]).exits(code).complains(id);
    }
    // In a private folder the folder is the protection.
    fs::set_permissions(workspace.card_path(""), fs::Permissions::from_mode(0o700)).unwrap();
    assert!(of(&workspace.run("watch", &["--explain"]).json(), "writable").iter().all(|line| line["reason"] != "card_insecure"));
}

#[test]
fn a_card_of_another_user_is_not_trusted_in_an_open_folder() {
    if !tests::is_root() {
        return;
    }
    let workspace = with_silent_task();
    fs::set_permissions(workspace.card_path(""), fs::Permissions::from_mode(0o711)).unwrap();
    std::os::unix::fs::chown(workspace.card_path("silent.json"), Some(65534), None).unwrap();
    let lines = workspace.run("watch", &[]).ok().json();
    assert_eq!(lines[0]["reason"], "card_insecure");
    assert!(lines[0]["detail"].as_str().unwrap().contains("uid 65534"));
}

#[test]
fn watch_writes_nothing_anywhere() {
    let workspace = with_silent_task();
    workspace.put_card("broken", "{");
    let state = || workspace.shell("find . -printf '%p %T@ %C@ %s %m\\n' | sort").stdout();
    let before = state();
    for args in [&[] as &[&str], &["--report"], &["--explain"], &["--format", "ids"]] {
        workspace.run("watch", args).ok();
    }
    assert_eq!(state(), before);
    fs::remove_dir_all(workspace.path("data")).unwrap();
    workspace.run("watch", &["--workspace", "."]).ok();
    assert!(!workspace.path("data").exists());
}

#[test]
fn a_slow_task_that_comes_back_is_quiet_and_unmarked() {
    let workspace = Workspace::new();
    let args = ["create", "slow", "--task-type", "t", "--title", "x", "--now", &minutes_from_now(-45)];
    workspace.run("card", &args).ok();
    let before = workspace.card("slow");
    assert_eq!(workspace.run("watch", &[]).one()["reason"], "auto_resume_off");
    assert_eq!(workspace.shell("watch | resume").ok().one()["reason"], "auto_resume_off");
    assert_eq!(workspace.card("slow"), before);
    workspace.run("checkpoint", &["slow", "--message", "still here"]).ok();
    assert_eq!(workspace.run("watch", &[]).ok().stdout(), "");
    assert_eq!((&workspace.card("slow")["status"], &workspace.card("slow")["attention"]), (&json!("running"), &json!(null)));
}

#[test]
fn after_a_suspend_everything_is_looked_at_again_first() {
    let workspace = with_silent_task();
    let Ok(boot) = fs::read_to_string("/proc/sys/kernel/random/boot_id") else { return tests::skip("there is no /proc") };
    assert_eq!(workspace.run("watch", &[]).json().len(), 1);
    workspace.shell("echo '[]' | resume").ok();
    let mut last: Value = serde_json::from_slice(&fs::read(workspace.card_path(".last-pass")).unwrap()).unwrap();
    assert_eq!(last["boot_id"], boot.trim());
    assert_eq!(workspace.run("watch", &[]).json().len(), 1, "no gap");
    // As if the last pass were an hour ago by the wall clock and just now by the monotonic one.
    last["finished_at"] = minutes_from_now(-60).into();
    fs::write(workspace.card_path(".last-pass"), last.to_string()).unwrap();
    assert_eq!(workspace.run("watch", &[]).ok().stdout(), "");
    assert_eq!(workspace.shell("watch | resume").ok().stdout(), "");
    // The pass remembers since when it is awake; only then does the silence count again.
    assert_eq!(workspace.run("watch", &[]).ok().stdout(), "");
    assert_eq!(workspace.run("watch", &["--now", &minutes_from_now(31)]).one()["reason"], "silent");
}
