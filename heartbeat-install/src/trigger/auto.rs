//! Which trigger works best here, now: what is installed already stays; else an automation of OpenClaw (no model call, and
//! the person sees it among the jobs), a systemd timer that goes on when the person logs out, cron, a timer that does not,
//! and a heartbeat (a model call) last.

use shared::exit::Error;

use crate::every::Every;
use crate::openclaw::Failure;
use crate::trigger::Kind;
use crate::world::World;

/// What was picked.
#[derive(Debug, Default)]
pub(crate) struct Chosen {
    pub(crate) kinds: Vec<Kind>,
    /// It was there before.
    pub(crate) kept: bool,
    pub(crate) why: String,
    pub(crate) notes: Vec<String>,
    /// Commands that would make a better one possible.
    pub(crate) next: Vec<String>,
}

/// Picks. No kind = nothing works.
pub(crate) fn choose(world: &World, every: Every) -> Result<Chosen, Error> {
    let before = world.manifest.as_ref().map(|manifest| manifest.triggers.keys().copied().collect::<Vec<_>>());
    let refused = world.refused.is_some();
    let before: Vec<Kind> = before.unwrap_or_default().into_iter().filter(|kind| !(refused && *kind == Kind::Automation)).collect();
    if !before.is_empty() {
        return Ok(Chosen { kinds: before, kept: true, why: "it is installed already".to_owned(), ..Chosen::default() });
    }
    let mut chosen = Chosen::default();
    if automation(world, &mut chosen) {
        return Ok(chosen.with(Kind::Automation, "the Gateway answers, and a command job needs no model"));
    }
    let without = if world.openclaw().is_some() { "it goes on while the Gateway is down" } else { "there is no OpenClaw here" };
    let systemd = world.systemd();
    if systemd.as_ref().is_ok_and(|systemd| systemd.linger == Some(true)) {
        return Ok(chosen.with(Kind::Systemd, &format!("{without}, and your systemd manager goes on when you log out")));
    }
    match (every.cron_fields(), world.crontab()) {
        (Ok(_), Ok(_)) => return Ok(chosen.with(Kind::Cron, &format!("{without}, and cron is here"))),
        (Err(nearest), _) => chosen.notes.push(format!("cron cannot do {every}, only {nearest}")),
        (_, Err(why)) => chosen.notes.push(format!("cron: {why}")),
    }
    match systemd {
        Ok(_) => return Ok(chosen.with(Kind::Systemd, &format!("{without}, and your systemd manager answers"))),
        Err(why) => chosen.notes.push(format!("systemd: {why}")),
    }
    match world.openclaw() {
        Some(openclaw) if openclaw.reads_heartbeat_md() => {
            let why = format!("{} reads HEARTBEAT.md, and nothing else works now", openclaw.name());
            Ok(chosen.with(Kind::Heartbeat, &why))
        }
        _ => {
            "nothing here can call it".clone_into(&mut chosen.why);
            if chosen.next.is_empty() {
                chosen.next.extend(["apt-get install cron".to_owned(), world.command(&["--trigger", "cron"])]);
            }
            Ok(chosen)
        }
    }
}

impl Chosen {
    fn with(mut self, kind: Kind, why: &str) -> Self {
        self.kinds.push(kind);
        why.clone_into(&mut self.why);
        self
    }
}

/// Whether an automation can be had; if not, and there is an OpenClaw, what a person should run.
fn automation(world: &World, chosen: &mut Chosen) -> bool {
    let Some(openclaw) = world.openclaw() else { return false };
    let command = world.command(&["--trigger", "automation"]);
    let name = openclaw.name();
    let message = match (world.jobs(), &world.refused) {
        (Ok(_), None) => return true,
        (_, Some(refused)) => {
            chosen.notes.push(format!("{name} did not let this add a job: {refused}"));
            chosen.next.push(command);
            return false;
        }
        (Err(Failure::Down(message)), None) => {
            chosen.next.extend(["openclaw gateway run".to_owned(), command]);
            format!("{name} is here, but its Gateway is down: {message}")
        }
        (Err(failure), None) => {
            chosen.next.push(command);
            format!("{name} is here, but its jobs cannot be seen: {}", failure.message())
        }
    };
    chosen.notes.push(message);
    false
}
