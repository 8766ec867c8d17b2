//! Supervises one attempt from its start to its end: one loop, three kinds of news (a signal, an
//! exit, a deadline). What follows from them is decided in `step.rs`, a pure table; here is what
//! looks and what acts.
//!
//! The leader's exit is seen without reaping it, and it is reaped last: until then its number
//! names our group and nobody else's. When a person stops the supervisor at the terminal, it stops
//! the attempt, then itself; the time until both go on does not count (`limits.rs`).

use std::collections::VecDeque;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use duct::Handle;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use shared::attempt::Cookie;
use shared::facts::FORERUNNERS_MAX;
use shared::processes;
use shared::store::Store;
use shared::verified;

use crate::budget::Budget;
use crate::claim::Claimed;
use crate::contain::{LOOK, Target};
use crate::last_look::{is_overtaken, obstacle};
use crate::limits::Limits;
use crate::live::Live;
use crate::lookout::{Lookout, TICK};
use crate::reaper::{self, Descendants};
use crate::signals::Signals;
use crate::spawn::Start;
use crate::step::{Act, Ending, News, State, step};

/// How an attempt ended.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) why: Ending,
    /// When its processes could not all be ended: those that are known.
    pub(crate) left: Option<Vec<Pid>>,
}

/// Runs an attempt that was claimed.
pub(crate) fn supervise(
    store: &Store,
    claimed: &mut Claimed,
    limits: Limits,
    budget: Budget,
    signals: &mut Signals,
    live: &mut Live<'_>,
) -> End {
    let left = contain_forerunners(claimed, limits, signals);
    let outputs = claimed.locked.take_outputs();
    let end = |why, left| End { why: if is_overtaken(store, claimed) { Ending::Overtaken } else { why }, left };
    let not_started = |why| end(why, None);
    if let Some(left) = left {
        let detail = "an earlier attempt could not be ended".to_owned();
        return end(Ending::NotStarted { ours: true, detail }, Some(left));
    }
    if let Some(signal) = signals.first() {
        return not_started(Ending::Interrupted(signal));
    }
    if let Some((reason, detail)) = verified::first_fault(&claimed.given).filter(|_| !claimed.artifacts_permitted) {
        return not_started(Ending::ArtifactFault { reason, detail });
    }
    if let Err(error) = claimed.write_input() {
        let detail = format!("cannot write {}: {}", claimed.logs.input().display(), shared::exit::cause(&error));
        return not_started(Ending::NotStarted { ours: true, detail });
    }
    let cookie = Cookie { task_id: claimed.id.to_string(), attempt: claimed.number, token: claimed.token.clone() };
    let start = Start { store, card: &claimed.card, cookie: &cookie, logs: &claimed.logs, timeout_seconds: limits.timeout_seconds };
    reaper::adopt_orphans();
    let descendants = Descendants::from_now_on();
    if let Some(why) = obstacle(store, claimed, budget, signals) {
        return not_started(why);
    }
    match outputs.map(|(out, err)| start.spawn(out, err)) {
        Some(Ok(handle)) => {
            let lookout = Lookout::new(store, claimed, limits, budget.left(signals));
            let end = watch(claimed, &handle, descendants, lookout, limits.grace_seconds, signals, live);
            live.clear();
            end
        }
        Some(Err(why)) => not_started(why),
        None => not_started(Ending::NotStarted { ours: true, detail: "its logs were given away already".to_owned() }),
    }
}

/// Ends what is left of attempts that were never settled. Returns those that could not be ended.
fn contain_forerunners(claimed: &Claimed, limits: Limits, signals: &mut Signals) -> Option<Vec<Pid>> {
    let first = claimed.forerunners_from?;
    let folder = claimed.logs.input().parent()?.to_owned();
    let logs =
        (first..claimed.number).rev().take(FORERUNNERS_MAX).map(|number| shared::liveness::Logs::new(folder.clone(), number));
    let target = Target {
        group: None,
        task_id: claimed.id.to_string(),
        token: claimed.token.clone(),
        first,
        last: claimed.number - 1,
        logs: logs.clone().collect(),
        descendants: None,
        led: Vec::new(),
    };
    let left = target.end(limits.grace_seconds, signals);
    // Where processes cannot be seen, their locks still tell that they are there.
    let held = logs.clone().any(|logs| logs.attempt_alive());
    (!left.is_empty() || held).then_some(left)
}

fn watch(
    claimed: &Claimed,
    handle: &Handle,
    descendants: Descendants,
    mut lookout: Lookout<'_>,
    grace_seconds: f64,
    signals: &mut Signals,
    live: &mut Live<'_>,
) -> End {
    let Some(leader) = handle.pids().first().and_then(|pid| i32::try_from(*pid).ok()).map(Pid::from_raw) else {
        let detail = "its process has no number".to_owned();
        return End { why: Ending::NotStarted { ours: true, detail }, left: None };
    };
    // Without it the attempt is found by its locks and its cookie only.
    claimed.logs.remember_leader(leader).ok();
    let target = Target {
        group: Some(leader),
        task_id: claimed.id.to_string(),
        token: claimed.token.clone(),
        first: claimed.number,
        last: claimed.number,
        logs: vec![claimed.logs.clone()],
        descendants: Some(descendants),
        led: Vec::new(),
    };
    let mut state = State::Running;
    let mut stops = VecDeque::new();
    let mut asked = TICK;
    loop {
        signals.was_stopped(lookout.count(asked));
        reaper::reap_adopted(leader);
        let ended = leader_end(leader, handle);
        let matters = state != State::Running || ended.as_ref().is_some_and(|ending| *ending != Ending::Exited(0));
        let news = News {
            elapsed: lookout.elapsed(),
            all_gone: matters && target.is_gone(ended.is_some()),
            leader: ended,
            stop: stops.pop_front(),
            limit: if state == State::Running { lookout.limit() } else { None },
            floods: matches!(state, State::Terminating { .. }) && lookout.floods(),
        };
        let (next, act) = step(state, &news, grace_seconds);
        match act {
            Act::Nothing => {}
            Act::Terminate => {
                target.signal(Signal::SIGTERM);
                target.signal(Signal::SIGCONT);
            }
            Act::Kill => target.signal(Signal::SIGKILL),
        }
        if let State::Done { why, contained } = next {
            // Reaped last. It has ended, or cannot be ended: then nobody waits for it.
            drop(handle.try_wait());
            return End { why, left: (!contained).then(|| target.members()) };
        }
        let wait = if next == State::Running { lookout.until_next() } else { LOOK };
        state = next;
        asked = wait;
        live.draw([&claimed.id].into_iter());
        // Two signals may come at once; the second one means something else.
        stops.extend(signals.wait(&[], if stops.is_empty() { wait } else { Duration::ZERO }));
        if signals.take_suspension() {
            killpg(leader, Signal::SIGSTOP).ok();
            signals.was_stopped(lookout.count(asked));
            live.suspend(signals);
            lookout.skip();
            killpg(leader, Signal::SIGCONT).ok();
        }
    }
}

/// How the leader ended, if it did, without reaping it.
///
/// Where processes are not visible it is reaped: a group of nothing but a zombie could not be told from a living one, and
/// while others are in the group its number is not given away.
fn leader_end(leader: Pid, handle: &Handle) -> Option<Ending> {
    if processes::are_visible() {
        return seen_end(leader);
    }
    let status = handle.try_wait().ok()??.status;
    status.code().map(Ending::Exited).or_else(|| status.signal().map(Ending::Killed))
}

#[cfg(target_os = "linux")]
fn seen_end(leader: Pid) -> Option<Ending> {
    use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
    match waitid(Id::Pid(leader), WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT) {
        Ok(WaitStatus::Exited(_, code)) => Some(Ending::Exited(code)),
        Ok(WaitStatus::Signaled(_, signal, _)) => Some(Ending::Killed(signal as i32)),
        _ => None,
    }
}

/// Only Linux shows its processes.
#[cfg(not(target_os = "linux"))]
fn seen_end(_: Pid) -> Option<Ending> {
    None
}
