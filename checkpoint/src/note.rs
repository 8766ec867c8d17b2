//! What is recorded: the object on stdin, if there is one, and the options on top of it.

use std::io::{IsTerminal, Read, stdin};

use serde_json::{Map, Value};
use shared::answer::{self, Answer};
use shared::card::json_error;
use shared::exit::{Error, cause};
use shared::stream::RECORD_BYTES_MAX;
use shared::talk::command;
use shared::verified;

use crate::args::Wanted;

/// Puts it together, before any lock is taken: stdin may be slow, and a file to be measured large.
pub(crate) fn note(wanted: &Wanted) -> Result<Answer, Error> {
    let mut note = if wanted.from_stdin { read()? } else { Answer::default() };
    note.entry.extend(wanted.entry.clone());
    note.status = wanted.status.or(note.status);
    for (name, path) in &wanted.verified {
        let measured = verified::measure(path);
        let digest =
            measured.map_err(|error| Error::io(format!("cannot measure the artifact {name}: {path}: {}", cause(&error))))?;
        note.entry.digests.insert(path.clone(), digest);
        note.entry.artifacts.push((name.clone(), path.clone()));
    }
    Ok(note)
}

fn read() -> Result<Answer, Error> {
    if stdin().is_terminal() {
        return Err(Error::usage("-: a JSON object is read from standard input, which is a terminal; pipe one into it"));
    }
    let mut bytes = Vec::new();
    let read = stdin().lock().take(RECORD_BYTES_MAX as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| Error::io(format!("cannot read standard input: {}", cause(&error))))?;
    if bytes.len() > RECORD_BYTES_MAX {
        return Err(Error::data(format!("standard input is larger than {RECORD_BYTES_MAX} bytes; keep large values in files")));
    }
    let object: Map<String, Value> = serde_json::from_slice(&bytes)
        .map_err(|error| Error::data(format!("standard input is no JSON object: {}", json_error(&error))))?;
    if object.contains_key("revision") {
        return Err(Error::data(format!("standard input is a card, not a checkpoint; {} put takes whole cards", command("card"))));
    }
    let here = std::env::current_dir()
        .map_err(|error| Error::io(format!("cannot find the current folder: {}; change to one that exists", cause(&error))))?;
    answer::parse(object, &here).map_err(|why| Error::data(why.replace("the answer's", "standard input's")))
}
