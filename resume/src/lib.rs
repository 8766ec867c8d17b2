//! `resume`: brings tasks back, under supervision, from their last checkpoint.
//!
//! A library so that its decisions can be run without processes, files and clocks: `record` and
//! `settle` edit the card, `limits` and `step` say when an attempt is stopped. The rest looks and acts.

use std::process::ExitCode;

use shared::cli;

mod answer;
mod args;
mod attempt;
mod budget;
mod claim;
mod contain;
mod detach;
mod dry_run;
mod items;
mod last_look;
pub mod limits;
mod live;
mod lookout;
mod outbox;
mod pass;
mod pool;
mod reaper;
pub mod record;
pub mod settle;
mod signals;
mod spawn;
pub mod step;
mod supervise;
mod tell;

/// The program.
pub fn main() -> ExitCode {
    cli::run("resume", args::parse, |wanted| {
        let (store, _) = wanted.common.open()?;
        pass::run(&store, &wanted)
    })
}
