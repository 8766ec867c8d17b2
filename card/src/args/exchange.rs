//! The verbs that take tasks from others, and give them: `import`, `export`.

use lexopt::prelude::*;
use shared::command_line::{CommandLine, Stop, set_id};
use shared::exit::Error;

use super::Verb;
use crate::export::Export;
use crate::import::{Import, Options, Source};

pub(super) fn import(line: &mut CommandLine) -> Result<Verb, Stop> {
    let (mut source, mut from, mut options) = (None, None, Options::default());
    while let Some(arg) = line.word()? {
        match arg {
            Long("from") => {
                let name = line.text("from")?;
                let found = Source::named(&name);
                source =
                    Some(found.ok_or_else(|| Error::usage(format!("--from: {name:?} is no source; known are {}", Source::NAMES)))?);
            }
            Value(path) if from.is_none() => from = Some(path.into()),
            Long("intent-phrase") => options.intent_phrases.push(line.text("intent-phrase")?),
            Long(_) => line.take_policy(&mut options.policy)?,
            other => return Err(other.unexpected().into()),
        }
    }
    let source = source.ok_or_else(|| Error::usage(format!("import: --from is missing; known are {}", Source::NAMES)))?;
    if options != Options::default() && !matches!(source, Source::EndedRuns | Source::Sessions) {
        return Err(Stop::usage("import: policies and --intent-phrase are for ended runs: openclaw-run, openclaw-sessions"));
    }
    Ok(Verb::Import(Import { source, from, options }))
}

pub(super) fn export(line: &mut CommandLine) -> Result<Verb, Stop> {
    let (mut id, mut to, mut known) = (None, None, false);
    while let Some(arg) = line.word()? {
        match arg {
            Long("to") => {
                let name = line.text("to")?;
                known = name == "task-state";
                if !known {
                    return Err(Stop::usage(format!("--to: {name:?} is no form to export to; known is task-state")));
                }
            }
            Long("task-id") => set_id(&mut id, &line.text("task-id")?)?,
            Value(word) if id.is_none() => set_id(&mut id, &word.string()?)?,
            Value(path) if to.is_none() => to = Some(path.into()),
            other => return Err(other.unexpected().into()),
        }
    }
    if !known {
        return Err(Stop::usage("export: --to is missing; known is task-state"));
    }
    let id = id.ok_or_else(|| Error::usage("export: say which task"))?;
    Ok(Verb::Export(Export { id, to }))
}
