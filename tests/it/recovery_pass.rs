//! `recovery-pass`, the script that every trigger runs.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tests::{Background, Ran, Workspace, eventually, minutes_from_now, word};

use crate::installed::{ODD, asset, bare, install, shells};

const WORK: &str = "\"$TASK_BIN/checkpoint\" $TASK_ID --phase collect --next-phase analyze --message collected";

fn card(workspace: &Workspace, folder: &Path, args: &[&str]) {
    let mut command = workspace.command("card");
    command.args(args).arg("--workspace").arg(folder);
    workspace.finish(command, None).ok();
}

fn add_task(workspace: &Workspace, folder: &Path, id: &str, script: &str) {
    let adapter = workspace.write(word(&folder.join(format!("{id}.sh"))), &format!("#!/bin/sh\n{script}\n"));
    let at = minutes_from_now(-45);
    let args = ["create", id, "--task-type", "t", "--title", "Quarterly report", "--phase", "collect", "--allow-auto-resume"];
    card(workspace, folder, &[&args[..], &["--now", &at, "--resume-adapter", word(&adapter), "--cooldown-seconds", "0"]].concat());
}

fn pass<'a>(workspace: &'a Workspace, folder: &Path, args: &[&str]) -> Ran<'a> {
    let mut command = bare(&folder.join("bin/recovery-pass"));
    command.args(args);
    workspace.finish(command, None)
}

fn wait_for(folder: &Path, told: &str) {
    eventually("the attempt is settled", || folder.join("data/task-runs/.outbox").join(told).exists());
}

fn json_of(folder: &Path, id: &str) -> Value {
    serde_json::from_slice(&fs::read(folder.join(format!("data/task-runs/{id}.json"))).unwrap()).unwrap()
}

fn is_stamped(folder: &Path) -> bool {
    folder.join("data/task-runs/.last-pass").exists()
}

#[test]
fn a_silent_task_is_brought_back_and_said() {
    let workspace = Workspace::new();
    let folder = install(&workspace, ODD);
    assert_eq!(pass(&workspace, &folder, &["--quiet-token", "NO_REPLY"]).ok().is_quiet().stdout(), "NO_REPLY\n");
    assert!(is_stamped(&folder));
    add_task(&workspace, &folder, "report_1", WORK);
    assert_eq!(pass(&workspace, &folder, &[]).ok().is_quiet().stdout(), "");
    wait_for(&folder, "report_1.1");
    let ran = pass(&workspace, &folder, &["--quiet-token", "NO_REPLY"]);
    let expected = "🔄 Recovered:\n- Quarterly report (`report_1`): it went on from phase collect to analyze (attempt 1)\n";
    assert_eq!(ran.ok().is_quiet().stdout(), expected, "{ran}");
    assert_eq!(pass(&workspace, &folder, &["--quiet-token", "HEARTBEAT_OK"]).ok().stdout(), "HEARTBEAT_OK\n");
}

#[test]
fn what_needs_a_person_is_said_once_with_the_command() {
    let workspace = Workspace::new();
    let folder = install(&workspace, "ws");
    card(&workspace, &folder, &["create", "ask_1", "--task-type", "t", "--title", "选哪一个？"]);
    card(&workspace, &folder, &["block", "ask_1", "--reason", "which_one", "--detail", "A or B?"]);
    let ran = pass(&workspace, &folder, &["--lang", "zh"]);
    let text = ran.ok().is_quiet().stdout();
    assert!(
        text.starts_with("⚠️ 需要人处理：\n- 选哪一个？（`ask_1`）：which_one；A or B?\n  命令：`card approve ask_1`\n"),
        "{ran}"
    );
    assert!(text.contains(&format!("`{}`", tests::programs().display())), "{ran}");
    assert_eq!(pass(&workspace, &folder, &["--quiet-token", "NO_REPLY"]).ok().stdout(), "NO_REPLY\n");
    pass(&workspace, &folder, &["--exit-status"]).exits(1).is_quiet();
}

#[test]
fn a_pass_that_failed_does_not_look_like_a_quiet_one() {
    let workspace = Workspace::new();
    let line = json!({"signal": "recovery", "task_id": "a", "attempt": 1, "outcome": "completed"});
    let broken = |program: &str, script: &str| {
        let folder = install(&workspace, &format!("{program}{}", script.len()));
        fs::remove_file(folder.join("bin").join(program)).unwrap();
        if !script.is_empty() {
            workspace.write(word(&folder.join("bin").join(program)), &format!("#!/bin/sh\n{script}\n"));
        }
        folder
    };
    let quiet = ["--quiet-token", "NO_REPLY"];

    let folder = broken("watch", "echo '{\"signal\":\"alert\",\"task_id\":\"a\"}'; echo watch: cannot list >&2; exit 74");
    let ran = pass(&workspace, &folder, &quiet);
    assert_eq!(ran.exits(74).stdout(), "");
    assert!(ran.stderr().contains("watch: cannot list") && ran.stderr().contains("recovery-pass: watch failed"), "{ran}");
    assert!(!is_stamped(&folder));

    let folder = broken("resume", &format!("cat >/dev/null; echo '{line}'; exit 74"));
    let ran = pass(&workspace, &folder, &quiet);
    assert!(ran.exits(74).stdout().contains("`a`: it is finished"), "{ran}");
    let folder = broken("resume", "cat >/dev/null; exit 75");
    assert_eq!(pass(&workspace, &folder, &quiet).exits(75).complains("resume").stdout(), "");
    assert!(!is_stamped(&folder));

    let folder = broken("card", "cat >/dev/null; exit 64");
    fs::create_dir(folder.join("data/task-runs/.outbox")).unwrap();
    fs::write(folder.join("data/task-runs/.outbox/a.1"), format!("{line}\n")).unwrap();
    assert_eq!(pass(&workspace, &folder, &quiet).exits(64).complains("card report failed").stdout(), format!("{line}\n"));

    for program in ["watch", "resume", "card"] {
        let ran = pass(&workspace, &broken(program, ""), &quiet);
        assert_eq!(ran.exits(78).complains(&format!("bin/{program} is not there")).stdout(), "");
    }
    if Path::new("/dev/full").exists() {
        let folder = install(&workspace, "full");
        let mut command = bare(Path::new("/bin/sh"));
        command.args(["-c", "\"$0\" --quiet-token x >/dev/full"]).arg(folder.join("bin/recovery-pass"));
        let ran = workspace.finish(command, None);
        assert!(ran.exits(74).stderr().contains("nobody could be told"), "{ran}");
    }
    let folder = install(&workspace, "usage");
    for (args, status) in [(&["--quiet-token"][..], 64), (&["--no-such-option"], 64), (&["--lang", "tlh"], 64)] {
        let ran = pass(&workspace, &folder, &[args, &["--quiet-token", "NO_REPLY"][..2 * usize::from(args.len() > 1)]].concat());
        assert!(!ran.exits(status).stdout().contains("NO_REPLY") && !ran.stderr().is_empty(), "{ran}");
    }
}

#[test]
fn of_two_at_once_each_does_its_part() {
    let workspace = Workspace::new();
    let folder = install(&workspace, "ws");
    let ids = ["a", "b", "c", "d"];
    ids.iter().for_each(|id| add_task(&workspace, &folder, id, WORK));
    let both = || {
        let start = || Background::start(bare(&folder.join("bin/recovery-pass")));
        let passes = [start(), start()];
        let outputs = passes.map(Background::output);
        assert!(outputs.iter().all(|output| output.status.success() && output.stderr.is_empty()), "{outputs:?}");
        outputs.map(|output| String::from_utf8(output.stdout).unwrap()).concat()
    };
    // The second pass may come late enough to tell how an attempt of the first one ended.
    let mut text = both();
    eventually("all are told", || {
        text += &both();
        ids.iter().all(|id| text.contains(&format!("`{id}`")))
    });
    for id in ids {
        assert_eq!(text.matches(&format!("(`{id}`)")).count(), 1, "{text}");
        let card = json_of(&folder, id);
        assert_eq!(card["attempt"], 1, "{card}");
    }
}

#[test]
fn it_runs_in_every_shell_and_by_every_name() {
    let workspace = Workspace::new();
    let folder = install(&workspace, ODD);
    card(&workspace, &folder, &["create", "ask_1", "--task-type", "t", "--title", "x"]);
    card(&workspace, &folder, &["block", "ask_1"]);
    let says = |command: Command, why: &str| {
        drop(fs::remove_file(folder.join("data/task-runs/.last-pass")));
        let ran = workspace.finish(command, None);
        assert!(ran.ok().is_quiet().stdout().contains("card approve ask_1"), "{why}: {ran}");
        assert!(is_stamped(&folder), "{why}: {ran}");
    };
    let script = folder.join("bin/recovery-pass");
    for shell in shells() {
        let mut command = bare(Path::new(shell[0]));
        command.env("PATH", "/usr/bin:/bin").args(&shell[1..]).arg(&script);
        says(command, shell[0]);
    }
    let link = workspace.path("a link to it");
    std::os::unix::fs::symlink(&script, &link).unwrap();
    says(bare(&link), "a link");
    let mut command = bare(Path::new("/bin/sh"));
    command.current_dir(folder.join("bin")).env("CDPATH", "/usr").arg("recovery-pass");
    says(command, "a bare name");
    let mut command = bare(&script);
    command.env("TASK_RUNS_DIR", workspace.path("elsewhere")).env("OPENCLAW_WORKSPACE", workspace.path(""));
    says(command, "another workspace in the environment");
    let ran = workspace.finish(
        {
            let mut command = bare(&script);
            command.arg("--help");
            command
        },
        None,
    );
    assert!(ran.ok().stdout().contains("usage: recovery-pass"), "{ran}");
    assert!(asset("recovery-pass").lines().count() < 110, "people read it");
}

#[test]
fn options_of_resume_are_passed_on() {
    let workspace = Workspace::new();
    let folder = install(&workspace, "ws");
    ["a", "b"].iter().for_each(|id| add_task(&workspace, &folder, id, WORK));
    assert_eq!(pass(&workspace, &folder, &["--dry-run", "--lang", "en"]).ok().stdout(), "");
    pass(&workspace, &folder, &["--jobs", "1", "--quiet-token", "x", "--timeout-seconds", "60"]).ok();
    let attempts = ["a", "b"].map(|id| json_of(&folder, id)["attempt"].as_u64());
    assert_eq!(attempts.iter().flatten().count(), 1, "{attempts:?}");
    let mut text = String::new();
    eventually("both are told", || {
        text += &pass(&workspace, &folder, &[]).ok().stdout();
        text.contains("(`a`)") && text.contains("(`b`)")
    });
}
