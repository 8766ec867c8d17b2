//! What it costs to move in: ten thousand cards of the Python predecessor, and the same again, when all are there.

use std::fs;
use std::io::{self, Write};

use serde_json::json;
use tests::{Workspace, word};

use crate::measure::seconds;

const CARDS: usize = 10_000;

pub(crate) fn bench(out: &mut dyn Write) -> io::Result<()> {
    let workspace = Workspace::new();
    let old = workspace.path("old");
    fs::create_dir(&old)?;
    for number in 0..CARDS {
        let card = json!({"id": format!("t{number}"), "task_type": "report", "title": "Weekly report", "status": "blocked",
            "phase": "collect", "created_at": "2026-03-30T01:00:00", "meta": {"k": 1}, "artifacts": {"raw": "/r"}});
        fs::write(old.join(format!("t{number}.json")), card.to_string())?;
    }
    let import = || workspace.run("card", &["import", "--from", "task-runtime", word(&old)]);
    let (mut made, mut again) = (0, 0);
    let first = seconds(|| made = import().ok().stdout().lines().count());
    let second = seconds(|| again = import().ok().stdout().lines().count());
    assert_eq!((made, again), (CARDS, 0), "not every card moved in, or one did twice");
    writeln!(out, "\nmoving in                                               measured")?;
    writeln!(out, "{:<52} {first:>8.3} s", format!("card import of {CARDS} cards of the predecessor"))?;
    writeln!(out, "{:<52} {second:>8.3} s", "the same again: nothing is to be done")
}
