//! `watch` over folders of growing size, beside the floor of its three system calls a card, and what people would use instead.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tests::{Workspace, minutes_from_now, programs, root, word};

use crate::measure::{Cost, Rival, compare, python, row, tool};

const SIZES: [usize; 4] = [10, 1_000, 10_000, 100_000];
/// Of a hundred cards so many run, and one of these is silent; the others are finished.
const RUNNING_PERCENT: usize = 5;
/// The watchdog's rule for jq.
const JQ: &str = r#"select(.status == "running" or .status == "stalled")
  | select((now - ((.last_checkpoint_at // .created_at) | fromdateiso8601)) / 60 > (.stale_after_minutes // 30))
  | {signal: "alert", task_id, phase}"#;

pub(crate) fn bench(out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "\nthe folders have the mode that the programs give them, 0700; watch works on up to four cores, its rivals on one"
    )?;
    let mut previous: Option<(usize, f64)> = None;
    for size in SIZES {
        let workspace = Workspace::new();
        let folder = workspace.card_path("");
        fill(&folder, size)?;
        let rounds = if size > 10_000 { 5 } else { 15 };
        writeln!(out, "\nwatch, {size} cards{:>49}    peak memory   watch is", "median")?;
        let rivals = rivals(&folder);
        let costs = compare(&rivals, &workspace.path(""), rounds)?;
        for (rival, cost) in rivals.iter().zip(&costs) {
            row(out, &rival.name, *cost, (rival.name != "watch").then_some(costs[0]))?;
        }
        absent(out)?;
        if let Some((smaller, seconds)) = previous.filter(|(smaller, _)| *smaller >= 1_000) {
            let exponent = (costs[0].seconds / seconds).ln() / ratio(size, smaller).ln();
            writeln!(out, "  cost grows with the number of cards to the power of {exponent:.2} from {smaller} on")?;
        }
        previous = Some((size, costs[0].seconds));
    }
    archived(out)
}

#[expect(clippy::cast_precision_loss, reason = "numbers of cards")]
fn ratio(more: usize, less: usize) -> f64 {
    more as f64 / less as f64
}

fn rivals(folder: &Path) -> Vec<Rival> {
    let folder = word(folder);
    let own = std::env::current_exe().unwrap_or_default();
    let mut rivals = vec![
        Rival::new("watch", [word(&programs().join("watch"))]),
        Rival::new("floor: list, open, read, close", [word(&own.with_file_name("floor")), "read", folder]),
        Rival::new("ls -U", ["ls", "-U", folder]),
        Rival::new("find -mmin +30", ["find", folder, "-name", "*.json", "-mmin", "+30"]),
        Rival::new("grep -l", ["grep", "-rl", "--include=*.json", "\"status\": \"running\"", folder]),
    ];
    if tool("jq").is_some() {
        let script = "find \"$1\" -name '*.json' -print0 | xargs -0 jq -c \"$2\"";
        rivals.push(Rival::new("jq -c with the same rule", ["sh", "-c", script, "sh", folder, JQ]));
    }
    if let Some(python) = python() {
        let script = root().join("tests/bench/watch.py");
        rivals.push(Rival::new("Python with the same rule", [&python, script.as_os_str(), folder.as_ref()]));
    }
    rivals
}

fn absent(out: &mut dyn Write) -> io::Result<()> {
    if tool("jq").is_none() {
        writeln!(out, "  jq is not installed")?;
    }
    if python().is_none() {
        writeln!(out, "  python3 is not installed")?;
    }
    Ok(())
}

/// Years of finished tasks, filed away, beside none.
fn archived(out: &mut dyn Write) -> io::Result<()> {
    let (few, many) = (Workspace::new(), Workspace::new());
    fill(&few.card_path(""), 1_000)?;
    fill(&many.card_path(""), 1_000)?;
    fs::create_dir(many.card_path("archive"))?;
    fill(&many.card_path("archive"), 99_000)?;
    let rival = |name: &str, workspace: &Workspace| {
        let watch = programs().join("watch");
        Rival::new(name, [word(&watch), "--workspace", word(&workspace.path(""))])
    };
    let rivals = [rival("1,000 cards, and 99,000 in the archive", &many), rival("1,000 cards alone", &few)];
    let costs: Vec<Cost> = compare(&rivals, &few.path(""), 31)?;
    writeln!(out, "\nwatch beside an archive{:>45}    peak memory", "median")?;
    row(out, &rivals[0].name, costs[0], None)?;
    row(out, &rivals[1].name, costs[1], Some(costs[0]))
}

/// Cards of two to three kilobytes, as real tasks leave them, in a folder of the mode that the programs make it with.
pub(crate) fn fill(folder: &Path, count: usize) -> io::Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    // Whole seconds, as cards have them.
    let time = |minutes: i64| format!("{}Z", &minutes_from_now(minutes)[..19]);
    let (now, silent) = (time(-1), time(-45));
    for number in 0..count {
        let percent = number % 100;
        let (status, last) = match percent {
            0 => ("running", &silent),
            1..RUNNING_PERCENT => ("running", &now),
            _ => (["completed", "completed", "completed", "failed", "cancelled"][percent % 5], &silent),
        };
        let id = format!("report_{number:06}");
        fs::write(folder.join(format!("{id}.json")), card(&id, status, last))?;
    }
    Ok(())
}

fn card(id: &str, status: &str, last: &str) -> String {
    let checkpoints: Vec<String> = (1..=16)
        .map(|number| {
            format!("    {{\n      \"phase\": \"collect\",\n      \"at\": \"{last}\",\n      \"message\": \"{} of 1000 sources\"\n    }}", number * 50)
        })
        .collect();
    format!(
        r#"{{
  "schema_version": 1,
  "revision": 23,
  "task_id": "{id}",
  "task_type": "report-generation",
  "title": "Weekly report for the operations team",
  "created_at": "2026-01-05T08:00:00Z",
  "updated_at": "{last}",
  "status": "{status}",
  "phase": "collect",
  "stale_after_minutes": 30,
  "allow_auto_resume": true,
  "resume_adapter": "/home/user/workspace/tmp/task-runtime/{id}/task_resume.sh",
  "max_retries": 3,
  "timeout_seconds": 300,
  "cooldown_seconds": 15,
  "attempt": 1,
  "retry_count": 0,
  "failures": 1,
  "artifacts": {{
    "sources": "/home/user/workspace/tmp/task-runtime/{id}/sources.json",
    "draft": "/home/user/workspace/tmp/task-runtime/{id}/draft.md"
  }},
  "metadata": {{
    "owner": "main",
    "channel": "ops"
  }},
  "checkpoints": [
{}
  ],
  "checkpoint_count": 16,
  "last_checkpoint_at": "{last}"
}}
"#,
        checkpoints.join(",\n")
    )
}
