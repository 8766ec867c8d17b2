//! What /proc tells of a process.

use std::fs;
use std::path::Path;

/// Whether there is a /proc. Without one the test is skipped.
pub fn has_proc() -> bool {
    let there = Path::new("/proc/self/stat").exists();
    if !there {
        crate::skip("there is no /proc");
    }
    there
}

/// The letter of a process's state, by /proc; none when it is gone. A shell that a stop met between vfork and exec waits for its
/// stopped child, and is in D then.
pub fn process_state(pid: &str) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Whether this process lives; a zombie does not.
pub fn is_alive(pid: &str) -> bool {
    !matches!(process_state(pid), None | Some('Z' | 'X'))
}
