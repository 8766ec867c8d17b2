//! The order of the calls of every writing command, in a trace: what makes an answer durable.
//!
//! ```text
//! write to the temporary file → fsync of it → rename over the card → fsync of the folder
//!     → append to the history → the answer on stdout
//! ```
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
    let mut replaced = 0;
    for writer in &writers {
        replaced += check(writer)?;
    }
    Ok(Passed::Done(format!("{replaced} replaced cards in traces of {} writing commands", writers.len())))
}

pub(crate) fn control(_: &Context) -> Outcome {
    let broken = [
        ("in-place", "the card itself is written to"),
        ("early-answer", "no fsync of the folder after the rename, before the answer"),
        ("early-history", "the history is written before the card is durable"),
        ("no-fsync", "no fsync of the temporary file"),
        ("no-folder-fsync", "no fsync of the folder after the rename, before the answer"),
    ];
    controlled(&broken, |mode| check(&Writer::broken(mode)).map(drop))
}

/// Returns how often the card was replaced.
fn check(writer: &Writer) -> Result<usize, String> {
    let workspace = writer.workspace();
    let calls = strace::calls(&workspace, writer)?;
    let root = tests::word(&workspace.path("")).to_owned();
    let trace = Trace { calls: &calls, root: &root };
    let expected = if writer.supervises() { 2 } else { 1 };
    let found = trace.replaces(writer.id).and_then(|replaced| match replaced == expected {
        true => Ok(replaced),
        false => Err(format!("{replaced} replaced cards, {expected} were expected")),
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

    fn replaces(&self, id: &str) -> Result<usize, String> {
        let card = format!("{FOLDER}/{id}.json");
        let temporary = format!("{card}.tmp");
        let answers: Vec<usize> =
            (0..self.calls.len()).filter(|place| self.calls[*place].name == "write" && self.calls[*place].is_about(1)).collect();
        let answer = *answers.first().ok_or("there is no answer")?;
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
