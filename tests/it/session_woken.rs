//! A session that is only woken: what OpenClaw runs then may be a heartbeat's own run, whose end is nobody's business here. So the
//! loop is closed by the commands that the prompt names, or by silence.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use tests::{copy_program, minutes_from_now, programs, word};

use crate::installed::ODD;
use crate::session_bench::{Bench, KEY};

/// The bench, within a command of the agent: there the session can only be woken.
fn bench(metadata: &Value) -> Bench {
    let mut bench = Bench::openclaw();
    bench.env.insert("OPENCLAW_SHELL", "exec".to_owned());
    bench.answers("system", "system-event.json", 0);
    let mut all = json!({"openclaw": {"session_key": KEY}});
    all.as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
    bench.put(&json!({"metadata": all, "stale_after_minutes": 30}));
    bench
}

/// The end of the run that it was woken for.
fn heartbeats_end(bench: &Bench, id: &str) {
    for fields in [
        json!({"success": true, "stop_reason": "stop", "tool_calls": 1, "last_tool": {"name": "exec", "exit_code": 1}}),
        json!({"success": true, "stop_reason": "stop", "tool_calls": 1, "final_text": "All is done."}),
    ] {
        let mut record = json!({"session_key": KEY, "run_id": id, "trigger": "heartbeat"});
        record.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let before = bench.card();
        let ran = bench.workspace.run_with("card", &["import", "--from", "openclaw-run"], &record.to_string());
        assert_eq!(ran.ok().is_quiet().stdout(), "");
        assert_eq!(bench.card(), before);
    }
}

#[test]
fn the_commands_in_the_prompt_are_all_that_it_takes() {
    for (metadata, colon) in [(json!({}), ": "), (json!({"lang": "zh"}), "：")] {
        let bench = bench(&metadata);
        // Where a path has everything that a shell could stumble over.
        let bin = bench.workspace.path(ODD);
        fs::create_dir(&bin).unwrap();
        for program in ["card", "checkpoint", "resume"] {
            copy_program(&programs().join(program), &bin.join(program));
        }
        let mut resume = Command::new(bin.join("resume"));
        resume.args(["t", "--force"]).env_clear().envs(&bench.env).current_dir(bench.workspace.path(""));
        bench.workspace.finish(resume, None).ok();
        let woken = bench.card();
        assert_eq!(
            (&woken["status"], &woken["outcome"]["kind"], &woken["retry_count"]),
            (&json!("running"), &json!("handed_over"), &json!(1))
        );
        heartbeats_end(&bench, "h1");
        let told = bench.calls().pop().unwrap();
        let agent = |program: &str, verb: &str| {
            let told = told.split('~').filter_map(|line| line.split_once(colon)).map(|(_, command)| command.trim_end_matches(']'));
            let command = told.into_iter().find(|command| command.contains(&format!("/{program} {verb}")));
            let command = command.unwrap_or_else(|| panic!("no {program} {verb}: {:?}", bench.calls()));
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", command]).env_clear().env("PATH", "/usr/bin:/bin").current_dir(bench.workspace.path(""));
            bench.workspace.finish(shell, None).ok();
        };
        agent("checkpoint", "t");
        let card = bench.card();
        assert_eq!((&card["status"], &card["retry_count"]), (&json!("running"), &json!(0)), "that is progress");
        agent("card", "block");
        assert_eq!(bench.card()["attention"]["reason"], "WORD");
        agent("card", "complete");
        assert_eq!(bench.card()["status"], "completed");
        heartbeats_end(&bench, "h2");
        assert_eq!(bench.workspace.run("watch", &["--now", &minutes_from_now(600)]).ok().stdout(), "");
    }
}

#[test]
fn a_session_that_says_nothing_is_woken_three_times_and_then_a_person() {
    let bench = bench(&json!({}));
    for pass in 1..=6 {
        let now = minutes_from_now(31 * (pass - 1));
        let mut command = bench.workspace.shell_command(&format!("watch --now {now} | resume --now {now}"));
        let path = format!("{}:{}", word(programs()), bench.env["PATH"]);
        command.envs(&bench.env).env("PATH", path);
        let line = bench.workspace.finish(command, None).ok().one();
        heartbeats_end(&bench, &format!("h{pass}"));
        assert_eq!(bench.sent(), usize::try_from(pass.min(3)).unwrap(), "{line}");
        if pass > 3 {
            assert_eq!((&line["signal"], &line["reason"]), (&json!("needs_attention"), &json!("retries_exhausted")), "{line}");
        }
    }
}
