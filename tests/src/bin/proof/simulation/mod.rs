//! Deterministic simulation: the product's decisions under a virtual clock.
//!
//! The verdict, the claim's edit, the supervisor's table and limits, the settlement, the fence and
//! the stamp of a pass are production code, on real cards in memory. What is simulated is the rest
//! of the world: time, processes and their locks, passes that overlap or are missed, people, and
//! everything that is killed, stopped, suspended or set wrong meanwhile.
//!
//! `proof --seed N simulation` lives the same worlds again.

mod chance;
mod claim;
mod deciders;
mod deeds;
mod machine;
mod oracle;
mod passes;
mod script;
mod supervisor;
mod task;
mod world;

use std::sync::atomic::{AtomicU64, Ordering};

use nix::time::{ClockId, clock_gettime};

use crate::{Context, Outcome, Passed};
use chance::Chance;
use deciders::{BROKEN, Deciders, PRODUCT};
use world::{Counts, Violation, World};

/// Worlds that are lived, each for this long.
const WORLDS: u64 = 1560;
const LIFE_MS: i64 = 30 * machine::DAY;
/// Worlds in which a broken decision must be noticed.
const WORLDS_OF_CONTROL: u64 = 2000;
/// Lines of a story that are shown.
const STORY_LINES: usize = 30;
/// So little would mean that the worlds stand still: of all the time, and of each thing that goes wrong.
const YEARS_MIN: i64 = 400;
const KINDS_MIN: u64 = 10_000;
const YEAR_MS: i64 = 365 * machine::DAY;

pub(crate) fn run(context: &Context) -> Outcome {
    let start = cpu_ms();
    let counts =
        live(context.seed, &PRODUCT, WORLDS).map_err(|(world, violation)| tell(context.seed, world, &PRODUCT, &violation))?;
    let years = counts.lived / YEAR_MS;
    let killed = counts.supervisors_killed.min(counts.attempts_killed).min(counts.jumps);
    if years < YEARS_MIN || counts.attempts < KINDS_MIN || killed < KINDS_MIN {
        return Err(format!("so little happened in {WORLDS} worlds that nothing is proved: {counts:?}"));
    }
    // By the time that the cores worked for it: others may use them, too.
    let a_minute = years * 2 * 60_000 / (cpu_ms() - start).max(1);
    Ok(Passed::Done(format!(
        "{years} task-years ({a_minute} a minute of two cores) of {} tasks in {WORLDS} worlds: {} passes, {} attempts, {} supervisors killed, {} \
         processes killed, {} jumps of the clock",
        counts.tasks, counts.passes, counts.attempts, counts.supervisors_killed, counts.attempts_killed, counts.jumps
    )))
}

/// Each broken decision is noticed, and by an invariant that is about it.
pub(crate) fn control(context: &Context) -> Outcome {
    for broken in BROKEN {
        match live(context.seed, &broken.deciders, WORLDS_OF_CONTROL) {
            Ok(_) => return Err(format!("{}: nobody noticed in {WORLDS_OF_CONTROL} worlds", broken.name)),
            Err((_, violation)) if broken.caught_by.contains(&violation.invariant) => {}
            Err((world, violation)) => {
                let story = tell(context.seed, world, &broken.deciders, &violation);
                return Err(format!("{}: noticed as something else: {story}", broken.name));
            }
        }
    }
    let names: Vec<&str> = BROKEN.iter().map(|broken| broken.name).collect();
    Ok(Passed::Done(format!("{} broken decisions noticed: {}", BROKEN.len(), names.join("; "))))
}

/// Lives worlds on all cores. The error is the first world, by its number, in which an invariant does not hold.
fn live(seed: u64, deciders: &Deciders, worlds: u64) -> Result<Counts, (u64, Violation)> {
    let next = AtomicU64::new(0);
    let first_bad = AtomicU64::new(u64::MAX);
    let work = || {
        let mut all = Counts::default();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= worlds.min(first_bad.load(Ordering::Relaxed)) {
                return Ok(all);
            }
            let mut world = World::new(Chance::new(seed, number), deciders, false);
            if let Err(violation) = world.live(LIFE_MS) {
                first_bad.fetch_min(number, Ordering::Relaxed);
                return Err((number, violation));
            }
            all.add(&world.counts);
        }
    };
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let results: Vec<Result<Counts, (u64, Violation)>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a world that panics")).collect()
    });
    let mut all = Counts::default();
    let mut bad = None;
    for result in results {
        match result {
            Ok(counts) => all.add(&counts),
            Err((number, violation)) if bad.as_ref().is_none_or(|(first, _)| number < *first) => bad = Some((number, violation)),
            Err(_) => {}
        }
    }
    bad.map_or(Ok(all), Err)
}

/// Milliseconds that this process had of all cores.
fn cpu_ms() -> i64 {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map_or(0, |spent| spent.tv_sec() * 1000 + spent.tv_nsec() / 1_000_000)
}

/// Lives a bad world again, and tells what led to its end.
fn tell(seed: u64, number: u64, deciders: &Deciders, violation: &Violation) -> String {
    let mut world = World::new(Chance::new(seed, number), deciders, true);
    let again = world.live(LIFE_MS);
    let same = again.is_err_and(|again| again.invariant == violation.invariant && again.what == violation.what);
    let story = world.story(STORY_LINES).join("\n    ");
    let note = if same { "" } else { " (lived again, it went otherwise)" };
    format!("{}: {}; --seed {seed}, world {number}{note}\n    {story}", violation.invariant, violation.what)
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.lived += other.lived;
        self.tasks += other.tasks;
        self.passes += other.passes;
        self.attempts += other.attempts;
        self.supervisors_killed += other.supervisors_killed;
        self.attempts_killed += other.attempts_killed;
        self.jumps += other.jumps;
    }
}
