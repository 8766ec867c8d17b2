//! The facts that a plan is made from: each is looked at once, when it is first asked for, so that no decision of a run
//! rests on two different answers.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use nix::unistd::{Uid, User};
use shared::exit::{Error, Exit};
use shared::time::Clock;
use shared::verified::sha256;

use crate::lang::Lang;
use crate::manifest::Manifest;
use crate::openclaw::{Agent, Failure, Job, OpenClaw};
use crate::programs::Programs;
use crate::trigger::cron::Crontab;
use crate::trigger::systemd::Systemd;

/// One workspace and what is around it.
pub(crate) struct World {
    /// Canonical, and a text that fits into one line.
    pub(crate) workspace: PathBuf,
    /// What was placed before.
    pub(crate) manifest: Option<Manifest>,
    pub(crate) programs: Programs,
    pub(crate) clock: Clock,
    /// OpenClaw did not let this person add a job.
    pub(crate) refused: Option<String>,
    openclaw: OnceCell<Option<OpenClaw>>,
    agents: OnceCell<Result<Vec<Agent>, Failure>>,
    jobs: OnceCell<Result<Vec<Job>, Failure>>,
    crontab: OnceCell<Result<Crontab, String>>,
    systemd: OnceCell<Result<Systemd, String>>,
}

impl World {
    /// Looks at a workspace.
    pub(crate) fn of(workspace: &Path, programs: Programs, clock: Clock) -> Result<Self, Error> {
        let workspace = checked(workspace)?;
        let manifest = Manifest::load(&workspace)?;
        Ok(Self {
            workspace,
            manifest,
            programs,
            clock,
            refused: None,
            openclaw: OnceCell::new(),
            agents: OnceCell::new(),
            jobs: OnceCell::new(),
            crontab: OnceCell::new(),
            systemd: OnceCell::new(),
        })
    }

    /// The same workspace after something was tried in it.
    pub(crate) fn again(self, refused: Option<String>) -> Result<Self, Error> {
        let fresh = Self::of(&self.workspace, self.programs, self.clock)?;
        Ok(Self { refused, openclaw: self.openclaw, agents: self.agents, systemd: self.systemd, ..fresh })
    }

    /// The workspace as a text; it was checked to be one.
    pub(crate) fn text(&self) -> &str {
        self.workspace.to_str().unwrap_or_default()
    }

    /// The pass's file, as a text.
    pub(crate) fn pass(&self) -> String {
        format!("{}/bin/recovery-pass", self.text().trim_end_matches('/'))
    }

    /// What tells this workspace from others in names.
    pub(crate) fn short_name(&self) -> String {
        sha256(self.text().as_bytes())[..8].to_owned()
    }

    /// OpenClaw, if it is on the PATH or where it was.
    pub(crate) fn openclaw(&self) -> Option<&OpenClaw> {
        let last = || {
            let manifest = self.manifest.as_ref()?;
            let of_triggers = || manifest.triggers.values().find_map(|trigger| trigger.openclaw.as_deref());
            of_triggers().or_else(|| manifest.enabled.as_ref().map(|enabled| enabled.openclaw.as_path()))
        };
        self.openclaw.get_or_init(|| OpenClaw::find(last())).as_ref()
    }

    /// Its jobs, when a Gateway answers.
    pub(crate) fn jobs(&self) -> Result<&[Job], Failure> {
        let jobs = self.jobs.get_or_init(|| self.openclaw().ok_or(Failure::Absent)?.jobs());
        jobs.as_deref().map_err(Clone::clone)
    }

    /// The agent that works in this workspace; of several the default one.
    pub(crate) fn agent(&self) -> Result<Option<&Agent>, Failure> {
        let agents = self.agents.get_or_init(|| self.openclaw().ok_or(Failure::Absent)?.agents());
        let agents = agents.as_deref().map_err(Clone::clone)?;
        let here = |agent: &&Agent| std::fs::canonicalize(&agent.workspace).is_ok_and(|folder| folder == self.workspace);
        let mut all = agents.iter().filter(here);
        let first = all.clone().next();
        Ok(all.find(|agent| agent.is_default).or(first))
    }

    /// The person's crontab.
    pub(crate) fn crontab(&self) -> Result<&Crontab, String> {
        self.crontab.get_or_init(Crontab::read).as_ref().map_err(Clone::clone)
    }

    /// The person's systemd manager.
    pub(crate) fn systemd(&self) -> Result<&Systemd, String> {
        self.systemd.get_or_init(Systemd::find).as_ref().map_err(Clone::clone)
    }

    /// The command that a person runs to have this program work here, with these options.
    pub(crate) fn command(&self, options: &[&str]) -> String {
        let own = self.programs.folder.join("heartbeat-install");
        let own = own.to_string_lossy();
        let words: Vec<&str> = [&own, "--workspace", self.text()].into_iter().chain(options.iter().copied()).collect();
        crate::child::shown(&words)
    }

    /// The language that was asked for, or is in use here.
    pub(crate) fn lang(&self, wanted: Option<Lang>) -> Lang {
        wanted.or(self.manifest.as_ref().map(|manifest| manifest.lang)).unwrap_or_else(Lang::of_locale)
    }
}

/// A workspace that every trigger can name, and that is not another user's.
fn checked(workspace: &Path) -> Result<PathBuf, Error> {
    let config = |why: &str| Error::new(Exit::Config, format!("cannot use {}: {why}", workspace.display()));
    let folder = std::fs::canonicalize(workspace).map_err(|error| config(&shared::exit::cause(&error)))?;
    let text = folder.to_str().ok_or_else(|| config("its name is not UTF-8, and no trigger could name it; rename it"))?;
    if text.chars().any(char::is_control) {
        return Err(config("its name has a control character in it, and no trigger could name it; rename it"));
    }
    let meta = std::fs::metadata(&folder).map_err(|error| config(&shared::exit::cause(&error)))?;
    let owner = Uid::from_raw(std::os::unix::fs::MetadataExt::uid(&meta));
    if Uid::effective().is_root() && !owner.is_root() {
        let name = User::from_uid(owner).ok().flatten().map_or_else(|| format!("uid {owner}"), |user| user.name);
        return Err(Error::refused(format!("{} belongs to {name}: run it as {name}, not as root", folder.display())));
    }
    Ok(folder)
}
