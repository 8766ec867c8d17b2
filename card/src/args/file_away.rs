//! The verbs of a task's last days: `archive`, `prune`.

use lexopt::Parser;
use lexopt::prelude::*;
use shared::card::Status;
use shared::cli::{self, text};
use shared::exit::Error;

use super::{Answer, HELP, Line, Verb};
use crate::archive::Archive;
use crate::prune::Prune;

pub(super) fn archive(line: &mut Line) -> Result<Answer, Error> {
    let Line { parser, common } = line;
    let mut wanted = Archive::default();
    while let Some(arg) = parser.next()? {
        match arg {
            Value(word) => wanted.ids.push(word.string()?.parse().map_err(Error::usage)?),
            Long("task-id") => wanted.ids.push(text(parser, "task-id")?.parse().map_err(Error::usage)?),
            Long("older-than") => wanted.older_than_seconds = Some(age(parser)?),
            Long("status") => wanted.statuses.push(last_status(&text(parser, "status")?)?),
            Long("cleanup") => wanted.cleanup = true,
            Long("dry-run") => wanted.dry_run = true,
            Long("workspace") => common.workspace = Some(parser.value()?.into()),
            Long("now") => common.now = Some(cli::time(parser, "now")?),
            Short('h') | Long("help") => return Ok(Answer::Print(HELP.to_owned())),
            Short('V') | Long("version") => return Ok(Answer::Print(cli::version())),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Answer::Verb(Verb::Archive(wanted)))
}

pub(super) fn prune(line: &mut Line) -> Result<Answer, Error> {
    let Line { parser, common } = line;
    let (mut older_than_seconds, mut dry_run) = (None, false);
    while let Some(arg) = parser.next()? {
        match arg {
            Long("older-than") => older_than_seconds = Some(age(parser)?),
            Long("dry-run") => dry_run = true,
            Long("workspace") => common.workspace = Some(parser.value()?.into()),
            Long("now") => common.now = Some(cli::time(parser, "now")?),
            Short('h') | Long("help") => return Ok(Answer::Print(HELP.to_owned())),
            Short('V') | Long("version") => return Ok(Answer::Print(cli::version())),
            other => return Err(other.unexpected().into()),
        }
    }
    let missing = || Error::usage("prune: --older-than is missing: what is deleted is gone, so say how old it must be");
    Ok(Answer::Verb(Verb::Prune(Prune { older_than_seconds: older_than_seconds.ok_or_else(missing)?, dry_run })))
}

/// An age in seconds: a whole number with its unit.
fn age(parser: &mut Parser) -> Result<f64, Error> {
    let text = text(parser, "older-than")?;
    let seconds = || {
        let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let unit_seconds = match unit {
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            "w" => 7.0 * 86_400.0,
            _ => return None,
        };
        let number = number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse::<u32>().ok())??;
        Some(f64::from(number) * unit_seconds)
    };
    seconds().ok_or_else(|| Error::usage(format!("--older-than: {text:?} is no age: a whole number with m, h, d or w, such as 7d")))
}

fn last_status(text: &str) -> Result<Status, Error> {
    match text.parse::<Status>() {
        Ok(status) if status.is_terminal() => Ok(status),
        _ => {
            Err(Error::usage(format!("--status: {text:?} is no status of a finished task; known are completed, failed, cancelled")))
        }
    }
}
