//! Ending the processes of an attempt: TERM and CONT, a grace, KILL.
//!
//! Who belongs to it is asked anew each time, and once more right before each signal, because a
//! pid may be somebody else's by then. A process group is signalled as a whole while its leader
//! is not reaped: until then its number cannot be given to others.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use shared::attempt::Cookie;
use shared::liveness::Logs;
use shared::processes::{self, Process};

use crate::reaper::Descendants;
use crate::signals::Signals;

/// How long processes get to be gone after KILL.
pub(crate) const KILL_SECONDS: f64 = 5.0;
/// How often it is looked whether they are gone.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// Whom to end.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// A group whose leader is a child of ours that is not reaped yet.
    pub(crate) group: Option<Pid>,
    /// The task and its token.
    pub(crate) task_id: String,
    pub(crate) token: String,
    /// Attempts with these numbers.
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// Attempts whose logs must be free, and whose leaders must be gone.
    pub(crate) logs: Vec<Logs>,
    /// For an attempt of this very process: what it started, wherever that went.
    pub(crate) descendants: Option<Descendants>,
    /// The leaders of supervisors that died, and what was in their groups while they lived. A leader may obey and leave one that
    /// does not: it is remembered.
    pub(crate) led: Vec<Process>,
}

impl Target {
    fn fits(&self, cookie: &Cookie) -> bool {
        cookie.task_id == self.task_id && cookie.token == self.token && (self.first..=self.last).contains(&cookie.attempt)
    }

    /// The living ones.
    pub(crate) fn members(&self) -> Vec<Pid> {
        let mut members = self.group.map(processes::of_group).unwrap_or_default();
        members.extend(processes::carriers(&|cookie| self.fits(cookie)));
        members.extend(processes::lock_holders(&processes::identities(&self.outputs())));
        members.extend(self.known().iter().map(|process| process.pid));
        members.sort_unstable();
        members.dedup();
        members
    }

    /// Whether anyone lives: where processes are not visible, as far as the group tells.
    pub(crate) fn is_gone(&self, leader_gone: bool) -> bool {
        if !leader_gone {
            return false;
        }
        if processes::are_visible() {
            // The cheap questions first: reading every process's environment and files takes its time on a busy machine. A holder
            // that cannot be seen, another user's for example, lives all the same.
            return self.group.is_none_or(|group| processes::of_group(group).is_empty())
                && self.known().is_empty()
                && !self.logs.iter().any(Logs::attempt_alive)
                && self.members().is_empty();
        }
        // A group of zombies still answers; without /proc the leader's end, a group that is gone and free locks are all there is
        // to see.
        self.group.is_none_or(|group| killpg(group, None).is_err()) && !self.logs.iter().any(Logs::attempt_alive)
    }

    fn outputs(&self) -> Vec<PathBuf> {
        self.logs.iter().flat_map(|logs| [logs.out(), logs.err()]).collect()
    }

    /// The living ones that are known by their start, and not by what they carry or hold.
    fn known(&self) -> Vec<Process> {
        let mut known = self.descendants.as_ref().map(Descendants::living).unwrap_or_default();
        known.extend(self.led.iter().filter(|process| process.still_lives()));
        known
    }

    fn remember_led(&mut self) {
        let led: Vec<Process> = self.logs.iter().filter_map(Logs::leader).flat_map(|leader| processes::led_by(&leader)).collect();
        self.led.retain(|old| !led.iter().any(|process| process.is_same(old)));
        self.led.extend(led);
    }

    /// Sends a signal to all of them.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // Fails when the group is gone, which is what is wanted.
            killpg(group, signal).ok();
        }
        let members = self.members();
        let known = self.known();
        let logs = processes::identities(&self.outputs());
        for pid in members {
            let in_group = self.group.is_some_and(|group| processes::is_in_group(pid, group));
            let still_ours = processes::carries(pid, &|cookie| self.fits(cookie)) || processes::holds_lock(pid, &logs);
            let still_known = || known.iter().any(|process| process.pid == pid && process.still_lives());
            if !in_group && (still_ours || still_known()) {
                kill(pid, signal).ok();
            }
        }
    }

    /// Asks them to end, then ends them. Returns those that are left.
    ///
    /// Gone are they when their locks are free, too: a supervisor that is being killed has lost its processes' list of files
    /// before the last of its locks, and would be taken for a holder that cannot be found.
    pub(crate) fn end(mut self, grace_seconds: f64, signals: &mut Signals) -> Vec<Pid> {
        self.remember_led();
        if self.is_gone(true) {
            return Vec::new();
        }
        self.signal(Signal::SIGTERM);
        self.signal(Signal::SIGCONT);
        self.wait_gone(grace_seconds, signals, false);
        self.signal(Signal::SIGKILL);
        self.wait_gone(KILL_SECONDS, signals, true);
        self.members()
    }

    fn wait_gone(&mut self, seconds: f64, signals: &mut Signals, killing: bool) {
        let mut start = Instant::now();
        while !self.is_gone(true) && start.elapsed().as_secs_f64() < seconds {
            self.remember_led();
            signals.wait(&[], LOOK);
            if signals.has_second() && !killing {
                return;
            }
            if signals.take_suspension() {
                start += signals.suspend();
            }
            if killing {
                self.signal(Signal::SIGKILL);
            }
        }
    }
}
