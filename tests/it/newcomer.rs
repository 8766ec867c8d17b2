//! Somebody who has only the README, in either language, and an empty home: every block of it is done as it is printed, one after
//! the other in one shell at a terminal, and shows what the README says it shows.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use regex_lite::{Captures, Regex};
use serde_json::Value;
use tests::{Ran, Workspace, has_tool, programs, root, word};

use crate::skill::commands_exist;

const ENGLISH: &str = "README.md";
const CHINESE: &str = "heartbeat-install/assets/docs/zh/README.md";

/// What begins a block of commands that is not run, and why.
const NOT_RUN: [(&str, &str); 1] = [("make demo", "this is `make test` itself; the demo is run by .ci/run")];

/// What a block that is no commands is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shows {
    /// A picture for the eye.
    Picture,
    /// What the commands before it print on a terminal.
    Output,
    /// A line of a crontab.
    Crontab,
    /// Files of a workspace.
    Workspace,
    /// Folders of the checkout.
    Checkout,
}

/// What such a block has in it.
const SHOWS: [(&str, Shows); 8] = [
    ("card create, checkpoint", Shows::Picture),
    ("fetch_1: due", Shows::Output),
    ("report_1: recovered", Shows::Output),
    ("🔄 Unfinished work", Shows::Output),
    ("🔄 任务恢复", Shows::Output),
    ("* * * * * ", Shows::Crontab),
    (">/data/task-runs/", Shows::Workspace),
    ("shared/ ", Shows::Checkout),
];

/// Programs that a reader has or has not, and that must not be those of whoever runs the tests: a crontab of their own, no
/// manager of timers, no OpenClaw.
const STAND_INS: [(&str, &str); 3] = [
    (
        "crontab",
        "#!/bin/sh\ncase $1 in\n-l) cat \"$HOME/.crontab\" 2>/dev/null || { echo no crontab >&2; exit 1; } ;;\n\
         -) cat >\"$HOME/.crontab\" ;;\n-r) rm \"$HOME/.crontab\" ;;\n*) exit 2 ;;\nesac\n",
    ),
    ("systemctl", "#!/bin/sh\necho 'Failed to connect to bus: No medium found' >&2\nexit 1\n"),
    ("openclaw", "#!/bin/sh\nexit 127\n"),
];

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// The fenced blocks in their order: what stands after the fence, and the text.
fn blocks(text: &str) -> Vec<(&str, &str)> {
    let fenced = text.split("\n```").skip(1).step_by(2);
    fenced.map(|block| block.split_once('\n').unwrap()).collect()
}

fn shows(block: &str) -> Shows {
    let found = SHOWS.iter().find(|(mark, _)| block.contains(mark));
    found.unwrap_or_else(|| panic!("a new block, that no test looks at:\n{block}")).1
}

/// The files of the checkout as a clone has them. They keep their times, so that cargo knows that they are built.
fn cloned(workspace: &Workspace) -> PathBuf {
    let clone = workspace.path("a clone");
    fs::create_dir(&clone).unwrap();
    let listed = match root().join(".git").exists() {
        true => "git ls-files -z | tar --null -T - -cf -",
        false => "tar --exclude=./target -cf - .",
    };
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &format!("{listed} | tar -xf - -C \"$1\""), "sh"]).arg(&clone).current_dir(root());
    workspace.finish(shell, None).ok();
    clone
}

/// `make` of this command finds built what this test is built with, if the sources are the same with the same times: so it takes
/// no time and no network.
pub(crate) fn find_it_built(command: &mut Command) {
    for name in ["MAKELEVEL", "MFLAGS", "MAKEOVERRIDES"] {
        command.env_remove(name);
    }
    let profile = if programs().ends_with("release") { "release" } else { "dev" };
    command.env("CARGO_TARGET_DIR", programs().parent().unwrap()).env("CARGO_NET_OFFLINE", "true");
    command.env("MAKEFLAGS", format!("PROFILE={profile}"));
}

/// A shell in the clone, with the reader's empty home, at a terminal where there is a script(1).
fn at_a_terminal<'a>(workspace: &'a Workspace, clone: &Path, session: &str) -> Ran<'a> {
    let home = workspace.path("home");
    fs::create_dir(&home).unwrap();
    let file = workspace.write("session.sh", session);
    let mut command = if has_tool("script") { Command::new("script") } else { Command::new("bash") };
    match command.get_program() == "script" {
        true => {
            command.args(["-qec", &format!("exec bash '{}' 2>'{}'", word(&file), word(&workspace.path("stderr")))]).arg("/dev/null")
        }
        false => command.arg(&file),
    };
    let in_home = |name: &str, folder: &str| {
        std::env::var_os(name).map_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(folder), PathBuf::from)
    };
    command.env("CARGO_HOME", in_home("CARGO_HOME", ".cargo")).env("RUSTUP_HOME", in_home("RUSTUP_HOME", ".rustup"));
    find_it_built(&mut command);
    for name in ["BASH_ENV", "XDG_STATE_HOME", "XDG_CONFIG_HOME"] {
        command.env_remove(name);
    }
    for (name, _) in
        std::env::vars_os().filter(|(name, _)| ["TASK_", "OPENCLAW_"].iter().any(|ours| name.to_string_lossy().starts_with(ours)))
    {
        command.env_remove(name);
    }
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", word(&workspace.path("stand-ins"))));
    command.env("HOME", &home).env("TERM", "dumb").env("COLUMNS", "200").env("LC_ALL", "C").current_dir(clone).stdin(Stdio::null());
    workspace.finish(command, None)
}

/// The blocks in one session: after each a line that ends it, and a line for each command that fails.
fn session(blocks: &[(&str, &str)]) -> String {
    let mut session = "trap 'echo \"=== failed: $? in $BASH_COMMAND\"' ERR\n".to_owned();
    // Not everybody has jq; what it is given is the same.
    session += "command -v jq >/dev/null || jq() { cat; }\n";
    for (kind, block) in blocks {
        match *kind {
            "sh" if NOT_RUN.iter().any(|(start, _)| block.starts_with(start)) => {}
            "sh" => session += block,
            "text" if shows(block) == Shows::Crontab => session += block.strip_prefix("* * * * * ").unwrap(),
            "text" => {}
            other => panic!("what is a block of {other:?}?"),
        }
        session += "\necho '=== end'\n";
        if block.contains("make install ") {
            // Debugging symbols only make what is placed later larger.
            session += "! command -v strip >/dev/null || strip \"$HOME\"/.local/libexec/task-recovery/*\n";
            session += "! command -v man >/dev/null || { man -w task-recovery && man -w 1task watch; }\n";
        }
    }
    session
}

/// Times and ages as one that can be compared.
fn timeless(text: &str) -> String {
    let text = Regex::new(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC").unwrap().replace_all(text, "2026-11-30 01:00:00 UTC").into_owned();
    Regex::new(r"\b\d+ s ago").unwrap().replace_all(&text, "0 s ago").into_owned()
}

fn card(folder: &Path, id: &str) -> Value {
    serde_json::from_slice(&fs::read(folder.join(format!("data/task-runs/{id}.json"))).unwrap()).unwrap()
}

fn follow(name: &str) {
    if !has_tool("make") || !has_tool("bash") {
        return;
    }
    if std::env::var_os("TASK_TESTS_PROGRAMS").is_some() {
        tests::skip("the programs are built elsewhere");
        return;
    }
    let text = read(name);
    let blocks = blocks(&text);
    let workspace = Workspace::new();
    // What is above the home is no workspace.
    fs::remove_dir_all(workspace.path("data")).unwrap();
    fs::create_dir(workspace.path("stand-ins")).unwrap();
    for (program, script) in STAND_INS {
        workspace.write(&format!("stand-ins/{program}"), script);
    }
    let clone = cloned(&workspace);
    let ran = at_a_terminal(&workspace, &clone, &session(&blocks));
    let stderr = fs::read_to_string(workspace.path("stderr")).unwrap_or_else(|_| ran.stderr());
    let printed = ran.ok().stdout().replace('\r', "");
    let ends: Vec<&str> = printed.split("=== end\n").collect();
    assert_eq!(ends.len(), blocks.len() + 1, "{ran}\n{stderr}");
    assert!(!stderr.contains("Compiling"), "this builds into the folder that other tests run from:\n{stderr}");

    // The two jobs that have their supervisor stopped; nothing else fails.
    let failed: Vec<&str> = printed.lines().filter(|line| line.starts_with("=== failed: ")).collect();
    assert_eq!(failed, ["=== failed: 143 in resume"; 2], "{ran}\n{stderr}");
    let mut latest = "";
    for ((kind, block), printed) in blocks.iter().zip(&ends) {
        match *kind {
            "sh" => latest = printed,
            _ if shows(block) == Shows::Output && has_tool("script") => {
                let at_home = latest.replace(word(&workspace.path("home")), "/home/alice");
                let latest: String = at_home.split_inclusive('\n').filter(|line| !line.starts_with("=== ")).collect();
                let latest = timeless(&latest);
                assert!(latest.contains(block.trim_end()), "{name} shows\n{block}\nand this is printed:\n{latest}");
            }
            _ => {}
        }
    }

    let home = workspace.path("home");
    let (work, agent) = (home.join("work"), home.join("agent"));
    assert!(work.join("result.txt").is_file());
    assert_eq!(fs::read_to_string(work.join("sum.txt")).unwrap(), "500500\n");
    assert_eq!(fs::read_to_string(work.join("collected.txt")).unwrap().lines().count(), 1, "collected once");
    for (folder, id, attempt) in [(&work, "fetch_1", 2), (&work, "report_1", 3), (&agent, "trip_1", 0)] {
        let card = card(folder, id);
        assert_eq!((&card["status"], card["attempt"].as_u64().unwrap_or(0)), (&"completed".into(), attempt), "{card}");
    }
    assert!(work.join("tasks.html").is_file() && work.join("t.prom").is_file());
    assert!(printed.contains("; trigger: cron"), "{printed}");
    assert_eq!(fs::read_to_string(home.join(".crontab")).unwrap_or_default(), "", "uninstalled");
    assert!(!work.join("bin").exists() && agent.join("bin/watch").is_file());
    look_at_the_trees(name, &blocks, &agent, &work);
}

/// The files that the README draws are there.
fn look_at_the_trees(name: &str, blocks: &[(&str, &str)], agent: &Path, work: &Path) {
    for (_, block) in blocks.iter().filter(|(kind, _)| *kind != "sh") {
        match shows(block) {
            Shows::Checkout => {
                let words = block.lines().flat_map(|line| line.split("     ").next().unwrap().split(' '));
                let folders: Vec<&str> = words.filter(|word| word.ends_with('/')).collect();
                assert!(folders.len() > 8, "{name}: {folders:?}");
                folders.iter().for_each(|folder| assert!(root().join(folder).is_dir(), "{name}: {folder}"));
            }
            Shows::Workspace => {
                for line in block.lines() {
                    let place = line.trim_start().split("task-runs").last().unwrap().split(' ').next().unwrap();
                    let place = place.trim_start_matches('/').replace("ID", "fetch_1");
                    // Nothing was filed away yet, and the outbox was emptied.
                    let is_made = ["archive/", ".outbox/"].contains(&place.as_str())
                        || [work, agent].iter().any(|folder| folder.join("data/task-runs").join(&place).exists());
                    assert!(is_made, "{name}: {line}");
                }
            }
            _ => {}
        }
    }
}

#[test]
fn the_readme_leads_to_a_recovered_task() {
    follow(ENGLISH);
}

#[test]
fn the_chinese_readme_leads_to_a_recovered_task() {
    follow(CHINESE);
}

/// Commands without what people read in them: comments, texts between quotation marks, the language.
fn bare(block: &str) -> String {
    let block = Regex::new(r" *# .*").unwrap().replace_all(block, "").replace(" --lang zh", "");
    let block = Regex::new(r#""message": "[^"]*""#).unwrap().replace_all(&block, "").into_owned();
    let text = Regex::new(r#""[^"]*"|Lisbon"#).unwrap();
    text.replace_all(&block, |found: &Captures<'_>| if found[0].contains('$') { found[0].to_owned() } else { "_".to_owned() })
        .into_owned()
}

#[test]
fn both_readmes_have_the_same_commands_tables_and_sections() {
    let [english, chinese] = [ENGLISH, CHINESE].map(read);
    let commands =
        |text: &str| -> Vec<String> { blocks(text).iter().filter(|(kind, _)| *kind == "sh").map(|(_, b)| bare(b)).collect() };
    assert_eq!(commands(&english), commands(&chinese));
    let shape = |text: &str| -> Vec<(usize, usize)> {
        text.split("\n#").map(|section| (section.matches("\n```").count(), section.matches("\n|").count())).collect()
    };
    assert_eq!(shape(&english), shape(&chinese));
}

#[test]
fn what_the_readmes_name_exists() {
    for name in [ENGLISH, CHINESE] {
        let text = read(name);
        let prose: Vec<&str> = text.split("\n```").step_by(2).collect();
        commands_exist(name, &prose.join("\n"));
        for link in text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
            assert!(root().join(name).parent().unwrap().join(link).is_file(), "{name}: {link}");
        }
        assert!(text.lines().count() < 330, "{name} is long");
    }
}
