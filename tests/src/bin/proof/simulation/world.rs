//! A world: one machine, some tasks, passes that come and overlap and are missed, and everything that goes wrong.
//!
//! Time jumps from event to event. One number decides everything, so that a world can be lived again.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;

use shared::adapter::Usability;
use shared::last_pass::Sleep;
use shared::verdict::{Dependencies, Facts, Request, Verdict};

use super::chance::Chance;
use super::deciders::Deciders;
use super::machine::{DAY, HOUR, MINUTE, Machine, SECOND};
use super::passes::Pass;
use super::script;
use super::task::{Agent, Task, Truth};

/// An invariant that does not hold.
#[derive(Debug)]
pub(super) struct Violation {
    pub(super) invariant: &'static str,
    pub(super) what: String,
}

pub(super) type Held = Result<(), Violation>;

pub(super) fn broke(invariant: &'static str, what: impl Into<String>) -> Held {
    Err(Violation { invariant, what: what.into() })
}

/// What happened.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Milliseconds awake that tasks were not finished.
    pub(super) lived: i64,
    pub(super) tasks: u64,
    pub(super) passes: u64,
    pub(super) attempts: u64,
    pub(super) supervisors_killed: u64,
    pub(super) attempts_killed: u64,
    pub(super) jumps: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    Pass,
    /// The next task of a pass gets its turn.
    Turn(u64),
    PassEnds(u64),
    PassIsKilled(u64),
    PassIsAsked(u64),
    Jump,
    Reboot,
    /// A person looks at a task.
    Person(usize),
    /// A `resume` with `--wait-seconds` tries again.
    TriesAgain(usize, u64),
    Renew(usize),
    /// An attempt's leader, or an agent, does something.
    Act(usize, u64),
    AgentActs(usize, u64),
    ProcessEnds(usize, u64),
    /// A supervisor looks around.
    Look(usize, u64),
    SupervisorIsKilled(usize, u64),
    SupervisorStops(usize, u64),
    SupervisorGoesOn(usize, u64),
}

pub(super) struct World<'a> {
    pub(super) deciders: &'a Deciders,
    pub(super) chance: Chance,
    pub(super) machine: Machine,
    pub(super) tasks: Vec<Task>,
    pub(super) passes: BTreeMap<u64, Pass>,
    pub(super) facts: Facts,
    /// What waits for tasks that will be due: until when, and what it knew of the machine's sleep when it began.
    pub(super) waits: BTreeMap<u64, (i64, Sleep)>,
    pub(super) counts: Counts,
    /// Between passes.
    pub(super) interval: i64,
    events: BinaryHeap<Reverse<(i64, u64, Event)>>,
    keys: u64,
    /// The task that is looked at.
    pub(super) about: usize,
    log: Option<Vec<String>>,
}

impl<'a> World<'a> {
    pub(super) fn new(chance: Chance, deciders: &'a Deciders, keeps_log: bool) -> Self {
        let mut world = Self {
            deciders,
            chance,
            machine: Machine::new(),
            tasks: Vec::new(),
            passes: BTreeMap::new(),
            facts: Facts {
                host: "here".to_owned(),
                supervisor_alive: false,
                attempt_alive: false,
                forerunner_alive: false,
                last_output: None,
                awake_since: None,
                asleep_seconds: 0.0,
                adapter: Usability::Usable,
                dependencies: Dependencies::default(),
            },
            waits: BTreeMap::new(),
            counts: Counts::default(),
            interval: 0,
            events: BinaryHeap::new(),
            keys: 0,
            about: 0,
            log: keeps_log.then(Vec::new),
        };
        world.interval = world.chance.pick(&[10, 20, 30, 60, 60, 90]) * MINUTE;
        for slot in 0..usize::try_from(world.chance.between(4, 12)).unwrap_or(4) {
            let task = world.make_task(slot);
            world.tasks.push(task);
            world.after(8 * HOUR, Event::Person(slot));
        }
        world.after(world.interval, Event::Pass);
        world.after(DAY, Event::Jump);
        world.after(15 * DAY, Event::Reboot);
        world
    }

    /// Lives until then.
    pub(super) fn live(&mut self, until: i64) -> Held {
        while let Some(Reverse((at, _, event))) = self.events.pop() {
            if at > until {
                break;
            }
            self.machine.now = at;
            self.happen(event)?;
        }
        let now = self.machine.now;
        let open = self.tasks.iter().filter(|task| !task.card.status.is_terminal());
        self.counts.lived += open.map(|task| now - task.made_at).sum::<i64>();
        Ok(())
    }

    fn happen(&mut self, event: Event) -> Held {
        match event {
            Event::Pass => self.begin_pass(),
            Event::Turn(pass) => self.turn(pass),
            Event::PassEnds(pass) => {
                if self.passes.remove(&pass).is_some_and(|pass| !pass.asked) {
                    self.machine.stamp();
                }
                Ok(())
            }
            Event::PassIsKilled(pass) => {
                self.passes.remove(&pass);
                Ok(())
            }
            Event::PassIsAsked(pass) => {
                self.ask_pass(pass);
                Ok(())
            }
            Event::Jump => {
                self.jump();
                Ok(())
            }
            Event::Reboot => {
                self.reboot();
                Ok(())
            }
            Event::Person(slot) => self.person(slot),
            Event::TriesAgain(slot, key) => self.try_again(slot, key),
            Event::Renew(slot) => {
                self.renew(slot);
                Ok(())
            }
            Event::Act(slot, key) => self.act(slot, key),
            Event::AgentActs(slot, key) => self.agent_acts(slot, key),
            Event::ProcessEnds(slot, key) => self.ends_itself(slot, key),
            Event::Look(slot, key) => self.look(slot, key),
            Event::SupervisorIsKilled(slot, key) => {
                self.kill_supervisor(slot, key);
                Ok(())
            }
            Event::SupervisorStops(slot, key) => {
                self.stop_supervisor(slot, key);
                Ok(())
            }
            Event::SupervisorGoesOn(slot, key) => self.continue_supervisor(slot, key),
        }
    }

    pub(super) fn at(&mut self, at: i64, event: Event) {
        self.keys += 1;
        self.events.push(Reverse((at.max(self.machine.now), self.keys, event)));
    }

    /// About this much later.
    pub(super) fn after(&mut self, middle: i64, event: Event) {
        let at = self.machine.now + self.chance.around(middle);
        self.at(at, event);
    }

    /// Names two processes, or one of anything else.
    pub(super) fn key(&mut self) -> u64 {
        self.keys += 2;
        self.keys - 1
    }

    pub(super) fn note(&mut self, slot: usize, what: impl FnOnce() -> String) {
        if let Some(log) = &mut self.log {
            let id = self.tasks.get(slot).map_or("machine", |task| task.id.as_str());
            log.push(format!("{} {id}: {}", self.machine.wall(), what()));
        }
    }

    /// The last that happened to the machine and to the task that was looked at last.
    pub(super) fn story(&self, lines: usize) -> Vec<String> {
        let about = format!(" {}: ", self.tasks[self.about].id);
        let log = self.log.iter().flatten();
        let mut story: Vec<String> =
            log.rev().filter(|line| line.contains(&about) || line.contains(" machine: ")).take(lines).cloned().collect();
        story.reverse();
        story
    }

    fn make_task(&mut self, slot: usize) -> Task {
        let key = self.key();
        let id = format!("t{key}");
        let pending = self.chance.one_in(2);
        let document = script::card(&mut self.chance, &id, self.machine.wall(), pending);
        let card = document.card(&id).expect("a card that was made here");
        let moment = self.machine.moment();
        let works = card.status == shared::card::Status::Running;
        let acts = self.chance.between(1, 8);
        let agent = works.then_some(Agent { key, acts, active: moment });
        self.counts.tasks += 1;
        self.at(self.machine.now, Event::AgentActs(slot, key));
        Task {
            key,
            id,
            document: Rc::new(document),
            card: Rc::new(card),
            made_at: self.machine.now,
            newest_log: None,
            printed: (0, self.machine.wall(), moment),
            processes: Vec::new(),
            supervisor: None,
            agent,
            adapter_gone_until: 0,
            asks_person: false,
            truth: Truth { retries: 0, failures: 0, progressed: false, signed: moment, novelties: 0 },
        }
    }

    /// A finished task without processes makes room for another one.
    fn renew(&mut self, slot: usize) {
        let task = &self.tasks[slot];
        if !task.card.status.is_terminal() {
            return;
        }
        if task.supervisor.is_some() || task.card.run.is_some() || !task.processes.is_empty() {
            self.after(DAY, Event::Renew(slot));
            return;
        }
        self.tasks[slot] = self.make_task(slot);
    }

    fn jump(&mut self) {
        let ms = match self.chance.below(8) {
            0..=3 => self.chance.around(6 * HOUR),
            4 => self.chance.around(30 * SECOND),
            5 => self.chance.around(2 * HOUR),
            6 => -self.chance.around(2 * MINUTE),
            _ => -self.chance.around(HOUR),
        };
        self.machine.jump(ms);
        self.counts.jumps += 1;
        self.note(usize::MAX, || format!("the wall clock jumped by {} s", ms / SECOND));
        self.after(DAY, Event::Jump);
    }

    fn reboot(&mut self) {
        let off = self.chance.around(HOUR);
        self.machine.reboot(off);
        self.passes.clear();
        self.waits.clear();
        for slot in 0..self.tasks.len() {
            let task = &mut self.tasks[slot];
            task.processes.clear();
            (task.supervisor, task.agent) = (None, None);
        }
        self.note(usize::MAX, || format!("a reboot, {} s off", off / SECOND));
        self.after(15 * DAY, Event::Reboot);
    }

    /// What a program knows of the machine from its start.
    pub(super) fn begin_program(&mut self) {
        self.know_of(self.machine.sleep());
    }

    pub(super) fn know_of(&mut self, sleep: Sleep) {
        (self.facts.awake_since, self.facts.asleep_seconds) = (sleep.awake_since, sleep.asleep_seconds);
    }

    pub(super) fn judge(&mut self, slot: usize, judge: super::deciders::Judge, request: Request) -> Verdict {
        self.about = slot;
        self.tasks[slot].facts(&self.machine, self.deciders.knows_leaders, &mut self.facts);
        judge(&self.tasks[slot].card, &self.facts, request, self.machine.wall())
    }
}
