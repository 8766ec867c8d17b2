//! `card report` at the start of a session.

use std::fs;

use serde_json::json;
use tests::{Workspace, root};

const STATE: &str = r#"{"version": 1, "taskId": "q3", "createdAt": "2026-03-30T09:00:00+08:00", "updatedAt": "2026-03-30T09:30:00+08:00",
  "description": "整理季度报告", "status": "in_progress",
  "steps": [{"name": "收集数据", "status": "done", "result": "12 份"}, {"name": "写草稿", "status": "pending"}, {"name": "发给小王", "status": "pending"}],
  "context": {"file": "/data/草稿.md", "budget": 1.50}, "lastCheckpoint": "2026-03-30T09:30:00+08:00"}"#;

/// Compares with a golden text; UPDATE_GOLDEN=1 writes it anew, to be read.
#[track_caller]
fn is_golden(name: &str, text: &str) {
    let path = root().join("tests/fixtures/text/unfinished").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    assert_eq!(text, fs::read_to_string(&path).unwrap_or_default(), "{}", path.display());
}

fn both(workspace: &Workspace, name: &str, args: &[&str]) {
    for lang in ["en", "zh"] {
        let args = [&["report", "--lang", lang], args].concat();
        is_golden(&format!("{name}.{lang}.txt"), &workspace.run("card", &args).ok().is_quiet().stdout());
    }
}

fn put(workspace: &Workspace, id: &str, fields: &serde_json::Value) {
    let mut card = json!({"schema_version": 1, "revision": 1, "task_id": id, "task_type": "t", "title": format!("Task {id}"),
        "created_at": "2026-03-30T01:00:00Z", "updated_at": "2026-03-30T01:00:00Z", "status": "running", "phase": ""});
    card.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    workspace.put_card(id, &card.to_string());
}

fn put_five(workspace: &Workspace) {
    put(
        workspace,
        "one",
        &json!({"steps": [{"name": "a", "status": "done"}, {"name": "b", "status": "failed", "result": {"code": 3}}]}),
    );
    put(
        workspace,
        "timed_out",
        &json!({"status": "stalled", "phase": "analyze", "resume_adapter": "/a.sh", "attempt": 2, "retry_count": 1,
            "outcome": {"at": "2026-03-30T02:00:00Z", "attempt": 2, "kind": "timeout", "detail": "longer than its time-out"},
            "artifacts": {"phase_collect": {"raw": "/data/raw.json"}},
            "checkpoints": [{"phase": "collect", "at": "2026-03-30T01:30:00Z", "message": "all 1000 sources"}],
            "last_checkpoint_at": "2026-03-30T01:30:00Z"}),
    );
    put(
        workspace,
        "approval",
        &json!({"status": "needs_attention", "phase": "send_email", "resume_argv": ["true"], "metadata": {"pending_action": "send 40 mails"},
            "attention": {"reason": "non_idempotent_phase_blocked", "detail": "40 people get it", "since": "2026-03-30T01:10:00Z"}}),
    );
    put(workspace, "bare", &json!({"title": "", "phase": "collect"}));
    put(
        workspace,
        "hostile",
        &json!({"title": "a\u{1b}[31m`b`\nc", "context": {"k": "x\ny"}, "last_checkpoint_at": "2026-03-30T00:59:00Z"}),
    );
    put(workspace, "waits", &json!({"status": "pending"}));
    put(workspace, "over", &json!({"status": "completed"}));
}

#[test]
fn the_report_says_what_is_recorded_in_both_languages() {
    let workspace = Workspace::new();
    assert_eq!(workspace.run("card", &["report"]).ok().is_quiet().stdout(), "");
    fs::write(workspace.path("s.json"), STATE).unwrap();
    workspace.run("card", &["import", "--from", "task-state", "s.json"]).ok();
    both(&workspace, "one", &[]);
    both(&workspace, "one-plain", &["--plain"]);
    let workspace = Workspace::new();
    put_five(&workspace);
    both(&workspace, "five", &[]);
    both(&workspace, "without-steps", &["bare"]);
    both(&workspace, "timed-out", &["timed_out"]);
    both(&workspace, "approval", &["approval"]);
    both(&workspace, "not-begun", &["waits"]);
    assert_eq!(workspace.run("card", &["report", "over"]).ok().stdout(), "");
    workspace.run("card", &["report", "nobody"]).exits(66).complains("no task nobody");
    // No machine needs the locale.
    let chinese = workspace.shell("LC_ALL=zh_CN.UTF-8 card report bare").ok().stdout();
    assert!(chinese.contains("任务恢复") && chinese.contains("是否继续执行？"), "{chinese}");
}

#[test]
fn a_task_is_gone_on_with_and_its_file_goes_when_it_is_done() {
    let workspace = Workspace::new();
    fs::write(workspace.path(".task-state.json"), STATE).unwrap();
    let script = "card import --from task-state >/dev/null && card report --lang zh && card approve q3 >/dev/null &&\n\
                  checkpoint q3 --step 写草稿 --result 第一版 >/dev/null && checkpoint q3 --step 发给小王 >/dev/null";
    let told = workspace.shell(script).ok().is_quiet().stdout();
    for heading in ["🔄 任务恢复", "📋 之前的任务", "✅ 已完成", "⏳ 待完成", "💡 是否继续执行？"] {
        assert!(told.contains(heading), "{told}");
    }
    // All steps are done; that it is finished is for whoever does it to say.
    assert_eq!(workspace.card("q3")["status"], "running");
    assert!(workspace.run("card", &["report"]).ok().stdout().contains("发给小王"));
    workspace.run("card", &["complete", "q3"]).ok();
    assert!(!workspace.path(".task-state.json").exists());
    assert_eq!(workspace.run("card", &["report"]).ok().stdout(), "");
    assert_eq!(workspace.shell("card import --from task-state && card report").ok().stdout(), "");
}

#[test]
fn a_task_is_given_up_or_asked_for_again() {
    let workspace = Workspace::new();
    fs::write(workspace.path(".task-state.json"), STATE).unwrap();
    let session = "card import --from task-state >/dev/null && card report";
    let first = workspace.shell(session).ok().stdout();
    // No answer: the next session asks the same, and nobody brought it back meanwhile.
    assert_eq!(workspace.shell("watch | resume").ok().stdout(), "");
    assert_eq!(workspace.shell(session).ok().stdout(), first);
    assert_eq!(workspace.shell("watch --now 2027-01-01T00:00:00Z").ok().stdout(), "");
    workspace.run("card", &["cancel", "q3"]).ok();
    assert!(!workspace.path(".task-state.json").exists());
    assert_eq!(workspace.shell(session).ok().stdout(), "");
}

#[test]
fn what_is_at_work_is_not_asked_for() {
    let workspace = Workspace::new();
    fs::write(workspace.path("hold"), "").unwrap();
    let adapter = workspace.write("a.sh", "#!/bin/sh\n: >runs\nwhile [ -e hold ]; do sleep 0.02; done\n");
    let create =
        ["create", "a", "--task-type", "t", "--title", "x", "--status", "pending", "--resume-adapter", tests::word(&adapter)];
    workspace.run("card", &create).ok();
    let mut command = workspace.command("resume");
    command.arg("a");
    let resume = tests::Background::start(command);
    tests::eventually("it runs", || workspace.path("runs").exists());
    let told = workspace.run("card", &["report"]).ok().stdout();
    assert!(told.contains("An attempt is at work on it now.") && !told.contains("Go on"), "{told}");
    fs::remove_file(workspace.path("hold")).unwrap();
    resume.output();
}
