//! What `checkpoint` must not be: the stand-in of the negative controls of `make proof`.
//!
//! It records a message in a card as the real one does, except for what `BROKEN` names; `sound` is nothing:
//!
//! - `lock`: it takes no lock, and so may write what it read before another one wrote
//! - `order`: it answers before the card is replaced
//! - `place`: it writes the card in place
//! - `fsync`: nothing is made durable
//! - `folder-fsync`: the file is, the rename is not
//! - `file-fsync`: the rename is, the file is not
//! - `history`: it leaves no line there
//!
//! ```text
//! broken-checkpoint ID --message M
//! ```

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use serde_json::{Value, json};

fn main() -> io::Result<()> {
    let broken = std::env::var("BROKEN").unwrap_or_default();
    let args: Vec<String> = std::env::args().collect();
    let [_, id, _, message] = &args[..] else { return Err(io::Error::other("usage: broken-checkpoint ID --message M")) };
    let folder = Path::new("data/task-runs");
    let lock = OpenOptions::new().create(true).append(true).open(folder.join(".locks").join(id))?;
    if broken != "lock" {
        lock.lock()?;
    }
    let path = folder.join(format!("{id}.json"));
    let mut card: Value = serde_json::from_str(&fs::read_to_string(&path)?)?;
    let count = |name: &str| card[name].as_u64().unwrap_or_default() + 1;
    let (revision, checkpoint_count) = (count("revision"), count("checkpoint_count"));
    card["revision"] = revision.into();
    card["checkpoint_count"] = checkpoint_count.into();
    let mut checkpoints = card["checkpoints"].as_array().cloned().unwrap_or_default();
    checkpoints.push(json!({"phase": "p", "at": card["created_at"], "message": message}));
    card["checkpoints"] = checkpoints.split_off(checkpoints.len().saturating_sub(100)).into();
    let answer = json!({"task_id": id, "revision": revision, "checkpoint_count": checkpoint_count}).to_string() + "\n";
    if broken == "order" {
        io::stdout().write_all(answer.as_bytes())?;
    }
    replace(&path, &format!("{card:#}\n"), &broken)?;
    if broken != "history" {
        append(&folder.join(format!("history/{id}.jsonl")), revision, message)?;
    }
    lock.unlock()?;
    if broken != "order" {
        io::stdout().write_all(answer.as_bytes())?;
    }
    Ok(())
}

/// The line of this revision, and what is missing before it.
fn append(path: &Path, revision: u64, message: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).create(true).append(true).open(path)?;
    let told = io::read_to_string(&file)?;
    let last = told.lines().last().and_then(|line| serde_json::from_str::<Value>(line).ok()?["revision"].as_u64());
    let mut text = String::new();
    if let Some(last) = last.filter(|last| last + 1 < revision) {
        let detail = format!("revisions {} to {} are missing", last + 1, revision - 1);
        text += &format!("{}\n", json!({"revision": revision, "event": "history_gap", "detail": detail}));
    }
    text += &format!("{}\n", json!({"revision": revision, "event": "checkpoint", "message": message}));
    file.write_all(text.as_bytes())
}

fn replace(path: &Path, text: &str, broken: &str) -> io::Result<()> {
    if broken == "place" {
        let mut file = File::create(path)?;
        // In pieces, as a program that writes through a small buffer does.
        text.as_bytes().chunks(64).try_for_each(|piece| file.write_all(piece))?;
        return file.sync_all();
    }
    // Writers without a lock that also shared this file would only fail loudly.
    let temporary =
        path.with_extension(if broken == "lock" { format!("{}.tmp", std::process::id()) } else { "json.tmp".to_owned() });
    let mut file = File::create(&temporary)?;
    file.write_all(text.as_bytes())?;
    if !["fsync", "file-fsync"].contains(&broken) {
        file.sync_all()?;
    }
    fs::rename(&temporary, path)?;
    match path.parent() {
        Some(folder) if !["fsync", "folder-fsync"].contains(&broken) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}
