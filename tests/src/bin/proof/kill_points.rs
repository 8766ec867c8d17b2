//! SIGKILL before every system call of every writing command.
//!
//! The points come from a trace of the very command. Each has a run of its own, which must die of SIGKILL there. Then every card
//! is the old one or a newer one, whole; what was answered on stdout is in it; and the next command works.

use tests::strace;
use tests::sweep;
use tests::writers::{Writer, writers};

use crate::controlled::{FAILURES_MAX, controlled};
use crate::{Context, Outcome, Passed};

/// So few would mean that the trace was not understood.
const POINTS_MIN: usize = 500;

pub(crate) fn run(_: &Context) -> Outcome {
    if let Err(why) = strace::is_usable() {
        return Ok(Passed::Skipped(why));
    }
    let writers = writers();
    let mut points = Vec::new();
    for writer in &writers {
        points.extend(sweep::points(writer, true)?.into_iter().map(|point| (writer, point)));
    }
    if points.len() < POINTS_MIN {
        return Err(format!("only {} points", points.len()));
    }
    sweep::each(&points, FAILURES_MAX, |(writer, point)| sweep::kill(writer, point))?;
    Ok(Passed::Done(format!("killed before {} system calls of {} writing commands", points.len(), writers.len())))
}

/// Stand-ins that tear the card or acknowledge too early; that show a task twice, lose it, or leave a part of it behind.
pub(crate) fn control(_: &Context) -> Outcome {
    let broken = [("in-place", "is torn"), ("early-answer", "it was acknowledged and is not there")];
    let writers = controlled(&broken, |mode| survives(&Writer::broken(mode)))?;
    let broken = [
        ("card-first", "the same command again does not finish it"),
        ("links", "is there twice"),
        ("unlinks-first", "is neither the old one nor a new one"),
        ("early-answer", "it was acknowledged and is not so"),
    ];
    Ok(writers.and(controlled(&broken, |mode| survives(&Writer::broken_filing(mode)))?))
}

fn survives(writer: &Writer) -> Result<(), String> {
    sweep::each(&sweep::points(writer, true)?, 1, |point| sweep::kill(writer, point))
}
