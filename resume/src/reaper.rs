//! The supervisor as a subreaper: whatever an attempt starts stays its descendant.
//!
//! A daemon that forks twice, leaves the group and the session, closes its files and clears its
//! environment has lost its parents, and the kernel gives it to the nearest subreaper above: to
//! the supervisor, which can so find it. In return the supervisor reaps what it adopted, except
//! the leader, whose number must stay its own until the group was ended (`supervise.rs`).

use nix::unistd::Pid;

use shared::processes::{Process, own_descendants};

/// Becomes a subreaper, where there is such a thing.
pub(crate) fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    // Without it, groups, cookies and locks still find nearly everything.
    nix::sys::prctl::set_child_subreaper(true).ok();
}

/// Reaps adopted children that ended.
pub(crate) fn reap_adopted(leader: Pid) {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::wait::{Id, WaitPidFlag, waitid, waitpid};
        let ended = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        // The leader is left alone; what ends after it is reaped when the supervisor itself is gone.
        while let Some(pid) = waitid(Id::All, ended).ok().and_then(|status| status.pid()).filter(|pid| *pid != leader) {
            waitpid(pid, Some(WaitPidFlag::WNOHANG)).ok();
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = leader;
}

/// The descendants of an attempt: those of this process that were not there before it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Descendants {
    before: Vec<Process>,
}

impl Descendants {
    /// From now on. What an earlier attempt left after exit 0 is its own business.
    pub(crate) fn from_now_on() -> Self {
        Self { before: own_descendants() }
    }

    /// The living ones.
    pub(crate) fn living(&self) -> Vec<Process> {
        let known = |process: &Process| self.before.iter().any(|old| old.is_same(process));
        own_descendants().into_iter().filter(|process| !known(process)).collect()
    }
}
