//! Passes: many at once, one that is asked to end, one that detaches.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tests::{Background, eventually, word};

use super::{HANG, WORK, add_task, create, end_of, has_proc, holding, is_alive};

/// Two rounds here; `make proof` comes to forty.
#[test]
fn sixteen_passes_at_once_run_each_of_eight_tasks_once() {
    let workspace = holding();
    let adapter = workspace.write("adapter.sh", &format!("#!/bin/sh\necho $TASK_ID >>ran.txt; {WORK}\n"));
    create(&workspace, "template", &adapter, &[]);
    let template = workspace.card("template");
    fs::remove_file(workspace.card_path("template.json")).unwrap();
    let busy = || Background::start(workspace.shell_command("while [ -e hold ]; do :; done"));
    let _busy = [busy(), busy()];
    for round in 0..2 {
        let ids: Vec<String> = (0..8).map(|number| format!("r{round}_{number}")).collect();
        for id in &ids {
            let mut card = template.clone();
            card["task_id"] = id.as_str().into();
            workspace.put_card(id, &card.to_string());
        }
        let passes: Vec<Background> = (0..16).map(|_| Background::start(workspace.shell_command("watch | resume"))).collect();
        let mut lines = Vec::new();
        for pass in passes {
            let output = pass.output();
            let text = String::from_utf8(output.stdout).unwrap();
            // On a machine that is slow enough somebody waits for a card's lock in vain, says so and leaves the task to the others.
            let gave_up = output.status.code() == Some(75) && text.contains("\"reason\":\"busy\"");
            assert!(output.status.success() || gave_up, "{}", String::from_utf8_lossy(&output.stderr));
            lines.extend(text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
        }
        let mut ran = workspace.lines("ran.txt");
        ran.sort_unstable();
        assert_eq!(ran, ids, "round {round}: {lines:?}");
        let mut told: Vec<&str> =
            lines.iter().filter(|line| line["signal"] == "recovery").map(|line| line["task_id"].as_str().unwrap()).collect();
        told.sort_unstable();
        assert_eq!(told, ids, "round {round}: {lines:?}");
        assert!(lines.iter().all(|line| line["signal"] == "recovery" || line["signal"] == "skipped"), "{lines:?}");
        for id in &ids {
            assert_eq!(workspace.card(id)["attempt"], 1);
            fs::remove_file(workspace.card_path(&format!("{id}.json"))).unwrap();
        }
        fs::remove_file(workspace.path("ran.txt")).unwrap();
    }
}

#[test]
fn a_pool_that_is_asked_to_end_leaves_nothing_running_and_all_go_on_in_the_next_pass() {
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let workspace = holding();
        let ids = ["a", "b", "c", "d"];
        // One child each obeys nobody.
        let child = format!("sh -c 'trap \"\" TERM INT HUP; echo $$ >>pids.txt; {HANG}' &");
        for id in ids {
            add_task(&workspace, id, &format!("[ ! -e calm ] || {{ {WORK}; exit; }}\necho $$ >>pids.txt; {child} {HANG}"));
        }
        let mut command = workspace.command("resume");
        command.args(ids).args(["--grace-seconds", "0.3"]).process_group(0);
        let resume = Background::start(command);
        eventually("all run", || workspace.lines("pids.txt").len() == 8);
        // As a terminal does it: to the whole group.
        killpg(Pid::from_raw(i32::try_from(resume.0.id()).unwrap()), signal).unwrap();
        let output = end_of(resume);
        assert_eq!(output.status.code(), Some(128 + signal as i32));
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!((text.lines().count(), text.matches("\"postponed\"").count()), (4, 4), "{text}");
        for pid in workspace.lines("pids.txt").iter().filter(|_| has_proc()) {
            assert!(!is_alive(pid), "{signal}: {pid} lives");
        }
        for id in ids {
            let card = workspace.card(id);
            assert_eq!(
                (&card["status"], &card["outcome"]["kind"], card.get("run")),
                (&json!("stalled"), &json!("postponed"), None)
            );
            assert_eq!((card["retry_count"].as_u64(), card["failures"].as_u64(), card.get("not_before")), (Some(0), Some(0), None));
        }
        fs::write(workspace.path("calm"), "").unwrap();
        let lines = workspace.shell("watch | resume").ok().json();
        let again: BTreeSet<&str> = lines.iter().map(|line| line["task_id"].as_str().unwrap()).collect();
        assert!(lines.iter().all(|line| line["outcome"] == "progressed" && line["attempt"] == 2), "{lines:?}");
        assert_eq!(again, BTreeSet::from(ids));
    }
}

#[test]
fn a_detached_attempt_from_cron_outlives_everything_that_started_it() {
    let workspace = holding();
    add_task(&workspace, "a", &format!("echo $$ >>pids.txt; {HANG}; {WORK}"));
    let bin = tests::programs().display();
    let folder = word(&workspace.path("")).to_owned();
    let script = format!("cd '{folder}' && '{bin}/watch' | '{bin}/resume' --detach >>data/recovery.log 2>&1");
    let mut cron = Command::new("/bin/sh");
    cron.args(["-c", &script]).env_clear().envs([("PATH", "/usr/bin:/bin"), ("HOME", "/nowhere"), ("SHELL", "/bin/sh")]);
    cron.stdin(Stdio::null()).process_group(0);
    let pass = Background::start(cron);
    let group = Pid::from_raw(i32::try_from(pass.0.id()).unwrap());
    assert!(end_of(pass).status.success());
    // Whoever was left in its group is killed; nobody was.
    assert!(killpg(group, Signal::SIGKILL).is_err(), "something was left in the group");
    let line: Value = serde_json::from_str(&workspace.lines("data/recovery.log")[0]).unwrap();
    assert_eq!(line, json!({"signal": "started", "task_id": "a", "attempt": 1}));
    eventually("it runs", || workspace.lines("pids.txt").len() == 1);
    assert_eq!(workspace.run("watch", &["--explain", "a"]).ok().one()["reason"], "supervised");
    assert_eq!(workspace.shell("watch | resume").ok().stdout(), "");
    fs::remove_file(workspace.path("hold")).unwrap();
    eventually("it is settled", || workspace.card_path(".outbox/a.1").exists());
    let line = workspace.shell("watch | resume").ok().one();
    assert_eq!((&line["signal"], &line["task_id"], &line["outcome"]), (&json!("recovery"), &json!("a"), &json!("progressed")));
    assert_eq!(workspace.shell("watch | resume").ok().stdout(), "");
}
