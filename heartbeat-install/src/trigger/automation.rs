//! A command job of OpenClaw: no model call, no tokens. It is declared, so that doing it twice is doing it once.
//!
//! The key names it: `task-recovery:watch` for the default agent's workspace, with the agent's name behind it for another
//! one's, with a name made of the path for a workspace that is no agent's. Once chosen it stays.

use shared::exit::Error;

use crate::action::Action;
use crate::check::Finding;
use crate::manifest::Installed;
use crate::openclaw::{Failure, Job};
use crate::trigger::call::refusal;
use crate::trigger::{Call, Planned, Terms, pass_options};
use crate::world::World;

const KEY: &str = "task-recovery:watch";
const QUIET: &str = "NO_REPLY";

pub(crate) fn plan(world: &World, terms: Terms, before: Option<&Installed>) -> Result<Planned, Error> {
    let remedy = world.command(&["--trigger", "automation"]);
    let jobs = world.jobs().map_err(|failure| refusal(&failure, &remedy))?;
    let Some(openclaw) = world.openclaw().cloned() else {
        return Err(refusal(&Failure::Absent, &remedy));
    };
    let key = match before {
        Some(before) => before.name.clone(),
        None => key(world),
    };
    let argv = argv(world, terms);
    let mut planned = Planned::new(Installed {
        every: terms.every,
        name: key.clone(),
        openclaw: Some(openclaw.program.path.clone()),
        ..Installed::default()
    });
    match jobs.iter().find(|job| job.key == key) {
        Some(job) if is_as_declared(job, terms, &argv) => {}
        _ => planned.actions.push(Action::call(Call::AddJob {
            openclaw,
            key,
            every: terms.every,
            argv,
            folder: world.text().to_owned(),
            remedy,
        })),
    }
    Ok(planned)
}

pub(crate) fn take(world: &World, installed: &Installed) -> Result<Vec<Action>, Error> {
    let remedy = world.command(&["--uninstall"]);
    let jobs = match world.jobs() {
        // It went, and its jobs with it.
        Err(Failure::Absent) => return Ok(Vec::new()),
        jobs => jobs.map_err(|failure| refusal(&failure, &remedy))?,
    };
    let openclaw = world.openclaw().cloned();
    let ours = jobs.iter().filter(|job| job.key == installed.name);
    Ok(openclaw
        .into_iter()
        .flat_map(|openclaw| ours.clone().map(move |job| Call::RemoveJob { openclaw: openclaw.clone(), id: job.id.clone() }))
        .map(Action::call)
        .collect())
}

pub(crate) fn check(world: &World, terms: Terms, installed: &Installed) -> Vec<Finding> {
    let remedy = world.command(&["--trigger", "automation"]);
    let finding = |what: String, remedy: String| vec![Finding::new("trigger", what, remedy)];
    match world.jobs() {
        Err(Failure::Down(message)) => {
            finding(format!("the Gateway that runs the automation is down: {message}"), "openclaw gateway run".to_owned())
        }
        Err(failure) => finding(format!("the automation cannot be seen: {}", failure.message()), remedy),
        Ok(jobs) => match jobs.iter().find(|job| job.key == installed.name) {
            None => finding(format!("the automation {} is gone", installed.name), remedy),
            Some(job) if !job.enabled => {
                finding(format!("the automation {} is switched off", installed.name), format!("openclaw cron enable {}", job.id))
            }
            Some(job) if !is_as_declared(job, terms, &argv(world, terms)) => {
                finding(format!("the automation {} does something else than was installed", installed.name), remedy)
            }
            Some(_) => Vec::new(),
        },
    }
}

fn argv(world: &World, terms: Terms) -> Vec<String> {
    std::iter::once(world.pass()).chain(pass_options(terms, Some(QUIET))).collect()
}

fn is_as_declared(job: &Job, terms: Terms, argv: &[String]) -> bool {
    job.argv == argv && job.every_ms == Some(terms.every.0 * 1000)
}

fn key(world: &World) -> String {
    match world.agent() {
        Ok(Some(agent)) if agent.is_default => KEY.to_owned(),
        Ok(Some(agent)) => format!("{KEY}:{}", agent.id),
        Ok(None) | Err(_) => format!("{KEY}:{}", world.short_name()),
    }
}
