//! `card import` and `card export`: tasks that others kept elsewhere.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use tests::{Workspace, word};

/// As the session skill writes it: UUIDs, an offset, Chinese, and fields that it never told us of.
const STATE: &str = r#"{
  "version": 1,
  "taskId": "7b1f3c52-8a0e-4c1e-9d55-0b6f3a1f2c11",
  "createdAt": "2026-03-30T09:00:00+08:00",
  "updatedAt": "2026-03-30T09:30:00+08:00",
  "description": "整理季度报告",
  "status": "in_progress",
  "steps": [
    {"name": "收集数据", "status": "done", "result": "12 份", "tookMs": 1200},
    {"name": "写草稿", "status": "pending", "result": null},
    {"name": "发给小王", "status": "pending"}
  ],
  "context": {"file": "/tmp/草稿.md", "budget": 1.50, "tags": ["a", {"b": null}]},
  "owner": {"name": "小李", "id": 12345678901234567890},
  "lastCheckpoint": "2026-03-30T09:30:00+08:00"
}
"#;
const ID: &str = "7b1f3c52-8a0e-4c1e-9d55-0b6f3a1f2c11";

fn with_state() -> Workspace {
    let workspace = Workspace::new();
    fs::write(workspace.path(".task-state.json"), STATE).unwrap();
    workspace
}

fn state(workspace: &Workspace) -> String {
    fs::read_to_string(workspace.path(".task-state.json")).unwrap()
}

#[test]
fn only_the_step_and_the_times_of_a_task_state_change() {
    let workspace = with_state();
    let card = workspace.run("card", &["import", "--from", "task-state"]).ok().is_quiet().one();
    assert_eq!(
        (&card["task_id"], &card["title"], &card["status"], &card["allow_auto_resume"], &card["stale_after_minutes"]),
        (&json!(ID), &json!("整理季度报告"), &json!("running"), &json!(false), &json!(0))
    );
    assert_eq!(state(&workspace).replace(card["updated_at"].as_str().unwrap(), "2026-03-30T09:30:00+08:00"), STATE);
    workspace.run("checkpoint", &[ID, "--step", "写草稿", "--result", "第一版", "--message", "草稿写好"]).ok();
    let card = workspace.card(ID);
    let mut expected: Value = serde_json::from_str(STATE).unwrap();
    expected["steps"][1] = json!({"name": "写草稿", "status": "done", "result": "第一版"});
    expected["updatedAt"] = card["updated_at"].clone();
    expected["lastCheckpoint"] = card["last_checkpoint_at"].clone();
    let text = state(&workspace);
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
    for kept in ["\"budget\": 1.50", "12345678901234567890", "\"createdAt\": \"2026-03-30T09:00:00+08:00\""] {
        assert!(text.contains(kept), "{text}");
    }
    // It is no other card's because it is read again.
    assert_eq!(workspace.run("card", &["import", "--from", "task-state"]).ok().one()["revision"], card["revision"]);
    assert_eq!(workspace.run("card", &["list"]).ok().json().len(), 1);
    assert_eq!(workspace.run("card", &["export", "--to", "task-state", ID]).ok().value(), expected);
    // A file of its own for whoever wants one.
    workspace.run("card", &["export", "--to", "task-state", ID, "copy.json"]).ok();
    assert_eq!(serde_json::from_str::<Value>(&fs::read_to_string(workspace.path("copy.json")).unwrap()).unwrap(), expected);
}

#[test]
fn a_step_with_a_name_that_nobody_can_type_is_marked_by_its_number() {
    let workspace = Workspace::new();
    let long = format!("先读\n再写{}", "长".repeat(200));
    let begun =
        json!({"taskId": "a", "status": "in_progress", "steps": [{"name": "#2"}, {"name": long}, {"name": "x"}, {"name": "x"}]});
    fs::write(workspace.path(".task-state.json"), begun.to_string()).unwrap();
    workspace.run("card", &["import", "--from", "task-state"]).ok();
    let done =
        || -> Vec<bool> { workspace.card("a")["steps"].as_array().unwrap().iter().map(|step| step["status"] == "done").collect() };
    workspace.run("checkpoint", &["a", "--step", "#4", "--result", "r"]).ok().is_quiet();
    assert_eq!(done(), [false, false, false, true]);
    // A name comes before a number.
    workspace.run("checkpoint", &["a", "--step", "#2"]).ok().is_quiet();
    assert_eq!(done(), [true, false, false, true]);
    workspace.run_with("checkpoint", &["a", "-"], r##"{"steps": [{"name": "#3"}]}"##).ok().is_quiet();
    assert_eq!(done(), [true, false, true, true]);
    let before = workspace.card("a");
    for none in ["#5", "#0", "#99999999999999999999"] {
        workspace.run("checkpoint", &["a", "--step", none, "--message", "m"]).exits(64).complains("has no step");
    }
    let ran = workspace.run_with("checkpoint", &["a", "-"], r##"{"steps": [{"name": "#5"}]}"##);
    ran.exits(65).complains("a has no step #5, it has 4; see card show a");
    assert_eq!(workspace.card("a"), before);
    workspace.run("card", &["update", "a", "--step", "#1"]).ok();
    assert_eq!(workspace.card("a")["steps"][4], json!({"name": "#1", "status": "pending"}));
    assert_eq!(done(), [true, false, true, true, false]);
    let told: Value = serde_json::from_str(&state(&workspace)).unwrap();
    assert_eq!((&told["steps"][3]["status"], &told["steps"][3]["result"]), (&json!("done"), &json!("r")));
}

#[test]
fn what_the_skill_writes_meanwhile_is_taken_and_never_undone() {
    let workspace = with_state();
    workspace.run("card", &["import", "--from", "task-state"]).ok();
    let done = state(&workspace).replace("\"写草稿\", \"status\": \"pending\"", "\"写草稿\", \"status\": \"done\"");
    fs::write(workspace.path(".task-state.json"), done).unwrap();
    // A write of the card before anyone imported that.
    workspace.run("checkpoint", &[ID, "--step", "发给小王"]).ok();
    let steps = |text: &str| {
        serde_json::from_str::<Value>(text).unwrap()["steps"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|step| step["status"] == "done")
            .count()
    };
    assert_eq!(steps(&state(&workspace)), 3);
    assert_eq!(steps(&workspace.run("card", &["import", "--from", "task-state"]).ok().stdout()), 3);
    assert_eq!(workspace.card(ID)["status"], "running");
}

/// The card's own values say what the card was told; the file's say what the skill wrote since.
#[test]
fn only_what_a_write_changed_is_written_over_what_the_skill_wrote() {
    let workspace = with_state();
    workspace.run("card", &["import", "--from", "task-state"]).ok();
    let edited = state(&workspace)
        .replace("\"status\": \"pending\", \"result\": null", "\"status\": \"done\", \"result\": \"42\"")
        .replace("/tmp/草稿.md", "/tmp/新.md")
        .replace("整理季度报告", "整理年度报告")
        .replace("12 份", "13 份");
    fs::write(workspace.path(".task-state.json"), edited).unwrap();
    workspace.run("card", &["update", ID, "--context", "budget=2"]).ok();
    let told: Value = serde_json::from_str(&state(&workspace)).unwrap();
    assert_eq!(
        (&told["steps"][1]["result"], &told["steps"][0]["result"], &told["context"]["file"], &told["description"]),
        (&json!("42"), &json!("13 份"), &json!("/tmp/新.md"), &json!("整理年度报告"))
    );
    assert_eq!(told["context"]["budget"], "2");
    // A file that missed a write of the card takes nothing back, neither in the card nor by the next write.
    let missed = state(&workspace);
    let path = workspace.path(".task-state.json");
    let before = fs::metadata(&path).unwrap().modified().unwrap();
    workspace.run("card", &["update", ID, "--context", "budget=3"]).ok();
    fs::write(&path, missed).unwrap();
    let times = fs::FileTimes::new().set_modified(before - std::time::Duration::from_secs(1));
    fs::File::options().write(true).open(&path).unwrap().set_times(times).unwrap();
    workspace.run("card", &["import", "--from", "task-state"]).ok();
    assert_eq!(workspace.card(ID)["context"]["budget"], "3");
    workspace.run("checkpoint", &[ID, "--message", "weiter"]).ok();
    assert_eq!(serde_json::from_str::<Value>(&state(&workspace)).unwrap()["context"]["budget"], "3");
}

#[test]
fn steps_of_one_name_stay_several() {
    let workspace = Workspace::new();
    let steps = json!([{"name": "test", "status": "pending"}, {"name": "fix", "status": "pending"}, {"name": "test", "status": "done", "result": "b"}]);
    let text =
        json!({"taskId": "t", "updatedAt": "2026-03-30T09:30:00+08:00", "lastCheckpoint": "after fix", "steps": steps}).to_string();
    fs::write(workspace.path(".task-state.json"), text).unwrap();
    let card = workspace.run("card", &["import", "--from", "task-state"]).ok().one();
    assert_eq!(card["steps"], steps);
    // The newest time that it tells is its last sign of life; its own text stays.
    assert_eq!(card["last_checkpoint_at"], "2026-03-30T09:30:00+08:00");
    let told: Value = serde_json::from_str(&state(&workspace)).unwrap();
    assert_eq!((&told["steps"], &told["lastCheckpoint"]), (&steps, &json!("after fix")));
}

#[test]
fn the_file_keeps_its_mode() {
    let workspace = with_state();
    let path = workspace.path(".task-state.json");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    workspace.run("card", &["import", "--from", "task-state"]).ok();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn the_file_goes_with_its_task_and_only_with_it() {
    for (verb, gone) in [("complete", true), ("cancel", true), ("fail", false)] {
        let workspace = with_state();
        workspace.run("card", &["import", "--from", "task-state"]).ok();
        workspace.run("card", &[verb, ID]).ok().is_quiet();
        assert_eq!(!workspace.path(".task-state.json").exists(), gone, "{verb}");
    }
    let workspace = with_state();
    workspace.run("card", &["import", "--from", "task-state"]).ok();
    let other = STATE.replace(ID, "another");
    fs::write(workspace.path(".task-state.json"), &other).unwrap();
    workspace.run("card", &["complete", ID]).ok().is_quiet();
    assert_eq!(state(&workspace), other);
    // A finished task is not begun anew under its old name.
    fs::write(workspace.path(".task-state.json"), STATE).unwrap();
    workspace.run("card", &["import", "--from", "task-state"]).exits(77).complains("give it another taskId");
    assert_eq!(state(&workspace), STATE);
}

#[test]
fn a_file_that_is_missing_empty_or_damaged() {
    let workspace = Workspace::new();
    assert_eq!(workspace.run("card", &["import", "--from", "task-state"]).ok().is_quiet().stdout(), "");
    fs::write(workspace.path(".task-state.json"), " \n").unwrap();
    assert_eq!(workspace.run("card", &["import", "--from", "task-state"]).ok().is_quiet().stdout(), "");
    let cut = &STATE[..250];
    fs::write(workspace.path(".task-state.json"), cut).unwrap();
    workspace.run("card", &["import", "--from", "task-state"]).exits(65).complains("ends too early").complains("it is left alone");
    assert_eq!(state(&workspace), cut);
    workspace.run_with("card", &["import", "--from", "task-state", "-"], STATE).ok();
    // One from a pipe has no file.
    assert_eq!(workspace.card(ID)["metadata"].get("task_state_file"), None);
    // The card goes on when its file cannot be written.
    let workspace = with_state();
    workspace.run("card", &["import", "--from", "task-state"]).ok();
    fs::write(workspace.path(".task-state.json"), cut).unwrap();
    workspace.run("checkpoint", &[ID, "--step", "写草稿"]).ok().complains("is not kept up to date");
    assert_eq!((state(&workspace).as_str(), &workspace.card(ID)["steps"][1]["status"]), (cut, &json!("done")));
}

/// Where the skill keeps it when the workspace has none.
#[test]
fn the_main_workspace_is_looked_at_after_this_one() {
    let workspace = Workspace::new();
    fs::create_dir_all(workspace.path("home/.openclaw/workspace-main")).unwrap();
    fs::write(workspace.path("home/.openclaw/workspace-main/.task-state.json"), STATE).unwrap();
    let card = workspace.run("card", &["import", "--from", "task-state"]).ok().one();
    let file = workspace.path("home/.openclaw/workspace-main/.task-state.json");
    assert_eq!(card["metadata"]["task_state_file"], word(&file));
    workspace.run("card", &["cancel", ID]).ok();
    assert!(!file.exists());
}

#[test]
fn a_task_status_file_becomes_a_card_with_all_that_it_held() {
    let workspace = Workspace::new();
    let mut told = json!({"taskId": "crawl-7", "taskType": "crawl", "status": "running", "message": "250 of 1000",
        "progress": {"current": 250, "total": 1000, "percentage": 25.0}, "requiresInput": null,
        "history": [{"at": "2026-03-30T01:00:00Z", "message": "begun"}], "updatedAt": "2026-03-30T01:30:00Z", "extensions": {"x": [1]}});
    let import = |told: &Value| workspace.run_with("card", &["import", "--from", "task-status", "-"], &told.to_string()).ok().one();
    let card = import(&told);
    assert_eq!(
        (&card["task_type"], &card["status"], &card["checkpoints"][0]["message"]),
        (&json!("crawl"), &json!("running"), &json!("250 of 1000"))
    );
    let mut kept = told.clone();
    kept.as_object_mut().unwrap().retain(|name, _| name != "taskId" && name != "taskType");
    assert_eq!(card["metadata"]["task_status"], kept);
    assert_eq!(import(&told), card);
    told["status"] = "waiting_for_input".into();
    told["requiresInput"] = "which region?".into();
    let card = import(&told);
    assert_eq!(
        (&card["status"], &card["attention"]["reason"], &card["attention"]["detail"]),
        (&json!("needs_attention"), &json!("waiting_for_input"), &json!("which region?"))
    );
    assert_eq!(workspace.run("watch", &[]).ok().one()["reason"], "waiting_for_input");
    told["status"] = "completed".into();
    assert_eq!(import(&told)["status"], "completed");
    workspace
        .run_with("card", &["import", "--from", "task-status", "-"], "{\"taskId\":\"x\",\"status\":\"odd\"}")
        .exits(65)
        .complains("status is \"odd\"");
}

/// Ten thousand of them are in `make bench`, with the time that it takes.
#[test]
fn cards_of_the_predecessor_move_in_with_one_command() {
    const CARDS: usize = 500;
    let workspace = Workspace::new();
    let old = workspace.path("old cards");
    fs::create_dir(&old).unwrap();
    let card = |id: &str| {
        json!({"id": id, "task_type": "t", "title": "旧", "status": "blocked", "phase": "collect", "created_at": "2026-03-30T01:00:00",
            "meta": {"k": 1}, "artifacts": {"raw": "/r"}, "safe_to_retry": false, "unknown": [1.10]})
    };
    for number in 0..CARDS {
        fs::write(old.join(format!("t{number}.json")), card(&format!("t{number}")).to_string()).unwrap();
    }
    fs::write(old.join("cut.json"), "{\"id\": \"cut\"").unwrap();
    fs::write(old.join("other.json"), card("t1").to_string()).unwrap();
    // What is no file hides no other.
    fs::create_dir(old.join("a folder.json")).unwrap();
    fs::create_dir(old.join("folder.json")).unwrap();
    let folder = word(&old).to_owned();
    let ran = workspace.run("card", &["import", "--from", "task-runtime", &folder]);
    ran.exits(65);
    let said = ran.stderr();
    assert!(
        said.lines().count() == 4
            && said.contains("/folder.json is not taken: it is a folder")
            && said.contains("cut.json is not taken: ")
            && said.contains("other.json is not taken: "),
        "{said}"
    );
    assert_eq!(ran.json().len(), CARDS);
    let moved = workspace.card("t77");
    assert_eq!(
        (&moved["task_id"], &moved["status"], &moved["metadata"], &moved["manual_phases"]),
        (&json!("t77"), &json!("needs_attention"), &json!({"k": 1}), &json!(["collect"]))
    );
    assert_eq!(
        (&moved["artifacts"], moved["unknown"].as_array().map(Vec::len)),
        (&json!({"phase_collect": {"raw": "/r"}}), Some(1))
    );
    // Again, when some went on here: nothing is undone, nothing is made twice.
    workspace.run("card", &["approve", "t77"]).ok();
    assert_eq!(workspace.run("card", &["import", "--from", "task-runtime", &folder]).exits(65).stdout(), "");
    assert_eq!(workspace.card("t77")["status"], "running");
    // In place: only what the predecessor wrote is given today's names.
    let here = Workspace::new();
    here.put_card("t1", &card("t1").to_string());
    here.run("card", &["create", "mine", "--task-type", "t", "--title", "x"]).ok();
    let args = ["import", "--from", "task-runtime", "data/task-runs"];
    assert_eq!(here.run("card", &args).ok().one()["task_id"], "t1");
    assert_eq!(here.run("card", &args).ok().stdout(), "");
    assert_eq!((&here.card("t1")["status"], &here.card("mine")["revision"]), (&json!("needs_attention"), &json!(1)));
}

/// Between the card's last write and the removal of its file.
#[test]
fn a_file_that_a_killed_writer_left_goes_when_the_end_is_said_again() {
    let workspace = with_state();
    workspace.run("card", &["import", "--from", "task-state"]).ok();
    let text = state(&workspace);
    workspace.run("card", &["complete", ID]).ok();
    // Begun anew under the old name: it is not this task's end that removes it.
    fs::write(workspace.path(".task-state.json"), &text).unwrap();
    workspace.run("card", &["complete", ID]).ok();
    assert_eq!(state(&workspace), text);
    workspace.shell("touch -t 202601010000 .task-state.json").ok();
    workspace.run("card", &["complete", ID]).ok();
    assert!(!workspace.path(".task-state.json").exists());
}

#[test]
fn of_two_steps_of_one_name_the_open_one_is_marked() {
    let workspace = Workspace::new();
    let told =
        r#"{"taskId": "a", "steps": [{"name": "test", "status": "done", "result": "1"}, {"name": "test", "status": "pending"}]}"#;
    workspace.run_with("card", &["import", "--from", "task-state", "-"], told).ok();
    workspace.run("checkpoint", &["a", "--step", "test", "--result", "2"]).ok();
    let card = workspace.card("a");
    assert_eq!(
        (&card["steps"][0]["result"], &card["steps"][1]["result"], &card["steps"][1]["status"]),
        (&json!("1"), &json!("2"), &json!("done"))
    );
}
