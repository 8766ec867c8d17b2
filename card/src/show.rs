//! `card show`, `card list`, `card log`: reading, without a lock.

use serde_json::Value;
use shared::card::{Card, Fault};
use shared::cli::Output;
use shared::document::Document;
use shared::exit::{Error, Exit};
use shared::facts::Observer;
use shared::id::TaskId;
use shared::last_pass::LastPass;
use shared::screen::Screen;
use shared::store::{Found, LoadError, Store};
use shared::talk::say;
use shared::time::Timestamp;
use shared::verdict::{Request, silent_since};

use crate::args::{Filter, Format, Show};
use crate::block::{self, Seen};
use crate::table::{self, Row};

/// Prints a card that was just written: JSON, indented on a terminal.
pub(crate) fn print(card: &Document) -> Result<Exit, Error> {
    let mut output = Output::new();
    output.json(&Value::Object(card.object().clone()))?;
    output.finish()?;
    Ok(Exit::Done)
}

/// Prints one card.
pub(crate) fn show(store: &Store, wanted: &Show) -> Result<Exit, Error> {
    let Found { mut document, card, filed } = store.find(&wanted.id).map_err(|error| error.about(wanted.id.as_str()))?;
    let mut output = Output::new();
    match format(wanted.format, &output) {
        Format::Json => output.json(&json(&document, filed))?,
        Format::Text => {
            document.adopt();
            let now = store.clock().now();
            let (verdict, _) = Observer::new(store, &LastPass::load(store)).judge(store, &card, Request::Pass, now);
            let seen = Seen { verdict, last_seen: last_seen(store, &sleepless(store), &card, now), now };
            output.text(&block::print(&document, &card, &seen, filed, &Screen::of_stdout()))?;
        }
    }
    output.finish()?;
    Ok(Exit::Done)
}

/// The card as it is written. One that is filed away is marked where it is printed; its file stays as it was.
pub(crate) fn json(document: &Document, filed: bool) -> Value {
    let mut object = document.object().clone();
    if filed {
        object.insert("archived".to_owned(), Value::Bool(true));
    }
    Value::Object(object)
}

fn format(wanted: Option<Format>, output: &Output) -> Format {
    wanted.unwrap_or(if output.is_terminal() { Format::Text } else { Format::Json })
}

/// Knows nothing of the machine's sleep: that it woke up is no sign of life of a task.
fn sleepless(store: &Store) -> Observer {
    Observer::new(store, &LastPass::default())
}

/// When the task last gave a sign of life.
fn last_seen(store: &Store, sleepless: &Observer, card: &Card, now: Timestamp) -> Timestamp {
    let (_, facts) = sleepless.judge(store, card, Request::Pass, now);
    silent_since(card, &facts, now)
}

/// Prints the cards that match, one line each. Cards that cannot be read are named on stderr.
pub(crate) fn list(store: &Store, filter: &Filter) -> Result<Exit, Error> {
    let mut output = Output::new();
    let observer = (format(filter.format, &output) == Format::Text).then(|| sleepless(store));
    let mut rows = Vec::new();
    let mut exit = Exit::Done;
    let mut buffer = Vec::new();
    let listing = if filter.archived { store.list_filed()? } else { store.list()? };
    for entry in listing.iter() {
        let id = entry.id_text();
        let loaded = store.read_entry(entry, &mut buffer).and_then(|bytes| Document::parse(bytes, &id).map_err(LoadError::Bad));
        match loaded {
            Ok((document, card)) => {
                let status_fits = filter.statuses.is_empty() || filter.statuses.contains(&card.status);
                if status_fits && filter.task_type.as_ref().is_none_or(|wanted| *wanted == card.task_type) {
                    match &observer {
                        None => output.json_line(&json(&document, filter.archived))?,
                        Some(observer) => {
                            let now = store.clock().now();
                            rows.push(Row::new(&document, &card, last_seen(store, observer, &card, now), now));
                        }
                    }
                }
            }
            Err(LoadError::Missing) => {}
            Err(error) => {
                let folder = if filter.archived { store.archive() } else { store.folder().to_owned() };
                let error = error.at(folder.join(format!("{id}.json"))).about(&id);
                say(&error.message);
                exit = error.exit;
            }
        }
        if output.is_closed() {
            break;
        }
    }
    output.text(&table::print(&rows, &Screen::of_stdout()))?;
    output.finish()?;
    Ok(if output.is_closed() { Exit::Done } else { exit })
}

/// Prints the history of a task, oldest first.
pub(crate) fn log(store: &Store, id: &TaskId) -> Result<Exit, Error> {
    let lines = store.history(id)?;
    if lines.is_empty()
        && let Err(error) = store.find(id)
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
