//! The claim, in the order of `claim.rs` in the product: judge, number, record, write.

use resume::limits::{Limits, Watched};
use resume::record::{NewAttempt, forget_contained, next_number, tells_of_none};
use resume::step::State;
use shared::verdict::{Request, Verdict};

use super::machine::HOUR;
use super::script;
use super::supervisor::{GRACE_MS, seconds};
use super::task::{Crash, Process, Stage, Supervisor};
use super::world::{Event, Held, Violation, World, broke};

/// Bytes that an attempt may print.
pub(super) const OUTPUT_MAX: u64 = 1 << 30;

impl World<'_> {
    /// Claims the next attempt, if the task is due. Returns whether a supervisor lives for it now. `chain`: this attempt goes on
    /// at once after one that was, or was not, the task's first.
    pub(super) fn claim(
        &mut self,
        slot: usize,
        request: Request,
        pass: Option<u64>,
        chain: Option<bool>,
    ) -> Result<bool, Violation> {
        let verdict = self.judge(slot, self.deciders.claim, request);
        let task = &self.tasks[slot];
        match verdict {
            Verdict::Alert(due) if due.reason == "contain" => return self.contain_cancelled(slot).map(|()| false),
            Verdict::Alert(_) | Verdict::Ready => {}
            Verdict::Quiet(_) | Verdict::Attention(_) => return Ok(false),
        }
        let knows = self.deciders.knows_leaders;
        let held = |number| task.processes.iter().any(|process| process.shows(knows) && process.number == number);
        if tells_of_none(&task.card) && task.newest_log.is_some_and(held) {
            return Ok(false);
        }
        self.check_claim(slot, request, &verdict)?;
        let crash = script::crash(&mut self.chance);
        let key = self.key();
        let now = self.machine.wall();
        let task = &mut self.tasks[slot];
        let number = next_number(&task.card, task.newest_log);
        task.newest_log = Some(number);
        if crash == Crash::BeforeWrite {
            self.counts.supervisors_killed += 1;
            return Ok(false);
        }
        let card = task.card.clone();
        let mut document = (*task.document).clone();
        let new = NewAttempt { number, token: &format!("k{key}"), host: "here", pid: 1, started_at: now };
        let recorded = match (self.deciders.record)(&mut document, &card, &new) {
            Ok(recorded) => recorded,
            Err(error) => return broke("claim_refused", error.message).map(|()| false),
        };
        task.printed = (number, now, self.machine.moment());
        task.truth.signed = self.machine.moment();
        task.truth.progressed = false;
        // An attempt that nobody settled may have woken one that nobody knows of.
        task.agent = None;
        if !recorded.first_start {
            task.truth.retries += 1;
            task.truth.failures += 1;
        }
        self.counts.attempts += 1;
        self.note(slot, || format!("attempt {number} claimed ({request:?}, {verdict:?}), crash {crash:?}"));
        self.check_limits(slot, request, card.is_permitted(), recorded.first_start)?;
        self.commit(slot, document)?;
        let task = &self.tasks[slot];
        let limits =
            Limits { timeout_seconds: task.card.timeout_seconds(), grace_seconds: seconds(GRACE_MS), output_max: OUTPUT_MAX };
        let supervisor = Supervisor {
            key,
            pass,
            number,
            token: recorded.token,
            given: task.document.clone(),
            card: task.card.clone(),
            first_start: recorded.first_start,
            first_of_chain: chain.unwrap_or(recorded.first_start),
            forerunners_from: recorded.forerunners_from,
            crash,
            stage: Stage::Contain(0),
            state: State::Running,
            watched: Watched::new(&task.card, limits, None),
            limits,
            looked_at: self.machine.now,
            next_look: i64::MAX,
            seen_revision: task.card.revision,
            spawned_at: self.machine.now,
            stopped_since: None,
            stopped: 0,
            stop: None,
            asked: 0,
            terminated: None,
            bytes: 0,
            leader: None,
            answer: None,
            answer_is_new: false,
            why: None,
            left: None,
        };
        self.tasks[slot].supervisor = Some(supervisor);
        match crash {
            Crash::AfterWrite => {
                self.kill_supervisor(slot, key);
                return Ok(false);
            }
            Crash::Meanwhile(after) => self.at(self.machine.now + after, Event::SupervisorIsKilled(slot, key)),
            _ if self.chance.one_in(40) => self.after(HOUR / 2, Event::SupervisorStops(slot, key)),
            _ => {}
        }
        self.look_within(slot, 10);
        Ok(true)
    }

    /// Ends what is left of a cancelled task's attempt when its supervisor is gone.
    fn contain_cancelled(&mut self, slot: usize) -> Held {
        let task = &self.tasks[slot];
        let Some(run) = task.card.run.clone() else { return Ok(()) };
        let first = run.forerunners_from.unwrap_or(run.attempt);
        let knows = self.deciders.knows_leaders;
        let is_target = |process: &Process| {
            (first..=run.attempt).contains(&process.number)
                && (process.shows(knows) || (process.carries_cookie && process.token == run.token))
        };
        let targets: Vec<u64> = task.processes.iter().filter(|process| is_target(process)).map(|process| process.key).collect();
        targets.into_iter().for_each(|key| self.kill(slot, key));
        let task = &self.tasks[slot];
        if task.processes.iter().any(is_target) {
            return Ok(());
        }
        let mut document = (*task.document).clone();
        if forget_contained(&mut document, &task.card, run.attempt, &run.token) {
            self.note(slot, || format!("attempt {} contained", run.attempt));
            self.commit(slot, document)?;
        }
        Ok(())
    }
}
