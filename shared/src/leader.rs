//! The leader of an attempt: the process that was started, remembered in a file beside its logs.
//!
//! A program may clear its environment and give its output away. Then neither a lock nor a cookie
//! tells of it, and when its supervisor is killed it is nobody's child either. So the supervisor
//! writes down right after the start which process that is.
//!
//! A number alone is never believed: the process must have started at the very clock tick, in the
//! same boot, and be looked at from the same namespace of numbers. The file is written plainly: a
//! crash of the machine that loses it ends the process, too. A supervisor that is killed before
//! it wrote leaves only locks and cookies to go by, as everywhere without `/proc`.

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::fcntl::OFlag;
use nix::unistd::Pid;

use crate::processes::{Process, look};

/// More than this is not in such a file.
const BYTES_MAX: u64 = 256;

/// Writes down which process this is. One that ended, or is not visible, is not written down.
///
/// # Errors
/// Those of open and write. A file that is there already is not touched.
pub fn remember(path: &Path, pid: Pid) -> io::Result<()> {
    let (Some(process), Some(scope)) = (look(pid), scope()) else { return Ok(()) };
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(format!("{pid} {} {scope}\n", process.started).as_bytes())
}

/// The process that a file tells of, if it lives.
#[must_use]
pub fn living(path: &Path) -> Option<Process> {
    let text = read(path)?;
    // A line that was cut short has no end.
    let (pid, rest) = text.strip_suffix('\n')?.split_once(' ')?;
    let (started, recorded) = rest.split_once(' ')?;
    let process = look(Pid::from_raw(pid.parse().ok()?)).filter(Process::lives)?;
    (process.started == started.parse::<u64>().ok()? && recorded == scope()?).then_some(process)
}

fn read(path: &Path) -> Option<String> {
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
    let mut text = String::new();
    OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?.take(BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Where and until when numbers mean the same: this boot and this namespace.
fn scope() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = std::fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{} {}", boot.trim(), namespace.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_believed_with_its_start_its_boot_and_its_namespace_only() {
        let path = std::env::temp_dir().join(format!("task-recovery-leader-{}", std::process::id()));
        remember(&path, Pid::this()).unwrap();
        let Ok(text) = std::fs::read_to_string(&path) else { return };
        assert_eq!(living(&path).map(|process| process.pid), Some(Pid::this()));
        assert!(remember(&path, Pid::this()).is_err(), "it is there already");
        let words: Vec<&str> = text.split_whitespace().collect();
        let started: u64 = words[1].parse().unwrap();
        for other in [
            format!("{} {} {} {}\n", words[0], started + 1, words[2], words[3]),
            format!("{} {started} 0-0 {}\n", words[0], words[3]),
            format!("{} {started} {} pid:[1]\n", words[0], words[2]),
            format!("1 {started} {} {}\n", words[2], words[3]),
            text.trim_end().to_owned(),
            text[..text.len() - 3].to_owned() + "\n",
            format!("{}\n", words[0]),
            "\n".to_owned(),
            String::new(),
        ] {
            std::fs::write(&path, &other).unwrap();
            assert_eq!(living(&path), None, "{other:?}");
        }
        std::fs::remove_file(&path).unwrap();
        assert_eq!(living(&path), None);
    }
}
