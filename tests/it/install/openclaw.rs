//! OpenClaw's automations and scratches, against a stand-in that answers as the real ones were recorded.

use std::fs;

use serde_json::{Value, json};
use tests::install::Bench;
use tests::word;

const HEARTBEAT_JOB: &str = "dfdcd098-faa3-449c-92f2-9924eb5206cd";

fn jobs(bench: &Bench) -> Vec<Value> {
    let text = bench.text("stand-ins/jobs.json");
    serde_json::from_str(&text).unwrap()
}

fn job<'a>(jobs: &'a [Value], key: &str) -> &'a Value {
    jobs.iter().find(|job| job["declarationKey"] == key).unwrap_or_else(|| panic!("no {key} in {jobs:?}"))
}

fn scratch(bench: &Bench) -> Value {
    serde_json::from_str(&bench.text(&format!("stand-ins/scratch-{HEARTBEAT_JOB}.json"))).unwrap()
}

#[test]
fn an_automation_is_picked_when_the_gateway_answers() {
    for version in ["2026.7.35", "2026.9.6"] {
        let bench = Bench::with_openclaw(version);
        let answer = bench.answer(&[]);
        assert_eq!((&answer["changed"], &answer["triggers"]), (&json!(true), &json!(["automation"])), "{answer}");
        let ws = bench.ws();
        let pass = format!("[\"{}\",\"--quiet-token\",\"NO_REPLY\"]", word(&bench.path("ws/bin/recovery-pass")));
        let expected = [
            ["cron", "add", "--name", "task-recovery", "--declaration-key", "task-recovery:watch", "--every", "5m"].as_slice(),
            &["--command-argv", &pass, "--command-cwd", word(&ws), "--no-deliver", "--json"],
        ]
        .concat();
        assert_eq!(bench.changes(), [expected]);
        // It runs as it is stored.
        let jobs = jobs(&bench);
        let argv = job(&jobs, "task-recovery:watch")["payload"]["argv"].as_array().unwrap().clone();
        let mut command = bench.command(argv[0].as_str().unwrap().as_ref());
        command.args(argv[1..].iter().map(|word| word.as_str().unwrap()));
        assert_eq!(bench.workspace.finish(command, None).ok().stdout(), "NO_REPLY\n");
        assert_eq!(bench.answer(&[])["changed"], false);
        assert_eq!(bench.answer(&["--trigger", "automation"])["changed"], false);
        assert_eq!(bench.answer(&["--every", "90s"])["changed"], true);
        assert_eq!(job(&self::jobs(&bench), "task-recovery:watch")["schedule"]["everyMs"], 90_000);
        bench.answer(&["--uninstall"]);
        assert!(self::jobs(&bench).iter().all(|job| job["declarationKey"] != "task-recovery:watch"));
        assert_eq!(fs::read_dir(bench.ws()).unwrap().count(), 0);
    }
}

#[test]
fn an_odd_path_works_in_an_automation_and_in_a_heartbeat() {
    let bench = Bench::with_openclaw("2026.7.35");
    let odd = bench.path("ws/it's a \"$HOME\" `id` 50% \\n 工作 & #1");
    fs::create_dir(&odd).unwrap();
    bench.set_agents(&[("main", odd.clone())]);
    let mut command = bench.install(&[]);
    command.args(["--trigger", "automation", "--trigger", "heartbeat", "--workspace", word(&odd)]);
    bench.workspace.finish(command, None).ok();
    let jobs = jobs(&bench);
    let payload = &job(&jobs, "task-recovery:watch")["payload"];
    let argv: Vec<&str> = payload["argv"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    let mut pass = bench.command(argv[0].as_ref());
    pass.args(&argv[1..]).current_dir(payload["cwd"].as_str().unwrap());
    assert_eq!(bench.workspace.finish(pass, None).ok().stdout(), "NO_REPLY\n");
    // As an agent runs it: what stands between the first backquotes, in the workspace.
    let text = fs::read_to_string(odd.join("HEARTBEAT.md")).unwrap();
    let mut shell = bench.command("/bin/sh".as_ref());
    shell.args(["-c", text.split('`').nth(1).unwrap()]).current_dir(&odd);
    assert_eq!(bench.workspace.finish(shell, None).ok().stdout(), "HEARTBEAT_OK\n");
}

#[test]
fn with_the_gateway_down_the_next_best_is_picked_and_the_person_told() {
    let bench = Bench::with_openclaw("2026.9.6").with_small_programs();
    bench.put("stand-ins/down", "");
    let answer = bench.answer(&[]);
    assert_eq!(answer["triggers"], json!(["cron"]), "{answer}");
    assert!(
        answer["notes"].to_string().contains("OpenClaw 2026.9.6 is here, but its Gateway is down: Gateway not reachable"),
        "{answer}"
    );
    assert_eq!(answer["next"][0], "openclaw gateway run");
    assert!(answer["next"][1].as_str().unwrap().ends_with("--trigger automation"), "{answer}");
    bench.run(&["--trigger", "automation"]).exits(75).complains("start it (openclaw gateway run), then run: ");
    bench.run(&["--trigger", "heartbeat"]).exits(75).complains("Gateway is down");
    fs::remove_file(bench.path("stand-ins/down")).unwrap();
    bench.answer(&["--trigger", "automation"]);
    assert!(!bench.path("stand-ins/crontab.text").exists());
    // What is installed stays when it cannot be seen, and nothing is removed that it calls.
    bench.put("stand-ins/down", "");
    let answer = bench.answer(&[]);
    assert_eq!((&answer["changed"], &answer["triggers"]), (&json!(false), &json!(["automation"])));
    bench.run(&["--uninstall"]).exits(75).complains("Gateway is down");
    assert!(bench.path("ws/bin/recovery-pass").exists());
    fs::remove_file(bench.path("stand-ins/down")).unwrap();
    bench.answer(&["--uninstall"]);
    assert_eq!(fs::read_dir(bench.ws()).unwrap().count(), 0);
}

#[test]
fn who_may_not_add_a_job_gets_the_next_best_and_the_operators_command() {
    let bench = Bench::with_openclaw("2026.9.6").with_small_programs();
    bench.put("stand-ins/refuse", "");
    let answer = bench.answer(&[]);
    assert_eq!(answer["triggers"], json!(["cron"]), "{answer}");
    assert!(answer["notes"].to_string().contains("OpenClaw 2026.9.6 did not let this add a job"), "{answer}");
    assert!(answer["next"][0].as_str().unwrap().ends_with("--trigger automation"), "{answer}");
    assert_eq!(bench.answer(&[])["changed"], false);
    bench.run(&["--trigger", "automation"]).exits(77).complains("the operator should run: ");
}

#[test]
fn a_new_version_gets_the_text_into_its_scratch() {
    let bench = Bench::with_openclaw("2026.9.6").with_small_programs();
    bench.put("ws/HEARTBEAT.md", "Nobody reads this.\n");
    let answer = bench.answer(&["--trigger", "heartbeat"]);
    let notes = answer["notes"].to_string();
    assert!(notes.contains("this version never reads HEARTBEAT.md, which is there"), "{answer}");
    assert!(notes.contains("OpenClaw wakes this heartbeat every 30m"), "{answer}");
    assert_eq!(bench.text("ws/HEARTBEAT.md"), "Nobody reads this.\n");
    let written = scratch(&bench);
    let content = written["content"].as_str().unwrap();
    assert!(content.starts_with("<!-- task-recovery:begin") && content.contains("--quiet-token NO_REPLY"), "{content}");
    assert_eq!(written["revision"], 3);
    assert_eq!(bench.answer(&["--trigger", "heartbeat"])["changed"], false);
    assert_eq!(scratch(&bench), written);
    bench.answer(&["--uninstall"]);
    assert_eq!(scratch(&bench)["content"], "");
    assert!(bench.changes().iter().all(|call| !call.contains(&"--unset".to_owned())));
}

#[test]
fn a_scratch_that_moves_is_read_again() {
    let bench = Bench::with_openclaw("2026.9.6").with_small_programs();
    let path = format!("stand-ins/scratch-{HEARTBEAT_JOB}.json");
    bench.put(&path, &json!({"content": "Check the mail.", "revision": 7}).to_string());
    bench.put("stand-ins/moved", "2");
    assert_eq!(bench.answer(&["--trigger", "heartbeat"])["changed"], true);
    let content = scratch(&bench)["content"].as_str().unwrap().to_owned();
    assert!(content.starts_with("Theirs, 1.\n\n<!-- task-recovery:begin"), "{content}");
    let writes: Vec<String> = bench.changes().into_iter().filter(|call| call.len() > 4).map(|call| call[6].clone()).collect();
    assert_eq!(writes, ["7", "8", "9"]);
    bench.answer(&["--uninstall"]);
    assert_eq!(scratch(&bench)["content"], "Theirs, 1.\n");
    // One that never stands still is given up, and said.
    bench.put("stand-ins/moved", "1000");
    bench.run(&["--trigger", "heartbeat"]).exits(75).complains("changed 8 times");
}

#[test]
fn an_upgrade_of_openclaw_is_noticed() {
    let bench = Bench::with_openclaw("2026.7.35").with_small_programs();
    bench.put("ws/HEARTBEAT.md", "Mine.\n");
    bench.answer(&["--trigger", "heartbeat"]);
    bench.put("stand-ins/version", "2026.9.6");
    let found = bench.run(&["--check"]).exits(1).stdout();
    assert!(found.contains("OpenClaw 2026.9.6 never reads HEARTBEAT.md, where the text is"), "{found}");
    bench.answer(&[]);
    assert_eq!(bench.text("ws/HEARTBEAT.md"), "Mine.\n");
    assert!(scratch(&bench)["content"].as_str().unwrap().contains("## Task recovery"));
    bench.answer(&["--uninstall"]);
    assert_eq!(scratch(&bench)["content"], "");
}

#[test]
fn a_text_that_doctor_imported_is_found() {
    let bench = Bench::with_openclaw("2026.7.35").with_small_programs();
    bench.put("ws/HEARTBEAT.md", "Mine.\n");
    bench.answer(&["--trigger", "heartbeat"]);
    let text = bench.text("ws/HEARTBEAT.md");
    bench.put("stand-ins/version", "2026.9.6");
    bench.put(&format!("stand-ins/scratch-{HEARTBEAT_JOB}.json"), &json!({"content": text, "revision": 1}).to_string());
    fs::remove_file(bench.path("ws/HEARTBEAT.md")).unwrap();
    bench.answer(&["--uninstall"]);
    assert_eq!(scratch(&bench)["content"], "Mine.\n\n", "only ours is taken out");
}

#[test]
fn every_agent_gets_its_own() {
    let bench = Bench::with_openclaw("2026.9.6").with_small_programs();
    bench.workspace.shell("mkdir ws2 ws3").ok();
    bench.set_agents(&[
        ("main", bench.ws()),
        ("helper", bench.path("ws2")),
        ("twin", bench.path("ws2")),
        ("gone", bench.path("none")),
    ]);
    let all = |args: &[&str]| {
        let mut command = bench.command(&bench.release.join("heartbeat-install"));
        command.arg("--all-agents").args(args);
        bench.workspace.finish(command, None)
    };
    let ran = all(&[]);
    ran.exits(78).complains("/none: No such file");
    let answers = ran.json();
    assert_eq!(answers.iter().map(|answer| &answer["changed"]).collect::<Vec<_>>(), [true, true], "{ran}");
    let jobs = jobs(&bench);
    for (key, folder) in [("task-recovery:watch", bench.ws()), ("task-recovery:watch:helper", bench.path("ws2"))] {
        assert_eq!(job(&jobs, key)["payload"]["cwd"], word(&folder));
    }
    bench.set_agents(&[("main", bench.ws()), ("helper", bench.path("ws2"))]);
    assert!(all(&[]).ok().json().iter().all(|answer| answer["changed"] == false));
    // A workspace that is no agent's has a key of its own.
    let mut command = bench.command(&bench.release.join("heartbeat-install"));
    command.args(["--workspace", word(&bench.path("ws3"))]);
    bench.workspace.finish(command, None).ok();
    let keys: Vec<String> = self::jobs(&bench).iter().map(|job| job["declarationKey"].as_str().unwrap().to_owned()).collect();
    assert_eq!(keys.iter().filter(|key| key.starts_with("task-recovery:watch")).count(), 3, "{keys:?}");
    all(&["--uninstall"]).ok();
    assert_eq!(self::jobs(&bench).len(), jobs.len() - 1, "the third's is left");
}

#[test]
fn the_workspace_is_found_as_openclaw_has_it() {
    let bench = Bench::new().with_small_programs();
    bench.workspace.shell("mkdir -p home/.openclaw-work/workspace home/.openclaw/workspace-old state/workspace dir").ok();
    for (variables, folder) in [
        (&[("OPENCLAW_WORKSPACE_DIR", "dir")] as &[(&str, &str)], "dir"),
        (&[("OPENCLAW_STATE_DIR", "state")], "state/workspace"),
        (&[("OPENCLAW_PROFILE", "work")], "home/.openclaw-work/workspace"),
        (&[("OPENCLAW_PROFILE", "old")], "home/.openclaw/workspace-old"),
    ] {
        let mut command = bench.command(&bench.release.join("heartbeat-install"));
        command.args(["--trigger", "none"]).current_dir(std::env::temp_dir());
        for (name, value) in variables {
            let value = if *name == "OPENCLAW_PROFILE" { (*value).into() } else { bench.path(value).into_os_string() };
            command.env(name, value);
        }
        let ran = bench.workspace.finish(command, None);
        assert_eq!(ran.ok().one()["workspace"], word(&bench.path(folder)), "{ran}");
    }
}

#[test]
fn an_openclaw_that_is_gone_keeps_nothing_in_place() {
    let bench = Bench::with_openclaw("2026.9.6").with_small_programs();
    bench.answer(&[]);
    fs::remove_file(bench.path("stand-ins/openclaw")).unwrap();
    let found = bench.run(&["--check"]).exits(1).stdout();
    assert!(found.contains("the automation cannot be seen: openclaw is not on the PATH"), "{found}");
    let answer = bench.answer(&["--uninstall"]);
    assert!(answer["notes"].to_string().contains("what it was told stays: automation task-recovery:watch"), "{answer}");
    assert_eq!(fs::read_dir(bench.ws()).unwrap().count(), 0);
}

#[test]
fn an_openclaw_that_lies_is_no_trigger() {
    let bench = Bench::new().with_small_programs();
    bench.workspace.write(
        "stand-ins/openclaw",
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 'OpenClaw 2026.9.6 (x)' || echo 'Segmentation fault'\n",
    );
    let answer = bench.answer(&[]);
    assert_eq!(answer["triggers"], json!(["cron"]));
    assert!(answer["notes"].to_string().contains("answered no JSON: Segmentation fault"), "{answer}");
    bench.answer(&["--uninstall"]);
    bench.workspace.write("stand-ins/openclaw", "#!/bin/sh\nexit 127\n");
    assert_eq!(bench.answer(&[])["triggers"], json!(["cron"]));
}
