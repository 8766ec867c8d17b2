//! Passes: `watch | resume` as something calls it regularly, with a pool of supervisors.
//!
//! They overlap, are missed, get killed and are asked to stop; between `watch` and `resume` anything may happen.

use std::collections::VecDeque;

use shared::verdict::{Request, Verdict};

use super::machine::{MINUTE, SECOND};
use super::world::{Event, Held, World};

#[derive(Debug)]
pub(super) struct Pass {
    pub(super) waiting: VecDeque<(usize, u64)>,
    pub(super) running: usize,
    pub(super) budget_until: Option<i64>,
    /// It was asked to stop: it leaves no stamp.
    pub(super) asked: bool,
}

impl World<'_> {
    /// `watch | resume`, as something calls it regularly.
    pub(super) fn begin_pass(&mut self) -> Held {
        let jitter = self.chance.below(20 * SECOND);
        self.at(self.machine.now + self.interval + jitter, Event::Pass);
        if self.chance.one_in(20) {
            return Ok(());
        }
        self.counts.passes += 1;
        let mut waiting = VecDeque::new();
        self.machine.look();
        self.begin_program();
        for slot in 0..self.tasks.len() {
            let verdict = self.judge(slot, self.deciders.watch, Request::Pass);
            self.check_report(slot, &verdict)?;
            let asks_person = matches!(verdict, Verdict::Attention(_));
            if asks_person != self.tasks[slot].asks_person {
                self.note(slot, || format!("watch: {verdict:?}"));
            }
            self.tasks[slot].asks_person = asks_person;
            if matches!(verdict, Verdict::Alert(_) | Verdict::Ready) {
                waiting.push_back((slot, self.tasks[slot].key));
            }
        }
        let key = self.key();
        let now = self.machine.now;
        let budget_until = self.chance.one_in(8).then(|| now + self.chance.around(20 * MINUTE));
        if self.chance.one_in(30) {
            self.after(2 * MINUTE, Event::PassIsKilled(key));
        }
        if self.chance.one_in(30) {
            self.after(5 * MINUTE, Event::PassIsAsked(key));
        }
        let jobs = usize::try_from(self.chance.between(1, 4)).unwrap_or(1);
        let turns = waiting.len().min(jobs);
        self.passes.insert(key, Pass { waiting, running: turns, budget_until, asked: false });
        for _ in 0..turns {
            // Between the two programs something may always happen.
            let wait = if self.chance.one_in(50) { self.chance.around(10 * MINUTE) } else { self.chance.between(2, 300) };
            self.at(now + wait, Event::Turn(key));
        }
        if turns == 0 {
            self.at(now + 5, Event::PassEnds(key));
        }
        Ok(())
    }

    pub(super) fn turn(&mut self, key: u64) -> Held {
        let is_over = self.budget_left(Some(key)).is_some_and(|left| left <= 0);
        let Some(pass) = self.passes.get_mut(&key) else { return Ok(()) };
        let next = pass.waiting.pop_front().filter(|_| !is_over && !pass.asked);
        match next {
            Some((slot, task)) if self.tasks[slot].key == task => {
                self.begin_program();
                if !self.claim(slot, Request::Pass, Some(key), None)? {
                    self.turn_ends(Some(key));
                }
            }
            _ => self.turn_ends(Some(key)),
        }
        Ok(())
    }

    /// A supervisor ended: the next task gets its turn.
    pub(super) fn turn_ends(&mut self, key: Option<u64>) {
        let Some((key, pass)) = key.and_then(|key| self.passes.get_mut(&key).map(|pass| (key, pass))) else { return };
        let (more, last) = (!pass.waiting.is_empty(), pass.running == 1);
        if !more {
            pass.running -= 1;
        }
        let now = self.machine.now;
        if more {
            self.at(now + 3, Event::Turn(key));
        } else if last {
            self.at(now + 3, Event::PassEnds(key));
        }
    }

    /// Milliseconds that are left of its time, if it has an end.
    pub(super) fn budget_left(&self, pass: Option<u64>) -> Option<i64> {
        Some(self.passes.get(&pass?)?.budget_until? - self.machine.now)
    }

    pub(super) fn ask_pass(&mut self, key: u64) {
        let Some(pass) = self.passes.get_mut(&key) else { return };
        pass.asked = true;
        pass.waiting.clear();
        if self.chance.one_in(3) {
            // Somebody has no patience.
            self.after(5 * SECOND, Event::PassIsAsked(key));
        }
        for slot in 0..self.tasks.len() {
            if let Some(supervisor) = self.tasks[slot].supervisor.as_mut().filter(|supervisor| supervisor.pass == Some(key)) {
                supervisor.stop = Some(15);
                supervisor.asked += 1;
                self.look_within(slot, 20);
            }
        }
    }
}
