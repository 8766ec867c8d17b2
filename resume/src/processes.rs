//! What `/proc` tells of processes. Where there is none, nothing is known, and nothing is guessed.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::unistd::Pid;
use shared::attempt::{Cookie, VARIABLE};

/// Whether the system shows its processes in `/proc`.
pub(crate) fn are_visible() -> bool {
    cfg!(target_os = "linux") && Path::new("/proc/self/stat").exists()
}

/// All processes, zombies too.
fn all() -> impl Iterator<Item = Pid> {
    let names = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.to_str()?.parse().ok().map(Pid::from_raw))
}

/// The living members of a process group.
pub(crate) fn of_group(group: Pid) -> Vec<Pid> {
    all().filter(|pid| is_in_group(*pid, group)).collect()
}

/// Whether this process lives in that group.
pub(crate) fn is_in_group(pid: Pid, group: Pid) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    // The command's name stands in parentheses and may hold any of them.
    let Some((_, rest)) = stat.rsplit_once(") ") else { return false };
    let mut fields = rest.split(' ');
    let state = fields.next().unwrap_or("Z");
    let in_group = fields.nth(1).is_some_and(|field| field.parse() == Ok(group.as_raw()));
    in_group && !matches!(state, "Z" | "X")
}

/// The living processes that carry a cookie which fits.
pub(crate) fn carriers(fits: &dyn Fn(&Cookie) -> bool) -> Vec<Pid> {
    let own = Pid::this();
    all().filter(|pid| *pid != own && carries(*pid, fits)).collect()
}

/// Whether this process carries a cookie which fits. A zombie carries nothing.
pub(crate) fn carries(pid: Pid, fits: &dyn Fn(&Cookie) -> bool) -> bool {
    let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { return false };
    let entries = environment.split(|byte| *byte == 0).filter_map(|entry| std::str::from_utf8(entry).ok());
    let cookies = entries.filter_map(|entry| entry.strip_prefix(VARIABLE)?.strip_prefix('=')).filter_map(Cookie::parse);
    cookies.into_iter().any(|cookie| fits(&cookie))
}

/// Which file it is, whatever its path is: device and inode.
pub(crate) type Identity = (u64, u64);

/// The identities of these files, as far as they are there.
pub(crate) fn identities(files: &[PathBuf]) -> Vec<Identity> {
    files.iter().filter_map(|file| identity(file)).collect()
}

fn identity(path: &Path) -> Option<Identity> {
    fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()))
}

/// The processes that hold a lock on one of these files.
pub(crate) fn lock_holders(files: &[Identity]) -> Vec<Pid> {
    let own = Pid::this();
    if files.is_empty() {
        return Vec::new();
    }
    all().filter(|pid| *pid != own && holds_lock(*pid, files)).collect()
}

/// Whether this process has one of these files open through a locked descriptor. A person's `tail -f` has not.
pub(crate) fn holds_lock(pid: Pid, files: &[Identity]) -> bool {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    descriptors.into_iter().any(|descriptor| {
        let is_one = identity(&descriptor.path()).is_some_and(|found| files.contains(&found));
        is_one && is_locked(pid, &descriptor.file_name().to_string_lossy())
    })
}

fn is_locked(pid: Pid, descriptor: &str) -> bool {
    let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{descriptor}")).unwrap_or_default();
    info.lines().any(|line| line.starts_with("lock:") && line.contains("FLOCK"))
}
