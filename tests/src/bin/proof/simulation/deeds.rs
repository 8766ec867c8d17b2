//! What attempts, agents and people do: signs of life, and edits of the card.
//!
//! Edits follow `checkpoint` and `card`: fenced, and with progress counted.

use resume::step::Ending;
use shared::attempt::Cookie;
use shared::card::Status;
use shared::edit::count_progress;
use shared::entry::Entry;
use shared::verdict::{Quiet, Request, Verdict};

use super::claim::OUTPUT_MAX;
use super::machine::{HOUR, MINUTE, SECOND};
use super::script::novelty;
use super::task::{Agent, End, Obeys};
use super::world::{Event, Held, World, broke};

impl World<'_> {
    /// An attempt's leader does the next thing.
    pub(super) fn act(&mut self, slot: usize, key: u64) -> Held {
        self.about = slot;
        let task = &mut self.tasks[slot];
        let Some(index) = task.processes.iter().position(|process| process.key == key) else { return Ok(()) };
        let process = &mut task.processes[index];
        let cookie = Cookie { task_id: task.id.clone(), attempt: process.number, token: process.token.clone() };
        let number = cookie.attempt;
        let Some(work) = &mut process.work else { return Ok(()) };
        if work.acts > 0 {
            work.acts -= 1;
            work.active = self.machine.moment();
            let pause = work.pause;
            self.print(slot, number, 100);
            if self.chance.one_in(6) {
                let is_new = self.chance.one_in(2);
                self.attempt_writes(slot, &cookie, is_new, None)?;
            }
            self.after(pause, Event::Act(slot, key));
            return Ok(());
        }
        let end = work.end.clone();
        self.note(slot, || format!("attempt {number}: {end}"));
        match end {
            End::Hangs => {}
            End::Floods => {
                self.print(slot, number, 2 * OUTPUT_MAX);
                // Also while it is asked to end; nobody counts what it prints later.
                let pause = if self.tasks[slot].supervisor.is_some() { 3 * SECOND } else { MINUTE };
                self.after(pause, Event::Act(slot, key));
            }
            End::EntersManualPhase(ends) => {
                self.attempt_writes(slot, &cookie, true, Some(("send", Status::Running)))?;
                if ends {
                    self.leader_ends(slot, key, Ending::Exited(0), None);
                } else {
                    self.after(MINUTE, Event::ProcessEnds(slot, key));
                }
            }
            End::Decides(status) => {
                self.attempt_writes(slot, &cookie, false, Some(("", status)))?;
                self.leader_ends(slot, key, Ending::Exited(0), None);
            }
            End::Killed(signal) => self.leader_ends(slot, key, Ending::Killed(signal), None),
            End::HandsOver => {
                let answer = shared::answer::Answer { status: Some(Status::Running), ..Default::default() };
                self.leader_ends(slot, key, Ending::Exited(0), Some((answer, false)));
                self.wake_agent(slot);
            }
            End::Exits(code, mut answer, is_new) => {
                if let Some(answer) = answer.as_mut().filter(|_| is_new) {
                    answer.entry = self.novelty(slot);
                }
                self.leader_ends(slot, key, Ending::Exited(code), answer.map(|answer| (*answer, is_new)));
            }
        }
        Ok(())
    }

    fn novelty(&mut self, slot: usize) -> Entry {
        self.tasks[slot].truth.novelties += 1;
        novelty(&mut self.chance, self.tasks[slot].truth.novelties)
    }

    fn wake_agent(&mut self, slot: usize) {
        let key = self.key();
        let acts = self.chance.between(1, 8);
        self.tasks[slot].agent = Some(Agent { key, acts, active: self.machine.moment() });
        self.note(slot, || "an agent goes on".to_owned());
        self.after(MINUTE, Event::AgentActs(slot, key));
    }

    /// Output grows.
    pub(super) fn print(&mut self, slot: usize, number: u64, bytes: u64) {
        let task = &mut self.tasks[slot];
        if number >= task.printed.0 {
            task.printed = (number, self.machine.wall(), self.machine.moment());
        }
        if let Some(supervisor) = task.supervisor.as_mut().filter(|supervisor| supervisor.number == number) {
            supervisor.bytes += bytes;
            self.look_within(slot, 1000);
        }
    }

    fn leader_ends(&mut self, slot: usize, key: u64, ending: Ending, answer: Option<(shared::answer::Answer, bool)>) {
        let task = &mut self.tasks[slot];
        let Some(index) = task.processes.iter().position(|process| process.key == key) else { return };
        let number = task.processes.remove(index).number;
        if let Some(supervisor) = task.supervisor.as_mut().filter(|supervisor| supervisor.number == number) {
            supervisor.leader = Some(ending);
            (supervisor.answer, supervisor.answer_is_new) = answer.map_or((None, false), |(answer, is_new)| (Some(answer), is_new));
            self.look_within(slot, 5);
        }
    }

    /// A process ends of itself, or obeys TERM. A leader may have a last word.
    pub(super) fn ends_itself(&mut self, slot: usize, key: u64) -> Held {
        self.about = slot;
        let task = &self.tasks[slot];
        let leader = task.processes.iter().find(|process| process.key == key && process.work.is_some());
        if let Some(leader) = leader.filter(|_| self.chance.one_in(3)) {
            let cookie = Cookie { task_id: task.id.clone(), attempt: leader.number, token: leader.token.clone() };
            self.attempt_writes(slot, &cookie, false, None)?;
        }
        self.end_process(slot, key);
        Ok(())
    }

    /// A process is gone.
    pub(super) fn end_process(&mut self, slot: usize, key: u64) {
        let Some(process) = self.tasks[slot].processes.iter().find(|process| process.key == key) else { return };
        if process.work.is_some() {
            self.leader_ends(slot, key, Ending::Killed(15), None);
        } else {
            self.tasks[slot].processes.retain(|process| process.key != key);
            self.look_within(slot, 50);
        }
    }

    /// `checkpoint`, or a verb of `card`, from inside an attempt.
    fn attempt_writes(&mut self, slot: usize, cookie: &Cookie, is_new: bool, says: Option<(&str, Status)>) -> Held {
        let card = &self.tasks[slot].card;
        let newest = card.attempt;
        match (self.deciders.fence)(card, cookie) {
            Ok(_) if cookie.attempt < newest => {
                broke("superseded_wrote", format!("attempt {} wrote, and {newest} is the newest", cookie.attempt))
            }
            Err(error) if cookie.attempt == newest => broke("newest_refused", error.message),
            Err(_) => Ok(()),
            Ok(_) => self.write(slot, is_new, says),
        }
    }

    /// An edit that may be made.
    fn write(&mut self, slot: usize, is_new: bool, says: Option<(&str, Status)>) -> Held {
        if self.tasks[slot].card.status.is_terminal() {
            return Ok(());
        }
        let mut entry = if is_new { self.novelty(slot) } else { Entry::default() };
        let before = self.tasks[slot].document.clone();
        let mut document = (*before).clone();
        let now = self.machine.wall();
        if let Some((phase, _)) = says.filter(|(phase, _)| !phase.is_empty()) {
            // Another time it is no new phase.
            entry.message = is_new.then(|| format!("about to {phase}, {}", self.tasks[slot].truth.novelties));
            entry.next_phase = Some(phase.to_owned());
        }
        entry.apply(&mut document, true, now);
        if matches!(self.tasks[slot].card.status, Status::Pending | Status::Stalled) {
            document.set_status(Status::Running).ok();
            document.remove("not_before");
        }
        match says {
            Some((_, Status::NeedsAttention)) => document.set_attention("blocked", None, now).ok(),
            Some((_, Status::Running)) | None => None,
            Some((_, status)) => document.set_status(status).ok(),
        };
        count_progress(&before, &mut document);
        let truth = &mut self.tasks[slot].truth;
        truth.signed = self.machine.moment();
        if is_new {
            (truth.progressed, truth.retries) = (true, 0);
        }
        self.note(slot, || format!("a checkpoint, new: {is_new}, {says:?}"));
        self.commit(slot, document)
    }

    /// Somebody works on the task without a supervisor, until it is done or breaks off.
    pub(super) fn agent_acts(&mut self, slot: usize, key: u64) -> Held {
        let stale = self.tasks[slot].stale_ms();
        let moment = self.machine.moment();
        let Some(agent) = self.tasks[slot].agent.as_mut().filter(|agent| agent.key == key) else { return Ok(()) };
        agent.active = moment;
        agent.acts -= 1;
        if agent.acts > 0 {
            let is_new = self.chance.one_in(2);
            self.write(slot, is_new, None)?;
            let pause = if stale > 0 { stale * 4 / 9 } else { 2 * HOUR };
            self.after(pause, Event::AgentActs(slot, key));
            return Ok(());
        }
        self.tasks[slot].agent = None;
        self.note(slot, || "its agent ends".to_owned());
        if self.chance.one_in(4) {
            return self.write(slot, true, Some(("", Status::Completed)));
        }
        Ok(())
    }

    /// A person looks at a task, and says something or not.
    pub(super) fn person(&mut self, slot: usize) -> Held {
        self.after(8 * HOUR, Event::Person(slot));
        let task = &mut self.tasks[slot];
        if task.card.status.is_terminal() {
            return Ok(());
        }
        if self.chance.one_in(12) {
            task.adapter_gone_until = self.machine.now + self.chance.around(4 * HOUR);
        }
        let asked = task.asks_person;
        match self.chance.below(if asked { 8 } else { 40 }) {
            0 => self.write(slot, false, Some(("", Status::Cancelled))),
            1..=5 if asked => self.approve(slot),
            1 => self.approve(slot),
            2 => self.write(slot, false, Some(("", Status::NeedsAttention))),
            3 if task.card.status != Status::Pending => self.write(slot, false, Some(("", Status::Completed))),
            4 | 5 => {
                let key = self.key();
                let until = self.machine.now + self.chance.around(HOUR);
                self.waits.insert(key, (until, self.machine.sleep()));
                self.try_again(slot, key)
            }
            6 => {
                self.begin_program();
                self.claim(slot, Request::Forced, None, None).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// A person, or an agent, who ends a task between the claim and the start of an attempt, or gives it another turn.
    pub(super) fn comes_between(&mut self, slot: usize) -> Held {
        if !self.chance.one_in(60) {
            return Ok(());
        }
        self.note(slot, || "somebody comes between".to_owned());
        match self.chance.below(4) {
            0 => self.write(slot, false, Some(("", Status::Cancelled))),
            1 => self.write(slot, true, Some(("", Status::Completed))),
            2 => self.write(slot, false, Some(("", Status::NeedsAttention))),
            _ => self.approve(slot),
        }
    }

    /// `resume ID --wait-seconds N`: again and again, until the task is due or the time is over.
    pub(super) fn try_again(&mut self, slot: usize, key: u64) -> Held {
        let Some((until, sleep)) = self.waits.remove(&key) else { return Ok(()) };
        self.know_of(if self.deciders.looks_again { self.machine.sleep() } else { sleep });
        let verdict = self.judge(slot, self.deciders.claim, Request::Named);
        match verdict {
            Verdict::Quiet(Quiet { until: Some(_), .. }) if self.machine.now < until => {
                self.waits.insert(key, (until, sleep));
                self.after(5 * MINUTE, Event::TriesAgain(slot, key));
                Ok(())
            }
            _ => self.claim(slot, Request::Named, None, None).map(drop),
        }
    }

    /// As `card approve` does.
    fn approve(&mut self, slot: usize) -> Held {
        let mut document = (*self.tasks[slot].document).clone();
        if self.tasks[slot].card.status != Status::Pending {
            document.set_status(Status::Stalled).ok();
        }
        document.set_time("approved_at", self.machine.wall());
        document.set("permit", document.text("phase").to_owned());
        for name in ["retry_count", "failures"] {
            document.set(name, 0);
        }
        document.remove("not_before");
        let task = &mut self.tasks[slot];
        // Who says "go on" has looked: nobody else works on it.
        task.agent = None;
        (task.truth.retries, task.truth.failures, task.truth.signed) = (0, 0, self.machine.moment());
        self.note(slot, || "approved".to_owned());
        self.commit(slot, document)
    }

    /// TERM to a process.
    pub(super) fn terminate(&mut self, slot: usize, key: u64) {
        let found = self.tasks[slot].processes.iter().find(|process| process.key == key);
        if let Some(Obeys::Term(after)) = found.map(|process| process.obeys) {
            self.at(self.machine.now + after, Event::ProcessEnds(slot, key));
        }
    }

    /// KILL to a process.
    pub(super) fn kill(&mut self, slot: usize, key: u64) {
        let found = self.tasks[slot].processes.iter().find(|process| process.key == key);
        if found.is_some_and(|process| process.obeys != Obeys::Nothing) {
            self.counts.attempts_killed += 1;
            self.end_process(slot, key);
        }
    }
}
