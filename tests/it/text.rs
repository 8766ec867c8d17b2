//! What people read: texts and tables against golden files, by width, with and without a terminal.
//!
//! The cards are in `fixtures/text/cards`; the golden files beside them are written anew by
//! `UPDATE_GOLDEN=1 cargo test -p tests text`, and read before they are committed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tests::{Ran, Workspace, root, word};
use unicode_width::UnicodeWidthStr;

/// Ages in the fixtures are whole minutes and some seconds, so that a slow machine shows the same.
const NOW: &str = "2026-11-30T02:00:10Z";
/// A folder's path is part of what is wrapped: it has the same length wherever the tests run.
const FOLDER_LENGTH: usize = 100;
const WIDTHS: [&str; 4] = ["40", "80", "200", ""];

fn fixtures() -> PathBuf {
    root().join("tests/fixtures/text")
}

/// A workspace with the fixtures' cards, and the folder in it that the programs are given.
fn with_cards() -> (Workspace, PathBuf) {
    let workspace = Workspace::new();
    let folder = folder(&workspace);
    for entry in fs::read_dir(fixtures().join("cards")).unwrap() {
        let card = entry.unwrap().path();
        fs::copy(&card, folder.join("data/task-runs").join(card.file_name().unwrap())).unwrap();
    }
    (workspace, folder)
}

fn folder(workspace: &Workspace) -> PathBuf {
    let base = workspace.path("");
    let missing = FOLDER_LENGTH.checked_sub(word(&base).len()).filter(|missing| *missing > 0);
    let folder = base.join("w".repeat(missing.expect("a temporary folder with a shorter path")));
    fs::create_dir_all(folder.join("data/task-runs")).unwrap();
    folder
}

fn command(workspace: &Workspace, folder: &Path, program: &str, args: &[&str], columns: &str) -> Command {
    let mut command = workspace.command(program);
    command.args(args).args(["--workspace", word(folder), "--now", NOW]);
    if !columns.is_empty() {
        command.env("COLUMNS", columns);
    }
    command
}

fn name(what: &str, columns: &str) -> String {
    format!("{what}-{}.txt", if columns.is_empty() { "pipe" } else { columns })
}

/// Compares a text with its golden file, or writes that.
#[track_caller]
fn golden(name: &str, text: &str) {
    let path = fixtures().join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some_and(|value| !value.is_empty()) {
        return fs::write(&path, text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "{name} differs\n--- expected\n{expected}\n--- found\n{text}");
}

/// Only what is to be copied may be wider than asked for, and only alone on its line.
#[track_caller]
fn assert_fits(text: &str, columns: &str) {
    let Ok(columns) = columns.parse::<usize>() else { return };
    for line in text.lines().filter(|line| line.width() > columns) {
        let alone = line.trim();
        let is_command = ["card ", "resume ", "ls -l ", "/bin/sh -c "].iter().any(|start| alone.starts_with(start));
        let is_path = alone.starts_with('/') && !alone.contains("  ") && !alone.contains('·');
        assert!(is_command || is_path, "{} columns: {line}\n{text}", line.width());
    }
}

#[track_caller]
fn assert_harmless(text: &str) {
    let obeyed: Vec<char> = text.chars().filter(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}').collect();
    assert!(obeyed.is_empty(), "{obeyed:?} in\n{text}");
}

#[track_caller]
fn check(what: &str, columns: &str, ran: &Ran<'_>, folder: &Path) {
    let text = ran.stdout();
    assert_fits(&text, columns);
    assert_harmless(&text);
    golden(&name(what, columns), &text.replace(word(folder), "$W"));
}

#[test]
fn what_watch_says() {
    let (workspace, folder) = with_cards();
    fs::write(folder.join("data/task-runs/broken_12.json"), "{").unwrap();
    for columns in WIDTHS {
        let ran = workspace.finish(command(&workspace, &folder, "watch", &["--format", "text"], columns), None);
        check("watch", columns, ran.ok().is_quiet(), &folder);
    }
}

#[test]
fn what_resume_would_do() {
    let (workspace, folder) = with_cards();
    let input = workspace.finish(command(&workspace, &folder, "watch", &[], ""), None).stdout() + "well_5\n\"done_6\"\n";
    for columns in WIDTHS {
        let ran =
            workspace.finish(command(&workspace, &folder, "resume", &["--format", "text", "--dry-run"], columns), Some(&input));
        check("dry-run", columns, ran.ok().is_quiet(), &folder);
    }
}

/// Every kind of line that attempts leave behind. Long waits, so that the seconds that a pass takes do not show.
#[test]
fn what_resume_did() {
    let card = |id: &str, status: &str, fields: Value| {
        let mut card = json!({"task_id": id, "title": "夜间任务", "status": status, "phase": "", "created_at": "2026-11-30T01:50:00Z",
            "allow_auto_resume": true, "cooldown_seconds": 2730, "cwd": "/", "path": "/usr/bin:/bin"});
        card.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        (id.to_owned(), card.to_string())
    };
    let run = |script: &str| json!({"resume_argv": ["/bin/sh", "-c", script]});
    let with = |mut fields: Value, name: &str, value: Value| {
        fields[name] = value;
        fields
    };
    let cards = [
        card("fresh", "pending", run(":")),
        card("good", "stalled", run(":")),
        card("bad", "stalled", run("exit 3")),
        card("last", "stalled", with(run("exit 3"), "max_retries", json!(1))),
        card("later", "stalled", with(run(":"), "not_before", json!("2026-11-30T03:30:59Z"))),
        card("well", "running", with(run(":"), "stale_after_minutes", json!(30.9))),
    ];
    let mut input: String = cards.iter().map(|(id, _)| json!({"signal": "alert", "task_id": id}).to_string() + "\n").collect();
    input += &json!({"signal": "needs_attention", "task_id": "ask", "phase": "choose", "reason": "which_one", "detail": "A or B?",
        "blocked_since": "2026-11-29T20:00:00Z", "next": "card approve ask"})
    .to_string();
    input += "\n{\"signal\":\"ready\",\"task_id\":\"nobody\"}\n";
    for columns in WIDTHS {
        let workspace = Workspace::new();
        let folder = folder(&workspace);
        for (id, text) in &cards {
            fs::write(folder.join(format!("data/task-runs/{id}.json")), text).unwrap();
        }
        let ran = command(&workspace, &folder, "resume", &["--format", "text", "--jobs", "1"], columns);
        let ran = workspace.finish(ran, Some(&input));
        check("resume", columns, ran.ok(), &folder);
    }
}

#[test]
fn the_table_of_cards() {
    let (workspace, folder) = with_cards();
    for columns in WIDTHS {
        let ran = workspace.finish(command(&workspace, &folder, "card", &["list", "--format", "text"], columns), None);
        let text = ran.ok().is_quiet().stdout();
        assert_eq!(text.lines().count(), 13, "{ran}");
        assert!(columns.is_empty() || text.lines().all(|line| line.width() <= columns.parse().unwrap()), "{ran}");
        check("list", columns, &ran, &folder);
    }
    let running = ["list", "--format", "text", "--status", "running"];
    check("list-running", "40", workspace.finish(command(&workspace, &folder, "card", &running, "40"), None).ok(), &folder);
    let none = ["list", "--format", "text", "--task-type", "x"];
    assert_eq!(workspace.finish(command(&workspace, &folder, "card", &none, ""), None).ok().stdout(), "");
    fs::write(folder.join("data/task-runs/broken.json"), "{").unwrap();
    let broken = workspace.finish(command(&workspace, &folder, "card", &["list", "--format", "text"], ""), None);
    assert_eq!(broken.exits(65).complains("broken").stdout().lines().count(), 13);
}

#[test]
fn one_card() {
    let (workspace, folder) = with_cards();
    let cards = workspace.finish(command(&workspace, &folder, "card", &["list"], ""), None).json();
    for columns in WIDTHS {
        let mut all = String::new();
        for card in &cards {
            let id = card["task_id"].as_str().or(card["id"].as_str()).unwrap();
            let ran = workspace.finish(command(&workspace, &folder, "card", &["show", id, "--format", "text"], columns), None);
            all += &(ran.ok().is_quiet().stdout() + "\n");
        }
        assert_fits(&all, columns);
        assert_harmless(&all);
        golden(&name("show", columns), &all.replace(word(&folder), "$W"));
    }
}

#[test]
fn a_pipe_gets_json_as_ever() {
    let (workspace, folder) = with_cards();
    let run = |program: &str, args: &[&str]| workspace.finish(command(&workspace, &folder, program, args, "40"), None);
    let list = run("card", &["list"]);
    assert_eq!(list.ok().json().len(), 12);
    assert_eq!(list.stdout(), run("card", &["list", "--format", "jsonl"]).stdout());
    let show = run("card", &["show", "report_1"]);
    let card: Value = serde_json::from_slice(&fs::read(fixtures().join("cards/report_1.json")).unwrap()).unwrap();
    assert_eq!(show.ok().one(), card);
    assert_eq!(show.stdout(), run("card", &["show", "report_1", "--format", "json"]).stdout());
    assert_eq!(run("watch", &[]).ok().stdout(), run("watch", &["--format", "jsonl"]).stdout());
    for args in [["list", "--format", "json"], ["show", "--format", "jsonl"], ["list", "--format", "table"]] {
        run("card", &args).exits(64).complains(&format!("--format: \"{}\" is no format", args[2]));
    }
}

/// Runs a command line in a terminal of so many columns, if that can be had here.
fn in_terminal(workspace: &Workspace, folder: &Path, line: &str, columns: u32, env: &[(&str, &str)]) -> Option<String> {
    // The one of the BSDs has another command line.
    let script = Command::new("script").arg("--version").output();
    if !script.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("util-linux")) {
        tests::skip("util-linux's script is not installed");
        return None;
    }
    let mut command = workspace.shell_command("exec script -qec \"$LINE\" /dev/null");
    let line = format!("stty rows 24 cols {columns} -echo; {line} --workspace '{}' --now {NOW}", folder.display());
    command.env("LINE", line).env("SHELL", "/bin/sh").env("TERM", "xterm").envs(env.iter().copied());
    let ran = workspace.finish(command, None);
    // What the terminal's line discipline made of the end of the input and of line ends.
    Some(ran.ok().stdout().replace("^D\u{8}\u{8}", "").replace("\r\n", "\n").replace(word(folder), "$W"))
}

#[test]
fn in_a_terminal_there_are_colours_and_its_own_width() {
    let (workspace, folder) = with_cards();
    for (line, what) in [("card list", "list"), ("watch", "watch"), ("card show report_1", "show-report")] {
        let Some(text) = in_terminal(&workspace, &folder, line, 80, &[]) else { return };
        golden(&format!("terminal-{what}.txt"), &text.replace('\x1b', "\\e"));
        assert!(text.contains("\x1b["), "{text:?}");
        assert_eq!(in_terminal(&workspace, &folder, line, 80, &[("NO_COLOR", "")]).as_ref(), Some(&text));
        for env in [("NO_COLOR", "1"), ("TERM", "dumb")] {
            let Some(plain) = in_terminal(&workspace, &folder, line, 80, &[env]) else { return };
            assert_harmless(&plain);
            assert_eq!(plain, without_colours(&text), "{line} {env:?}");
        }
    }
    let run = |args: &[&str]| workspace.finish(command(&workspace, &folder, "card", args, "40"), None).stdout();
    let narrow = in_terminal(&workspace, &folder, "card list", 40, &[("NO_COLOR", "1")]);
    assert_eq!(narrow.as_deref(), Some(run(&["list", "--format", "text"]).as_str()));
    let asked = in_terminal(&workspace, &folder, "card list", 200, &[("NO_COLOR", "1"), ("COLUMNS", "40")]);
    assert_eq!(asked, narrow);
    assert_eq!(in_terminal(&workspace, &folder, "card list --format jsonl", 40, &[]), Some(run(&["list"])));
    let forced = in_terminal(&workspace, &folder, "card show well_5 --format json", 40, &[]);
    assert_eq!(serde_json::from_str::<Value>(&forced.unwrap()).unwrap()["task_id"], "well_5");
}

fn without_colours(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| plain + part.split_once('m').map_or("", |(_, rest)| rest))
}
