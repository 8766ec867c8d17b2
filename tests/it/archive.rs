//! The last days of a task: `card archive`, `card prune`.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

use serde_json::{Value, json};
use tests::strace;
use tests::sweep;
use tests::writers::{Before, Writer};
use tests::{Background, Ran, Workspace, eventually, has_tool, minutes_from_now, root, word};

const DAY: i64 = 24 * 60;

fn days_ago(days: i64) -> String {
    minutes_from_now(-days * DAY)
}

fn finished(workspace: &Workspace, id: &str, verb: &str, days: i64) {
    let at = days_ago(days);
    workspace.run("card", &["create", id, "--task-type", "t", "--title", "x", "--now", &at]).ok();
    workspace.run("card", &[verb, id, "--now", &at]).ok();
}

fn put_logs(workspace: &Workspace, id: &str) {
    fs::create_dir_all(workspace.card_path(&format!("logs/{id}"))).unwrap();
    for kind in ["in", "out", "err"] {
        fs::write(workspace.card_path(&format!("logs/{id}/1.{kind}")), kind).unwrap();
    }
}

fn counts(ran: &Ran<'_>) -> Value {
    ran.json().pop().unwrap()
}

fn names(workspace: &Workspace, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(workspace.card_path(folder)).into_iter().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn finished_tasks_are_filed_away_with_history_and_logs_and_still_found() {
    let workspace = Workspace::new();
    finished(&workspace, "old", "complete", 8);
    finished(&workspace, "gone", "fail", 30);
    finished(&workspace, "young", "complete", 6);
    workspace.run("card", &["create", "open", "--task-type", "t", "--title", "x", "--now", &days_ago(30)]).ok();
    put_logs(&workspace, "old");
    let card = fs::read(workspace.card_path("old.json")).unwrap();
    let log = workspace.run("card", &["log", "old"]).ok().stdout();
    let expected = json!({"archived": 2, "kept": {"not_finished": 1, "too_recent": 1}});
    assert_eq!(workspace.run("card", &["archive"]).ok().is_quiet().one(), expected);
    assert_eq!(fs::read(workspace.card_path("archive/old.json")).unwrap(), card, "its bytes are as they were");
    assert_eq!(names(&workspace, "archive/logs/old"), ["1.err", "1.in", "1.out"]);
    assert_eq!(
        (names(&workspace, "logs"), names(&workspace, "history")),
        (vec![], vec!["open.jsonl".into(), "young.jsonl".into()])
    );
    assert_eq!(fs::metadata(workspace.card_path("archive")).unwrap().mode() & 0o777, 0o700);

    workspace.run("card", &["export", "old", "--to", "task-state"]).ok().is_quiet();
    let shown = workspace.run("card", &["show", "old"]).ok().one();
    assert_eq!((&shown["archived"], &shown["status"]), (&json!(true), &json!("completed")));
    assert!(workspace.run("card", &["show", "old", "--format", "text"]).ok().stdout().contains("filed away:"));
    for (field, value) in [("status", "completed\n"), ("archived", "true\n")] {
        assert_eq!(workspace.run("card", &["show", "old", "--field", field]).ok().stdout(), value);
    }
    // There is nothing to go on with, as with any finished task; watch judges what is still to be done.
    assert_eq!(workspace.run("card", &["report", "old"]).ok().is_quiet().stdout(), "");
    workspace
        .run("watch", &["--explain", "old"])
        .exits(66)
        .complains("old is filed away, so nothing is to be judged; see card show old");
    assert_eq!(workspace.run("card", &["log", "old"]).ok().stdout(), log);
    let ids = |args: &[&str]| -> Vec<Value> {
        workspace.run("card", &[&["list"], args].concat()).ok().json().into_iter().map(|card| card["task_id"].clone()).collect()
    };
    assert_eq!(ids(&[]), ["open", "young"]);
    assert_eq!(ids(&["--archived"]), ["gone", "old"]);
    assert_eq!(ids(&["--archived", "--status", "failed"]), ["gone"]);
    assert!(workspace.run("card", &["list", "--archived", "--format", "text"]).ok().stdout().contains("old"));

    // Nothing more comes of the same again.
    let again = json!({"archived": 0, "kept": {"not_finished": 1, "too_recent": 1}});
    assert_eq!(workspace.run("card", &["archive"]).ok().one(), again);
    let named = workspace.run("card", &["archive", "old", "gone"]).ok().is_quiet().one();
    assert_eq!(named, json!({"archived": 0, "already_archived": 2, "kept": {}}));
    workspace.run("card", &["create", "old", "--task-type", "t", "--title", "x"]).exits(73).complains("archive/old.json");
    for args in [["complete", "old"], ["approve", "old"]] {
        workspace.run("card", &args).exits(77).complains("old is filed away and never changes again");
    }
    workspace.run("checkpoint", &["old", "--message", "m"]).exits(77).complains("filed away");
    assert_eq!(workspace.run("watch", &["--explain"]).ok().json().len(), 2);
}

#[test]
fn a_task_that_lives_or_is_not_told_of_stays_and_a_dry_run_says_why() {
    let workspace = Workspace::new();
    for id in ["told", "alive", "background", "untold", "un"] {
        finished(&workspace, id, "complete", 8);
        put_logs(&workspace, id);
    }
    workspace.run("card", &["create", "asks", "--task-type", "t", "--title", "x", "--now", &days_ago(8)]).ok();
    workspace.run("card", &["block", "asks", "--now", &days_ago(8)]).ok();
    fs::create_dir(workspace.card_path(".outbox")).unwrap();
    // "un" and "untold.x" are other tasks.
    fs::write(workspace.card_path(".outbox/untold.12"), "{}\n").unwrap();
    fs::write(workspace.card_path(".outbox/told.x.1"), "{}\n").unwrap();
    let locked = ["logs/alive/1.in", "logs/background/1.err"].map(|name| {
        let file = fs::File::options().append(true).open(workspace.card_path(name)).unwrap();
        file.lock().unwrap();
        file
    });
    let dry = workspace.run("card", &["archive", "--dry-run"]);
    let why = |id: &str| dry.ok().json().into_iter().find(|line| line["task_id"] == id).unwrap();
    for (id, reason) in
        [("alive", "attempt_alive"), ("background", "attempt_alive"), ("untold", "outcome_untold"), ("asks", "not_finished")]
    {
        assert_eq!(why(id)["kept"], reason, "{dry}");
        assert!(why(id)["detail"].is_string(), "{dry}");
    }
    assert_eq!((&why("told")["would"], &why("un")["would"]), (&json!("archive"), &json!("archive")));
    let kept = json!({"attempt_alive": 2, "not_finished": 1, "outcome_untold": 1});
    assert_eq!(counts(&dry), json!({"archived": 2, "kept": kept, "dry_run": true}));
    assert!(!workspace.card_path("archive").exists(), "{dry}");

    let whole = workspace.run("card", &["archive", "--dry-run", "alive"]).ok().is_quiet().json();
    assert_eq!(whole[0]["kept"], "attempt_alive");
    // Who is named is refused aloud; the others are done all the same.
    let named = workspace.run("card", &["archive", "alive", "asks", "nobody", "told"]);
    assert_eq!(named.exits(77).one(), json!({"archived": 1, "kept": {"attempt_alive": 1, "not_finished": 1}}));
    let said = named.stderr();
    for text in ["alive is not filed away: a process", "asks is not filed away: it is needs_attention", "no task nobody"] {
        assert!(said.contains(text), "{named}");
    }
    // Not by closing alone: a child that another test has just forked may still have the file open.
    locked.iter().for_each(|file| file.unlock().unwrap());
    fs::remove_file(workspace.card_path(".outbox/untold.12")).unwrap();
    assert_eq!(workspace.run("card", &["archive"]).ok().one()["archived"], 4);
}

#[test]
fn a_real_attempt_that_completed_its_card_and_still_runs_is_not_filed_away() {
    let workspace = Workspace::new();
    workspace.write("hold", "");
    let script = "#!/bin/sh\n\"$TASK_BIN/card\" complete a >&2; : >done; while [ -e hold ]; do sleep 0.02; done\n";
    let adapter = workspace.write("a.sh", script);
    let create = ["create", "a", "--task-type", "t", "--title", "x", "--status", "pending", "--resume-adapter", word(&adapter)];
    workspace.run("card", &create).ok();
    let mut resume = workspace.command("resume");
    resume.arg("a");
    let resume = Background::start(resume);
    eventually("its card is completed", || workspace.path("done").exists());
    workspace.run("card", &["archive", "a"]).exits(77).complains("a process of its attempts is alive");
    fs::remove_file(workspace.path("hold")).unwrap();
    assert!(resume.output().status.success());
    assert_eq!(workspace.run("card", &["archive", "a"]).ok().one()["archived"], 1);
    assert_eq!(names(&workspace, "archive/logs/a")[..3], ["1.err", "1.in", "1.out"]);
}

#[test]
fn ages_and_statuses_choose() {
    let workspace = Workspace::new();
    finished(&workspace, "c", "complete", 2);
    finished(&workspace, "f", "fail", 2);
    finished(&workspace, "x", "cancel", 2);
    let dry = |args: &[&str]| counts(&workspace.run("card", &[&["archive", "--dry-run"], args].concat()))["archived"].clone();
    for (age, fits) in [("47h", 3), ("2d", 3), ("49h", 0), ("2870m", 3), ("1w", 0), ("0m", 3)] {
        assert_eq!(dry(&["--older-than", age]), fits, "{age}");
    }
    assert_eq!(dry(&["c"]), 1, "a task that is named needs no age");
    assert_eq!(dry(&["c", "--older-than", "7d"]), 0);
    assert_eq!(dry(&["--older-than", "1d", "--status", "failed", "--status", "cancelled"]), 2);
    for bad in ["", "7", "d", "7 d", "-7d", "+7d", "1.5d", "7y", "7dd", "99999999999d", "7д"] {
        workspace.run("card", &["archive", "--older-than", bad]).exits(64).complains("is no age");
    }
    workspace.run("card", &["archive", "--status", "running"]).exits(64).complains("completed, failed, cancelled");
    workspace.run("card", &["prune"]).exits(64).complains("--older-than is missing");
    // A broken card is named and hides no other; one that does not say its age is only filed away by name.
    workspace.put_card("bad", "{");
    workspace.put_card("ageless", r#"{"task_id":"ageless","task_type":"t","title":"x","status":"completed"}"#);
    let ran = workspace.run("card", &["archive", "--older-than", "1d"]);
    assert_eq!(ran.exits(65).complains("the card of bad is not valid").one(), json!({"archived": 3, "kept": {"age_unknown": 1}}));
    assert_eq!(workspace.run("card", &["archive", "ageless"]).ok().one()["archived"], 1);
}

#[test]
fn a_dependency_that_is_filed_away_is_as_it_was() {
    let workspace = Workspace::new();
    finished(&workspace, "good", "complete", 8);
    finished(&workspace, "bad", "cancel", 8);
    for (id, on) in [("a", "good"), ("b", "bad")] {
        let args = ["create", id, "--task-type", "t", "--title", "x", "--allow-auto-resume", "--depends-on", on, "--", "true"];
        workspace.run("card", &args).ok();
    }
    let before = workspace.run("watch", &[]).ok().stdout();
    assert_eq!(workspace.run("card", &["archive"]).ok().one()["archived"], 2);
    assert_eq!(workspace.run("watch", &[]).ok().stdout(), before);
    // And is not deleted while somebody waits for it.
    let prune = ["prune", "--older-than", "1d"];
    assert_eq!(workspace.run("card", &prune).ok().one(), json!({"pruned": 0, "kept": {"awaited": 2}}));
    assert_eq!(workspace.shell("watch | resume").ok().json().iter().filter(|line| line["outcome"] == "completed").count(), 1);
    assert_eq!(workspace.run("card", &prune).ok().one(), json!({"pruned": 1, "kept": {"awaited": 1}}));
}

#[test]
fn cleanup_removes_what_the_task_named_and_nothing_else() {
    let (workspace, other) = (Workspace::new(), Workspace::new());
    fs::create_dir_all(workspace.path("tmp/a/deep/er")).unwrap();
    fs::create_dir_all(other.path("tmp/b")).unwrap();
    for path in [workspace.path("tmp/a/deep/file"), workspace.path("one"), other.path("tmp/b/c"), other.path("precious")] {
        fs::write(path, "").unwrap();
    }
    symlink(other.path("precious"), workspace.path("tmp/a/link")).unwrap();
    symlink(other.path(""), workspace.path("tmp/a/deep/folder-link")).unwrap();
    symlink(other.path(""), workspace.path("way")).unwrap();
    symlink(other.path("precious"), workspace.path("last")).unwrap();
    let own = |name: &str| word(&workspace.path(name)).to_owned();
    let others = |name: &str| word(&other.path(name)).to_owned();
    let gone = [own("tmp/a"), own("one"), own("last"), others("tmp/b")];
    let absent = [own("one/x"), own("nothing"), "/nowhere/at/all".to_owned()];
    let refused = [
        own("way/precious"),
        others("precious"),
        others(""),
        others("tmp"),
        own("").trim_end_matches('/').to_owned(),
        own("data"),
        own("data/task-runs"),
        own("data/task-runs/a.json"),
        own("way/tmp/../precious"),
        own("tmp/../data"),
        "one".to_owned(),
        "/".to_owned(),
        String::new(),
    ];
    finished(&workspace, "a", "complete", 8);
    let mut card = workspace.card("a");
    let all: Vec<&String> = gone.iter().chain(&absent).chain(&refused).collect();
    card["metadata"] = json!({"cleanup": all});
    workspace.put_card("a", &card.to_string());
    let archive = |more: &[&str]| {
        let mut command = workspace.command("card");
        command.args([&["archive", "a", "--cleanup"], more].concat()).env("TMPDIR", other.path("tmp"));
        workspace.finish(command, None)
    };
    let dry = archive(&["--dry-run"]);
    assert_eq!(counts(dry.ok())["removed_paths"], gone.len(), "{dry}");
    assert!(workspace.path("tmp/a/deep/file").exists() && workspace.path("one").exists());
    let ran = archive(&[]);
    let expected = json!({"archived": 1, "removed_paths": gone.len(), "refused_paths": refused.len(), "kept": {}});
    assert_eq!(ran.ok().one(), expected, "{ran}");
    for path in &gone {
        assert!(fs::symlink_metadata(path).is_err(), "{path}\n{ran}");
    }
    for path in refused.iter().filter(|path| path.len() > 1 && path.starts_with('/') && !path.ends_with("a.json")) {
        assert!(fs::symlink_metadata(path).is_ok(), "{path}\n{ran}");
    }
    for path in &refused {
        assert!(ran.stderr().contains(&format!("a: {path:?} is not removed: ")), "{path}\n{ran}");
    }
    // Again: nothing is left to remove; what comes back later goes, too.
    fs::write(workspace.path("one"), "").unwrap();
    let again = archive(&[]);
    assert_eq!(again.ok().one()["already_archived"], 1);
    assert!(!workspace.path("one").exists());
    // Without --cleanup nothing is removed.
    finished(&workspace, "b", "complete", 8);
    let mut card = workspace.card("b");
    card["metadata"] = json!({"cleanup": own("one")});
    workspace.put_card("b", &card.to_string());
    fs::write(workspace.path("one"), "").unwrap();
    workspace.run("card", &["archive"]).ok();
    assert!(workspace.path("one").exists());
}

/// Without the link, or the folder that it is in, the workspace would have lost its cards.
#[test]
fn cleanup_leaves_a_data_folder_that_is_a_link_or_has_one() {
    for (link, cards) in [("data", "store/task-runs"), ("data/task-runs", "store")] {
        let workspace = Workspace::new();
        fs::remove_dir_all(workspace.path("data")).ok();
        fs::create_dir_all(workspace.path(cards)).unwrap();
        if link != "data" {
            fs::create_dir(workspace.path("data")).unwrap();
        }
        symlink(workspace.path("store"), workspace.path(link)).unwrap();
        finished(&workspace, "a", "complete", 8);
        let mut card = workspace.card("a");
        let own = |name: &str| word(&workspace.path(name)).to_owned();
        card["metadata"] = json!({"cleanup": [own("data/task-runs"), own("data"), own(cards), own("store")]});
        workspace.put_card("a", &card.to_string());
        for more in [&["--dry-run"][..], &[]] {
            let ran = workspace.run("card", &[&["archive", "a", "--cleanup"], more].concat());
            assert_eq!(
                (&counts(ran.ok())["removed_paths"], &counts(&ran)["refused_paths"]),
                (&json!(0), &json!(4)),
                "{link}\n{ran}"
            );
        }
        assert!(workspace.card_path("archive/a.json").is_file(), "{link}");
    }
}

#[test]
fn a_dry_run_counts_what_is_in_a_folder_that_would_go_or_is_named_again_once() {
    let workspace = Workspace::new();
    fs::create_dir_all(workspace.path("a/b")).unwrap();
    fs::create_dir_all(workspace.path("c/d")).unwrap();
    symlink(workspace.path("c"), workspace.path("link")).unwrap();
    let own = |name: &str| word(&workspace.path(name)).to_owned();
    let tasks =
        [("x", vec![own("a"), own("a/b"), own("link"), own("link/d")]), ("y", vec![own("a"), own("a/"), own("c/d"), own("c")])];
    for (id, paths) in &tasks {
        finished(&workspace, id, "complete", 8);
        let mut card = workspace.card(id);
        card["metadata"] = json!({"cleanup": paths});
        workspace.put_card(id, &card.to_string());
    }
    let archive = |more: &[&str]| workspace.run("card", &[&["archive", "x", "y", "--cleanup"], more].concat());
    let dry = archive(&["--dry-run"]);
    assert_eq!(counts(dry.ok())["removed_paths"], 4, "{dry}");
    assert_eq!(counts(archive(&[]).ok())["removed_paths"], 4);
}

#[test]
fn prune_deletes_from_the_archive_only_what_is_old() {
    let workspace = Workspace::new();
    finished(&workspace, "ancient", "complete", 100);
    finished(&workspace, "old", "complete", 80);
    finished(&workspace, "live", "complete", 100);
    put_logs(&workspace, "ancient");
    workspace.run("card", &["archive", "ancient", "old"]).ok();
    let dry = workspace.run("card", &["prune", "--older-than", "90d", "--dry-run"]).ok().json();
    assert_eq!(dry[0], json!({"task_id": "ancient", "would": "prune"}));
    assert_eq!((&dry[1]["kept"], &dry[2]["pruned"], &dry[2]["dry_run"]), (&json!("too_recent"), &json!(1), &json!(true)));
    assert!(workspace.card_path("archive/ancient.json").exists());
    let prune = || workspace.run("card", &["prune", "--older-than", "90d"]).ok().is_quiet().one();
    assert_eq!(prune(), json!({"pruned": 1, "kept": {"too_recent": 1}}));
    assert_eq!(names(&workspace, "archive"), ["history", "logs", "old.json"]);
    assert_eq!((names(&workspace, "archive/history"), names(&workspace, "archive/logs")), (vec!["old.jsonl".into()], vec![]));
    assert_eq!(names(&workspace, ".locks"), ["live", "old"]);
    assert_eq!(prune(), json!({"pruned": 0, "kept": {"too_recent": 1}}));
    workspace.run("card", &["show", "ancient"]).exits(66);
    workspace.run("card", &["log", "ancient"]).exits(66);
    workspace.run("card", &["create", "ancient", "--task-type", "t", "--title", "new"]).ok();
    assert_eq!(workspace.run("card", &["log", "ancient"]).ok().json().len(), 1);
}

#[test]
fn what_is_in_both_places_is_put_together_or_refused() {
    let workspace = Workspace::new();
    finished(&workspace, "a", "complete", 8);
    put_logs(&workspace, "a");
    let card = fs::read(workspace.card_path("a.json")).unwrap();
    let log = workspace.run("card", &["log", "a"]).ok().stdout();
    workspace.run("card", &["archive", "a"]).ok();
    // As a power cut may leave it: the same card twice, logs and history in parts.
    fs::write(workspace.card_path("a.json"), &card).unwrap();
    fs::copy(workspace.card_path("archive/history/a.jsonl"), workspace.card_path("history/a.jsonl")).unwrap();
    fs::create_dir(workspace.card_path("logs/a")).unwrap();
    fs::rename(workspace.card_path("archive/logs/a/1.out"), workspace.card_path("logs/a/1.out")).unwrap();
    assert_eq!(workspace.run("card", &["log", "a"]).ok().stdout(), log, "no event is told twice");
    assert_eq!(workspace.run("card", &["prune", "--older-than", "1d"]).ok().one()["kept"], json!({"not_only_archived": 1}));
    assert_eq!(workspace.run("card", &["archive", "a"]).ok().one()["archived"], 1);
    assert_eq!(fs::read_to_string(workspace.card_path("archive/history/a.jsonl")).unwrap(), log);
    assert_eq!(names(&workspace, "archive/logs/a"), ["1.err", "1.in", "1.out"]);
    assert!(!workspace.card_path("history/a.jsonl").exists() && !workspace.card_path("logs/a").exists());
    // New lines are appended.
    fs::write(workspace.card_path("a.json"), &card).unwrap();
    let line = "{\"at\":\"2026-01-01T00:00:00Z\",\"revision\":9,\"event\":\"x\"}\n";
    fs::write(workspace.card_path("history/a.jsonl"), line).unwrap();
    let whole = log + line;
    assert_eq!(workspace.run("card", &["log", "a"]).ok().stdout(), whole);
    workspace.run("card", &["archive", "a"]).ok();
    assert_eq!(workspace.run("card", &["log", "a"]).ok().stdout(), whole);
    // One file under both names, which is how a file system's own log may bring a rename back.
    for (filed, live) in [("archive/a.json", "a.json"), ("archive/history/a.jsonl", "history/a.jsonl")] {
        fs::hard_link(workspace.card_path(filed), workspace.card_path(live)).unwrap();
    }
    fs::create_dir(workspace.card_path("logs/a")).unwrap();
    fs::hard_link(workspace.card_path("archive/logs/a/1.out"), workspace.card_path("logs/a/1.out")).unwrap();
    assert_eq!(workspace.run("card", &["archive", "a"]).ok().one()["archived"], 1);
    for left in ["a.json", "history/a.jsonl", "logs/a"] {
        assert!(!workspace.card_path(left).exists(), "{left}");
    }
    assert_eq!(fs::read(workspace.card_path("archive/a.json")).unwrap(), card);
    assert_eq!(workspace.run("card", &["log", "a"]).ok().stdout(), whole);
    // Another card of that name is never replaced.
    let mut other: Value = serde_json::from_slice(&card).unwrap();
    other["title"] = json!("y");
    workspace.put_card("a", &other.to_string());
    workspace.run("card", &["archive", "a"]).exits(73).complains("another card of this ID");
    assert_eq!(workspace.card("a")["title"], "y");
}

#[test]
fn of_many_at_once_each_files_some_and_no_reader_misses_a_task() {
    let workspace = Workspace::new();
    for number in 0..24 {
        finished(&workspace, &format!("t{number}"), "complete", 8);
    }
    let readers = "for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23; do card show t$i >/dev/null || echo lost; \
                   [ $(card log t$i | wc -l) = 2 ] || echo log of t$i; done";
    let ran = workspace.shell(&format!("for n in 1 2 3; do card archive & done; {readers}; wait; {readers}"));
    let all: u64 = ran.ok().is_quiet().json().iter().map(|counts| counts["archived"].as_u64().unwrap()).sum();
    assert_eq!(all, 24, "{ran}");
    let pruned = workspace.shell("for n in 1 2 3; do card prune --older-than 1d & done; wait");
    let all: u64 = pruned.ok().is_quiet().json().iter().map(|counts| counts["pruned"].as_u64().unwrap()).sum();
    assert_eq!((all, names(&workspace, ".locks").len()), (24, 0), "{pruned}");
}

/// Whoever waited for a lock whose file was unlinked holds nothing: another process may hold the one that has the name now.
#[test]
fn a_lock_that_is_taken_away_with_its_task_is_taken_anew() {
    let workspace = Workspace::new();
    let locks = || fs::read_to_string("/proc/locks").unwrap_or_default();
    if locks().is_empty() {
        return tests::skip("there is no /proc/locks");
    }
    let path = workspace.card_path(".locks/a");
    fs::create_dir(workspace.card_path(".locks")).unwrap();
    let make = || {
        let file = fs::File::create_new(&path).unwrap();
        file.lock().unwrap();
        file
    };
    let waits_for = |file: &fs::File| {
        let inode = format!(":{} ", file.metadata().unwrap().ino());
        locks().lines().any(|line| line.contains("-> FLOCK") && line.contains(&inode))
    };
    let first = make();
    let mut create = workspace.command("card");
    create.args(["create", "a", "--task-type", "t", "--title", "x"]);
    let create = Background::start(create);
    eventually("it waits for the first lock", || waits_for(&first));
    fs::remove_file(&path).unwrap();
    let second = make();
    drop(first);
    eventually("it waits for the second one", || waits_for(&second));
    assert!(!workspace.card_path("a.json").exists());
    drop(second);
    assert!(create.output().status.success());
}

/// A quick sample, as for `checkpoint`: killed before each call about files. `make proof` does it before every call.
#[test]
fn a_kill_anywhere_leaves_a_task_that_is_simply_filed_away_or_deleted_again() {
    if let Err(why) = strace::is_usable() {
        return tests::skip(&why);
    }
    for writer in [
        Writer::new("card", "d", Before::Finished, &["archive", "d", "--cleanup"]),
        Writer::new("card", "e", Before::Filed, &["prune", "--older-than", "90d"]),
    ] {
        let points = sweep::kill_everywhere(&writer).unwrap();
        assert!(points > 20, "only {points} points");
    }
}

#[test]
fn the_manuals_bundle_has_card_history_logs_and_artifacts() {
    if !has_tool("tar") || !has_tool("jq") {
        return;
    }
    let manual = fs::read_to_string(root().join("card/card.1")).unwrap();
    let block = manual.split(".Bd -literal -offset indent\n").find(|block| block.contains("tar ")).unwrap();
    let recipe = block.split("\n.Ed").next().unwrap().replace("\\e\n", "\\\n").replace("\\(aq", "'").replace("\\(ti", "~");
    let workspace = Workspace::new();
    fs::create_dir(workspace.path("home")).unwrap();
    fs::write(workspace.path("result file.json"), "{}").unwrap();
    let create = ["create", "report_1", "--task-type", "t", "--title", "x", "--artifact", "result=result file.json"];
    workspace.run("card", &create).ok();
    workspace.run("card", &["complete", "report_1"]).ok();
    put_logs(&workspace, "report_1");
    workspace.run("card", &["archive", "report_1"]).ok();
    workspace.shell(&recipe).ok();
    let listed = workspace.shell("tar -tzf home/report_1.tar.gz").ok().stdout();
    for name in ["report_1.json", "history/report_1.jsonl", "logs/report_1/1.out", "result file.json"] {
        assert!(listed.lines().any(|line| line == name || (line.ends_with(name) && name.starts_with("result"))), "{listed}");
    }
}
