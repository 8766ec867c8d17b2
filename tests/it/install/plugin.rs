//! `--plugin --enable`: what OpenClaw is told, undone and looked at, in every answer of two versions.

use std::fs;

use serde_json::{Value, json};
use tests::install::Bench;
use tests::word;

const ON: [&str; 4] = ["--trigger", "none", "--plugin", "--enable"];

/// What OpenClaw was told, without what it was only asked.
fn told(bench: &Bench) -> Vec<String> {
    let text = fs::read_to_string(bench.path("stand-ins/calls")).unwrap_or_default();
    let calls = text.lines().map(|line| serde_json::from_str::<Vec<String>>(line).unwrap().join(" "));
    calls
        .filter(|call| {
            (call.starts_with("plugins") && !call.starts_with("plugins inspect"))
                || call.starts_with("config set")
                || call.starts_with("config unset")
        })
        .collect()
}

fn forget_calls(bench: &Bench) {
    fs::remove_file(bench.path("stand-ins/calls")).unwrap();
}

/// What stands in OpenClaw's configuration, and the folders that are linked.
fn state(bench: &Bench) -> (Value, Value) {
    let text = fs::read_to_string(bench.path("stand-ins/plugins.json")).unwrap_or_else(|_| r#"{"linked":[]}"#.to_owned());
    let mut state: Value = serde_json::from_str(&text).unwrap();
    (state["entry"].take(), state["linked"].take())
}

fn set_state(bench: &Bench, entry: &Value, linked: &[&str]) {
    bench.put("stand-ins/plugins.json", &json!({"entry": entry, "linked": linked, "lost": false}).to_string());
}

fn folder(bench: &Bench) -> String {
    word(&bench.path("ws/plugins/task-recovery")).to_owned()
}

fn finding(bench: &Bench) -> (String, String) {
    let ran = bench.run(&["--check"]);
    let found = ran.exits(1).json();
    let ours = found.iter().find(|finding| finding["part"] == "plugin").unwrap_or_else(|| panic!("{ran}"));
    (ours["finding"].as_str().unwrap().to_owned(), ours["remedy"].as_str().unwrap().to_owned())
}

fn shell(bench: &Bench, script: &str) -> std::process::Command {
    let mut shell = bench.command("/bin/sh".as_ref());
    shell.args(["-c", script]);
    shell
}

#[test]
fn it_is_linked_enabled_and_told_how_runs_end_and_all_of_that_is_undone() {
    for (version, options) in [("2026.9.6", " --force --accept-capabilities"), ("2026.7.35", "")] {
        let bench = Bench::with_openclaw(version).with_small_programs();
        let set = "config set plugins.entries.task-recovery";
        let commands = [
            format!("plugins install --link {}{options}", folder(&bench)),
            "plugins enable task-recovery".to_owned(),
            format!("{set}.hooks.allowConversationAccess true --strict-json"),
            format!("{set}.config {{\"maxAutoResumes\":3,\"cooldownMs\":15000}} --strict-json"),
        ];
        let dry = bench.run(&[&ON[..], &["--dry-run"]].concat()).ok().is_quiet().stdout();
        let shown: Vec<&str> = dry.lines().filter_map(|line| line.strip_prefix("# run: openclaw ")).collect();
        assert_eq!(shown.iter().map(|line| line.replace('\'', "")).collect::<Vec<_>>(), commands, "{dry}");
        assert_eq!((told(&bench), fs::read_dir(bench.ws()).unwrap().count()), (Vec::new(), 0));
        let answer = bench.answer(&ON);
        assert_eq!((&answer["changed"], answer.get("next")), (&json!(true), None), "{answer}");
        assert_eq!(answer["notes"].to_string().contains("has to be started anew"), version == "2026.7.35", "{answer}");
        assert_eq!(told(&bench), commands);
        let (entry, linked) = state(&bench);
        assert_eq!((&entry["enabled"], &entry["hooks"]["allowConversationAccess"]), (&json!(true), &json!(true)));
        assert_eq!(linked, json!([folder(&bench)]));
        // Again, with a word about it and without.
        forget_calls(&bench);
        for args in [&ON[..], &[], &["--plugin"]] {
            let answer = bench.answer(args);
            assert_eq!((&answer["changed"], answer.get("next")), (&json!(false), None), "{answer}");
        }
        assert_eq!(told(&bench), Vec::<String>::new());
        let dry = bench.run(&["--uninstall", "--dry-run"]).ok().stdout();
        assert!(
            dry.starts_with(&format!(
                "# {}\n# run: openclaw plugins uninstall task-recovery --force --keep-files\n",
                word(&bench.ws())
            )),
            "{dry}"
        );
        bench.answer(&["--uninstall"]);
        assert_eq!(state(&bench), (Value::Null, json!([])), "{version}");
        assert_eq!(fs::read_dir(bench.ws()).unwrap().count(), 0);
    }
}

#[test]
fn what_stood_in_the_configuration_comes_back() {
    let bench = Bench::with_openclaw("2026.9.6").with_small_programs();
    let before = json!({"enabled": false, "hooks": {"allowConversationAccess": false}, "config": {"maxAutoResumes": 1}});
    set_state(&bench, &before, &[]);
    bench.answer(&ON);
    let on = json!({"enabled": true, "hooks": {"allowConversationAccess": true}, "config": {"maxAutoResumes": 1}});
    assert_eq!(state(&bench).0, on, "options that a person set are theirs");
    // What a person does to it meanwhile is seen to, and is no earlier value.
    set_state(&bench, &json!({"enabled": false, "hooks": {"allowConversationAccess": false}}), &[&folder(&bench)]);
    bench.answer(&[]);
    assert_eq!(state(&bench).0, json!({"enabled": true, "hooks": {"allowConversationAccess": true}}));
    bench.answer(&["--uninstall"]);
    assert_eq!(state(&bench), (before, json!([])));
}

#[test]
fn a_command_that_fails_is_named_and_the_next_run_goes_on_from_there() {
    for (fails, command) in [
        ("link", "openclaw plugins install --link "),
        ("enable", "openclaw plugins enable task-recovery: It was refused: enable; then run: "),
        (
            "allowConversationAccess",
            "allowConversationAccess true --strict-json: It was refused: allowConversationAccess; then run: ",
        ),
        ("config", "openclaw config set plugins.entries.task-recovery.config "),
    ] {
        let bench = Bench::with_openclaw("2026.9.6").with_small_programs();
        let before = json!({"hooks": {"allowConversationAccess": false}});
        set_state(&bench, &before, &[]);
        bench.put("stand-ins/fails", fails);
        let ran = bench.run(&ON);
        ran.exits(74).complains(command).complains("--plugin --enable");
        assert_eq!(ran.stderr().lines().count(), 1, "{ran}");
        // Everything else is there, and a removal from here leaves nothing.
        assert!(bench.path("ws/bin/recovery-pass").exists() && bench.path("ws/plugins/task-recovery/index.js").exists());
        let cut = state(&bench);
        bench.answer(&["--uninstall"]);
        assert_eq!(state(&bench), (before.clone(), json!([])), "{fails}: {cut:?}");
        bench.run(&ON).exits(74);
        fs::remove_file(bench.path("stand-ins/fails")).unwrap();
        bench.answer(&ON);
        assert_eq!(state(&bench).0["hooks"]["allowConversationAccess"], true, "{fails}");
        // Nor is anything gone that is linked, when that cannot be undone.
        bench.put("stand-ins/fails", "forget");
        bench
            .run(&["--uninstall"])
            .exits(74)
            .complains("openclaw plugins uninstall task-recovery --force --keep-files: It was refused");
        assert!(bench.path("ws/plugins/task-recovery/index.js").exists() && bench.path("ws/bin/card").exists());
        fs::remove_file(bench.path("stand-ins/fails")).unwrap();
        bench.answer(&["--uninstall"]);
        assert_eq!(state(&bench), (before, json!([])), "{fails}");
    }
}

/// A version in between takes other options than either that is known.
#[test]
fn options_that_it_does_not_take_are_left_out() {
    let bench = Bench::with_openclaw("2026.7.35").with_small_programs();
    // It says that it is new, and behaves as the old one.
    let real = env!("CARGO_BIN_EXE_openclaw-stand-in");
    fs::remove_file(bench.path("stand-ins/openclaw")).unwrap();
    bench.workspace.write(
        "stand-ins/openclaw",
        &format!("#!/bin/sh\n[ \"$1\" != --version ] || exec echo 'OpenClaw 2026.8.2 (x)'\nexec '{real}' \"$@\"\n"),
    );
    bench.answer(&ON);
    let links: Vec<String> = told(&bench).into_iter().filter(|call| call.starts_with("plugins install")).collect();
    let expected = [" --force --accept-capabilities", " --force", ""]
        .map(|options| format!("plugins install --link {}{options}", folder(&bench)));
    assert_eq!(links, expected);
}

#[test]
fn it_is_red_until_openclaw_runs_it_and_tells_it_how_runs_end() {
    let bench = Bench::with_openclaw("2026.9.6");
    let answer = bench.answer(&["--trigger", "none", "--plugin"]);
    bench.pass();
    assert_eq!(finding(&bench).0, "OpenClaw does not know the plugin");
    // The commands that were printed are all that it takes.
    for command in answer["next"].as_array().unwrap() {
        bench.workspace.finish(shell(&bench, command.as_str().unwrap()), None).ok();
    }
    assert_eq!(bench.run(&["--check"]).ok().one()["ok"], true);
    let linked = folder(&bench);
    for (entry, what, remedy) in [
        (json!({"enabled": false}), "the plugin is not enabled", "openclaw plugins enable task-recovery"),
        (
            json!({"enabled": true}),
            "the plugin has no access to conversations, and is not told how runs end",
            "openclaw config set plugins.entries.task-recovery.hooks.allowConversationAccess true --strict-json",
        ),
    ] {
        set_state(&bench, &entry, &[&linked]);
        assert_eq!(finding(&bench), (what.to_owned(), remedy.to_owned()));
    }
    set_state(&bench, &json!({"enabled": true, "hooks": {"allowConversationAccess": true}}), &[&linked]);
    bench.put("stand-ins/plugin-error", "SyntaxError: Unexpected token");
    assert_eq!(
        finding(&bench),
        ("OpenClaw did not load the plugin: SyntaxError: Unexpected token".to_owned(), "openclaw plugins doctor".to_owned())
    );
    fs::remove_file(bench.path("stand-ins/plugin-error")).unwrap();
    bench.put("stand-ins/plugins-broken", "");
    assert!(
        finding(&bench).0.contains("cannot be seen: openclaw plugins inspect: plugins-broken: no registry"),
        "{:?}",
        finding(&bench)
    );
    bench.run(&ON).exits(77).complains("no registry");
    fs::remove_file(bench.path("stand-ins/plugins-broken")).unwrap();
    // A link that was made by hand goes with the files that it leads to.
    bench.answer(&["--uninstall"]);
    assert_eq!(state(&bench), (Value::Null, json!([])));
}

#[test]
fn without_openclaw_nothing_is_begun_and_what_was_there_stays() {
    let bench = Bench::new().with_small_programs();
    bench.run(&ON).exits(78).complains("openclaw is not on the PATH");
    bench.run(&["--trigger", "none", "--enable"]).exits(64).complains("give --plugin, too");
    bench.run(&["--check", "--enable", "--plugin"]).exits(64);
    assert_eq!(fs::read_dir(bench.ws()).unwrap().count(), 0);
    let bench = Bench::with_openclaw("2026.9.6").with_small_programs();
    bench.answer(&ON);
    fs::rename(bench.path("stand-ins/openclaw"), bench.path("stand-ins/gone")).unwrap();
    let answer = bench.answer(&[]);
    assert!(answer["notes"].to_string().contains("whether OpenClaw has the plugin was not seen"), "{answer}");
    let answer = bench.answer(&["--uninstall"]);
    assert!(answer["notes"].to_string().contains("what it was told stays: the plugin task-recovery"), "{answer}");
    assert_eq!(fs::read_dir(bench.ws()).unwrap().count(), 0);
}

/// OpenClaw has one plugin of a name: a second folder under it would cost it its record of the first.
#[test]
fn one_plugin_serves_all_workspaces() {
    let bench = Bench::with_openclaw("2026.9.6").with_small_programs();
    bench.workspace.shell("mkdir ws2").ok();
    let second = |args: &[&str]| {
        let mut command = bench.command(&bench.release.join("heartbeat-install"));
        command.args(["--workspace", word(&bench.path("ws2"))]).args(args);
        bench.workspace.finish(command, None).ok().is_quiet().one()
    };
    bench.answer(&ON);
    let answer = second(&ON);
    assert!(answer["notes"].to_string().contains("which serves this workspace, too"), "{answer}");
    assert_eq!(state(&bench).1, json!([folder(&bench)]));
    second(&["--uninstall"]);
    assert_eq!(state(&bench).1, json!([folder(&bench)]), "it is the first one's");
    // Once the first one's is gone, the second one has its own.
    second(&ON);
    bench.answer(&["--uninstall"]);
    assert_eq!(state(&bench), (Value::Null, json!([])));
    assert_eq!(second(&[])["changed"], true);
    assert_eq!(state(&bench).1, json!([word(&bench.path("ws2/plugins/task-recovery"))]));
    second(&["--uninstall"]);
    assert_eq!(state(&bench), (Value::Null, json!([])));
}

#[test]
fn a_workspace_that_moved_takes_its_link_along_and_a_copy_leaves_it() {
    let bench = Bench::with_openclaw("2026.9.6").with_small_programs();
    bench.answer(&ON);
    let mut entry = state(&bench).0;
    entry["config"] = json!({"maxAutoResumes": 7});
    set_state(&bench, &entry, &[&folder(&bench)]);
    bench.workspace.shell("cp -r ws copy && mv ws moved").ok();
    let elsewhere = |folder: &str, args: &[&str]| {
        let mut command = bench.command(&bench.release.join("heartbeat-install"));
        command.args(["--workspace", word(&bench.path(folder))]).args(args);
        bench.workspace.finish(command, None).ok().one()
    };
    elsewhere("moved", &[]);
    assert_eq!(state(&bench), (entry.clone(), json!([word(&bench.path("moved/plugins/task-recovery"))])));
    elsewhere("copy", &["--uninstall"]);
    assert_eq!(state(&bench), (entry, json!([word(&bench.path("moved/plugins/task-recovery"))])));
    elsewhere("moved", &["--uninstall"]);
    assert_eq!(state(&bench), (Value::Null, json!([])));
}

/// Whoever moves the folder makes the older version's configuration invalid, and then it only mends itself.
#[test]
fn a_configuration_that_is_invalid_is_named_with_what_mends_it() {
    let bench = Bench::with_openclaw("2026.7.35").with_small_programs();
    bench.answer(&ON);
    bench.workspace.shell("mv ws moved").ok();
    let moved = |args: &[&str]| {
        let mut command = bench.command(&bench.release.join("heartbeat-install"));
        command.args(["--workspace", word(&bench.path("moved"))]).args(args);
        bench.workspace.finish(command, None)
    };
    let named = "OpenClaw config is invalid: plugins.load.paths: plugin: plugin path not found";
    assert!(moved(&[]).ok().one()["notes"].to_string().contains(named));
    moved(&["--uninstall"]).exits(78).complains(named).complains("; run: mkdir -p ");
    assert!(bench.path("moved/plugins/task-recovery/index.js").exists());
    let found = moved(&["--check"]).exits(1).json();
    let ours = found.iter().find(|finding| finding["part"] == "plugin").unwrap();
    bench.workspace.finish(shell(&bench, ours["remedy"].as_str().unwrap()), None).ok();
    assert_eq!(moved(&[]).ok().one()["changed"], true);
    assert_eq!(state(&bench).1, json!([word(&bench.path("moved/plugins/task-recovery"))]));
    moved(&["--uninstall"]).ok();
    assert_eq!(state(&bench), (Value::Null, json!([])));
}
