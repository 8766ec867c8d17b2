//! `checkpoint` as a whole process, beside the four steps of a durable replace alone, and what people would use instead.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};

use tests::{Workspace, programs, root, word};

use crate::measure::{Rival, compare, python, row, tool};

const ROUNDS: usize = 101;
/// Writers at once.
const WRITERS: usize = 16;

pub(crate) fn bench(out: &mut dyn Write) -> io::Result<()> {
    let workspace = Workspace::new();
    let create = |id: &str| {
        workspace.run("card", &["create", id, "--task-type", "t", "--title", "Weekly report", "--phase", "collect"]).ok();
    };
    create("ours");
    (0..WRITERS).for_each(|number| create(&format!("many_{number}")));
    for number in 0..16 {
        workspace.run("checkpoint", &["ours", "--message", &format!("{} of 1000 sources", number * 50)]).ok();
    }
    for copy in ["floor.json", "python.json"] {
        fs::copy(workspace.card_path("ours.json"), workspace.path(copy))?;
    }
    let floor = std::env::current_exe()?.with_file_name("floor");
    let checkpoint = programs().join("checkpoint");
    let mut rivals = vec![
        // A message that is there already: the card stays as large as it is.
        Rival::new("checkpoint", [word(&checkpoint), "ours", "--message", "750 of 1000 sources"]),
        Rival::new("floor: read, write, fsync, rename, fsync folder", [word(&floor), "replace", "floor.json"]),
    ];
    if let Some(python) = python() {
        let script = root().join("tests/bench/checkpoint.py").into_os_string();
        rivals.push(Rival::new("Python, the same steps and a lock", [python, script, "python.json".into(), "750 of 1000".into()]));
    }
    if let Some(sqlite) = tool("sqlite3") {
        let table = "CREATE TABLE card (id TEXT PRIMARY KEY, body TEXT); INSERT INTO card VALUES ('ours', hex(randomblob(1000)));";
        workspace.shell(&format!("sqlite3 cards.db \"{table}\"")).ok();
        let update: OsString = "PRAGMA synchronous=FULL; UPDATE card SET body = hex(randomblob(1000)) WHERE id = 'ours';".into();
        rivals.push(Rival::new("sqlite3, one durable UPDATE", [sqlite, "cards.db".into(), update]));
    }
    writeln!(out, "\ncheckpoint, a whole process{:>41}    peak memory   checkpoint is", "median")?;
    let costs = compare(&rivals, &workspace.path(""), ROUNDS)?;
    for (number, (rival, cost)) in rivals.iter().zip(&costs).enumerate() {
        row(out, &rival.name, *cost, (number > 0).then_some(costs[0]))?;
    }
    if tool("sqlite3").is_none() {
        writeln!(out, "  sqlite3 is not installed")?;
    }
    at_once(out, &workspace)
}

/// Sixteen at once, on one card and on sixteen, beside sixteen floors at once.
fn at_once(out: &mut dyn Write, workspace: &Workspace) -> io::Result<()> {
    let floor = std::env::current_exe()?.with_file_name("floor");
    for number in 0..WRITERS {
        fs::copy(workspace.path("floor.json"), workspace.path(&format!("floor_{number}.json")))?;
    }
    let loop_of = |command: &str| format!("n=0; while [ $n -lt {WRITERS} ]; do {command} >/dev/null & n=$((n + 1)); done; wait");
    let shell =
        |name: &str, program: &str, rest: &str| Rival::new(name, ["sh", "-c", &loop_of(&format!("\"$0\" {rest}")), program]);
    let checkpoint = programs().join("checkpoint");
    let rivals = [
        shell("16 at once, on one card", word(&checkpoint), "ours --message \"$n at once\""),
        shell("16 at once, on 16 cards", word(&checkpoint), "many_$n --message \"$n at once\""),
        shell("16 floors at once", word(&floor), "replace floor_$n.json"),
    ];
    let costs = compare(&rivals, &workspace.path(""), 21)?;
    for (rival, cost) in rivals.iter().zip(&costs) {
        row(out, &rival.name, *cost, None)?;
    }
    Ok(())
}
