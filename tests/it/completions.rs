//! The completions: they offer what the help names, and what is in the workspace.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use tests::{Ran, Workspace, has_tool, programs, root};

use crate::docs::options;

const PROGRAMS: [&str; 5] = ["card", "checkpoint", "watch", "resume", "heartbeat-install"];

fn read(name: &str) -> String {
    fs::read_to_string(root().join("completions").join(name)).unwrap()
}

fn help(workspace: &Workspace, program: &str) -> String {
    workspace.run(program, &["--help"]).ok().stdout()
}

/// The verbs of card, as its help begins its lines with them.
fn verbs(workspace: &Workspace) -> BTreeSet<String> {
    let help = help(workspace, "card");
    let verbs = help.lines().filter_map(|line| line.strip_prefix("  card ")?.split(' ').next().map(str::to_owned));
    verbs.collect()
}

/// What bash offers for the last word of a command line, one a line. The words are as bash splits them.
fn bash<'a>(workspace: &'a Workspace, program: &str, words: &[&str]) -> Ran<'a> {
    let mut command = workspace.shell_command("");
    command = {
        let mut bash = Command::new("bash");
        let script = r#"
            . "$0" || exit 3
            compopt() { :; }
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
            _task_recovery "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
            ((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
        "#;
        bash.args(["--noprofile", "--norc", "-c", script]).arg(root().join("completions/task-recovery.bash"));
        bash.arg(program).args(words).env_clear().current_dir(command.get_current_dir().unwrap());
        bash.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        bash
    };
    workspace.finish(command, None)
}

fn offered(workspace: &Workspace, program: &str, words: &[&str]) -> BTreeSet<String> {
    let ran = bash(workspace, program, words);
    ran.ok().is_quiet().stdout().lines().map(str::to_owned).collect()
}

fn set(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// One task of each kind.
fn tasks() -> Workspace {
    let workspace = Workspace::new();
    let create = |id: &str, more: &[&str]| {
        let mut args = vec!["create", id, "--task-type", "t", "--title", "T"];
        args.extend(more);
        workspace.run("card", &args).ok();
    };
    create("a_run", &["--phase", "collect", "--manual-phase", "send the mail", "--context", "task_id=nobody"]);
    create("a_pending", &["--status", "pending"]);
    create("a_due", &["--allow-auto-resume", "--", "true"]);
    create("a_blocked", &[]);
    workspace.run("card", &["block", "a_blocked"]).ok();
    create("a_done", &[]);
    workspace.run("card", &["complete", "a_done"]).ok();
    workspace
}

/// The part of a file from a line to the first that is this.
fn part<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let start = text.find(from).unwrap_or_else(|| panic!("no {from:?}"));
    let rest = &text[start..];
    &rest[..rest.find(to).unwrap_or_else(|| panic!("no end of {from:?}"))]
}

#[test]
fn help_and_completions_name_the_same_options_and_verbs() {
    let workspace = Workspace::new();
    let (zsh, fish) = (read("_task-recovery"), read("task-recovery.fish"));
    // What is fish's own -l.
    let fish = fish.replace("set -l ", "set ");
    let verbs = verbs(&workspace);
    for program in PROGRAMS {
        let expected = options(&help(&workspace, program), "--");
        let with_policies = matches!(program, "card" | "checkpoint");
        let mut in_zsh = options(part(&zsh, &format!("\n_task_recovery_{program}() {{"), "\n}\n"), "--");
        let mut in_fish = options(part(&fish, &format!("\nfunction __task_recovery_{program}\n"), "\nend\n"), " -l ");
        in_fish.extend(options(part(&fish, "\nfunction __task_recovery_common\n", "\nend\n"), " -l "));
        if with_policies {
            in_zsh.extend(options(part(&zsh, "\n    _task_recovery_policies=(", "\n    )\n"), "--"));
            in_fish.extend(options(part(&fish, "\nfunction __task_recovery_policies\n", "\nend\n"), " -l "));
        }
        assert_eq!(in_zsh, expected, "{program}: zsh");
        assert_eq!(in_fish, expected, "{program}: fish");
        if has_tool("bash") {
            let mut in_bash = BTreeSet::new();
            let lines: Vec<Vec<&str>> = match program {
                "card" => verbs.iter().map(|verb| vec![verb.as_str(), "--"]).collect(),
                _ => vec![vec!["--"]],
            };
            for line in lines {
                in_bash.extend(offered(&workspace, program, &line).iter().map(|option| option.trim_start_matches('-').to_owned()));
            }
            assert_eq!(in_bash, expected, "{program}: bash");
        }
    }
    if has_tool("bash") {
        assert_eq!(offered(&workspace, "card", &[""]), verbs);
    }
    let in_zsh: BTreeSet<String> = part(&zsh, "'1:verb:(", ")'")[9..].split(' ').map(str::to_owned).collect();
    let in_fish: BTreeSet<String> = part(&fish, "set verbs ", "\n")[10..].split(' ').map(str::to_owned).collect();
    assert_eq!((&in_zsh, &in_fish), (&verbs, &verbs));
}

/// What is offered for a verb is what that verb takes: an option that it refuses would be an unknown one.
#[test]
fn a_verb_takes_every_option_that_is_offered_for_it() {
    if !has_tool("bash") {
        return;
    }
    let workspace = Workspace::new();
    for verb in verbs(&workspace) {
        for option in offered(&workspace, "card", &[&verb, "--"]) {
            let ran = workspace.run("card", &[&verb, &option]);
            assert!(!ran.stderr().contains("invalid option"), "{ran}");
        }
    }
}

#[test]
fn ids_by_status_and_phases_of_the_card() {
    if !has_tool("bash") {
        return;
    }
    let workspace = tasks();
    let all = set(&["a_run", "a_pending", "a_due", "a_blocked", "a_done"]);
    let unfinished = set(&["a_run", "a_pending", "a_due", "a_blocked"]);
    let phases = set(&["collect", "send\\ the\\ mail"]);
    for (program, words, expected) in [
        ("checkpoint", vec![""], set(&["a_run"])),
        ("checkpoint", vec!["--task-id", ""], set(&["a_run"])),
        ("resume", vec![""], set(&["a_due"])),
        ("resume", vec!["--force", "a_due", ""], set(&["a_due"])),
        ("watch", vec!["--explain", "a_d"], set(&["a_due", "a_done"])),
        ("card", vec!["show", ""], all.clone()),
        ("card", vec!["show", "--format", "text", ""], all.clone()),
        ("card", vec!["log", "a_b"], set(&["a_blocked"])),
        ("card", vec!["approve", ""], set(&["a_blocked"])),
        ("card", vec!["complete", ""], unfinished.clone()),
        ("card", vec!["report", "a_run", ""], unfinished),
        ("card", vec!["create", "--depends-on", ""], all),
        ("card", vec!["complete", "a_run", ""], set(&[])),
        ("card", vec!["complete", "a_run", "--phase", ""], phases.clone()),
        ("checkpoint", vec!["a_run", "--next-phase", "s"], set(&["send\\ the\\ mail"])),
        ("checkpoint", vec!["--next-phase", "=", "c"], set(&[])),
        ("checkpoint", vec!["a_run", "--artifact", "raw", "=", "x", "--phase", "=", ""], phases),
        ("checkpoint", vec!["no_such", "--phase", ""], set(&[])),
        ("card", vec!["show", "--format", "="], set(&["json", "text"])),
        ("card", vec!["list", "--status", "c"], set(&["completed", "cancelled"])),
    ] {
        assert_eq!(offered(&workspace, program, &words), expected, "{program} {words:?}");
    }
}

#[test]
fn the_program_that_was_typed_is_asked_and_no_other_of_its_name() {
    if !has_tool("bash") {
        return;
    }
    let workspace = tasks();
    // By its path, under another name, in another workspace, out of a folder with a space.
    let links = workspace.path("a bin");
    fs::create_dir(&links).unwrap();
    for program in PROGRAMS {
        symlink(programs().join(program), links.join(format!("task-{program}"))).unwrap();
    }
    let typed = links.join("task-card");
    assert_eq!(offered(&workspace, typed.to_str().unwrap(), &["approve", ""]), set(&["a_blocked"]));
    let other = Workspace::new();
    let folder = workspace.path("");
    let escaped = folder.to_str().unwrap().replace(' ', "\\ ");
    assert_eq!(offered(&other, "card", &["--workspace", &escaped, "approve", ""]), set(&["a_blocked"]));
    assert_eq!(offered(&other, "card", &["approve", ""]), set(&[]));
    assert_eq!(offered(&other, "card", &["--workspace", "/no/such", "show", ""]), set(&[]));
    // A stranger is not run.
    fs::create_dir(workspace.path("strange")).unwrap();
    for program in ["watch", "card"] {
        let stranger = workspace.write(&format!("strange/{program}"), "#!/bin/sh\necho run >>ran\n");
        assert_eq!(offered(&workspace, stranger.to_str().unwrap(), &["show", ""]), set(&[]));
        assert_eq!(offered(&workspace, stranger.to_str().unwrap(), &["--"]), set(&[]));
    }
    assert!(!workspace.path("ran").exists());
}

/// zsh completes `--name=value` only where a specification has the sign.
#[test]
fn zsh_is_told_that_values_may_be_in_the_same_word() {
    for line in read("_task-recovery").lines() {
        for specification in line.split('\'').filter(|part| part.contains("]:")) {
            let name = specification.split('[').next().unwrap();
            assert!(name.ends_with('=') || !name.contains("--"), "{line}");
        }
    }
}

#[test]
fn zsh_and_fish_read_their_files() {
    let file = |name: &str| root().join("completions").join(name);
    if has_tool("zsh") {
        let ran = Command::new("zsh").args(["-f", "-n"]).arg(file("_task-recovery")).output().unwrap();
        assert!(ran.status.success() && ran.stderr.is_empty(), "{ran:?}");
    }
    if has_tool("fish") {
        let ran = Command::new("fish").args(["-N", "--no-execute"]).arg(file("task-recovery.fish")).output().unwrap();
        assert!(ran.status.success() && ran.stderr.is_empty(), "{ran:?}");
        let workspace = tasks();
        for (line, expected) in [
            ("checkpoint ", set(&["a_run"])),
            ("card approve ", set(&["a_blocked"])),
            ("resume ", set(&["a_due"])),
            ("card complete a_run --phase ", set(&["collect", "send the mail"])),
            ("card show --format ", set(&["json", "text"])),
        ] {
            let mut fish = workspace.shell_command("");
            fish = {
                let mut real = Command::new("fish");
                let script = "source $argv[1]; complete -C $argv[2]";
                real.args(["-N", "-c", script]).arg(file("task-recovery.fish")).arg(line);
                real.env_clear().envs(fish.get_envs().filter_map(|(name, value)| Some((name, value?))));
                real.envs(std::env::var_os("LD_LIBRARY_PATH").map(|path| ("LD_LIBRARY_PATH", path)));
                real.env("PATH", format!("{}:{}", programs().display(), std::env::var("PATH").unwrap()));
                real.current_dir(workspace.path(""));
                real
            };
            let ran = workspace.finish(fish, None);
            let found = ran.ok().stdout().lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect::<BTreeSet<_>>();
            assert_eq!(found, expected, "{line}\n{ran}");
        }
    }
}
