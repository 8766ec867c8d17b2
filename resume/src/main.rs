//! `resume`: brings tasks back, under supervision, from their last checkpoint.

use std::process::ExitCode;

use shared::cli::{self, Parsed};

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
mod limits;
mod live;
mod outbox;
mod pass;
mod pool;
mod reaper;
mod settle;
mod signals;
mod spawn;
mod step;
mod supervise;
mod tell;

fn main() -> ExitCode {
    cli::run("resume", || match args::parse(lexopt::Parser::from_env())? {
        Parsed::Print(text) => cli::print(&text),
        Parsed::Run(wanted) => {
            let (store, _) = wanted.common.open()?;
            pass::run(&store, &wanted)
        }
    })
}
