//! Other people's programs: found on the PATH, run with a time limit, never through a shell.
//!
//! A child has a process group of its own, so that at the limit all of it can be ended. One that left its group and keeps
//! the pipe is left alone: nobody waits for it.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use shared::exit::cause;

/// Tells the files of this process apart.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// So many names that are taken are gone past.
const NAMES_MAX: u32 = 100;

/// How a child ended.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// Its exit status; none after a signal.
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// Whether stdout is the text that it printed, every byte of it.
    pub(crate) is_text: bool,
}

impl Answer {
    /// Whether it says that it did its work.
    pub(crate) fn is_ok(&self) -> bool {
        self.status == Some(0)
    }

    /// Its own words for what went wrong, on one line.
    pub(crate) fn complaint(&self) -> String {
        let words =
            [&self.stderr, &self.stdout].into_iter().find_map(|text| text.lines().map(str::trim).find(|line| !line.is_empty()));
        let status = self.status.map_or_else(|| "a signal".to_owned(), |status| format!("exit status {status}"));
        words.map_or_else(|| status, |words| words.chars().take(300).collect())
    }
}

/// A program to run.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) limit: Duration,
}

impl Program {
    /// Finds one on the PATH, or where it was the last time.
    pub(crate) fn find(name: &str, limit_seconds: u64, last: Option<&Path>) -> Option<Self> {
        let search = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&search).filter(|folder| folder.is_absolute()).map(|folder| folder.join(name));
        let path = found.chain(last.map(Path::to_owned)).find(|path| is_program(path))?;
        Some(Self { path, limit: Duration::from_secs(limit_seconds) })
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// A sentence, when it cannot be started or does not end in time.
    pub(crate) fn run(&self, args: &[&str], input: Option<&str>) -> Result<Answer, String> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut expression = duct::cmd(&self.path, args).stdout_capture().stderr_capture().unchecked();
        expression = match input {
            Some(text) => {
                let file =
                    complete(text).map_err(|error| format!("cannot write a temporary file for {name}: {}", cause(&error)))?;
                expression.stdin_file(file)
            }
            None => expression.stdin_null(),
        };
        // Messages that are read here are in one language; and what a program's #! line names is often beside it.
        expression = expression.env("LC_ALL", "C.UTF-8").env("PATH", self.search_path()).before_spawn(|command| {
            std::os::unix::process::CommandExt::process_group(command, 0);
            Ok(())
        });
        let handle = expression.start().map_err(|error| format!("cannot run {}: {}", self.path.display(), cause(&error)))?;
        match handle.wait_timeout(self.limit) {
            Ok(Some(output)) => Ok(Answer {
                status: output.status.code(),
                stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
                stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
                is_text: std::str::from_utf8(&output.stdout).is_ok(),
            }),
            Ok(None) => {
                for pid in handle.pids().into_iter().filter_map(|pid| i32::try_from(pid).ok()) {
                    // It may be over by now.
                    killpg(Pid::from_raw(pid), Signal::SIGKILL).ok();
                }
                Err(format!("{name} did not answer within {} s", self.limit.as_secs()))
            }
            Err(error) => Err(format!("{name}: {}", cause(&error))),
        }
    }

    fn search_path(&self) -> OsString {
        let search = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&search).chain(self.path.parent().map(Path::to_owned));
        std::env::join_paths(folders).unwrap_or(search.clone())
    }
}

/// A text as an open file of no name. Not a pipe: whoever is killed while filling one leaves a reader that takes half a text for
/// all of it, and half a crontab for the whole.
fn complete(text: &str) -> io::Result<File> {
    let mut file = nameless()?;
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

/// A new file whose name is taken away at once. A run that was killed in between leaves one, and its number may come again.
fn nameless() -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    let mut taken = 0;
    loop {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!(".task-recovery-{}-{number}", std::process::id()));
        match options.open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && taken < NAMES_MAX => taken += 1,
            opened => {
                let file = opened?;
                fs::remove_file(&path)?;
                return Ok(file);
            }
        }
    }
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// A word as a shell reads it.
pub(crate) fn shell_word(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), std::borrow::Cow::into_owned)
}

/// A command as a person types it.
pub(crate) fn shown(words: &[&str]) -> String {
    words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_a_killed_run_left_is_gone_past() {
        let path = std::env::temp_dir().join(format!(".task-recovery-{}-{}", std::process::id(), COUNT.load(Ordering::Relaxed)));
        fs::write(&path, "left").unwrap();
        assert_eq!(io::read_to_string(complete("whole").unwrap()).unwrap(), "whole");
        assert_eq!(fs::read_to_string(&path).unwrap(), "left");
        fs::remove_file(path).unwrap();
    }
}
