//! The verbs of a task's last days: `archive`, `prune`.

use lexopt::prelude::*;
use shared::card::Status;
use shared::command_line::{CommandLine, Stop};
use shared::exit::Error;

use super::Verb;
use crate::archive::Archive;
use crate::prune::Prune;

pub(super) fn archive(line: &mut CommandLine) -> Result<Verb, Stop> {
    let mut wanted = Archive::default();
    while let Some(arg) = line.word()? {
        match arg {
            Value(word) => wanted.ids.push(word.string()?.parse().map_err(Error::usage)?),
            Long("task-id") => wanted.ids.push(line.text("task-id")?.parse().map_err(Error::usage)?),
            Long("older-than") => wanted.older_than_seconds = Some(age(line)?),
            Long("status") => wanted.statuses.push(last_status(&line.text("status")?)?),
            Long("cleanup") => wanted.cleanup = true,
            Long("dry-run") => wanted.dry_run = true,
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Verb::Archive(wanted))
}

pub(super) fn prune(line: &mut CommandLine) -> Result<Verb, Stop> {
    let (mut older_than_seconds, mut dry_run) = (None, false);
    while let Some(arg) = line.word()? {
        match arg {
            Long("older-than") => older_than_seconds = Some(age(line)?),
            Long("dry-run") => dry_run = true,
            other => return Err(other.unexpected().into()),
        }
    }
    let missing = || Error::usage("prune: --older-than is missing: what is deleted is gone, so say how old it must be");
    Ok(Verb::Prune(Prune { older_than_seconds: older_than_seconds.ok_or_else(missing)?, dry_run }))
}

/// An age in seconds: a whole number with its unit.
fn age(line: &mut CommandLine) -> Result<f64, Error> {
    let text = line.text("older-than")?;
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
