//! The verbs that only look: `list`, `show`, `report`.

use lexopt::prelude::*;
use shared::cli::{self, set_id, text};
use shared::exit::Error;

use super::{Answer, Filter, Format, HELP, Line, Show, Verb};
use crate::report::{Format as ReportFormat, Language, Report};

pub(super) fn list(line: &mut Line) -> Result<Answer, Error> {
    let Line { parser, common } = line;
    let mut filter = Filter::default();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("status") => {
                filter.statuses.push(text(parser, "status")?.parse().map_err(|why| Error::usage(format!("--status: {why}")))?);
            }
            Long("task-type") => filter.task_type = Some(text(parser, "task-type")?),
            Long("format") => filter.format = Some(format(&text(parser, "format")?, "jsonl")?),
            Long("workspace") => common.workspace = Some(parser.value()?.into()),
            Long("now") => common.now = Some(cli::time(parser, "now")?),
            Short('h') | Long("help") => return Ok(Answer::Print(HELP.to_owned())),
            Short('V') | Long("version") => return Ok(Answer::Print(cli::version())),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Answer::Verb(Verb::List(filter)))
}

pub(super) fn show(line: &mut Line) -> Result<Answer, Error> {
    let Line { parser, common } = line;
    let (mut id, mut wanted) = (None, None);
    while let Some(arg) = parser.next()? {
        match arg {
            Long("task-id") => set_id(&mut id, &text(parser, "task-id")?)?,
            Value(word) => set_id(&mut id, &word.string()?)?,
            Long("format") => wanted = Some(format(&text(parser, "format")?, "json")?),
            Long("workspace") => common.workspace = Some(parser.value()?.into()),
            Long("now") => common.now = Some(cli::time(parser, "now")?),
            Short('h') | Long("help") => return Ok(Answer::Print(HELP.to_owned())),
            Short('V') | Long("version") => return Ok(Answer::Print(cli::version())),
            other => return Err(other.unexpected().into()),
        }
    }
    let id = id.ok_or_else(|| Error::usage("show: say which task"))?;
    Ok(Answer::Verb(Verb::Show(Show { id, format: wanted })))
}

pub(super) fn report(line: &mut Line) -> Result<Answer, Error> {
    let Line { parser, common } = line;
    let mut wanted = Report { format: ReportFormat::Text, language: None, quiet_token: None };
    let mut from_pipe = false;
    while let Some(arg) = parser.next()? {
        match arg {
            Value(word) if word == "-" => from_pipe = true,
            Long("format") => {
                wanted.format = match text(parser, "format")?.as_str() {
                    "chat" => ReportFormat::Chat,
                    "text" => ReportFormat::Text,
                    other => return Err(Error::usage(format!("--format: {other:?} is no format: chat, text"))),
                };
            }
            Long("lang") => {
                let code = text(parser, "lang")?;
                let language = Language::parse(&code);
                wanted.language =
                    Some(language.ok_or_else(|| Error::usage(format!("--lang: {code:?} is no language of ours: en, zh")))?);
            }
            Long("quiet-token") => wanted.quiet_token = Some(text(parser, "quiet-token")?).filter(|token| !token.is_empty()),
            Long("workspace") => common.workspace = Some(parser.value()?.into()),
            Long("now") => common.now = Some(cli::time(parser, "now")?),
            Short('h') | Long("help") => return Ok(Answer::Print(HELP.to_owned())),
            Short('V') | Long("version") => return Ok(Answer::Print(cli::version())),
            other => return Err(other.unexpected().into()),
        }
    }
    if !from_pipe {
        return Err(Error::usage("report: give - and pipe the lines of resume into it; see --help"));
    }
    Ok(Answer::Verb(Verb::Report(wanted)))
}

fn format(text: &str, json: &str) -> Result<Format, Error> {
    match text {
        "text" => Ok(Format::Text),
        _ if text == json => Ok(Format::Json),
        _ => Err(Error::usage(format!("--format: {text:?} is no format: {json}, text"))),
    }
}
