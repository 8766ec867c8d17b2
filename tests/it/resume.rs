//! `resume`.

use std::fs;

use serde_json::{Value, json};
use tests::{Background, Workspace, eventually, minutes_from_now, word};

/// A task that is silent for 45 minutes, with this adapter.
fn with_adapter(script: &str) -> Workspace {
    let workspace = Workspace::new();
    add_task(&workspace, "a", script, &[]);
    workspace
}

fn add_task(workspace: &Workspace, id: &str, script: &str, more: &[&str]) {
    let adapter = workspace.write(&format!("{id}.sh"), &format!("#!/bin/sh\n{script}\n"));
    let at = minutes_from_now(-45);
    let mut args =
        vec!["create", id, "--task-type", "t", "--title", "x", "--phase", "collect", "--allow-auto-resume", "--now", &at];
    args.extend(["--resume-adapter", word(&adapter), "--cooldown-seconds", "0"]);
    args.extend(more);
    workspace.run("card", &args).ok();
}

#[test]
fn a_silent_task_is_brought_back_from_its_last_checkpoint() {
    let workspace = with_adapter(
        "cat >stdin.json; env | grep ^TASK_ | sort >env.txt; pwd >pwd.txt; echo \"$@\" >args.txt; echo some log\n\
         \"$TASK_BIN/checkpoint\" \"$TASK_ID\" --phase collect --next-phase analyze --message collected >&2",
    );
    let line = workspace.shell("watch | resume").ok().is_quiet().one();
    let at = line["recovered_at"].clone();
    let expected = json!({"signal": "recovery", "task_id": "a", "from_phase": "collect", "to_phase": "analyze", "recovered_at": at,
        "attempt": 1, "outcome": "progressed"});
    assert_eq!(line, expected);
    let card = workspace.card("a");
    assert_eq!((&card["status"], &card["phase"], &card["run"]), (&json!("running"), &json!("analyze"), &json!(null)));
    assert_eq!((&card["retry_count"], &card["failures"], &card["attempt"]), (&json!(0), &json!(0), &json!(1)));
    assert_eq!(card["outcome"]["kind"], "progressed");
    // What the attempt was given.
    let given: Value = serde_json::from_str(&fs::read_to_string(workspace.path("stdin.json")).unwrap()).unwrap();
    assert_eq!((&given["attempt"], &given["phase"], &given["run"]["charged"]), (&json!(1), &json!("collect"), &json!(true)));
    let folder = word(&workspace.path("")).trim_end_matches('/').to_owned();
    let cards = format!("{folder}/data/task-runs");
    let token = given["run"]["token"].as_str().unwrap();
    let expected = [
        format!("TASK_ATTEMPT=a/1/{token}"),
        format!("TASK_BIN={}", word(tests::programs())),
        format!("TASK_CARD={cards}/a.json"),
        "TASK_ID=a".to_owned(),
        "TASK_PHASE=collect".to_owned(),
        format!("TASK_RUNS_DIR={cards}"),
        "TASK_TIMEOUT_SECONDS=300".to_owned(),
    ];
    assert_eq!(workspace.lines("env.txt"), expected);
    assert_eq!(workspace.lines("pwd.txt"), [folder]);
    assert_eq!(workspace.lines("args.txt"), ["--task-id a --timeout-seconds 300"]);
    assert_eq!(workspace.lines("data/task-runs/logs/a/1.out"), ["some log"]);
    assert_eq!(workspace.run("watch", &[]).ok().stdout(), "");
}

#[test]
fn our_programs_are_last_on_the_path_of_an_attempt() {
    let workspace = with_adapter("echo \"$PATH\" >path.txt; command -v checkpoint >found.txt; checkpoint \"$TASK_ID\" --message m");
    workspace.run("resume", &["a"]).ok();
    assert!(workspace.lines("path.txt")[0].ends_with(&format!(":{}", word(tests::programs()))));
    assert_eq!(workspace.lines("found.txt"), [word(&tests::programs().join("checkpoint"))]);
    assert_eq!(workspace.card("a")["checkpoint_count"], 1);
}

#[test]
fn an_exit_status_alone_is_never_a_recovery() {
    for script in ["exit 0", "\"$TASK_BIN/checkpoint\" a --message again"] {
        let workspace = with_adapter(script);
        workspace.run("checkpoint", &["a", "--message", "again", "--now", &minutes_from_now(-40)]).ok();
        for attempt in 1..=3 {
            let line = workspace.shell("watch | resume").ok().one();
            assert_eq!((&line["outcome"], &line["attempt"]), (&json!("no_progress"), &json!(attempt)), "{line}");
            if attempt < 3 {
                assert_eq!(line["signal"], "alert");
                eventually("the cooldown is over", || !workspace.run("watch", &[]).stdout().is_empty());
            } else {
                assert_eq!((&line["signal"], &line["reason"]), (&json!("needs_attention"), &json!("retries_exhausted")));
            }
        }
        let card = workspace.card("a");
        assert_eq!((&card["status"], &card["attention"]["reason"]), (&json!("needs_attention"), &json!("retries_exhausted")));
        // Visible in every pass, and told to be new once.
        for pass in 0..3 {
            let line = workspace.shell("watch | resume").ok().one();
            assert_eq!((&line["reason"], line.get("new")), (&json!("retries_exhausted"), None), "pass {pass}");
        }
        assert_eq!(workspace.card("a"), card);
    }
}

#[test]
fn what_is_new_is_told_once_and_again_when_it_comes_back() {
    let workspace = with_adapter("exit 0");
    let new = || workspace.shell("watch | resume").ok().one().get("new").cloned();
    workspace.run("card", &["block", "a", "--reason", "r"]).ok();
    assert_eq!((new(), new()), (Some(json!(true)), None));
    // A pass about something else changes nothing, and one that looks only does not tell.
    workspace.shell("watch --task-type other | resume").ok();
    assert_eq!(workspace.shell("watch | resume --dry-run").ok().one().get("new"), None);
    assert_eq!(new(), None);
    workspace.run("card", &["block", "a", "--reason", "other"]).ok();
    assert_eq!((new(), new()), (Some(json!(true)), None));
    let report = workspace.shell("watch | resume --report").ok().one();
    assert_eq!((report.get("needs_attention"), report["active_needs_attention"].as_array().unwrap().len()), (None, 1));
    workspace.run("card", &["approve", "a"]).ok();
    workspace.run("card", &["complete", "a"]).ok();
    assert_eq!(workspace.shell("watch | resume --report").ok().stdout(), "{}\n");
    // A card that cannot be read, too.
    workspace.put_card("broken", "{");
    assert_eq!((new(), new()), (Some(json!(true)), None));
}

#[test]
fn each_kind_of_parked_task_goes_on_once_when_approved() {
    let work = "echo \"$TASK_PHASE\" >>ran.txt; \"$TASK_BIN/checkpoint\" \"$TASK_ID\" --message \"$TASK_ATTEMPT\"";
    let host = Workspace::new().shell("uname -n").stdout().trim().to_owned();
    let run = |host: &str| json!({"attempt": 1, "token": "t", "host": host, "pid": 1, "started_at": minutes_from_now(-45), "charged": true});
    let cases: [(&str, Value); 9] = [
        ("auto_resume_off", json!({"allow_auto_resume": false})),
        ("too_old", json!({"give_up_after_minutes": 5, "stale_after_minutes": 10})),
        ("non_idempotent_phase_blocked", json!({"manual_phases": ["collect"]})),
        ("retries_exhausted", json!({"retry_count": 3})),
        ("failures_exhausted", json!({"failures": 50})),
        ("other_host", json!({"attempt": 1, "run": run("elsewhere")})),
        ("which_one", json!({"status": "needs_attention", "attention": {"reason": "which_one"}})),
        (
            "attempt_not_contained",
            json!({"status": "needs_attention", "attention": {"reason": "attempt_not_contained"}, "attempt": 1,
            "run": run(&host)}),
        ),
        ("blocked", json!({"status": "needs_attention"})),
    ];
    for (reason, fields) in cases {
        let workspace = with_adapter(work);
        let mut card = workspace.card("a");
        card.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        workspace.put_card("a", &card.to_string());
        let line = workspace.shell("watch | resume").ok().one();
        assert_eq!((&line["signal"], &line["reason"]), (&json!("needs_attention"), &json!(reason)), "{line}");
        assert!(workspace.lines("ran.txt").is_empty(), "{reason}");
        let approved = workspace.run("card", &["approve", "a"]).ok().one();
        assert_eq!((&approved["status"], &approved["attention"]), (&json!("stalled"), &json!(null)), "{reason}");
        let line = workspace.shell("watch | resume").ok().one();
        assert_eq!((&line["signal"], &line["outcome"]), (&json!("recovery"), &json!("progressed")), "{reason}: {line}");
        assert_eq!(workspace.shell("watch | resume").ok().stdout(), "", "{reason}");
        assert_eq!(workspace.lines("ran.txt"), ["collect"], "{reason}");
        assert_eq!(workspace.card("a")["permit"], json!(null), "{reason}");
    }
    // What one approval allowed, it allowed once.
    let workspace = with_adapter(work);
    let mut card = workspace.card("a");
    card["manual_phases"] = json!(["collect"]);
    workspace.put_card("a", &card.to_string());
    workspace.run("card", &["approve", "a"]).ok();
    workspace.shell("watch | resume").ok();
    let later = minutes_from_now(60);
    let line = workspace.shell(&format!("watch --now {later} | resume --now {later}")).ok().one();
    assert_eq!(line["reason"], "non_idempotent_phase_blocked");
}

#[test]
fn a_task_that_was_completed_between_watch_and_resume_is_not_touched() {
    let workspace = with_adapter("echo ran >>ran.txt");
    let seen = workspace.run("watch", &[]).ok().stdout();
    workspace.run("card", &["complete", "a"]).ok();
    let card = workspace.card("a");
    let line = workspace.run_with("resume", &[], &seen).ok().one();
    assert_eq!((&line["signal"], &line["reason"]), (&json!("skipped"), &json!("completed")));
    assert_eq!(workspace.card("a"), card);
    assert!(workspace.lines("ran.txt").is_empty());
}

#[test]
fn a_time_out_ends_the_whole_group_and_costs_a_retry() {
    let workspace = with_adapter(
        "trap 'echo term >>signals.txt' TERM\n\
         sh -c 'trap \"\" TERM; echo $$ >child.pid; while [ -e hold ]; do sleep 0.05; done' &\n\
         while [ -e hold ]; do sleep 0.05; done",
    );
    fs::write(workspace.path("hold"), "").unwrap();
    let line = workspace.run("resume", &["a", "--timeout-seconds", "0.3", "--grace-seconds", "0.2"]).ok().one();
    let log = workspace.card_path("logs/a/1.err");
    assert_eq!((&line["signal"], &line["outcome"], &line["log"]), (&json!("alert"), &json!("timeout"), &json!(word(&log))));
    let card = workspace.card("a");
    assert_eq!((&card["status"], &card["retry_count"], &card["failures"]), (&json!("stalled"), &json!(1), &json!(1)));
    assert_eq!(workspace.lines("signals.txt"), ["term"]);
    let child = workspace.lines("child.pid")[0].clone();
    assert!(!tests::is_alive(&child), "the child lives");
}

#[test]
fn a_signal_stops_the_attempt_and_settles_it_without_charge() {
    for (name, number) in [("TERM", 15), ("INT", 2), ("HUP", 1)] {
        let workspace = with_adapter("echo $$ >adapter.pid; while [ -e hold ]; do sleep 0.05; done");
        fs::write(workspace.path("hold"), "").unwrap();
        let mut command = workspace.command("resume");
        command.arg("a");
        let resume = Background::start(command);
        eventually("the adapter runs", || !workspace.lines("adapter.pid").is_empty());
        workspace.shell(&format!("kill -{name} {}", resume.0.id())).ok();
        let output = resume.output();
        assert_eq!(output.status.code(), Some(128 + number), "{name}");
        let line: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&line["signal"], &line["outcome"]), (&json!("alert"), &json!("postponed")), "{name}");
        let card = workspace.card("a");
        assert_eq!((&card["status"], &card["retry_count"], &card["run"]), (&json!("stalled"), &json!(0), &json!(null)), "{name}");
        assert!(workspace.run("watch", &[]).one()["reason"] == "retry_due");
    }
}

#[test]
fn a_pool_relays_a_signal_to_all_its_members() {
    let workspace = Workspace::new();
    for id in ["a", "b", "c"] {
        add_task(&workspace, id, "echo $$ >>pids.txt; while [ -e hold ]; do sleep 0.05; done", &[]);
    }
    fs::write(workspace.path("hold"), "").unwrap();
    let resume = Background::start(workspace.shell_command("watch | resume & echo $! >pool.pid; wait $!"));
    eventually("all run", || workspace.lines("pids.txt").len() == 3);
    workspace.shell("kill -TERM $(cat pool.pid)").ok();
    let output = resume.output();
    assert_eq!(output.status.code(), Some(143));
    assert_eq!(String::from_utf8_lossy(&output.stdout).matches("\"postponed\"").count(), 3);
    for id in ["a", "b", "c"] {
        assert_eq!(workspace.card(id)["status"], "stalled");
    }
}

#[test]
fn a_pool_runs_as_many_as_it_may_and_tells_each() {
    let workspace = Workspace::new();
    // The first two wait for each other: a pool that runs one at a time would never end.
    let script = "mkdir slots 2>/dev/null; : >slots/$TASK_ID; n=$(ls slots | wc -l); echo $n >>at_once.txt; [ $n -lt 2 ] || : >two\n\
                  while [ ! -e two ]; do sleep 0.02; done; rm slots/$TASK_ID; \"$TASK_BIN/checkpoint\" $TASK_ID --message done";
    let ids: Vec<String> = (0..6).map(|number| format!("t{number}")).collect();
    ids.iter().for_each(|id| add_task(&workspace, id, script, &[]));
    let lines = workspace.shell("watch | resume --jobs 2").ok().is_quiet().json();
    assert_eq!(lines.iter().filter(|line| line["signal"] == "recovery").count(), 6);
    let most: u32 = workspace.lines("at_once.txt").iter().map(|line| line.trim().parse().unwrap()).max().unwrap();
    assert_eq!(most, 2, "at once");
}

#[test]
fn a_dry_run_changes_nothing_and_says_what_it_would_do() {
    let workspace = with_adapter("echo ran >>ran.txt");
    workspace.run("card", &["create", "go", "--task-type", "t", "--title", "x", "--allow-auto-resume", "--", "true"]).ok();
    workspace.run("card", &["create", "stop", "--task-type", "t", "--title", "x"]).ok();
    workspace.run("card", &["block", "stop"]).ok();
    workspace.run("card", &["create", "well", "--task-type", "t", "--title", "x"]).ok();
    let state = || workspace.shell("find . -printf '%p %T@ %C@ %s\\n' | sort").stdout();
    let before = state();
    let lines = workspace.shell("{ watch; echo well; } | resume --dry-run").ok().json();
    let told = |id: &str| lines.iter().find(|line| line["task_id"] == id).unwrap();
    assert_eq!((&told("a")["would"], &told("a")["reason"]), (&json!("resume"), &json!("silent")));
    assert_eq!((&told("go")["would"], &told("go")["command"]), (&json!("start"), &json!(["true"])));
    assert_eq!(told("stop")["signal"], "needs_attention");
    assert_eq!((&told("well")["would"], &told("well")["reason"]), (&json!("skip"), &json!("healthy")));
    assert_eq!(state(), before);
}

#[test]
fn a_named_task_that_is_not_due_is_explained_and_force_starts_it() {
    let workspace = with_adapter("echo ran >>ran.txt; \"$TASK_BIN/checkpoint\" a --message \"$TASK_ATTEMPT\"");
    workspace.run("checkpoint", &["a", "--message", "m"]).ok();
    let named = workspace.run("resume", &["a"]);
    named.ok().complains("a is not due: silent for 0 min, and the limit is 30 min; --force would start an attempt now");
    assert_eq!(named.one()["reason"], "healthy");
    workspace.run("resume", &["a", "--force"]).ok().is_quiet();
    assert_eq!(workspace.lines("ran.txt").len(), 1);
    // Force overrides exhaustion and auto-resume, but not a manual phase or a finished task.
    let mut card = workspace.card("a");
    card["allow_auto_resume"] = false.into();
    card["status"] = "needs_attention".into();
    card["attention"] = json!({"reason": "retries_exhausted"});
    card["retry_count"] = 3.into();
    workspace.put_card("a", &card.to_string());
    workspace.run("resume", &["a", "--force"]).ok();
    assert_eq!(workspace.lines("ran.txt").len(), 2);
    let mut card = workspace.card("a");
    card["manual_phases"] = json!(["collect"]);
    workspace.put_card("a", &card.to_string());
    assert_eq!(workspace.run("resume", &["a", "--force"]).ok().one()["reason"], "non_idempotent_phase_blocked");
    workspace.run("card", &["complete", "a"]).ok();
    workspace.run("resume", &["a", "--force"]).ok().complains("a is completed: it is never started again");
    assert_eq!(workspace.lines("ran.txt").len(), 2);
    workspace.run("resume", &["nobody"]).exits(66).complains("no task nobody");
}

#[test]
fn wait_seconds_waits_for_what_is_due_soon() {
    let workspace = with_adapter("\"$TASK_BIN/checkpoint\" a --message m");
    let mut card = workspace.card("a");
    card["status"] = "stalled".into();
    card["not_before"] = tests::seconds_from_now(2).into();
    workspace.put_card("a", &card.to_string());
    let before = tests::seconds_from_now(-10);
    assert_eq!(workspace.run("resume", &["a", "--wait-seconds", "5", "--now", &before]).ok().one()["reason"], "cooling_down");
    assert_eq!(workspace.run("resume", &["a", "--wait-seconds", "30"]).ok().is_quiet().one()["outcome"], "progressed");
}

#[test]
fn what_cannot_be_read_is_said_and_the_rest_is_done() {
    let workspace = with_adapter("\"$TASK_BIN/checkpoint\" a --message m");
    let ran = workspace.run_with("resume", &[], "{broken\n../etc/passwd\n[7]\n\"a\"\n");
    assert_eq!(ran.exits(65).one()["signal"], "recovery");
    assert_eq!(ran.stderr().lines().count(), 3, "{ran}");
}

#[test]
fn a_broken_adapter_is_told_from_one_that_failed() {
    for (script, status, detail) in [
        ("#!/nowhere/sh\n", "failed", "names an interpreter that is not there: /nowhere/sh"),
        ("#!/bin/sh\nexit 3\n", "failed", "exit status 3"),
        ("#!/bin/sh\nkill -9 $$\n", "failed", "ended by signal 9"),
        ("#!/bin/sh\nexit 75\n", "postponed", ""),
        ("#!/bin/sh\necho '{\"status\":7}'\n", "no_progress", "the answer's status is 7"),
    ] {
        let workspace = with_adapter("");
        workspace.write("a.sh", script);
        let line = workspace.run("resume", &["a"]).ok().one();
        assert_eq!(line["outcome"], status, "{script}: {line}");
        assert!(line["detail"].as_str().unwrap_or_default().contains(detail), "{script}: {line}");
    }
    let workspace = with_adapter("echo '{\"reason\":\"which_account\",\"message\":\"A or B?\"}'; exit 78");
    let line = workspace.run("resume", &["a"]).ok().one();
    assert_eq!(
        (&line["signal"], &line["reason"], &line["detail"]),
        (&json!("needs_attention"), &json!("which_account"), &json!("A or B?"))
    );
}

#[test]
fn an_adapter_that_asks_for_it_goes_on_from_phase_to_phase() {
    let workspace = with_adapter(
        "echo \"$TASK_PHASE\" >>ran.txt\n\
         case $TASK_PHASE in\n\
         collect) echo '{\"next_phase\":\"analyze\",\"artifacts\":{\"raw\":\"raw.json\"}}' ;;\n\
         analyze) echo '{\"next_phase\":\"render\"}' ;;\n\
         render) echo '{\"status\":\"completed\",\"message\":\"rendered\"}' ;;\n\
         esac",
    );
    let line = workspace.shell("watch | resume").ok().one();
    let seen = (&line["signal"], &line["from_phase"], &line["to_phase"], &line["attempt"], &line["outcome"]);
    assert_eq!(seen, (&json!("recovery"), &json!("collect"), &json!("render"), &json!(3), &json!("completed")));
    assert_eq!(workspace.lines("ran.txt"), ["collect", "analyze", "render"]);
    assert_eq!(workspace.card("a")["artifacts"]["phase_collect"]["raw"], word(&workspace.path("raw.json")));
}

#[test]
fn logs_of_the_last_ten_attempts_are_kept() {
    let workspace = with_adapter("\"$TASK_BIN/checkpoint\" a --message \"$TASK_ATTEMPT\"");
    for _ in 0..12 {
        workspace.run("resume", &["a", "--force"]).ok();
    }
    let mut numbers: Vec<u32> = workspace
        .shell("ls data/task-runs/logs/a | grep in$")
        .stdout()
        .lines()
        .map(|name| name[..name.len() - 3].parse().unwrap())
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (3..=12).collect::<Vec<u32>>());
}

#[test]
fn a_cancelled_task_stops_its_attempt() {
    let workspace = with_adapter("echo $$ >adapter.pid; while [ -e hold ]; do sleep 0.05; done");
    fs::write(workspace.path("hold"), "").unwrap();
    let mut command = workspace.command("resume");
    command.arg("a");
    let resume = Background::start(command);
    eventually("the adapter runs", || !workspace.lines("adapter.pid").is_empty());
    workspace.run("card", &["cancel", "a"]).ok();
    let output = resume.output();
    let line: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&line["signal"], output.status.code()), (&json!("contained"), Some(0)));
    assert_eq!((&workspace.card("a")["status"], &workspace.card("a")["run"]), (&json!("cancelled"), &json!(null)));
}

#[test]
fn a_thousand_signs_of_life_do_not_make_an_old_message_new() {
    let workspace = with_adapter(
        "\"$TASK_BIN/checkpoint\" a --message started\n\
         i=0; while [ $i -lt 110 ]; do \"$TASK_BIN/checkpoint\" a --message alive; i=$((i+1)); done",
    );
    assert_eq!(workspace.run("resume", &["a", "--force"]).ok().one()["outcome"], "progressed");
    assert_eq!(workspace.card("a")["checkpoints"].as_array().unwrap().len(), 2);
    assert_eq!(workspace.card("a")["checkpoint_count"], 111);
    assert_eq!(workspace.run("resume", &["a", "--force"]).ok().one()["outcome"], "no_progress");
}

#[test]
fn a_member_of_a_pool_that_is_killed_is_told() {
    let workspace = Workspace::new();
    add_task(&workspace, "a", "echo $PPID >supervisor.pid; while [ -e hold ]; do sleep 0.02; done", &[]);
    add_task(&workspace, "b", "\"$TASK_BIN/checkpoint\" b --message m", &[]);
    fs::write(workspace.path("hold"), "").unwrap();
    let pool = Background::start(workspace.shell_command("resume a b"));
    eventually("it runs", || !workspace.lines("supervisor.pid").is_empty());
    workspace.shell("kill -KILL $(cat supervisor.pid)").ok();
    let output = pool.output();
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().any(|line| line["task_id"] == "a" && line["outcome"] == "supervisor_died"), "{text}");
    assert!(lines.iter().any(|line| line["task_id"] == "b" && line["outcome"] == "progressed"), "{text}");
}

#[test]
fn a_stdout_that_fails_keeps_no_task_from_being_brought_back() {
    if fs::File::open("/dev/full").is_err() {
        return tests::skip("there is no /dev/full");
    }
    let workspace = with_adapter("\"$TASK_BIN/checkpoint\" a --message m");
    workspace.run("card", &["create", "parked", "--task-type", "t", "--title", "x"]).ok();
    workspace.run("card", &["block", "parked"]).ok();
    workspace.shell("watch | resume >/dev/full").exits(74).complains("No space left on device");
    assert_eq!(workspace.card("a")["outcome"]["kind"], "progressed");
}

/// A daemon that leaves group, session, files and environment behind is ended with the attempt all the same.
#[test]
fn what_an_attempt_started_cannot_escape_it() {
    if !tests::has_proc() {
        return;
    }
    for end in ["exit 1", "while [ -e hold ]; do sleep 0.02; done"] {
        let workspace = with_adapter(&format!(
            "(env -i PATH=\"$PATH\" setsid sh -c 'echo $$ >daemon.pid; while [ -e hold ]; do sleep 0.05; done' </dev/null >/dev/null 2>&1 &)\n\
             while [ ! -s daemon.pid ]; do sleep 0.02; done; {end}"
        ));
        fs::write(workspace.path("hold"), "").unwrap();
        workspace.run("resume", &["a", "--timeout-seconds", "1", "--grace-seconds", "0.2"]).ok();
        let daemon = workspace.lines("daemon.pid")[0].clone();
        assert!(!tests::is_alive(&daemon), "{end}: the daemon lives");
    }
    // After exit 0 it is its own business.
    let workspace = with_adapter(
        "(setsid sh -c 'echo $$ >daemon.pid; while [ -e hold ]; do sleep 0.05; done' </dev/null >/dev/null 2>&1 &)\n\
         while [ ! -s daemon.pid ]; do sleep 0.02; done; \"$TASK_BIN/checkpoint\" a --message m",
    );
    fs::write(workspace.path("hold"), "").unwrap();
    workspace.run("resume", &["a"]).ok();
    let daemon = workspace.lines("daemon.pid")[0].clone();
    assert!(tests::is_alive(&daemon), "it was ended");
}

/// Ctrl-Z stops the attempt, too, and for longer than its time-out it may: that time does not count.
#[test]
fn time_spent_stopped_does_not_count() {
    if !tests::has_proc() {
        return;
    }
    for ids in ["a", "a b"] {
        let workspace =
            with_adapter("echo $$ >adapter.pid; while [ -e hold ]; do sleep 0.02; done; \"$TASK_BIN/checkpoint\" a --message m");
        add_task(&workspace, "b", "\"$TASK_BIN/checkpoint\" b --message m", &[]);
        fs::write(workspace.path("hold"), "").unwrap();
        let resume = Background::start(workspace.shell_command(&format!("exec resume {ids} --timeout-seconds 2")));
        eventually("the adapter runs", || !workspace.lines("adapter.pid").is_empty());
        let adapter = workspace.lines("adapter.pid")[0].clone();
        let is_stopped = |pid: &str| matches!(tests::process_state(pid), Some('T' | 'D'));
        let pid = resume.0.id().to_string();
        workspace.shell(&format!("kill -TSTP {pid}")).ok();
        eventually("both are stopped", || is_stopped(&pid) && is_stopped(&adapter));
        let start = std::time::Instant::now();
        eventually("more than its time is over", || start.elapsed().as_secs() >= 3);
        assert!(is_stopped(&adapter));
        workspace.shell(&format!("kill -CONT {pid}")).ok();
        eventually("it goes on", || !is_stopped(&adapter));
        fs::remove_file(workspace.path("hold")).unwrap();
        let output = resume.output();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("\"task_id\":\"a\"") && !text.contains("timeout"), "{ids}: {text}");
        assert_eq!(workspace.card("a")["outcome"]["kind"], "progressed", "{ids}");
    }
}
