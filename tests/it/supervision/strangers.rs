//! Strangers: whoever is none of resume's business is never signalled.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};
use tests::{Background, eventually, has_tool, minutes_from_now};

use super::{
    HANG, WORK, add_task, change, has_proc, holding, is_alive, lines_of, pid_of, run_of_a_dead_supervisor, start, stranger, token,
};

/// The supervisor is gone, by a crash or with the whole machine, and its number is somebody else's now.
#[test]
fn a_stranger_under_a_recorded_number_is_never_signalled() {
    for logs in [false, true] {
        let workspace = holding();
        add_task(&workspace, "a", &format!("echo $TASK_ATTEMPT >>ran.txt; {HANG}"));
        add_task(&workspace, "b", HANG);
        let mut other = stranger(&workspace, "stranger", &[], Stdio::null());
        let own = token();
        change(&workspace, "a", &run_of_a_dead_supervisor(&workspace, &own, other.0.id()));
        change(&workspace, "b", &run_of_a_dead_supervisor(&workspace, &token(), other.0.id()));
        if logs {
            // After a new start of the machine they are still there, and no lock is.
            for id in ["a", "b"] {
                workspace
                    .shell(&format!("mkdir -p data/task-runs/logs/{id} && cd data/task-runs/logs/{id} && : >1.in >1.out >1.err"))
                    .ok();
            }
        }
        let lines = workspace.run("watch", &[]).ok().json();
        assert!(lines.len() == 2 && lines.iter().all(|line| line["reason"] == "attempt_died"), "{lines:?}");
        workspace.run("card", &["cancel", "b"]).ok();
        assert_eq!(workspace.run("watch", &[]).ok().json().len(), 1, "nothing of it lives");
        workspace.run("resume", &["b"]).ok();
        // The next attempt is ended by its time-out, and nobody else.
        let line = workspace.shell("watch | resume --timeout-seconds 0.5 --grace-seconds 0.2").ok().one();
        assert_eq!((&line["outcome"], &line["attempt"]), (&json!("timeout"), &json!(2)), "{line}");
        assert_eq!(workspace.lines("ran.txt"), [format!("a/2/{own}")]);
        assert!(other.runs());
        assert_eq!(workspace.lines("signalled.txt"), [""; 0]);
    }
}

/// Numbers are given out anew after a restart of a container, or when they went round.
#[test]
fn strangers_under_the_pids_of_a_dead_attempt_and_its_supervisor_are_left_alone() {
    if !has_tool("unshare") || !has_tool("mkfifo") {
        return;
    }
    let workspace = holding();
    let asks = "echo 5000 >/proc/sys/kernel/ns_last_pid";
    if workspace.shell(&format!("unshare -Urpf --mount-proc sh -c '{asks}'")).status() != Some(0) {
        return tests::skip("a new pid namespace, or choosing a pid in it, is not permitted");
    }
    add_task(&workspace, "a", &format!("[ ! -e calm ] || {{ {WORK}; exit; }}\necho $$ >pid.txt; {HANG}"));
    // It starts no process of its own, whose number could be the wanted one.
    let waits = "exec 3<>never.fifo; while :; do read line <&3; done";
    workspace.write("stranger.sh", &format!("trap 'echo TERM >>signalled.txt' TERM\necho $$ >>strangers.txt\n{waits}\n"));
    let wait_for =
        |condition: &str| format!("tries=0; until {condition} || [ $tries -gt 3000 ]; do sleep 0.02; tries=$((tries + 1)); done\n");
    workspace.write(
        "inside.sh",
        &format!(
            "mkfifo never.fifo; resume a & supervisor=$!\n{}kill -KILL $supervisor; wait $supervisor\n\
             leader=$(cat pid.txt); kill -KILL -$leader; {}\
             echo $supervisor >dead.txt; echo $leader >>dead.txt\n\
             for pid in $supervisor $leader; do\n\
             echo $((pid - 1)) >/proc/sys/kernel/ns_last_pid; setsid sh stranger.sh &\n{}done\n\
             : >calm; watch >watch.out; resume --grace-seconds 0.3 <watch.out >resume.out\n\
             for pid in $(cat strangers.txt); do kill -0 $pid && echo $pid >>alive.txt; done\n",
            wait_for("[ -s pid.txt ]"),
            // A number is free when it is no longer anyone's group either.
            wait_for("! kill -0 -$leader 2>/dev/null"),
            wait_for("grep -qsx $pid strangers.txt"),
        ),
    );
    workspace.shell("unshare -Urpf --kill-child --mount-proc sh -c 'sh inside.sh; exit 0'").ok();
    let dead = workspace.lines("dead.txt");
    assert_eq!((dead.len(), workspace.lines("strangers.txt")), (2, dead.clone()), "they got other numbers");
    let line = |name: &str| -> Value { serde_json::from_str(&workspace.lines(name)[0]).unwrap() };
    assert_eq!(line("watch.out")["reason"], "attempt_died");
    assert_eq!((&line("resume.out")["signal"], &line("resume.out")["outcome"]), (&json!("recovery"), &json!("progressed")));
    assert_eq!((workspace.lines("alive.txt"), workspace.lines("signalled.txt")), (dead, vec![]));
}

#[test]
fn whoever_carries_a_similar_cookie_is_never_signalled() {
    if !has_proc() {
        return;
    }
    let own = token();
    let workspace = holding();
    add_task(&workspace, "report_1", HANG);
    change(&workspace, "report_1", &run_of_a_dead_supervisor(&workspace, &own, 1));
    workspace.shell("mkdir -p data/task-runs/logs/report_1 && cd data/task-runs/logs/report_1 && : >1.in >1.out >1.err").ok();
    let cookies = [
        ("TASK_ATTEMPT", format!("report_10/1/{own}")),
        ("TASK_ATTEMPT", format!("report_10/2/{own}")),
        ("TASK_ATTEMPT", format!("report_/1/{own}")),
        ("TASK_ATTEMPT", format!("xreport_1/1/{own}")),
        ("TASK_ATTEMPT", "report_1/1/fedcba9876543210".to_owned()),
        ("TASK_ATTEMPT", "report_1/2/fedcba9876543210".to_owned()),
        ("TASK_ATTEMPT", format!("report_1/1/{own}0")),
        ("TASK_ATTEMPT", format!("report_1/1/{own}/1")),
        ("TASK_ATTEMPT", format!("report_1/12/{own}")),
        ("TASK_ATTEMPT", format!("report_1/3/{own}")),
        ("TASK_ATTEMPTS", format!("report_1/1/{own}")),
        ("OLD_TASK_ATTEMPT", format!("report_1/2/{own}")),
        ("NOTE", format!("TASK_ATTEMPT=report_1/1/{own}")),
    ];
    let mut strangers: Vec<Background> = (0..)
        .zip(&cookies)
        .map(|(number, (name, value)): (usize, _)| stranger(&workspace, &format!("s{number}"), &[(name, value)], Stdio::null()))
        .collect();
    // Somebody who reads the log of the attempt.
    let log = fs::File::open(workspace.card_path("logs/report_1/1.out")).unwrap();
    strangers.push(stranger(&workspace, "reader", &[], log.into()));
    let survivor = stranger(&workspace, "survivor", &[("TASK_ATTEMPT", &format!("report_1/1/{own}"))], Stdio::null());
    // Its logs were just made.
    let later = minutes_from_now(40);
    assert_eq!(workspace.run("watch", &["--now", &later]).ok().one()["reason"], "attempt_silent");
    // The survivor is ended before the next attempt starts, and that by its time-out.
    let resume = format!("watch --now {later} | resume --now {later} --timeout-seconds 0.5 --grace-seconds 0.3");
    let line = workspace.shell(&resume).ok().one();
    assert_eq!((&line["outcome"], &line["attempt"]), (&json!("timeout"), &json!(2)), "{line}");
    assert!(!is_alive(&pid_of(&survivor)), "the survivor lives");
    assert!(workspace.lines("signalled.txt").iter().all(|name| name == "survivor"), "{:?}", workspace.lines("signalled.txt"));
    for (number, process) in strangers.iter_mut().enumerate() {
        assert!(process.runs(), "{number}: {:?}", cookies.get(number));
    }
}

#[test]
fn an_attempt_of_another_task_or_workspace_goes_on_when_one_is_ended() {
    let script = format!("trap 'echo $TASK_ID >>signalled.txt' TERM CONT; echo $TASK_ID >>ran.txt; {HANG}; {WORK}");
    let (here, elsewhere) = (holding(), holding());
    let tasks = [(&here, "report_1"), (&here, "report_10"), (&elsewhere, "report_1"), (&elsewhere, "report_10")];
    for (workspace, id) in tasks {
        add_task(workspace, id, &script);
    }
    let others: Vec<Background> = tasks[1..].iter().map(|(workspace, id)| start(workspace, &[id])).collect();
    eventually("the others run", || here.lines("ran.txt").len() == 1 && elsewhere.lines("ran.txt").len() == 2);
    let line = here.run("resume", &["report_1", "--timeout-seconds", "0.7", "--grace-seconds", "0.3"]).ok().one();
    assert_eq!(line["outcome"], "timeout");
    assert!(here.lines("signalled.txt").iter().all(|id| id == "report_1"));
    for workspace in [&here, &elsewhere] {
        fs::remove_file(workspace.path("hold")).unwrap();
    }
    for other in others {
        let lines = lines_of(other);
        assert_eq!((&lines[0]["signal"], &lines[0]["outcome"]), (&json!("recovery"), &json!("progressed")), "{lines:?}");
    }
    assert_eq!(elsewhere.lines("signalled.txt"), [""; 0]);
    assert!(here.lines("signalled.txt").iter().all(|id| id == "report_1"));
}
