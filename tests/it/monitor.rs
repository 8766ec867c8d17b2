//! `card report --format prometheus|html`: how all tasks stand.
//!
//! The golden files are written anew by `UPDATE_GOLDEN=1 cargo test -p tests monitor`, and read before they are committed.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use tests::{Ran, Workspace, has_tool, programs, root};

const NOW: &str = "2026-11-30T02:00:10Z";

/// Every section of the page, and values that would like to be more than text.
pub(crate) fn filled() -> Workspace {
    let workspace = Workspace::new();
    for file in fs::read_dir(root().join("tests/fixtures/monitor/cards")).unwrap() {
        let path = file.unwrap().path();
        workspace.put_card(path.file_stem().unwrap().to_str().unwrap(), &fs::read_to_string(&path).unwrap());
    }
    workspace.write(
        "data/task-runs/.last-pass",
        r#"{"finished_at":"2026-11-30T01:59:00Z","monotonic_ms":1000,"boot_id":"another","told":[]}"#,
    );
    workspace
}

pub(crate) fn report<'a>(workspace: &'a Workspace, format: &str, args: &[&str]) -> Ran<'a> {
    workspace.run("card", &[&["report", "--format", format, "--now", NOW][..], args].concat())
}

fn signals() -> String {
    fs::read_to_string(root().join("tests/fixtures/report/signals.jsonl")).unwrap()
}

/// The style has tests of its own.
#[track_caller]
fn golden(workspace: &Workspace, name: &str, text: &str) {
    let path = root().join("tests/fixtures/monitor").join(name);
    let text = text.replace(&programs().display().to_string(), "$BIN");
    let folder = workspace.path("").display().to_string();
    let mut text = text.replace(folder.trim_end_matches('/'), "$WORKSPACE");
    if let (Some(start), Some(end)) = (text.find("<style>"), text.find("</style>")) {
        text.replace_range(start + "<style>".len()..end, "$STYLE");
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some_and(|value| !value.is_empty()) {
        return fs::write(&path, text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "{name} differs\n--- expected\n{expected}\n--- found\n{text}");
}

/// What Prometheus itself has to say against metrics.
fn check_metrics(workspace: &Workspace, metrics: &str) {
    if has_tool("promtool") {
        let mut promtool = Command::new("promtool");
        promtool.args(["check", "metrics"]);
        let ran = workspace.finish(promtool, Some(metrics));
        assert_eq!(ran.ok().stdout() + &ran.stderr(), "", "{ran}");
    }
}

/// Every series with its value.
fn series(metrics: &str) -> BTreeMap<String, f64> {
    let lines: Vec<&str> = metrics.lines().filter(|line| !line.starts_with('#')).collect();
    let series: BTreeMap<String, f64> = lines
        .iter()
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
        .collect();
    assert_eq!(series.len(), lines.len(), "a series comes twice: {metrics}");
    series
}

#[test]
fn metrics_of_all_tasks() {
    let workspace = filled();
    let metrics = report(&workspace, "prometheus", &[]).ok().is_quiet().stdout();
    golden(&workspace, "metrics.prom", &metrics);
    check_metrics(&workspace, &metrics);
    assert_eq!(report(&workspace, "prometheus", &[]).stdout(), metrics);
}

#[test]
fn every_series_is_there_before_anything_happens() {
    let empty = Workspace::new();
    let metrics = report(&empty, "prometheus", &[]).ok().is_quiet().stdout();
    check_metrics(&empty, &metrics);
    let zero = series(&metrics);
    assert!(zero.len() > 50 && zero.values().all(|value| *value == 0.0), "{metrics}");
    let filled = filled();
    let metrics = report(&filled, "prometheus", &[]).stdout();
    let own = |name: &String| name.contains("which");
    let more: Vec<String> = series(&metrics).into_keys().filter(|name| !zero.contains_key(name) && !own(name)).collect();
    assert!(more.is_empty(), "{more:?}");
}

/// The metrics and watch look at the same cards in the same way.
#[test]
fn signals_are_those_of_watch() {
    let workspace = filled();
    let mut told: BTreeMap<(String, String), f64> = BTreeMap::new();
    for line in workspace.run("watch", &["--now", NOW]).ok().json() {
        let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        let reason = if text("signal") == "ready" { "pending".to_owned() } else { text("reason") };
        *told.entry((text("signal"), reason.replace('\n', " "))).or_default() += 1.0;
    }
    assert!(told.len() > 5, "{told:?}");
    let counted = series(&report(&workspace, "prometheus", &[]).stdout());
    for ((signal, reason), count) in &told {
        let reason = reason.replace('\\', r"\\").replace('"', "\\\"");
        let name = format!("task_recovery_signals{{signal=\"{signal}\",reason=\"{reason}\"}}");
        assert_eq!(counted.get(&name), Some(count), "{name}");
    }
    let all: f64 = counted.iter().filter(|(name, _)| name.starts_with("task_recovery_signals")).map(|(_, count)| count).sum();
    assert_eq!(all, told.values().sum::<f64>());
}

#[test]
fn tasks_own_reasons_cannot_flood_the_database() {
    let workspace = Workspace::new();
    for number in 0..60 {
        let attention = json!({"reason": format!("why\\\"\u{7}_{number}_{}", "x".repeat(500)), "since": NOW});
        let id = format!("t{number}");
        let card = json!({"task_id": id, "status": "needs_attention", "created_at": NOW, "attention": attention});
        workspace.put_card(&id, &card.to_string());
    }
    let metrics = report(&workspace, "prometheus", &[]).ok().stdout();
    check_metrics(&workspace, &metrics);
    let series = series(&metrics);
    let own: Vec<&String> = series.keys().filter(|name| name.contains("why")).collect();
    assert_eq!(own.len(), 20, "{own:?}");
    assert!(own.iter().all(|name| name.chars().count() < 150 && !name.contains('\u{7}')), "{own:?}");
    assert_eq!(series["task_recovery_signals{signal=\"needs_attention\",reason=\"other\"}"], 40.0);
}

#[test]
fn with_a_pass_its_lines_are_told_too() {
    let workspace = filled();
    let with_lines = |format: &str, input: &str| {
        let args = ["report", "-", "--format", format, "--now", NOW, "--lang", "en"];
        let ran = workspace.run_with("card", &args, input);
        (ran.status(), ran.stdout(), ran.stderr())
    };
    let (status, metrics, _) = with_lines("prometheus", &signals());
    assert_eq!(status, Some(0));
    check_metrics(&workspace, &metrics);
    let alone = report(&workspace, "prometheus", &[]).stdout();
    let counted = series(metrics.strip_prefix(&alone).unwrap());
    assert_eq!(counted.len(), 8, "{counted:?}");
    assert_eq!(counted.values().sum::<f64>(), signals().lines().map(|_| 1.0).sum::<f64>());
    let (status, page, _) = with_lines("html", &signals());
    assert_eq!(status, Some(0));
    golden(&workspace, "page-pass-en.html", &page);
    // What cannot be read is said, and the cards are told all the same.
    let (status, metrics, said) = with_lines("prometheus", "{broken\n");
    assert!(status == Some(65) && said.contains("line 1") && metrics.starts_with(&alone), "{said} {metrics}");
    let (status, page, _) = with_lines("html", "[7]\n");
    assert!(status == Some(65) && page.ends_with("</html>\n"), "{page}");
}

#[test]
fn a_page_in_both_languages() {
    let workspace = filled();
    for language in ["en", "zh"] {
        let page = report(&workspace, "html", &["--lang", language]).ok().is_quiet().stdout();
        golden(&workspace, &format!("page-{language}.html"), &page);
        // Nothing of it is somebody else's, and no value is more than text.
        for never in ["<script", "<img", "http-equiv=\"refresh\"", "src=\"", "@import", "url(", "\u{202e}"] {
            assert!(!page.contains(never), "{never}: {page}");
        }
        assert!(page.contains("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; &amp; &#39;mail&#39;"), "{page}");
    }
    let page = report(&workspace, "html", &["--refresh", "60"]).ok().stdout();
    assert!(page.contains("<meta http-equiv=\"refresh\" content=\"60\">"), "{page}");
    let quiet = Workspace::new();
    let page = report(&quiet, "html", &[]).ok().stdout();
    assert!(page.contains("There are no tasks.") && page.contains("no pass is recorded") && !page.contains("<article"), "{page}");
    quiet.put_card("a", r#"{"task_id": "a", "status": "running", "created_at": "2026-11-30T02:00:00Z"}"#);
    let page = report(&quiet, "html", &[]).ok().stdout();
    assert!(page.contains("Nothing needs a person.") && page.matches("<article").count() == 1, "{page}");
}

/// A person looks for the command: it is on the first screen of a phone, whatever a title is.
#[test]
fn a_title_of_a_page_has_a_limit() {
    let workspace = Workspace::new();
    let card = json!({"task_id": "a", "title": "W".repeat(100_000), "status": "needs_attention", "created_at": NOW});
    workspace.put_card("a", &card.to_string());
    let page = report(&workspace, "html", &[]).ok().stdout();
    assert_eq!(page.matches('W').count(), 199, "{page}");
}

/// A card of another program may be full of them.
#[test]
fn a_page_has_the_newest_checkpoints_and_counts_all() {
    let workspace = Workspace::new();
    let checkpoints: Vec<Value> = (0..20_000).map(|n| json!({"phase": "p", "at": NOW, "message": format!("m{n}")})).collect();
    let card = json!({"task_id": "a", "status": "running", "created_at": NOW, "checkpoints": checkpoints});
    workspace.put_card("a", &card.to_string());
    let page = report(&workspace, "html", &["--lang", "en"]).ok().stdout();
    assert!(page.contains("The last 30 of 20000 checkpoints") && page.len() < 20_000, "{}", page.len());
    assert!(page.contains(">m19999<") && page.contains(">m19970<") && !page.contains(">m19969<"), "the newest are shown");
}

/// It may be opened far from the workspace, and IDs are the same in many.
#[test]
fn a_page_leads_to_the_workspace_that_its_commands_are_for() {
    let workspace = Workspace::new();
    let card = r#"{"task_id": "a", "status": "needs_attention", "created_at": "2026-11-30T02:00:00Z"}"#;
    workspace.put_card("a", card);
    for other in ["it's/data/task-runs", "its cards"] {
        fs::create_dir_all(workspace.path(other)).unwrap();
    }
    workspace.write("it's/data/task-runs/a.json", card);
    workspace.write("its cards/a.json", card);
    let folder = workspace.path("").display().to_string();
    let folder = folder.trim_end_matches('/');
    let page = |place: &str| workspace.shell(&format!("{place} card report --format html --lang en --now {NOW}")).ok().stdout();
    let leads = |page: &str, way: &str| assert!(page.contains(&format!("<code>{way}</code>")), "{way}\n{page}");
    leads(&page(""), &format!("cd &#39;{folder}&#39;"));
    leads(&page("cd \"it's\";"), &format!("cd &#39;{folder}/it&#39;\\&#39;&#39;s&#39;"));
    leads(&page("TASK_RUNS_DIR='its cards'"), &format!("export TASK_RUNS_DIR=&#39;{folder}/its cards&#39;"));
}

#[test]
fn a_page_has_a_limit_and_counts_the_rest() {
    let workspace = Workspace::new();
    for number in 0..230 {
        let id = format!("p{number}");
        workspace.put_card(&id, &json!({"task_id": id, "status": "needs_attention", "created_at": NOW}).to_string());
        let id = format!("f{number}");
        let ended = format!("2026-11-29T{:02}:{:02}:00Z", number / 60, number % 60);
        workspace.put_card(&id, &json!({"task_id": id, "status": "completed", "created_at": NOW, "updated_at": ended}).to_string());
    }
    let page = report(&workspace, "html", &[]).ok().stdout();
    assert_eq!(page.matches("<article").count(), 200 + 50, "{page}");
    assert!(page.contains("… and 30 more") && page.contains("… and 180 more"), "{page}");
    assert!(page.contains("<code>f229</code>") && !page.contains("<code>f179</code>"), "the newest are shown");
}

#[test]
fn what_does_not_go_together_is_refused() {
    let workspace = Workspace::new();
    let refused: [(&[&str], &str); 9] = [
        (&["--format", "prometheus", "a"], "all cards"),
        (&["--format", "html", "--plain"], "all cards"),
        (&["-", "--format", "html", "--quiet-token", "X"], "all cards"),
        (&["--format", "prometheus", "--refresh", "5"], "--refresh is of --format html"),
        (&["--refresh", "5"], "--refresh is of --format html"),
        (&["-", "--refresh", "5"], "--refresh is of --format html"),
        (&["--format", "html", "--refresh", "soon"], "--refresh"),
        (&["--format", "chat"], "--format chat needs -"),
        (&["--format", "xml"], "text, chat, prometheus, html"),
    ];
    for (args, why) in refused {
        let ran = workspace.run("card", &[&["report"][..], args].concat());
        assert_eq!(ran.exits(64).complains(why).stdout(), "");
    }
}

/// Both read, and nothing else.
#[test]
fn looking_changes_nothing() {
    let workspace = filled();
    let state = |workspace: &Workspace| -> Vec<(String, Vec<u8>)> {
        let mut files: Vec<_> = fs::read_dir(workspace.card_path(""))
            .unwrap()
            .map(|file| file.unwrap().path())
            .map(|path| (path.display().to_string(), fs::read(&path).unwrap_or_default()))
            .collect();
        files.sort();
        files
    };
    let before = state(&workspace);
    report(&workspace, "prometheus", &[]).ok();
    report(&workspace, "html", &[]).ok();
    assert_eq!(before, state(&workspace));
}

/// A card whose depth is broken is quiet or not as watch says, and the page still shows it.
#[test]
fn a_card_that_is_only_half_good() {
    let workspace = Workspace::new();
    let bad = format!("{{\"task_id\": \"deep\", \"status\": \"running\", \"created_at\": \"{NOW}\", \"other\": 1e999999}}");
    workspace.put_card("deep", &bad);
    let watched: Vec<Value> = workspace.run("watch", &["--now", NOW]).ok().json();
    let counted = series(&report(&workspace, "prometheus", &[]).ok().stdout());
    let broken: f64 = counted.iter().filter(|(name, _)| name.starts_with("task_recovery_unusable")).map(|(_, count)| count).sum();
    assert_eq!(broken, watched.iter().map(|_| 1.0).sum::<f64>());
    assert!(report(&workspace, "html", &[]).ok().stdout().contains("<code>deep</code>"));
}
