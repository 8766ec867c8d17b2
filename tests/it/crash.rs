//! Writers that are killed, disks that are full.

use serde_json::json;
use tests::strace::{self, Point};
use tests::sweep;
use tests::writers::{self, Before, Writer};
use tests::{Workspace, is_root, word};

/// A quick sample: `checkpoint`, killed before each of its calls about files. `make proof` does it to every writing command, before
/// every call.
#[test]
fn a_writer_that_is_killed_leaves_the_old_card_or_the_new_one() {
    if let Err(why) = strace::is_usable() {
        return tests::skip(&why);
    }
    let writer = Writer::new("checkpoint", "a", Before::Fresh, &["a", "--message", "new"]);
    let points = sweep::kill_everywhere(&writer).unwrap();
    assert!(points > 30, "only {points} points");
}

/// Not knowing is no absence: neither of the workspace, which would be searched elsewhere, nor of a card, which would be replaced.
#[test]
fn a_look_that_fails_is_a_clear_error() {
    if let Err(why) = strace::is_usable() {
        return tests::skip(&why);
    }
    for (path, status, says) in [
        ("data/task-runs", 78, "cannot look for a workspace at "),
        ("data/task-runs/a.json", 74, "cannot look for "),
        ("data/task-runs/.locks", 74, "cannot make "),
    ] {
        let writer = Writer::refused();
        let workspace = writer.workspace();
        let before = writers::cards(&workspace).unwrap();
        let calls = strace::calls(&workspace, &writer).unwrap();
        // However this system calls it.
        let found = strace::points(&workspace, &calls, false);
        let point = found.into_iter().find(|point| point.call.contains("stat") && point.path.as_deref() == Some(path));
        let point: Point = point.unwrap_or_else(|| panic!("nothing looks at {path}: {calls:?}"));
        let command = strace::under(&writer.command(&workspace), point.harmed(&workspace, "error=EIO"), "/dev/null");
        let ran = workspace.finish(command, None);
        ran.exits(status).complains(says).complains("I/O error");
        assert_eq!(writers::cards(&workspace).unwrap(), before, "{ran}");
        assert!(!workspace.path("home").exists(), "{ran}");
    }
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
    let path = workspace.card_path("a.json");
    ran.exits(74).complains(&format!("cannot write the card of a: {}: ", path.display()));
    ran.complains("File too large; the old one is unchanged");
    assert_eq!(workspace.card("a"), before);
    let made = workspace.shell("ulimit -f 0; exec card create b --task-type t --title x");
    made.exits(74).complains("File too large; no card was made");
    assert!(!workspace.card_path("b.json").exists());
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
