//! The OpenClaw plugin, run by Node.js with a stand-in of OpenClaw that replays hook events.
//!
//! The streams are cut from recorded ones; those of tools that throw, of a person's stop and of a
//! long answer are made in the same shapes.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tests::{Ran, Workspace, eventually, has_tool, root, skip, word};

use crate::installed::{asset, install};

fn fixture(name: &str) -> PathBuf {
    root().join("tests/fixtures/openclaw").join(name)
}

/// Whether a Node.js is here that OpenClaw's plugins can count on.
fn has_node() -> bool {
    if !has_tool("node") {
        return false;
    }
    let version = std::process::Command::new("node").args(["-p", "process.versions.node.split('.')[0]"]).output().unwrap();
    let major: u32 = String::from_utf8_lossy(&version.stdout).trim().parse().unwrap_or(0);
    if major < 18 {
        skip(&format!("Node.js {major} is too old"));
    }
    major >= 18
}

/// A workspace with the plugin and a `run-ended` in it.
fn place(workspace: &Workspace) -> PathBuf {
    let folder = install(workspace, "ws");
    let plugin = folder.join("plugins/task-recovery");
    std::fs::create_dir_all(&plugin).unwrap();
    for name in ["index.js", "runs.js", "package.json", "openclaw.plugin.json"] {
        workspace.write(word(&plugin.join(name)), &asset(&format!("plugin/{name}")));
    }
    workspace.write(word(&folder.join("bin/run-ended")), &asset("run-ended"));
    folder
}

fn replay<'a>(workspace: &'a Workspace, folder: &Path, streams: &[&str], more: &Value) -> Ran<'a> {
    let events: Vec<PathBuf> = streams.iter().map(|name| fixture(&format!("events/{name}.jsonl"))).collect();
    let mut wanted = json!({"plugin": folder.join("plugins/task-recovery/index.js"), "workspace": folder, "events": events});
    wanted.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let mut command = {
        let mut node = std::process::Command::new("node");
        let mut folders: Vec<PathBuf> = more["path"].as_str().map(PathBuf::from).into_iter().collect();
        folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        node.env_clear().current_dir(folder).env("PATH", std::env::join_paths(folders).unwrap());
        node.env("HOME", workspace.path("home")).env("TMPDIR", workspace.path("tmp"));
        node
    };
    std::fs::create_dir_all(workspace.path("tmp")).unwrap();
    command.arg(fixture("replay.mjs")).arg(wanted.to_string());
    workspace.finish(command, None)
}

/// What the plugin told of this stream, in every order and with a reload in between: always the same.
#[track_caller]
fn records(stream: &str) -> Vec<Value> {
    let workspace = Workspace::new();
    let folder = place(&workspace);
    let mut all: Vec<Vec<Value>> = Vec::new();
    for more in [json!({}), json!({"reversed": true}), json!({"reload": true}), json!({"reversed": true, "reload": true})] {
        let ran = replay(&workspace, &folder, &[stream], &more);
        let told = ran.ok().is_quiet().json();
        all.push(told.iter().map(|told| told["record"].clone()).collect());
    }
    let plain = |records: &Vec<Value>| -> Vec<Value> {
        // When it was told differs with the order, as the events' times do.
        records
            .iter()
            .map(|record| {
                let mut record = record.clone();
                record.as_object_mut().unwrap().remove("ended_at");
                record
            })
            .collect()
    };
    for other in &all[1..] {
        assert_eq!(plain(&all[0]), plain(other), "{stream}");
    }
    all.remove(0)
}

#[test]
fn each_ended_run_is_told_once_in_any_order_and_across_a_reload() {
    if !has_node() {
        return;
    }
    for (stream, told) in [
        (
            "model-timeout",
            json!({"session_key": "agent:main:hang", "success": false, "failure_kind": "timeout", "tool_calls": 0,
                   "ended_at": "2026-11-30T09:32:14.564Z"}),
        ),
        (
            "http-500-retried",
            json!({"session_key": "agent:main:err500", "success": true, "stop_reason": "error",
                   "error": "500 upstream exploded", "tool_calls": 0, "has_internal_retry": true}),
        ),
        (
            "command-exit-nonzero",
            json!({"success": true, "stop_reason": "stop", "tool_calls": 1, "final_text": "The command failed; I stopped.",
                   "last_tool": {"name": "exec", "exit_code": 3,
                                 "params": "{\"command\":\"ls /definitely/not/here; exit 3\"}"}}),
        ),
        (
            "tool-throws",
            json!({"success": true, "tool_calls": 1, "last_tool": {"name": "send_alert",
                   "params": "{\"text\":\"disk is full\",\"channel\":\"ops\"}", "error": "connect ECONNREFUSED 10.0.0.7:443"}}),
        ),
        (
            "tool-throws-then-succeeds",
            json!({"success": true, "tool_calls": 2, "final_text": "The alert was sent at the second try.",
                   "last_tool": {"name": "send_alert", "params": "{\"text\":\"disk is full\",\"channel\":\"ops\"}"}}),
        ),
        (
            "command-exit-zero",
            json!({"success": true, "last_tool": {"name": "exec", "exit_code": 0, "params": "{\"command\":\"echo hello\"}"}}),
        ),
        (
            "words-without-action",
            json!({"run_id": "run-1", "session_id": "session-1", "agent_id": "main", "trigger": "user", "success": true,
                   "stop_reason": "stop", "tool_calls": 0,
                   "final_text": "I will now start working on the migration and report back."}),
        ),
        ("words-without-action-zh", json!({"tool_calls": 0, "final_text": "我接下来开始迁移数据库，完成后汇报。"})),
        ("long-answer", json!({"success": true, "stop_reason": "stop", "tool_calls": 0})),
        ("stopped-by-a-person", json!({"success": false, "failure_kind": "aborted", "stop_reason": "aborted"})),
        // The second run in it is a heartbeat's own.
        ("plain-then-heartbeat", json!({"run_id": "run-1", "success": true, "final_text": "It was a quiet day."})),
    ] {
        let records = records(stream);
        assert_eq!(records.len(), 1, "{stream}: {records:#?}");
        for (name, value) in told.as_object().unwrap() {
            assert_eq!(records[0][name], *value, "{stream}: {name} of {:#}", records[0]);
        }
    }
    assert_eq!(records("heartbeat"), Vec::<Value>::new());
}

#[test]
fn runs_of_several_sessions_do_not_mix() {
    if !has_node() {
        return;
    }
    let workspace = Workspace::new();
    let folder = place(&workspace);
    // Both have a run-1 of their own: as recorded they had other names.
    let other = std::fs::read_to_string(fixture("events/words-without-action.jsonl")).unwrap().replace("run-1", "run-9");
    std::fs::write(workspace.path("other.jsonl"), other).unwrap();
    let streams = [fixture("events/command-exit-nonzero.jsonl"), workspace.path("other.jsonl")];
    let ran = replay(&workspace, &folder, &[], &json!({"events": streams, "together": true}));
    let told = ran.ok().is_quiet().json();
    let of = |run: &str| told.iter().find(|told| told["record"]["run_id"] == run).unwrap_or_else(|| panic!("{run}\n{ran}"));
    assert_eq!(told.len(), 2, "{ran}");
    assert_eq!(of("run-1")["record"]["last_tool"]["exit_code"], 3);
    assert_eq!(of("run-9")["record"].get("last_tool"), None);
}

#[test]
fn work_of_openclaws_own_is_left_alone() {
    if !has_node() {
        return;
    }
    let workspace = Workspace::new();
    let folder = place(&workspace);
    // The key as a Gateway gave it to a review of its skills.
    let key = "agent:main:internal-session-effects:skill-workshop-review_7aa6d234";
    let own = std::fs::read_to_string(fixture("events/command-exit-nonzero.jsonl")).unwrap().replace("agent:main:toolfail", key);
    std::fs::write(workspace.path("own.jsonl"), own).unwrap();
    let ran = replay(&workspace, &folder, &[], &json!({"events": [workspace.path("own.jsonl")]}));
    assert_eq!(ran.ok().is_quiet().stdout(), "");
}

#[test]
fn a_gateway_that_stops_tells_what_is_known_and_a_session_left_behind_nothing() {
    if !has_node() {
        return;
    }
    let workspace = Workspace::new();
    let folder = place(&workspace);
    // The session's end a second after that of its run, not minutes later as recorded.
    let recorded = std::fs::read_to_string(fixture("events/model-timeout.jsonl")).unwrap();
    for (reason, told_after_ms) in
        [("shutdown", Some(1_000)), ("idle", Some(45_000)), ("reset", None), ("new", None), ("deleted", None)]
    {
        let stream = recorded.replace("1796031277688", "1796031135564").replace("\"shutdown\"", &format!("{reason:?}"));
        std::fs::write(workspace.path("left.jsonl"), stream).unwrap();
        let ran = replay(&workspace, &folder, &[], &json!({"events": [workspace.path("left.jsonl")]}));
        let told: Vec<i64> = ran.ok().json().iter().map(|told| told["at"].as_i64().unwrap() - 1_796_031_134_564).collect();
        assert_eq!(told, Vec::from_iter(told_after_ms), "{reason}");
    }
}

/// Else a session whose newer run ended well would be told to go on, because the older one is told later.
#[test]
fn a_failure_is_not_told_when_somebody_went_on_with_the_session() {
    if !has_node() {
        return;
    }
    let workspace = Workspace::new();
    let folder = place(&workspace);
    let ends = |name: &str| -> Vec<Value> {
        let text = std::fs::read_to_string(fixture(&format!("events/{name}.jsonl"))).unwrap();
        let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        events.into_iter().filter(|event| event["hook"] != "session_end").collect()
    };
    let failed = ends("model-timeout");
    let (session, ended_at) = (&failed[0]["ctx"], failed.iter().map(|event| event["at"].as_i64().unwrap()).max().unwrap());
    for (trigger, key, told_of) in [
        ("user", "agent:main:hang", vec!["run-2"]),
        ("heartbeat", "agent:main:hang", vec!["run-1"]),
        ("user", "agent:main:other", vec!["run-2", "run-1"]),
    ] {
        let mut newer = ends("words-without-action");
        let begun_at = newer.iter().map(|event| event["at"].as_i64().unwrap()).min().unwrap();
        for event in &mut newer {
            event["at"] = json!(event["at"].as_i64().unwrap() - begun_at + ended_at + 5_000);
            event["event"]["runId"] = json!("run-2");
            let id = if key == "agent:main:hang" { session["sessionId"].clone() } else { json!("another") };
            for place in ["event", "ctx"] {
                for (name, value) in
                    [("sessionId", &id), ("sessionKey", &json!(key)), ("trigger", &json!(trigger)), ("runId", &json!("run-2"))]
                {
                    if event[place].get(name).is_some() {
                        event[place][name] = value.clone();
                    }
                }
            }
        }
        let lines: Vec<String> = failed.iter().chain(&newer).map(Value::to_string).collect();
        std::fs::write(workspace.path("both.jsonl"), lines.join("\n")).unwrap();
        let ran = replay(&workspace, &folder, &[], &json!({"events": [workspace.path("both.jsonl")]}));
        let told: Vec<Value> = ran.ok().is_quiet().json().iter().map(|told| told["record"]["run_id"].clone()).collect();
        assert_eq!(told, told_of, "{trigger} {key}");
    }
}

#[test]
fn a_failure_waits_out_the_internal_retries_and_a_good_end_only_a_moment() {
    if !has_node() {
        return;
    }
    let workspace = Workspace::new();
    let folder = place(&workspace);
    let at = |stream: &str, last_end: i64| {
        let told = replay(&workspace, &folder, &[stream], &json!({})).ok().one();
        told["at"].as_i64().unwrap() - last_end
    };
    assert_eq!(at("http-500-retried", 1_796_031_208_956), 45_000);
    assert_eq!(at("words-without-action", 1_796_031_117_266), 2_000);
}

#[test]
fn the_record_is_in_a_private_file_that_goes_and_the_options_become_arguments() {
    if !has_node() {
        return;
    }
    let workspace = Workspace::new();
    let folder = place(&workspace);
    let told = replay(&workspace, &folder, &["model-timeout"], &json!({})).ok().one();
    assert_eq!(told["argv"], json!([folder.join("bin/run-ended"), "--max-retries", "3", "--cooldown-seconds", "15"]));
    assert_eq!(told["mode"], 0o600);
    assert!(!Path::new(told["file"].as_str().unwrap()).exists(), "{told}");
    assert_eq!(std::fs::read_dir(workspace.path("tmp")).unwrap().count(), 0);
    assert!(told["timeoutMs"].as_i64().unwrap() > 60_000);

    let config = json!({"maxAutoResumes": 0, "cooldownMs": 500, "nonAction": false, "intentPhrases": ["on it", "马上"], "denySessions": ["other"]});
    let told = replay(&workspace, &folder, &["model-timeout"], &json!({"config": config})).ok().one();
    let expected = json!([
        folder.join("bin/run-ended"),
        "--max-retries",
        "0",
        "--cooldown-seconds",
        "0.5",
        "--intent-phrase",
        "on it",
        "--intent-phrase",
        "马上"
    ]);
    assert_eq!(told["argv"], expected);
    for config in
        [json!({"enabled": false}), json!({"denySessions": ["agent:main:hang"]}), json!({"denySessions": ["no", "agent:*:h*g"]})]
    {
        let ran = replay(&workspace, &folder, &["model-timeout"], &json!({"config": config}));
        assert_eq!(ran.ok().stdout(), "", "{config}");
    }
    // A dot is a dot, and a pattern is of the whole key.
    let config = json!({"denySessions": ["agent.main.hang", "main", "agent:main:han"]});
    replay(&workspace, &folder, &["model-timeout"], &json!({"config": config})).ok().one();
}

/// The milliseconds of now: what ended a day ago is nobody's business any more.
fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    since.as_secs() * 1000
}

fn cards(folder: &Path) -> Vec<Value> {
    let entries = std::fs::read_dir(folder.join("data/task-runs")).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.map(|path| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()).collect()
}

#[test]
fn what_the_programs_make_of_each_stream() {
    if !has_node() {
        return;
    }
    for (stream, with_card, expected) in [
        ("model-timeout", false, json!(["stalled", "llm_timeout"])),
        ("http-500-retried", false, json!(["stalled", "llm_error"])),
        ("tool-throws", false, json!(["stalled", "tool_failure"])),
        ("command-exit-nonzero", false, json!(["stalled", "tool_failure"])),
        ("words-without-action", true, json!(["stalled", "non_action"])),
        ("words-without-action-zh", true, json!(["stalled", "non_action"])),
        ("words-without-action", false, Value::Null),
        ("tool-throws-then-succeeds", false, Value::Null),
        ("command-exit-zero", false, Value::Null),
        ("long-answer", false, Value::Null),
        ("heartbeat", false, Value::Null),
        ("stopped-by-a-person", false, Value::Null),
        // Their open card stays as it is.
        ("tool-throws-then-succeeds", true, json!(["running", null])),
        ("long-answer", true, json!(["running", null])),
        ("heartbeat", true, json!(["running", null])),
        ("stopped-by-a-person", true, json!(["running", null])),
    ] {
        let workspace = Workspace::new();
        let folder = place(&workspace);
        if with_card {
            let events = std::fs::read_to_string(fixture(&format!("events/{stream}.jsonl"))).unwrap();
            let first: Value = serde_json::from_str(events.lines().next().unwrap()).unwrap();
            let card = json!({"schema_version": 1, "revision": 1, "task_id": "own", "task_type": "t", "title": "T", "status": "running",
                              "phase": "watch", "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
                              "metadata": {"openclaw": {"session_key": first["event"]["sessionKey"]}}});
            std::fs::write(folder.join("data/task-runs/own.json"), card.to_string()).unwrap();
        }
        let more = json!({"run": true, "ends_at": now_ms(), "config": {"maxAutoResumes": 0}});
        let ran = replay(&workspace, &folder, &[stream], &more);
        ran.ok().is_quiet();
        let made = cards(&folder);
        let told = match made.as_slice() {
            [] => Value::Null,
            [card] => json!([card["status"], card["outcome"]["kind"]]),
            _ => panic!("{made:#?}"),
        };
        assert_eq!(told, expected, "{stream}, with a card: {with_card}: {made:#?}\n{ran}");
    }
}

#[test]
fn a_run_that_was_cut_is_continued_and_completes_its_card() {
    if !has_node() {
        return;
    }
    let workspace = Workspace::new();
    let folder = place(&workspace);
    let templates = folder.join("templates/task-recovery");
    std::fs::create_dir_all(&templates).unwrap();
    for name in ["session.sh", "openclaw_session.sh", "resume-prompt.en.txt", "resume-prompt.zh.txt"] {
        workspace.write(word(&templates.join(name)), &asset(&format!("adapters/{name}")));
    }
    // OpenClaw, as it answers when the second try goes well.
    let answers = root().join("tests/fixtures/openclaw/answers");
    let openclaw = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$*\" >>'{}'\ncase $1 in\nsessions) echo '{{\"sessions\":[]}}' ;;\nagent) cat '{}' ;;\n*) echo '{{}}' ;;\nesac\n",
        word(&workspace.path("calls")),
        word(&answers.join("agent-ok.2026.9.6.json")),
    );
    std::fs::create_dir_all(workspace.path("programs")).unwrap();
    workspace.write("programs/openclaw", &openclaw);
    let config = json!({"cooldownMs": 0});
    let more = json!({"run": true, "ends_at": now_ms(), "config": config, "path": workspace.path("programs")});
    replay(&workspace, &folder, &["tool-throws"], &more).ok().is_quiet();
    // The Gateway's part is over here: the attempt goes on by itself.
    eventually("the session was continued", || cards(&folder).iter().all(|card| card["status"] == "completed"));
    let made = cards(&folder);
    assert_eq!((made.len(), &made[0]["attempt"]), (1, &json!(1)), "{made:#?}");
    let calls = std::fs::read_to_string(workspace.path("calls")).unwrap();
    assert!(calls.contains("agent --session-key agent:main:task -m [task-recovery] Your work"), "{calls}");
    assert!(calls.contains("Why it stopped: tool_failure: send_alert: connect ECONNREFUSED 10.0.0.7:443"), "{calls}");
    // The news of how it ended is left for a pass, which tells people.
    eventually("the news are there", || {
        folder.join("data/task-runs/.outbox").read_dir().is_ok_and(|mut news| news.next().is_some())
    });
}

#[test]
fn the_manifest_names_every_option_with_its_default() {
    let manifest: Value = serde_json::from_str(&asset("plugin/openclaw.plugin.json")).unwrap();
    let package: Value = serde_json::from_str(&asset("plugin/package.json")).unwrap();
    assert_eq!((&manifest["id"], &package["name"]), (&json!("task-recovery"), &json!("task-recovery")));
    assert_eq!(package["openclaw"]["extensions"], json!(["./index.js"]));
    let index = asset("plugin/index.js");
    let defaults = index.lines().find(|line| line.starts_with("const DEFAULTS")).unwrap();
    for (name, option) in manifest["configSchema"]["properties"].as_object().unwrap() {
        let value = option["default"].to_string();
        let shown = value.replace("15000", "15_000");
        assert!(defaults.contains(&format!("{name}: {shown}")), "{name}: {shown} is not in {defaults}");
    }
    assert_eq!(defaults.matches(": ").count(), manifest["configSchema"]["properties"].as_object().unwrap().len());
}
