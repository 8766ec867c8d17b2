//! The verbs that only look: `list`, `show`, `report`.

use lexopt::prelude::*;
use shared::command_line::{CommandLine, Stop, set_id};
use shared::exit::Error;
use shared::talk::command;

use super::{Filter, Format, Show, Verb};
use crate::field::Field;
use crate::report::{Asked, Form, Format as ReportFormat, Language, Monitor, Report};

const REFRESH_IS_OF_HTML: &str = "report: --refresh is of --format html";

pub(super) fn list(line: &mut CommandLine) -> Result<Verb, Stop> {
    let mut filter = Filter::default();
    while let Some(arg) = line.word()? {
        match arg {
            Long("status") => {
                filter.statuses.push(line.text("status")?.parse().map_err(|why| Error::usage(format!("--status: {why}")))?);
            }
            Long("task-type") => filter.task_type = Some(line.text("task-type")?),
            Long("archived") => filter.archived = true,
            Long("format") => filter.format = Some(format(&line.text("format")?, "jsonl")?),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Verb::List(filter))
}

pub(super) fn show(line: &mut CommandLine) -> Result<Verb, Stop> {
    let (mut id, mut wanted) = (None, None);
    let (mut from_stdin, mut field) = (false, None);
    while let Some(arg) = line.word()? {
        match arg {
            Value(word) if word == "-" => from_stdin = true,
            Long("task-id") => set_id(&mut id, &line.text("task-id")?)?,
            Value(word) => set_id(&mut id, &word.string()?)?,
            Long("field") => field = Some(line.text("field")?),
            Long("format") => wanted = Some(format(&line.text("format")?, "json")?),
            other => return Err(other.unexpected().into()),
        }
    }
    match (id, from_stdin, field) {
        (Some(_), true, _) => Err(Stop::usage("show: a task or -, not both")),
        (None, true, None) => Err(Stop::usage("show -: say which --field")),
        (None, false, _) => Err(Stop::usage("show: say which task")),
        (of, _, Some(path)) => Ok(Verb::Field(Field { of, path, format: wanted })),
        (Some(id), false, None) => Ok(Verb::Show(Show { id, format: wanted })),
    }
}

pub(super) fn report(line: &mut CommandLine) -> Result<Verb, Stop> {
    let mut wanted = Report { format: ReportFormat::Text, language: None, quiet_token: None, plain: false };
    let (mut from_pipe, mut of_pipe) = (false, None);
    let (mut form, mut refresh, mut quiet) = (None, None, None);
    let mut ids = Vec::new();
    while let Some(arg) = line.word()? {
        match arg {
            Value(word) if word == "-" => from_pipe = true,
            Value(word) => ids.push(word.string()?.parse().map_err(Error::usage)?),
            Long("task-id") => ids.push(line.text("task-id")?.parse().map_err(Error::usage)?),
            Long("plain") => wanted.plain = true,
            Long("format") => {
                (of_pipe, form) = (None, None);
                match line.text("format")?.as_str() {
                    "chat" => (of_pipe, wanted.format) = (Some("--format chat"), ReportFormat::Chat),
                    "text" => (of_pipe, wanted.format) = (Some("--format text"), ReportFormat::Text),
                    "prometheus" => form = Some(Form::Prometheus),
                    "html" => form = Some(Form::Html { refresh_seconds: None }),
                    other => {
                        return Err(Stop::usage(format!(
                            "--format: {other:?} is no format; known are text, chat, prometheus, html"
                        )));
                    }
                }
            }
            Long("refresh") => refresh = Some(line.count("refresh")?.max(1)),
            Long("lang") => {
                let code = line.text("lang")?;
                let language = Language::parse(&code);
                wanted.language = Some(
                    language.ok_or_else(|| Error::usage(format!("--lang: {code:?} is no language of ours; known are en, zh")))?,
                );
            }
            Long("quiet-token") => {
                quiet = Some("--quiet-token");
                wanted.quiet_token = Some(line.text("quiet-token")?).filter(|token| !token.is_empty());
            }
            other => return Err(other.unexpected().into()),
        }
    }
    if let Some(form) = form {
        if wanted.plain || !ids.is_empty() || quiet.is_some() {
            return Err(Stop::usage(
                "report: prometheus and html tell of all cards; IDs, --plain and --quiet-token are of the other formats",
            ));
        }
        let form = refreshed(form, refresh)?;
        return Ok(Verb::Monitor(Monitor { form, from_pipe, language: wanted.language }));
    }
    if refresh.is_some() {
        return Err(Stop::usage(REFRESH_IS_OF_HTML));
    }
    if from_pipe {
        if !ids.is_empty() {
            return Err(Stop::usage("report: - reads what a pass tells of all tasks; leave the IDs out, or leave - out"));
        }
        return Ok(Verb::Report(wanted));
    }
    if let Some(option) = of_pipe.or(quiet) {
        return Err(Stop::usage(format!("report: {option} needs - and the lines of {} in a pipe; see --help", command("resume"))));
    }
    Ok(Verb::Ask(Asked { ids, language: wanted.language, plain: wanted.plain }))
}

fn refreshed(form: Form, refresh_seconds: Option<u64>) -> Result<Form, Error> {
    match (form, refresh_seconds) {
        (Form::Html { .. }, refresh_seconds) => Ok(Form::Html { refresh_seconds }),
        (Form::Prometheus, None) => Ok(form),
        (Form::Prometheus, Some(_)) => Err(Error::usage(REFRESH_IS_OF_HTML)),
    }
}

fn format(text: &str, json: &str) -> Result<Format, Error> {
    match text {
        "text" => Ok(Format::Text),
        _ if text == json => Ok(Format::Json),
        _ => Err(Error::usage(format!("--format: {text:?} is no format; known are {json}, text"))),
    }
}
