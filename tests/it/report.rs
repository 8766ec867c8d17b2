//! `card report -`: the sentences, in both languages, against golden files.
//!
//! They are written anew by `UPDATE_GOLDEN=1 cargo test -p tests report`, and read before they are committed.

use std::fs;

use serde_json::{Value, json};
use tests::{Ran, Workspace, programs, root};

const NOW: &str = "2026-11-30T02:00:10Z";

/// Every kind of line that watch and resume print.
fn signals() -> String {
    fs::read_to_string(root().join("tests/fixtures/report/signals.jsonl")).unwrap()
}

fn report<'a>(workspace: &'a Workspace, args: &[&str], input: &str) -> Ran<'a> {
    workspace.run_with("card", &[&["report", "-", "--now", NOW][..], args].concat(), input)
}

#[track_caller]
fn golden(name: &str, text: &str) {
    let path = root().join("tests/fixtures/report").join(name);
    let text = text.replace(&programs().display().to_string(), "$BIN");
    if std::env::var_os("UPDATE_GOLDEN").is_some_and(|value| !value.is_empty()) {
        return fs::write(&path, text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "{name} differs\n--- expected\n{expected}\n--- found\n{text}");
}

#[test]
fn every_signal_in_both_languages() {
    let workspace = Workspace::new();
    workspace.put_card(
        "report_1",
        r#"{"task_id": "report_1", "title": "AI 代理年度报告", "status": "running", "created_at": "2026-11-30T01:00:00Z"}"#,
    );
    for language in ["en", "zh"] {
        for format in ["chat", "text"] {
            let ran = report(&workspace, &["--format", format, "--lang", language], &signals());
            let text = ran.ok().is_quiet().stdout();
            let obeyed: Vec<char> = text.chars().filter(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}').collect();
            assert!(obeyed.is_empty(), "{obeyed:?} {ran}");
            golden(&format!("{format}-{language}.txt"), &text);
        }
        let mut narrow = workspace.command("card");
        narrow.args(["report", "-", "--now", NOW, "--lang", language]).env("COLUMNS", "50");
        golden(&format!("text-{language}-50.txt"), &workspace.finish(narrow, Some(&signals())).ok().stdout());
    }
}

#[test]
fn the_environment_decides_the_language() {
    let workspace = Workspace::new();
    let line = json!({"signal": "recovery", "task_id": "a", "attempt": 1, "outcome": "completed"}).to_string();
    for (env, expected) in [
        (&[][..], "Recovered"),
        (&[("LANG", "zh_CN.UTF-8")], "已恢复"),
        (&[("LANG", "zh_CN.UTF-8"), ("LC_ALL", "C.UTF-8")], "Recovered"),
        (&[("LANG", "fr_FR.UTF-8")], "Recovered"),
    ] {
        let mut command = workspace.command("card");
        command.args(["report", "-"]).envs(env.iter().copied());
        let ran = workspace.finish(command, Some(&line));
        assert!(ran.ok().stdout().starts_with(expected), "{env:?} {ran}");
    }
}

#[test]
fn nothing_to_say_is_nothing_or_the_token() {
    let workspace = Workspace::new();
    let quiet = [
        String::new(),
        "{}\n".to_owned(),
        "report_1\n\"report_2\"\n{\"task_id\":\"x\",\"status\":\"running\"}\n".to_owned(),
        ["started", "ready"].map(|signal| json!({"signal": signal, "task_id": "a"}).to_string()).join("\n"),
        json!({"signal": "skipped", "task_id": "a", "reason": "attempt_alive"}).to_string(),
        json!({"signal": "alert", "task_id": "a", "outcome": "postponed", "attempt": 1}).to_string(),
        json!({"signal": "needs_attention", "task_id": "a", "reason": "too_old"}).to_string(),
    ];
    for input in quiet {
        assert_eq!(report(&workspace, &["--format", "chat"], &input).ok().is_quiet().stdout(), "", "{input}");
        let ran = report(&workspace, &["--format", "chat", "--quiet-token", "NO_REPLY"], &input);
        assert_eq!(ran.ok().is_quiet().stdout(), "NO_REPLY\n", "{input}");
    }
    // What could not be read may have been anything.
    let ran = report(&workspace, &["--format", "chat", "--quiet-token", "NO_REPLY"], "{broken\n");
    assert_eq!(ran.exits(65).complains("line 1").stdout(), "");
    let ran = report(&workspace, &[], "watch: cannot list\n{\"signal\":\"ready\",\"task_id\":\"a\"}");
    assert!(ran.exits(65).stdout().contains("ready to start"), "{ran}");
}

#[test]
fn a_chat_message_has_a_limit_and_counts_the_rest() {
    let workspace = Workspace::new();
    let lines = |count: usize, title: &str| -> String {
        let line = |number| json!({"signal": "recovery", "task_id": format!("t{number}"), "title": title, "attempt": 1, "outcome": "completed"});
        let person = json!({"signal": "needs_attention", "task_id": "last", "reason": "which_one", "detail": "长".repeat(5000), "new": true});
        (0..count).map(|number| line(number).to_string() + "\n").collect::<String>() + &person.to_string()
    };
    let text = report(&workspace, &["--format", "chat"], &lines(32, "x")).ok().stdout();
    assert_eq!(text.matches("\n- ").count(), 20, "{text}");
    assert!(text.starts_with("⚠️ Needs a person:\n- `last`: which_one; 长长") && text.ends_with("… and 13 more\n"), "{text}");
    let text = report(&workspace, &["--format", "chat", "--lang", "zh"], &lines(19, &"很长的标题".repeat(500))).ok().stdout();
    assert!(text.chars().count() < 3700 && !text.contains("另有"), "{text}");
    let long_ids: String = (0..19)
        .map(|number| {
            let next = format!("ls -l '/{}/{number}'", "folder".repeat(60));
            json!({"signal": "needs_attention", "task_id": format!("t{number}"), "reason": "card_invalid", "next": next, "new": true})
                .to_string()
        })
        .collect();
    let text = report(&workspace, &["--format", "chat"], &long_ids).ok().stdout();
    let told = text.matches("\n- ").count();
    assert!(text.chars().count() < 3700 && told < 19 && text.contains(&format!("… and {} more\n", 19 - told)), "{text}");
}

#[test]
fn values_stay_values() {
    let workspace = Workspace::new();
    let evil = "a\n- `b`\u{1b}]0;owned\u{7}\u{202e}*x* `code` @everyone <!channel> [here](http://evil.example)";
    let line = json!({"signal": "needs_attention", "task_id": evil, "title": evil, "reason": evil, "phase": evil, "detail": evil,
        "next": evil, "log": evil, "new": true});
    for format in ["chat", "text"] {
        let text = report(&workspace, &["--format", format], &line.to_string()).ok().stdout();
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text}");
        assert_eq!(
            text.lines().filter(|line| line.trim_start().starts_with("- ")).count(),
            usize::from(format == "chat"),
            "{text}"
        );
    }
}

#[test]
fn a_report_object_tells_the_same_as_its_lines() {
    let workspace = Workspace::new();
    workspace.run("card", &["create", "ask", "--task-type", "t", "--title", "x"]).ok();
    workspace.run("card", &["block", "ask", "--reason", "which_one"]).ok();
    let object = workspace.run("watch", &["--report"]).ok().stdout();
    let lines = workspace.shell("watch | resume").ok().stdout();
    let told = |input: &str| report(&workspace, &["--format", "chat"], input).ok().stdout();
    assert!(told(&lines).contains("`ask`"), "{lines}");
    assert_eq!(told(&object).matches("which_one").count(), 1);
    assert_eq!(told(&object), told(&lines));
    // Told by that pass: no news any more.
    let object: Value = workspace.run("watch", &["--report"]).ok().one();
    assert!(object["active_needs_attention"].is_array());
    assert_eq!(told(&object.to_string()), "");
    assert!(report(&workspace, &[], &object.to_string()).ok().stdout().contains("which_one"));
}

/// For a chat that shows neither pictures nor code.
#[test]
fn a_plain_message_has_words_only() {
    let workspace = Workspace::new();
    for format in ["chat", "text"] {
        let message = |more: &[&str]| {
            let args = [&["--format", format, "--lang", "en"], more].concat();
            report(&workspace, &args, &signals()).ok().is_quiet().stdout()
        };
        let (plain, usual) = (message(&["--plain"]), message(&[]));
        assert!(plain.contains("Needs a person") && plain.contains("card approve mail_2 | resume"), "{plain}");
        if format == "text" {
            assert_eq!(plain, usual);
            continue;
        }
        for sign in ["`", "⚠️", "❌", "🔄", "✅"] {
            assert!(!plain.contains(sign) && usual.contains(sign), "{sign}: {plain}");
        }
    }
}

#[test]
fn wrong_command_lines() {
    let workspace = Workspace::new();
    for (args, text) in [
        (&["report", "a", "--format", "chat"][..], "needs -"),
        (&["report", "-", "a"], "- reads what a pass tells"),
        (&["report", "-", "--format", "xml"], "text, chat, prometheus, html"),
        (&["report", "-", "--lang", "de"], "en, zh"),
    ] {
        workspace.run("card", args).exits(64).complains(text);
    }
    workspace.run("card", &["report", "-", "--workspace", "/nonexistent"]).ok();
    workspace.run_with("card", &["report", "-", "--workspace", "/nonexistent"], &signals()).exits(78).complains("/nonexistent");
}
