//! `card export`: a card in the form that others read.

use std::path::{Path, PathBuf};

use shared::cli::Output;
use shared::durable;
use shared::exit::{Error, Exit};
use shared::id::TaskId;
use shared::store::Store;
use shared::task_state::{self, TaskState};

/// `card export`.
#[derive(Debug)]
pub(crate) struct Export {
    pub(crate) id: TaskId,
    /// A file, or `-` for stdout, as without one.
    pub(crate) to: Option<PathBuf>,
}

/// Writes the card as a session skill's file. One that is another task's is left alone.
pub(crate) fn export(store: &Store, wanted: &Export) -> Result<Exit, Error> {
    let card = store.find(&wanted.id).map_err(|error| error.about(wanted.id.as_str()))?.document;
    let Some(path) = wanted.to.as_deref().filter(|path| *path != Path::new("-")) else {
        let mut output = Output::new();
        output.text(&String::from_utf8_lossy(&TaskState::of_card(&card, None, None).bytes()))?;
        output.finish()?;
        return Ok(Exit::Done);
    };
    let shown = path.display();
    let before = task_state::load(path).map_err(|why| Error::data(format!("{shown}: {why}; it is left alone")))?;
    if let Some(other) = before.as_ref().filter(|state| *state.id() != wanted.id) {
        return Err(Error::new(Exit::Exists, format!("{shown} is the file of {}; choose another name, or remove it", other.id())));
    }
    let path = std::path::absolute(path).map_err(|_| Error::usage("export: the file's name is empty"))?;
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Err(Error::usage(format!("export: {shown} is no name of a file")));
    };
    let bytes = TaskState::of_card(&card, before, None).bytes();
    durable::replace(folder, name, &bytes).map_err(|error| Error::io(format!("cannot write {shown}: {error}")))?;
    Ok(Exit::Done)
}
