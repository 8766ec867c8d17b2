//! Rivals: some record checkpoints, some put whole cards back that they read a moment ago. No accepted change may be lost, and
//! each that was refused must have been made of an older card.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use crate::{Ran, Workspace};

/// At the same time.
const THREADS: usize = 8;
/// Shared by them.
const CARDS: usize = 4;

/// Runs so many calls of programs, half of them checkpoints that are made with this. Returns how many puts were accepted and refused.
///
/// # Errors
/// What was lost, or refused without need.
pub fn compete(calls: usize, checkpoint: impl for<'a> Fn(&'a Workspace, &str) -> Ran<'a> + Sync) -> Result<(u64, u64), String> {
    let workspace = Workspace::new();
    for number in 0..CARDS {
        workspace.run("card", &["create", &id(number), "--task-type", "t", "--title", "x"]).ok();
    }
    let counts: Vec<Counts> = (0..CARDS).map(|_| Counts::default()).collect();
    let refused = AtomicU64::new(0);
    let rival = |thread: usize| {
        for round in 0..calls / THREADS {
            let number = (thread + round) % CARDS;
            if round % 2 == 0 {
                let ran = checkpoint(&workspace, &id(number));
                if ran.status() != Some(0) {
                    return Err(format!("a checkpoint is refused\n{ran}"));
                }
                counts[number].checkpoints.fetch_add(1, Ordering::Relaxed);
            } else if put(&workspace, &id(number), thread)? {
                counts[number].puts[thread].fetch_add(1, Ordering::Relaxed);
            } else {
                refused.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let rivals: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || rival(thread))).collect();
        rivals.into_iter().try_for_each(|rival| rival.join().expect("no panic"))
    })?;
    let mut accepted = 0;
    for (number, counts) in counts.iter().enumerate() {
        accepted += counts.agree(&workspace.card(&id(number))).map_err(|what| format!("{}: {what}", id(number)))?;
    }
    Ok((accepted, refused.into_inner()))
}

fn id(number: usize) -> String {
    format!("c{number}")
}

/// Reads the card, counts this rival's own number in it up, and puts it back; whether that was accepted.
fn put(workspace: &Workspace, id: &str, thread: usize) -> Result<bool, String> {
    let mut card = workspace.card(id);
    let given = revision(&card);
    let count = own_number(&card, thread);
    card[format!("w{thread}")] = (count + 1).into();
    let ran = workspace.run_with("card", &["put", id], &card.to_string());
    match ran.status() {
        Some(75) if revision(&workspace.card(id)) > given => Ok(false),
        Some(75) => Err(format!("it was refused, and is not older\n{ran}")),
        Some(0) if revision(&ran.one()) == given + 1 => Ok(true),
        _ => Err(format!("revision {} was expected\n{ran}", given + 1)),
    }
}

fn revision(card: &Value) -> u64 {
    card["revision"].as_u64().unwrap_or_default()
}

fn own_number(card: &Value, thread: usize) -> u64 {
    card[format!("w{thread}")].as_u64().unwrap_or_default()
}

/// What was accepted for one card.
#[derive(Default)]
struct Counts {
    checkpoints: AtomicU64,
    puts: [AtomicU64; THREADS],
}

impl Counts {
    /// The card has all of it. Returns how many puts that were.
    fn agree(&self, card: &Value) -> Result<u64, String> {
        let written = self.checkpoints.load(Ordering::Relaxed);
        if card["checkpoint_count"] != written {
            return Err(format!("{written} checkpoints were accepted, it counts {}", card["checkpoint_count"]));
        }
        let mut accepted = 0;
        for (thread, count) in self.puts.iter().enumerate() {
            let count = count.load(Ordering::Relaxed);
            if own_number(card, thread) != count {
                return Err(format!("{count} puts of rival {thread} were accepted, it has {}", own_number(card, thread)));
            }
            accepted += count;
        }
        let expected = 1 + written + accepted;
        if revision(card) == expected { Ok(accepted) } else { Err(format!("revision {}, not {expected}", revision(card))) }
    }
}
