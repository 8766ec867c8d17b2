//! HEARTBEAT.md on a version that reads it: every shape that it has in real workspaces.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use tests::install::Bench;

const OLD: &str = "2026.7.35";

/// Installs twice and uninstalls; what the file was in between.
fn round(bench: &Bench, before: Option<&str>) -> String {
    if let Some(text) = before {
        bench.put("ws/HEARTBEAT.md", text);
    }
    assert_eq!(bench.answer(&["--trigger", "heartbeat"])["changed"], true);
    let installed = bench.text("ws/HEARTBEAT.md");
    let again = bench.run(&["--trigger", "heartbeat"]).ok().stdout();
    assert!(again.contains("\"changed\":false"), "{again}");
    assert_eq!(bench.text("ws/HEARTBEAT.md"), installed);
    bench.answer(&["--uninstall"]);
    assert_eq!(fs::read_to_string(bench.path("ws/HEARTBEAT.md")).ok().as_deref(), before);
    installed
}

/// Whether OpenClaw would take it for empty: only blank lines, headings, comments, fences and empty bullets.
fn is_effectively_empty(text: &str) -> bool {
    text.lines().map(str::trim).all(|line| {
        line.is_empty()
            || line.starts_with('#')
            || line.starts_with("<!--")
            || line.starts_with("```")
            || ["-", "*", "- [ ]"].contains(&line)
    })
}

#[test]
fn without_a_tasks_block_it_gets_a_section() {
    let bench = Bench::with_openclaw(OLD).with_small_programs();
    for before in [
        None,
        Some(""),
        Some("<!-- Keep this file empty to skip heartbeats. -->\n\n# HEARTBEAT.md\n"),
        Some("# Heartbeat\n\nCheck the mail.\n"),
        Some("# Heartbeat\n\nCheck the mail."),
        Some("# Heartbeat\r\n\r\nCheck the mail.\r\n"),
        Some("# 心跳\n\n检查邮件，若有要紧的事就告诉我。\n"),
        Some("tasks:\n\n## Nothing in it\n"),
    ] {
        let text = round(&bench, before);
        assert!(text.starts_with(before.unwrap_or_default()), "{text}");
        let ours = &text[before.unwrap_or_default().len()..];
        assert!(ours.contains("\n## Task recovery") || ours.contains("\r\n## Task recovery"), "{text}");
        assert!(ours.contains("./bin/recovery-pass --quiet-token HEARTBEAT_OK"), "{text}");
        assert!(!is_effectively_empty(ours), "{text}");
        let crlf = before.is_some_and(|before| before.contains("\r\n"));
        assert_eq!(text.contains("\r\n"), crlf, "{text:?}");
        assert!(!crlf || !text.replace("\r\n", "").contains('\n'), "{text:?}");
    }
}

#[test]
fn a_tasks_block_gets_an_entry() {
    let bench = Bench::with_openclaw(OLD).with_small_programs();
    let mail = "- name: mail\n  interval: 30m\n  prompt: \"Check the mail\"\n";
    for (head, tail) in
        [("", ""), ("# Mine\n\nProse.\n\n", ""), ("# Mine\n\n", "\n## More\n\nProse.\n"), ("", "words that end it\n")]
    {
        let text = round(&bench, Some(&format!("{head}tasks:\n\n{mail}\n{mail}{tail}")));
        let entry =
            text.strip_prefix(&format!("{head}tasks:\n\n{mail}\n{mail}- name: task-recovery\n  interval: 5m\n  prompt: \""));
        let entry = entry.unwrap_or_else(|| panic!("{text}"));
        let (prompt, rest) = entry.split_once("\"\n").unwrap();
        assert_eq!(rest, tail);
        assert!(prompt.contains("./bin/recovery-pass --quiet-token HEARTBEAT_OK") && !prompt.contains(['"', '\n']), "{prompt}");
        assert!(!text.contains("<!--"), "a comment would end the block: {text}");
    }
}

#[test]
fn the_predecessors_section_makes_way_and_comes_back() {
    let bench = Bench::with_openclaw(OLD).with_small_programs();
    for heading in ["## Task Runtime Recovery Check", "## Task Recovery Check"] {
        let section = format!(
            "{heading}\n\n```bash\n# every time\npython3 scripts/task_runtime_watch.py --auto-resume\n```\n\nReport alerts.\n"
        );
        for (head, tail) in [("", ""), ("# Mine\n\n", "\n## More\n\nProse.\n")] {
            let text = round(&bench, Some(&format!("{head}{section}{tail}")));
            assert!(text.starts_with(head) && text.ends_with(tail), "{text}");
            assert!(!text.contains(heading) && !text.contains("python3") && text.contains("## Task recovery\n"), "{text}");
        }
    }
}

#[test]
fn our_older_section_is_refreshed_where_it_is() {
    let bench = Bench::with_openclaw(OLD).with_small_programs();
    bench.put("ws/HEARTBEAT.md", "# Mine\n\n<!-- task-recovery:begin -->\nolder words\n<!-- task-recovery:end -->\n\n## More\n");
    bench.answer(&["--trigger", "heartbeat"]);
    let text = bench.text("ws/HEARTBEAT.md");
    assert!(
        text.starts_with("# Mine\n\n<!-- task-recovery:begin") && text.ends_with("task-recovery:end -->\n\n## More\n"),
        "{text}"
    );
    assert!(!text.contains("older words") && text.contains("## Task recovery\n"), "{text}");
    assert_eq!(bench.answer(&["--trigger", "heartbeat"])["changed"], false);
    // Another language and another interval are refreshed in place, too.
    assert_eq!(bench.answer(&["--trigger", "heartbeat", "--lang", "zh"])["changed"], true);
    assert!(bench.text("ws/HEARTBEAT.md").contains("## 任务恢复\n"));
    bench.answer(&["--uninstall"]);
    assert_eq!(bench.text("ws/HEARTBEAT.md"), "# Mine\n\n\n## More\n");
}

#[test]
fn a_link_stays_one_and_a_mode_stays_as_it_was() {
    let bench = Bench::with_openclaw(OLD).with_small_programs();
    bench.workspace.shell("mkdir notes").ok();
    bench.put("notes/heartbeat.md", "Mine.\n");
    fs::set_permissions(bench.path("notes/heartbeat.md"), fs::Permissions::from_mode(0o444)).unwrap();
    symlink("../notes/heartbeat.md", bench.path("ws/HEARTBEAT.md")).unwrap();
    bench.answer(&["--trigger", "heartbeat"]);
    assert!(bench.text("notes/heartbeat.md").contains("## Task recovery\n"));
    let still = |bench: &Bench| {
        assert!(fs::symlink_metadata(bench.path("ws/HEARTBEAT.md")).unwrap().is_symlink());
        assert_eq!(fs::metadata(bench.path("notes/heartbeat.md")).unwrap().permissions().mode() & 0o7777, 0o444);
    };
    still(&bench);
    assert_eq!(bench.answer(&["--trigger", "heartbeat"])["changed"], false);
    bench.answer(&["--uninstall"]);
    still(&bench);
    assert_eq!(bench.text("notes/heartbeat.md"), "Mine.\n");
    // A link to what is not there yet.
    fs::remove_file(bench.path("ws/HEARTBEAT.md")).unwrap();
    symlink("../notes/none.md", bench.path("ws/HEARTBEAT.md")).unwrap();
    bench.answer(&["--trigger", "heartbeat"]);
    assert!(bench.text("notes/none.md").contains("## Task recovery\n"));
    bench.answer(&["--uninstall"]);
    assert!(!bench.path("notes/none.md").exists() && fs::symlink_metadata(bench.path("ws/HEARTBEAT.md")).unwrap().is_symlink());
}

#[test]
fn what_cannot_be_edited_safely_is_named_and_left() {
    let bench = Bench::with_openclaw(OLD).with_small_programs();
    fs::write(bench.path("ws/HEARTBEAT.md"), b"caf\xe9\n").unwrap();
    bench.run(&["--trigger", "heartbeat"]).exits(65).complains("HEARTBEAT.md is not UTF-8");
    bench.put("ws/HEARTBEAT.md", "<!-- task-recovery:begin -->\nwhere does it end?\n");
    bench
        .run(&["--trigger", "heartbeat"])
        .exits(65)
        .complains("HEARTBEAT.md: line 1 is the mark task-recovery:begin, without its end");
    assert_eq!(fs::read_dir(bench.ws()).unwrap().count(), 1);
}

#[test]
fn another_trigger_takes_the_text_out() {
    let bench = Bench::with_openclaw(OLD).with_small_programs();
    bench.put("ws/HEARTBEAT.md", "Mine.\n");
    bench.answer(&["--trigger", "heartbeat"]);
    bench.answer(&["--trigger", "cron"]);
    assert_eq!(bench.text("ws/HEARTBEAT.md"), "Mine.\n");
    assert!(bench.text("stand-ins/crontab.text").contains("recovery-pass"));
    bench.answer(&["--trigger", "heartbeat", "--trigger", "cron"]);
    assert!(bench.text("ws/HEARTBEAT.md").contains("## Task recovery\n"));
    bench.answer(&["--uninstall"]);
    assert_eq!(bench.text("ws/HEARTBEAT.md"), "Mine.\n");
    assert!(!bench.path("stand-ins/crontab.text").exists());
}

#[test]
fn a_long_file_is_warned_of() {
    let bench = Bench::with_openclaw(OLD).with_small_programs();
    bench.put("ws/HEARTBEAT.md", &"words\n".repeat(4000));
    let answer = bench.answer(&["--trigger", "heartbeat"]);
    assert!(answer["notes"].to_string().contains("OpenClaw reads 20000 of it"), "{answer}");
}

/// What a person wrote into our text is told before it goes, and what stands between the text and us is told with its line.
#[test]
fn what_a_person_wrote_into_our_text_is_named_and_a_damaged_mark_is_found() {
    let bench = Bench::with_openclaw(OLD).with_small_programs();
    bench.put("ws/HEARTBEAT.md", "# Mine\n");
    bench.answer(&["--trigger", "heartbeat"]);
    let ours = bench.text("ws/HEARTBEAT.md");
    let end = "<!-- task-recovery:end -->\n";
    let named = "HEARTBEAT.md: what someone wrote between our marks is taken out: \\\"Call my mother\\\"; write it outside of them";
    bench.put("ws/HEARTBEAT.md", &ours.replace(end, &format!("Call my mother\n{end}")));
    for uninstall in [&["--uninstall", "--dry-run"][..], &["--dry-run"]] {
        let diff = bench.run(uninstall).ok().stdout();
        assert!(diff.contains(&named.replace('\\', "")) && diff.contains("\n-Call my mother\n"), "{diff}");
    }
    assert!(bench.answer(&[]).to_string().contains(named));
    assert!(!bench.run(&[]).ok().stdout().contains("Call my mother"));
    assert_eq!(bench.text("ws/HEARTBEAT.md"), ours);
    bench.put("ws/HEARTBEAT.md", &ours.replace(end, ""));
    for args in [&[][..], &["--dry-run"], &["--uninstall"], &["--uninstall", "--dry-run"]] {
        bench.run(args).exits(65).complains("HEARTBEAT.md: line 3 is the mark task-recovery:begin, without its end");
    }
    // As it says.
    bench.put("ws/HEARTBEAT.md", &(ours.replace(end, "") + end));
    bench.answer(&["--uninstall"]);
    assert_eq!(bench.text("ws/HEARTBEAT.md"), "# Mine\n");
}

/// The note of the last pass is ours, also where there are cards.
#[test]
fn the_note_of_the_last_pass_goes_and_the_cards_stay() {
    let bench = Bench::with_openclaw(OLD);
    bench.answer(&["--trigger", "heartbeat"]);
    let cards = bench.path("ws/data/task-runs");
    fs::write(cards.join("a.json"), r#"{"task_id": "a", "status": "running", "created_at": "2026-11-30T01:00:00Z"}"#).unwrap();
    let pass = std::process::Command::new(bench.path("ws/bin/recovery-pass")).output().unwrap();
    assert!(pass.status.success() && cards.join(".last-pass").exists(), "{pass:?}");
    assert!(bench.run(&["--uninstall", "--dry-run"]).ok().stdout().contains("/.last-pass and "));
    bench.answer(&["--uninstall"]);
    let left: Vec<_> = fs::read_dir(&cards).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(
        left.iter().any(|name| name == "a.json") && !left.iter().any(|name| name == ".last-pass" || name == ".installed"),
        "{left:?}"
    );
}
