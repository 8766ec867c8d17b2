//! `card import --from openclaw-run` and `openclaw-sessions`: runs of an agent that ended without being finished go on.
//!
//! The stand-ins: `openclaw agent` runs an agent that watches a log and leaves the record of its
//! run's end in `ended/`, as a plugin would see it; the adapter calls that; a Gateway hands each
//! record to the programs. Nothing of it waits for a cooldown: it is 0 where it is not the matter.

use std::fs;

use serde_json::{Value, json};
use tests::{Background, Ran, Workspace, eventually, word};

const ADAPTER: &str = "templates/task-recovery/openclaw_session.sh";
pub(crate) const KEY: &str = "agent:main:logs";
pub(crate) const CARD: &str = "openclaw-agent-main-logs";
pub(crate) const NOW: &str = "2026-11-30T10:00:00Z";

/// A workspace with this adapter, which counts its attempts.
pub(crate) fn with_adapter(script: &str) -> Workspace {
    let workspace = Workspace::new();
    fs::create_dir_all(workspace.path("templates/task-recovery")).unwrap();
    workspace.write(ADAPTER, &format!("#!/bin/sh\necho \"$TASK_ATTEMPT\" >>attempts.txt\n{script}\n"));
    workspace
}

pub(crate) fn attempts(workspace: &Workspace) -> usize {
    workspace.lines("attempts.txt").len()
}

/// A run's record with these fields besides.
pub(crate) fn run(id: &str, ended_at: &str, fields: &Value) -> Value {
    let mut record =
        json!({"session_key": KEY, "session_id": "s-1", "agent_id": "main", "run_id": id, "trigger": "user", "ended_at": ended_at});
    record.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    record
}

pub(crate) fn timed_out(id: &str, ended_at: &str) -> Value {
    run(id, ended_at, &json!({"success": false, "failure_kind": "timeout", "tool_calls": 0}))
}

fn finished(id: &str, ended_at: &str) -> Value {
    run(id, ended_at, &json!({"success": true, "stop_reason": "stop", "tool_calls": 2, "final_text": "All lines were handled."}))
}

pub(crate) fn import<'w>(workspace: &'w Workspace, at: &str, records: &[Value]) -> Ran<'w> {
    let lines: Vec<String> = records.iter().map(Value::to_string).collect();
    workspace.run_with("card", &["import", "--from", "openclaw-run", "--now", at], &lines.join("\n"))
}

pub(crate) fn sessions<'w>(workspace: &'w Workspace, at: &str, list: &Value) -> Ran<'w> {
    workspace.run_with("card", &["import", "--from", "openclaw-sessions", "--now", at], &list.to_string())
}

/// The agent: handles each line of a log once, its place in a file; an ALERT is sent by a tool that fails while `down` is there,
/// once or for ever. What it knows it says, and OpenClaw calls the run good.
const OPENCLAW: &str = r#"#!/bin/sh
set -e
echo run >>runs.txt
id=run-$(wc -l <runs.txt | tr -d ' ')
at=$(cat position 2>/dev/null || echo 0)
tail -n "+$((at + 1))" app.log >rest.txt
tool='{"name":"read","exit_code":0}' text='All lines were handled.'
while IFS= read -r line; do
    case $line in
    ALERT*)
        if [ -e down ]; then
            [ "$(cat down)" = always ] || rm down
            tool='{"name":"send_alert","params":{"text":"'$line'"},"error":"fetch failed: ENETUNREACH"}'
            text='I could not send the alert: the network is unreachable.'
            break
        fi
        echo "$line" >>sent.txt ;;
    esac
    echo "$line" >>handled.txt
    at=$((at + 1))
    echo "$at" >position
done <rest.txt
mkdir -p ended
printf '{"session_key":"agent:main:logs","session_id":"s-1","run_id":"%s","trigger":"user","success":true,"stop_reason":"stop","tool_calls":3,"last_tool":%s,"final_text":"%s"}\n' \
    "$id" "$tool" "$text" >"ended/.$id"
mv "ended/.$id" "ended/$id"
echo '{"runId":"'"$id"'","status":"ok","result":{"payloads":[{"text":"'"$text"'"}]}}'
"#;

/// The Gateway with its plugin: hands over each record once, as long as it lives.
const GATEWAY: &str = "mkdir -p ended taken; while [ -e hold ]; do for record in ended/*; do [ -e \"$record\" ] || continue
    mv \"$record\" taken/; card import --from openclaw-run --cooldown-seconds 0 \"taken/${record#ended/}\" |
    resume --wait-seconds 60 --detach >>resumed.jsonl; done; sleep 0.02; done";

fn log_watching(adapter: &str, down: &str) -> Workspace {
    let workspace = with_adapter(adapter);
    workspace.write("openclaw", OPENCLAW);
    workspace.write("hold", "");
    fs::write(workspace.path("app.log"), "one\nALERT two\nthree\nALERT four\nfive\n").unwrap();
    fs::write(workspace.path("down"), down).unwrap();
    workspace
}

#[test]
fn a_tool_that_fails_once_loses_no_line_and_doubles_none() {
    let workspace = log_watching("./openclaw agent >answer.json && echo '{\"message\": \"the run ended\"}'", "once");
    let gateway = Background::start(workspace.shell_command(GATEWAY));
    workspace.shell("./openclaw agent").ok();
    let ends = || -> Vec<Value> {
        let imported = workspace.history(CARD).into_iter().filter(|event| event["event"] == "imported");
        imported.map(|event| event["run_ended"].clone()).collect()
    };
    // The history is written after the card.
    eventually("the run that was resumed is taken", || ends().len() == 2);
    fs::remove_file(workspace.path("hold")).unwrap();
    drop(gateway);
    assert_eq!(workspace.lines("handled.txt"), ["one", "ALERT two", "three", "ALERT four", "five"]);
    assert_eq!(workspace.lines("sent.txt"), ["ALERT two", "ALERT four"]);
    assert_eq!((workspace.lines("position"), attempts(&workspace)), (vec!["5".to_owned()], 1));
    assert_eq!((ends(), &workspace.card(CARD)["status"]), (vec![json!("tool_failure"), json!("finished")], &json!("completed")));
}

/// Whatever the adapter makes of it: that the run is good, that it failed, that somebody else waits for it.
#[test]
fn a_tool_that_fails_for_ever_is_resumed_three_times_and_never_a_fourth() {
    for answer in ["echo '{\"message\": \"'$(wc -l <runs.txt)'\"}'", "exit 1", "echo '{\"status\": \"running\"}'"] {
        let workspace = log_watching(&format!("./openclaw agent >answer.json; {answer}"), "always");
        let gateway = Background::start(workspace.shell_command(GATEWAY));
        workspace.shell("./openclaw agent").ok();
        let taken = || workspace.path("taken/run-4").exists() && workspace.path("resumed.jsonl").exists();
        eventually("a person is asked", || taken() && workspace.card(CARD)["status"] == "needs_attention");
        eventually("the last run is taken", || workspace.card(CARD)["metadata"]["openclaw"]["run_id"] == "run-4");
        let card = workspace.card(CARD);
        assert_eq!((&card["attention"]["reason"], &card["attempt"]), (&json!("retries_exhausted"), &json!(3)), "{answer}");
        assert_eq!((&card["retry_count"], &card["metadata"]["openclaw"]["last_tool"]["name"]), (&json!(3), &json!("send_alert")));
        // Besides, a pass may tell how the last detached attempt ended.
        let lines = workspace.shell("watch | resume").ok().json();
        let line = lines.last().unwrap();
        assert_eq!((&line["signal"], &line["reason"]), (&json!("needs_attention"), &json!("retries_exhausted")));
        assert_eq!((attempts(&workspace), workspace.lines("runs.txt").len()), (3, 4), "{answer}");
        // Another failure of the session makes no other card that would start anew.
        workspace.shell("./openclaw agent").ok();
        eventually("that is taken, too", || workspace.card(CARD)["metadata"]["openclaw"]["run_id"] == "run-5");
        assert_eq!((workspace.run("card", &["list"]).json().len(), attempts(&workspace)), (1, 3));
        fs::remove_file(workspace.path("hold")).unwrap();
        drop(gateway);
    }
}

#[test]
fn a_clean_end_and_a_persons_word_start_the_count_anew() {
    let workspace = with_adapter("echo '{\"message\": \"'$(wc -l <attempts.txt)'\"}'");
    let args = ["create", "watch_logs", "--task-type", "watch", "--title", "Watch the log", "--session-key", KEY];
    workspace.run("card", &[&args[..], &["--cooldown-seconds", "0", "--now", "2026-11-30T09:00:00Z"]].concat()).ok();
    let at = |minute: u32| format!("2026-11-30T10:{minute:02}:00Z");
    let counts = || {
        let card = workspace.card("watch_logs");
        (card["status"].clone(), card["retry_count"].as_u64().unwrap_or(0), card["metadata"]["openclaw"]["resumes"].clone())
    };
    let step = |minute: u32, record: Value| {
        let printed = import(&workspace, &at(minute), &[record]).ok().stdout();
        workspace.run_with("resume", &["--now", &at(minute)], &printed).ok();
    };
    for minute in 1..=2 {
        step(minute, timed_out(&format!("r{minute}"), &at(minute)));
    }
    assert_eq!((counts(), attempts(&workspace)), ((json!("running"), 0, json!(1)), 2));
    // A sign of life, and no more: whoever made the card knows when the task is done.
    step(3, finished("r3", &at(3)));
    assert_eq!(counts(), (json!("running"), 0, json!(0)));
    assert_eq!(workspace.card("watch_logs")["last_checkpoint_at"], at(3));
    for minute in 4..=7 {
        step(minute, timed_out(&format!("r{minute}"), &at(minute)));
    }
    assert_eq!((counts(), attempts(&workspace)), ((json!("needs_attention"), 3, json!(3)), 5));
    workspace.run("card", &["approve", "watch_logs", "--now", &at(8)]).ok();
    for minute in 9..=12 {
        step(minute, timed_out(&format!("r{minute}"), &at(minute)));
    }
    // Attempts: the run that ended first after the word had not been started by one.
    assert_eq!((counts().0, attempts(&workspace)), (json!("needs_attention"), 8));
    assert_eq!(workspace.run("card", &["list"]).json().len(), 1);
}

#[test]
fn the_gateway_dies_before_the_cooldown_is_over_and_the_next_pass_goes_on() {
    let workspace = with_adapter("echo '{\"message\": \"the run ended\"}'");
    let card = import(&workspace, NOW, &[timed_out("r1", NOW)]).ok().is_quiet().one();
    assert_eq!(
        (
            &card["task_id"],
            &card["status"],
            &card["outcome"]["kind"],
            &card["not_before"],
            &card["max_retries"],
            &card["cooldown_seconds"]
        ),
        (&json!(CARD), &json!("stalled"), &json!("llm_timeout"), &json!("2026-11-30T10:00:15Z"), &json!(3), &json!(15))
    );
    assert_eq!((&card["resume_adapter"], &card["allow_auto_resume"]), (&json!(word(&workspace.path(ADAPTER))), &json!(true)));
    assert_eq!(workspace.run("watch", &["--now", "2026-11-30T10:00:10Z"]).ok().stdout(), "");
    let pass = "watch --now 2026-11-30T10:00:15Z | resume --now 2026-11-30T10:00:15Z";
    assert_eq!(workspace.shell(pass).ok().one()["outcome"], "progressed");
    assert_eq!(attempts(&workspace), 1);
}

#[test]
fn the_pipe_waits_for_the_cooldown() {
    let workspace = with_adapter("echo '{\"message\": \"the run ended\"}'");
    let record = timed_out("r1", &tests::seconds_from_now(0));
    let pipe = "card import --from openclaw-run --cooldown-seconds 1 | resume --wait-seconds 60 --detach";
    let mut command = workspace.shell_command(pipe);
    command.stdin(std::process::Stdio::piped());
    let line = workspace.finish(command, Some(&record.to_string())).ok().is_quiet().one();
    assert_eq!(line, json!({"signal": "started", "task_id": CARD, "attempt": 1}));
    let card = workspace.card(CARD);
    assert!(workspace.history(CARD)[1]["at"].as_str() > card["metadata"]["openclaw"]["ended_at"].as_str(), "{card}");
    eventually("it is settled", || workspace.card(CARD)["status"] == "running" && workspace.card(CARD)["outcome"]["attempt"] == 1);
}

#[test]
fn a_run_is_taken_once_however_often_and_by_whomever_it_is_told() {
    let workspace = with_adapter("exit 75");
    fs::write(workspace.path("run.json"), timed_out("r1", NOW).to_string()).unwrap();
    let many = format!("for i in 1 2 3 4 5 6 7 8; do card import --from openclaw-run --now {NOW} run.json & done; wait");
    assert!(workspace.shell(&many).ok().json().iter().all(|card| card["task_id"] == CARD));
    // Nor by those that come at once to a card that is there.
    workspace.run("card", &["create", "own", "--task-type", "t", "--title", "x", "--session-key", "k2", "--now", NOW]).ok();
    let second = run("r2", NOW, &json!({"session_key": "k2", "status": "failed"}));
    fs::write(workspace.path("second.json"), second.to_string()).unwrap();
    workspace.shell(&many.replace("run.json", "second.json")).ok();
    assert_eq!(workspace.card("own")["revision"], 2);
    let listed = json!({"sessions": [{"key": KEY, "sessionId": "s-1", "updatedAt": 1_796_032_801_000_i64, "status": "timeout", "abortedLastRun": false}]});
    assert_eq!(sessions(&workspace, "2026-11-30T10:05:00Z", &listed).ok().one()["revision"], 1);
    assert_eq!(workspace.run("card", &["list"]).json().len(), 2);
    // What came before it is no news either.
    assert_eq!(import(&workspace, NOW, &[finished("r0", "2026-11-30T09:59:00Z")]).ok().one()["revision"], 1);
    // And what a person called off stays so.
    workspace.run("card", &["cancel", CARD]).ok();
    import(&workspace, NOW, &[timed_out("r1", NOW)]).ok();
    assert_eq!(sessions(&workspace, "2026-11-30T10:05:00Z", &listed).ok().stdout(), "");
    assert_eq!(workspace.run("card", &["list"]).json().len(), 2);
    // The next failure is one of its own, and so is its card.
    assert_eq!(
        import(&workspace, "2026-11-30T11:00:00Z", &[timed_out("r2", "2026-11-30T11:00:00Z")]).ok().one()["task_id"],
        format!("{CARD}-2")
    );
}

#[test]
fn a_time_in_an_error_is_kept_as_it_was_first_read() {
    let workspace = with_adapter("exit 75");
    let limited =
        run("r1", NOW, &json!({"success": true, "stop_reason": "error", "error": "429 Rate limit. Please try again in 6m0s."}));
    assert_eq!(import(&workspace, NOW, std::slice::from_ref(&limited)).ok().one()["not_before"], "2026-11-30T10:06:00Z");
    assert_eq!(import(&workspace, "2026-11-30T10:05:00Z", &[limited]).ok().one()["not_before"], "2026-11-30T10:06:00Z");
    let line = workspace.shell(&format!("echo {CARD} | resume --now 2026-11-30T10:05:00Z --wait-seconds 1")).ok().one();
    assert_eq!((&line["reason"], &line["until"]), (&json!("cooling_down"), &json!("2026-11-30T10:06:00Z")));
    // What waiting does not change is a person's, at once.
    let refused = run(
        "r2",
        "2026-11-30T10:10:00Z",
        &json!({"success": true, "stop_reason": "error", "error": "401 Incorrect API key provided"}),
    );
    let printed = import(&workspace, "2026-11-30T10:10:00Z", &[refused]).ok().stdout();
    let line = workspace.run_with("resume", &[], &printed).ok().one();
    assert_eq!((&line["signal"], &line["reason"], attempts(&workspace)), (&json!("needs_attention"), &json!("permanent_error"), 0));
}

#[test]
fn what_nobody_wants_back_stays_as_it_is() {
    let workspace = with_adapter("exit 75");
    let left_alone = [
        run("h", NOW, &json!({"success": false, "failure_kind": "timeout", "trigger": "heartbeat"})),
        run("k", NOW, &json!({"success": false, "failure_kind": "aborted"})),
        run("n", NOW, &json!({"success": true, "stop_reason": "stop", "tool_calls": 0, "final_text": "I will now start."})),
        timed_out("old", "2026-11-29T09:00:00Z"),
    ];
    assert_eq!(import(&workspace, NOW, &left_alone).ok().is_quiet().stdout(), "");
    assert_eq!(workspace.run("card", &["list"]).ok().stdout(), "");
    // A person stops the run that was resumed: the recovery is stopped with it.
    import(&workspace, NOW, &[timed_out("r1", NOW)]).ok();
    let killed = run("r2", "2026-11-30T10:01:00Z", &json!({"success": false, "failure_kind": "aborted"}));
    assert_eq!(import(&workspace, "2026-11-30T10:01:00Z", &[killed]).ok().stdout(), "");
    assert_eq!(workspace.card(CARD)["status"], "running");
    assert_eq!(workspace.run("watch", &["--now", "2026-11-30T20:00:00Z"]).ok().stdout(), "");
    // One in doubt: not brought back because it is silent, until it is interrupted again.
    let at = |minute: u32| format!("2026-11-30T11:{minute:02}:00Z");
    import(&workspace, &at(0), &[timed_out("r3", &at(0))]).ok();
    workspace.run("checkpoint", &[CARD, "--now", &at(1)]).ok();
    assert_ne!(workspace.run("watch", &["--now", "2026-11-30T20:00:00Z"]).ok().stdout(), "");
    import(&workspace, &at(2), &[run("r4", &at(2), &json!({"success": true, "stop_reason": "stop", "final_text": "Which one?"}))])
        .ok();
    assert_eq!(workspace.run("watch", &["--now", "2026-11-30T20:00:00Z"]).ok().stdout(), "");
    assert_eq!(import(&workspace, &at(3), &[timed_out("r5", &at(3))]).ok().one()["stale_after_minutes"], Value::Null);
}

#[test]
fn whoever_made_a_card_has_said_how_it_is_resumed() {
    let workspace = with_adapter("exit 75");
    let own = workspace.write("own.sh", "#!/bin/sh\n");
    let args = [
        "create",
        "own",
        "--task-type",
        "t",
        "--title",
        "x",
        "--session-key",
        KEY,
        "--max-retries",
        "7",
        "--now",
        "2026-11-30T09:00:00Z",
    ];
    workspace.run("card", &[&args[..], &["--resume-adapter", word(&own)]].concat()).ok();
    let announced =
        run("r1", NOW, &json!({"success": true, "stop_reason": "stop", "tool_calls": 0, "final_text": "好的，我现在开始处理。"}));
    let args = ["import", "--from", "openclaw-run", "--now", NOW, "--max-retries", "1", "--stale-after-minutes", "5"];
    let off = workspace.run_with("card", &[&args[..], &["--intent-phrase", ""]].concat(), &announced.to_string());
    assert_eq!(off.ok().stdout(), "");
    let announced = announced.to_string().replace("r1", "r2").replace(NOW, "2026-11-30T10:00:01Z");
    let card = workspace
        .run_with(
            "card",
            &[&args[..3], &["--max-retries", "1", "--stale-after-minutes", "5", "--now", "2026-11-30T10:00:01Z"]].concat(),
            &announced,
        )
        .ok()
        .one();
    assert_eq!((&card["outcome"]["kind"], &card["resume_adapter"]), (&json!("non_action"), &json!(word(&own))));
    assert_eq!(
        (&card["max_retries"], &card["stale_after_minutes"], &card["allow_auto_resume"]),
        (&json!(7), &json!(5), &json!(false))
    );
    // Another session's card is not concerned.
    let other = run("r3", NOW, &json!({"session_key": "agent:main:other", "session_id": "s-9", "status": "failed"}));
    assert_eq!(import(&workspace, NOW, &[other]).ok().one()["task_id"], "openclaw-agent-main-other");
}

#[test]
fn one_bad_record_hides_no_other() {
    let workspace = with_adapter("exit 75");
    let input = format!("{{broken\nword\n7\n{{\"session_key\":7}}\n{{\"success\":true}}\n{}\n", timed_out("r1", NOW));
    let ran = workspace.run_with("card", &["import", "--from", "openclaw-run", "--now", NOW], &input);
    assert_eq!(ran.exits(65).one()["task_id"], CARD);
    assert_eq!(ran.stderr().lines().count(), 5, "{ran}");
    workspace.run("card", &["import", "--from", "task-status", "--max-retries", "1"]).exits(64).complains("openclaw-run");
}
