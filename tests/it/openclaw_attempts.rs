//! The attempt and the run that it waits for: both ends arrive, in either order, and each counts once.

use std::fs;

use serde_json::{Value, json};
use tests::{Background, eventually};

use crate::openclaw_runs::{CARD, KEY, NOW, attempts, import, run, sessions, timed_out, with_adapter};

/// The agent's run ends before the adapter that waits for it: the attempt's settlement comes first, then the run's end decides.
#[test]
fn a_record_waits_for_the_attempt_that_waits_for_the_run() {
    let workspace = with_adapter("while [ -e hold ]; do sleep 0.02; done; echo '{\"message\": \"the run is good\"}'");
    let at = |minute: u32| format!("2026-11-30T10:{minute:02}:00Z");
    import(&workspace, NOW, &[timed_out("r1", NOW)]).ok();
    workspace.write("hold", "");
    workspace.shell(&format!("echo {CARD} | resume --detach --now {}", at(1))).ok();
    eventually("the attempt runs", || attempts(&workspace) == 1);
    let before = workspace.card(CARD);
    // A list of sessions is read again: it leaves everything to the next time.
    let listed = json!([{"key": KEY, "sessionId": "s-1", "updatedAt": 1_796_032_920_000_i64, "status": "done"}]);
    assert_eq!(sessions(&workspace, &at(3), &listed).ok().stdout(), "");
    assert_eq!(workspace.card(CARD), before);
    let tool = json!({"name": "exec", "exit_code": 3});
    let failed = json!({"success": true, "stop_reason": "stop", "last_tool": tool, "final_text": "The command failed; I stopped."});
    let failed = run("r2", &at(2), &failed);
    // Another session's run before it, to be seen when the waiting begins.
    let other = run("o1", &at(2), &json!({"session_key": "agent:main:other", "status": "failed"}));
    fs::write(workspace.path("run.json"), format!("{other}\n{failed}\n")).unwrap();
    let mut command = workspace.command("card");
    command.args(["import", "--from", "openclaw-run", "--now", &at(2), "run.json"]);
    let waiting = Background::start(command);
    eventually("the first one is taken", || workspace.card_path("openclaw-agent-main-other.json").exists());
    fs::remove_file(workspace.path("hold")).unwrap();
    let printed = String::from_utf8(waiting.output().stdout).unwrap();
    let card: Value = serde_json::from_str(printed.lines().nth(1).unwrap()).unwrap();
    assert_eq!((&card["status"], &card["retry_count"], &card["run"]), (&json!("stalled"), &json!(1), &Value::Null));
    assert_eq!((&card["outcome"]["kind"], &card["outcome"]["attempt"]), (&json!("tool_failure"), &json!(1)));
}

/// The adapter itself tells how the run that it waited for ended, and the agent has recorded progress before its tool failed.
#[test]
fn a_run_that_its_own_attempt_tells_counts_in_spite_of_progress() {
    let failed =
        run("RUN", "END", &json!({"last_tool": {"name": "exec", "error": "ENETUNREACH"}, "success": true, "stop_reason": "stop"}));
    let script = format!(
        "\"$TASK_BIN/checkpoint\" $TASK_ID --message \"$(wc -l <attempts.txt) done\" --now \"$(cat now)\" >/dev/null\n\
        echo '{failed}' | sed \"s/RUN/r-$(wc -l <attempts.txt)/; s/END/$(cat now)/\" >run.json\n\
        \"$TASK_BIN/card\" import --from openclaw-run --now \"$(cat now)\" run.json >>printed.txt\nexit 1"
    );
    let workspace = with_adapter(&script);
    let mut told = timed_out("r-0", NOW).to_string();
    for minute in 0..=3 {
        let at = format!("2026-11-30T10:{minute:02}:30Z");
        let card = workspace.run_with("card", &["import", "--from", "openclaw-run", "--now", &at], &told).ok().one();
        assert_eq!(
            (&card["metadata"]["openclaw"]["resumes"], &card["metadata"]["openclaw"]["pending"]),
            (&json!(minute), &Value::Null)
        );
        assert_eq!(card["retry_count"].as_u64().unwrap_or(0), minute, "{card}");
        assert_eq!(card["status"], if minute < 3 { "stalled" } else { "needs_attention" });
        let next = format!("2026-11-30T10:{:02}:00Z", minute + 1);
        fs::write(workspace.path("now"), &next).unwrap();
        workspace.run_with("resume", &["--now", &next], &card.to_string()).ok();
        told = fs::read_to_string(workspace.path("run.json")).unwrap();
    }
    assert_eq!((attempts(&workspace), workspace.lines("printed.txt").len()), (3, 0));
}
