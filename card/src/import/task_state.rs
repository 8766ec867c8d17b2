//! From `.task-state.json`: the session's skill and the card keep one task together from then on.

use std::path::{Path, PathBuf};

use shared::card::Status;
use shared::edit::edit;
use shared::exit::{Error, Exit};
use shared::history::Event;
use shared::id::TaskId;
use shared::store::{LoadError, Store};
use shared::task_state::{self, FILE_NAME, TaskState};

use super::standard_input;
use crate::show;

/// Makes or refreshes the card of the file. A file that is missing or empty is none.
pub(super) fn import(store: &Store, from: Option<&Path>) -> Result<Exit, Error> {
    if from == Some(Path::new("-")) {
        let parsed = TaskState::parse(&standard_input()?).map_err(|why| Error::data(format!("standard input: {why}")))?;
        return parsed.map_or(Ok(Exit::Done), |state| take(store, &state, None));
    }
    for path in places(store, from)? {
        let loaded = task_state::load(&path);
        if let Some(state) = loaded.map_err(|why| Error::data(format!("{}: {why}; it is left alone", path.display())))? {
            return take(store, &state, Some(&path));
        }
    }
    Ok(Exit::Done)
}

/// The file that was named, or those where the skill keeps it.
fn places(store: &Store, from: Option<&Path>) -> Result<Vec<PathBuf>, Error> {
    if let Some(path) = from {
        let path = std::path::absolute(path).map_err(|_| Error::usage("import: the file's name is empty"))?;
        if path.to_str().is_none() {
            return Err(Error::data(format!(
                "{}: a card cannot name this file, as its name is no UTF-8; rename it",
                path.display()
            )));
        }
        // The folder's real name, so that the card finds it from everywhere.
        let folder = path.parent().and_then(|folder| std::fs::canonicalize(folder).ok());
        return Ok(vec![folder.zip(path.file_name()).map_or(path.clone(), |(folder, name)| folder.join(name))]);
    }
    // A relative HOME would be another one in each folder.
    let home = std::env::var_os("HOME").filter(|home| Path::new(home).is_absolute());
    let home = home.map(|home| Path::new(&home).join(".openclaw/workspace-main").join(FILE_NAME));
    Ok([Some(store.workspace().join(FILE_NAME)), home].into_iter().flatten().collect())
}

fn take(store: &Store, state: &TaskState, file: Option<&Path>) -> Result<Exit, Error> {
    let id = state.id();
    match store.load(id) {
        Err(LoadError::Missing) if state.status().is_terminal() => return Ok(Exit::Done),
        Err(LoadError::Missing) => {
            let card = state.new_card(file, store.clock().stamp());
            match store.create(id, card, Event::new("imported").with("by", "card").with("from", "task-state")) {
                // Another session made it meanwhile.
                Err(error) if error.exit == Exit::Exists && store.load(id).is_ok() => {}
                Err(error) if error.exit == Exit::Exists && store.is_filed(id)? => return Err(over(id, "filed away", file)),
                made => return show::print(&made?),
            }
        }
        Ok((_, card)) if card.status.is_terminal() && !state.status().is_terminal() => {
            return Err(over(id, card.status.as_str(), file));
        }
        Ok((_, card)) if card.status.is_terminal() => return Ok(Exit::Done),
        Ok(_) => {}
        Err(error) => return Err(error.about(id.as_str())),
    }
    let card = edit(store, id, |document, _, _| {
        let before = document.clone();
        // It missed a write of the card: a kill between the two, or a folder that could not be written.
        let own = file.filter(|_| before.object().get("metadata").and_then(|metadata| metadata.get("task_state_file")).is_some());
        let behind = own.is_some() && state.is_behind(task_state::modified(&store.card_path(id)));
        state.refresh(document, file, behind);
        if state.status() != Status::Running {
            document.set_status(state.status())?;
        }
        let fields = before.changed_fields(document);
        let event = Event::new("imported").with("by", "card").with("from", "task-state").with("fields", fields.clone());
        Ok((!fields.is_empty()).then_some(event))
    })?;
    show::print(&card)
}

/// A file that goes on with a task that never changes again.
fn over(id: &TaskId, how: &str, file: Option<&Path>) -> Error {
    let named = file.map_or_else(|| "standard input".to_owned(), |file| file.display().to_string());
    Error::refused(format!(
        "{id} is {how} and never changes again, but {named} goes on with it: give it another taskId, or remove it"
    ))
}
