//! The verbs that take tasks from others, and give them: `import`, `export`.

use lexopt::prelude::*;
use shared::cli::{self, set_id, take_policy, text};
use shared::exit::Error;

use super::{Answer, HELP, Line, Verb};
use crate::export::Export;
use crate::import::{Import, Options, Source};

pub(super) fn import(line: &mut Line) -> Result<Answer, Error> {
    let Line { parser, common } = line;
    let (mut source, mut from, mut options) = (None, None, Options::default());
    while let Some(arg) = parser.next()? {
        match arg {
            Long("from") => {
                let name = text(parser, "from")?;
                let found = Source::named(&name);
                source =
                    Some(found.ok_or_else(|| Error::usage(format!("--from: {name:?} is no source; known are {}", Source::NAMES)))?);
            }
            Value(path) if from.is_none() => from = Some(path.into()),
            Long("intent-phrase") => options.intent_phrases.push(text(parser, "intent-phrase")?),
            Long("workspace") => common.workspace = Some(parser.value()?.into()),
            Long("now") => common.now = Some(cli::time(parser, "now")?),
            Short('h') | Long("help") => return Ok(Answer::Print(HELP.to_owned())),
            Short('V') | Long("version") => return Ok(Answer::Print(cli::version())),
            Long(option) => {
                let option = option.to_owned();
                take_policy(&mut options.policy, &option, parser)?;
            }
            other => return Err(other.unexpected().into()),
        }
    }
    let source = source.ok_or_else(|| Error::usage(format!("import: --from is missing; known are {}", Source::NAMES)))?;
    if options != Options::default() && !matches!(source, Source::EndedRuns | Source::Sessions) {
        return Err(Error::usage("import: policies and --intent-phrase are for ended runs: openclaw-run, openclaw-sessions"));
    }
    Ok(Answer::Verb(Verb::Import(Import { source, from, options })))
}

pub(super) fn export(line: &mut Line) -> Result<Answer, Error> {
    let Line { parser, common } = line;
    let (mut id, mut to, mut known) = (None, None, false);
    while let Some(arg) = parser.next()? {
        match arg {
            Long("to") => {
                let name = text(parser, "to")?;
                known = name == "task-state";
                if !known {
                    return Err(Error::usage(format!("--to: {name:?} is no form to export to; known is task-state")));
                }
            }
            Long("task-id") => set_id(&mut id, &text(parser, "task-id")?)?,
            Value(word) if id.is_none() => set_id(&mut id, &word.string()?)?,
            Value(path) if to.is_none() => to = Some(path.into()),
            Long("workspace") => common.workspace = Some(parser.value()?.into()),
            Long("now") => common.now = Some(cli::time(parser, "now")?),
            Short('h') | Long("help") => return Ok(Answer::Print(HELP.to_owned())),
            Short('V') | Long("version") => return Ok(Answer::Print(cli::version())),
            other => return Err(other.unexpected().into()),
        }
    }
    if !known {
        return Err(Error::usage("export: --to is missing; known is task-state"));
    }
    let id = id.ok_or_else(|| Error::usage("export: say which task"))?;
    Ok(Answer::Verb(Verb::Export(Export { id, to })))
}
