//! What an end means: OpenClaw's own list of sessions as both versions print it, and the whole table of the classifier.

use std::fs;

use serde_json::{Value, json};
use tests::{Ran, word};

use crate::openclaw_runs::{CARD, KEY, NOW, attempts, import, run, sessions, timed_out, with_adapter};

/// As both versions print it, cut to what is read.
fn recorded(version: &str) -> Value {
    let session = |key: &str, status: &str, minutes: i64| {
        json!({"key": format!("agent:main:{key}"), "sessionId": format!("id-{key}"), "updatedAt": 1_796_032_800_004_i64 - minutes * 60_000, "ageMs": 1317,
            "status": status, "abortedLastRun": status == "killed", "totalTokens": null, "agentId": "main", "kind": "direct"})
    };
    let mut list = vec![
        session("hang", "timeout", 3),
        session("toolfail", "done", 5),
        session("h1", "timeout", 80),
        session("main", "running", 0),
    ];
    if version == "2026.9.6" {
        list.extend([session("killed", "killed", 2), session("err500", "failed", 9), session("fresh", "failed", 0)]);
    }
    json!({"path": "/home/alice/.openclaw", "count": list.len(), "hasMore": false, "activeMinutes": 1440, "sessions": list})
}

#[test]
fn a_list_of_sessions_is_enough_for_what_the_model_did() {
    for (version, interrupted) in [("2026.7.35", vec!["hang", "h1"]), ("2026.9.6", vec!["hang", "h1", "err500"])] {
        let workspace = with_adapter("echo '{\"message\": \"the run ended\"}'");
        let mut list = recorded(version);
        let expected: Vec<String> = interrupted.iter().map(|key| format!("openclaw-agent-main-{key}")).collect();
        let ids = |ran: &Ran<'_>| ran.json().iter().map(|card| card["task_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
        let first = sessions(&workspace, NOW, &list);
        assert_eq!(ids(first.ok()), expected, "{version}");
        // The next pass finds what this one left.
        let again = sessions(&workspace, NOW, &list);
        assert_eq!((ids(again.ok()), again.json()), (expected, first.json()));
        let lines = workspace.run_with("resume", &["--now", NOW], &again.stdout()).ok().json();
        assert!(lines.iter().all(|line| line["outcome"] == "progressed") && lines.len() == interrupted.len(), "{lines:?}");
        // The resumed runs ended well, one of them did not.
        for session in list["sessions"].as_array_mut().unwrap() {
            session["updatedAt"] = json!(1_796_033_000_000_i64);
            if session["key"] != "agent:main:hang" && session["status"] != "killed" {
                session["status"] = json!("done");
            }
        }
        let later = sessions(&workspace, "2026-11-30T10:10:00Z", &list).ok().one();
        assert_eq!((&later["task_id"], &later["retry_count"]), (&json!("openclaw-agent-main-hang"), &json!(1)), "{version}");
        assert_eq!(workspace.card("openclaw-agent-main-h1")["status"], "completed");
    }
}

/// The list does not say whose run it was; a heartbeat's own leaves the time of the last interaction as it is.
#[test]
fn a_heartbeats_run_in_the_list_neither_cuts_nor_completes() {
    let workspace = with_adapter("exit 1");
    let at = 1_796_031_600_000_i64;
    let list = |status: &str, minutes: i64, interaction: i64| {
        let session = json!({"key": KEY, "sessionId": "s-1", "status": status, "updatedAt": at + minutes * 60_000,
                             "lastInteractionAt": at + interaction * 60_000});
        sessions(&workspace, "2026-11-30T12:00:00Z", &json!({"sessions": [session]})).ok().json().len()
    };
    assert_eq!(list("timeout", 40, 0), 0);
    assert_eq!(list("failed", 20, 0), 1);
    for (status, minutes, interaction, then) in
        [("done", 30, 0, "stalled"), ("timeout", 55, 0, "stalled"), ("done", 60, 59, "completed")]
    {
        list(status, minutes, interaction);
        assert_eq!(workspace.card(CARD)["status"], then, "{status} after {minutes} min");
    }
}

/// The table of the classifier, through the program: what is interrupted is stalled with its reason, and nothing else is touched.
#[test]
fn every_end_in_the_table_leaves_the_card_that_it_should() {
    let workspace = with_adapter("exit 75");
    let text = fs::read_to_string(tests::root().join("card/src/import/openclaw/runs.jsonl")).unwrap();
    let mut cases: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (index, case) in cases.iter_mut().enumerate() {
        // The key that a case is about, or one of its own.
        let own = case["run"]["session_key"].as_str().unwrap();
        let kind = [":heartbeat", ":internal-session-effects:x"]
            .into_iter()
            .find(|kind| own.contains(&kind[..kind.len() - 2]))
            .unwrap_or("");
        let key = format!("agent:main:case-{index}{kind}");
        if case["open_card"] == true {
            let card = json!({"schema_version": 1, "revision": 1, "task_id": format!("own-{index}"), "task_type": "t", "title": "x",
                "created_at": "2026-11-30T09:00:00Z", "status": "running", "metadata": {"openclaw": {"session_key": key}}});
            workspace.put_card(&format!("own-{index}"), &card.to_string());
        }
        case["run"]["session_key"] = json!(key);
        case["run"]["ended_at"] = json!(NOW);
    }
    let records: Vec<Value> = cases.iter().map(|case| case["run"].clone()).collect();
    let printed = import(&workspace, NOW, &records).ok().is_quiet().json();
    for (index, case) in cases.iter().enumerate() {
        let of_case = |card: &&Value| card["metadata"]["openclaw"]["session_key"] == case["run"]["session_key"];
        let reason = printed.iter().find(of_case).map(|card| &card["metadata"]["openclaw"]["reason"]);
        let expected = &case["class"];
        let interrupted = !matches!(expected.as_str().unwrap(), "finished" | "ignore");
        assert_eq!(reason, interrupted.then_some(expected), "{case}");
        if case["open_card"] == true && !interrupted {
            assert_eq!(workspace.card(&format!("own-{index}"))["status"], "running", "{case}");
        }
    }
}

/// A card of the session whose maker gave it an adapter: another one's failures are no runs of the session, and a session that
/// answers questions meanwhile must not keep it going for ever.
#[test]
fn a_clean_end_counts_anew_what_the_session_did_and_not_what_another_adapter_does() {
    let at = |minute: u32| format!("2026-11-30T10:{minute:02}:00Z");
    for (adapter, status, count) in [("own.sh", "stalled", 1), ("templates/task-recovery/openclaw_session.sh", "running", 0)] {
        let workspace = with_adapter("exit 1");
        workspace.shell("cp templates/task-recovery/openclaw_session.sh own.sh").ok();
        let args = ["create", "mail", "--task-type", "t", "--title", "x", "--session-key", KEY, "--cooldown-seconds", "0"];
        let adapter_path = workspace.path(adapter);
        let more = ["--allow-auto-resume", "--resume-adapter", word(&adapter_path), "--now", "2026-11-30T09:59:00Z"];
        workspace.run("card", &[&args[..], &more].concat()).ok();
        let pass = |minute: u32| {
            workspace.shell(&format!("watch --now {0} | resume --now {0}", at(minute))).ok();
        };
        let answer = |minute: u32| {
            let fields = json!({"success": true, "stop_reason": "stop", "tool_calls": 0, "final_text": "It is ten o'clock."});
            import(&workspace, &at(minute), &[run(&format!("answer-{minute}"), &at(minute), &fields)]).ok().is_quiet();
            let card = workspace.card("mail");
            assert_eq!(card["metadata"]["openclaw"]["run_id"], format!("answer-{minute}"));
            (card["status"].clone(), card["retry_count"].clone())
        };
        import(&workspace, NOW, &[timed_out("r0", NOW)]).ok().one();
        // Stalled by the run alone it goes on, whoever's adapter it has.
        assert_eq!(answer(1), (json!("running"), Value::Null), "{adapter}");
        import(&workspace, &at(2), &[timed_out("r1", &at(2))]).ok().one();
        pass(3);
        assert_eq!(answer(4), (json!(status), json!(count)), "{adapter}");
        if status == "stalled" {
            pass(5);
            answer(6);
            pass(7);
            answer(8);
            let card = workspace.card("mail");
            assert_eq!((&card["status"], &card["attention"]["reason"]), (&json!("needs_attention"), &json!("retries_exhausted")));
            pass(9);
            assert_eq!(attempts(&workspace), 3);
        }
    }
}
