//! Writers that are killed, disks that are full.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tests::{Workspace, has_tool, is_root, word};

/// Every writing command, killed before each of its system calls that touches files: the card is the old one or the new one,
/// what was acknowledged is there, and the next command works.
#[test]
fn a_writer_that_is_killed_leaves_the_old_card_or_the_new_one() {
    if !has_tool("strace") {
        return;
    }
    // With a question mark: where the machine has a call of that name.
    const CALLS: [&str; 12] = [
        "openat",
        "flock",
        "read",
        "write",
        "fsync",
        "?rename",
        "?renameat",
        "?unlink",
        "?unlinkat",
        "?mkdir",
        "?mkdirat",
        "close",
    ];
    let probe = Workspace::new();
    let traced = probe.finish(traced(&probe, "true", &[], &[]), None);
    if traced.status() != Some(0) {
        return tests::skip("strace may not trace here");
    }
    let mut points = 0;
    for (name, args) in [
        ("card", &["create", "b", "--task-type", "t", "--title", "x"] as &[&str]),
        ("checkpoint", &["a", "--message", "new", "--artifact", "x=/x"]),
        ("card", &["complete", "a", "--message", "new"]),
        ("card", &["approve", "a"]),
        ("resume", &["c"]),
    ] {
        let program = word(&tests::programs().join(name)).to_owned();
        // A supervisor looks at every process of the machine: what it only reads there is left out.
        let reads_all = |call: &&&str| name == "resume" && ["openat", "read", "close"].contains(*call);
        for call in CALLS.iter().filter(|call| !reads_all(call)) {
            for occurrence in 1..200 {
                let workspace = with_cards();
                let before = states(&workspace);
                let inject = format!("--inject={call}:signal=KILL:when={occurrence}");
                let ran = workspace.finish(self::traced(&workspace, &program, args, &["-e", call, &inject]), None);
                if ran.status() == Some(0) {
                    break;
                }
                points += 1;
                assert!(ran.was_killed(), "{name} {args:?} {call} {occurrence}\n{ran}");
                check(&workspace, &before, &ran.stdout(), &format!("{name} {args:?} {call} {occurrence}"));
            }
        }
    }
    assert!(points > 100, "only {points} points");
}

fn traced(workspace: &Workspace, program: &str, args: &[&str], options: &[&str]) -> Command {
    let mut command = workspace.command("card");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-o", "/dev/null"]).args(options).arg(program).args(args);
    strace.current_dir(workspace.path("")).env_clear().env("PATH", "/usr/bin:/bin").stdin(Stdio::null());
    std::mem::swap(&mut command, &mut strace);
    command
}

fn with_cards() -> Workspace {
    let workspace = Workspace::new();
    workspace.run("card", &["create", "a", "--task-type", "t", "--title", "x", "--phase", "p"]).ok();
    workspace.run("card", &["create", "c", "--task-type", "t", "--title", "x", "--", "true"]).ok();
    workspace
}

fn states(workspace: &Workspace) -> Vec<Value> {
    ["a", "c"].map(|id| workspace.card(id)).into()
}

fn check(workspace: &Workspace, before: &[Value], acknowledged: &str, what: &str) {
    let after = states(workspace);
    for (old, new) in before.iter().zip(&after) {
        let (was, is) = (old["revision"].as_u64().unwrap(), new["revision"].as_u64().unwrap());
        assert!(old == new || is > was, "{what}: {old} {new}");
    }
    if let Ok(answer) = serde_json::from_str::<Value>(acknowledged)
        && let Some(revision) = answer["revision"].as_u64()
    {
        let id = answer["task_id"].as_str().unwrap();
        assert!(workspace.card(id)["revision"].as_u64().unwrap() >= revision, "{what}: {answer} is lost");
    }
    let lines = workspace.run("watch", &[]).ok().json();
    assert!(lines.iter().all(|line| !line["reason"].as_str().unwrap_or_default().starts_with("card_")), "{what}: {lines:?}");
    if before[0]["status"] != "completed" && workspace.card("a")["status"] == "running" {
        workspace.run("checkpoint", &["a", "--message", "next"]).ok();
    }
    // The first attempt may have been cut anywhere; whoever comes next finishes the task.
    workspace.run("card", &["approve", "c"]);
    workspace.run("resume", &["c"]).ok();
    assert_eq!(workspace.card("c")["status"], "completed", "{what}");
}

#[test]
fn a_full_disk_leaves_the_old_card_and_a_clear_error() {
    if !is_root() {
        return;
    }
    let workspace = Workspace::new();
    std::fs::create_dir(workspace.path("small")).unwrap();
    let mount = workspace.shell("mount -t tmpfs -o size=64k,mode=700 tmpfs small");
    if mount.status() != Some(0) {
        return tests::skip("mounting is not permitted");
    }
    let _unmount = Unmount(&workspace);
    let place = word(&workspace.path("small")).to_owned();
    workspace.run("card", &["create", "a", "--task-type", "t", "--title", "x", "--workspace", &place]).ok();
    workspace.run("card", &["create", "c", "--task-type", "t", "--title", "x", "--workspace", &place, "--", "true"]).ok();
    workspace.shell("cat /dev/zero >small/filler 2>/dev/null; true").ok();
    let read = |id: &str| std::fs::read_to_string(workspace.path(&format!("small/data/task-runs/{id}.json"))).unwrap();
    let before = (read("a"), read("c"));
    let ran = workspace.run("checkpoint", &["a", "--workspace", &place]);
    ran.exits(74).complains("cannot write the card of a: ").complains("No space left on device; the old one is unchanged");
    workspace.run("card", &["complete", "a", "--workspace", &place]).exits(74).complains("No space left on device");
    let ran = workspace.run("resume", &["c", "--workspace", &place]);
    ran.exits(74).complains("No space left on device");
    assert_eq!((read("a"), read("c")), before);
    std::fs::remove_file(workspace.path("small/filler")).unwrap();
    workspace.run("checkpoint", &["a", "--workspace", &place]).ok().is_quiet();
    assert_eq!(workspace.run("resume", &["c", "--workspace", &place]).ok().one()["outcome"], "completed");
}

struct Unmount<'a>(&'a Workspace);

impl Drop for Unmount<'_> {
    fn drop(&mut self) {
        self.0.shell("umount small");
    }
}

#[test]
fn a_file_size_limit_leaves_the_old_card() {
    let workspace = Workspace::new();
    workspace.run("card", &["create", "a", "--task-type", "t", "--title", "x"]).ok();
    let before = workspace.card("a");
    let ran = workspace.shell("ulimit -f 0; exec checkpoint a --message new");
    ran.exits(74).complains("File too large; the old one is unchanged");
    assert_eq!(workspace.card("a"), before);
    workspace.run("checkpoint", &["a", "--message", "new"]).ok();
    assert_eq!(workspace.card("a")["checkpoint_count"], json!(1));
}

#[test]
fn a_folder_that_cannot_be_written_is_a_clear_error() {
    if nix::unistd::Uid::effective().is_root() {
        return tests::skip("root may write everywhere");
    }
    let workspace = Workspace::new();
    workspace.run("card", &["create", "a", "--task-type", "t", "--title", "x"]).ok();
    workspace.shell("chmod 500 data/task-runs").ok();
    workspace.run("checkpoint", &["a"]).exits(74).complains("Permission denied");
    workspace.shell("chmod 700 data/task-runs").ok();
}

trait WasKilled {
    fn was_killed(&self) -> bool;
}

impl WasKilled for tests::Ran<'_> {
    fn was_killed(&self) -> bool {
        self.exit().signal() == Some(9) || self.status() == Some(137)
    }
}
