//! Many processes write at once, and every write counts.
//!
//! Each of 2, 4, … 256 writers records a few checkpoints on the same card, one process after the
//! other; then 64 writers on a card each. Nothing may be lost and nothing counted twice: the card's
//! count and revision, the history's lines and the answers agree exactly. Last come rivals that also put whole cards.

use std::collections::BTreeSet;
use std::sync::Barrier;

use serde_json::Value;
use tests::{Ran, Workspace, rivals};

use crate::checkpointer::{Checkpointer, acknowledged};
use crate::controlled::controlled;
use crate::{Context, Outcome, Passed};

/// The largest number of writers on one card.
const WRITERS_MAX: usize = 256;
/// The number of writers on a card each.
const APART: usize = 64;
/// Of each writer.
const CHECKPOINTS: usize = 4;
/// Of the rivals.
const CALLS: usize = 10_000;
/// Enough to notice a lock that is not taken.
const CALLS_OF_THE_CONTROL: usize = 2_000;
/// The newest that a card keeps.
const KEPT: usize = 100;

pub(crate) fn run(_: &Context) -> Outcome {
    let counted = counts(Checkpointer::Real)?;
    let (accepted, refused) = compete(Checkpointer::Real, CALLS)?;
    if refused == 0 {
        return Err("no rival was ever refused: they did not meet".to_owned());
    }
    Ok(Passed::Done(format!("{counted}; of {CALLS} calls of rivals {accepted} puts accepted, {refused} stale ones refused")))
}

pub(crate) fn control(_: &Context) -> Outcome {
    let broken = [("lock", "checkpoint_count is"), ("history", "0 lines of history")];
    let counted = controlled(&broken, |mode| counts(Checkpointer::Broken(mode)).map(drop))?;
    let broken = [("lock", "were accepted, it|was expected|is not older|, not ")];
    Ok(counted.and(controlled(&broken, |mode| compete(Checkpointer::Broken(mode), CALLS_OF_THE_CONTROL).map(drop))?))
}

fn compete(checkpointer: Checkpointer, calls: usize) -> Result<(u64, u64), String> {
    rivals::compete(calls, |workspace, id| -> Ran<'_> {
        workspace.finish(checkpointer.command(&workspace.path(""), id, "m"), None)
    })
}

fn counts(checkpointer: Checkpointer) -> Result<String, String> {
    let mut total = 0;
    let mut writers = 2;
    while writers <= WRITERS_MAX {
        total += together(checkpointer, writers, 1).map_err(|what| format!("{writers} writers on one card: {what}"))?;
        writers *= 2;
    }
    total += together(checkpointer, APART, APART).map_err(|what| format!("{APART} writers on a card each: {what}"))?;
    Ok(format!("2 to {WRITERS_MAX} writers on one card, {APART} on a card each, {total} checkpoints, all counted"))
}

/// Lets them write, and counts. Returns the number of checkpoints.
fn together(checkpointer: Checkpointer, writers: usize, cards: usize) -> Result<usize, String> {
    let workspace = Workspace::new();
    let ids: Vec<String> = (0..cards).map(|card| format!("t{card}")).collect();
    for id in &ids {
        workspace.run("card", &["create", id, "--task-type", "t", "--title", "x"]).ok();
    }
    let start = Barrier::new(writers);
    let answers: Result<Vec<Vec<(u64, String)>>, String> = std::thread::scope(|scope| {
        let spawn = |writer: usize| {
            let (workspace, start, id) = (&workspace, &start, &ids[writer % cards]);
            scope.spawn(move || {
                start.wait();
                (0..CHECKPOINTS).map(|number| checkpoint(checkpointer, workspace, id, &format!("{number} by {writer}"))).collect()
            })
        };
        let threads: Vec<_> = (0..writers).map(spawn).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    let answers = answers?;
    for (card, id) in ids.iter().enumerate() {
        let of_this: Vec<(u64, String)> = answers.iter().skip(card).step_by(cards).flatten().cloned().collect();
        exact(&workspace, id, &of_this).map_err(|what| format!("{id}: {what}"))?;
    }
    Ok(writers * CHECKPOINTS)
}

/// One checkpoint, repeated as long as it says that the card is busy: on a slow machine the last of so many waits long.
fn checkpoint(checkpointer: Checkpointer, workspace: &Workspace, id: &str, message: &str) -> Result<(u64, String), String> {
    for _ in 0..10 {
        let output = checkpointer.command(&workspace.path(""), id, message).output().map_err(|error| error.to_string())?;
        match (output.status.code(), acknowledged(&output.stdout)) {
            (Some(0), Some(revision)) => return Ok((revision, message.to_owned())),
            (Some(75), None) => {}
            _ => return Err(format!("{message:?} was not recorded: {output:?}")),
        }
    }
    Err(format!("{message:?} was not recorded: {id} is always busy"))
}

/// The card, its history and the answers agree.
fn exact(workspace: &Workspace, id: &str, answers: &[(u64, String)]) -> Result<(), String> {
    let expected = answers.len() as u64;
    let card = workspace.card(id);
    for (name, value) in [("checkpoint_count", expected), ("revision", 1 + expected)] {
        if card[name] != value {
            return Err(format!("{name} is {}, not {value}", card[name]));
        }
    }
    let answered: BTreeSet<(u64, String)> = answers.iter().cloned().collect();
    let event = |line: &Value| Some((line["revision"].as_u64()?, line["message"].as_str()?.to_owned()));
    let history = workspace.history(id);
    // The first line tells of the creation.
    let told: Vec<_> = history.iter().skip(1).map(event).collect();
    if !told.iter().cloned().eq(answered.iter().cloned().map(Some)) {
        return Err(format!("{} answers, but {} lines of history, or others", answered.len(), told.len()));
    }
    let newest = answered.iter().skip(answered.len().saturating_sub(KEPT)).map(|(_, message)| Some(message.as_str()));
    let kept = card["checkpoints"].as_array().into_iter().flatten();
    match kept.map(|one| one["message"].as_str()).eq(newest) {
        true => Ok(()),
        false => Err("its newest checkpoints are not the newest answers".to_owned()),
    }
}
