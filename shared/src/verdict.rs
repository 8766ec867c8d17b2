//! The verdict: what a card needs now. One pure function, used by `watch`, and again by `resume`
//! under the lock, so that the two can never disagree.
//!
//! In two steps. `standing` looks at what the card says and at what lives: nearly every card is
//! done with that. One that is *due* goes through the gates; they need a look at the adapter and
//! at other cards, which is only taken for those (`facts.rs`).
//!
//! ```text
//! terminal             quiet; a cancelled one whose attempt lives: alert contain
//! needs_attention      attention, its own reason
//! pending              not_started | waiting | gates -> ready
//! running, stalled     clock_skew, other_host
//!   supervisor alive   quiet supervised | supervisor_silent
//!   attempt alive      quiet alive, until silent: due attempt_silent
//!   run recorded       due attempt_died
//!   stalled            due retry_due
//!   running            quiet healthy, until silent: due silent
//! due                  gates -> attention, cooling_down, alert
//! ```

use crate::adapter::Usability;
use crate::card::{Card, Status};
use crate::talk::command;
use crate::time::Timestamp;

/// A time this far ahead of the clock is not believed.
const SKEW_SECONDS_MAX: f64 = 300.0;
/// `not_before` this far ahead is not believed: the longest wait that is ever written is seven days.
const WAIT_SECONDS_MAX: f64 = 8.0 * 86_400.0;
/// A supervisor gets this much longer than `stale_after` before it counts as hung itself.
const SUPERVISOR_SLACK_SECONDS: f64 = 120.0;

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// A pass: only what is due by itself.
    Pass,
    /// A person named the task.
    Named,
    /// A person named it with `--force`.
    Forced,
    /// An attempt asked to be run again at once.
    Continued,
}

/// What is known beside the card.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// This machine.
    pub host: String,
    /// The recorded run's supervisor lives.
    pub supervisor_alive: bool,
    /// A process of the recorded run lives.
    pub attempt_alive: bool,
    /// A process lives of an attempt that the recorded run superseded, and did not come to end.
    pub forerunner_alive: bool,
    /// When the recorded run last printed something.
    pub last_output: Option<Timestamp>,
    /// The machine was suspended, or its clock stepped, until then.
    pub awake_since: Option<Timestamp>,
    /// Or: it was asleep for this long since the last pass, and nobody noted when it woke.
    pub asleep_seconds: f64,
    /// The adapter or the plain command.
    pub adapter: Usability,
    /// The tasks that must be completed first.
    pub dependencies: Dependencies,
}

/// The tasks that must be completed first, those that are not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// Not finished yet.
    pub unfinished: Vec<String>,
    /// Failed or cancelled, with that word.
    pub failed: Vec<(String, Status)>,
    /// Not there.
    pub missing: Vec<String>,
}

/// What a card needs.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Nothing.
    Quiet(Quiet),
    /// To be brought back.
    Alert(Due),
    /// To be started for the first time.
    Ready,
    /// A person.
    Attention(Attention),
}

/// Nothing is needed, and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quiet {
    /// Why.
    pub reason: &'static str,
    /// When that will be over by itself.
    pub until: Option<Timestamp>,
}

/// A task is due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Due {
    /// Why.
    pub reason: &'static str,
    /// Since when.
    pub since: Timestamp,
}

/// A person is needed.
#[derive(Clone, Debug, PartialEq)]
pub struct Attention {
    /// One word.
    pub reason: String,
    /// One sentence.
    pub detail: String,
    /// Since when.
    pub since: Option<Timestamp>,
}

/// What `standing` found.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    /// The gates need not be asked.
    Decided(Verdict),
    /// Due, if the gates are open.
    Due(Due),
    /// Not started, if the gates are open.
    Startable,
}

/// The verdict on a card.
#[must_use]
pub fn judge(card: &Card, facts: &Facts, request: Request, now: Timestamp) -> Verdict {
    match standing(card, facts, request, now) {
        Standing::Decided(verdict) => verdict,
        Standing::Startable => startable(card, facts, request, now),
        Standing::Due(due) => match closed_gate(card, facts, request, Some(due), now) {
            Some(attention) => Verdict::Attention(attention),
            None => match card.not_before {
                Some(until) if until > now && request != Request::Forced => quiet("cooling_down", Some(until)),
                _ => Verdict::Alert(due),
            },
        },
    }
}

/// When the silence began: the latest sign of life.
#[must_use]
pub fn silent_since(card: &Card, facts: &Facts, now: Timestamp) -> Timestamp {
    let (started, printed) = match &card.run {
        Some(run) => (Some(run.started_at), facts.last_output),
        None => (None, None),
    };
    let base = card.last_checkpoint_at.or(card.created_at).or(card.updated_at);
    let signs = [base, card.approved_at, card.outcome.as_ref().map(|outcome| outcome.at), facts.awake_since, started, printed];
    // A file's time can be ahead of a clock that was replaced; a card's own cannot, `clock_skew` saw to that.
    signs.into_iter().flatten().max().unwrap_or(now).plus_seconds(facts.asleep_seconds).min(now)
}

/// The first step: everything but the gates.
#[must_use]
pub fn standing(card: &Card, facts: &Facts, request: Request, now: Timestamp) -> Standing {
    match card.status {
        Status::Cancelled if card.run.is_some() && (facts.attempt_alive || facts.supervisor_alive || facts.forerunner_alive) => {
            let since = card.updated_at.unwrap_or(now);
            Standing::Decided(if facts.supervisor_alive {
                quiet("supervised", None)
            } else {
                Verdict::Alert(Due { reason: "contain", since })
            })
        }
        status if status.is_terminal() => Standing::Decided(quiet(status.as_str(), None)),
        Status::NeedsAttention if request == Request::Forced && is_exhausted(card) => active(card, facts, request, now),
        Status::NeedsAttention => Standing::Decided(Verdict::Attention(own_attention(card))),
        Status::Pending if !card.allow_auto_resume && request == Request::Pass && !card.is_permitted() => {
            Standing::Decided(quiet("not_started", None))
        }
        Status::Pending => Standing::Startable,
        _ => active(card, facts, request, now),
    }
}

/// Whether a person has to say "go on" only because the limit of attempts was reached.
fn is_exhausted(card: &Card) -> bool {
    card.attention.as_ref().is_some_and(|attention| matches!(attention.reason.as_str(), "retries_exhausted" | "failures_exhausted"))
}

/// What a card with status `needs_attention` says of itself.
#[must_use]
pub fn own_attention(card: &Card) -> Attention {
    match &card.attention {
        Some(own) => Attention {
            reason: own.reason.clone(),
            detail: own.detail.clone().unwrap_or_default(),
            since: own.since.or(card.updated_at),
        },
        None => Attention { reason: "blocked".to_owned(), detail: String::new(), since: card.updated_at },
    }
}

fn active(card: &Card, facts: &Facts, request: Request, now: Timestamp) -> Standing {
    if let Some(attention) = skewed(card, now).or_else(|| elsewhere(card, facts)) {
        return Standing::Decided(Verdict::Attention(attention));
    }
    let start = silent_since(card, facts, now);
    let silence = now.seconds_since(start);
    let stale_after = card.stale_after_minutes() * 60.0;
    let goes_stale = (stale_after > 0.0).then(|| start.plus_seconds(stale_after));
    let silent = goes_stale.filter(|at| *at <= now);
    if card.run.is_some() && facts.supervisor_alive {
        if stale_after > 0.0 && silence >= stale_after + SUPERVISOR_SLACK_SECONDS {
            let detail =
                format!("its supervisor lives but has let it be silent for {} min; look at it, then stop it", minutes(silence));
            return attention("supervisor_silent", detail, Some(start));
        }
        return Standing::Decided(quiet("supervised", None));
    }
    if card.run.is_some() && facts.attempt_alive {
        return match silent {
            Some(since) => Standing::Due(Due { reason: "attempt_silent", since }),
            None => Standing::Decided(quiet("alive", goes_stale)),
        };
    }
    // What was left in the background of an attempt that recorded progress did its part: without it the task is as any other.
    let did_its_part = card.outcome.as_ref().is_some_and(|outcome| outcome.kind != "background");
    if card.run.as_ref().is_some_and(|run| !(run.background && did_its_part)) {
        return Standing::Due(Due { reason: "attempt_died", since: start });
    }
    if card.status == Status::Stalled {
        let times = [card.not_before, card.outcome.as_ref().map(|outcome| outcome.at), card.approved_at];
        return Standing::Due(Due { reason: "retry_due", since: times.into_iter().flatten().max().unwrap_or(start) });
    }
    match silent {
        Some(since) => Standing::Due(Due { reason: "silent", since }),
        None if request == Request::Forced => Standing::Due(Due { reason: "forced", since: now }),
        None => Standing::Decided(quiet("healthy", goes_stale)),
    }
}

fn skewed(card: &Card, now: Timestamp) -> Option<Attention> {
    let base = card.last_checkpoint_at.or(card.created_at).or(card.updated_at);
    let times =
        [base, card.approved_at, card.outcome.as_ref().map(|outcome| outcome.at), card.run.as_ref().map(|run| run.started_at)];
    let latest = times.into_iter().flatten().max()?;
    let detail = match card.not_before {
        _ if latest.seconds_since(now) > SKEW_SECONDS_MAX => format!("the card knows the time {latest}, the clock shows {now}"),
        Some(until) if until.seconds_since(now) > WAIT_SECONDS_MAX => format!("not_before is {until}, the clock shows {now}"),
        _ => return None,
    };
    Some(Attention { reason: "clock_skew".to_owned(), detail: detail + "; correct the clock or the card", since: None })
}

fn elsewhere(card: &Card, facts: &Facts) -> Option<Attention> {
    let run = card.run.as_ref().filter(|run| run.host != facts.host)?;
    let detail =
        format!("attempt {} runs on {}, this is {}; if it is gone there, approve the task here", run.attempt, run.host, facts.host);
    Some(Attention { reason: "other_host".to_owned(), detail, since: Some(run.started_at) })
}

fn startable(card: &Card, facts: &Facts, request: Request, now: Timestamp) -> Verdict {
    let behind = &facts.dependencies;
    if !behind.unfinished.is_empty() && behind.failed.is_empty() && behind.missing.is_empty() {
        return quiet("waiting", None);
    }
    match closed_gate(card, facts, request, None, now) {
        Some(attention) => Verdict::Attention(attention),
        None => match card.not_before {
            Some(until) if until > now && request != Request::Forced => quiet("cooling_down", Some(until)),
            _ => Verdict::Ready,
        },
    }
}

/// The first gate that is closed. Without `due` the task is a pending one.
fn closed_gate(card: &Card, facts: &Facts, request: Request, due: Option<Due>, now: Timestamp) -> Option<Attention> {
    let since = due.map(|due| due.since).or(card.created_at).map(|since| since.min(now));
    let closed = |reason: &str, detail: String| Some(Attention { reason: reason.to_owned(), detail, since });
    let permitted = card.is_permitted();
    // Force never ends a living attempt that would not be ended by itself.
    let forced = request == Request::Forced && due.is_none_or(|due| due.reason != "attempt_silent");
    let named_start = due.is_none() && request == Request::Named;
    let continued = request == Request::Continued;
    let correct = |options: &str| format!("{} update {} {options}", command("card"), card.task_id());

    if !(card.allow_auto_resume || permitted || forced || named_start || continued) {
        return closed("auto_resume_off", "it is not to be resumed without a person".to_owned());
    }
    match &facts.adapter {
        Usability::Usable => {}
        Usability::None => {
            let remedy = correct("--resume-adapter PATH");
            return closed("no_adapter", format!("the card has neither resume_adapter nor resume_argv; name one: {remedy}"));
        }
        Usability::Missing(detail) => {
            let remedy = correct(if card.resume_adapter.is_some() { "--resume-adapter PATH" } else { "--resume-command WORDS" });
            return closed("adapter_missing", format!("{detail}; correct it, or give another: {remedy}"));
        }
        Usability::Insecure(detail) => return closed("adapter_insecure", format!("{detail}; correct its owner or mode")),
    }
    // One that the task itself does not name stands behind another that it names, and that one is a person's, too.
    let without = |id: &String| {
        let others = card.depends_on().iter().filter(|other| *other != id);
        if card.depends_on().contains(id) {
            let options = others.fold("--no-depends-on".to_owned(), |options, other| options + " --depends-on " + other);
            format!("go on without it: {}", correct(&options))
        } else {
            "see to the task between them first".to_owned()
        }
    };
    if let Some((id, status)) = facts.dependencies.failed.first() {
        return closed("dependency_failed", format!("it depends on {id}, which is {status}; {}", without(id)));
    }
    if let Some(id) = facts.dependencies.missing.first() {
        return closed("dependency_missing", format!("it depends on {id}, and there is no such task; make it, or {}", without(id)));
    }
    let give_up_after = card.give_up_after_minutes() * 60.0;
    if let Some(due) = due
        && give_up_after > 0.0
        && now.seconds_since(due.since) > give_up_after
        && !(permitted || forced || continued)
    {
        let age = minutes(now.seconds_since(due.since));
        return closed(
            "too_old",
            format!("due for {age} min, and the limit is {} (give_up_after_minutes)", card.give_up_after_minutes()),
        );
    }
    if card.in_manual_phase() && !permitted {
        return closed("non_idempotent_phase_blocked", format!("phase {} is not entered without a person's word", card.phase));
    }
    if due.is_none() || permitted || forced {
        return None;
    }
    exhaustion(card).and_then(|(reason, detail)| closed(reason, detail))
}

/// Which limit of attempts is reached.
#[must_use]
pub fn exhaustion(card: &Card) -> Option<(&'static str, String)> {
    if card.retry_count >= card.max_retries() {
        let detail = match card.max_retries() {
            0 => "max_retries is 0: it is only watched".to_owned(),
            limit => format!("{} attempts in a row without progress, and the limit is {limit} (max_retries)", card.retry_count),
        };
        return Some(("retries_exhausted", detail));
    }
    let limit = card.max_failures();
    (card.failures >= limit).then(|| {
        ("failures_exhausted", format!("{} attempts did not end well, and the limit is {limit} (max_failures)", card.failures))
    })
}

fn quiet(reason: &'static str, until: Option<Timestamp>) -> Verdict {
    Verdict::Quiet(Quiet { reason, until })
}

fn attention(reason: &str, detail: String, since: Option<Timestamp>) -> Standing {
    Standing::Decided(Verdict::Attention(Attention { reason: reason.to_owned(), detail, since }))
}

/// Seconds as whole minutes; with one decimal under a minute.
#[must_use]
pub fn minutes(seconds: f64) -> f64 {
    let minutes = seconds.max(0.0) / 60.0;
    if minutes >= 1.0 { minutes.floor() } else { (minutes * 10.0).floor() / 10.0 }
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
