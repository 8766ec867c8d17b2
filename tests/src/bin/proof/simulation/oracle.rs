//! The invariants: what may never happen, and what must, checked against what is true.
//!
//! | name | |
//! |---|---|
//! | `two_at_once` | a supervisor claims while another lives; an attempt starts while something of an earlier one lives |
//! | `finished_changed` | a finished card changes, other than by the removal of `run` |
//! | `limit_passed` | more charged attempts than `max_retries` or `max_failures`; an attempt longer than its time-out |
//! | `charge_wrong` | the card counts more attempts than brought nothing; that it counts fewer shows at the limits |
//! | `too_early` | an attempt before `not_before`; a failed one without cooldown |
//! | `healthy_stopped` | an attempt or agent that works and is not silent is stopped or replaced, and nobody asked for it |
//! | `started_overtaken` | an attempt starts though its card was ended, or given another turn, since its claim |
//! | `killed_early` | KILL before the grace is over, though nobody asked twice and nothing floods its logs |
//! | `manual_running` | an attempt that was not given a manual phase ends well in one, and the task runs on |
//! | `left_behind` | a supervisor that says "contained" leaves processes |
//! | `silence_unreported` | a task that was silent for its limit, or that has nothing that lives, is quiet in a pass |
//! | `exhausted_unreported` | one that needs a person, or reached its limits, is not reported in a pass |
//! | `superseded_wrote`, `newest_refused` | the fence fails |
//! | `card_invalid`, `number_fell`, `claim_refused`, `settle_refused` | a decision writes what no program would |

use std::rc::Rc;

use resume::settle::Ended;
use resume::step::{Ending, State};
use shared::answer::Answer;
use shared::card::{Card, Status};
use shared::document::Document;
use shared::time::{Timestamp, ms};
use shared::verdict::{Request, Verdict};

use super::claim::OUTPUT_MAX;
use super::machine::{DAY, MINUTE, SECOND};
use super::supervisor::GRACE_MS;
use super::task::Supervisor;
use super::world::{Event, Held, World, broke};

impl World<'_> {
    /// The store: one durable write.
    pub(super) fn commit(&mut self, slot: usize, mut document: Document) -> Held {
        self.about = slot;
        let wall = self.machine.wall();
        document.adopt();
        document.set("revision", document.count("revision") + 1);
        document.set_time("updated_at", wall);
        let task = &mut self.tasks[slot];
        let card = match document.card(&task.id) {
            Ok(card) => card,
            Err(error) => return broke("card_invalid", error.detail),
        };
        let old = &task.card;
        if old.status.is_terminal() {
            let changed = task.document.changed_fields(&document);
            let allowed = |name: &String| matches!(name.as_str(), "run" | "revision" | "updated_at");
            if !changed.iter().all(allowed) || card.run.is_some() {
                return broke("finished_changed", format!("a {} task's {} changed", old.status, changed.join(", ")));
            }
        }
        if card.attempt < old.attempt {
            return broke("number_fell", format!("from {} to {}", old.attempt, card.attempt));
        }
        let counted = (card.retry_count, card.failures);
        let ended = card.status.is_terminal() && !old.status.is_terminal();
        let truth = (task.truth.retries, task.truth.failures);
        (task.document, task.card) = (Rc::new(document), Rc::new(card));
        if !task.card.status.is_terminal() && (counted.0 > truth.0 || counted.1 > truth.1) {
            return broke("charge_wrong", format!("counted {counted:?}, true {truth:?}"));
        }
        if ended {
            self.counts.lived += self.machine.now - task.made_at;
            task.agent = None;
            self.after(DAY, Event::Renew(slot));
        }
        self.look_within(slot, 1000);
        Ok(())
    }

    /// Before a claim is written.
    pub(super) fn check_claim(&self, slot: usize, request: Request, verdict: &Verdict) -> Held {
        let task = &self.tasks[slot];
        if let Some(other) = &task.supervisor {
            return broke("two_at_once", format!("claimed while the supervisor of attempt {} lives", other.number));
        }
        if let Some(until) = task.card.not_before.filter(|until| *until > self.machine.wall() && request != Request::Forced) {
            return broke("too_early", format!("claimed at {} for {verdict:?}, not before {until}", self.machine.wall()));
        }
        let by_silence = matches!(request, Request::Pass | Request::Named);
        let healthy = |moment| {
            let silence = self.machine.since(moment);
            task.stale_ms() == 0 || silence + self.machine.taken_for_longer(moment) < task.stale_ms()
        };
        let agent = task.agent.filter(|agent| healthy(agent.active) && task.card.run.is_none() && by_silence);
        if agent.is_some() {
            return broke("healthy_stopped", format!("claimed while its agent works, for {verdict:?}"));
        }
        Ok(())
    }

    /// The claim is charged now.
    pub(super) fn check_limits(&self, slot: usize, request: Request, permitted: bool, first_start: bool) -> Held {
        let task = &self.tasks[slot];
        let (retries, failures) = (task.truth.retries, task.truth.failures);
        if permitted || first_start || request == Request::Forced {
            return Ok(());
        }
        if retries > task.card.max_retries() || failures > task.card.max_failures() {
            return broke(
                "limit_passed",
                format!(
                    "{retries} attempts without progress of {}, {failures} failures of {}",
                    task.card.max_retries(),
                    task.card.max_failures()
                ),
            );
        }
        Ok(())
    }

    /// Right before an attempt starts.
    pub(super) fn check_start(&self, slot: usize) -> Held {
        let task = &self.tasks[slot];
        let number = task.supervisor.as_ref().map_or(0, |supervisor| supervisor.number);
        if task.card.status != Status::Running || task.card.attempt != number {
            return broke("started_overtaken", format!("attempt {number} starts, and its card is {} now", task.card.status));
        }
        let others: Vec<u64> = task.forerunners(number).map(|process| process.number).collect();
        if others.is_empty() { Ok(()) } else { broke("two_at_once", format!("attempt {number} starts, and {others:?} live")) }
    }

    /// Right before TERM: by its own supervisor in this state, or by one that claimed over it.
    pub(super) fn check_stop(&self, slot: usize, key: u64, by: Option<&State>) -> Held {
        let task = &self.tasks[slot];
        let Some(process) = task.processes.iter().find(|process| process.key == key) else { return Ok(()) };
        let Some(work) = &process.work else { return Ok(()) };
        let stale = task.stale_ms();
        let silence = self.machine.since(work.active);
        let timeout = ms(task.card.timeout_seconds());
        let ran = task.supervisor.as_ref().map_or(0, |supervisor| self.machine.now - supervisor.spawned_at);
        let why = match by {
            Some(State::Terminating { why, .. }) => Some(why),
            _ => None,
        };
        let rightly = match why {
            None => stale > 0 && silence + self.machine.taken_for_longer(work.active) >= stale,
            Some(Ending::Silent) => stale > 0 && silence + SECOND >= stale,
            Some(Ending::Timeout) => timeout > 0 && ran + SECOND >= timeout,
            Some(Ending::Cancelled) => task.card.status == Status::Cancelled,
            Some(Ending::ManualPhase) => task.card.phase == "send",
            Some(Ending::OutputLimit) => task.supervisor.as_ref().is_some_and(|supervisor| supervisor.bytes > OUTPUT_MAX),
            Some(Ending::Budget | Ending::Interrupted(_)) => task.supervisor.as_ref().is_some_and(|one| one.pass.is_some()),
            Some(_) => false,
        };
        if rightly {
            return Ok(());
        }
        broke(
            "healthy_stopped",
            format!(
                "attempt {} was active {} s ago of {} s, ran {} s: {why:?}",
                process.number,
                silence / 1000,
                stale / 1000,
                ran / 1000
            ),
        )
    }

    /// Right before the first KILL to an attempt that was asked to end.
    pub(super) fn check_kill(&self, slot: usize) -> Held {
        let Some(supervisor) = &self.tasks[slot].supervisor else { return Ok(()) };
        let (at, printed) = supervisor.terminated.unwrap_or_default();
        let waited = self.machine.now - at;
        let floods = supervisor.bytes - printed > OUTPUT_MAX;
        if waited + SECOND >= GRACE_MS || supervisor.asked > 1 || floods {
            return Ok(());
        }
        broke("killed_early", format!("attempt {} {waited} ms after TERM, asked {} times", supervisor.number, supervisor.asked))
    }

    /// An attempt is over for its supervisor.
    pub(super) fn check_end(&self, slot: usize, why: &Ending, contained: bool) -> Held {
        let task = &self.tasks[slot];
        let Some(supervisor) = &task.supervisor else { return Ok(()) };
        let remains = task.processes.iter().any(|process| process.number == supervisor.number);
        if remains && contained && *why != Ending::Exited(0) {
            return broke("left_behind", format!("attempt {} ended by {why:?}", supervisor.number));
        }
        let ran = self.machine.now - supervisor.spawned_at - supervisor.stopped;
        let timeout = ms(task.card.timeout_seconds());
        if timeout > 0 && ran > timeout + 20 * SECOND {
            return broke("limit_passed", format!("attempt {} ran {ran} ms of {timeout}", supervisor.number));
        }
        Ok(())
    }

    /// What is true after an attempt was settled.
    pub(super) fn has_settled(&mut self, slot: usize, supervisor: &Supervisor, ended: &Ended<'_>, card: &Card, after: &Document) {
        let task = &mut self.tasks[slot];
        if ended.why == Ending::Exited(0) {
            let own = task.processes.iter_mut().filter(|process| process.number == supervisor.number);
            own.for_each(|process| process.settled = !process.holds_lock);
        } else {
            // Whoever was woken by an attempt that did not end well is not known to anybody.
            task.agent = None;
        }
        if card.status.is_terminal() {
            return;
        }
        let answered = matches!(ended.why, Ending::Exited(0 | 75 | 78)) && supervisor.answer_is_new;
        let truth = &mut task.truth;
        truth.signed = self.machine.moment();
        truth.progressed |= answered;
        let own = card.status != Status::NeedsAttention || ended.why == Ending::Overtaken;
        let taken_back = own && (is_blocked(card, ended, after) || is_taken_back(card, ended, truth.progressed));
        if taken_back && !supervisor.first_start {
            truth.retries = truth.retries.saturating_sub(1);
            truth.failures = truth.failures.saturating_sub(1);
        }
        if truth.progressed {
            truth.retries = 0;
        }
    }

    /// What a settlement is about to write.
    pub(super) fn check_settled(&self, slot: usize, card: &Card, document: &Document, ended: &Ended<'_>) -> Held {
        let truth = &self.tasks[slot].truth;
        let waits = document.text("status") == "stalled"
            && card.status != Status::NeedsAttention
            && !is_blocked(card, ended, document)
            && !is_taken_back(card, ended, truth.progressed);
        if is_blocked(card, ended, document) && document.text("status") == "running" {
            return broke("manual_running", format!("it runs on in phase {}", document.text("phase")));
        }
        let until = Timestamp::parse(document.text("not_before")).ok().map(|(until, _)| until);
        let earliest = self.machine.wall().plus_seconds(card.cooldown_seconds());
        if waits && !card.status.is_terminal() && until.is_none_or(|until| until < earliest) {
            return broke("too_early", format!("{:?}: not before {until:?}, and the cooldown lasts until {earliest}", ended.why));
        }
        Ok(())
    }

    /// What a pass says of a task.
    pub(super) fn check_report(&self, slot: usize, verdict: &Verdict) -> Held {
        let task = &self.tasks[slot];
        let card = &task.card;
        let quiet = matches!(verdict, Verdict::Quiet(_));
        if card.status == Status::NeedsAttention && !matches!(verdict, Verdict::Attention(_)) {
            return broke("exhausted_unreported", format!("it needs a person, and the verdict is {verdict:?}"));
        }
        if card.status.is_terminal() || matches!(card.status, Status::NeedsAttention | Status::Pending) || !self.is_due(slot) {
            return Ok(());
        }
        let exhausted = task.truth.retries >= card.max_retries() || task.truth.failures >= card.max_failures();
        if exhausted && !card.is_permitted() && !matches!(verdict, Verdict::Attention(_)) {
            return broke("exhausted_unreported", format!("its limits are reached, and the verdict is {verdict:?}"));
        }
        let cools = card.not_before.is_some_and(|until| until > self.machine.wall());
        if quiet && !cools {
            return broke("silence_unreported", format!("{verdict:?}"));
        }
        Ok(())
    }

    /// Whether it must be resumed or reported by now.
    fn is_due(&self, slot: usize) -> bool {
        let task = &self.tasks[slot];
        let (card, stale) = (&task.card, task.stale_ms());
        let run = card.run.as_ref();
        let printed = run.filter(|run| run.attempt == task.printed.0).map(|_| task.printed.2);
        let sign = printed.filter(|printed| printed.at > task.truth.signed.at).unwrap_or(task.truth.signed);
        let silence = self.machine.known_since(sign);
        let silent = |limit: i64| stale > 0 && silence > limit;
        if let Some(supervisor) = &task.supervisor {
            // One that works keeps the limits itself.
            return supervisor.stopped_since.is_some() && silent(stale + 2 * MINUTE);
        }
        if let Some(run) = run {
            let own = |process: &&super::task::Process| process.number == run.attempt;
            let lives = |process: &super::task::Process| process.shows(true) || (process.carries_cookie && !run.background);
            if task.processes.iter().filter(own).any(lives) {
                return silent(stale);
            }
            let did_its_part = run.background && card.outcome.as_ref().is_some_and(|outcome| outcome.kind != "background");
            return !did_its_part || card.status == Status::Stalled || silent(stale);
        }
        card.status == Status::Stalled || silent(stale)
    }
}

/// An attempt that was not given the manual phase ended well in it, and nobody permitted that.
fn is_blocked(card: &Card, ended: &Ended<'_>, after: &Document) -> bool {
    let answer = ended.answer.as_ref().ok().and_then(Option::as_ref).and_then(|answer| answer.status);
    let moved = after.text("phase") == "send" && ended.given.text("phase") != "send" && after.text("permit") != "send";
    let decided = matches!(answer, Some(Status::Completed | Status::Failed | Status::Cancelled | Status::NeedsAttention));
    moved && !decided && card.status != Status::NeedsAttention && ended.why == Ending::Exited(0) && !card.is_plain_command()
}

/// The table of what costs an attempt, in the words of the design and not of the code.
fn is_taken_back(card: &Card, ended: &Ended<'_>, progressed: bool) -> bool {
    let answer: Option<&Answer> = ended.answer.as_ref().ok().and_then(Option::as_ref);
    match (&ended.why, answer.and_then(|answer| answer.status)) {
        (Ending::Exited(0), _) if card.is_plain_command() => true,
        (Ending::Exited(0), Some(Status::Failed | Status::NeedsAttention)) => false,
        (Ending::Exited(0), Some(Status::Completed | Status::Cancelled)) => true,
        (Ending::Exited(0) | Ending::Budget, _) => progressed,
        (Ending::Exited(75) | Ending::Overtaken | Ending::Interrupted(_) | Ending::Cancelled | Ending::ManualPhase, _) => true,
        (Ending::ArtifactFault { .. } | Ending::NotStarted { ours: true, .. }, _) => true,
        _ => false,
    }
}
