//! Tasks that are run to their end and filed away while the power is cut: each is whole, and where it was said to be.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::disk::Disk;
use crate::checkpointer::program;

/// So many, one after the other.
pub(super) const TASKS: usize = 40;

/// What was said of a task, and how much the disk had been asked for when it was read.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) position: usize,
    id: String,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    Created,
    Completed,
    Filed,
}

/// Creates, runs and files tasks. What is `broken` makes nothing of the filing durable.
pub(super) fn work(disk: &Disk, workspace: &Path, broken: bool) -> Vec<Said> {
    let mut all = Vec::new();
    for id in (0..TASKS).map(|number| format!("f{number}")) {
        let run = |name: &str, words: &[&str]| {
            let output = program(name, workspace).args(words).output().expect("it runs");
            assert!(output.status.success(), "{name} {words:?}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let mut say = |what| all.push(Said { position: disk.position(), id: id.clone(), what });
        run("card", &["create", &id, "--task-type", "t", "--title", "x", "--allow-auto-resume", "--", "echo", &id]);
        say(What::Created);
        assert!(run("resume", &[&id]).contains("\"completed\""));
        say(What::Completed);
        if broken {
            let cards = workspace.join("data/task-runs");
            for (folder, name) in [("logs", id.clone()), ("history", format!("{id}.jsonl")), ("", format!("{id}.json"))] {
                let filed = cards.join("archive").join(folder);
                fs::create_dir_all(&filed).expect("a folder of the archive");
                fs::rename(cards.join(folder).join(&name), filed.join(&name)).expect("it is renamed");
            }
        } else {
            assert!(run("card", &["archive", &id]).contains("\"archived\":1"));
        }
        say(What::Filed);
    }
    all
}

/// What is there after the power came back, and that it can be filed away then.
pub(super) fn check(workspace: &Path, said: &[&Said]) -> Result<(), String> {
    let cards = workspace.join("data/task-runs");
    for id in (0..TASKS).map(|number| format!("f{number}")) {
        let is_said = |what| said.iter().any(|said| said.id == id && said.what == what);
        let (here, filed) = (cards.join(format!("{id}.json")), cards.join(format!("archive/{id}.json")));
        let card = match (fs::read(&here), fs::read(&filed)) {
            (Err(_), Err(_)) if !is_said(What::Created) => continue,
            (Err(error), Err(_)) => return Err(format!("{id} is lost: {error}")),
            (Ok(_), Err(_)) if is_said(What::Filed) => return Err(format!("{id} was filed away, and is back")),
            // A file system may have kept both names of one rename.
            (Ok(one), Ok(other)) if one != other => return Err(format!("{id} is there twice, and not the same")),
            (Ok(card), _) | (Err(_), Ok(card)) => card,
        };
        let card: Value = serde_json::from_slice(&card).map_err(|error| format!("{id} is torn ({} bytes): {error}", card.len()))?;
        if is_said(What::Completed) && card["status"] != "completed" {
            return Err(format!("{id} was completed, and is {}", card["status"]));
        }
        if card["status"] == "completed" {
            let again = program("card", workspace).args(["archive", &id]).output().expect("it runs");
            let places = [&here, &filed].map(|path| path.exists());
            let logs = [cards.join(format!("logs/{id}")), cards.join(format!("archive/logs/{id}"))].map(|path| path.exists());
            if !again.status.success() || places != [false, true] || logs[0] {
                return Err(format!("{id} is not in one place: card {places:?}, logs {logs:?}, {again:?}"));
            }
        }
    }
    Ok(())
}
