//! Files: placed, refreshed, kept, taken out.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use serde_json::json;
use tests::install::{Bench, programs, snapshot};
use tests::{copy_program, has_tool, word};

#[test]
fn what_is_placed_works_there_and_leaves_without_a_trace() {
    let bench = Bench::new();
    bench.put("ws/mine.md", "mine\n");
    let before = snapshot(&bench.path(""));
    let answer = bench.answer(&["--trigger", "none"]);
    assert_eq!((&answer["changed"], &answer["triggers"]), (&json!(true), &json!([])));
    let installed = snapshot(&bench.ws());
    let again = bench.run(&["--trigger", "none"]).ok().stdout();
    assert!(again.contains("\"changed\":false"), "{again}");
    assert_eq!(snapshot(&bench.ws()), installed);
    for name in ["card", "checkpoint", "watch", "resume", "heartbeat-install"] {
        let mut command = bench.command(&bench.ws().join("bin").join(name));
        command.arg("--version");
        let ran = bench.workspace.finish(command, None);
        assert!(ran.ok().stdout().starts_with(&format!("{name} (task-recovery) ")), "{ran}");
    }
    for name in ["bin/recovery-pass", "templates/task-recovery/task_resume.sh", "templates/task-recovery/task_resume.py"] {
        assert!(fs::metadata(bench.ws().join(name)).unwrap().permissions().mode() & 0o111 != 0, "{name}");
    }
    for name in ["docs/task-recovery/en/practice.md", "docs/task-recovery/zh/PROMPTS.md", "skills/task-recovery/SKILL.md"] {
        assert!(!bench.text(&format!("ws/{name}")).is_empty());
    }
    bench.pass();
    assert_eq!(bench.answer(&["--uninstall"])["changed"], true);
    assert_eq!(snapshot(&bench.path("")), before);
    let ran = bench.run(&["--uninstall"]);
    assert_eq!(ran.ok().one()["changed"], false, "{ran}");
}

#[test]
fn cards_are_never_touched() {
    let bench = Bench::new();
    bench.answer(&["--trigger", "none"]);
    let mut create = bench.command(&bench.path("ws/bin/card"));
    create.args(["create", "a", "--task-type", "t", "--title", "x"]).current_dir(bench.ws());
    bench.workspace.finish(create, None).ok();
    bench.pass();
    let cards = |bench: &Bench| {
        let mut all = snapshot(&bench.path("ws/data"));
        all.retain(|(path, ..)| !path.ends_with(".installed") && !path.ends_with(".last-pass"));
        all
    };
    let before = cards(&bench);
    bench.answer(&["--uninstall"]);
    assert_eq!(cards(&bench), before);
    assert_eq!(fs::read_dir(bench.ws()).unwrap().count(), 1);
    assert!(!bench.path("ws/data/task-runs/.installed").exists());
}

#[test]
fn a_dry_run_writes_nothing_and_its_diff_is_what_would_be_done() {
    if !has_tool("patch") {
        return;
    }
    let bench = Bench::with_openclaw("2026.7.35").with_small_programs();
    bench.put("ws/AGENTS.md", "# Agents\n\nNo end");
    bench.put("ws/HEARTBEAT.md", "# Mine\n\ntasks:\n- name: mail\n  interval: 1h\n  prompt: \"Mail\"\n\n## Prose\n\nWords.\n");
    let before = snapshot(&bench.ws());
    let args = ["--trigger", "heartbeat", "--trigger", "cron", "--agents-md", "--python-shim"];
    let diff = bench.run(&[&args[..], &["--dry-run"]].concat()).ok().is_quiet().stdout();
    assert_eq!(snapshot(&bench.ws()), before);
    assert!(!bench.path("stand-ins/crontab.text").exists() && bench.changes().is_empty());
    assert!(diff.contains("+++ crontab\n@@ -0,0 +1 @@\n+*/5 * * * * '"), "{diff}");
    // Applied to a copy, it makes the same texts.
    bench.workspace.shell("cp -r ws copy").ok();
    bench.put("diff", &diff.replace(word(&bench.ws()), "copy"));
    let mut patch = Command::new("patch");
    patch.args(["-p0", "--batch", "--silent", "-i", word(&bench.path("diff"))]).current_dir(bench.path(""));
    bench.workspace.finish(patch, None);
    bench.answer(&args);
    let programs = ["card", "checkpoint", "watch", "resume", "heartbeat-install"];
    let mut compared = 0;
    for (path, _, bytes) in snapshot(&bench.ws()) {
        let hidden = path.ends_with(".installed") || bench.ws().join(&path).is_dir();
        if hidden || programs.iter().any(|name| path.ends_with(format!("bin/{name}"))) {
            continue;
        }
        let patched = fs::read(bench.path("copy").join(&path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(patched == bytes, "{} is another text", path.display());
        compared += 1;
    }
    assert!(compared > 12, "{compared}");
    assert!(bench.run(&[&args[..], &["--dry-run"]].concat()).ok().stdout().ends_with("# nothing to do\n"));
    // Nor does a dry uninstall do anything.
    let installed = snapshot(&bench.ws());
    let diff = bench.run(&["--uninstall", "--dry-run"]).ok().stdout();
    assert!(diff.contains("-- name: task-recovery\n") && diff.contains("+++ /dev/null"), "{diff}");
    assert_eq!(snapshot(&bench.ws()), installed);
}

#[test]
fn what_was_there_is_kept_and_comes_back() {
    let bench = Bench::new().with_small_programs();
    bench.workspace.shell("mkdir -p ws/bin ws/skills/task-recovery").ok();
    bench.workspace.write("ws/bin/watch", "#!/bin/sh\necho mine\n");
    bench.put("ws/bin/card.orig", "an older one\n");
    bench.put("ws/bin/card", "my card\n");
    symlink("/bin/true", bench.path("ws/bin/resume")).unwrap();
    bench.put("ws/skills/task-recovery/SKILL.md", "my skill\n");
    let before = snapshot(&bench.ws());
    let answer = bench.answer(&["--trigger", "none"]);
    let notes = answer["notes"].to_string();
    assert!(notes.contains("bin/watch was there: it is kept as"), "{notes}");
    assert_eq!(bench.text("ws/bin/watch.orig"), "#!/bin/sh\necho mine\n");
    assert_eq!(bench.text("ws/bin/card.orig.1"), "my card\n");
    assert_eq!(bench.answer(&["--trigger", "none"])["changed"], false);
    bench.answer(&["--uninstall"]);
    assert_eq!(snapshot(&bench.ws()), before);
}

#[test]
fn what_a_person_changed_is_left_and_named() {
    let bench = Bench::new();
    bench.answer(&["--trigger", "none"]);
    let pass = bench.text("ws/bin/recovery-pass").replace("set -u\n", "set -u\n# mine\n");
    bench.workspace.write("ws/bin/recovery-pass", &pass);
    bench.put("ws/bin/watch", "not ours\n");
    let answer = bench.answer(&["--trigger", "none"]);
    assert_eq!(answer["kept"], json!(["bin/recovery-pass"]));
    assert_eq!(bench.text("ws/bin/recovery-pass"), pass);
    // A program is not for editing: it is placed again.
    assert!(fs::read(bench.path("ws/bin/watch")).unwrap().starts_with(b"\x7fELF"));
    assert_eq!(bench.answer(&["--trigger", "none"])["changed"], false);
    let answer = bench.answer(&["--uninstall"]);
    assert_eq!(answer["kept"], json!(["bin/recovery-pass"]));
    let left: Vec<_> = snapshot(&bench.ws()).into_iter().map(|(path, ..)| path).collect();
    assert_eq!(left, ["bin", "bin/recovery-pass"].map(std::path::PathBuf::from));
}

#[test]
fn an_update_takes_the_new_text_unless_a_person_changed_the_old_one() {
    let bench = Bench::new().with_small_programs();
    bench.answer(&["--trigger", "none"]);
    // As an older release would have placed it.
    let older = "an older text\n";
    bench.put("ws/docs/task-recovery/en/practice.md", older);
    let sum = bench.workspace.shell("sha256sum ws/docs/task-recovery/en/practice.md | cut -d' ' -f1").ok().stdout();
    let mut manifest: serde_json::Value = serde_json::from_str(&bench.text("ws/data/task-runs/.installed")).unwrap();
    manifest["files"]["docs/task-recovery/en/practice.md"]["sha256"] = sum.trim().into();
    bench.put("ws/data/task-runs/.installed", &manifest.to_string());
    let stale = bench.run(&["--check"]).exits(1).stdout();
    assert!(stale.contains("practice.md is of another version than this program"), "{stale}");
    assert_eq!(bench.answer(&["--trigger", "none"])["changed"], true);
    assert_ne!(bench.text("ws/docs/task-recovery/en/practice.md"), older);
    assert_eq!(bench.answer(&["--trigger", "none"])["changed"], false);
}

#[test]
fn agents_md_gets_its_line_once() {
    let bench = Bench::new().with_small_programs();
    bench.put("ws/AGENTS.md", "# Agents\r\n\r\nBe kind.\r\n");
    let before = snapshot(&bench.ws());
    bench.answer(&["--trigger", "none", "--agents-md"]);
    let text = bench.text("ws/AGENTS.md");
    assert!(text.starts_with("# Agents\r\n\r\nBe kind.\r\n\r\n<!-- task-recovery:begin"), "{text}");
    assert!(text.contains("./bin/card list") && !text.replace("\r\n", "").contains('\n'), "{text}");
    // Once asked for, it is looked after.
    assert_eq!(bench.answer(&["--trigger", "none"])["changed"], false);
    let chinese = bench.answer(&["--trigger", "none", "--lang", "zh"]);
    assert_eq!(chinese["changed"], true);
    assert!(bench.text("ws/AGENTS.md").contains("未完成的任务"));
    bench.answer(&["--uninstall"]);
    assert_eq!(snapshot(&bench.ws()), before);
}

#[test]
fn the_shim_is_placed_when_its_predecessor_is_there() {
    let bench = Bench::new();
    bench.answer(&["--trigger", "none"]);
    assert!(!bench.path("ws/scripts").exists());
    bench.answer(&["--uninstall"]);
    bench.workspace.shell("mkdir ws/scripts").ok();
    bench.put("ws/scripts/task_runtime.py", "# the predecessor\n");
    bench.put("ws/scripts/other.py", "# another\n");
    let before = snapshot(&bench.ws());
    bench.answer(&["--trigger", "none"]);
    assert_eq!(bench.text("ws/scripts/task_runtime.py.orig"), "# the predecessor\n");
    assert!(bench.text("ws/scripts/task_runtime_watch.py").starts_with("#!/usr/bin/env python3\n"));
    assert_eq!(bench.answer(&["--trigger", "none"])["changed"], false);
    if has_tool("python3") {
        let ran = bench.workspace.shell("cd ws && python3 scripts/task_runtime.py list");
        assert!(ran.ok().stdout().contains("\"ok\": true"), "{ran}");
    }
    bench.answer(&["--uninstall"]);
    assert_eq!(snapshot(&bench.ws()), before);
}

#[test]
fn a_program_that_is_none_of_ours_is_not_placed() {
    let bench = Bench::new();
    bench.workspace.shell("mkdir other").ok();
    for name in ["card", "checkpoint", "resume", "heartbeat-install"] {
        copy_program(&programs().join(name), &bench.path("other").join(name));
    }
    bench.workspace.write("other/watch", "#!/bin/sh\necho 'watch from procps-ng 4.0.2'\n");
    let mut command = bench.command(&bench.path("other/heartbeat-install"));
    command.args(["--workspace", word(&bench.ws()), "--trigger", "none"]);
    bench.workspace.finish(command, None).exits(78).complains("is not watch (task-recovery)");
    assert_eq!(fs::read_dir(bench.ws()).unwrap().count(), 0);
}

#[test]
fn the_placed_program_does_not_bless_what_was_replaced_beside_it() {
    let bench = Bench::new();
    bench.answer(&["--trigger", "none"]);
    let own = |args: &[&str]| {
        let mut command = bench.command(&bench.path("ws/bin/heartbeat-install"));
        command.args(["--workspace", word(&bench.ws())]).args(args);
        bench.workspace.finish(command, None)
    };
    assert_eq!(own(&["--trigger", "none"]).ok().one()["changed"], false);
    let version = bench.workspace.shell("ws/bin/watch --version").stdout();
    bench.workspace.write("ws/bin/watch", &format!("#!/bin/sh\necho '{}'\n", version.trim()));
    own(&["--trigger", "none"]).exits(78).complains("bin/watch is not what was placed");
    assert!(own(&["--check"]).exits(1).stdout().contains(word(&programs().join("heartbeat-install"))));
    assert_eq!(bench.answer(&["--trigger", "none"])["changed"], true);
    assert_eq!(own(&["--trigger", "none"]).ok().one()["changed"], false);
}

#[test]
fn a_folder_where_a_file_should_be_is_named() {
    let bench = Bench::new().with_small_programs();
    bench.workspace.shell("mkdir -p ws/bin/card").ok();
    bench.run(&["--trigger", "none"]).exits(65).complains("bin/card is no file");
    assert!(!bench.path("ws/data").exists());
}

#[test]
fn a_workspace_that_moved_is_brought_up_to_date() {
    let bench = Bench::new().with_small_programs();
    bench.answer(&["--trigger", "cron"]);
    let old = bench.text("stand-ins/crontab.text");
    bench.workspace.shell("mv ws moved && mkdir ws && rmdir ws && mv moved 'new ws' && ln -s 'new ws' ws").ok();
    let checked = bench.run(&["--check"]).exits(1).stdout();
    assert!(checked.contains("the workspace was moved here from"), "{checked}");
    bench.answer(&[]);
    let new = bench.text("stand-ins/crontab.text");
    assert!(new != old && new.lines().count() == 1 && new.contains("new ws/bin/recovery-pass"), "{new}");
    bench.answer(&["--uninstall"]);
    assert!(!bench.path("stand-ins/crontab.text").exists());
}

#[test]
fn a_copy_leaves_the_originals_trigger_alone() {
    let bench = Bench::new().with_small_programs();
    bench.answer(&["--trigger", "cron"]);
    let line = bench.text("stand-ins/crontab.text");
    bench.workspace.shell("cp -r ws copy").ok();
    let copy = |args: &[&str]| {
        let mut command = bench.command(&bench.release.join("heartbeat-install"));
        command.args(["--workspace", word(&bench.path("copy"))]).args(args);
        bench.workspace.finish(command, None)
    };
    copy(&["--trigger", "cron"]).ok();
    assert_eq!(bench.text("stand-ins/crontab.text").lines().count(), 2);
    copy(&["--uninstall"]).ok();
    assert_eq!(bench.text("stand-ins/crontab.text"), line);
    // A copy that was not made an installation of its own, too.
    bench.workspace.shell("rm -r copy && cp -r ws copy").ok();
    copy(&["--uninstall"]).ok();
    assert_eq!(bench.text("stand-ins/crontab.text"), line);
    assert_eq!(fs::read_dir(bench.path("copy")).unwrap().count(), 0);
}

#[test]
fn the_placed_program_takes_itself_out() {
    let bench = Bench::new().with_small_programs();
    bench.answer(&["--trigger", "cron"]);
    let mut command = bench.command(&bench.path("ws/bin/heartbeat-install"));
    command.arg("--uninstall").current_dir(bench.ws());
    bench.workspace.finish(command, None).ok();
    assert_eq!(fs::read_dir(bench.ws()).unwrap().count(), 0);
}

#[test]
fn what_cannot_work_is_refused_before_anything_is_written() {
    let bench = Bench::new().with_small_programs();
    for (args, status, complaint) in [
        (&["--trigger", "now"] as &[&str], 64, "\"now\" is no trigger"),
        (&["--trigger", "none", "--trigger", "cron"], 64, "none goes with no other trigger"),
        (&["--every", "soon"], 64, "--every: \"soon\" is no time"),
        (&["--every", "2d"], 64, "is not between 10s and 1d"),
        (&["--check", "--uninstall"], 64, "give one of them"),
        (&["--check", "--every", "5m"], 64, "it takes no other option of an installation"),
        (&["--all-agents"], 64, "--workspace and --all-agents"),
        (&["--trigger", "cron", "--every", "90s"], 64, "cron cannot do 90s; give 1m"),
        (&["--trigger", "automation"], 78, "openclaw is not on the PATH"),
        (&["--trigger", "systemd"], 78, "Failed to connect to bus"),
    ] {
        bench.run(args).exits(status).complains(complaint);
        assert_eq!(fs::read_dir(bench.ws()).unwrap().count(), 0, "{args:?}");
    }
    let mut command = bench.command(&bench.release.join("heartbeat-install"));
    command.args(["--trigger", "none"]).env("TASK_RUNS_DIR", bench.path("cards"));
    bench.workspace.finish(command, None).exits(78).complains("no trigger would know it");
    bench.workspace.shell("mkdir 'a\nb'").ok();
    let mut command = bench.command(&bench.release.join("heartbeat-install"));
    command.args(["--workspace", word(&bench.path("a\nb"))]);
    bench.workspace.finish(command, None).exits(78).complains("control character");
}

#[test]
fn root_does_not_install_for_others() {
    if !tests::is_root() {
        return;
    }
    let bench = Bench::new().with_small_programs();
    bench.workspace.shell("chown 65534 ws").ok();
    bench.run(&["--trigger", "none"]).exits(77).complains("not as root");
}

#[test]
fn two_runs_do_not_meet() {
    let bench = Bench::new().with_small_programs();
    let folder = fs::File::open(bench.ws()).unwrap();
    folder.lock().unwrap();
    bench.run(&["--trigger", "none"]).exits(75).complains("another heartbeat-install is at work");
    assert_eq!(fs::read_dir(bench.ws()).unwrap().count(), 0);
}

#[test]
fn without_anything_to_call_it_the_files_are_there_and_the_person_is_told() {
    let bench = Bench::new().with_small_programs();
    bench
        .workspace
        .write("stand-ins/crontab", "#!/bin/sh\necho 'You (alice) are not allowed to use this program (crontab)' >&2\nexit 1\n");
    let ran = bench.run(&[]);
    ran.exits(78).complains("nothing here can call it regularly");
    let answer = ran.one();
    assert!(answer["notes"].to_string().contains("not allowed to use this program"), "{answer}");
    assert!(bench.path("ws/bin/recovery-pass").exists());
    bench.answer(&["--uninstall"]);
    assert_eq!(fs::read_dir(bench.ws()).unwrap().count(), 0);
}

#[test]
fn the_plugin_is_placed_when_it_is_asked_for_and_stays_until_it_is_taken_out() {
    let bench = Bench::new().with_small_programs();
    bench.answer(&["--trigger", "none"]);
    assert!(!bench.path("ws/plugins").exists());
    let answer = bench.answer(&["--plugin"]);
    let next: Vec<&str> = answer["next"].as_array().unwrap().iter().map(|command| command.as_str().unwrap()).collect();
    assert!(
        next.len() == 3 && next[0].contains("plugins install --link") && next[2].contains("allowConversationAccess"),
        "{next:?}"
    );
    for name in ["package.json", "openclaw.plugin.json", "index.js", "runs.js"] {
        assert!(bench.path("ws/plugins/task-recovery").join(name).is_file(), "{name}");
    }
    // No trigger was asked for, and that stands.
    assert_eq!((&answer["triggers"], &bench.answer(&[])["changed"]), (&serde_json::json!([]), &serde_json::json!(false)));
    bench.answer(&["--uninstall"]);
    assert!(!bench.path("ws/plugins").exists());
}
