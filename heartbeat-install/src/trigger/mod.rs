//! What makes a pass happen: one file a kind. Each answers the same questions: what is to be done so that it is there, what
//! so that it is gone, and is it there?

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use shared::exit::Error;

use crate::action::Action;
use crate::check::Finding;
use crate::every::Every;
use crate::files::Desired;
use crate::lang::Lang;
use crate::manifest::Installed;
use crate::world::World;

pub(crate) mod auto;
pub(crate) mod automation;
pub(crate) mod call;
pub(crate) mod cron;
pub(crate) mod heartbeat;
pub(crate) mod scratch;
pub(crate) mod systemd;

pub(crate) use call::Call;

/// A kind of trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Automation,
    Heartbeat,
    Cron,
    Systemd,
}

/// What a trigger is to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) every: Every,
    pub(crate) lang: Lang,
}

/// What a trigger needs to be there.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) installed: Installed,
    /// Files of its own.
    pub(crate) files: Vec<Desired>,
    /// The file in the workspace that holds its text.
    pub(crate) text: Option<PathBuf>,
    /// What is done when the files are there.
    pub(crate) actions: Vec<Action>,
    pub(crate) notes: Vec<String>,
    /// Commands that a person should run.
    pub(crate) next: Vec<String>,
}

impl Planned {
    fn new(installed: Installed) -> Self {
        Self { installed, files: Vec::new(), text: None, actions: Vec::new(), notes: Vec::new(), next: Vec::new() }
    }
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::Automation, Self::Heartbeat, Self::Cron, Self::Systemd];

    /// Its name as an option's value.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Automation => "automation",
            Self::Heartbeat => "heartbeat",
            Self::Cron => "cron",
            Self::Systemd => "systemd",
        }
    }

    /// What is to be done so that it is there.
    ///
    /// # Errors
    /// When it cannot work here: why, and what a person should run.
    pub(crate) fn plan(self, world: &World, terms: Terms, before: Option<&Installed>) -> Result<Planned, Error> {
        match self {
            Self::Automation => automation::plan(world, terms, before),
            Self::Heartbeat => heartbeat::plan(world, terms, before),
            Self::Cron => cron::plan(world, terms, before),
            Self::Systemd => systemd::plan(world, terms),
        }
    }

    /// What is to be done so that it is gone; its files and its text in the workspace aside.
    ///
    /// # Errors
    /// When that cannot be done now.
    pub(crate) fn take(self, world: &World, installed: &Installed) -> Result<Vec<Action>, Error> {
        match self {
            Self::Automation => automation::take(world, installed),
            Self::Heartbeat => heartbeat::take(world, installed),
            Self::Cron => cron::take(world, installed),
            Self::Systemd => Ok(systemd::take(world, installed)),
        }
    }

    /// What is wrong with it; its files aside.
    pub(crate) fn check(self, world: &World, terms: Terms, installed: &Installed) -> Vec<Finding> {
        match self {
            Self::Automation => automation::check(world, terms, installed),
            Self::Heartbeat => heartbeat::check(world, terms, installed),
            Self::Cron => cron::check(world, terms, installed),
            Self::Systemd => systemd::check(world, installed),
        }
    }
}

/// The words that call a pass, besides the program.
fn pass_options(terms: Terms, quiet_token: Option<&str>) -> Vec<String> {
    let quiet = quiet_token.map(|token| ["--quiet-token", token]);
    let lang = (terms.lang == Lang::Zh).then_some(["--lang", "zh"]);
    quiet.into_iter().chain(lang).flatten().map(str::to_owned).collect()
}
