//! The programs together: `watch | resume` over tasks that are cut, silent, or run by many at once.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};
use tests::{Background, Workspace, eventually, minutes_from_now, word};

fn silent_task(workspace: &Workspace, script: &str) {
    let adapter = workspace.write("adapter.sh", &format!("#!/bin/sh\n{script}\n"));
    let at = minutes_from_now(-45);
    let args = ["create", "a", "--task-type", "t", "--title", "x", "--phase", "collect", "--allow-auto-resume", "--now", &at];
    workspace.run("card", &[&args[..], &["--resume-adapter", word(&adapter), "--timeout-seconds", "0"]].concat()).ok();
}

#[test]
fn sixty_four_processes_write_one_card_and_nothing_is_lost() {
    let workspace = Workspace::new();
    workspace.run("card", &["create", "a", "--task-type", "t", "--title", "x", "--phase", "p"]).ok();
    let mut writers: Vec<Background> = (0..64)
        .map(|number| {
            let mut command = workspace.command("checkpoint");
            command.args(["a", "--message", &format!("message {number}"), "--artifact", &format!("n{number}=/out/{number}")]);
            Background::start(command)
        })
        .collect();
    // A reader never sees a torn or a missing card, whatever the writers do meanwhile.
    let mut last = 0;
    while writers.iter_mut().any(Background::runs) {
        let card = workspace.card("a");
        let revision = card["revision"].as_u64().unwrap();
        assert!(revision >= last);
        assert_eq!(card["checkpoint_count"].as_u64().unwrap_or(0), revision - 1);
        last = revision;
    }
    for writer in writers {
        let output = writer.output();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let card = workspace.card("a");
    assert_eq!((&card["revision"], &card["checkpoint_count"]), (&json!(65), &json!(64)));
    assert_eq!(card["artifacts"]["phase_p"].as_object().unwrap().len(), 64);
    let mut messages: Vec<&str> =
        card["checkpoints"].as_array().unwrap().iter().map(|entry| entry["message"].as_str().unwrap()).collect();
    messages.sort_unstable();
    messages.dedup();
    assert_eq!(messages.len(), 64);
    let revisions: Vec<u64> = workspace.history("a").iter().map(|line| line["revision"].as_u64().unwrap()).collect();
    assert_eq!(revisions, (1..=65).collect::<Vec<u64>>());
}

#[test]
fn twenty_overlapping_passes_run_the_adapter_once() {
    let workspace = Workspace::new();
    silent_task(
        &workspace,
        "echo run >>ran.txt; while [ ! -e seen ]; do sleep 0.02; done; \"$TASK_BIN/checkpoint\" a --message done",
    );
    let passes: Vec<Background> = (0..20)
        .map(|number| {
            let script = format!("watch | resume >out.{number} && : >done.{number}");
            Background::start(workspace.shell_command(&script))
        })
        .collect();
    eventually("one runs it and the others are through", || {
        (0..20).filter(|number| workspace.path(&format!("done.{number}")).exists()).count() >= 19
    });
    fs::write(workspace.path("seen"), "").unwrap();
    for pass in passes {
        let output = pass.output();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(workspace.lines("ran.txt"), ["run"]);
    let lines: Vec<Value> = (0..20)
        .flat_map(|number| workspace.lines(&format!("out.{number}")))
        .map(|line| serde_json::from_str(&line).unwrap())
        .collect();
    let recoveries = lines.iter().filter(|line| line["signal"] == "recovery").count();
    assert_eq!(recoveries, 1, "{lines:?}");
    assert!(lines.iter().all(|line| line["signal"] == "recovery" || line["signal"] == "skipped"), "{lines:?}");
    assert_eq!(workspace.card("a")["attempt"], 1);
}

/// The attempt is healthy, and so left alone: while its supervisor lives, and when that is killed.
#[test]
fn a_healthy_attempt_is_neither_reported_nor_run_again() {
    healthy_attempt("");
    if std::path::Path::new("/proc/self/stat").exists() {
        // It gave its output away: then its cookie tells.
        healthy_attempt("exec >my.log 2>&1;");
    }
}

fn healthy_attempt(first: &str) {
    let workspace = Workspace::new();
    silent_task(
        &workspace,
        &format!("{first} echo run >>ran.txt; while [ -e hold ]; do sleep 0.02; done; \"$TASK_BIN/checkpoint\" a --message late"),
    );
    fs::write(workspace.path("hold"), "").unwrap();
    let mut command = workspace.command("resume");
    command.arg("a");
    let mut supervisor = Background::start(command);
    eventually("the adapter runs", || !workspace.lines("ran.txt").is_empty());
    let quiet = |reason: &str| {
        assert_eq!(workspace.run("watch", &[]).ok().stdout(), "");
        assert_eq!(workspace.run("watch", &["--explain", "a"]).ok().one()["reason"], reason);
        assert_eq!(workspace.shell("echo a | resume").ok().one()["reason"], "attempt_alive");
        assert_eq!(workspace.shell("resume a --force").ok().one()["reason"], "attempt_alive");
        assert_eq!(workspace.lines("ran.txt"), ["run"]);
    };
    quiet("supervised");
    supervisor.kill();
    quiet("alive");
    // Its late checkpoint is welcome: it is still the newest attempt.
    fs::remove_file(workspace.path("hold")).unwrap();
    eventually("it is done", || workspace.card("a")["checkpoint_count"] == 1);
    eventually("nothing of it lives", || workspace.run("watch", &[]).stdout().contains("attempt_died"));
}

/// Cut in the middle: the adapter's group and its supervisor, by SIGKILL. It is seen at once and goes on where it was.
#[test]
fn a_task_that_is_cut_is_seen_at_once_and_finished() {
    let workspace = Workspace::new();
    silent_task(
        &workspace,
        "echo \"$TASK_PHASE\" >>ran.txt; echo $$ >adapter.pid\n\
         if [ \"$TASK_PHASE\" = collect ]; then \"$TASK_BIN/checkpoint\" a --phase collect --next-phase render --message collected >&2; fi\n\
         sleep 300 & echo $! >child.pid\n\
         while [ -e hold ]; do sleep 0.02; done; kill $!\n\
         \"$TASK_BIN/card\" complete a --message rendered",
    );
    fs::write(workspace.path("hold"), "").unwrap();
    let mut command = workspace.command("resume");
    command.arg("a");
    let mut supervisor = Background::start(command);
    eventually("the second phase has begun", || {
        workspace.card("a")["phase"] == "render" && !workspace.lines("child.pid").is_empty()
    });
    supervisor.kill();
    workspace.shell(&format!("kill -KILL -{}", workspace.lines("adapter.pid")[0])).ok();
    eventually("its processes are gone", || !workspace.run("watch", &[]).stdout().is_empty());
    let line = workspace.run("watch", &[]).ok().one();
    assert_eq!((&line["signal"], &line["reason"], &line["phase"]), (&json!("alert"), &json!("attempt_died"), &json!("render")));
    fs::remove_file(workspace.path("hold")).unwrap();
    let line = workspace.shell("watch | resume").ok().one();
    assert_eq!(
        (&line["signal"], &line["from_phase"], &line["outcome"]),
        (&json!("recovery"), &json!("render"), &json!("completed"))
    );
    assert_eq!(workspace.lines("ran.txt"), ["collect", "render"]);
    assert_eq!(workspace.run("watch", &[]).ok().stdout(), "");
}

/// The supervisor is gone and the attempt hangs without a word: it is ended before the next one starts, and cannot write any more.
#[test]
fn a_silent_survivor_is_superseded_and_ended() {
    let workspace = Workspace::new();
    silent_task(
        &workspace,
        "echo $$ >>pids.txt\n\
         if [ $(wc -l <pids.txt) = 1 ]; then trap '' TERM; cat >/dev/null; while [ -e hold ]; do sleep 0.02; done; exit; fi\n\
         \"$TASK_BIN/checkpoint\" a --message \"second try\"",
    );
    fs::write(workspace.path("hold"), "").unwrap();
    let mut command = workspace.command("resume");
    command.arg("a");
    let mut supervisor = Background::start(command);
    eventually("the adapter runs", || !workspace.lines("pids.txt").is_empty());
    supervisor.kill();
    let first = workspace.lines("pids.txt")[0].clone();
    let later = minutes_from_now(40);
    assert_eq!(workspace.run("watch", &["--now", &later]).ok().one()["reason"], "attempt_silent");
    let line = workspace.shell(&format!("watch --now {later} | resume --now {later} --grace-seconds 0.2")).ok().one();
    assert_eq!((&line["signal"], &line["attempt"]), (&json!("recovery"), &json!(2)));
    assert!(!tests::is_alive(&first), "the first attempt lives");
    assert_eq!(workspace.lines("pids.txt").len(), 2);
}

#[test]
fn a_task_that_is_due_for_four_days_is_a_persons() {
    let workspace = Workspace::new();
    silent_task(&workspace, "echo run >>ran.txt");
    let later = minutes_from_now(4 * 24 * 60);
    let line = workspace.shell(&format!("watch --now {later} | resume --now {later}")).ok().one();
    assert_eq!((&line["reason"], &line["new"]), (&json!("too_old"), &json!(true)));
    assert!(workspace.lines("ran.txt").is_empty());
    assert_eq!(workspace.card("a")["status"], "running");
}

#[test]
fn a_pending_task_waits_for_others_and_starts_when_they_are_done() {
    let workspace = Workspace::new();
    let create = |id: &str, more: &[&str]| {
        let args = ["create", id, "--task-type", "t", "--title", "x", "--allow-auto-resume"];
        workspace.run("card", &[&args[..], more, &["--", "sh", "-c", "echo $TASK_ID >>ran.txt"]].concat()).ok();
    };
    create("a", &[]);
    create("b", &["--depends-on", "a"]);
    create("c", &["--depends-on", "nobody"]);
    let lines = workspace.shell("watch | resume").ok().json();
    assert!(lines.iter().any(|line| line["task_id"] == "c" && line["reason"] == "dependency_missing"), "{lines:?}");
    assert_eq!(workspace.lines("ran.txt"), ["a"]);
    workspace.shell("watch | resume").ok();
    assert_eq!(workspace.lines("ran.txt"), ["a", "b"]);
    create("d", &["--depends-on", "e"]);
    create("e", &[]);
    workspace.run("card", &["cancel", "e"]).ok();
    let lines = workspace.run("watch", &[]).ok().json();
    assert!(lines.iter().any(|line| line["task_id"] == "d" && line["reason"] == "dependency_failed"), "{lines:?}");
}

#[test]
fn the_commands_of_every_day() {
    let workspace = Workspace::new();
    workspace.write("task_resume.py", "print('{\"message\":\"rendered\"}')\n");
    let script = r#"
        set -e
        TASK_ID=report_1
        card create --task-id $TASK_ID --task-type report-generation --title "Report on AI agents" --phase collect \
          --resume-adapter $PWD/task_resume.py --allow-auto-resume --stale-after-minutes 20 --max-retries 2 >/dev/null
        checkpoint $TASK_ID --phase collect --artifact raw_data=/tmp/raw.json --message "raw data collected" >/dev/null
        checkpoint $TASK_ID --phase analyze --next-phase render --artifact analysis_result=/tmp/a.json --message "analysis done" >/dev/null
        t=$(date -u -d '30 minutes' +%FT%TZ); watch --now $t | resume --now $t --report
        card create build --task-type build --title "Nightly build" -- sh -c 'echo all' | resume
        watch --format ids | xargs -r -n1 -P4 resume
        card block build2 2>/dev/null || card create build2 --task-type build --title x >/dev/null; card block build2 >/dev/null
        card list --status needs_attention
    "#
    .replace("$PWD/", "\"$PWD\"/");
    if workspace.shell("chmod 644 task_resume.py && python3 -c ''").status() != Some(0) {
        return tests::skip("python3 is not installed");
    }
    let lines = workspace.shell(&script).ok().json();
    assert_eq!(lines[0]["recoveries"][0]["task_id"], "report_1");
    assert_eq!((&lines[1]["task_id"], &lines[1]["outcome"]), (&json!("build"), &json!("completed")));
    assert_eq!(lines.last().unwrap()["task_id"], "build2");
}

#[test]
fn from_crons_bare_environment() {
    let workspace = Workspace::new();
    silent_task(&workspace, "\"$TASK_BIN/checkpoint\" a --message done");
    let mut command = workspace.command("watch");
    command.stdout(Stdio::null());
    let bin = tests::programs();
    let script =
        format!("cd '{0}' && '{1}/watch' | '{1}/resume' >>data/recovery.log 2>&1", workspace.path("").display(), bin.display());
    let mut cron = std::process::Command::new("/bin/sh");
    cron.args(["-c", &script]).env_clear().envs([("PATH", "/usr/bin:/bin"), ("HOME", "/nowhere"), ("SHELL", "/bin/sh")]);
    workspace.finish(cron, None).ok().is_quiet();
    assert!(workspace.lines("data/recovery.log")[0].contains("\"recovery\""));
}

/// An attempt that recorded progress and left a worker on its stdout: alive as long as that works, brought back when it hangs or ends.
#[test]
fn what_an_attempt_left_in_the_background_counts_as_alive_until_it_is_silent() {
    let workspace = Workspace::new();
    silent_task(
        &workspace,
        "echo run >>ran.txt; \"$TASK_BIN/checkpoint\" a --message \"worker $TASK_ATTEMPT started\" >&2\n\
         if [ ! -e again ]; then : >again; sh -c 'echo $$ >worker.pid; while [ -e hold ]; do sleep 0.02; done' & fi",
    );
    fs::write(workspace.path("hold"), "").unwrap();
    let line = workspace.shell("watch | resume").ok().one();
    assert_eq!((&line["signal"], &line["outcome"]), (&json!("recovery"), &json!("progressed")));
    assert_eq!(workspace.card("a")["run"]["background"], true);
    assert_eq!(workspace.run("watch", &[]).ok().stdout(), "");
    assert_eq!(workspace.run("watch", &["--explain", "a"]).ok().one()["reason"], "alive");
    // Hung: it is ended, and the task brought back.
    let later = minutes_from_now(40);
    let line = workspace.shell(&format!("watch --now {later} | resume --now {later} --grace-seconds 0.2")).ok().one();
    assert_eq!((&line["signal"], &line["attempt"]), (&json!("recovery"), &json!(2)));
    let worker = workspace.lines("worker.pid")[0].clone();
    assert!(!tests::is_alive(&worker), "the worker lives");
    assert_eq!(workspace.card("a")["run"], json!(null));
}

#[test]
fn when_what_was_left_in_the_background_ends_the_task_is_due_at_once() {
    let workspace = Workspace::new();
    silent_task(&workspace, "sh -c 'while [ -e hold ]; do sleep 0.02; done' &");
    fs::write(workspace.path("hold"), "").unwrap();
    let line = workspace.shell("watch | resume").ok().one();
    assert_eq!((&line["signal"], &line["outcome"]), (&json!("started"), &json!("background")));
    assert_eq!(workspace.run("watch", &[]).ok().stdout(), "");
    fs::remove_file(workspace.path("hold")).unwrap();
    eventually("it is due", || workspace.run("watch", &[]).stdout().contains("attempt_died"));
}

/// An adapter that wakes an agent and records that: the agent's shell redirects its output a moment later.
#[test]
fn what_was_handed_over_with_progress_is_not_run_again_when_its_output_is_redirected() {
    for _ in 0..5 {
        let workspace = Workspace::new();
        silent_task(
            &workspace,
            "echo run >>ran.txt; \"$TASK_BIN/checkpoint\" a --message \"$TASK_ATTEMPT\" >&2\n\
             (while [ -e hold ]; do sleep 0.02; done) >/dev/null 2>&1 </dev/null &",
        );
        fs::write(workspace.path("hold"), "").unwrap();
        workspace.shell("watch | resume").ok();
        assert_eq!(workspace.shell("watch | resume").ok().stdout(), "");
        assert_eq!(workspace.lines("ran.txt"), ["run"]);
    }
}

/// `--now` decides, but what it decided does not stand in the future for the real clock.
#[test]
fn a_pass_in_the_future_leaves_a_card_that_the_present_believes() {
    let workspace = Workspace::new();
    silent_task(&workspace, "\"$TASK_BIN/checkpoint\" a --message m >&2");
    let later = minutes_from_now(40);
    workspace.shell(&format!("watch --now {later} | resume --now {later}")).ok();
    assert_eq!(workspace.run("watch", &["--explain", "a"]).ok().one()["reason"], "healthy");
}
