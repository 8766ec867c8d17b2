//! The manual pages: every section that a reader looks for, every example run as it is printed, and every word that they say a
//! card, a signal or a reason has is one of the programs'.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value;
use tests::{Workspace, has_tool, root};

const PAGES: [&str; 7] = [
    "card/card.1",
    "checkpoint/checkpoint.1",
    "watch/watch.1task",
    "resume/resume.1",
    "heartbeat-install/heartbeat-install.1",
    "man/task-card.5",
    "man/task-recovery.7",
];

/// Pages of the system.
const OTHERS: [&str; 2] = ["crontab 5", "systemd.timer 5"];

/// Pages whose examples are not run, and why.
const NOT_RUN: [(&str, &str); 1] = [(
    "heartbeat-install/heartbeat-install.1",
    "they change a crontab or a timer of whoever runs the tests; `install.rs` has stand-ins",
)];

fn read(page: &str) -> String {
    fs::read_to_string(root().join(page)).unwrap()
}

/// The lines of a section, or of a subsection.
fn section<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    let lines = page.lines().skip_while(|line| !matches!(line.split_once(' '), Some((".Sh" | ".Ss", title)) if title == name));
    let is_sub = page.contains(&format!("\n.Ss {name}\n"));
    let ends = |line: &&str| !(line.starts_with(".Sh ") || is_sub && line.starts_with(".Ss "));
    lines.skip(1).take_while(ends).collect()
}

/// The words that the items of a list are.
fn items(lines: &[&str]) -> BTreeSet<String> {
    let items = lines.iter().filter_map(|line| line.strip_prefix(".It Cm "));
    items.flat_map(|line| line.split(" , ").map(str::to_owned)).collect()
}

/// What the page shows of a line of source.
fn shown(line: &str) -> String {
    line.replace("\\(dq", "\"")
        .replace("\\(aq", "'")
        .replace("\\en", "\\n")
        .replace("\\e", "\\")
        .replace("\\(ti", "~")
        .replace("\\&", "")
}

/// The commands of the EXAMPLES, each as it is printed.
fn examples(page: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut literal = false;
    for line in section(page, "EXAMPLES") {
        match line.strip_prefix(".Dl ") {
            Some(command) => found.push(shown(command)),
            None if line.starts_with(".Bd ") => {
                literal = true;
                found.push(String::new());
            }
            None if line == ".Ed" => literal = false,
            None if literal => {
                let example = found.last_mut().unwrap();
                example.push_str(&shown(line));
                example.push('\n');
            }
            None => {}
        }
    }
    found
}

/// What a reader has who tries an example: programs of their own, a folder in which cron works, and perhaps the task itself.
fn readers_workspace(page: &str) -> Workspace {
    let workspace = Workspace::new();
    for script in ["report.sh", "send.sh"] {
        workspace.write(script, "#!/bin/sh\nexec card complete \"$TASK_ID\" --message done\n");
    }
    workspace.write("Makefile", "all:\n\t@echo built\n");
    workspace.write("mail", "#!/bin/sh\ncat >mail.txt\n");
    workspace.write("openclaw", "#!/bin/sh\necho '{\"sessions\": []}'\n");
    let run = r#"{"session_key": "agent:main:main", "session_id": "s", "agent_id": "main", "run_id": "r", "trigger": "user", "success": true,
        "stop_reason": "stop", "tool_calls": 1, "final_text": "The report is done.", "ended_at": "2026-11-30T01:00:00Z"}"#;
    workspace.write("run.json", run);
    if !page.contains("--task-id report_1") && !page.contains("create report_1") {
        let create =
            "card create report_1 --task-type report --title Report --phase collect --status pending --resume-adapter ./report.sh";
        workspace.shell(create).ok();
    }
    workspace.shell("mkdir home && ln -s .. home/work").ok();
    workspace
}

/// As a shell runs it: a line of a crontab without its five fields of time.
fn runnable(example: &str) -> String {
    let command = example.strip_prefix("* * * * * ").unwrap_or(example);
    // Not everybody has jq; what it is given is the same.
    let has_jq = ["/usr/local/bin/jq", "/usr/bin/jq", "/bin/jq"].iter().any(|path| fs::metadata(path).is_ok());
    let command = if has_jq { command.to_owned() } else { command.replace("jq -r .task_id", "cat") };
    // `mail` is the reader's: the one that is nearest.
    format!("PATH=$PATH:.\n{}", command.replace("| mail ", "| ./mail "))
}

#[test]
fn every_page_has_the_sections_that_a_reader_looks_for() {
    for page in PAGES {
        let text = read(page);
        for name in ["EXIT STATUS", "FILES", "ENVIRONMENT", "EXAMPLES", "SEE ALSO"] {
            assert!(!section(&text, name).is_empty(), "{page} has no {name}");
        }
    }
}

/// A reader of 80 columns copies what stands there: a command that is broken in two would be two.
#[test]
fn no_example_is_wider_than_a_page() {
    for page in PAGES {
        for line in section(&read(page), "EXAMPLES") {
            if let Some(command) = line.strip_prefix(".Dl ") {
                assert!(shown(command).len() <= 65, "{page}: {line}");
            }
        }
    }
}

#[test]
fn every_example_runs_as_printed() {
    for page in PAGES {
        let text = read(page);
        let workspace = readers_workspace(&text);
        let examples = examples(&text);
        assert!(!examples.is_empty(), "{page}");
        if NOT_RUN.iter().any(|(name, _)| *name == page) {
            continue;
        }
        for example in &examples {
            if example.contains("cd data/task-runs/archive") {
                workspace.shell("resume report_1 --force && card archive report_1").ok();
            }
            let ran = workspace.shell(&runnable(example));
            ran.ok().is_quiet();
        }
        let status = |id: &str| workspace.card(id)["status"].clone();
        match page {
            "card/card.1" => assert_eq!(status("build"), "completed"),
            "checkpoint/checkpoint.1" => assert_eq!(workspace.card("report_1")["phase"], "render"),
            "resume/resume.1" => assert_eq!(status("report_1"), "completed"),
            "man/task-card.5" => {
                assert_eq!(workspace.card("by_hand")["phase"], "analyze");
                assert_eq!((status("two_1"), workspace.card("two_1")["attempt"].clone()), ("completed".into(), 2.into()));
            }
            "man/task-recovery.7" => {
                for id in ["fetch_1", "build_1", "test_1", "letter_1"] {
                    assert_eq!(status(id), "completed", "{id}");
                }
                assert!(workspace.path("fetch_1.tar.gz").is_file());
            }
            _ => {}
        }
    }
}

/// What is sent when there is something to say.
#[test]
fn the_mail_of_the_recipes_is_sent_when_a_person_is_needed_and_else_not() {
    let text = read("man/task-recovery.7");
    let example = examples(&text).into_iter().find(|example| example.contains("| mail ")).unwrap();
    let workspace = readers_workspace(&text);
    workspace.shell(&runnable(&example)).ok();
    assert!(!workspace.path("mail.txt").exists());
    workspace.run("card", &["create", "ask_1", "--task-type", "ask", "--title", "Which source?"]).ok();
    workspace.run("card", &["block", "ask_1", "--detail", "choose one"]).ok();
    workspace.shell(&runnable(&example)).ok();
    let mail = workspace.lines("mail.txt").join("\n");
    assert!(mail.contains("Which source?") && mail.contains("card approve ask_1"), "{mail}");
}

#[test]
fn task_card_names_the_fields_of_the_schema_with_their_defaults() {
    let page = read("man/task-card.5");
    let workspace = Workspace::new();
    let schema = workspace.run("card", &["schema"]).ok().value();
    let properties = schema["properties"].as_object().unwrap();
    let lines = section(&page, "FIELDS");
    let fields: BTreeSet<String> =
        items(&lines).into_iter().filter(|name| !items(&section(&page, "Statuses")).contains(name)).collect();
    assert_eq!(fields, properties.keys().cloned().collect::<BTreeSet<_>>());
    for (name, property) in properties {
        let text = lines.iter().skip_while(|line| **line != format!(".It Cm {name}")).skip(1);
        let text = text.take_while(|line| !line.starts_with(".It ")).copied().collect::<Vec<_>>().join(" ");
        if let Some(default) = property.get("default").filter(|_| !text.is_empty() && name != "schema_version" && name != "attempt")
        {
            assert!(text.contains(&format!("Default {default}")), "{name}: the default is {default}: {text}");
        }
        for inner in property["properties"].as_object().into_iter().flatten().map(|(inner, _)| inner) {
            assert!(words(&text).contains(inner.as_str()), "{name}: {inner} is not told: {text}");
        }
    }
    let statuses = &properties["status"]["anyOf"][0]["enum"];
    let statuses: BTreeSet<String> = statuses.as_array().unwrap().iter().filter_map(Value::as_str).map(str::to_owned).collect();
    assert_eq!(items(&section(&page, "Statuses")), statuses);
}

fn words(text: &str) -> BTreeSet<&str> {
    text.split([' ', ',', '.', '(', ')']).collect()
}

/// All text literals of the programs' sources.
fn literals() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![root().join("shared/src"), root().join("watch/src"), root().join("resume/src"), root().join("card/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.extend(fs::read_to_string(path).unwrap().split('"').map(str::to_owned));
            }
        }
    }
    found
}

#[test]
fn the_signals_and_reasons_that_are_told_are_the_programs_own() {
    let page = read("man/task-card.5");
    let literals = literals();
    for name in ["Of watch", "Of resume", "Reasons of needs_attention"] {
        let told = items(&section(&page, name));
        assert!(told.len() > 2, "{name}: {told:?}");
        let unknown: Vec<_> = told.iter().filter(|word| !literals.contains(*word)).collect();
        assert!(unknown.is_empty(), "{name}: no program says {unknown:?}");
    }
    // And the other way round, as far as the verdict goes.
    let verdict = fs::read_to_string(root().join("shared/src/verdict.rs")).unwrap();
    let reasons = verdict.split("closed(").skip(1).filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next());
    let told = items(&section(&page, "Reasons of needs_attention"));
    let missing: Vec<_> = reasons.filter(|reason| !told.contains(*reason)).collect();
    assert!(missing.is_empty(), "not told: {missing:?}");
}

#[test]
fn pages_refer_to_pages_that_are_there_and_are_clean() {
    let there: BTreeSet<String> = PAGES.iter().map(|page| page.rsplit('/').next().unwrap().replace('.', " ")).collect();
    for page in PAGES {
        for reference in section(&read(page), "SEE ALSO") {
            let name = reference.trim_start_matches(".Xr ").trim_end_matches(" ,");
            assert!(there.contains(name) || OTHERS.contains(&name), "{page} refers to {name:?}");
        }
    }
    if has_tool("mandoc") {
        let ran = Command::new("mandoc").args(["-Tlint", "-W", "warning"]).args(PAGES).current_dir(root()).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    }
}
