//! What adapters answer, and what follows.

use serde_json::{Value, json};
use tests::{Workspace, minutes_from_now, word};

fn with_adapter(script: &str, more: &[&str]) -> Workspace {
    let workspace = Workspace::new();
    let adapter = workspace.write("adapter.sh", &format!("#!/bin/sh\n{script}\n"));
    let at = minutes_from_now(-45);
    let args = ["create", "a", "--task-type", "t", "--title", "x", "--phase", "collect", "--allow-auto-resume", "--now", &at];
    workspace.run("card", &[&args[..], &["--resume-adapter", word(&adapter)], more].concat()).ok();
    workspace
}

/// What a pass in so many minutes says; then everything that ended before is due again.
fn pass_at(workspace: &Workspace, minute: i64) -> Value {
    let now = minutes_from_now(minute);
    workspace.shell(&format!("watch --now {now} | resume --now {now}")).ok().one()
}

/// As the Python predecessor's manual teaches: a phase reads what the one before it left, and names the next.
const PHASES: &str = r#"
import json, os, sys
card = json.load(sys.stdin)
phase = card["phase"]
with open("journal.txt", "a") as journal:
    journal.write(phase + "\n")
def artifact(of, name):
    return card["artifacts"]["phase_" + of][name]
def answer(**fields):
    print("some progress ...", flush=True)
    print(json.dumps(fields, indent=1))
def write(name, text):
    path = os.path.abspath(name)
    with open(path, "w") as file:
        file.write(text)
    return path
if phase == "collect":
    answer(next_phase="analyze", artifacts={"raw": write("raw.txt", "1 2 3")}, message="collected")
elif phase == "analyze":
    numbers = [int(word) for word in open(artifact("collect", "raw")).read().split()]
    answer(next_phase="render", artifacts={"sum": write("sum.txt", str(sum(numbers)))}, message="analyzed")
elif phase == "render":
    answer(next_phase="deliver", artifacts={"report": write("report.txt", "sum: " + open(artifact("analyze", "sum")).read())})
elif phase == "deliver":
    write("delivered.txt", open(artifact("render", "report")).read())
    answer(status="completed", message="delivered")
"#;

fn predecessors_task(script: &str) -> Option<Workspace> {
    let workspace = Workspace::new();
    if workspace.shell("python3 -c ''").status() != Some(0) {
        tests::skip("python3 is not installed");
        return None;
    }
    workspace.write("task_resume.py", script);
    workspace.shell("chmod 644 task_resume.py").ok();
    let at = minutes_from_now(-45);
    let adapter = workspace.path("task_resume.py");
    let args =
        ["create", "--task-id", "report", "--task-type", "t", "--title", "月报", "--phase", "collect", "--allow-auto-resume"];
    let more = ["--resume-adapter", word(&adapter), "--manual-phase", "deliver", "--now", &at];
    workspace.run("card", &[&args[..], &more].concat()).ok();
    Some(workspace)
}

#[test]
fn phases_follow_each_other_up_to_the_one_that_needs_a_person() {
    let Some(workspace) = predecessors_task(PHASES) else { return };
    // Cut in the middle of the first phase: what it did is not recorded, and is done again.
    let lines = workspace.shell("watch | resume").ok().json();
    let seen: Vec<_> =
        lines.iter().map(|line| (line["signal"].as_str().unwrap(), line["reason"].as_str().unwrap_or_default())).collect();
    assert_eq!(seen, [("recovery", ""), ("needs_attention", "non_idempotent_phase_blocked")], "{lines:?}");
    assert_eq!((&lines[0]["from_phase"], &lines[0]["to_phase"]), (&json!("collect"), &json!("render")));
    assert_eq!((&lines[1]["phase"], &lines[1]["outcome"]), (&json!("deliver"), &json!("stopped")));
    assert_eq!(workspace.lines("journal.txt"), ["collect", "analyze", "render"]);
    for _ in 0..2 {
        assert_eq!(workspace.shell("watch | resume").ok().one()["reason"], "non_idempotent_phase_blocked");
    }
    let line = workspace.shell("card approve report | resume").ok().one();
    assert_eq!((&line["signal"], &line["outcome"]), (&json!("recovery"), &json!("completed")));
    assert_eq!(workspace.lines("delivered.txt"), ["sum: 6"]);
    assert_eq!(workspace.shell("watch | resume").ok().stdout(), "");
    workspace.run("card", &["approve", "report"]).exits(77);
    assert_eq!(workspace.lines("journal.txt"), ["collect", "analyze", "render", "deliver"]);
}

#[test]
fn a_first_start_through_several_phases_is_a_first_start() {
    let Some(workspace) = predecessors_task(PHASES) else { return };
    let mut card = workspace.card("report");
    card["status"] = "pending".into();
    workspace.put_card("report", &card.to_string());
    let lines = workspace.shell("watch | resume").ok().json();
    assert_eq!(
        (&lines[0]["signal"], &lines[0]["to_phase"], &lines[0]["attempt"]),
        (&json!("started"), &json!("render"), &json!(2))
    );
    assert_eq!((&lines[1]["reason"], &lines[1]["attempt"]), (&json!("non_idempotent_phase_blocked"), &json!(3)));
}

#[test]
fn an_answer_may_ask_for_a_later_time_with_any_ending() {
    for (answer, outcome) in [
        ("{\"status\":\"stalled\",\"retry_after_seconds\":3000,\"message\":\"wait for quota\"}", "progressed"),
        ("{\"status\":\"stalled\",\"retry_after_seconds\":3000}", "no_progress"),
    ] {
        let workspace = with_adapter(&format!("echo '{answer}'"), &[]);
        workspace.shell("watch | resume").ok();
        assert_eq!((&workspace.card("a")["outcome"]["kind"], &workspace.card("a")["status"]), (&json!(outcome), &json!("stalled")));
        assert_eq!(workspace.shell(&format!("watch --now {}", minutes_from_now(45))).ok().stdout(), "", "{answer}");
        assert_eq!(workspace.shell(&format!("watch --now {}", minutes_from_now(51))).ok().one()["reason"], "retry_due");
    }
    let workspace = with_adapter("echo '{\"status\":\"pending\"}'", &[]);
    let line = workspace.shell("watch | resume").ok().one();
    assert!(line["detail"].as_str().unwrap().contains("the answer's status is \"pending\""), "{line}");
    let workspace = with_adapter("echo '{\"phase\":\"x\",}'", &[]);
    let line = workspace.shell("watch | resume").ok().one();
    assert!(line["detail"].as_str().unwrap().contains("ends like an answer and is no JSON object"), "{line}");
}

#[test]
fn an_answer_that_is_too_long_is_told_as_that() {
    for (length, detail) in [
        (5_000_000, "none begins in the last 4194304 bytes: it is no JSON object, or too long"),
        (4_190_000, "the limit is 4194304, of which 65536 are kept for the outcome: keep large values in files"),
    ] {
        let value = format!("head -c {length} /dev/zero | tr '\\0' x");
        let workspace = with_adapter(&format!("printf '{{\"context\":{{\"a\":\"'; {value}; echo '\"}}}}'"), &[]);
        let line = workspace.shell("watch | resume").ok().one();
        assert_eq!(line["outcome"], "no_progress", "{line}");
        assert!(line["detail"].as_str().unwrap().contains(detail), "{line}");
    }
}

#[test]
fn a_question_that_is_asked_again_after_it_was_answered_is_new() {
    let workspace = with_adapter("echo '{\"status\":\"needs_attention\",\"reason\":\"sign\"}'", &[]);
    let new = || workspace.shell("watch | resume").ok().one().get("new").cloned();
    assert_eq!((new(), new()), (Some(json!(true)), None));
    workspace.run("card", &["approve", "a"]).ok();
    assert_eq!((new(), new()), (Some(json!(true)), None));
}

#[test]
fn an_adapter_that_pauses_itself_is_no_recovery() {
    let script = "import json\nprint(json.dumps({'status': 'needs_attention', 'reason': 'which_account', 'message': 'A or B?'}))\n";
    let Some(workspace) = predecessors_task(script) else { return };
    let line = workspace.shell("watch | resume").ok().one();
    assert_eq!(
        (&line["signal"], &line["reason"], &line["detail"]),
        (&json!("needs_attention"), &json!("which_account"), &json!("A or B?"))
    );
    assert_eq!(workspace.shell("watch | resume").ok().one()["reason"], "which_account");
}

#[test]
fn not_now_is_never_counted() {
    let workspace = with_adapter("echo run >>ran.txt; exit 75", &["--cooldown-seconds", "0", "--max-retries", "2"]);
    for minute in 0..20 {
        assert_eq!(pass_at(&workspace, minute)["outcome"], "postponed");
    }
    let card = workspace.card("a");
    assert_eq!((&card["status"], card.get("attention")), (&json!("stalled"), None));
    assert_eq!((card["retry_count"].as_u64(), card["failures"].as_u64()), (Some(0), Some(0)));
    assert_eq!(workspace.lines("ran.txt").len(), 20);
}

#[test]
fn when_it_asks_for_a_later_time_it_waits_so_long() {
    let workspace = with_adapter("echo '{\"retry_after_seconds\":7200,\"message\":\"quota\"}'; exit 75", &[]);
    let line = workspace.shell("watch | resume").ok().one();
    assert_eq!((&line["outcome"], &line["detail"]), (&json!("postponed"), &json!("quota")));
    assert_eq!(workspace.shell(&format!("watch --now {}", minutes_from_now(110))).ok().stdout(), "");
    assert_eq!(workspace.shell(&format!("watch --now {}", minutes_from_now(121))).ok().one()["reason"], "retry_due");
}

#[test]
fn a_circle_of_progress_and_failure_ends() {
    let workspace = with_adapter(
        "\"$TASK_BIN/checkpoint\" a --message \"$TASK_ATTEMPT\" >&2; exit 1",
        &["--cooldown-seconds", "0", "--max-failures", "5", "--max-retries", "2"],
    );
    for attempt in 1..=5 {
        let line = pass_at(&workspace, attempt);
        let expected = if attempt < 5 { ("alert", "") } else { ("needs_attention", "failures_exhausted") };
        assert_eq!((line["signal"].as_str().unwrap(), line["reason"].as_str().unwrap_or_default()), expected, "{line}");
    }
    assert_eq!(pass_at(&workspace, 6)["reason"], "failures_exhausted");
}

#[test]
fn the_wait_doubles_to_an_hour_and_begins_anew_after_progress() {
    let workspace = with_adapter(
        "if [ -e work ]; then rm work; \"$TASK_BIN/checkpoint\" a --message \"$TASK_ATTEMPT\" >&2; fi; exit 1",
        &["--max-retries", "20", "--give-up-after-minutes", "0"],
    );
    let wait_after = |minutes: i64| -> i64 {
        let now = minutes_from_now(minutes);
        let line = workspace.shell(&format!("watch --now {now} | resume --now {now}")).ok().one();
        let seconds = |value: &Value| -> i64 {
            let script = format!("date -d '{}' +%s", value.as_str().unwrap());
            workspace.shell(&script).ok().stdout().trim().parse().unwrap()
        };
        seconds(&line["next_attempt_at"]) - seconds(&workspace.card("a")["outcome"]["at"])
    };
    let near = |wait: i64, expected: i64| assert!((wait - expected).abs() <= 1, "{wait}, {expected} expected");
    let expected = [15, 30, 60, 120, 240, 480, 960, 1920, 3600, 3600];
    for (index, expected) in (0..).zip(expected) {
        near(wait_after(index * 100), expected);
    }
    workspace.write("work", "");
    near(wait_after(1100), 15);
    // A month later.
    near(wait_after(1100 + 30 * 24 * 60), 15);
}

#[test]
fn a_fault_of_ours_is_not_charged() {
    let workspace = with_adapter("\"$TASK_BIN/checkpoint\" a --message m", &["--cooldown-seconds", "0"]);
    // A script that somebody has open for writing cannot be run: "Text file busy".
    let line = workspace.shell("exec 9>>adapter.sh; watch | resume 9>&-").ok().one();
    assert_eq!((&line["signal"], &line["outcome"]), (&json!("alert"), &json!("postponed")));
    assert!(line["detail"].as_str().unwrap().contains("Text file busy"), "{line}");
    let card = workspace.card("a");
    assert_eq!((card["retry_count"].as_u64(), card["failures"].as_u64(), &card["status"]), (Some(0), Some(0), &json!("stalled")));
    assert_eq!(pass_at(&workspace, 1)["outcome"], "progressed");
}

#[test]
fn endings_are_told_apart() {
    for (script, kind, field, value) in [
        ("echo why >&2; exit 3", "failed", "exit_status", json!(3)),
        ("kill -SEGV $$", "failed", "signal", json!(11)),
        ("exit 75", "postponed", "exit_status", json!(75)),
        ("exit 78", "needs_attention", "exit_status", json!(78)),
        ("exit 0", "no_progress", "exit_status", json!(0)),
        ("echo '{\"status\":\"running\"}'", "handed_over", "exit_status", json!(0)),
        ("echo '{\"message\":\"m\"}'", "progressed", "exit_status", json!(0)),
        ("echo '{\"status\":\"failed\"}'", "failed", "exit_status", json!(0)),
        ("sh -c 'while [ -e hold ]; do sleep 0.02; done' &", "background", "exit_status", json!(0)),
    ] {
        let workspace = with_adapter(script, &[]);
        workspace.write("hold", "");
        workspace.shell("watch | resume").ok();
        let outcome = &workspace.card("a")["outcome"];
        assert_eq!((&outcome["kind"], &outcome[field]), (&json!(kind), &value), "{script}: {outcome}");
        assert_eq!(outcome.get("stderr_tail").is_some(), script.contains("why"), "{script}: {outcome}");
    }
}

/// An adapter of the Python predecessor goes on as it is.
#[test]
fn the_predecessors_words_are_answers_too() {
    for (answer, status, outcome, reason) in [
        ("{\"status\":\"done\",\"message\":\"all sent\"}", "completed", "completed", Value::Null),
        ("{\"status\":\"blocked\",\"reason\":\"which_source\"}", "needs_attention", "needs_attention", json!("which_source")),
    ] {
        let workspace = with_adapter(&format!("echo '{answer}'"), &[]);
        workspace.shell("watch | resume").ok();
        let card = workspace.card("a");
        assert_eq!((&card["status"], &card["outcome"]["kind"]), (&json!(status), &json!(outcome)), "{answer}");
        assert_eq!(card["attention"]["reason"], reason, "{answer}");
        // By hand, too.
        let workspace = with_adapter("", &[]);
        workspace.run_with("checkpoint", &["a", "-"], answer).ok();
        assert_eq!(workspace.card("a")["status"], status, "{answer}");
    }
    let workspace = with_adapter("echo '{\"status\":\"finished\"}'", &[]);
    let line = workspace.shell("watch | resume").ok().one();
    assert!(line["detail"].as_str().unwrap().contains("status is \"finished\"; running, stalled,"), "{line}");
}

#[test]
fn an_answer_after_three_hundred_megabytes_costs_no_memory() {
    let workspace = with_adapter(
        "head -c 300000000 /dev/zero | tr '\\0' 'x'; printf '\\377\\n{\"first\":1}\\n50%%\\r100%%\\r'\n\
         echo '{\"phase\":\"analyze\",'; echo ' \"message\":\"m\"}'",
        &["--timeout-seconds", "0"],
    );
    let measure = "import resource, subprocess, sys\n\
                   code = subprocess.call([sys.argv[1], 'a'])\n\
                   print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)\n\
                   sys.exit(code)";
    workspace.write("measure.py", measure);
    if workspace.shell("python3 -c ''").status() != Some(0) {
        return tests::skip("python3 is not installed");
    }
    let ran = workspace.shell("python3 measure.py \"$(command -v resume)\"");
    assert_eq!(ran.ok().one()["to_phase"], "analyze", "{ran}");
    let kib: u64 = ran.stderr().trim().parse().unwrap();
    assert!(kib < 16 * 1024, "{kib} KiB");
}
