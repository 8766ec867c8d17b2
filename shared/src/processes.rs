//! What `/proc` tells of processes. Where there is none, nothing is known, and nothing is guessed.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::attempt::{Cookie, VARIABLE};
use nix::unistd::Pid;

/// Whether the system shows its processes in `/proc`.
#[must_use]
pub fn are_visible() -> bool {
    cfg!(target_os = "linux") && Path::new("/proc/self/stat").exists()
}

/// All processes, zombies too.
fn all() -> impl Iterator<Item = Pid> {
    let names = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.to_str()?.parse().ok().map(Pid::from_raw))
}

/// One process, as `/proc/PID/stat` tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: Pid,
    parent: Pid,
    group: Pid,
    zombie: bool,
    /// Clock ticks since boot. With the pid it names the process: a number that is given away again starts later.
    pub(crate) started: u64,
}

impl Process {
    /// Whether both are one process, and not two that had its number.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.pid == other.pid && self.started == other.started
    }

    /// Whether it has not ended: a zombie has.
    #[must_use]
    pub fn lives(&self) -> bool {
        !self.zombie
    }

    /// Whether this very process still lives.
    #[must_use]
    pub fn still_lives(&self) -> bool {
        look(self.pid).is_some_and(|now| now.is_same(self) && now.lives())
    }
}

/// Looks at one process.
#[must_use]
pub fn look(pid: Pid) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command's name stands in parentheses and may hold any of them.
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let number = |index: usize| fields.get(index)?.parse().ok().map(Pid::from_raw);
    Some(Process {
        pid,
        parent: number(1)?,
        group: number(2)?,
        zombie: matches!(*fields.first()?, "Z" | "X"),
        started: fields.get(19)?.parse().ok()?,
    })
}

/// The living members of the group that this process leads, as long as it lives: until then the number is no other group's.
#[must_use]
pub fn led_by(leader: &Process) -> Vec<Process> {
    let own = Pid::this();
    let is_member = |process: &Process| process.group == leader.pid && process.lives() && process.pid != own;
    let members = all().filter_map(look).filter(is_member).collect();
    if leader.still_lives() { members } else { Vec::new() }
}

/// The living members of a process group.
#[must_use]
pub fn of_group(group: Pid) -> Vec<Pid> {
    all().filter(|pid| is_in_group(*pid, group)).collect()
}

/// Whether this process lives in that group.
#[must_use]
pub fn is_in_group(pid: Pid, group: Pid) -> bool {
    look(pid).is_some_and(|process| process.group == group && !process.zombie)
}

/// The living descendants of this process. As a subreaper it is the parent of those whose own parents died.
#[must_use]
pub fn own_descendants() -> Vec<Process> {
    let mut children: HashMap<Pid, Vec<Process>> = HashMap::new();
    for process in all().filter_map(look) {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut parents = vec![Pid::this()];
    while let Some(parent) = parents.pop() {
        for process in children.remove(&parent).unwrap_or_default() {
            parents.push(process.pid);
            if !process.zombie {
                found.push(process);
            }
        }
    }
    found
}

/// The living processes that carry a cookie which fits.
#[must_use]
pub fn carriers(fits: &dyn Fn(&Cookie) -> bool) -> Vec<Pid> {
    let own = Pid::this();
    all().filter(|pid| *pid != own && carries(*pid, fits)).collect()
}

/// Whether a living process carries a cookie which fits, this one too.
#[must_use]
pub fn any_carrier(fits: &dyn Fn(&Cookie) -> bool) -> bool {
    all().any(|pid| carries(pid, fits))
}

/// Whether this process carries a cookie which fits. A zombie carries nothing.
#[must_use]
pub fn carries(pid: Pid, fits: &dyn Fn(&Cookie) -> bool) -> bool {
    let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { return false };
    let entries = environment.split(|byte| *byte == 0).filter_map(|entry| std::str::from_utf8(entry).ok());
    let cookies = entries.filter_map(|entry| entry.strip_prefix(VARIABLE)?.strip_prefix('=')).filter_map(Cookie::parse);
    cookies.into_iter().any(|cookie| fits(&cookie))
}

/// Which file it is, whatever its path is: device and inode.
pub type Identity = (u64, u64);

/// The identities of these files, as far as they are there.
#[must_use]
pub fn identities(files: &[PathBuf]) -> Vec<Identity> {
    files.iter().filter_map(|file| identity(file)).collect()
}

fn identity(path: &Path) -> Option<Identity> {
    fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()))
}

/// The processes that hold a lock on one of these files.
#[must_use]
pub fn lock_holders(files: &[Identity]) -> Vec<Pid> {
    let own = Pid::this();
    if files.is_empty() {
        return Vec::new();
    }
    all().filter(|pid| *pid != own && holds_lock(*pid, files)).collect()
}

/// Whether this process has one of these files open through the descriptor that is locked. A person's `tail -f` has not, and a
/// probe's lock is a shared one.
#[must_use]
pub fn holds_lock(pid: Pid, files: &[Identity]) -> bool {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    descriptors.into_iter().any(|descriptor| {
        let is_one = identity(&descriptor.path()).is_some_and(|found| files.contains(&found));
        is_one && is_locked(pid, &descriptor.file_name().to_string_lossy())
    })
}

fn is_locked(pid: Pid, descriptor: &str) -> bool {
    let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{descriptor}")).unwrap_or_default();
    info.lines().any(|line| line.starts_with("lock:") && line.contains("FLOCK") && line.contains("WRITE"))
}
