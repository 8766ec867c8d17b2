//! `card show`, `card list`, `card log`: reading, without a lock.

use serde_json::Value;
use shared::card::Fault;
use shared::cli::Output;
use shared::document::Document;
use shared::exit::{Error, Exit};
use shared::id::TaskId;
use shared::store::{LoadError, Store};
use shared::talk::say;

use crate::args::Filter;

/// Prints one card.
pub(crate) fn show(store: &Store, id: &TaskId) -> Result<Exit, Error> {
    let (document, _) = store.load(id).map_err(|error| error.about(id.as_str()))?;
    let mut output = Output::new();
    output.json(&Value::Object(document.object().clone()))?;
    output.finish()?;
    Ok(Exit::Done)
}

/// Prints the cards that match, one line each. Cards that cannot be read are named on stderr.
pub(crate) fn list(store: &Store, filter: &Filter) -> Result<Exit, Error> {
    let mut output = Output::new();
    let mut exit = Exit::Done;
    let mut buffer = Vec::new();
    for entry in store.list()? {
        let id = entry.id_text();
        let loaded = store.read_entry(&entry, &mut buffer).and_then(|bytes| Document::parse(bytes, &id).map_err(LoadError::Bad));
        match loaded {
            Ok((document, card)) => {
                let status_fits = filter.statuses.is_empty() || filter.statuses.contains(&card.status);
                if status_fits && filter.task_type.as_ref().is_none_or(|wanted| *wanted == card.task_type) {
                    output.json_line(&Value::Object(document.object().clone()))?;
                }
            }
            Err(LoadError::Missing) => {}
            Err(error) => {
                let error = error.about(&id);
                say(&error.message);
                exit = error.exit;
            }
        }
        if output.is_closed() {
            break;
        }
    }
    output.finish()?;
    Ok(if output.is_closed() { Exit::Done } else { exit })
}

/// Prints the history of a task, oldest first.
pub(crate) fn log(store: &Store, id: &TaskId) -> Result<Exit, Error> {
    let lines = store.history(id)?;
    if lines.is_empty()
        && let Err(error) = store.load(id)
        && !matches!(&error, LoadError::Bad(bad) if bad.fault == Fault::Invalid)
    {
        return Err(error.about(id.as_str()));
    }
    let mut output = Output::new();
    for line in &lines {
        output.json_line(line)?;
    }
    output.finish()?;
    Ok(Exit::Done)
}
