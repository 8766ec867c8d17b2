//! Our texts in files of the workspace that belong to others.

use std::path::Path;

use shared::exit::Error;

use crate::action::Action;
use crate::assets;
use crate::disk::Text;
use crate::lang::Lang;
use crate::section::{Ours, Record, lost, put, take};

/// The file that agents read when they start.
pub(crate) const AGENTS_MD: &str = "AGENTS.md";

/// What it is to say.
pub(crate) fn agents_text(lang: Lang) -> Ours {
    Ours { section: assets::AGENTS[usize::from(lang == Lang::Zh)].to_owned(), entry: None }
}

/// What is to be done so that ours is in it, and how it came there.
pub(crate) fn put_in(
    workspace: &Path,
    path: &Path,
    ours: &Ours,
    record: Option<&Record>,
) -> Result<(Option<Action>, Record), Error> {
    let text = Text::read(&workspace.join(path))?;
    let (after, now) = put(text.content.as_deref(), ours, record).map_err(|why| wrong(&text.file, &why))?;
    Ok((edit(text, Some(after), record), now))
}

/// What is to be done so that ours is out of it.
pub(crate) fn take_out(workspace: &Path, path: &Path, record: &Record) -> Result<Option<Action>, Error> {
    let text = Text::read(&workspace.join(path))?;
    let Some(content) = &text.content else { return Ok(None) };
    let after = take(content, Some(record)).map_err(|why| wrong(&text.file, &why))?;
    Ok(edit(text, after, Some(record)))
}

fn edit(text: Text, after: Option<String>, record: Option<&Record>) -> Option<Action> {
    let lost = record.zip(text.content.as_deref()).and_then(|(record, content)| lost(content, record));
    let lost = lost.map(|lost| format!("{}: {lost}", text.file.display()));
    (text.content != after).then_some(Action::Edit { file: text.file, before: text.content, after, lost })
}

fn wrong(path: &Path, why: &str) -> Error {
    Error::data(format!("{}: {why}", path.display()))
}
