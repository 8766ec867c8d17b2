//! The session adapters of claude and codex, run by `resume`, with stand-ins of both.
//!
//! What they answer is cut from what Claude Code 2.1.332 and codex-cli 0.171.0 really answered, and has the shapes that their makers
//! document.

use std::fs;

use serde_json::{Value, json};
use tests::word;

use crate::session_bench::{Bench, time};

/// Of `claude -p --output-format json`: older versions begin with the type.
fn claude(is_error: bool, subtype: &str, result: &str) -> String {
    json!({"duration_api_ms": 382, "stop_reason": "end_turn", "session_id": "c-2", "total_cost_usd": 0.01,
           "usage": {"input_tokens": 1, "service_tier": "standard"}, "terminal_reason": "completed", "is_error": is_error, "num_turns": 2,
           "subtype": subtype, "api_error_status": null, "result": result, "type": "result", "duration_ms": 10})
    .to_string()
}

#[test]
fn claude_goes_on_with_its_session_in_its_folder() {
    let bench = Bench::new("claude_session.sh", &json!({}));
    let folder = bench.workspace.path("it's in here");
    // As "card create --meta" writes them.
    bench.put(&json!({"metadata": {"claude_session_id": "c-1", "claude_cwd": folder,
                     "claude_args": "[\"--allowedTools\", \"Bash(git *)\", \"$(touch x)\"]", "resume_prompt": "Go on with {{phase}}"}}));
    bench.says("claude", &format!("warning: something\n{}\n", claude(false, "success", "All 90 lines are done.")), 0);
    assert_eq!(bench.outcome(), "completed", "{}", bench.stderr());
    let card = bench.card();
    assert_eq!(card["checkpoints"][1]["message"], "All 90 lines are done.");
    // It goes on under a new ID, and so would the next attempt.
    assert_eq!(card["metadata"]["claude_session_id"], "c-2");
    let called = "claude [-p] [--resume] [c-1] [--output-format] [json] [--allowedTools] [Bash(git *)] [$(touch x)]";
    assert_eq!(bench.calls(), [called]);
    assert_eq!(bench.workspace.lines("stand-in/prompt"), ["Go on with watch"]);
    assert_eq!(bench.workspace.lines("stand-in/folder"), [word(&folder)]);

    let open = json!({"claude_session_id": "c-3", "claude_completes": "card"});
    bench.put(&json!({ "metadata": open }));
    assert_eq!(bench.outcome(), "no_progress");
    assert!(bench.calls().pop().unwrap().contains("[--resume] [c-3]"));
    fs::write(bench.workspace.path("stand-in/claude.sh"), "\"$TASK_BIN/card\" complete \"$TASK_ID\" --message said >/dev/null\n")
        .unwrap();
    bench.put(&json!({ "metadata": open }));
    bench.resume().ok();
    assert_eq!(bench.card()["status"], "completed");
    fs::remove_file(bench.workspace.path("stand-in/claude.sh")).unwrap();

    let older =
        json!({"type": "result", "subtype": "success", "is_error": false, "result": "Done as before.", "session_id": "c-1"});
    bench.put(&json!({"metadata": {"claude_session_id": "c-1"}}));
    bench.says("claude", &format!("{older}\n"), 0);
    assert_eq!((bench.outcome().as_str(), &bench.card()["checkpoints"][1]["message"]), ("completed", &json!("Done as before.")));
    // A line of somebody's log is no answer, whatever it speaks of.
    bench.put(&json!({"metadata": {"claude_session_id": "c-1"}}));
    bench.says("claude", "{\"level\":\"debug\",\"of\":{\"type\":\"result\",\"subtype\":\"success\"}}\n", 1);
    assert_eq!(bench.outcome(), "failed");
}

#[test]
fn what_the_real_ones_say_before_they_begin() {
    let not_logged_in = claude(true, "success", "Not logged in · Please run /login");
    let backtrace = "\n\nStack backtrace:\n   0: <unknown>\n   1: <unknown>\n   2: <unknown>\n   3: <unknown>\n   4: <unknown>\n   5: <unknown>\n";
    let warning = "WARNING: proceeding, even though we could not create PATH aliases\n";
    let no_rollout = "Error: thread/resume: thread/resume failed: no rollout found for thread id x-1 (code -32600)";
    let untrusted = "Not inside a trusted directory and --skip-git-repo-check was not specified.";
    for (name, answer, detail) in [
        ("claude", "No conversation found with session ID: x-1\n".to_owned(), "No conversation found with session ID: x-1"),
        (
            "claude",
            "Error: --resume requires a valid session ID or session title when used with --print.\n".to_owned(),
            "requires a valid session ID",
        ),
        ("claude", not_logged_in, "Not logged in"),
        ("codex", format!("{warning}{no_rollout}{backtrace}"), no_rollout),
        ("codex", format!("{warning}{untrusted}\n"), untrusted),
    ] {
        let bench = Bench::new(&format!("{name}_session.sh"), &json!({ format!("{name}_session_id"): "x-1" }));
        bench.says(name, &answer, 1);
        assert_eq!(bench.outcome(), "needs_attention", "{name}: {answer}: {}", bench.stderr());
        let attention = &bench.card()["attention"];
        assert_eq!(attention["reason"], "permanent_error");
        assert!(attention["detail"].as_str().unwrap().contains(detail), "{attention}");
    }
}

#[test]
fn claude_and_codex_wait_for_a_limit_fail_on_an_error_and_ask_a_person() {
    // 1_755_608_400 by the stand-in of date: 13:00 in UTC, 15:00 in Berlin.
    let date = "#!/bin/sh\ncase $* in\n*%Y-*) exec /bin/date \"$@\" ;;\n+%s) echo 1755608400 ;;\n*) case ${TZ-} in Europe/*) echo '2025 08 19 15 00 00' ;;\n*) echo '2025 08 19 13 00 00' ;; esac ;;\nesac\n";
    let benches = ["claude", "codex"].map(|name| {
        let bench = Bench::new(&format!("{name}_session.sh"), &json!({}));
        bench.workspace.write("programs/date", date);
        (name, bench)
    });
    for (text, outcome, seconds) in [
        ("Claude AI usage limit reached|1755615600", "postponed", 7200),
        ("You've hit your limit · resets 10pm (Europe/Berlin)", "postponed", 25200),
        ("5-hour limit reached ∙ resets 2:30pm", "postponed", 5400),
        (
            "You've hit your usage limit. Upgrade to Pro (https://openai.com/chatgpt/pricing) or try again in 1 day 22 hours 11 minutes.",
            "postponed",
            166_260,
        ),
        (
            "You've hit your usage limit. To get more access now, send a request to your admin or try again at 12:16 PM.",
            "postponed",
            83_760,
        ),
        ("You've hit your usage limit or try again at Aug 20th, 2025 8:19 PM.", "postponed", 112_740),
        (
            "API Error: 429 {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\"},\"resets_in_seconds\":13872}",
            "postponed",
            13872,
        ),
        ("You will regain access on 2025-08-21 at 00:00 UTC.", "postponed", 126_000),
        ("API Error: 429 {\"retry_after\": 30}", "postponed", 30),
        ("API Error: 429 {\"retry_after_ms\": 45000}", "postponed", 45),
        ("API Error: 429 {\"retryDelay\": \"34s\"}", "postponed", 34),
        ("已达到使用上限，请在 1 小时 30 分钟后重试", "postponed", 5400),
        ("您的限额将在 2025-08-19 13:20:30 重置。", "postponed", 1230),
        ("API Error: Connection reset at 12:00:00", "failed", 0),
        ("read ECONNRESET at 12:00:00", "failed", 0),
        // Longer than a week is asked again in a week.
        ("Weekly limit reached, try again at Jul 5th, 2026 8:19 PM", "postponed", 604_800),
        (
            "API Error: 500 {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"Internal server error\"}}",
            "failed",
            0,
        ),
        ("API Error: Overloaded. This is usually temporary, try again shortly.", "failed", 0),
        ("API Error: 401 {\"type\":\"error\"} · Please run /login", "needs_attention", 0),
        ("Quota exceeded. Check your plan and billing details.", "needs_attention", 0),
        ("Prompt is too long", "needs_attention", 0),
        ("API Error: 400 账户余额不足，请充值", "needs_attention", 0),
    ] {
        let codex = format!(
            "{}\n{}\n{}\n{}\n",
            json!({"type": "thread.started", "thread_id": "x-1"}),
            json!({"type": "turn.started"}),
            json!({"type": "error", "message": text}),
            json!({"type": "turn.failed", "error": {"message": text}})
        );
        let [claudes, codexes] = &benches;
        for ((name, bench), answer) in [
            (claudes, claude(true, "success", text)),
            (codexes, codex),
            (claudes, text.to_owned()),
            (codexes, format!("Error: {text}")),
        ] {
            bench.put(&json!({ "metadata": { format!("{name}_session_id"): "x-1" } }));
            bench.says(name, &answer, 1);
            assert_eq!(bench.outcome(), outcome, "{name}: {answer}: {}", bench.stderr());
            let card = bench.card();
            if seconds > 0 {
                let waits = (time(&card["not_before"]) - time(&card["outcome"]["at"])).whole_seconds();
                assert!((seconds..=seconds + 1).contains(&waits), "{name}: {text}: {waits}");
            }
            assert_eq!(card["retry_count"], i32::from(outcome == "failed"), "{name}: {text}");
        }
    }
}

#[test]
fn codex_goes_on_with_its_session() {
    let bench = Bench::new("codex_session.sh", &json!({}));
    let events = |last: Value| {
        let item = |kind: &str, text: &str| json!({"type": "item.completed", "item": {"id": "item_1", "type": kind, "text": text}});
        let lines = [
            json!({"type": "thread.started", "thread_id": "x-1"}),
            json!({"type": "turn.started"}),
            item("agent_message", "I look first."),
            json!({"type": "error", "message": "Reconnecting... 1/5"}),
            item("agent_message", "All 90 lines are done."),
            last,
        ];
        lines.iter().map(|line| format!("{line}\n")).collect::<String>()
    };
    bench.put(&json!({"metadata": {"codex_session_id": "x-1", "codex_args": ["--skip-git-repo-check"], "resume_prompt": "Go on"}}));
    bench.says("codex", &events(json!({"type": "turn.completed", "usage": {"input_tokens": 1}})), 0);
    assert_eq!(bench.outcome(), "completed", "{}", bench.stderr());
    assert_eq!(bench.card()["checkpoints"][1]["message"], "All 90 lines are done.");
    assert_eq!(bench.calls(), ["codex [exec] [--json] [--skip-git-repo-check] [resume] [x-1] [-]"]);
    assert_eq!(bench.workspace.lines("stand-in/prompt"), ["Go on"]);

    bench.put(&json!({"metadata": {"codex_session_id": "x-1"}}));
    let missing = "Error: thread/resume: thread/resume failed: no rollout found for thread id x-1 (code -32600)";
    bench.says("codex", missing, 1);
    assert_eq!(bench.outcome(), "needs_attention");
    assert_eq!(bench.card()["attention"]["detail"], missing);
    bench.put(&json!({"metadata": {"codex_session_id": "x-1"}}));
    bench.says("codex", "{\"type\":\"thread.started\",\"thread_id\":\"x-1\"}\n{\"type\":\"turn.started\"}\n", 137);
    assert_eq!(bench.outcome(), "failed");
    assert!(bench.stderr().contains("exit status 137 in the middle of a turn"), "{}", bench.stderr());
}
