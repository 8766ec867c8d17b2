//! What is known of a card that killed writers work on, and what must be true of it.

use std::fs::{self, File};

use regex_lite::Regex;
use serde_json::{Value, json};
use tests::Workspace;

use super::shown;
use crate::checkpointer::{Checkpointer, acknowledged};

/// What a command means to write.
#[derive(Clone, Debug)]
pub(super) enum Written {
    /// A checkpoint with this message, which no other has.
    Message(String),
    /// This name in `metadata`, which no other has.
    Meta(String),
    /// An end.
    Status(&'static str),
    /// What a later one may undo.
    Other,
}

/// A card, as far as its writers' answers tell.
#[derive(Debug)]
pub(super) struct Card {
    id: String,
    /// As it was after the last round.
    seen: Value,
    /// Acknowledged in any round, with the revision.
    known: Vec<(Written, u64)>,
    /// Messages that may be there or not: their writers were killed.
    maybe: Vec<String>,
    /// A command of this round was refused because the card has ended.
    said_to_have_ended: bool,
    /// A `put` of this round was refused because the card has moved.
    said_to_have_moved: bool,
    names: usize,
    gaps: usize,
    gaps_told: usize,
}

impl Card {
    pub(super) fn create(workspace: &Workspace, id: String) -> Self {
        workspace.run("card", &["create", &id, "--task-type", "t", "--title", "x"]).ok();
        let seen = workspace.card(&id);
        Self {
            id,
            seen,
            known: Vec::new(),
            maybe: Vec::new(),
            said_to_have_ended: false,
            said_to_have_moved: false,
            names: 0,
            gaps: 0,
            gaps_told: 0,
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    fn is_terminal(&self) -> bool {
        ["completed", "failed", "cancelled"].contains(&self.seen["status"].as_str().unwrap_or_default())
    }

    /// It has ended, or holds nearly as many checkpoints as a card keeps.
    pub(super) fn is_done(&self) -> bool {
        self.is_terminal() || self.seen["checkpoint_count"].as_u64() > Some(80)
    }

    /// A name that this card has not seen.
    pub(super) fn new_name(&self, number: usize) -> String {
        format!("n{}_{number}", self.names)
    }

    /// The card of the round's beginning with one more name, for `put`.
    pub(super) fn with_meta(&self, name: &str) -> (String, Written) {
        let mut card = self.seen.clone();
        card["metadata"][name] = "1".into();
        (card.to_string(), Written::Meta(name.to_owned()))
    }

    pub(super) fn has_temporary(&self, workspace: &Workspace) -> bool {
        workspace.card_path(&format!("{}.json.tmp", self.id)).exists()
    }

    pub(super) fn acknowledged(&mut self, what: Written, revision: u64) {
        self.known.push((what, revision));
    }

    /// Its writer was killed before it answered.
    pub(super) fn unknown(&mut self, what: Written) {
        if let Written::Message(message) = what {
            self.maybe.push(message);
        }
    }

    /// A command said no. It may: when the card has ended (77), and when it moved under a `put` (75); `check` looks whether it has.
    pub(super) fn refused(&mut self, code: Option<i32>, what: &Written, stderr: &str) -> Result<(), String> {
        match (code, what) {
            (Some(77), _) => self.said_to_have_ended = true,
            (Some(75), Written::Meta(_)) if !stderr.contains("cannot lock") => self.said_to_have_moved = true,
            _ => return Err(format!("{}: {what:?} failed with {code:?}: {stderr}", self.id)),
        }
        Ok(())
    }

    /// The gaps that the history notes since the last call.
    pub(super) fn new_gaps(&mut self) -> usize {
        let new = self.gaps - self.gaps_told;
        self.gaps_told = self.gaps;
        new
    }

    /// After a round, in which so many writes were tried.
    pub(super) fn check(&mut self, workspace: &Workspace, tried: u64) -> Result<(), String> {
        let text = fs::read(workspace.card_path(&format!("{}.json", self.id))).map_err(|error| format!("it is lost: {error}"))?;
        let card: Value = serde_json::from_slice(&text).map_err(|error| format!("it is torn: {error}"))?;
        let (was, is) = (revision(&self.seen), revision(&card));
        if is < was || is > was + tried {
            return Err(format!("revision {was} became {is} by {tried} writes"));
        }
        let missing = self.known.iter().find(|(what, at)| *at > is || !contains(&card, what));
        if let Some((what, at)) = missing {
            return Err(format!("{what:?}, acknowledged as revision {at}, is lost: {card}"));
        }
        // An end that is there already is answered with the revision that it had.
        let mut writes: Vec<u64> =
            self.known.iter().filter(|(what, _)| !matches!(what, Written::Status(_))).map(|(_, at)| *at).collect();
        writes.sort_unstable();
        if let Some(twice) = writes.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("two writes were acknowledged as revision {}", twice[0]));
        }
        self.check_checkpoints(&card)?;
        self.names += 1;
        self.seen = card;
        let (ended, moved) = (std::mem::take(&mut self.said_to_have_ended), std::mem::take(&mut self.said_to_have_moved));
        if (ended && !self.is_terminal()) || (moved && is == was) {
            return Err(format!("a command was refused without a cause: {}", self.seen));
        }
        // All of its writers are gone.
        let lock = File::open(workspace.card_path(&format!(".locks/{}", self.id))).map_err(|error| format!("its lock: {error}"))?;
        lock.try_lock().map_err(|error| format!("its lock is held: {error}"))
    }

    /// Each message once, none that nobody wrote, and counted.
    fn check_checkpoints(&self, card: &Value) -> Result<(), String> {
        let there: Vec<&str> =
            card["checkpoints"].as_array().into_iter().flatten().filter_map(|one| one["message"].as_str()).collect();
        let said = |message: &str| self.known.iter().any(|(what, _)| matches!(what, Written::Message(known) if known == message));
        for message in &there {
            if there.iter().filter(|other| other == &message).count() > 1 {
                return Err(format!("{message} is there twice"));
            }
            if !said(message) && !self.maybe.iter().any(|maybe| maybe == message) {
                return Err(format!("nobody wrote {message}"));
            }
        }
        match card["checkpoint_count"].as_u64().unwrap_or_default() == there.len() as u64 {
            true => Ok(()),
            false => Err(format!("{} checkpoints are counted as {}", there.len(), card["checkpoint_count"])),
        }
    }

    /// The next command works, and afterwards the history is whole.
    pub(super) fn go_on(&mut self, workspace: &Workspace, checkpointer: Checkpointer) -> Result<(), String> {
        let name = self.new_name(0);
        let output = checkpointer.command(&workspace.path(""), &self.id, &name).output().map_err(|error| error.to_string())?;
        match (output.status.code(), acknowledged(&output.stdout)) {
            (Some(0), Some(revision)) => self.acknowledged(Written::Message(name), revision),
            (Some(77), None) if self.is_terminal() => {}
            _ => return Err(format!("the next command does not work: {}", shown(&output))),
        }
        self.check(workspace, 1)?;
        self.check_history(workspace)
    }

    fn check_history(&mut self, workspace: &Workspace) -> Result<(), String> {
        let text =
            fs::read_to_string(workspace.card_path(&format!("history/{}.jsonl", self.id))).map_err(|error| error.to_string())?;
        let gap = Regex::new("^revisions ([0-9]+) to ([0-9]+) are missing$").map_err(|error| error.to_string())?;
        let mut last = 0;
        self.gaps = 0;
        for line in text.lines() {
            let event: Value = serde_json::from_str(line).map_err(|error| format!("the history is torn: {error}: {line}"))?;
            if event["event"] == json!("history_healed") {
                continue;
            }
            let mut told = last + 1;
            if event["event"] == json!("history_gap") {
                self.gaps += 1;
                let detail = event["detail"].as_str().unwrap_or_default();
                let ends = gap.captures(detail).ok_or_else(|| format!("a gap of {detail:?}"))?;
                let end = |number: usize| ends[number].parse::<u64>().unwrap_or_default();
                // An end that is repeated is acknowledged by another one than its writer, who was killed.
                let mut writes = self.known.iter().filter(|(what, _)| !matches!(what, Written::Status(_)));
                if let Some((what, at)) = writes.find(|(_, at)| (end(1)..=end(2)).contains(at)) {
                    return Err(format!("{what:?}, acknowledged as revision {at}, is missing in the history"));
                }
                if end(1) != told {
                    return Err(format!("after revision {last} {detail}"));
                }
                last = end(2);
                continue;
            }
            if event["revision"].as_u64() == Some(last) {
                told = last;
            }
            if event["revision"].as_u64() != Some(told) {
                return Err(format!("the history has {} after {last}", event["revision"]));
            }
            last = told;
        }
        // Only an ended card has no later write that would note a gap at the end.
        let acknowledged = self.known.iter().map(|(_, at)| *at).max().unwrap_or_default();
        match last == revision(&self.seen) || (self.is_terminal() && last >= acknowledged) {
            true => Ok(()),
            false => Err(format!("the history ends at {last}, the card is at {}", revision(&self.seen))),
        }
    }
}

fn revision(card: &Value) -> u64 {
    card["revision"].as_u64().unwrap_or_default()
}

fn contains(card: &Value, what: &Written) -> bool {
    match what {
        Written::Message(message) => {
            card["checkpoints"].as_array().is_some_and(|all| all.iter().any(|one| one["message"] == message.as_str()))
        }
        Written::Meta(name) => card["metadata"][name] == "1",
        Written::Status(status) => card["status"] == *status,
        Written::Other => true,
    }
}
