//! The machine of a run; start-up, size and system calls of each program.

use std::fs;
use std::io::{self, Write};
use std::process::Command;

use tests::{Workspace, minutes_from_now, programs, root, word};

use crate::measure::{Rival, compare, row, tool};
use crate::watch::fill;

const PROGRAMS: [&str; 4] = ["card", "checkpoint", "watch", "resume"];

/// Whose figures these are.
pub(crate) fn machine(out: &mut dyn Write) -> io::Result<()> {
    let text = |program: &str, args: &[&str]| {
        let output = Command::new(program).args(args).current_dir(root()).output().ok();
        output.and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default().trim().to_owned()
    };
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("").trim_start_matches(['\t', ':', ' ']);
    let folder = std::env::temp_dir();
    let disk = text("stat", &["-f", "-c", "%T", word(&folder)]);
    writeln!(out, "{}, commit {}", &minutes_from_now(0)[..10], text("git", &["rev-parse", "--short", "HEAD"]))?;
    writeln!(out, "{} cores, {model}, {}, cards on {disk}", text("nproc", &[]), text("uname", &["-sr"]))
}

pub(crate) fn bench(out: &mut dyn Write) -> io::Result<()> {
    let workspace = Workspace::new();
    writeln!(out, "\nstart-up (--version){:>48}    peak memory   size", "median")?;
    let mut rivals: Vec<Rival> =
        PROGRAMS.iter().map(|name| Rival::new(name, [word(&programs().join(name)), "--version"])).collect();
    rivals.push(Rival::new("true", ["/bin/true"]));
    let costs = compare(&rivals, &workspace.path(""), 51)?;
    for (rival, cost) in rivals.iter().zip(&costs) {
        row(out, &rival.name, *cost, None)?;
        if let Ok(meta) = fs::metadata(programs().join(&rival.name)) {
            writeln!(out, "{:>90} KiB", meta.len() / 1024)?;
        }
    }
    calls(out)
}

/// System calls that one more card costs `watch`, and all of a checkpoint.
fn calls(out: &mut dyn Write) -> io::Result<()> {
    if tool("strace").is_none() {
        return writeln!(out, "\nsystem calls: strace is not installed");
    }
    let of_watch = |cards: usize| -> io::Result<usize> {
        let workspace = Workspace::new();
        fill(&workspace.card_path(""), cards)?;
        Ok(count(&workspace, "watch", &[]))
    };
    let (few, many) = (of_watch(1_000)?, of_watch(2_000)?);
    let workspace = Workspace::new();
    workspace.run("card", &["create", "a", "--task-type", "t", "--title", "x"]).ok();
    workspace.run("checkpoint", &["a"]).ok();
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    let each = (many - few) as f64 / 1000.0;
    writeln!(out, "\nsystem calls of watch, one card more                          {each:>8.2}")?;
    writeln!(out, "system calls of a checkpoint, from start to end               {:>8}", count(&workspace, "checkpoint", &["a"]))
}

fn count(workspace: &Workspace, program: &str, args: &[&str]) -> usize {
    let words = args.join(" ");
    workspace.shell(&format!("strace -f -o trace '{}' {words} >/dev/null", word(&programs().join(program)))).ok();
    let is_call = |line: &&String| !line.contains("+++") && !line.contains("resumed>");
    workspace.lines("trace").iter().filter(is_call).count()
}
