//! What people are told when something is wrong: each line says what, which, why, and what to do.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;

use tests::{Workspace, root};

const PROGRAMS: [&str; 5] = ["card", "checkpoint", "watch", "resume", "heartbeat-install"];

/// A command, what is on its stdin, its exit status, and what it says.
type Case = (&'static str, &'static str, i32, &'static str);

const CREATE: &str = "card create n --task-type t --title T";

const CASES: [Case; 92] = [
    ("card", "", 64, "say what to do: create, update,"),
    ("card frob", "", 64, "\"frob\" is nothing that card does; see --help"),
    ("card --frob", "", 64, "invalid option '--frob'; see --help"),
    ("card create", "", 64, "create: --task-type is missing"),
    ("card create --task-type t", "", 64, "create: --title is missing"),
    ("card create a b --task-type t --title T", "", 64, "\"b\" is one ID too many, after a"),
    ("card create a/b --task-type t --title T", "", 64, "\"a/b\" is no task ID: letters, digits,"),
    (CREATE, "--status done", 64, "\"done\" is no status to begin with; known are pending, running"),
    (CREATE, "--max-retries many", 64, "--max-retries: \"many\" is no whole number of 0 or more"),
    (CREATE, "--stale-after-minutes -1", 64, "--stale-after-minutes: \"-1\" is no number of 0 or more"),
    (CREATE, "--resume-adapter /a --scaffold sh", 64, "--resume-adapter and --scaffold exclude each other"),
    (CREATE, "--resume-adapter /a -- true", 64, "an adapter and a command exclude each other"),
    (CREATE, "--", 64, "there is no command after --"),
    (CREATE, "--meta a", 64, "--meta: \"a\" is not of the form NAME=VALUE"),
    (CREATE, "--artifact a=", 64, "--artifact: the path is empty"),
    (CREATE, "--depends-on n", 64, "--depends-on: n cannot wait for itself"),
    (CREATE, "--scaffold perl", 64, "\"perl\" is no template; known are sh, python"),
    (CREATE, "--mode", 64, "missing argument for option '--mode'; see --help"),
    (CREATE, "--now yesterday", 64, "--now: \"yesterday\" is no RFC 3339 time such as 20"),
    (CREATE, "--workspace /nonexistent", 78, "--workspace /nonexistent is no folder; make it first, or correct the name"),
    (
        "card create open --task-type t --title T",
        "",
        73,
        "task open exists already: $W/data/task-runs/open.json; choose another ID",
    ),
    ("card show", "", 64, "show: say which task"),
    ("card show nobody", "", 66, "no task nobody in this workspace; see card list, or give --workspace DIR"),
    ("card show open -", "", 64, "show: a task or -, not both"),
    ("card show -", "", 64, "show -: say which --field"),
    ("card show - --field a", "<", 65, "standard input is no JSON value: it ends too early, at line 1 column 0"),
    ("card show open --format xml", "", 64, "\"xml\" is no format; known are json, text"),
    ("card log nobody", "", 66, "no task nobody in this workspace"),
    ("card list --status odd", "", 64, "\"odd\" is no status; known are pending, running, stalled, needs_attention,"),
    ("card complete", "", 64, "complete: say which task"),
    ("card fail", "", 64, "fail: say which task"),
    ("card block", "", 64, "block: say which task"),
    ("card cancel", "", 64, "cancel: say which task"),
    ("card approve", "", 64, "approve: say which task"),
    ("card update", "", 64, "update: say which task"),
    (
        "card complete waiting",
        "",
        77,
        "nothing was done yet; start it with resume waiting, record what was done with checkpoint, or",
    ),
    ("card fail waiting", "", 77, "nothing was done yet; cancel it instead: card cancel waiting"),
    ("card approve over", "", 77, "over is completed and never changes again; make a new task"),
    ("card approve filed", "", 77, "filed is filed away and never changes again; make a new task"),
    ("card put open", "<", 65, "standard input is no card of open: it is empty"),
    ("card put open", "<{\"task_id\":\"other\"}", 65, "standard input is no card of open: missing field `status`"),
    ("card archive open", "", 77, "open is not filed away: it is running, not finished"),
    ("card archive --older-than soon", "", 64, "\"soon\" is no age: a whole number with m, h, d or w, such as 7d"),
    ("card archive --status running", "", 64, "is no status of a finished task; known are completed, failed, cancelled"),
    ("card prune", "", 64, "prune: --older-than is missing: what is deleted is gone, so say how old it must be"),
    ("card import", "", 64, "import: --from is missing; known are task-state, task-status,"),
    ("card import --from pigeon", "", 64, "\"pigeon\" is no source; known are task-state, task-status,"),
    ("card import --from task-runtime", "", 64, "say which folder holds the cards, data/task-runs for example"),
    ("card import --from task-runtime /nonexistent", "", 74, "cannot list /nonexistent: No such file or directory"),
    ("card import --from task-state .", "", 65, "it is a folder, not a regular file; it is left alone"),
    ("card import --from task-state -", "<{", 65, "standard input: it ends too early, at line 1 column 1"),
    (
        "card import --from task-state -",
        "<{\"taskId\": 7}",
        65,
        "standard input: taskId is 7; a text in quotation marks was expected",
    ),
    ("card import --from task-state -", "<{\"taskId\":\"a\",\"taskId\":\"b\"}", 65, "duplicate field `taskId`"),
    (
        "card import --from task-state -",
        "<{\"taskId\":\"filed\"}",
        77,
        "filed is filed away and never changes again, but standard input goes on with it: give it another taskId",
    ),
    ("card import --from openclaw-run -", "<garbage", 65, "the runs have \"garbage\", which is no JSON record; it is skipped"),
    ("card export open", "", 64, "export: --to is missing; known is task-state"),
    ("card export open --to task-state /nonexistent/f", "", 74, "cannot write /nonexistent/f: create: No such file or directory"),
    ("card report --format chat", "", 64, "--format chat needs - and the lines of resume in a pipe; see --help"),
    ("card report - open", "<", 64, "- reads what a pass tells of all tasks; leave the IDs out, or leave - out"),
    ("card report --lang de", "", 64, "\"de\" is no language of ours; known are en, zh"),
    ("card report -", "<x y", 65, "standard input: \"x y\" is no task ID"),
    ("card report -", "<{x", 65, "line 1 of standard input is skipped: the JSON value does not end"),
    ("checkpoint", "", 64, "say which task; see --help"),
    ("checkpoint open --status pending", "", 64, "is no status that work can lead to; known are running, stalled,"),
    ("checkpoint open --result r", "", 64, "--result needs a --step before it"),
    ("checkpoint open --step #3", "", 64, "open has no step #3, it has 2; see card show open"),
    ("checkpoint open --verified-artifact x=/nonexistent", "", 74, "cannot measure the artifact x: /nonexistent: No such file"),
    ("checkpoint open -", "<[1]", 65, "standard input is no JSON object: invalid type: array, expected an object"),
    ("checkpoint open -", "<{\"revision\":1}", 65, "standard input is a card, not a checkpoint; card put takes whole cards"),
    ("checkpoint open -", "<{\"status\":\"odd\"}", 65, "standard input's status is \"odd\"; running, stalled, needs_attention,"),
    ("checkpoint open -", "<{\"phase\":7}", 65, "standard input's phase is 7; a text was expected"),
    (
        "checkpoint open -",
        "<{\"steps\":[\"x\"]}",
        65,
        "standard input's step \"x\" has no name, or another status than pending, done or failed",
    ),
    ("checkpoint open -", "<{\"artifacts\":{\"a\":7}}", 65, "standard input's artifact a is 7; a path was expected"),
    ("checkpoint over --message m", "", 77, "over is completed and never changes again; make a new task"),
    (
        "checkpoint torn --message m",
        "",
        65,
        "the card of torn is not valid: it ends too early, at line 1 column 1; correct $W/data/task-runs/torn.json by hand",
    ),
    ("checkpoint link --message m", "", 74, "it is a symbolic link, not a regular file; see ls -l '$W/data/task-runs/link.json'"),
    ("checkpoint later --message m", "", 65, "schema_version is 9, this program knows 1: update task-recovery"),
    ("checkpoint misnamed --message m", "", 65, "task_id is \"other\", the file's name says \"misnamed\"; correct $W"),
    ("watch ls", "", 64, "this is task-recovery's watch, which looks after run cards; the one of procps"),
    ("watch --format xml", "", 64, "\"xml\" is no format; known are jsonl, text, report, ids"),
    ("watch --explain nobody", "", 66, "no task nobody in this workspace; see card list, or give --workspace DIR"),
    ("resume --jobs 0", "", 64, "--jobs 0 would start nothing; give 1 or more"),
    ("resume --force", "<", 64, "--force is for tasks that are named as arguments; name them"),
    ("resume --detach --budget-seconds 3", "<", 64, "with --detach give --timeout-seconds"),
    ("resume", "<{\"x\": 1}", 65, "standard input has an object with \"x\" and without task_id; it is skipped"),
    ("resume nobody", "", 66, "no task nobody in this workspace; see card list, or give --workspace DIR"),
    ("heartbeat-install --trigger pigeon", "", 64, "\"pigeon\" is no trigger; known are auto, heartbeat, automation, cron,"),
    ("heartbeat-install --every soon", "", 64, "--every: \"soon\" is no time such as 90s, 5m or 1h"),
    ("heartbeat-install --check --uninstall", "", 64, "--check and --uninstall: give one of them"),
    ("heartbeat-install --uninstall --every 5m", "", 64, "--uninstall goes by what was installed; it takes no other option"),
    ("heartbeat-install --all-agents", "", 78, "--all-agents: openclaw is not on the PATH; see to that, or give --workspace DIR"),
    (
        "heartbeat-install --workspace /nonexistent",
        "",
        78,
        "--workspace /nonexistent is no folder; make it first, or correct the name",
    ),
];

/// Tasks in every state, and files that are no cards.
fn filled() -> Workspace {
    let workspace = Workspace::new();
    let create = |id: &str, more: &[&str]| {
        let args = [&["create", id, "--task-type", "t", "--title", "T"], more].concat();
        workspace.run("card", &args).ok();
    };
    create("open", &["--step", "one", "--step", "two"]);
    create("waiting", &["--status", "pending"]);
    for id in ["over", "filed"] {
        create(id, &[]);
        workspace.run("card", &["complete", id]).ok();
    }
    workspace.run("card", &["archive", "filed"]).ok();
    workspace.put_card("torn", "{");
    workspace.put_card("later", r#"{"schema_version": 9, "task_id": "later"}"#);
    workspace.put_card("misnamed", r#"{"task_id": "other", "status": "running", "created_at": "2026-11-30T01:00:00Z"}"#);
    symlink("/etc/passwd", workspace.card_path("link.json")).unwrap();
    workspace
}

#[test]
fn an_error_is_one_line_that_helps() {
    let workspace = filled();
    let folder = workspace.path("").display().to_string();
    for (command, more, status, text) in CASES {
        let (options, input) = match more.strip_prefix('<') {
            Some(input) => ("", Some(input)),
            None => (more, None),
        };
        let words: Vec<&str> = command.split(' ').chain(options.split(' ').filter(|word| !word.is_empty())).collect();
        let (program, args) = words.split_first().unwrap();
        let ran = match input {
            Some(input) => workspace.run_with(program, args, input),
            None => workspace.run(program, args),
        };
        let text = text.replace("$W", folder.trim_end_matches('/'));
        ran.exits(status).complains(&text);
        let line = ran.stderr();
        assert!(
            line.starts_with(&format!("{program}: ")) && !line.trim_end().ends_with('.') && !line.contains("os error"),
            "{ran}"
        );
    }
}

#[test]
fn a_card_that_is_broken_in_the_archive_is_named_by_its_path_there() {
    let workspace = Workspace::new();
    fs::create_dir_all(workspace.card_path("archive")).unwrap();
    fs::write(workspace.card_path("archive/torn.json"), "{").unwrap();
    workspace.put_card("half", "{");
    let filed = format!("correct {} by hand", workspace.card_path("archive/torn.json").display());
    for command in ["show torn", "export torn --to task-state", "list --archived", "prune --older-than 1d"] {
        let ran = workspace.run("card", &command.split(' ').collect::<Vec<_>>());
        assert!(ran.exits(65).stderr().contains(&filed), "{ran}");
    }
    let ran = workspace.run("card", &["archive"]);
    assert!(ran.exits(65).stderr().contains(&format!("correct {} by hand", workspace.card_path("half.json").display())), "{ran}");
}

#[test]
fn a_long_or_hostile_value_is_told_in_a_line_that_a_person_can_read() {
    let workspace = Workspace::new();
    let value = format!("\u{202e}{}", "A".repeat(100_000));
    let told = workspace.run("card", &["create", "n", "--task-type", "t", "--title", "T", "--step", &value]);
    told.exits(64);
    let line = told.stderr();
    let line = line.trim_end();
    assert!(line.chars().count() < 1100 && line.lines().count() == 1, "{}", line.len());
    assert!(line.starts_with("card: --step: ") && line.ends_with("is no name: one line of 1 to 256 bytes"), "{line}");
    assert!(!line.contains('\u{202e}'), "{line}");
}

#[test]
fn help_and_manual_name_the_statuses_that_a_program_ends_with() {
    let workspace = filled();
    let manuals =
        ["card/card.1", "checkpoint/checkpoint.1", "watch/watch.1task", "resume/resume.1", "heartbeat-install/heartbeat-install.1"];
    for (program, manual) in PROGRAMS.iter().zip(manuals) {
        let help = workspace.run(program, &["--help"]).ok().stdout();
        let (_, told) = help.split_once("Exit status: ").unwrap();
        let words = told.split(|c: char| !c.is_ascii_alphanumeric() && c != '+');
        let in_help: BTreeSet<u8> = words.filter_map(|word| word.parse().ok()).collect();
        let page = fs::read_to_string(root().join(manual)).unwrap();
        let section = page.split_once(".Sh EXIT STATUS\n").unwrap().1.split(".Sh ").next().unwrap();
        let items: BTreeSet<u8> = section.lines().filter_map(|line| line.strip_prefix(".It ")?.parse().ok()).collect();
        assert_eq!(in_help, items, "{program}");
        // What is seen here is told there.
        let seen = CASES.iter().filter(|(command, ..)| command.split(' ').next() == Some(program));
        for (command, _, status, _) in seen {
            assert!(items.contains(&u8::try_from(*status).unwrap()), "{command}: {status}");
        }
        // So is what its own source says.
        let mut said = BTreeSet::new();
        source(&root().join(program).join("src"), &mut |text| {
            for (name, status) in [
                ("Error::data(", 65),
                ("=Exit::BadData", 65),
                ("Error::new(Exit::NoTask,", 66),
                ("Error::new(Exit::Exists,", 73),
                ("Error::io(", 74),
                ("Error::new(Exit::Busy,", 75),
                ("Error::refused(", 77),
                ("Error::new(Exit::Config,", 78),
            ] {
                if text.contains(name) {
                    said.insert(status);
                }
            }
        });
        assert!(said.is_subset(&items), "{program}: {said:?} {items:?}");
    }
}

fn source(folder: &std::path::Path, see: &mut dyn FnMut(&str)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            source(&path, see);
        } else {
            see(&fs::read_to_string(&path).unwrap().replace(char::is_whitespace, ""));
        }
    }
}
