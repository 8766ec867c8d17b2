//! The adapter templates, and `card create --scaffold`, which places them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tests::{Ran, Workspace, has_tool, word};

use crate::installed::{ODD, asset, bare, install, shells};

/// Each with what runs it: none, where its first line does.
fn kinds() -> Vec<(&'static str, &'static str)> {
    let mut kinds = vec![("sh", "task_resume.sh")];
    if has_tool("python3") {
        kinds.push(("python", "task_resume.py"));
    }
    kinds
}

fn run<'a>(workspace: &'a Workspace, folder: &Path, program: &str, args: &[&str], input: Option<&str>) -> Ran<'a> {
    let mut command = workspace.command(program);
    // Where pyenv and the like have their python3.
    command.args(args).current_dir(folder).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    workspace.finish(command, input)
}

fn create<'a>(workspace: &'a Workspace, folder: &Path, id: &str, kind: &str, more: &[&str]) -> Ran<'a> {
    let args = ["create", id, "--task-type", "t", "--title", "计数", "--allow-auto-resume", "--scaffold", kind];
    run(workspace, folder, "card", &[&args[..], more].concat(), None)
}

fn card(folder: &Path, id: &str) -> Value {
    serde_json::from_slice(&fs::read(folder.join(format!("data/task-runs/{id}.json"))).unwrap()).unwrap()
}

/// A workspace with sixty-one files to count, three words longer each time.
fn with_files(name: &str) -> (Workspace, PathBuf) {
    let workspace = Workspace::new();
    let folder = install(&workspace, name);
    fs::create_dir(folder.join("notes")).unwrap();
    for number in 0..61 {
        fs::write(folder.join(format!("notes/第 {number:02}'s \"page\".md")), "one two three\n".repeat(number)).unwrap();
    }
    (workspace, folder)
}

const LONGEST: &str = "180 notes/第 60's \"page\".md";

fn result(folder: &Path, id: &str) -> String {
    let text = fs::read_to_string(folder.join(format!("tmp/task-runtime/{id}/longest.txt"))).unwrap();
    text.lines().map(|line| line.replace("./", "") + "\n").collect()
}

#[test]
fn a_scaffold_works_as_it_stands() {
    let (workspace, folder) = with_files(ODD);
    for (kind, name) in kinds() {
        let made = create(&workspace, &folder, kind, kind, &["--status", "pending"]);
        let adapter = folder.join(format!("tmp/task-runtime/{kind}/{name}"));
        assert_eq!(made.ok().is_quiet().one()["resume_adapter"], word(&adapter));
        assert_eq!(fs::read_to_string(&adapter).unwrap(), asset(&format!("templates/{name}")));
        let told = run(&workspace, &folder, "resume", &[], Some(&made.stdout()));
        assert_eq!(told.ok().one()["outcome"], "completed", "{told}");
        let card = card(&folder, kind);
        let said: Vec<&str> = card["checkpoints"].as_array().unwrap().iter().map(|c| c["message"].as_str().unwrap()).collect();
        assert_eq!(said[..4], ["61 files to count", "25 of 61 files counted", "50 of 61 files counted", "all 61 files counted"]);
        assert_eq!(result(&folder, kind).lines().next(), Some(LONGEST));
        assert_eq!(result(&folder, kind).lines().count(), 10);
    }
}

#[test]
fn a_cut_one_goes_on_where_it_was() {
    let (workspace, folder) = with_files("ws");
    for (kind, _) in kinds() {
        let whole = format!("{kind}-whole");
        run(
            &workspace,
            &folder,
            "resume",
            &[],
            Some(&create(&workspace, &folder, &whole, kind, &["--status", "pending"]).stdout()),
        )
        .ok();
        let cut = format!("{kind}-cut");
        create(&workspace, &folder, &cut, kind, &["--phase", "process"]).ok();
        let work = |id: &str, name: &str| folder.join(format!("tmp/task-runtime/{id}/{name}"));
        let (files, counts) = if kind == "sh" { ("files.txt", "counts.txt") } else { ("files.json", "counts.jsonl") };
        fs::copy(work(&whole, files), work(&cut, files)).unwrap();
        // Thirty whole lines and a half one.
        let text = fs::read_to_string(work(&whole, counts)).unwrap();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        fs::write(work(&cut, counts), lines[..30].concat() + &lines[30][..3]).unwrap();
        let told = run(&workspace, &folder, "resume", &[&cut, "--force"], None);
        assert_eq!(told.ok().one()["outcome"], "completed", "{told}");
        assert_eq!(fs::read_to_string(work(&cut, counts)).unwrap(), text);
        assert_eq!(result(&folder, &cut), result(&folder, &whole));
        let card = card(&folder, &cut);
        assert_eq!(card["checkpoints"][0]["message"], "50 of 61 files counted", "{card}");
        // What it needs is gone: a person has to look.
        let lost = format!("{kind}-lost");
        create(&workspace, &folder, &lost, kind, &["--phase", "process"]).ok();
        let told = run(&workspace, &folder, "resume", &[&lost, "--force"], None);
        assert_eq!(told.ok().one()["reason"], "needs_person", "{told}");
        let strange = format!("{kind}-strange");
        create(&workspace, &folder, &strange, kind, &["--phase", "no such phase"]).ok();
        let told = run(&workspace, &folder, "resume", &[&strange, "--force"], None);
        assert_eq!(told.ok().one()["reason"], "needs_person", "{told}");
    }
}

#[test]
fn by_hand_it_finds_the_programs_and_its_task() {
    let (workspace, folder) = with_files(ODD);
    let by_hand = |mut command: Command, id: &str, name: &str| {
        command.arg(folder.join(format!("tmp/task-runtime/{id}/{name}")));
        workspace.finish(command, None).ok().is_quiet();
        assert_eq!(card(&folder, id)["status"], "completed", "{name}");
        assert_eq!(result(&folder, id).lines().next(), Some(LONGEST));
    };
    for shell in shells() {
        let id = format!("by-{}", shell[0]);
        create(&workspace, &folder, &id, "sh", &[]).ok();
        let mut command = bare(Path::new(shell[0]));
        command.env("PATH", "/usr/bin:/bin").args(&shell[1..]);
        by_hand(command, &id, "task_resume.sh");
    }
    if has_tool("python3") {
        create(&workspace, &folder, "by-python", "python", &[]).ok();
        let mut command = bare(Path::new("python3"));
        command.env("PATH", std::env::var_os("PATH").unwrap()).arg("-I");
        by_hand(command, "by-python", "task_resume.py");
    }
}

#[test]
fn a_superseded_one_stops_at_its_next_checkpoint() {
    let (workspace, folder) = with_files("ws");
    for (kind, name) in kinds() {
        create(&workspace, &folder, kind, kind, &[]).ok();
        let mut card = card(&folder, kind);
        card["attempt"] = 2.into();
        fs::write(folder.join(format!("data/task-runs/{kind}.json")), card.to_string()).unwrap();
        let mut command = bare(&folder.join(format!("tmp/task-runtime/{kind}/{name}")));
        command.env("PATH", std::env::var_os("PATH").unwrap()).env("TASK_ATTEMPT", format!("{kind}/1/token"));
        let ran = workspace.finish(command, None);
        assert!(ran.exits(77).stderr().contains("superseded"), "{ran}");
    }
}

#[test]
fn a_scaffold_overwrites_nothing_and_leaves_nothing() {
    let workspace = Workspace::new();
    let folder = install(&workspace, "ws");
    let adapter = folder.join("tmp/task-runtime/a/task_resume.sh");
    fs::create_dir_all(adapter.parent().unwrap()).unwrap();
    fs::write(&adapter, "mine").unwrap();
    create(&workspace, &folder, "a", "sh", &[]).exits(73).complains("task_resume.sh exists already");
    assert_eq!(fs::read_to_string(&adapter).unwrap(), "mine");
    assert!(!folder.join("data/task-runs/a.json").exists());
    fs::remove_file(&adapter).unwrap();
    std::os::unix::fs::symlink(folder.join("target"), &adapter).unwrap();
    create(&workspace, &folder, "a", "sh", &[]).exits(73);
    assert!(!folder.join("target").exists());

    // The task exists: its folder stays as it was.
    run(&workspace, &folder, "card", &["create", "b", "--task-type", "t", "--title", "x"], None).ok();
    create(&workspace, &folder, "b", "sh", &[]).exits(73).complains("b");
    assert!(!folder.join("tmp/task-runtime/b").exists());

    for more in [&["--resume-adapter", "x"][..], &["--resume-command", "x"], &["--", "x"]] {
        create(&workspace, &folder, "c", "sh", more).exits(64).complains("exclude each other");
    }
    create(&workspace, &folder, "c", "perl", &[]).exits(64).complains("is no template");
    assert!(!folder.join("tmp/task-runtime/c").exists());

    // Without an ID of its own, too; two in one second are two.
    let args = ["create", "--task-type", "t", "--title", "x", "--scaffold", "sh", "--now", "2026-11-30T01:00:00Z"];
    for id in ["t-20261130T010000Z", "t-20261130T010000Z-2"] {
        let made = run(&workspace, &folder, "card", &args, None).ok().one();
        assert_eq!(made["task_id"], id);
        assert_eq!(made["resume_adapter"], word(&folder.join(format!("tmp/task-runtime/{id}/task_resume.sh"))));
    }
}
