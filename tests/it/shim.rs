//! The Python shim: adapters and commands that people wrote for the Python task runtime go on working.
//!
//! The adapters here were written for these tests, against the functions that its manuals name. The scripts stand in a workspace as
//! an installer puts them: `scripts/`, with the programs in `bin/`.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tests::{Background, Ran, Workspace, eventually, minutes_from_now, programs, root, word};

/// Every adapter begins so.
const PRELUDE: &str = r#"#!/usr/bin/env python3
import argparse, json, os, subprocess, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "scripts"))
from task_runtime import append_history, load_card, load_run_card, now_iso, save_card, update_run_card, RunCard, TaskRuntimeError
parser = argparse.ArgumentParser()
parser.add_argument("--task-id", required=True)
parser.add_argument("--timeout-seconds", type=int, default=180)
args = parser.parse_args()
"#;

/// Phase by phase, with a card that is a dictionary.
const DICTIONARY: &str = r#"
try:
    card = load_card(args.task_id)
    artifacts = card.get("artifacts") if isinstance(card.get("artifacts"), dict) else {}
    if card.get("phase") == "collect":
        artifacts["raw"] = os.path.abspath("raw.txt")
        artifacts["rows"] = 3
        with open(artifacts["raw"], "w") as file:
            file.write("1 2 3")
        card["artifacts"], card["phase"] = artifacts, "render"
        append_history(card, "collected", phase=card["phase"], message="3 of 3")
    elif card.get("phase") == "render":
        with open(artifacts["raw"]) as file:
            words = file.read().split()
        assert len(words) == artifacts["rows"]
        artifacts["report"] = os.path.abspath("report.txt")
        with open(artifacts["report"], "w") as file:
            file.write(str(sum(map(int, words))))
        card["artifacts"], card["phase"], card["status"] = dict(artifacts), "rendered", "done"
        append_history(card, "rendered", phase=card["phase"], status=card["status"], extra={"rows": len(words)})
    else:
        raise RuntimeError("no safe phase: %s" % card.get("phase"))
    card["last_checkpoint_at"] = now_iso()
    card["updated_at"] = card["last_checkpoint_at"]
    save_card(card)
except Exception as error:
    print(json.dumps({"ok": False, "error": str(error)}), file=sys.stderr)
    sys.exit(2)
print(json.dumps({"task_id": card.get("id"), "ok": True}, indent=2))
"#;

/// The same with a `RunCard`.
const ATTRIBUTES: &str = r#"
card = load_run_card(args.task_id)
assert isinstance(card, RunCard) and isinstance(card, dict)
if card.phase == "collect":
    card = update_run_card(card, phase="render", artifacts={"phase_collect": {"raw": "/raw"}}, last_checkpoint_at=now_iso())
else:
    assert card.artifacts["phase_collect"]["raw"] == card.artifacts["raw"] == "/raw", card.artifacts
    card.meta["rows"] = 3
    card.status = "done"
    save_card(card)
print(json.dumps({"ok": True, "phase": card.phase}))
"#;

/// A workspace with the scripts in it; none where there is no Python.
fn shimmed() -> Option<Workspace> {
    let workspace = Workspace::new();
    if workspace.shell("python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))'").status() != Some(0) {
        tests::skip("python3 is not installed, or older than 3.8");
        return None;
    }
    for folder in ["scripts", "bin"] {
        fs::create_dir(workspace.path(folder)).unwrap();
    }
    for entry in fs::read_dir(root().join("heartbeat-install/assets/scripts")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "py") {
            fs::copy(&path, workspace.path("scripts").join(path.file_name().unwrap())).unwrap();
        }
    }
    for program in ["card", "checkpoint", "watch", "resume"] {
        symlink(programs().join(program), workspace.path("bin").join(program)).unwrap();
    }
    Some(workspace)
}

fn python(workspace: &Workspace, words: &[&str]) -> Command {
    let mut command = Command::new("/bin/sh");
    // Isolated, and with every warning an error: nothing of ours may lean on a surrounding or be on its way out.
    command.args(["-c", "exec python3 -I -W error \"$@\"", "sh"]).args(words).current_dir(workspace.path(""));
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", workspace.path("home"));
    command
}

/// Runs one of the scripts.
fn script<'a>(workspace: &'a Workspace, name: &str, args: &[&str]) -> Ran<'a> {
    let path = workspace.path("scripts").join(name);
    workspace.finish(python(workspace, &[&[word(&path)], args].concat()), None)
}

fn answer(ran: &Ran<'_>) -> Value {
    serde_json::from_str(ran.ok().stdout().as_str()).unwrap_or_else(|error| panic!("{error}\n{ran}"))
}

fn refusal(ran: &Ran<'_>, exit: i32) -> Value {
    ran.exits(exit);
    serde_json::from_str(ran.stderr().as_str()).unwrap_or_else(|error| panic!("{error}\n{ran}"))
}

/// Runs Python code that has the functions.
fn code<'a>(workspace: &'a Workspace, text: &str) -> Ran<'a> {
    workspace.finish(python(workspace, &["-c", &with_functions(workspace, text)]), None)
}

fn with_functions(workspace: &Workspace, text: &str) -> String {
    format!("import json, subprocess, sys\nsys.path.insert(0, {:?})\nfrom task_runtime import *\n{text}", workspace.path("scripts"))
}

/// A silent task with this adapter.
fn add_task(workspace: &Workspace, id: &str, adapter: &str) {
    let path = workspace.write(&format!("{id}_resume.py"), &format!("{PRELUDE}{adapter}"));
    let at = minutes_from_now(-45);
    let args = ["create", id, "--task-type", "t", "--title", "x", "--phase", "collect", "--allow-auto-resume", "--now", &at];
    workspace.run("card", &[&args[..], &["--resume-adapter", word(&path)]].concat()).ok();
}

/// A running task that was just made.
fn add_card(workspace: &Workspace, id: &str) {
    workspace.run("card", &["create", id, "--task-type", "t", "--title", "x", "--phase", "collect"]).ok();
}

#[test]
fn an_old_adapter_gets_its_task_to_its_end() {
    let Some(workspace) = shimmed() else { return };
    add_task(&workspace, "old", DICTIONARY);
    let line = workspace.shell("watch | resume").ok().one();
    assert_eq!(
        (&line["signal"], &line["from_phase"], &line["to_phase"]),
        (&json!("recovery"), &json!("collect"), &json!("render"))
    );
    let card = workspace.card("old");
    assert_eq!(card["artifacts"], json!({"phase_collect": {"raw": word(&workspace.path("raw.txt"))}}));
    assert_eq!(card["artifact_values"], json!({"rows": 3}));
    assert_eq!((&card["status"], &card["checkpoints"][0]["message"]), (&json!("running"), &json!("3 of 3")));

    let report = answer(&script(&workspace, "task_runtime_resume.py", &["--task-id", "old", "--timeout-seconds", "60"]));
    assert_eq!((&report["ok"], &report["task_id"], &report["result"]["ok"]), (&json!(true), &json!("old"), &json!(true)));
    assert_eq!(fs::read_to_string(workspace.path("report.txt")).unwrap(), "6");
    let card = workspace.card("old");
    assert_eq!((&card["status"], &card["phase"]), (&json!("completed"), &json!("rendered")));
    assert_eq!(card["artifacts"]["phase_render"], json!({"report": word(&workspace.path("report.txt"))}));
    let events: Vec<&Value> = card["history"].as_array().unwrap().iter().map(|entry| &entry["event"]).collect();
    assert_eq!(events, ["collected", "rendered"]);
    assert_eq!(card["history"][1]["extra"], json!({"rows": 3}));

    let told = refusal(&script(&workspace, "task_runtime_resume.py", &["--task-id", "old"]), 2);
    assert_eq!((&told["ok"], &told["error"]), (&json!(false), &told["error"]));
    assert!(told["error"].as_str().unwrap().contains("is completed"), "{told}");
}

#[test]
fn a_run_card_has_its_fields_as_attributes() {
    let Some(workspace) = shimmed() else { return };
    add_task(&workspace, "new", ATTRIBUTES);
    workspace.shell("watch | resume").ok();
    assert_eq!(workspace.card("new")["artifacts"], json!({"phase_collect": {"raw": "/raw"}}));
    assert!(answer(&script(&workspace, "task_runtime_resume.py", &["--task-id", "new"]))["ok"] == true);
    let card = workspace.card("new");
    assert_eq!((&card["status"], &card["metadata"]), (&json!("completed"), &json!({"rows": 3})));

    add_card(&workspace, "a");
    let told = code(
        &workspace,
        r#"card = update_run_card("a", {"phase": "render"}, notes="n", metadata={"k": "v"})
print(json.dumps([card.id, card.task_id, card.phase, card.notes, card.metadata, card.status, hasattr(card, "nothing")]))"#,
    );
    assert_eq!(answer(&told), json!(["a", "a", "render", "n", {"k": "v"}, "running", false]));
}

#[test]
fn a_card_that_the_old_runtime_wrote_is_brought_back() {
    let Some(workspace) = shimmed() else { return };
    let adapter = workspace.write("old_resume.py", &format!("{PRELUDE}{DICTIONARY}"));
    fs::write(workspace.path("raw.txt"), "4 5").unwrap();
    let card = json!({"id": "old", "task_type": "t", "title": "x", "mode": "overnight", "owner_skill": "", "status": "running",
        "phase": "render", "created_at": "2026-01-01T08:00:00+08:00", "updated_at": "2026-01-01T08:00:00+08:00",
        "last_checkpoint_at": minutes_from_now(-45), "allow_auto_resume": true, "safe_to_retry": true, "stale_after_minutes": 30,
        "retry_count": 0, "max_retries": 2, "resume_adapter": adapter, "resume_command": null, "artifacts": {"raw": workspace.path("raw.txt")},
        "notes": "", "meta": {"rows": "2"}, "history": [{"at": "2026-01-01T08:00:00+08:00", "event": "created"}]});
    workspace.put_card("old", &card.to_string());
    let loaded = answer(&code(
        &workspace,
        "card = load_card('old')\nprint(json.dumps([card['id'], card['meta'], card['artifacts'], card['safe_to_retry']]))",
    ));
    assert_eq!(loaded, json!(["old", {"rows": "2"}, {"raw": workspace.path("raw.txt")}, true]));
    // Not known to the adapter's assertion: this card's rows are text.
    answer(&code(
        &workspace,
        "card = load_card('old')\ncard['artifacts']['rows'] = int(card['meta'].pop('rows'))\nsave_card(card)\nprint('{}')",
    ));
    let report = answer(&script(&workspace, "task_runtime_watch.py", &["--auto-resume", "--timeout-seconds", "60"]));
    assert_eq!(report["recoveries"][0]["task_id"], "old", "{report:#}");
    assert_eq!(fs::read_to_string(workspace.path("report.txt")).unwrap(), "9");
    let card = workspace.card("old");
    assert_eq!((&card["task_id"], &card["status"], &card["mode"]), (&json!("old"), &json!("completed"), &json!("overnight")));
    assert_eq!(card["history"].as_array().unwrap().len(), 2);
}

#[test]
fn the_commands_and_their_json() {
    let Some(workspace) = shimmed() else { return };
    let run = |args: &[&str]| script(&workspace, "task_runtime.py", args);
    let create = ["create", "--task-id", "Weekly Report", "--task-type", "report", "--title", "月报", "--mode", "overnight"];
    let more =
        ["--phase", "collect", "--resume-adapter", "skills/report/task_resume.py", "--allow-auto-resume", "--max-retries", "2"];
    let made = answer(&run(&[&create[..], &more].concat()));
    let id = "weekly-report";
    let path = workspace.card_path("weekly-report.json");
    let adapter = workspace.path("skills/report/task_resume.py");
    let command = made["task"]["resume_command"].as_str().unwrap();
    assert!(command.contains("task_runtime_resume.py") && command.ends_with("--task-id weekly-report"), "{command}");
    let expected = json!({"task_id": id, "task_path": path, "task_type": "report", "title": "月报", "mode": "overnight", "status": "running",
        "phase": "collect", "retry_count": 0, "max_retries": 2, "allow_auto_resume": true, "stale_after_minutes": 30,
        "seconds_since_checkpoint": made["task"]["seconds_since_checkpoint"], "artifacts": {}, "resume_command": command,
        "resume_adapter": adapter, "watchdog": {}});
    assert_eq!(made, json!({"ok": true, "action": "create", "task": expected}));

    let task = |args: &[&str], action: &str| {
        let told = answer(&run(args));
        assert_eq!((&told["ok"], &told["action"]), (&json!(true), &json!(action)), "{told:#}");
        told["task"].clone()
    };
    let checkpoint = ["checkpoint", "Weekly Report", "--phase", "render", "--artifact", "input=/tmp/n.json", "--message", "ready"];
    let told = task(&checkpoint, "checkpoint");
    assert_eq!((&told["phase"], &told["artifacts"]), (&json!("render"), &json!({"input": "/tmp/n.json"})));
    assert_eq!(workspace.card(id)["checkpoints"][0]["message"], "ready");
    let update =
        ["update", id, "--title", "New", "--meta", "k=v", "--no-safe-to-retry", "--stale-after-minutes", "5", "--message", "why"];
    let told = task(&update, "update");
    assert_eq!((&told["title"], &told["stale_after_minutes"]), (&json!("New"), &json!(5)));
    assert_eq!(workspace.card(id)["manual_phases"], json!(["render"]));
    assert_eq!(workspace.card(id)["history"][0]["message"], "why");
    assert_eq!(task(&["mark-retry", id, "--error", "timed out"], "mark-retry")["retry_count"], 1);
    let card = task(&["inspect", id], "inspect");
    assert_eq!((&card["id"], &card["meta"], &card["safe_to_retry"]), (&json!(id), &json!({"k": "v"}), &json!(false)));
    assert_eq!(card["last_resume_error"], "timed out");
    assert_eq!(task(&["block", id, "--message", "waiting"], "blocked")["status"], "blocked");
    assert_eq!(workspace.card(id)["attention"]["detail"], "waiting");
    assert_eq!(task(&["update", id, "--status", "running"], "update")["status"], "running");
    assert_eq!(task(&["complete", id, "--artifact", "out=/tmp/o", "--notes", "n"], "complete")["status"], "done");
    assert_eq!((&workspace.card(id)["status"], &workspace.card(id)["notes"]), (&json!("completed"), &json!("n")));

    answer(&run(&["create", "--task-id", "b", "--task-type", "other", "--title", "x"]));
    assert_eq!(task(&["fail", "b"], "failed")["status"], "failed");
    for (args, ids) in [
        (&["list", "--task-type", "report"][..], vec![id]),
        (&["list", "--status", "done"], vec![id]),
        (&["list", "--status", "failed"], vec!["b"]),
        (&["list", "--only-stale"], vec![]),
        (&["stale", "--require-resume-command"], vec![]),
    ] {
        let told = answer(&run(args));
        let listed: Vec<&str> = told["tasks"].as_array().unwrap().iter().map(|task| task["task_id"].as_str().unwrap()).collect();
        assert_eq!((listed, &told["count"]), (ids.clone(), &json!(ids.len())), "{args:?}");
    }
    let told = refusal(&run(&["inspect", "nothing"]), 1);
    assert!(told["ok"] == false && told["error"].as_str().unwrap().starts_with("task not found"), "{told}");
    assert_eq!(refusal(&run(&["checkpoint", id]), 1)["ok"], false);
    assert_eq!(refusal(&run(&[&create[..], &more].concat()), 1)["ok"], false);
    run(&["create"]).exits(2);
}

#[test]
fn a_command_runs_in_the_workspace_and_artifacts_that_are_no_files_stay_as_they_are() {
    let Some(workspace) = shimmed() else { return };
    let run = |args: &[&str]| answer(&script(&workspace, "task_runtime.py", args))["task"].clone();
    let given =
        ["--resume-command", "sh -c 'touch \"was here\"'", "--status", "pending", "--artifact", "url=https://example.org/a"];
    let made =
        run(&[&["create", "--task-id", "c", "--task-type", "t", "--title", "x", "--allow-auto-resume"], &given[..]].concat());
    assert_eq!((&made["resume_adapter"], &made["resume_command"]), (&Value::Null, &json!("sh -c 'touch \"was here\"'")));
    fs::write(workspace.path("here.txt"), "").unwrap();
    let told = run(&["checkpoint", "c", "--artifact", "count=5", "--artifact", "file=here.txt", "--artifact", "gone=/gone"]);
    let file = workspace.path("here.txt");
    assert_eq!(told["artifacts"], json!({"url": "https://example.org/a", "count": "5", "file": file, "gone": "/gone"}));
    let report = answer(&script(&workspace, "task_runtime_resume.py", &["--task-id", "c"]));
    assert_eq!((&report["ok"], &report["adapter"], &report["status"]), (&json!(true), &Value::Null, &json!("done")), "{report:#}");
    assert!(workspace.path("was here").exists());
    // A command that only calls the adapter is what the older runtime made by itself of an adapter.
    let dispatcher = ["--resume-command", "python3 scripts/task_runtime_resume.py --task-id d", "--resume-adapter", "a.py"];
    run(&[&["create", "--task-id", "d", "--task-type", "t", "--title", "x"], &dispatcher[..]].concat());
    let card = workspace.card("d");
    assert_eq!((card["resume_adapter"].as_str(), card.get("resume_argv")), (workspace.path("a.py").to_str(), None));
}

#[test]
fn an_adapter_may_finish_its_task_and_forbid_to_retry_it_at_once() {
    let Some(workspace) = shimmed() else { return };
    let adapter = "card = load_card(args.task_id)\ncard.update(status='done', phase='sent', safe_to_retry=False, \
                   allow_auto_resume=False, last_checkpoint_at=now_iso())\nsave_card(card)\nprint(json.dumps({'status': 'done', 'ok': True}))\n";
    add_task(&workspace, "a", adapter);
    let report = answer(&script(&workspace, "task_runtime_resume.py", &["--task-id", "a"]));
    assert_eq!((&report["ok"], &report["result"]), (&json!(true), &json!({"status": "done", "ok": true})), "{report:#}");
    let card = workspace.card("a");
    assert_eq!((&card["status"], &card["phase"], &card["manual_phases"]), (&json!("completed"), &json!("sent"), &json!(["sent"])));
}

#[test]
fn what_went_silent_is_listed() {
    let Some(workspace) = shimmed() else { return };
    add_task(&workspace, "silent", DICTIONARY);
    let at = minutes_from_now(-45);
    workspace.run("card", &["create", "bare", "--task-type", "t", "--title", "x", "--allow-auto-resume", "--now", &at]).ok();
    workspace.run("card", &["create", "by_hand", "--task-type", "t", "--title", "x", "--now", &at]).ok();
    workspace.put_card("broken", "{");
    let ids = |args: &[&str]| {
        let told = answer(&script(&workspace, "task_runtime.py", args));
        let mut ids: Vec<String> = told["tasks"].as_array().unwrap().iter().map(|task| task["task_id"].to_string()).collect();
        ids.sort();
        ids.join(" ")
    };
    assert_eq!(ids(&["stale"]), "\"bare\" \"silent\"");
    assert_eq!(ids(&["list", "--only-stale"]), "\"bare\" \"silent\"");
    assert_eq!(ids(&["stale", "--require-resume-command"]), "\"silent\"");
    assert_eq!(ids(&["stale", "--task-type", "other"]), "");
}

#[test]
fn the_watchdogs_report() {
    let Some(workspace) = shimmed() else { return };
    let watch = |args: &[&str]| answer(&script(&workspace, "task_runtime_watch.py", args));
    let quiet = watch(&["--auto-resume"]);
    let empty = ["running", "stale", "alerts", "recoveries", "resumed", "skipped", "needs_attention", "active_needs_attention"];
    assert!(empty.iter().all(|name| quiet[name] == json!([])), "{quiet:#}");
    assert_eq!((&quiet["running_count"], &quiet["stale_count"]), (&json!(0), &json!(0)));

    add_task(&workspace, "good", DICTIONARY);
    add_task(&workspace, "bad", "sys.exit(3)\n");
    workspace.run("card", &["update", "bad", "--max-retries", "1"]).ok();
    let before = (workspace.card("good"), workspace.card("bad"));
    let seen = watch(&[]);
    assert_eq!((&seen["stale_count"], seen["alerts"].as_array().unwrap().len(), &seen["resumed"]), (&json!(2), 2, &json!([])));
    assert_eq!(seen["skipped"].as_array().unwrap().len(), 2);
    let planned = watch(&["--auto-resume", "--dry-run"]);
    assert!(planned["resumed"].as_array().unwrap().iter().all(|tried| tried["action"] == "dry-run"), "{planned:#}");
    assert_eq!((planned["resumed"].as_array().unwrap().len(), &planned["recoveries"]), (2, &json!([])));
    assert_eq!((workspace.card("good"), workspace.card("bad")), before);

    let pass = watch(&["--auto-resume", "--timeout-seconds", "60"]);
    let of = |name: &str, id: &str| pass[name].as_array().unwrap().iter().find(|entry| entry["task_id"] == id).cloned().unwrap();
    assert_eq!((&of("alerts", "good")["kind"], &of("alerts", "good")["task_type"]), (&json!("silent"), &json!("t")));
    assert!(of("alerts", "good")["message"].as_str().unwrap().starts_with("t:good went silent for "), "{pass:#}");
    assert_eq!((&of("recoveries", "good")["to_phase"], &of("resumed", "good")["ok"]), (&json!("render"), &json!(true)));
    assert_eq!((&of("resumed", "bad")["ok"], &of("resumed", "bad")["outcome"]), (&json!(false), &json!("failed")));
    assert_eq!(of("needs_attention", "bad")["reason"], "retries_exhausted");
    assert!(!of("needs_attention", "bad")["summary"].as_str().unwrap().is_empty());
    let next = watch(&["--auto-resume"]);
    assert_eq!((&next["alerts"], &next["recoveries"], &next["needs_attention"]), (&json!([]), &json!([]), &json!([])));
    assert_eq!(next["active_needs_attention"][0]["task_id"], "bad");
    assert!(watch(&["--task-type", "other"])["running"] == json!([]));
}

#[test]
fn what_others_recorded_since_the_card_was_loaded_stays() {
    let Some(workspace) = shimmed() else { return };
    add_card(&workspace, "a");
    workspace.run("checkpoint", &["a", "--message", "1 of 3", "--artifact", "raw=/one", "--meta", "k=1", "--step", "s"]).ok();
    let told = code(
        &workspace,
        r#"card = load_card("a")
def other(*words):
    subprocess.run(["bin/" + words[0], *words[1:]], check=True, stdout=subprocess.DEVNULL)
other("checkpoint", "a", "--message", "2 of 3", "--artifact", "raw2=/two", "--meta", "l=2", "--step", "t", "--context", "c=1")
other("card", "update", "a", "--title", "theirs", "--max-retries", "9")
copied = json.loads(json.dumps(card))
copied["meta"]["m"] = 3
copied["artifacts"]["raw3"] = "/three"
copied["phase"] = "analyze"
copied["last_checkpoint_at"] = now_iso()
append_history(copied, "mine", message="3 of 3")
held = copied["artifacts"]
save_card(copied)
# What was written is what the script has now, also in the parts that it holds on to: it can go on.
assert held is copied["artifacts"] and held["raw2"] == "/two" and copied["title"] == "theirs", copied
other("card", "update", "a", "--notes", "theirs")
held["raw4"] = "/four"
save_card(copied)
print(json.dumps(load_card("a")["artifacts"]))"#,
    );
    assert_eq!(answer(&told), json!({"raw": "/one", "raw2": "/two", "raw3": "/three", "raw4": "/four"}));
    let card = workspace.card("a");
    let messages: Vec<&Value> = card["checkpoints"].as_array().unwrap().iter().map(|entry| &entry["message"]).collect();
    assert_eq!(messages, ["1 of 3", "2 of 3", "3 of 3"]);
    assert_eq!(card["metadata"], json!({"k": "1", "l": "2", "m": 3}));
    assert_eq!((&card["title"], &card["phase"], &card["max_retries"]), (&json!("theirs"), &json!("analyze"), &json!(9)));
    assert_eq!((&card["notes"], &card["context"]), (&json!("theirs"), &json!({"c": "1"})));
    assert_eq!((card["steps"].as_array().unwrap().len(), &card["history"][0]["event"]), (2, &json!("mine")));
}

#[test]
fn nothing_is_lost_when_many_save_at_once() {
    const WRITERS: usize = 4;
    const SAVES: usize = 8;
    let Some(workspace) = shimmed() else { return };
    add_card(&workspace, "a");
    let start = |writer: usize| {
        let text = format!(
            "for number in range({SAVES}):\n    card = load_card('a')\n    card['meta']['{writer}_%d' % number] = number\n    \
             append_history(card, '{writer}_%d' % number)\n    save_card(card)\n"
        );
        Background::start(python(&workspace, &["-c", &with_functions(&workspace, &text)]))
    };
    let writers: Vec<Background> = (0..WRITERS).map(start).collect();
    for writer in writers {
        let output = writer.output();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let card = workspace.card("a");
    assert_eq!(card["metadata"].as_object().unwrap().len(), WRITERS * SAVES);
    assert_eq!(card["history"].as_array().unwrap().len(), WRITERS * SAVES);
    assert_eq!(card["revision"], json!(1 + WRITERS * SAVES));
}

#[test]
fn a_replaced_attempt_cannot_save() {
    let Some(workspace) = shimmed() else { return };
    add_card(&workspace, "a");
    let mut card = workspace.card("a");
    card["attempt"] = json!(2);
    workspace.put_card("a", &card.to_string());
    let before = fs::read(workspace.card_path("a.json")).unwrap();
    let text = r#"card = load_card("a")
card["phase"] = "late"
try:
    save_card(card)
except Refused as error:
    assert isinstance(error, TaskRuntimeError)
    print(json.dumps(str(error)))"#;
    let late = |words: &[&str]| {
        let mut command = python(&workspace, words);
        command.env("TASK_ATTEMPT", "a/1/0123456789abcdef");
        workspace.finish(command, None)
    };
    let told = answer(&late(&["-c", &with_functions(&workspace, text)]));
    assert!(told.as_str().unwrap().contains("attempt"), "{told}");
    let path = workspace.path("scripts/task_runtime.py");
    let told = refusal(&late(&[word(&path), "checkpoint", "a", "--message", "late"]), 1);
    assert!(told["error"].as_str().unwrap().contains("attempt"), "{told}");
    assert_eq!(fs::read(workspace.card_path("a.json")).unwrap(), before);
    // The very same save by the newest attempt is none too late.
    let mut command = python(&workspace, &["-c", &with_functions(&workspace, text)]);
    command.env("TASK_ATTEMPT", "a/2/0123456789abcdef");
    workspace.finish(command, None).ok();
    assert_eq!(workspace.card("a")["phase"], "late");
}

#[test]
fn what_nobody_changed_keeps_its_text() {
    let Some(workspace) = shimmed() else { return };
    let text = "{\n  \"task_id\": \"a\",\n  \"status\": \"running\",\n  \"created_at\": \"2026-11-30T01:00:00Z\",\n  \"phase\": \"x\",\n  \
                \"z\": [1.10, 1e400, {\"deep\":   null}],\n  \"words\": \"\\u957f{}[],:\\\"\",\n  \"metadata\": {\"none\": null}\n}\n";
    workspace.put_card("a", text);
    code(&workspace, "card = load_card('a')\nsave_card(card)").ok();
    assert_eq!(fs::read_to_string(workspace.card_path("a.json")).unwrap(), text, "nothing was changed");
    code(&workspace, "card = load_card('a')\ncard['phase'] = 'y'\ncard['notes'] = None\nsave_card(card)").ok();
    let written = fs::read_to_string(workspace.card_path("a.json")).unwrap();
    for kept in ["[1.10, 1e400, {\"deep\":   null}]", "\"\\u957f{}[],:\\\"\"", "{\"none\": null}", "\"phase\": \"y\""] {
        assert!(written.contains(kept), "{kept} in {written}");
    }
}

#[test]
fn what_a_script_says_becomes_what_the_programs_know() {
    let Some(workspace) = shimmed() else { return };
    add_card(&workspace, "a");
    let change = |text: &str| {
        code(&workspace, &format!("card = load_card('a')\n{text}\nsave_card(card)")).ok();
        workspace.card("a")
    };
    assert_eq!(change("card['safe_to_retry'] = False")["manual_phases"], json!(["collect"]));
    assert_eq!(change("card['safe_to_retry'] = True")["manual_phases"], json!([]));
    let card = change("card['status'] = 'blocked'\nappend_history(card, 'stuck', message='no key')");
    assert_eq!((&card["status"], &card["attention"]["detail"]), (&json!("needs_attention"), &json!("no key")));
    let card = change("card['status'] = 'running'");
    assert_eq!((&card["status"], card.get("attention")), (&json!("running"), None));
    let card = change("card['attempt'] = 9\ncard['revision'] = card['revision']\ncard['run'] = {}\ncard['mine'] = {'k': [1]}");
    assert_eq!((card.get("attempt"), card.get("run"), &card["mine"]), (None, None, &json!({"k": [1]})));
    assert_eq!(change("card['resume_command'] = \"sh -c 'true x'\"")["resume_argv"], json!(["sh", "-c", "true x"]));
    let ran = code(&workspace, "card = load_card('a')\ncard['status'] = 'half'\nsave_card(card)");
    assert!(ran.exits(1).stderr().contains("TaskRuntimeError"), "{ran}");
    // Two checkpoints within a second are two.
    let twice = "at = now_iso()\nfor message in ('1 of 2', '2 of 2'):\n    card['last_checkpoint_at'] = at\n    \
                 append_history(card, 'step', message=message)\n    save_card(card)";
    let card = change(twice);
    let messages: Vec<&Value> = card["checkpoints"].as_array().unwrap().iter().map(|entry| &entry["message"]).collect();
    assert_eq!(messages, ["1 of 2", "2 of 2"]);
    assert_eq!(card["checkpoint_count"], 2);
    // A card that a script made by itself.
    let own = "save_card({'id': 'own', 'task_type': 't', 'title': 'x', 'status': 'running', 'phase': 'p', 'artifacts': {'a': '/a'}, \
               'allow_auto_resume': True, 'safe_to_retry': True, 'max_retries': 1, 'last_checkpoint_at': None, 'meta': {}, 'history': []})";
    code(&workspace, own).ok();
    let card = workspace.card("own");
    assert_eq!((&card["phase"], &card["artifacts"]), (&json!("p"), &json!({"phase_p": {"a": "/a"}})));
    assert_eq!((&card["allow_auto_resume"], &card["max_retries"]), (&json!(true), &json!(1)));
}

#[test]
fn importing_starts_nothing_and_needs_nothing() {
    let Some(workspace) = shimmed() else { return };
    add_card(&workspace, "a");
    fs::remove_dir_all(workspace.path("bin")).unwrap();
    let text = format!(
        "import sys\nstarted = []\nsys.addaudithook(lambda name, _: started.append(name) if name.startswith(('subprocess.', 'os.posix_spawn', \
         'os.fork', 'os.exec', 'os.system', 'socket.')) else None)\nsys.dont_write_bytecode = True\nsys.path.insert(0, {:?})\n\
         import task_runtime, task_runtime_watch, task_runtime_resume\nassert started == [], started\ntry:\n    card = task_runtime.load_card('a')\n    card['phase'] = 'x'\n    task_runtime.save_card(card)\n\
         except task_runtime.TaskRuntimeError as error:\n    print(error)",
        workspace.path("scripts")
    );
    let ran = workspace.finish(python(&workspace, &["-c", &text]), None);
    ran.ok().is_quiet();
    assert!(ran.stdout().contains("cannot find the programs"), "{ran}");
}

#[test]
fn a_signal_reaches_the_attempt_and_is_settled() {
    let Some(workspace) = shimmed() else { return };
    let hold = "import time\nopen('started', 'w').close()\nwhile os.path.exists('hold'):\n    time.sleep(0.01)\n";
    workspace.write("hold", "");
    add_task(&workspace, "a", hold);
    let path = workspace.path("scripts/task_runtime_resume.py");
    let script = Background::start(python(&workspace, &[word(&path), "--task-id", "a"]));
    eventually("the adapter runs", || workspace.path("started").exists());
    kill(Pid::from_raw(script.0.id().cast_signed()), Signal::SIGTERM).unwrap();
    let output = script.output();
    assert_eq!(output.status.code(), Some(128 + 15), "{}", String::from_utf8_lossy(&output.stderr));
    let card = workspace.card("a");
    assert_eq!((&card["status"], &card["outcome"]["kind"], card.get("run")), (&json!("stalled"), &json!("postponed"), None));
}

#[test]
fn odd_cards_and_texts() {
    let Some(workspace) = shimmed() else { return };
    // A line for Python, none for JSON.
    workspace
        .run("card", &["create", "a", "--task-type", "t", "--title", "one\u{2028}two\u{85}three", "--now", &minutes_from_now(-45)])
        .ok();
    let told = answer(&script(&workspace, "task_runtime.py", &["list"]));
    assert_eq!(told["tasks"][0]["title"], "one\u{2028}two\u{85}three");
    answer(&script(&workspace, "task_runtime_watch.py", &["--auto-resume"]));
    // Renamed where they stand.
    let old =
        r#"{"id":"old","title":"x","status":"running","created_at":"2026-11-30T01:00:00Z","meta":{"k":1},"phase":"p","last":1}"#;
    workspace.put_card("old", old);
    code(&workspace, "card = load_card('old')\ncard['phase'] = 'q'\nsave_card(card)").ok();
    let card = workspace.card("old");
    let names: Vec<&String> = card.as_object().unwrap().keys().take(7).collect();
    assert_eq!(names, ["task_id", "title", "status", "created_at", "metadata", "phase", "last"]);
    // Nothing waits for what is no file, and what is no card is refused in one sentence.
    workspace.shell("mkfifo data/task-runs/pipe.json").ok();
    for (id, text) in [("bad", "{\"task_id\": \"bad\"}"), ("worse", "{"), ("list", "[]"), ("more", "{} x")] {
        workspace.put_card(id, text);
    }
    for id in ["pipe", "bad", "worse", "list", "more"] {
        let told = refusal(&script(&workspace, "task_runtime.py", &["inspect", id]), 1);
        assert!(told["error"].as_str().unwrap().contains(id), "{told}");
    }
}
