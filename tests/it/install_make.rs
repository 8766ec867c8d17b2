//! `make install`, `make uninstall`, `make dist`: what is put where, under which names, and that it goes again.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use tests::{Ran, Workspace, has_tool, programs, root, word};

use crate::newcomer::find_it_built;

const PROGRAMS: [&str; 5] = ["card", "checkpoint", "watch", "resume", "heartbeat-install"];

/// `make` in the checkout, as a person calls it whose files are nobody else's business; the programs are those that are built
/// already.
fn make<'a>(workspace: &'a Workspace, args: &[&str]) -> Ran<'a> {
    let mut command = Command::new("sh");
    command.args(["-c", "umask 077 && exec make -s \"$@\"", "make"]).args(args).current_dir(root()).env_remove("CARGO_TARGET_DIR");
    for name in ["MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES"] {
        command.env_remove(name);
    }
    command.arg(format!("TARGET={}", word(&workspace.path("tar get"))));
    workspace.finish(command, None)
}

/// A workspace with a target folder whose programs are the real ones.
fn built() -> Workspace {
    let workspace = Workspace::new();
    fs::create_dir_all(workspace.path("tar get/release")).unwrap();
    for program in PROGRAMS {
        symlink(programs().join(program), workspace.path("tar get/release").join(program)).unwrap();
    }
    workspace
}

/// Files and links under a folder, relative to it.
fn files(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).into_iter().flatten() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                found.insert(word(entry.path().strip_prefix(folder).unwrap()).to_owned());
            }
        }
    }
    found
}

fn expected(prefix: &str) -> BTreeSet<String> {
    let mut all: Vec<String> = PROGRAMS.iter().map(|program| format!("libexec/task-recovery/{program}")).collect();
    let manuals = ["card.1", "checkpoint.1", "watch.1task", "resume.1", "heartbeat-install.1"];
    all.extend(manuals.iter().map(|page| format!("share/man/man1/{page}")));
    all.extend(["man5/task-card.5", "man7/task-recovery.7"].map(|page| format!("share/man/{page}")));
    let mut completed: Vec<String> =
        ["task-recovery", "card", "checkpoint", "resume", "heartbeat-install"].map(str::to_owned).into();
    if !prefix.is_empty() {
        all.extend(PROGRAMS.iter().map(|program| format!("bin/{prefix}{program}")));
        all.extend(manuals.iter().map(|page| format!("share/man/man1/{prefix}{page}")));
        completed.extend(PROGRAMS.iter().map(|program| format!("{prefix}{program}")));
    }
    all.push("share/zsh/site-functions/_task-recovery".to_owned());
    all.extend(completed.iter().map(|name| format!("share/bash-completion/completions/{name}")));
    all.extend(completed.iter().map(|name| format!("share/fish/vendor_completions.d/{name}.fish")));
    all.into_iter().collect()
}

#[test]
fn a_staged_install_is_these_files_and_uninstall_takes_exactly_them() {
    if !has_tool("make") {
        return;
    }
    let workspace = built();
    let stage = workspace.path("st age");
    let destdir = format!("DESTDIR={}", word(&stage));
    for prefix in ["", "t-"] {
        let args = |target| [target, destdir.as_str(), "PREFIX=/opt/a b", "PROGRAM_PREFIX="].map(str::to_owned);
        let install = |target| {
            let mut args = args(target);
            args[3] += prefix;
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            make(&workspace, &args).ok().is_quiet();
        };
        install("install");
        let folder = stage.join("opt/a b");
        assert_eq!(files(&folder), expected(prefix), "PROGRAM_PREFIX={prefix}");
        assert_eq!(files(&stage).len(), expected(prefix).len(), "nothing is outside of PREFIX");
        for name in files(&folder).iter().filter(|name| !folder.join(name).is_symlink()) {
            let mode = fs::metadata(folder.join(name)).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, if name.starts_with("libexec") { 0o755 } else { 0o644 }, "{name}");
            for folder in folder.join(name).ancestors().skip(1).take_while(|folder| folder.starts_with(&stage)) {
                let mode = fs::metadata(folder).unwrap().permissions().mode() & 0o777;
                assert_eq!(mode, 0o755, "everyone may use what is installed: {}", folder.display());
            }
        }
        // Twice is as once; what others have there stays.
        install("install");
        assert_eq!(files(&folder), expected(prefix));
        let others = ["share/man/man1/other.1", "share/bash-completion/completions/other", "libexec/task-recovery/mine"];
        others.iter().for_each(|name| fs::write(folder.join(name), "").unwrap());
        install("uninstall");
        assert_eq!(files(&folder), others.iter().map(|name| (*name).to_owned()).collect(), "PROGRAM_PREFIX={prefix}");
        others.iter().for_each(|name| fs::remove_file(folder.join(name)).unwrap());
        install("uninstall");
        assert!(!folder.join("libexec/task-recovery").exists());
    }
}

#[test]
fn without_programs_and_with_a_strange_prefix_nothing_is_installed() {
    if !has_tool("make") {
        return;
    }
    let workspace = Workspace::new();
    let prefix = format!("PREFIX={}", word(&workspace.path("usr")));
    let ran = make(&workspace, &["install", &prefix]);
    assert!(!ran.exit().success() && ran.stderr().contains("nothing is built: run make first"), "{ran}");
    for strange in ["a b", "../", "-x", "$(id)"] {
        let ran = make(&workspace, &["install", &prefix, &format!("PROGRAM_PREFIX={}", strange.replace('$', "$$"))]);
        assert!(!ran.exit().success(), "{ran}");
    }
    assert!(!workspace.path("usr").exists());
}

#[test]
fn a_program_calls_itself_and_its_siblings_by_the_name_it_was_called_by() {
    if !has_tool("make") {
        return;
    }
    let workspace = built();
    let prefix = format!("PREFIX={}", word(&workspace.path("u sr")));
    make(&workspace, &["install", &prefix, "PROGRAM_PREFIX=task-"]).ok().is_quiet();
    let run = |program: &str, args: &[&str]| {
        let mut command = workspace.command("card");
        command = {
            let mut other = Command::new(workspace.path("u sr/bin").join(program));
            other.args(args).env_clear().current_dir(command.get_current_dir().unwrap()).stdin(std::process::Stdio::null());
            other.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
            other
        };
        workspace.finish(command, None)
    };
    for program in PROGRAMS {
        let called = format!("task-{program}");
        let help = run(&called, &["--help"]).ok().stdout();
        assert!(help.lines().next().unwrap().contains(&called), "{help}");
        let bare = workspace.run(program, &["--help"]).ok().stdout();
        let plain = PROGRAMS.iter().fold(help, |text, program| text.replace(&format!("task-{program}"), program));
        assert_eq!(plain, bare);
        assert!(run(&called, &["--version"]).ok().stdout().starts_with(&format!("{called} (task-recovery) ")));
        run(&called, &["--no-such-option"]).exits(64).complains(&format!("{called}: "));
    }
    let help = run("task-card", &["--help"]).stdout();
    for line in ["usage: task-card [OPTION]", "\n  task-card create [ID]", "\"task-watch | task-resume | task-card\nreport -\""] {
        assert!(help.contains(line), "{line:?}: {help}");
    }
    // A pool's members, and what an attempt finds, are the programs behind the names.
    let id = ["create", "b_1", "--task-type", "t", "--title", "T", "--", "sh", "-c", "\"$TASK_BIN/checkpoint\" b_1 --message m"];
    run("task-card", &id).ok();
    run("task-card", &["create", "b_2", "--task-type", "t", "--title", "T", "--", "true"]).ok();
    run("task-resume", &["b_1", "b_2"]).ok();
    assert_eq!((&workspace.card("b_1")["status"], &workspace.card("b_2")["status"]), (&"completed".into(), &"completed".into()));
    assert_eq!(workspace.card("b_1")["checkpoint_count"], 1);
    // So are the commands that a person is told to run.
    run("task-checkpoint", &["nobody"])
        .exits(66)
        .complains("task-checkpoint: no task nobody in this workspace; see task-card list");
    run("task-card", &["create", "b_3", "--task-type", "t", "--title", "T", "--status", "running", "--", "true"]).ok();
    run("task-card", &["block", "b_3"]).ok();
    assert_eq!(run("task-watch", &[]).ok().one()["next"], "task-card approve b_3 | task-resume");
    run("task-card", &["create", "b_4", "--task-type", "t", "--title", "T", "--manual-phase", "send", "--", "false"]).ok();
    run("task-card", &["update", "b_4", "--phase", "send", "--allow-auto-resume"]).ok();
    let told = [
        ("task-card", &["report"][..]),
        ("task-card", &["report", "--format", "html"]),
        ("task-card", &["show", "b_3", "--format", "text"]),
        ("task-card", &["show", "b_4", "--format", "text"]),
        ("task-watch", &["--format", "text"]),
        ("task-resume", &["b_4", "--format", "text"]),
        ("task-card", &["create", "b_5", "--task-type", "t", "--title", "T"]),
        ("task-checkpoint", &["b_5", "--message", "m"]),
        ("task-card", &["frob"]),
        ("task-card", &["fail", "b_6"]),
    ];
    run("task-card", &["create", "b_6", "--task-type", "t", "--title", "T", "--status", "pending"]).ok();
    let mut named = 0;
    for (program, args) in told {
        let ran = run(program, args);
        let text = ran.stdout() + &ran.stderr();
        for (name, verb) in [("card", "approve"), ("card", "cancel"), ("card", "show"), ("card", "log"), ("resume", "b_")] {
            let command = format!("{name} {verb}");
            named += text.matches(&command).count();
            assert_eq!(text.matches(&command).count(), text.matches(&format!("task-{command}")).count(), "{command}: {ran}");
        }
        assert!(!text.contains("| resume"), "{ran}");
    }
    assert!(named > 5, "{named}");
    // An answer that leads into a phase of its own, and one that fails: what resume itself says then.
    for (id, answer, next) in [
        ("b_7", r#"{"next_phase": "send"}"#, "task-card approve b_7 | task-resume"),
        ("b_8", r#"{"status": "failed"}"#, "task-card log b_8"),
    ] {
        workspace.write("adapter", &format!("#!/bin/sh\necho '{answer}'\n"));
        let create = ["create", id, "--task-type", "t", "--title", "T", "--manual-phase", "send", "--resume-adapter", "adapter"];
        run("task-card", &create).ok();
        assert_eq!(run("task-resume", &[id, "--force", "--format", "jsonl"]).ok().one()["next"], next);
    }
    // A name that is none of ours is not believed.
    symlink(programs().join("card"), workspace.path("else")).unwrap();
    let ran = workspace.shell("exec ./else --no-such-option");
    ran.exits(64).complains("card: ");
    // The completions that were installed know the prefix.
    if has_tool("bash") {
        let file = workspace.path("u sr/share/bash-completion/completions/task-watch");
        let ran = workspace.shell(&format!("bash --norc -c '. \"{}\"; complete -p task-watch'", word(&file)));
        assert_eq!(ran.ok().stdout().trim(), "complete -F _task_recovery task-watch");
    }
    let zsh = fs::read_to_string(workspace.path("u sr/share/zsh/site-functions/_task-recovery")).unwrap();
    assert_eq!(
        zsh.lines().next(),
        Some(
            "#compdef card checkpoint resume heartbeat-install task-card task-checkpoint task-watch task-resume task-heartbeat-install"
        )
    );
    let fish = fs::read_to_string(workspace.path("u sr/share/fish/vendor_completions.d/task-card.fish")).unwrap();
    assert!(fish.contains("\nset -l task_recovery_prefix 'task-'\n"));
}

#[test]
fn man_finds_the_pages_and_procps_keeps_its_watch() {
    if !has_tool("make") || !has_tool("man") {
        return;
    }
    let workspace = built();
    let prefix = format!("PREFIX={}", word(&workspace.path("usr")));
    make(&workspace, &["install", &prefix, "PROGRAM_PREFIX=task-"]).ok().is_quiet();
    // What procps' package has.
    fs::write(workspace.path("usr/share/man/man1/watch.1"), ".TH WATCH 1\n.SH NAME\nwatch \\- execute a program periodically\n")
        .unwrap();
    for (words, page) in [
        ("card", "man1/card.1"),
        ("1task watch", "man1/watch.1task"),
        ("watch", "man1/watch.1"),
        ("task-watch", "man1/watch.1task"),
        ("5 task-card", "man5/task-card.5"),
        ("task-recovery", "man7/task-recovery.7"),
    ] {
        let ran = workspace.shell(&format!("MANPATH=$PWD/usr/share/man man -w {words}"));
        let found = fs::canonicalize(ran.ok().stdout().trim()).unwrap();
        assert_eq!(found, workspace.path("usr/share/man").join(page), "man {words}");
    }
}

fn git(args: &[&str]) -> String {
    let output = Command::new("git").args(args).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What is unpacked is the checkout, byte for byte; with its times, `make` finds each source that the programs were built from.
fn builds(workspace: &Workspace, unpacked: &Path) {
    let listed: BTreeSet<String> = git(&["ls-files"]).lines().map(str::to_owned).collect();
    assert_eq!(files(unpacked), listed);
    for name in &listed {
        let (here, there) = (root().join(name), unpacked.join(name));
        assert!(fs::read(&here).unwrap() == fs::read(&there).unwrap(), "{name}");
        let modified = fs::metadata(here).unwrap().modified().unwrap();
        fs::File::options().append(true).open(there).unwrap().set_modified(modified).unwrap();
    }
    programs();
    let mut make = Command::new("make");
    find_it_built(make.current_dir(unpacked));
    let ran = workspace.finish(make, None);
    assert!(!ran.ok().stderr().contains("Compiling"), "{ran}");
}

#[test]
fn dist_is_the_same_bytes_twice_and_whole() {
    if !has_tool("make") || !has_tool("git") || !has_tool("gzip") {
        return;
    }
    if !root().join(".git").exists() {
        tests::skip("this is no git checkout");
        return;
    }
    let workspace = Workspace::new();
    let dist = |name: &str| {
        fs::create_dir(workspace.path(name)).unwrap();
        make(&workspace, &["dist", &format!("DISTDIR={}", word(&workspace.path(name)))]).ok();
        let names = files(&workspace.path(name));
        assert_eq!(names.len(), 1, "{names:?}");
        workspace.path(name).join(names.first().unwrap())
    };
    let (one, two) = (dist("one"), dist("t wo"));
    let name = one.file_name().unwrap().to_str().unwrap().strip_suffix(".tar.gz").unwrap().to_owned();
    assert_eq!(name, format!("task-recovery-{}", env!("CARGO_PKG_VERSION")));
    assert!(fs::read(&one).unwrap() == fs::read(&two).unwrap(), "two tarballs of one commit differ");
    workspace.shell(&format!("tar -xzf one/{name}.tar.gz")).ok();
    let listed = workspace.shell(&format!("tar -tvzf one/{name}.tar.gz | awk '{{print $2, $4, $5}}' | sort -u"));
    assert_eq!(listed.ok().stdout().lines().count(), 1, "one owner and one time: {listed}");
    // Cargo finds every member and its sources, and nothing is missing from the lock.
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["metadata", "--locked", "--offline", "--no-deps", "--format-version", "1"]).current_dir(workspace.path(&name));
    workspace.finish(cargo, None).ok();
    if git(&["status", "--porcelain"]).is_empty() && std::env::var_os("TASK_TESTS_PROGRAMS").is_none() {
        builds(&workspace, &workspace.path(&name));
    }
    let outside = workspace.shell(&format!("cd {name} && make -s dist"));
    assert!(!outside.exit().success() && outside.stderr().contains("no git checkout"), "{outside}");
}
