//! Prints a line for every card that is not quiet.

use std::path::Path;

use shared::cli::Output;
use shared::exit::{Error, Exit};
use shared::facts::Observer;
use shared::last_pass::LastPass;
use shared::screen::Screen;
use shared::sentence::sentence;
use shared::signal::{self, Line};
use shared::store::Store;
use shared::verdict::Verdict;

use crate::args::{Format, Wanted};
use crate::look::{Found, Judged, look_at_all};

/// Looks at all cards and prints what they need.
pub(crate) fn print(store: &Store, observer: &Observer, last_pass: &LastPass, wanted: &Wanted) -> Result<Exit, Error> {
    let mut output = Output::new();
    let format = wanted.format.unwrap_or(if output.is_terminal() { Format::Text } else { Format::Jsonl });
    let screen = Screen::of_stdout();
    let mut collected = Vec::new();
    let mut needs_person = false;
    let looked = look_at_all(store, observer, false, &mut |found| {
        let Some(line) = line(store.folder(), &found, wanted.task_type.as_deref()) else { return Ok(true) };
        needs_person |= line.needs_person();
        match format {
            Format::Jsonl => output.json_line(&line.0.into())?,
            Format::Text => output.text(&sentence(&titled(line, &found), store.clock().now(), &screen))?,
            Format::Ids if line.needs_person() => {}
            Format::Ids => output.text(&format!("{}\n", line.text("task_id")))?,
            Format::Report => collected.push(line),
        }
        Ok(!output.is_closed())
    });
    if format == Format::Report {
        output.json(&signal::report(&collected, |line| !last_pass.told.contains(&line.told())))?;
    }
    output.finish()?;
    looked?;
    Ok(if wanted.exit_status && needs_person { Exit::NeedsPerson } else { Exit::Done })
}

/// The line for a card, if it is not quiet and of the wanted type. Of a broken card nobody knows the type.
fn line(folder: &Path, found: &Found, task_type: Option<&str>) -> Option<Line> {
    match found {
        Found::Broken { id_text, error } => {
            Some(signal::broken(id_text, error, &folder.join(format!("{id_text}.json")).to_string_lossy()))
        }
        Found::Judged(judged) => {
            let Judged { card, facts, verdict, now } = &**judged;
            if task_type.is_some_and(|wanted| wanted != card.task_type) {
                return None;
            }
            match verdict {
                Verdict::Quiet(_) => None,
                Verdict::Ready => Some(signal::ready(card)),
                Verdict::Alert(due) => Some(signal::alert(card, facts, *due, *now)),
                Verdict::Attention(attention) => Some(signal::needs_attention(card, attention)),
            }
        }
    }
}

/// With the title that a person knows the task by.
fn titled(line: Line, found: &Found) -> Line {
    match found {
        Found::Judged(judged) if !line.0.contains_key("title") => line.with("title", judged.card.title.as_str()),
        _ => line,
    }
}
