//! The pass's time: what counts against it, what does not, and that nothing starts after it.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;
use tests::{Workspace, eventually, seconds_from_now};

use crate::supervision::{
    HANG, WORK, add_task, change, has_proc, holding, lines_of, pid_of, run_of_a_dead_supervisor, start, stranger, token,
};

#[test]
fn nothing_starts_when_the_grace_of_an_earlier_attempt_took_all_the_time() {
    if !has_proc() {
        return;
    }
    let workspace = holding();
    add_task(&workspace, "a", "echo run >>ran.txt");
    let own = token();
    let _survivor = stranger(&workspace, "survivor", &[("TASK_ATTEMPT", &format!("a/1/{own}"))], Stdio::null());
    change(&workspace, "a", &run_of_a_dead_supervisor(&workspace, &own, 1));
    let lines = lines_of(start(&workspace, &["a", "--budget-seconds", "1", "--grace-seconds", "1.5"]));
    assert_eq!((lines.len(), &lines[0]["outcome"]), (1, &json!("postponed")), "{lines:?}");
    assert_eq!(lines[0]["detail"], "the pass's time was over before it started");
    let card = workspace.card("a");
    assert_eq!((&card["status"], &card["retry_count"], &card["failures"]), (&json!("stalled"), &json!(0), &json!(0)));
    assert_eq!((workspace.lines("signalled.txt").is_empty(), workspace.lines("ran.txt").len()), (false, 0));
}

#[test]
fn a_wait_goes_no_further_than_the_passs_time() {
    let workspace = Workspace::new();
    let until = seconds_from_now(1800);
    for id in ["a", "b"] {
        add_task(&workspace, id, "echo run >>ran.txt");
        change(&workspace, id, &json!({"status": "stalled", "not_before": until}));
    }
    for ids in [&["a"][..], &["a", "b"]] {
        let before = workspace.card("a");
        let lines = lines_of(start(&workspace, &[ids, &["--wait-seconds", "3600", "--budget-seconds", "600"]].concat()));
        assert_eq!(lines.len(), ids.len());
        for line in &lines {
            assert_eq!((&line["signal"], &line["reason"]), (&json!("skipped"), &json!("budget")), "{line}");
            assert!(line["until"].is_string(), "{line}");
        }
        assert_eq!(workspace.card("a"), before);
    }
    assert!(workspace.lines("ran.txt").is_empty());
}

/// In a pool, and between the phases of one task.
#[test]
fn time_spent_stopped_does_not_count() {
    if !has_proc() {
        return;
    }
    // A machine that is too slow for all of them to be done in time gets more of it.
    let mut seen = Vec::new();
    for budget_s in [3, 10, 30] {
        seen.push(stopped_for_longer_than(budget_s));
        if seen.last().unwrap() == &["progressed", "progressed", "completed"] {
            return;
        }
    }
    panic!("{seen:?}");
}

/// Stops two passes for longer than their budget of so many seconds. How the three attempts ended.
fn stopped_for_longer_than(budget_s: u64) -> Vec<String> {
    let workspace = holding();
    add_task(&workspace, "a", &format!("echo $$ >>pids.txt; {HANG}; {WORK}"));
    add_task(&workspace, "b", &format!("echo $$ >>pids.txt; {WORK}"));
    add_task(
        &workspace,
        "c",
        &format!(
            "[ $TASK_PHASE = collect ] || {{ \"$TASK_BIN/card\" complete c >&2; exit; }}\n\
             echo $$ >>pids.txt; {HANG}; echo '{{\"next_phase\": \"render\"}}'"
        ),
    );
    let budget = budget_s.to_string();
    let pool = start(&workspace, &["a", "b", "--jobs", "1", "--budget-seconds", &budget]);
    let single = start(&workspace, &["c", "--budget-seconds", &budget]);
    let supervisors = [pid_of(&pool), pid_of(&single)];
    eventually("two run", || workspace.lines("pids.txt").len() == 2);
    workspace.shell(&format!("kill -TSTP {}", supervisors.join(" "))).ok();
    // Where the time was over before, an attempt is gone and its supervisor stands still without one, or is gone, too.
    let rests = |pid: &String| matches!(tests::process_state(pid), None | Some('T' | 'D' | 'Z'));
    eventually("they are stopped", || supervisors.iter().chain(&workspace.lines("pids.txt")).all(rests));
    let begun = Instant::now();
    eventually("more than their time is over", || begun.elapsed() > Duration::from_secs(budget_s + 1));
    fs::remove_file(workspace.path("hold")).unwrap();
    workspace.shell(&format!("kill -CONT {}", supervisors.join(" "))).ok();
    let lines = [lines_of(pool), lines_of(single)].concat();
    lines.iter().map(|line| line["outcome"].as_str().unwrap_or_default().to_owned()).collect()
}
