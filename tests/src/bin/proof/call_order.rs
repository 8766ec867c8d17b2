//! The order of the calls of every writing command, in a trace: what makes an answer durable.
//!
//! ```text
//! write to the temporary file → fsync of it → rename over the card → fsync of the folder
//!     → append to the history → the answer on stdout
//! ```
//! Filing away renames the logs, the history and, last, the card, and each is durable in both folders
//! before the next, and before the answer; deleting unlinks in the same order.
//!
//! A folder that was made is in its parent for good before the answer, too. `resume` replaces the
//! card twice, for the claim and for the settling; each time the same holds.

use tests::strace::{self, Call};
use tests::writers::{Writer, writers};

use crate::controlled::controlled;
use crate::{Context, Outcome, Passed};

const FOLDER: &str = "data/task-runs";

pub(crate) fn run(_: &Context) -> Outcome {
    if let Err(why) = strace::is_usable() {
        return Ok(Passed::Skipped(why));
    }
    let writers = writers();
    let (mut replaced, mut moved) = (0, 0);
    for writer in &writers {
        let count = if writer.files_away() { &mut moved } else { &mut replaced };
        *count += check(writer)?;
    }
    Ok(Passed::Done(format!(
        "{replaced} replaced cards and {moved} files and folders filed away or deleted in traces of {} writing commands",
        writers.len()
    )))
}

pub(crate) fn control(_: &Context) -> Outcome {
    let broken = [
        ("in-place", "the card itself is written to"),
        ("early-answer", "no fsync of the folder after the rename, before the answer"),
        ("early-history", "the history is written before the card is durable"),
        ("no-fsync", "no fsync of the temporary file"),
        ("no-folder-fsync", "no fsync of the folder after the rename, before the answer"),
    ];
    let writers = controlled(&broken, |mode| check(&Writer::broken(mode)).map(drop))?;
    let broken = [("card-first", "rename of "), ("early-answer", "rename of "), ("no-folder-fsync", "no fsync of ")];
    Ok(writers.and(controlled(&broken, |mode| check(&Writer::broken_filing(mode)).map(drop))?))
}

/// Returns how often the card was replaced; of filing away and deleting, how many steps they took.
fn check(writer: &Writer) -> Result<usize, String> {
    let workspace = writer.workspace();
    let calls = strace::calls(&workspace, writer)?;
    let root = tests::word(&workspace.path("")).to_owned();
    let trace = Trace { calls: &calls, root: &root };
    let (expected, found) = match writer.id {
        "d" => (3, trace.files_away("d")),
        "e" => (3, trace.deletes("e")),
        id => (if writer.supervises() { 2 } else { 1 }, trace.replaces(id)),
    };
    let found = found.and_then(|found| match found == expected {
        true => Ok(found),
        false => Err(format!("{found} steps, {expected} were expected")),
    });
    found.map_err(|what| {
        let lines: Vec<&str> = calls.iter().filter(|call| call.line.contains(FOLDER)).map(|call| &*call.line).collect();
        format!("{}: {what}\n{}", writer.name, lines.join("\n"))
    })
}

struct Trace<'a> {
    calls: &'a [Call],
    root: &'a str,
}

impl Trace<'_> {
    /// The places of the calls of this name that are about this file and did what they were asked to.
    fn places(&self, name: &str, path: &str) -> Vec<usize> {
        let about = |call: &Call| call.path.as_deref().and_then(|found| found.strip_prefix(self.root)) == Some(path);
        // "renameat2" is a rename, too.
        let fits = |call: &Call| call.name.starts_with(name) && about(call) && call.succeeded();
        (0..self.calls.len()).filter(|place| fits(&self.calls[*place])).collect()
    }

    /// The first answer on stdout.
    fn answer(&self) -> Result<usize, String> {
        let is_answer = |call: &Call| call.name == "write" && call.is_about(1);
        self.calls.iter().position(is_answer).ok_or_else(|| "there is no answer".to_owned())
    }

    /// These calls come in this order, and before the next ones, or the answer, these folders are fsynced.
    fn in_steps(&self, steps: &[(&str, String, Vec<String>)]) -> Result<usize, String> {
        let answer = self.answer()?;
        let mut places = Vec::new();
        for (name, path, _) in steps {
            let found = self.places(name, path);
            let follow = |first: &usize| places.last().is_none_or(|before| before < first);
            match (found.first().filter(|first| follow(first)), found.last()) {
                (Some(_), Some(last)) if *last < answer => places.push(*last),
                _ => return Err(format!("{name} of {path} at {found:?}, after {places:?}, before {answer}")),
            }
        }
        for (step, (name, path, folders)) in steps.iter().enumerate() {
            let end = places.get(step + 1).copied().unwrap_or(answer);
            for folder in folders {
                if !self.places("fsync", folder).iter().any(|sync| (places[step]..end).contains(sync)) {
                    return Err(format!("no fsync of {folder} between {name} of {path} and what follows"));
                }
            }
        }
        self.folders_are_kept(answer)?;
        Ok(steps.len())
    }

    fn files_away(&self, id: &str) -> Result<usize, String> {
        let both = |name: &str| vec![format!("{FOLDER}/archive{name}"), format!("{FOLDER}{name}")];
        self.in_steps(&[
            ("rename", format!("{FOLDER}/logs/{id}"), both("/logs")),
            ("rename", format!("{FOLDER}/history/{id}.jsonl"), both("/history")),
            ("rename", format!("{FOLDER}/{id}.json"), both("")),
        ])
    }

    fn deletes(&self, id: &str) -> Result<usize, String> {
        let archive = format!("{FOLDER}/archive");
        // The logs go one by one, by their folder's descriptor; the folder goes last.
        self.in_steps(&[
            ("unlinkat", format!("{archive}/logs/{id}"), vec![format!("{archive}/logs")]),
            ("unlink", format!("{archive}/history/{id}.jsonl"), vec![format!("{archive}/history")]),
            ("unlink", format!("{archive}/{id}.json"), vec![archive.clone()]),
        ])
    }

    fn replaces(&self, id: &str) -> Result<usize, String> {
        let card = format!("{FOLDER}/{id}.json");
        let temporary = format!("{card}.tmp");
        let answer = self.answer()?;
        let (writes, syncs) = (self.places("write", &temporary), self.places("fsync", &temporary));
        let (renames, folders) = (self.places("rename", &temporary), self.places("fsync", FOLDER));
        let notes = self.places("write", &format!("{FOLDER}/history/{id}.jsonl"));
        if !self.places("write", &card).is_empty() {
            return Err("the card itself is written to".to_owned());
        }
        let between = |places: &[usize], from: usize, to: usize| places.iter().copied().find(|place| (from..to).contains(place));
        let mut begin = 0;
        for rename in &renames {
            // Where the next replace begins, or the answer.
            let end = between(&writes, *rename, answer).unwrap_or(answer);
            let first = between(&writes, begin, *rename).ok_or("no write to the temporary file before the rename")?;
            let last = writes.iter().copied().rfind(|write| (first..*rename).contains(write)).unwrap_or(first);
            between(&syncs, last, *rename).ok_or("no fsync of the temporary file between its last write and the rename")?;
            let folder = between(&folders, *rename, end).ok_or("no fsync of the folder after the rename, before the answer")?;
            let since = if begin == 0 { 0 } else { first };
            if between(&notes, since, folder).is_some() {
                return Err("the history is written before the card is durable".to_owned());
            }
            between(&notes, folder, end)
                .ok_or("nothing is appended to the history between the fsync of the folder and the answer")?;
            begin = *rename;
        }
        self.folders_are_kept(answer)?;
        Ok(renames.len())
    }

    /// Folders that were made are made durable before the answer.
    fn folders_are_kept(&self, answer: usize) -> Result<(), String> {
        for (place, call) in self.calls.iter().enumerate().filter(|(_, call)| call.name.starts_with("mkdir") && call.succeeded()) {
            let Some(path) = call.path.as_deref().and_then(|path| path.strip_prefix(self.root)) else { continue };
            let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
            if !self.places("fsync", parent).iter().any(|sync| (place..answer).contains(sync)) {
                return Err(format!("{path} is made, and its parent is not fsynced before the answer"));
            }
        }
        Ok(())
    }
}
