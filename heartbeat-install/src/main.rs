//! `heartbeat-install`: puts the programs into a workspace, makes something call `watch | resume` regularly, and undoes it.
//!
//! ```text
//! target  world           which workspaces; the facts, each looked at once
//! plan  uninstall         what is to be done: pure lists of steps
//! files  edits  section   files of ours; our texts in files of others
//! trigger/                what makes a pass happen, one file a kind
//! plugin                  what OpenClaw is told of the plugin
//! action                  a step: carried out, or shown
//! manifest                what was placed, written before it is
//! check  answer           what is wrong; what is said
//! ```

use std::path::Path;
use std::process::ExitCode;

use shared::cli::{self, Output};
use shared::exit::{Error, Exit};
use shared::talk::say;
use shared::time::Clock;

use crate::action::Action;
use crate::args::{Choice, Task, Wanted};
use crate::plan::Plan;
use crate::programs::Programs;
use crate::world::World;

mod action;
mod answer;
mod args;
mod assets;
mod check;
mod child;
mod diff;
mod disk;
mod edits;
mod every;
mod files;
#[cfg(test)]
mod files_tests;
mod lang;
mod manifest;
mod openclaw;
mod plan;
mod plugin;
mod programs;
mod section;
#[cfg(test)]
mod section_tests;
mod target;
mod tasks_block;
mod trigger;
mod uninstall;
mod world;

fn main() -> ExitCode {
    cli::run("heartbeat-install", args::parse, |wanted| run(&wanted))
}

/// All workspaces; one that fails hides no other.
fn run(wanted: &Wanted) -> Result<Exit, Error> {
    let programs = Programs::find()?;
    let mut output = Output::new();
    let mut exit = Exit::Done;
    for workspace in target::find(wanted)? {
        let ended = one(wanted, &workspace, &programs, &mut output).unwrap_or_else(|error| {
            say(&error.message);
            error.exit
        });
        if exit == Exit::Done {
            exit = ended;
        }
    }
    output.finish()?;
    Ok(exit)
}

fn one(wanted: &Wanted, workspace: &Path, programs: &Programs, output: &mut Output) -> Result<Exit, Error> {
    let world = World::of(workspace, programs.clone(), Clock::new(wanted.now))?;
    if wanted.task == Task::Check {
        let (findings, last_pass) = check::check(&world)?;
        answer::checked(output, wanted, &world, &findings, last_pass)?;
        return Ok(if findings.is_empty() { Exit::Done } else { Exit::NeedsPerson });
    }
    if wanted.dry_run {
        answer::dry(output, &world, &plan(wanted, &world)?)?;
        return Ok(Exit::Done);
    }
    let _lock = target::lock(&world.workspace)?;
    let (world, plan, changed) = carry_out(wanted, world)?;
    answer::done(output, wanted, &world, &plan, changed)?;
    if plan.lacks_trigger {
        let next = plan.next.join("; then: ");
        return Err(Error::new(Exit::Config, format!("everything is placed, but nothing here can call it regularly; run: {next}")));
    }
    Ok(Exit::Done)
}

fn plan(wanted: &Wanted, world: &World) -> Result<Plan, Error> {
    let mut plan = if wanted.task == Task::Uninstall { uninstall::uninstall(world)? } else { plan::install(world, wanted)? };
    plan.notes.extend(plan.actions.iter().filter_map(Action::lost));
    Ok(plan)
}

/// Step by step; whether anything changed. When OpenClaw refuses what `auto` picked, the next best is planned.
fn carry_out(wanted: &Wanted, world: World) -> Result<(World, Plan, bool), Error> {
    // Read again now that no other run is at work.
    let mut world = world.again(None)?;
    let mut changed = false;
    loop {
        let plan = plan(wanted, &world)?;
        let mut refused = None;
        for action in &plan.actions {
            match action.carry_out() {
                Ok(did) => changed |= did,
                Err(error) if error.exit == Exit::Refused && wanted.choice == Choice::Auto && action.adds_job() => {
                    refused = Some(error.message);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        match refused {
            Some(message) if world.refused.is_none() => world = world.again(Some(message))?,
            _ => return Ok((world, plan, changed)),
        }
    }
}
