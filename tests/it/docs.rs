//! Help texts, manual pages and the README say what the programs do.

use std::collections::BTreeSet;
use std::fs;

use tests::{Workspace, root};

const PAGES: [(&str, &str); 5] = [
    ("card", "card/card.1"),
    ("checkpoint", "checkpoint/checkpoint.1"),
    ("watch", "watch/watch.1task"),
    ("resume", "resume/resume.1"),
    ("heartbeat-install", "heartbeat-install/heartbeat-install.1"),
];

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// The long options that a text names.
pub(crate) fn options(text: &str, mark: &str) -> BTreeSet<String> {
    let names = text.split(mark).skip(1).map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(rest.len());
        rest[..end].trim_end_matches('-').to_owned()
    });
    names.filter(|name| name.len() > 1).collect()
}

#[test]
fn help_and_manual_name_the_same_options_and_the_program_knows_them() {
    let workspace = Workspace::new();
    for (program, page) in PAGES {
        let help = read(&format!("{program}/help.txt"));
        let in_help = options(&help, "--");
        let mut source = read(&format!("{program}/src/args.rs"));
        for part in fs::read_dir(root().join(format!("{program}/src/args"))).into_iter().flatten() {
            source += &fs::read_to_string(part.unwrap().path()).unwrap();
        }
        let mut known: BTreeSet<String> =
            source.split("Long(\"").skip(1).map(|rest| rest[..rest.find('"').unwrap()].to_owned()).collect();
        let common = read("shared/src/command_line.rs");
        for option in ["workspace", "now", "help", "version"] {
            assert!(common.contains(&format!("\"{option}\" => ")), "{option}");
            known.insert(option.to_owned());
        }
        if matches!(program, "card" | "checkpoint") {
            let policy = read("shared/src/policy.rs");
            let list = policy.split("OPTIONS: ").nth(1).unwrap().split("];").next().unwrap();
            known.extend(list.split('"').skip(1).step_by(2).map(str::to_owned));
            known.extend(["no-allow-auto-resume", "no-safe-to-retry", "no-max-retries"].map(str::to_owned));
        }
        let hidden = BTreeSet::from(["pool-member", "detached"].map(str::to_owned));
        assert_eq!(&known - &hidden, in_help, "{program}: help");
        let in_manual = options(&read(page), "Fl -");
        let missing: Vec<_> = in_help.difference(&in_manual).collect();
        assert!(missing.is_empty(), "{program}: not in the manual: {missing:?}");
        let unknown: Vec<_> = in_manual.difference(&in_help).collect();
        assert!(unknown.is_empty(), "{program}: only in the manual: {unknown:?}");
        assert_eq!(workspace.run(program, &["--help"]).ok().stdout(), help);
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{program}: help is wider than a terminal");
    }
}

#[test]
fn the_readme_begins_with_the_two_commands() {
    let readme = read("README.md");
    let commands: Vec<&str> = readme.lines().filter(|line| line.starts_with("make ")).take(2).collect();
    assert!(commands[0].starts_with("make demo") && commands[1].starts_with("make test"), "{commands:?}");
    assert!(readme.lines().position(|line| line.starts_with("make demo")).unwrap() < 6);
}
