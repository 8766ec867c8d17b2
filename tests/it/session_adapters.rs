//! The session adapter of OpenClaw, run by `resume`, with a stand-in of openclaw.
//!
//! What openclaw answers is cut from recorded answers of two versions.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use tests::{root, word};

use crate::installed::shells;
use crate::session_bench::{Bench, KEY, time};

const LATE: i64 = 4_000_000_000_000;

#[test]
fn the_session_is_told_why_and_where_it_was_cut() {
    let bench = Bench::openclaw();
    bench.answers("agent", "agent-timeout.2026.9.6.json", 1);
    bench.outcome();
    let calls = bench.calls();
    assert_eq!(calls[0], "openclaw [sessions] [--json] [--active] [10080]");
    let told = &calls[1];
    assert!(told.starts_with(&format!("openclaw [agent] [--session-key] [{KEY}] [-m] [[task-recovery] Your work on")), "{told}");
    assert!(told.ends_with("[--json] [--timeout] [280]"), "{told}");
    // As a shell reads it, wherever this was built.
    let programs = tests::programs().display().to_string();
    let programs = if programs.contains(' ') { format!("'{programs}'") } else { programs };
    for part in [
        "the task \"Watch the \"log\" & tell\" (t)",
        "Why it stopped: tool_failure: send_alert: no network~",
        "Phase: watch~",
        // What stands in a value is no placeholder.
        "Last checkpoint: 2026-11-30T09:05:00Z line 40 of 90 {{phase}}~",
        "{\"phase_watch\":{\"position\":\"/w/position.txt\"}}~",
        &format!("{programs}/checkpoint t --message"),
    ] {
        assert!(told.contains(part), "{part}\n{told}");
    }
    for (metadata, expected) in [
        (json!({"lang": "zh"}), "你在任务“Watch the \"log\" & tell”（t）上的工作被中断了"),
        (
            json!({"resume_prompt": "Go on with {{phase}}, \\1 & {{unknown}} 100%"}),
            "[-m] [Go on with watch, \\1 & {{unknown}} 100%]",
        ),
    ] {
        let mut all = json!({"openclaw": {"session_key": KEY}});
        all.as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
        bench.put(&json!({ "metadata": all }));
        bench.outcome();
        let told = bench.last_sent();
        assert!(told.contains(expected), "{told}");
    }
    bench.put(&json!({"metadata": {"openclaw": {"session_id": "s-1"}, "resume_prompt": "x"}}));
    // Its key is found in the list, and the session itself by that.
    bench.outcome();
    assert!(bench.last_sent().contains(&format!("[--session-key] [{KEY}]")));
}

#[test]
fn a_time_out_is_a_failure_whatever_the_exit_status_says() {
    for (fixture, rc) in [("agent-timeout.2026.9.6.json", 1), ("agent-timeout.2026.7.35.json", 0)] {
        let bench = Bench::openclaw();
        bench.answers("agent", fixture, rc);
        assert_eq!(bench.outcome(), "failed", "{fixture}");
        let card = bench.card();
        assert_eq!((&card["status"], &card["retry_count"]), (&json!("stalled"), &json!(1)));
        assert!(bench.stderr().contains("llm_timeout: Request timed out"), "{}", bench.stderr());
        assert_eq!(card["metadata"]["openclaw_sent_ms"], "");
        // Twice more, and a person is asked: what failed counts as no progress.
        bench.outcome();
        bench.outcome();
        let card = bench.card();
        assert_eq!((&card["status"], &card["attention"]["reason"]), (&json!("needs_attention"), &json!("retries_exhausted")));
    }
}

#[test]
fn an_error_of_the_model_is_a_failure_a_limit_is_waited_for_and_a_refusal_is_a_persons() {
    let bench = Bench::openclaw();
    bench.answers("agent", "agent-http-500.json", 1);
    assert_eq!(bench.outcome(), "failed");
    assert!(bench.stderr().contains("llm_error: ⚠️ provider/model-1 request failed"), "{}", bench.stderr());
    let error =
        |text: &str| json!({"ok": false, "runId": "id-1", "origin": "gateway", "error": {"type": "cli_error", "message": text}});
    bench.says("agent", &error("request failed (HTTP 429). Please try again in 20 minutes.").to_string(), 1);
    assert_eq!(bench.outcome(), "postponed");
    let card = bench.card();
    // Free of charge, and no progress either.
    assert_eq!((&card["status"], &card["retry_count"]), (&json!("stalled"), &json!(1)));
    let (at, until) = (time(&card["outcome"]["at"]), time(&card["not_before"]));
    assert!((1200..=1201).contains(&(until - at).whole_seconds()), "{card:#}");
    bench.says("agent", &error("request failed (authentication, HTTP 401).").to_string(), 1);
    assert_eq!(bench.outcome(), "needs_attention");
    let card = bench.card();
    assert_eq!(card["attention"]["reason"], "permanent_error");
    assert_eq!(card["attention"]["detail"], "request failed (authentication, HTTP 401).");
}

#[test]
fn within_a_command_of_the_agent_the_session_is_only_woken() {
    let mut bench = Bench::openclaw();
    bench.answers("system", "system-event.json", 0);
    // Found out by the environment, or by the refusal.
    for by_environment in [true, false] {
        if by_environment {
            bench.env.insert("OPENCLAW_SHELL", "exec".to_owned());
        } else {
            bench.env.remove("OPENCLAW_SHELL");
        }
        bench.put(&json!({"metadata": {"openclaw": {"session_key": KEY}, "resume_prompt": "Go on"}}));
        bench.answers("agent", "agent-refused-from-exec.json", 1);
        assert_eq!(bench.outcome(), "handed_over");
        let card = bench.card();
        assert_eq!((&card["status"], &card["retry_count"]), (&json!("running"), &json!(1)));
        let woken = format!("openclaw [system] [event] [--text] [Go on] [--mode] [now] [--session-key] [{KEY}] [--json]");
        assert_eq!(bench.calls().pop().unwrap(), woken);
        assert_eq!(bench.sent(), if by_environment { 1 } else { 3 });
    }
    bench.answers("system", "gateway-down-system-event.json", 1);
    assert_eq!(bench.outcome(), "postponed");
}

#[test]
fn a_session_that_runs_or_that_a_person_stopped_is_left_alone() {
    let bench = Bench::openclaw();
    bench.session("running", LATE);
    assert_eq!(bench.outcome(), "postponed");
    let card = bench.card();
    assert_eq!((&card["retry_count"], bench.sent()), (&json!(0), 0));
    assert!((60..=61).contains(&(time(&card["not_before"]) - time(&card["outcome"]["at"])).whole_seconds()));
    // 2026-11-30T09:20:00Z
    bench.session("killed", 1_796_030_400_000);
    assert_eq!(bench.outcome(), "needs_attention");
    assert_eq!((&bench.card()["attention"]["reason"], bench.sent()), (&json!("session_killed"), 0));
    // A person's word from before the stop is none; one after it is.
    for (approved_at, sent) in [("2026-11-30T09:19:59.999Z", 0), ("2026-11-30T09:20:01Z", 1)] {
        bench.put(&json!({"approved_at": approved_at, "metadata": {"openclaw": {"session_key": KEY}}}));
        bench.answers("agent", "agent-timeout.2026.9.6.json", 1);
        bench.outcome();
        assert_eq!(bench.sent(), sent, "{approved_at}");
    }
}

/// OpenClaw calls it a time-out, and only its list of sessions knows that somebody stopped the turn.
#[test]
fn a_turn_that_a_person_stops_while_it_is_waited_for_is_not_begun_again() {
    let bench = Bench::openclaw();
    bench.answers("agent", "agent-aborted.2026.9.6.json", 1);
    bench.meanwhile("agent", "killed", LATE);
    assert_eq!(bench.outcome(), "needs_attention", "{}", bench.stderr());
    let card = bench.card();
    assert_eq!((&card["attention"]["reason"], &card["metadata"]["openclaw_sent_ms"]), (&json!("session_killed"), &json!("")));
    assert_eq!(card["metadata"]["openclaw"].get("reason"), None, "{card}");
    // The same answer of a session that nobody stopped is a time-out; so is a turn that OpenClaw calls good and that wanted to go on.
    for (answer, rc, status) in
        [("agent-aborted.2026.9.6.json", 1, "timeout"), ("agent-cut-between-tools.2026.9.6.json", 0, "done")]
    {
        let bench = Bench::openclaw();
        bench.answers("agent", answer, rc);
        bench.meanwhile("agent", status, LATE);
        assert_eq!(bench.outcome(), "failed", "{answer}: {}", bench.stderr());
        let card = bench.card();
        assert_eq!(
            (&card["metadata"]["openclaw"]["reason"], &card["status"]),
            (&json!("llm_timeout"), &json!("stalled")),
            "{answer}"
        );
    }
    let bench = Bench::openclaw();
    bench.answers("agent", "agent-cut-between-tools.2026.9.6.json", 0);
    bench.meanwhile("agent", "killed", LATE);
    assert_eq!((bench.outcome().as_str(), bench.sent()), ("needs_attention", 1));
}

#[test]
fn without_a_gateway_nothing_was_begun() {
    let bench = Bench::openclaw();
    bench.answers("agent", "gateway-down-agent.json", 1);
    assert_eq!(bench.outcome(), "postponed");
    assert_eq!(bench.card()["metadata"]["openclaw_sent_ms"], "");
    assert_eq!(bench.card()["retry_count"], 0);
    // The next one sends again.
    bench.answers("agent", "agent-timeout.2026.9.6.json", 1);
    bench.outcome();
    assert_eq!(bench.sent(), 2);
}

#[test]
fn a_lost_gateway_is_an_unknown_outcome_and_the_session_is_looked_at() {
    let lost =
        json!({"ok": false, "error": {"type": "cli_error", "message": "gateway closed (1006 abnormal closure)"}}).to_string();
    let bench = Bench::openclaw();
    let (card, mut sent) = (bench.card(), 0);
    for (answer, rc) in [(lost.as_str(), 1), ("", 137), ("{\"runId\": \"id-1\", \"sta", 1), ("{\"status\":\"accepted\"}", 0)] {
        for (status, updated_ms, outcome, mark) in [
            ("running", LATE, "postponed", true),
            ("timeout", LATE, "failed", false),
            ("failed", LATE, "failed", false),
            ("killed", LATE, "needs_attention", true),
            // Nothing has happened since: it may still come.
            ("failed", 1_796_031_000_000, "postponed", true),
        ] {
            bench.session("done", 0);
            bench.workspace.put_card("t", &card.to_string());
            bench.says("agent", answer, rc);
            bench.meanwhile("agent", status, updated_ms);
            assert_eq!(bench.outcome(), outcome, "{answer} {status}: {}", bench.stderr());
            let noted = bench.card()["metadata"]["openclaw_sent_ms"].as_str().is_some_and(|ms| !ms.is_empty());
            assert_eq!(noted, mark, "{answer} {status}");
            sent += 1;
            assert_eq!(bench.sent(), sent, "{answer} {status}");
        }
    }
}

#[test]
fn a_turn_whose_end_nobody_saw_is_not_begun_again_while_it_runs() {
    let bench = Bench::openclaw();
    bench.says("agent", "", 137);
    bench.meanwhile("agent", "running", LATE);
    assert_eq!(bench.outcome(), "postponed");
    assert_eq!(bench.outcome(), "postponed");
    assert_eq!(bench.sent(), 1);
    // It failed at last: that is what the next attempt is for.
    bench.session("failed", LATE);
    bench.answers("agent", "agent-timeout.2026.9.6.json", 1);
    bench.outcome();
    assert_eq!(bench.sent(), 2);
}

#[test]
fn what_is_not_there_is_a_persons_to_put_right() {
    for (metadata, reason) in [(json!({}), "no_session"), (json!({"openclaw": {"session_key": KEY}}), "openclaw_missing")] {
        let mut bench = Bench::openclaw();
        bench.put(&json!({ "metadata": metadata }));
        bench.env.insert("PATH", "/usr/bin:/bin".to_owned());
        assert_eq!(bench.outcome(), "needs_attention");
        assert_eq!(bench.card()["attention"]["reason"], reason);
        if reason == "openclaw_missing" {
            bench.put(&json!({ "metadata": metadata }));
            bench.env.insert("OPENCLAW_PROGRAM", word(&bench.workspace.path("programs/openclaw")).to_owned());
            bench.answers("agent", "agent-timeout.2026.9.6.json", 1);
            assert_eq!(bench.outcome(), "failed");
        }
    }
    for (adapter, reason) in [("claude_session.sh", "no_session"), ("codex_session.sh", "no_session")] {
        let bench = Bench::new(adapter, &json!({}));
        bench.outcome();
        assert_eq!(bench.card()["attention"]["reason"], reason);
    }
}

/// A card that an ended run made: its work is that session's own.
fn made_by_import() -> Value {
    json!({"openclaw": {"session_key": KEY, "session_id": "s-1", "made_by": "import", "reason": "llm_timeout", "run_id": "id-0"}})
}

/// The session's messages, as recorded, with other last words.
fn history(words: &str) -> String {
    let path = root().join("tests/fixtures/openclaw/answers/history-words-without-action.json");
    let mut history: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    history["messages"][1]["content"][0]["text"] = words.into();
    history.to_string()
}

#[test]
fn a_turn_that_ends_well_completes_what_an_ended_run_made() {
    for version in ["2026.9.6", "2026.7.35"] {
        for (history, rc) in [(history("All 90 lines are done."), 0), ("{\"ok\":false}".to_owned(), 1)] {
            let bench = Bench::openclaw();
            bench.put(&json!({ "metadata": made_by_import() }));
            bench.answers("agent", &format!("agent-ok.{version}.json"), 0);
            bench.says("gateway", &history, rc);
            let ran = bench.resume();
            assert_eq!(ran.ok().one()["outcome"], "completed", "{version}: {}", bench.stderr());
            assert_eq!(bench.card()["status"], "completed");
        }
    }
    // Somebody else's card is about more than one turn: that the turn ended says nothing of it.
    let bench = Bench::openclaw();
    bench.answers("agent", "agent-ok.2026.9.6.json", 0);
    bench.says("gateway", &history("All 90 lines are done."), 0);
    assert_eq!(bench.outcome(), "handed_over", "{}", bench.stderr());
    assert_eq!(bench.card()["status"], "running");
}

#[test]
fn a_turn_that_openclaw_calls_good_may_have_been_cut_all_the_same() {
    for (version, name, history, reason) in [
        ("2026.9.6", "agent-command-exit-nonzero", "history-command-exit-nonzero.json", "tool_failure"),
        ("2026.7.35", "agent-command-exit-nonzero", "history-command-exit-nonzero.json", "tool_failure"),
        ("2026.9.6", "agent-words-without-action", "history-words-without-action.json", "non_action"),
    ] {
        let bench = Bench::openclaw();
        bench.put(&json!({ "metadata": made_by_import() }));
        bench.answers("gateway", history, 0);
        // Each turn has an ID of its own.
        for attempt in 1..=3 {
            let path = root().join(format!("tests/fixtures/openclaw/answers/{name}.{version}.json"));
            let run = format!("id-{attempt}0");
            bench.says("agent", &fs::read_to_string(path).unwrap().replace("\"id-1\"", &format!("{run:?}")), 0);
            let path = root().join("tests/fixtures/openclaw/answers").join(history);
            bench.says("gateway", &fs::read_to_string(path).unwrap().replace("\"id-1\"", &format!("{run:?}")), 0);
            let ran = bench.resume();
            ran.ok();
            assert!(bench.stderr().contains(reason), "{name}: {} {ran}", bench.stderr());
            let card = bench.card();
            assert_eq!((&card["outcome"]["kind"], &card["retry_count"]), (&json!("failed"), &json!(attempt)), "{card:#}");
            assert_eq!(card["metadata"]["openclaw"]["reason"], reason);
        }
        // The next prompt told of it, and there is no fourth.
        assert!(bench.calls().iter().any(|call| call.contains(&format!("Why it stopped: {reason}"))), "{:#?}", bench.calls());
        assert_eq!(bench.card()["attention"]["reason"], "retries_exhausted");
        assert_eq!(bench.sent(), 3);
    }
}

#[test]
fn the_session_itself_may_say_how_the_task_stands() {
    for (verb, status) in [("complete", "completed"), ("fail", "failed"), ("block", "needs_attention")] {
        let bench = Bench::openclaw();
        bench.put(&json!({ "metadata": made_by_import() }));
        bench.answers("agent", "agent-ok.2026.9.6.json", 0);
        bench.says("gateway", &history("All 90 lines are done."), 0);
        let says = format!("\"$TASK_BIN/card\" {verb} \"$TASK_ID\" >/dev/null\n");
        fs::write(bench.workspace.path("stand-in/agent.sh"), says).unwrap();
        bench.resume().ok();
        assert_eq!(bench.card()["status"], status, "{}", bench.stderr());
    }
}

#[test]
fn a_turn_that_ended_unseen_is_judged_and_not_begun_again() {
    let bench = Bench::openclaw();
    bench.put(&json!({ "metadata": made_by_import() }));
    bench.says("agent", "", 137);
    bench.meanwhile("agent", "running", LATE);
    assert_eq!(bench.outcome(), "postponed");
    bench.session("done", LATE);
    bench.says("gateway", &history("All 90 lines are done."), 0);
    bench.resume().ok();
    assert_eq!((bench.card()["status"].clone(), bench.sent()), (json!("completed"), 1), "{}", bench.stderr());
}

#[test]
fn a_session_that_was_reset_is_another_one() {
    let bench = Bench::openclaw();
    let mut metadata = made_by_import();
    metadata["openclaw"]["session_id"] = "s-0".into();
    bench.put(&json!({ "metadata": metadata }));
    assert_eq!(bench.outcome(), "needs_attention");
    assert_eq!((&bench.card()["attention"]["reason"], bench.sent()), (&json!("session_reset"), 0));
}

#[test]
fn every_posix_shell_runs_them() {
    for shell in shells() {
        let bench = Bench::openclaw();
        let interpreter = Command::new("sh").args(["-c", "command -v \"$1\"", "sh", shell[0]]).output().unwrap();
        let interpreter = String::from_utf8(interpreter.stdout).unwrap();
        let mut words = vec![interpreter.trim_end()];
        words.extend(&shell[1..]);
        // The first line of a script takes one argument.
        bench.workspace.write("run", &format!("#!/bin/sh\nexec {} \"{}\" \"$@\"\n", words.join(" "), bench.adapter.display()));
        bench.put(&json!({"resume_adapter": bench.workspace.path("run"), "metadata": {"openclaw": {"session_key": KEY}}}));
        let error = json!({"ok": false, "runId": "id-1", "origin": "gateway",
                           "error": {"message": "HTTP 429 \"limit\"\n\tResets in 5 minutes"}});
        bench.says("agent", &error.to_string(), 1);
        assert_eq!(bench.outcome(), "postponed", "{shell:?}: {}", bench.stderr());
        let told = bench.calls().pop().unwrap();
        assert!(told.contains("Last checkpoint: 2026-11-30T09:05:00Z line 40 of 90 {{phase}}~"), "{shell:?}: {told}");
        let card = bench.card();
        let waits = (time(&card["not_before"]) - time(&card["outcome"]["at"])).whole_seconds();
        assert!((300..=301).contains(&waits), "{shell:?}: {waits}");
    }
}
