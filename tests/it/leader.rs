//! Programs that leave no trace: no cookie, no lock. Only the process that was started is known, by its number and its start.

use std::fs;
use std::process::Stdio;

use serde_json::json;
use tests::{eventually, minutes_from_now};

use crate::supervision::{
    WORK, add_task, has_proc, holding, is_alive, kill_by_pid, leader_is_known, lines_of, pid_of, start, stranger,
};

#[test]
fn what_a_traceless_leader_leaves_in_its_group_is_ended_too() {
    if !has_proc() {
        return;
    }
    let workspace = holding();
    // The leader obeys; its child does not.
    workspace.write("child.sh", "trap '' TERM; echo $$ >>pids.txt; while [ -e hold ]; do sleep 0.05; done\n");
    workspace.write(
        "leader.sh",
        "exec >own.log 2>&1; sh child.sh & echo $$ >>pids.txt; trap ': >term; exit 1' TERM\nwhile [ -e hold ]; do sleep 0.05; done\n",
    );
    add_task(&workspace, "a", &format!("[ ! -e calm ] || {{ {WORK}; exit; }}\nexec env -i PATH=\"$PATH\" sh leader.sh"));
    let mut resume = start(&workspace, &["a"]);
    eventually("both run", || workspace.lines("pids.txt").len() == 2);
    leader_is_known(&workspace, "a", 1);
    resume.kill();
    assert_eq!(workspace.run("watch", &["--explain", "a"]).ok().one()["reason"], "alive");
    assert_eq!(workspace.run("resume", &["a", "--force"]).ok().one()["reason"], "attempt_alive");
    fs::write(workspace.path("calm"), "").unwrap();
    let later = minutes_from_now(40);
    let lines = lines_of(start(&workspace, &["a", "--now", &later, "--grace-seconds", "1"]));
    assert_eq!((&lines[0]["outcome"], &lines[0]["attempt"]), (&json!("progressed"), &json!(2)), "{lines:?}");
    assert!(workspace.path("term").exists(), "the leader was not asked");
    for pid in workspace.lines("pids.txt") {
        assert!(!is_alive(&pid), "{pid} lives");
    }
}

#[test]
fn another_process_under_the_leaders_number_is_none_of_the_attempts() {
    if !has_proc() {
        return;
    }
    let workspace = holding();
    add_task(&workspace, "a", &format!("[ ! -e calm ] || {{ {WORK}; exit; }}\necho $$ >pids.txt; exec sleep 120"));
    let mut resume = start(&workspace, &["a"]);
    eventually("it runs", || workspace.lines("pids.txt").len() == 1);
    leader_is_known(&workspace, "a", 1);
    resume.kill();
    let pid = workspace.lines("pids.txt")[0].clone();
    let file = workspace.card_path("logs/a/1.pid");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with(&format!("{pid} ")), "{text}");
    kill_by_pid(&pid);
    // A number that is given out anew is so at another clock tick, of which there are 100 in a second (proc_pid_stat(5)).
    let started: f64 = text.split(' ').nth(1).unwrap().parse().unwrap();
    let uptime = || fs::read_to_string("/proc/uptime").unwrap().split(' ').next().unwrap().parse::<f64>().unwrap();
    eventually("the clock ticks", || uptime() * 100.0 > started + 2.0);
    let mut stranger = stranger(&workspace, "stranger", &[], Stdio::null());
    fs::write(&file, text.replacen(&pid, &pid_of(&stranger), 1)).unwrap();
    eventually("it is due", || workspace.run("watch", &[]).stdout().contains("attempt_died"));
    fs::write(workspace.path("calm"), "").unwrap();
    let line = workspace.shell("watch | resume --grace-seconds 1").ok().one();
    assert_eq!(line["outcome"], "progressed", "{line}");
    assert!(stranger.runs() && workspace.lines("signalled.txt").is_empty());
    assert!(workspace.card_path("logs/a/2.pid").exists());
}
