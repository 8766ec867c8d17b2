//! A supervisor from its claim on: contain, start, supervise, settle, and again.
//!
//! The order of steps is that of `supervise.rs` and `attempt.rs` in the product; what is decided at each is the product's own.
//! Between any two of them it may be killed.

use resume::limits::Watched;
use resume::record::is_newest;
use resume::settle::Ended;
use resume::step::{Act, Ending, News, State};
use shared::verdict::Request;

use super::machine::{HOUR, SECOND};
use super::script;
use super::task::{Crash, Stage};
use super::world::{Event, Held, World, broke};

pub(super) const GRACE_MS: i64 = 10 * SECOND;
const KILL_MS: i64 = 5 * SECOND;

fn ours(detail: &str) -> Ending {
    Ending::NotStarted { ours: true, detail: detail.to_owned() }
}

pub(super) fn seconds(ms: i64) -> f64 {
    std::time::Duration::from_millis(ms.max(0).cast_unsigned()).as_secs_f64()
}

impl World<'_> {
    /// The supervisor looks around within this time, if it does not earlier.
    pub(super) fn look_within(&mut self, slot: usize, ms: i64) {
        let wait = self.chance.between(1, ms.max(1));
        let at = self.machine.now + wait;
        let Some(supervisor) = &mut self.tasks[slot].supervisor else { return };
        if supervisor.next_look > at && supervisor.stopped_since.is_none() {
            supervisor.next_look = at;
            let key = supervisor.key;
            self.at(at, Event::Look(slot, key));
        }
    }

    /// One round of a supervisor.
    pub(super) fn look(&mut self, slot: usize, key: u64) -> Held {
        self.about = slot;
        let now = self.machine.now;
        let Some(supervisor) = self.tasks[slot].supervisor.as_mut() else { return Ok(()) };
        if supervisor.key != key || supervisor.next_look != now || supervisor.stopped_since.is_some() {
            return Ok(());
        }
        supervisor.next_look = i64::MAX;
        match supervisor.stage {
            Stage::Contain(tried) => self.contain_forerunners(slot, tried),
            Stage::Watch => {
                let took = seconds(now - supervisor.looked_at);
                supervisor.watched.count(took, took);
                supervisor.looked_at = now;
                self.supervise(slot)
            }
            Stage::Settle => self.settle(slot),
        }
    }

    fn contain_forerunners(&mut self, slot: usize, tried: u8) -> Held {
        let task = &mut self.tasks[slot];
        let Some(supervisor) = &mut task.supervisor else { return Ok(()) };
        let (number, token) = (supervisor.number, supervisor.token.clone());
        let first = supervisor.forerunners_from.unwrap_or(number);
        let knows = self.deciders.knows_leaders;
        let targets: Vec<u64> = task
            .processes
            .iter()
            .filter(|process| (first..number).contains(&process.number))
            .filter(|process| process.shows(knows) || (process.carries_cookie && process.token == token))
            .map(|process| process.key)
            .collect();
        if targets.is_empty() {
            return self.start(slot);
        }
        match tried {
            0 => {
                supervisor.stage = Stage::Contain(1);
                for target in targets {
                    self.check_stop(slot, target, None)?;
                    self.terminate(slot, target);
                }
                self.look_within(slot, GRACE_MS);
            }
            1 => {
                supervisor.stage = Stage::Contain(2);
                targets.into_iter().for_each(|target| self.kill(slot, target));
                self.look_within(slot, KILL_MS);
            }
            _ => {
                supervisor.left = Some("some could not be ended".to_owned());
                self.has_not_started(slot, ours("an earlier attempt could not be ended"));
            }
        }
        Ok(())
    }

    fn has_ended(&mut self, slot: usize, why: Ending) {
        let Some(supervisor) = self.tasks[slot].supervisor.as_mut() else { return };
        supervisor.stage = Stage::Settle;
        supervisor.why = Some(why);
        self.look_within(slot, 400);
    }

    /// An attempt that others overtook is told as that, whatever else is in its way.
    fn has_not_started(&mut self, slot: usize, why: Ending) {
        let why = if self.is_overtaken(slot) { Ending::Overtaken } else { why };
        self.has_ended(slot, why);
    }

    fn is_overtaken(&self, slot: usize) -> bool {
        let task = &self.tasks[slot];
        task.supervisor.as_ref().is_some_and(|one| !(self.deciders.may_start)(&task.card, one.number, &one.token))
    }

    /// What the last look before a start finds, in the order of `last_look.rs`.
    fn obstacle(&mut self, slot: usize, left: Option<i64>) -> Option<Ending> {
        let task = &self.tasks[slot];
        if let Some(signal) = task.supervisor.as_ref().and_then(|supervisor| supervisor.stop) {
            return Some(Ending::Interrupted(signal));
        }
        if self.is_overtaken(slot) {
            return Some(Ending::Overtaken);
        }
        if left.is_some_and(|left| left <= 0) {
            return Some(ours("the pass's time was over before it started"));
        }
        let is_gone = task.adapter_gone_until > self.machine.now;
        if is_gone || self.chance.one_in(60) {
            let ours = !is_gone && self.chance.one_in(2);
            return Some(Ending::NotStarted { ours, detail: "no luck".to_owned() });
        }
        None
    }

    fn start(&mut self, slot: usize) -> Held {
        let Some(supervisor) = self.tasks[slot].supervisor.as_mut() else { return Ok(()) };
        let (key, pass, stopped) = (supervisor.key, supervisor.pass, supervisor.stopped);
        if supervisor.crash == Crash::BeforeSpawn {
            self.kill_supervisor(slot, key);
            return Ok(());
        }
        self.comes_between(slot)?;
        let left = self.budget_left(pass).map(|left| left + stopped);
        if let Some(why) = self.obstacle(slot, left) {
            self.has_not_started(slot, why);
            return Ok(());
        }
        self.check_start(slot)?;
        let leader = self.key();
        let now = self.machine.moment();
        let task = &mut self.tasks[slot];
        let Some(supervisor) = task.supervisor.as_mut() else { return Ok(()) };
        supervisor.stage = Stage::Watch;
        supervisor.watched = Watched::new(&supervisor.card, supervisor.limits, left.map(seconds));
        (supervisor.looked_at, supervisor.spawned_at) = (now.at, now.at);
        let processes = script::attempt(&mut self.chance, &supervisor.card, leader, &supervisor.token, now);
        let pause = processes.first().and_then(|leader| leader.work.as_ref()).map_or(HOUR, |work| work.pause);
        let child = processes.get(1).map(|child| child.key);
        task.processes.extend(processes);
        self.after(pause, Event::Act(slot, leader));
        if let Some(child) = child {
            self.after(3 * pause, Event::ProcessEnds(slot, child));
        }
        self.look_within(slot, 5);
        Ok(())
    }

    fn supervise(&mut self, slot: usize) -> Held {
        let task = &mut self.tasks[slot];
        let revision = task.card.revision;
        let Some(supervisor) = task.supervisor.as_mut() else { return Ok(()) };
        let number = supervisor.number;
        let of_attempt: Vec<u64> =
            task.processes.iter().filter(|process| process.number == number).map(|process| process.key).collect();
        let limit = if supervisor.state == State::Running {
            if supervisor.seen_revision != revision {
                supervisor.seen_revision = revision;
                supervisor.watched.saw_card(&task.card);
            }
            supervisor.watched.saw_output(supervisor.bytes, 0);
            supervisor.watched.limit()
        } else {
            None
        };
        let floods = matches!(supervisor.state, State::Terminating { .. }) && {
            supervisor.watched.saw_output(supervisor.bytes, 0);
            supervisor.watched.floods()
        };
        let news = News {
            elapsed: supervisor.watched.elapsed,
            all_gone: of_attempt.is_empty(),
            leader: supervisor.leader.clone(),
            stop: supervisor.stop.take(),
            limit,
            floods,
        };
        let before = std::mem::replace(&mut supervisor.state, State::Running);
        let was_asked = matches!(before, State::Terminating { .. });
        let (next, act) = (self.deciders.step)(before, &news, seconds(GRACE_MS));
        supervisor.state = next.clone();
        let until_limit = supervisor.watched.until_limit();
        match act {
            Act::Nothing => {}
            Act::Terminate => {
                supervisor.terminated = Some((self.machine.now, supervisor.bytes));
                let pass = supervisor.pass;
                if let Some(pass) = pass.filter(|_| self.chance.one_in(20)) {
                    // A person asks to stop while it is being ended for another reason.
                    let at = self.machine.now + self.chance.below(GRACE_MS);
                    self.at(at, Event::PassIsAsked(pass));
                }
                self.note(slot, || format!("attempt {number} is asked to end: {next:?}"));
                for key in of_attempt {
                    self.check_stop(slot, key, Some(&next))?;
                    self.terminate(slot, key);
                }
            }
            Act::Kill => {
                if was_asked {
                    self.check_kill(slot)?;
                }
                of_attempt.into_iter().for_each(|key| self.kill(slot, key));
            }
        }
        match next {
            State::Running => {
                let wait = shared::time::ms(until_limit.clamp(0.001, 1e9));
                self.look_at(slot, self.machine.now + wait);
            }
            State::Terminating { kill_at, .. } => {
                self.look_at(slot, self.machine.now + shared::time::ms(kill_at - news.elapsed));
                if !was_asked {
                    self.look_within(slot, 50);
                }
            }
            State::Killing { .. } => self.look_within(slot, SECOND),
            State::Done { why, contained } => {
                self.check_end(slot, &why, contained)?;
                if let Some(supervisor) = self.tasks[slot].supervisor.as_mut().filter(|_| !contained) {
                    supervisor.left = Some("some could not be ended".to_owned());
                }
                self.has_ended(slot, why);
            }
        }
        Ok(())
    }

    fn look_at(&mut self, slot: usize, at: i64) {
        let Some(supervisor) = &mut self.tasks[slot].supervisor else { return };
        // The next millisecond at the earliest: what is due now was looked at.
        let at = at.max(self.machine.now + 1);
        if supervisor.next_look > at {
            supervisor.next_look = at;
            let key = supervisor.key;
            self.at(at, Event::Look(slot, key));
        }
    }

    fn settle(&mut self, slot: usize) -> Held {
        let Some(supervisor) = self.tasks[slot].supervisor.take() else { return Ok(()) };
        let (pass, chain) = (supervisor.pass, supervisor.first_of_chain);
        if supervisor.crash == Crash::BeforeSettle {
            self.counts.supervisors_killed += 1;
            self.turn_ends(pass);
            return Ok(());
        }
        let task = &self.tasks[slot];
        if !is_newest(&task.card, supervisor.number, &supervisor.token) {
            self.turn_ends(pass);
            return Ok(());
        }
        let why = supervisor.why.clone().unwrap_or(Ending::Timeout);
        let ended = Ended {
            given: &supervisor.given,
            number: supervisor.number,
            first_start: chain,
            answer: Ok(supervisor.answer.clone()),
            why,
            output_held: task.processes.iter().any(|process| process.holds_lock && process.number == supervisor.number),
            left: supervisor.left.clone(),
            stderr_tail: String::new(),
            stderr_log: String::new(),
        };
        let card = task.card.clone();
        let mut document = (*task.document).clone();
        let settled = match (self.deciders.settle)(&mut document, &card, &ended, self.machine.wall()) {
            Ok(settled) => settled,
            Err(error) => return broke("settle_refused", error.message),
        };
        self.note(slot, || format!("attempt {} settled: {}, {:?}", supervisor.number, settled.kind, ended.why));
        self.has_settled(slot, &supervisor, &ended, &card, &document);
        if settled.changed {
            self.check_settled(slot, &card, &document, &ended)?;
            self.commit(slot, document)?;
        }
        self.begin_program();
        let is_over = self.budget_left(pass).is_some_and(|left| left <= 0);
        if settled.again && !is_over && self.claim(slot, Request::Continued, pass, Some(chain))? {
            return Ok(());
        }
        self.turn_ends(pass);
        Ok(())
    }

    pub(super) fn kill_supervisor(&mut self, slot: usize, key: u64) {
        if let Some(supervisor) = self.tasks[slot].supervisor.take_if(|supervisor| supervisor.key == key) {
            self.counts.supervisors_killed += 1;
            self.note(slot, || format!("the supervisor of attempt {} is killed", supervisor.number));
            self.turn_ends(supervisor.pass);
        }
    }

    /// STOP to a supervisor alone: it holds its lock and does nothing.
    pub(super) fn stop_supervisor(&mut self, slot: usize, key: u64) {
        let now = self.machine.now;
        let Some(supervisor) = self.tasks[slot].supervisor.as_mut().filter(|supervisor| supervisor.key == key) else { return };
        if supervisor.stage == Stage::Watch {
            let took = seconds(now - supervisor.looked_at);
            supervisor.watched.count(took, took);
            supervisor.looked_at = now;
        }
        supervisor.stopped_since = Some(now);
        supervisor.next_look = i64::MAX;
        self.note(slot, || "its supervisor is stopped".to_owned());
        self.after(3 * HOUR, Event::SupervisorGoesOn(slot, key));
    }

    pub(super) fn continue_supervisor(&mut self, slot: usize, key: u64) -> Held {
        let now = self.machine.now;
        let Some(supervisor) = self.tasks[slot].supervisor.as_mut().filter(|supervisor| supervisor.key == key) else {
            return Ok(());
        };
        let Some(since) = supervisor.stopped_since.take() else { return Ok(()) };
        supervisor.stopped += now - since;
        if supervisor.stage == Stage::Watch {
            supervisor.watched.count(seconds(now - supervisor.looked_at), 1.0);
            supervisor.looked_at = now;
        }
        self.look_within(slot, 5);
        Ok(())
    }
}
