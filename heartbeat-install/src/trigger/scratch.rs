//! An edit of a monitor scratch: read, edit, written if its revision is still the one that was read, else anew.

use shared::exit::{Error, Exit};

use crate::diff::unified;
use crate::manifest::Manifest;
use crate::openclaw::{Failure, OpenClaw};
use crate::section::{Ours, Record, lost, put, take};
use crate::trigger::Kind;
use crate::trigger::call::refusal;
use crate::world::World;

const TRIES: u32 = 8;

/// An edit.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    openclaw: OpenClaw,
    /// The heartbeat job.
    job: String,
    /// Ours is put in, or taken out.
    ours: Option<Ours>,
    workspace: std::path::PathBuf,
    remedy: String,
    record: Option<Record>,
    /// As it was when the plan was made, for whoever wants to see it.
    seen: Option<String>,
}

impl Change {
    /// The edit that is needed, if any, and the record of how ours came in.
    pub(crate) fn plan(
        world: &World,
        job: &str,
        ours: Option<Ours>,
        record: Option<Record>,
        remedy: &str,
    ) -> Result<(Option<Self>, Record), Error> {
        let Some(openclaw) = world.openclaw().cloned() else { return Ok((None, Record::default())) };
        let seen = openclaw.scratch(job).map_err(|failure| refusal(&failure, remedy))?.content;
        let change = Self {
            openclaw,
            job: job.to_owned(),
            ours,
            workspace: world.workspace.clone(),
            remedy: remedy.to_owned(),
            record,
            seen: seen.clone(),
        };
        let (after, record) = change.edit(seen.as_deref())?;
        let same = after == seen.unwrap_or_default();
        Ok(((!same).then_some(change), record))
    }

    /// Does it; whether that changed anything.
    pub(crate) fn carry_out(&self) -> Result<bool, Error> {
        for _ in 0..TRIES {
            let scratch = self.openclaw.scratch(&self.job).map_err(|failure| refusal(&failure, &self.remedy))?;
            let (after, record) = self.edit(scratch.content.as_deref())?;
            if after == scratch.content.unwrap_or_default() {
                return Ok(false);
            }
            if after.len() > scratch.bytes_max {
                let most = scratch.bytes_max;
                return Err(Error::data(format!(
                    "the heartbeat's text would be larger than the {most} bytes that OpenClaw takes; shorten it"
                )));
            }
            if self.ours.is_some() {
                self.note(record)?;
            }
            match self.openclaw.write_scratch(&self.job, &after, scratch.revision) {
                Ok(()) => return Ok(true),
                Err(Failure::Stale) => {}
                Err(failure) => return Err(refusal(&failure, &self.remedy)),
            }
        }
        Err(Error::new(
            Exit::Busy,
            format!("the heartbeat's text changed {TRIES} times while it was edited; try again: {}", self.remedy),
        ))
    }

    /// What others wrote into our text, and lose.
    pub(crate) fn lost(&self) -> Option<String> {
        let lost = lost(self.seen.as_deref()?, self.record.as_ref()?)?;
        Some(format!("the heartbeat's text (openclaw cron scratch {}): {lost}", self.job))
    }

    /// What a person would see of it beforehand.
    pub(crate) fn shown(&self) -> String {
        match self.edit(self.seen.as_deref()) {
            Ok((after, _)) => unified(&format!("openclaw cron scratch {}", self.job), self.seen.as_deref(), Some(&after)),
            Err(error) => format!("# {error}\n"),
        }
    }

    fn edit(&self, content: Option<&str>) -> Result<(String, Record), Error> {
        let wrong = |why| Error::data(format!("the heartbeat's text (openclaw cron scratch {}): {why}", self.job));
        match &self.ours {
            Some(ours) => put(content, ours, self.record.as_ref()).map_err(wrong),
            // It cannot be unset: OpenClaw would refuse to import a HEARTBEAT.md for ever.
            None => {
                let left = take(content.unwrap_or_default(), self.record.as_ref()).map_err(wrong)?;
                Ok((left.unwrap_or_default(), Record::default()))
            }
        }
    }

    /// Before it is written: how ours comes into what was read this time.
    fn note(&self, record: Record) -> Result<(), Error> {
        let Some(mut manifest) = Manifest::load(&self.workspace)? else { return Ok(()) };
        match manifest.triggers.get_mut(&Kind::Heartbeat) {
            Some(installed) if installed.record != record => installed.record = record,
            _ => return Ok(()),
        }
        manifest.save()
    }
}
