//! What the end of a run does to a card. Pure: the caller holds the update lock and writes.
//!
//! ```text
//!               a card that a run made        anybody else's card of the session
//! interrupted   stalled; a person's when      the same
//!               attempts are used up
//! finished      completed                     a sign of life; stalled by a run: running again;
//!                                             the attempts are counted anew if they continue the session
//! killed        running, and its silence      -
//! in doubt      counts no more                -
//! ```
//! A card that needs a person stays as it is when a run is interrupted: the person decides. So does
//! one whose attempt lives: that one's own end follows, and decides.

use std::path::Path;

use serde_json::{Value, json};
use shared::card::{Card, Status};
use shared::document::Document;
use shared::exit::Error;
use shared::policy::Policy;
use shared::time::Timestamp;
use shared::verdict::exhaustion;

use super::classify::Reason;
use super::memory::{self, Memory};
use super::record::Run;
use super::reset::reset;

/// Where the adapter is placed in a workspace.
pub(super) const ADAPTER: &str = "templates/task-recovery/openclaw_session.sh";

/// A run that was interrupted, and what is done about it.
pub(super) struct Interruption<'a> {
    pub(super) run: &'a Run,
    pub(super) reason: Reason,
    pub(super) ended_at: Timestamp,
    /// Of the command line: a card's own take precedence.
    pub(super) policy: &'a Policy,
    pub(super) workspace: &'a Path,
    /// An attempt of the card lives, and will be settled.
    pub(super) attempt_alive: bool,
}

impl Interruption<'_> {
    /// Makes the card stalled, or a person's.
    pub(super) fn apply(&self, card: &mut Document, now: Timestamp) -> Result<(), Error> {
        memory::note(card, self.run, Some(self.reason), self.ended_at);
        if self.attempt_alive {
            memory::set_pending(card);
            return Ok(());
        }
        if card.status()? == Status::NeedsAttention {
            return Ok(());
        }
        self.set_policies(card)?;
        let detail = memory::detail(self.run, self.reason);
        tell(card, self.reason, self.ended_at, &detail);
        let until = reset(&self.run.error, self.ended_at);
        stall(card, &Stop { reason: self.reason, ended_at: self.ended_at, detail: &detail, until }, now)
    }

    /// What a card that is not ours says of itself stays so.
    fn set_policies(&self, card: &mut Document) -> Result<(), Error> {
        let made_by_import = Memory::of(card).is_made_by_import();
        if made_by_import && Memory::of(card).is_silenced() {
            memory::end_silence(card);
            card.remove("stale_after_minutes");
        }
        let has_command = parsed(card)?.is_plain_command();
        let says_how = has_command || card.get("resume_adapter").is_some();
        let mut wished = card.clone();
        self.policy.apply(&mut wished)?;
        for name in card.changed_fields(&wished) {
            let kept = card.get(&name).is_some() && !made_by_import || has_command && name == "resume_adapter";
            if let (Some(value), false) = (wished.get(&name), kept) {
                card.set(&name, value.clone());
            }
        }
        // Whoever said how to resume it has also said whether to.
        if !says_how {
            if card.get("resume_adapter").is_none() {
                card.set("resume_adapter", self.workspace.join(ADAPTER).to_string_lossy());
            }
            if !self.policy.sets("allow_auto_resume") {
                card.set("allow_auto_resume", true);
            }
        }
        Ok(())
    }
}

/// A run was told while an attempt lived, which is settled now. What the attempt made of it stays, and the run counts.
pub(super) fn take_up(card: &mut Document, now: Timestamp) -> Result<(), Error> {
    let memory = Memory::of(card);
    let (Some(reason), Some(ended_at)) = (memory.reason(), memory.ended_at()) else { return Ok(()) };
    memory::end_pending(card);
    match card.status()? {
        Status::NeedsAttention => return Ok(()),
        Status::Stalled => {}
        _ => tell(card, reason, ended_at, ""),
    }
    stall(card, &Stop { reason, ended_at, detail: "", until: None }, now)
}

/// How the last run ended, in the place of how the last attempt did.
fn tell(card: &mut Document, reason: Reason, ended_at: Timestamp, detail: &str) {
    let mut outcome = json!({"at": ended_at.to_string(), "attempt": card.count("attempt"), "kind": reason.word()});
    if let (Some(outcome), false) = (outcome.as_object_mut(), detail.is_empty()) {
        outcome.insert("detail".into(), detail.into());
    }
    card.set("outcome", outcome);
}

struct Stop<'a> {
    reason: Reason,
    ended_at: Timestamp,
    detail: &'a str,
    /// The error told when.
    until: Option<Timestamp>,
}

fn stall(card: &mut Document, stop: &Stop<'_>, now: Timestamp) -> Result<(), Error> {
    if card.status()? == Status::Pending {
        card.set_status(Status::Running)?;
    }
    card.set_status(Status::Stalled)?;
    // An adapter that took a run's good status for progress, or an agent that recorded some before it failed, has set the counter
    // back.
    let resumes = Memory::of(card).resumes();
    if card.count("retry_count") < resumes {
        card.set("retry_count", resumes);
    }
    if stop.reason == Reason::PermanentError {
        return card.set_attention(stop.reason.word(), Some(stop.detail), now);
    }
    let stalled = parsed(card)?;
    if let (Some((reason, used)), true) = (exhaustion(&stalled), resumes > 0) {
        let what = format!("{used}; the last run: {} {}", stop.reason.word(), stop.detail);
        return card.set_attention(reason, Some(what.trim()), now);
    }
    let rested = stop.ended_at.plus_seconds(stalled.cooldown_seconds());
    let until = [stalled.not_before, stop.until].into_iter().flatten().fold(rested, Timestamp::max);
    card.set_time("not_before", until.ceil_second());
    Ok(())
}

/// A clean end: completes what a run made, and is a sign of life for others.
///
/// Where an adapter or a command of somebody else's brings a card back, its attempts are no runs of the session: they fail, and are
/// counted, whatever is said there meanwhile. Else a session that answers questions would keep a broken adapter going for ever.
pub(super) fn finish(card: &mut Document, run: &Run, ended_at: Timestamp) -> Result<(), Error> {
    let reason = Memory::of(card).reason();
    memory::note(card, run, None, ended_at);
    let phase = card.text("phase").to_owned();
    let last = Timestamp::parse(card.text("last_checkpoint_at")).map_or(ended_at, |(at, _)| at.max(ended_at));
    card.add_checkpoint(&phase, "", last);
    if Memory::of(card).is_made_by_import() {
        card.remove("not_before");
        return card.set_status(Status::Completed);
    }
    let by_session = Path::new(card.text("resume_adapter")).file_name() == Path::new(ADAPTER).file_name();
    if by_session && card.count("retry_count") > 0 {
        card.set("retry_count", 0);
    }
    let by_run = reason.is_some_and(|reason| by_session || outcome_kind(card) == reason.word());
    if by_run && card.status()? == Status::Stalled {
        card.remove("not_before");
        card.set_status(Status::Running)?;
    }
    Ok(())
}

/// A run that may have been finished, or that was stopped: nobody brings it back because it is silent from now on. What was stopped
/// is not brought back for what went before, either.
pub(super) fn leave_alone(card: &mut Document, run: &Run, ended_at: Timestamp, stopped: bool) -> Result<(), Error> {
    memory::silence(card, run, ended_at);
    card.set("stale_after_minutes", 0);
    // A supervisor that ended its attempt may have stopped the run with it: that was no person.
    let by_supervisor = matches!(outcome_kind(card), "timeout" | "silent" | "budget" | "output_limit" | "postponed");
    if stopped && !by_supervisor && card.status()? == Status::Stalled {
        card.remove("not_before");
        card.set_status(Status::Running)?;
    }
    Ok(())
}

/// How the last attempt ended, or the run in its place.
fn outcome_kind(card: &Document) -> &str {
    card.get("outcome").and_then(|outcome| outcome.get("kind")).and_then(Value::as_str).unwrap_or_default()
}

fn parsed(card: &Document) -> Result<Card, Error> {
    card.card(card.text("task_id")).map_err(|error| Error::data(error.detail))
}
