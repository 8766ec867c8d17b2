//! Which workspace is used.

use std::fs;

use tests::Workspace;

#[test]
fn the_search_goes_from_what_is_named_to_what_is_found() {
    let workspace = Workspace::new();
    for name in ["named", "env", "env_dir", "openclaw", "found/deep/er", "home/.openclaw/workspace", "state/workspace", "bare"] {
        fs::create_dir_all(workspace.path(name)).unwrap();
    }
    fs::write(workspace.path("found/AGENTS.md"), "").unwrap();
    fs::write(workspace.path("found/SOUL.md"), "").unwrap();
    fs::write(workspace.path("bare/AGENTS.md"), "").unwrap();
    let path = |name: &str| workspace.path(name).into_os_string();
    // The test's own folder is a workspace, so the search is tried from one outside of it.
    let outside = std::env::temp_dir();
    let create = |id: &str, folder: &std::path::Path, env: &[(&str, std::ffi::OsString)], args: &[&str]| {
        let mut command = workspace.command("card");
        command.args(["create", id, "--task-type", "t", "--title", "x"]).args(args).current_dir(folder).envs(env.iter().cloned());
        workspace.finish(command, None).ok().is_quiet();
    };
    let runs = ("TASK_RUNS_DIR", path("cards"));
    let openclaw = ("OPENCLAW_WORKSPACE", path("openclaw"));
    let openclaw_dir = ("OPENCLAW_WORKSPACE_DIR", path("env_dir"));
    let state = ("OPENCLAW_STATE_DIR", path("state"));
    create("a", &outside, &[runs.clone(), openclaw.clone()], &["--workspace", workspace.path("named").to_str().unwrap()]);
    assert!(workspace.path("named/data/task-runs/a.json").exists());
    create("b", &outside, &[runs, openclaw.clone(), openclaw_dir.clone()], &[]);
    assert!(workspace.path("cards/b.json").exists());
    create("c", &workspace.path("found"), &[openclaw, openclaw_dir.clone()], &[]);
    assert!(workspace.path("openclaw/data/task-runs/c.json").exists());
    create("d", &workspace.path("found"), &[openclaw_dir], &[]);
    assert!(workspace.path("env_dir/data/task-runs/d.json").exists());
    create("e", &workspace.path("found/deep/er"), std::slice::from_ref(&state), &[]);
    assert!(workspace.path("found/data/task-runs/e.json").exists());
    create("f", &workspace.path("bare"), &[], &[]);
    assert!(workspace.path("data/task-runs/f.json").exists());
    create("g", &outside, std::slice::from_ref(&state), &[]);
    assert!(workspace.path("state/workspace/data/task-runs/g.json").exists());
    create("h", &outside, &[], &[]);
    assert!(workspace.path("home/.openclaw/workspace/data/task-runs/h.json").exists());
}

#[test]
fn the_last_resort_is_made_by_create_alone_which_says_so() {
    let workspace = Workspace::new();
    let outside = std::env::temp_dir();
    let run = |program: &str, args: &[&str]| {
        let mut command = workspace.command(program);
        command.args(args).current_dir(&outside);
        workspace.finish(command, None)
    };
    run("watch", &[]).ok().is_quiet();
    run("card", &["list"]).ok().is_quiet();
    run("checkpoint", &["a"]).exits(66).complains("no task a");
    run("resume", &["a"]).exits(66).complains("no task a");
    assert!(!workspace.path("home").exists());
    let made = run("card", &["create", "a", "--task-type", "t", "--title", "x"]);
    made.ok().complains("no workspace was found or named: making");
    assert!(workspace.path("home/.local/state/task-recovery/data/task-runs/a.json").exists());
    run("checkpoint", &["a"]).ok().is_quiet();
}

#[test]
fn folders_and_files_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let workspace = Workspace::new();
    fs::remove_dir_all(workspace.path("data")).unwrap();
    let place = ["--workspace", workspace.path("").to_str().unwrap()].map(str::to_owned);
    let args = ["create", "a", "--task-type", "t", "--title", "x", &place[0], &place[1], "--", "true"];
    workspace.run("card", &args).ok();
    workspace.run("resume", &["a", &place[0], &place[1]]).ok();
    let modes = workspace.shell("find data -type d ! -perm 700; find data -type f ! -perm 600");
    assert_eq!(modes.ok().stdout(), "");
    assert_eq!(fs::metadata(workspace.path("data")).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_folder_that_is_named_and_not_there_is_a_mistake() {
    let workspace = Workspace::new();
    workspace.run("watch", &["--workspace", "nowhere"]).exits(78).complains("--workspace nowhere is no folder");
    let mut command = workspace.command("watch");
    command.env("OPENCLAW_WORKSPACE", "/nowhere");
    workspace.finish(command, None).exits(78).complains("OPENCLAW_WORKSPACE /nowhere is no folder");
}

#[test]
fn root_does_not_lock_the_owner_out() {
    if !tests::is_root() {
        return;
    }
    let workspace = Workspace::new();
    workspace.run("card", &["create", "a", "--task-type", "t", "--title", "x"]).ok();
    workspace.shell("chown -R 65534 data").ok();
    for (program, args) in [("card", &["cancel", "a"] as &[&str]), ("checkpoint", &["a"]), ("resume", &["a", "--force"])] {
        workspace.run(program, args).exits(77).complains("not as root");
    }
    workspace.run("card", &["create", "b", "--task-type", "t", "--title", "x"]).exits(77).complains("not as root");
    workspace.shell("rm -r data; mkdir data; chown 65534 data").ok();
    let place = workspace.path("");
    let args = ["create", "b", "--task-type", "t", "--title", "x", "--workspace", place.to_str().unwrap()];
    workspace.run("card", &args).exits(77).complains("not as root");
}
