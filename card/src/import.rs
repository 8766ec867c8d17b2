//! `card import`: tasks that others kept elsewhere become cards. Importing the same again changes nothing.

use std::io::{Read, stdin};
use std::path::PathBuf;

use shared::card::BYTES_MAX;
use shared::exit::{Error, Exit, cause};
use shared::store::Store;

use openclaw::From;
pub(crate) use openclaw::Options;

mod openclaw;
mod task_runtime;
mod task_state;
mod task_status;

/// What wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A session skill's `.task-state.json`.
    SessionSkill,
    /// OpenClaw's task status file.
    StatusFile,
    /// A folder of the Python predecessor's cards.
    Predecessor,
    /// Ended runs of OpenClaw's agents, as records.
    EndedRuns,
    /// OpenClaw's list of sessions.
    Sessions,
}

impl Source {
    pub(crate) const NAMES: &str = "task-state, task-status, task-runtime, openclaw-run, openclaw-sessions";

    pub(crate) fn named(text: &str) -> Option<Self> {
        match text {
            "task-state" => Some(Self::SessionSkill),
            "task-status" => Some(Self::StatusFile),
            "task-runtime" => Some(Self::Predecessor),
            "openclaw-run" => Some(Self::EndedRuns),
            "openclaw-sessions" => Some(Self::Sessions),
            _ => None,
        }
    }
}

/// `card import`.
#[derive(Debug)]
pub(crate) struct Import {
    pub(crate) source: Source,
    /// A file, or `-`; without one where the source is usually found.
    pub(crate) from: Option<PathBuf>,
    /// For ended runs.
    pub(crate) options: Options,
}

/// Imports, and prints the cards.
pub(crate) fn import(store: &Store, wanted: &Import) -> Result<Exit, Error> {
    match wanted.source {
        Source::SessionSkill => task_state::import(store, wanted.from.as_deref()),
        Source::StatusFile => task_status::import(store, wanted.from.as_deref()),
        Source::Predecessor => task_runtime::import(store, wanted.from.as_deref()),
        Source::EndedRuns => openclaw::import(store, From::Runs, wanted.from.as_deref(), &wanted.options),
        Source::Sessions => openclaw::import(store, From::Sessions, wanted.from.as_deref(), &wanted.options),
    }
}

/// All of stdin, which is one record.
fn standard_input() -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let read = stdin().lock().take(BYTES_MAX as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| Error::io(format!("cannot read standard input: {}", cause(&error))))?;
    Ok(bytes)
}
