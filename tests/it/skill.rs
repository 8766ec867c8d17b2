//! The skill and the docs that are installed: every command that they print is run.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;
use tests::{Workspace, eventually, root};

use crate::installed::{asset, bare, install};

const DOCS: [&str; 5] = ["adapter-contract.md", "practice.md", "troubleshooting.md", "PROMPTS.md", "agent-runs.md"];
/// Bytes; longer ones are cut where skills are listed.
const DESCRIPTION_BYTES_MAX: usize = 160;

/// What the commands of each lead to.
const OUTCOMES: [(&str, &[(&str, &str)]); 6] = [
    (
        "adapter-contract.md",
        &[
            ("count_words", "completed"),
            ("two_phases", "completed"),
            ("letter_2", "completed"),
            ("try_it", "completed"),
            ("fetch_1", "completed"),
        ],
    ),
    ("practice.md", &[("letter_1", "running"), ("import_1", "running"), ("trip_1", "running"), ("part_2", "pending")]),
    ("troubleshooting.md", &[("ask_1", "running")]),
    ("PROMPTS.md", &[]),
    ("agent-runs.md", &[("migrate_1", "running"), ("refactor_1", "running")]),
    (
        "SKILL.md",
        &[
            ("report_1", "completed"),
            ("fetch_1", "completed"),
            ("count_1", "completed"),
            ("choice_1", "needs_attention"),
            ("letter_1", "running"),
        ],
    ),
];

fn everything() -> Vec<(String, String)> {
    let docs = ["en", "zh"].into_iter().flat_map(|language| DOCS.map(|name| format!("docs/{language}/{name}")));
    docs.chain(["skill/SKILL.md".to_owned()]).map(|name| (name.clone(), asset(&name))).collect()
}

/// The fenced blocks of a kind.
fn blocks<'a>(text: &'a str, kind: &str) -> Vec<&'a str> {
    let fenced = text.split("\n```").skip(1).step_by(2);
    fenced.filter_map(|block| block.strip_prefix(kind)?.strip_prefix('\n')).collect()
}

/// All blocks of a document in one workspace, in their order, as a person would: in its folder, with the programs nowhere else.
#[test]
fn every_command_works_as_printed() {
    for (name, text) in everything() {
        let workspace = Workspace::new();
        let folder = install(&workspace, "ws");
        let in_folder = |script: &str| {
            let mut shell = bare(Path::new("/bin/sh"));
            shell.args(["-euc", script]).current_dir(&folder).env("PATH", "/usr/bin:/bin").env("HOME", workspace.path("home"));
            workspace.finish(shell, None)
        };
        for block in blocks(&text, "sh") {
            let ran = in_folder(block);
            assert!(ran.status() == Some(0), "{name}: {ran}");
        }
        let status = |id: &str| {
            let text = fs::read_to_string(folder.join(format!("data/task-runs/{id}.json"))).unwrap();
            serde_json::from_str::<Value>(&text).unwrap()["status"].as_str().unwrap().to_owned()
        };
        eventually("no attempt is at work", || {
            let all = in_folder("bin/watch --explain").ok().stdout();
            !all.contains("\"supervised\"") && !all.contains("\"alive\"")
        });
        let (_, outcome) = OUTCOMES.iter().find(|(end, _)| name.ends_with(end)).unwrap();
        for (id, expected) in *outcome {
            assert_eq!(status(id), *expected, "{name}: {id}");
        }
    }
}

/// Blocks that are not run are not shell, or have a reason.
#[test]
fn what_is_not_run_has_a_reason() {
    let mut unrun = Vec::new();
    for (name, text) in everything() {
        let fences = text.lines().filter(|line| line.starts_with("```")).count();
        assert_eq!(fences, 2 * (blocks(&text, "sh").len() + blocks(&text, "text").len()), "{name}");
        unrun.extend(blocks(&text, "text").into_iter().map(|block| block.split_whitespace().next().unwrap().to_owned()));
        assert!(!text.contains("\n~~~"), "{name}");
    }
    // They need a Gateway, or are a line of a crontab.
    assert_eq!(unrun, ["openclaw", "openclaw", "*/5", "openclaw", "openclaw", "*/5"]);
}

/// A verb or an option that a sentence names and that no program knows would send an agent astray.
#[test]
fn commands_in_sentences_exist() {
    for (name, text) in everything() {
        commands_exist(&name, &text);
    }
}

/// The same, of one document.
pub(crate) fn commands_exist(name: &str, text: &str) {
    let help = |program: &str| fs::read_to_string(root().join(format!("{program}/help.txt"))).unwrap();
    let known: String = ["card", "checkpoint", "watch", "resume", "heartbeat-install"].map(help).concat() + &asset("recovery-pass");
    let verbs: BTreeSet<&str> = known.lines().filter_map(|line| line.strip_prefix("  card ")?.split_whitespace().next()).collect();
    for code in text.split('`').skip(1).step_by(2).filter(|code| !code.contains('\n')) {
        let words: Vec<&str> = code.split_whitespace().collect();
        if let ["bin/card" | "card", verb, ..] = words[..] {
            assert!(verbs.contains(verb) || verb == "…", "{name}: {code}");
        }
        if let Some(program) = words.first().and_then(|word| word.strip_prefix("bin/")) {
            let programs = ["", "card", "checkpoint", "watch", "resume", "recovery-pass", "run-ended", "heartbeat-install"];
            assert!(programs.contains(&program) || program == "…", "{name}: {code}");
        }
        let ours = !["openclaw", "journalctl", "crontab"].contains(&words.first().copied().unwrap_or_default());
        for option in words.iter().filter(|word| ours && word.starts_with("--") && word.len() > 2) {
            let positive = option.replacen("--no-", "--", 1);
            assert!(known.contains(option) || known.contains(&positive), "{name}: {code}");
        }
    }
}

#[test]
fn both_languages_hold_the_same() {
    let shape = |text: &str| -> Vec<(usize, usize)> {
        let sections = text.split("\n## ").map(|section| (blocks(section, "sh").len(), section.matches("\n|").count()));
        sections.collect()
    };
    for name in DOCS {
        let [en, zh] = ["en", "zh"].map(|language| asset(&format!("docs/{language}/{name}")));
        assert_eq!(shape(&en), shape(&zh), "{name}");
        assert_eq!(en.matches("\n> ").count(), zh.matches("\n> ").count(), "{name}");
        // The rows of a table begin with the same words in both.
        let words = |text: &str| -> Vec<String> {
            let rows = text.lines().filter(|line| line.starts_with("| `"));
            rows.flat_map(|line| {
                line.split('|').nth(1).unwrap().split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()
            })
            .collect()
        };
        assert_eq!(words(&en), words(&zh), "{name}");
    }
}

#[test]
fn every_reason_for_attention_has_a_remedy() {
    let signal = fs::read_to_string(root().join("shared/src/words.rs")).unwrap();
    let section = signal.split("\"auto_resume_off\"").nth(1).unwrap().split("\n\n").next().unwrap();
    let reasons: Vec<&str> = section.lines().filter_map(|line| line.trim().strip_prefix('"')?.split('"').next()).collect();
    assert!(reasons.len() > 15, "{reasons:?}");
    let text = asset("docs/en/troubleshooting.md");
    // Given by the task itself, with a detail of its own.
    for reason in reasons.into_iter().filter(|reason| !["blocked", "needs_person"].contains(reason)) {
        assert!(text.contains(&format!("`{reason}`")), "{reason}");
    }
}

#[test]
fn an_agent_finds_the_skill() {
    let text = asset("skill/SKILL.md");
    let front = text.strip_prefix("---\n").unwrap().split("\n---\n").next().unwrap();
    let field = |name: &str| front.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).unwrap();
    assert_eq!(field("name"), "task-recovery");
    let description = field("description");
    assert!(description.len() < DESCRIPTION_BYTES_MAX, "{}", description.len());
    // YAML would read more into these.
    assert!(
        !description.contains(": ") && !description.contains(" #") && !description.starts_with(['"', '\'', '[', '{', '&', '*'])
    );
    for phrase in ["resumable long task", "resume", "可恢复的长任务", "恢复任务", "断线恢复"] {
        assert!(description.contains(phrase), "{phrase}");
    }
}
