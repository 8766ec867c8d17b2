//! A text that OpenClaw's heartbeat puts before the model: in HEARTBEAT.md on versions that read it, in the monitor scratch
//! on those that do not.
//!
//! From 2026.8 on HEARTBEAT.md is never read, so a text there would be a silent nothing. `openclaw doctor --fix` imports it
//! into the scratch; a text of ours that came there that way is found and refreshed.

use shared::exit::{Error, Exit};

use crate::action::Action;
use crate::assets;
use crate::check::Finding;
use crate::disk::Text;
use crate::every::Every;
use crate::lang::Lang;
use crate::manifest::Installed;
use crate::openclaw::Job;
use crate::section::{Ours, is_in, put};
use crate::trigger::call::refusal;
use crate::trigger::scratch::Change;
use crate::trigger::{Call, Planned, Terms};
use crate::world::World;

/// The file that versions before 2026.8 read.
pub(crate) const FILE: &str = "HEARTBEAT.md";
/// Characters of a file that OpenClaw reads.
const FILE_CHARS_MAX: usize = 20_000;
/// How often a heartbeat comes unless it is configured otherwise.
const DEFAULT_EVERY: Every = Every(1800);

pub(crate) fn plan(world: &World, terms: Terms, before: Option<&Installed>) -> Result<Planned, Error> {
    let openclaw = world.openclaw();
    if openclaw.is_none_or(|openclaw| openclaw.reads_heartbeat_md()) {
        let every = terms.every.max(DEFAULT_EVERY);
        let mut planned = Planned::new(Installed {
            every,
            name: String::new(),
            openclaw: openclaw.map(|openclaw| openclaw.program.path.clone()),
            ..Installed::default()
        });
        planned.text = Some(FILE.into());
        if openclaw.is_none() {
            let note = "no openclaw is on the PATH: only versions before 2026.8 read HEARTBEAT.md, later ones never do";
            planned.notes.push(note.to_owned());
            planned.next.push("openclaw --version".to_owned());
        }
        if every != terms.every {
            planned.notes.push(format!("a heartbeat comes every {DEFAULT_EVERY}, unless OpenClaw is configured otherwise"));
        }
        let length = Text::read(&world.workspace.join(FILE))?.content.map_or(0, |text| text.chars().count());
        if length + assets::HEARTBEAT[0].len() > FILE_CHARS_MAX {
            planned
                .notes
                .push(format!("{FILE} has {length} characters; OpenClaw reads {FILE_CHARS_MAX} of it, ours may be cut off"));
        }
        return Ok(planned);
    }
    let remedy = world.command(&["--trigger", "heartbeat"]);
    let (agent, job) = agent_and_job(world, &remedy)?;
    // That of HEARTBEAT.md tells nothing about the scratch.
    let record = before.filter(|before| before.name == agent).map(|before| before.record.clone());
    let (change, record) = Change::plan(world, &job.id, Some(ours(terms, "NO_REPLY")), record, &remedy)?;
    let every = terms.every.max(job.every_ms.map_or(DEFAULT_EVERY, |every_ms| Every(every_ms / 1000)));
    let openclaw = openclaw.map(|openclaw| openclaw.program.path.clone());
    let mut planned = Planned::new(Installed { every, name: agent, openclaw, record, former: None });
    planned.actions.extend(change.map(Call::Scratch).map(Action::call));
    if every != terms.every {
        planned.notes.push(format!("OpenClaw wakes this heartbeat every {every}"));
    }
    if !job.enabled {
        planned.notes.push("this heartbeat is switched off".to_owned());
        planned.next.push(format!("openclaw cron enable {}", job.id));
    }
    if Text::read(&world.workspace.join(FILE))?.content.is_some() {
        planned
            .notes
            .push(format!("this version never reads {FILE}, which is there; openclaw doctor --fix imports and removes it"));
    }
    Ok(planned)
}

/// The scratch; HEARTBEAT.md is one of the workspace's edited texts. One that is gone may have been imported.
pub(crate) fn take(world: &World, installed: &Installed) -> Result<Vec<Action>, Error> {
    let imported = installed.name.is_empty()
        && !world.workspace.join(FILE).exists()
        && !installed.record.made
        && world.openclaw().is_some_and(|openclaw| !openclaw.reads_heartbeat_md());
    if installed.name.is_empty() && !imported {
        return Ok(Vec::new());
    }
    let remedy = world.command(&["--uninstall"]);
    let job = match agent_and_job(world, &remedy) {
        Ok((_, job)) => job,
        // Without the job there is no scratch.
        Err(error) if error.exit == Exit::Config => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let record = (!installed.name.is_empty()).then(|| installed.record.clone());
    let (change, _) = Change::plan(world, &job.id, None, record, &remedy)?;
    Ok(change.map(Call::Scratch).map(Action::call).into_iter().collect())
}

pub(crate) fn check(world: &World, terms: Terms, installed: &Installed) -> Vec<Finding> {
    let remedy = world.command(&["--trigger", "heartbeat"]);
    let found = |what: String| vec![Finding::new("trigger", what, remedy.clone())];
    let reads_file = world.openclaw().is_none_or(|openclaw| openclaw.reads_heartbeat_md());
    let (text, terms_quiet, name) = match (installed.name.is_empty(), reads_file) {
        (true, false) => {
            let name = world.openclaw().map_or_else(String::new, crate::openclaw::OpenClaw::name);
            return found(format!("{name} never reads {FILE}, where the text is"));
        }
        (true, true) => match Text::read(&world.workspace.join(FILE)) {
            Ok(text) => (text.content, "HEARTBEAT_OK", FILE.to_owned()),
            Err(error) => return found(error.message),
        },
        (false, _) => {
            let read = agent_and_job(world, &remedy).and_then(|(_, job)| {
                let openclaw = world.openclaw().map(|openclaw| openclaw.scratch(&job.id));
                let scratch = openclaw.transpose().map_err(|failure| refusal(&failure, &remedy))?;
                Ok((scratch.and_then(|scratch| scratch.content), job.id))
            });
            match read {
                Ok((content, id)) => (content, "NO_REPLY", format!("the heartbeat's text (openclaw cron scratch {id})")),
                Err(error) => return found(format!("the heartbeat's text cannot be read: {}", error.message)),
            }
        }
    };
    match text {
        Some(text) if is_in(&text) => match put(Some(&text), &ours(terms, terms_quiet), None) {
            Ok((wanted, _)) if wanted == text => Vec::new(),
            _ => found(format!("our section in {name} is not the one that was installed")),
        },
        _ => found(format!("our section in {name} is gone")),
    }
}

/// Our text.
pub(crate) fn ours(terms: Terms, quiet_token: &str) -> Ours {
    let index = usize::from(terms.lang == Lang::Zh);
    let text = |template: &str| template.replace("@QUIET@", quiet_token);
    let entry = (terms.every.to_string(), text(assets::ENTRY[index].trim_end()));
    Ours { section: text(assets::HEARTBEAT[index]), entry: Some(entry) }
}

/// The agent that works here, and its heartbeat's job.
fn agent_and_job(world: &World, remedy: &str) -> Result<(String, Job), Error> {
    let config = |why: String| Error::new(Exit::Config, why);
    let agent = world.agent().map_err(|failure| refusal(&failure, remedy))?;
    let agent = agent.ok_or_else(|| {
        let other = world.command(&["--trigger", "automation"]);
        config(format!("no agent of OpenClaw works in {}, so it has no heartbeat; run: {other}", world.text()))
    })?;
    let key = format!("heartbeat:{}", agent.id);
    let jobs = world.jobs().map_err(|failure| refusal(&failure, remedy))?;
    let job = jobs.iter().find(|job| job.key == key).ok_or_else(|| {
        let other = world.command(&["--trigger", "automation"]);
        config(format!("agent {} has no heartbeat ({key} is not among OpenClaw's jobs); run: {other}", agent.id))
    })?;
    Ok((agent.id.clone(), job.clone()))
}
