//! Limits: a time-out and its grace, the pass's time, output.

use std::time::{Duration, Instant};

use serde_json::json;
use tests::eventually;

use super::{HANG, WORK, add_task, create, has_proc, holding, is_alive, lines_of, start};

#[test]
fn what_ignores_term_is_gone_soon_after_the_grace() {
    if !has_proc() {
        return;
    }
    let workspace = holding();
    // One of them obeys, which tells when the grace began.
    let child = "sh -c 'echo $$ >>pids.txt; while [ -e hold ]; do sleep 0.05; done' &";
    let teller = "sh -c 'trap \": >term; exit\" TERM; : >ready; while [ -e hold ]; do sleep 0.02; done' &";
    add_task(
        &workspace,
        "a",
        &format!("{teller} while [ ! -e ready ]; do sleep 0.02; done; trap '' TERM; echo $$ >>pids.txt; {child} {HANG}"),
    );
    let resume = start(&workspace, &["a", "--timeout-seconds", "1.5", "--grace-seconds", "1"]);
    eventually("both run", || workspace.lines("pids.txt").len() == 2);
    eventually("the time is over", || workspace.path("term").exists());
    let begun = Instant::now();
    let pids = workspace.lines("pids.txt");
    // It gets its grace, of which the first part is over when this is seen.
    eventually("half of the grace is over", || begun.elapsed() > Duration::from_millis(500));
    let all_there = begun.elapsed() > Duration::from_millis(900) || pids.iter().all(|pid| is_alive(pid));
    assert!(all_there, "ended before the grace was over");
    eventually("both are gone", || !pids.iter().any(|pid| is_alive(pid)));
    // One second of grace and one after KILL; two for a machine under load.
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    let lines = lines_of(resume);
    assert_eq!((&lines[0]["signal"], &lines[0]["outcome"]), (&json!("alert"), &json!("timeout")), "{lines:?}");
}

#[test]
fn one_that_hangs_to_its_time_out_delays_no_other() {
    // A machine that is too slow for all others to be done in time gets more of it.
    for timeout in ["2", "6", "20", "60"] {
        let workspace = holding();
        let adapter =
            workspace.write("adapter.sh", &format!("#!/bin/sh\n[ $TASK_ID != t00 ] || {{ : >hangs; {HANG}; }}\n{WORK}\n"));
        create(&workspace, "t00", &adapter, &["--timeout-seconds", timeout]);
        let first = workspace.card("t00");
        let ids: Vec<String> = (0..50).map(|number| format!("t{number:02}")).collect();
        for id in &ids[1..] {
            let mut card = first.clone();
            card["task_id"] = id.as_str().into();
            card["timeout_seconds"] = 300.into();
            workspace.put_card(id, &card.to_string());
        }
        let args: Vec<&str> = ids.iter().map(String::as_str).chain(["--jobs", "4", "--grace-seconds", "0.2"]).collect();
        let lines = workspace.run("resume", &args).ok().json();
        assert_eq!(lines.len(), 50, "{lines:?}");
        assert!(workspace.path("hangs").exists());
        for line in &lines {
            assert_eq!(line["outcome"], if line["task_id"] == "t00" { "timeout" } else { "progressed" }, "{line}");
        }
        // Lines come as attempts end.
        if lines[49]["task_id"] == "t00" {
            return;
        }
    }
    panic!("the other 49 were not done within a minute");
}

#[test]
fn a_passs_time_is_kept() {
    let workspace = holding();
    for id in ["a", "b"] {
        add_task(&workspace, id, &format!("trap '' TERM; {HANG}"));
    }
    let begun = Instant::now();
    let lines = workspace.run("resume", &["a", "b", "--budget-seconds", "1.5", "--grace-seconds", "0.5"]).ok().json();
    let took = begun.elapsed();
    assert!(lines.len() == 2 && lines.iter().all(|line| line["outcome"] == "budget"), "{lines:?}");
    // The budget, the grace and a second; one and a half for a machine under load.
    assert!((Duration::from_millis(1500)..Duration::from_millis(4500)).contains(&took), "{took:?}");
}

#[test]
fn three_hundred_megabytes_on_both_streams_block_nobody() {
    let workspace = holding();
    add_task(
        &workspace,
        "a",
        &format!(
            "head -c 150000000 /dev/zero >&2 & head -c 150000000 /dev/zero; wait\n{WORK}\n\
             [ $(($(wc -c <data/task-runs/logs/a/1.out) + $(wc -c <data/task-runs/logs/a/1.err))) -ge 300000000 ] || exit 3"
        ),
    );
    add_task(&workspace, "b", &format!("head -c 1000000 /dev/zero >&2; {HANG}"));
    assert_eq!(workspace.run("resume", &["a"]).ok().one()["outcome"], "progressed");
    let line =
        workspace.run("resume", &["b", "--output-limit", "999999", "--grace-seconds", "0.2", "--timeout-seconds", "60"]).ok().one();
    assert_eq!(line["outcome"], "output_limit", "{line}");
}
