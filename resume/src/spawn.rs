//! Starts the adapter or the plain command of an attempt.
//!
//! No pipes: stdin, stdout and stderr are files, so there is nothing to fill and nothing for a
//! grandchild to hold open. `.out` and `.err` go to the attempt through the open files that are
//! locked; ours are closed when the `Expression` is dropped, and from then on only processes of
//! the attempt hold those locks.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use duct::Handle;
use nix::errno::Errno;
use shared::adapter::{find_program, needs_python};
use shared::attempt::{Cookie, VARIABLE};
use shared::card::Card;
use shared::liveness::Logs;
use shared::store::Store;

use crate::step::Ending;

/// What the attempt is started with.
pub(crate) struct Start<'a> {
    pub(crate) store: &'a Store,
    pub(crate) card: &'a Card,
    pub(crate) cookie: &'a Cookie,
    pub(crate) logs: &'a Logs,
    pub(crate) timeout_seconds: f64,
}

impl Start<'_> {
    /// Starts it, in a process group of its own.
    pub(crate) fn spawn(&self, out: File, err: File) -> Result<Handle, Ending> {
        self.try_spawn(out, err).map_err(|error| {
            let ours = matches!(
                error.raw_os_error().map(Errno::from_raw),
                Some(Errno::ETXTBSY | Errno::EAGAIN | Errno::ENOMEM | Errno::ENOSPC | Errno::EMFILE | Errno::ENFILE)
            );
            let what = self.card.resume_adapter.as_deref().or(self.card.argv().first().map(String::as_str)).unwrap_or_default();
            Ending::NotStarted { ours, detail: format!("cannot start {what}: {}", self.why(&error)) }
        })
    }

    fn try_spawn(&self, out: File, err: File) -> io::Result<Handle> {
        let mut expression = match &self.card.resume_adapter {
            Some(adapter) => {
                let mut words: Vec<String> = Vec::new();
                if needs_python(Path::new(adapter)) {
                    words.push("python3".to_owned());
                }
                let timeout = shared::signal::number(self.timeout_seconds).to_string();
                words.extend([adapter, "--task-id", self.card.task_id(), "--timeout-seconds", &timeout].map(str::to_owned));
                let stdin = File::open(self.logs.input())?;
                duct::cmd(&words[0], &words[1..]).dir(self.store.workspace()).stdin_file(stdin)
            }
            None => {
                let words = self.card.argv();
                let program =
                    find_program(&words[0], self.card, self.store.workspace()).ok_or_else(|| io::Error::from(Errno::ENOENT))?;
                let shown = words[0].clone();
                let folder = self.card.cwd.clone().map_or_else(|| self.store.workspace().to_owned(), PathBuf::from);
                let command = duct::cmd(program, &words[1..]).dir(folder).stdin_null();
                command.before_spawn(move |command| {
                    command.arg0(&shown);
                    Ok(())
                })
            }
        };
        for (name, value) in self.environment() {
            expression = expression.env(name, value);
        }
        expression = expression.before_spawn(|command| {
            command.process_group(0);
            Ok(())
        });
        expression.stdout_file(out).stderr_file(err).unchecked().start()
    }

    fn environment(&self) -> Vec<(&'static str, OsString)> {
        let own = own_folder();
        let search = match &self.card.path {
            Some(path) if self.card.is_plain_command() => OsString::from(path),
            _ => std::env::var_os("PATH").unwrap_or_default(),
        };
        let id = self.card.task_id();
        let mut environment = vec![
            ("TASK_ID", id.into()),
            ("TASK_PHASE", self.card.phase.clone().into()),
            (VARIABLE, self.cookie.to_string().into()),
            ("TASK_CARD", self.store.folder().join(format!("{id}.json")).into()),
            ("TASK_RUNS_DIR", self.store.folder().into()),
            ("TASK_TIMEOUT_SECONDS", shared::signal::number(self.timeout_seconds).to_string().into()),
        ];
        if let Some(own) = own {
            environment.push(("PATH", with_last(search, &own)));
            environment.push(("TASK_BIN", own.into()));
        }
        environment
    }

    /// A script whose interpreter is missing gives "No such file", though the script is there.
    fn why(&self, error: &io::Error) -> String {
        if !self.store.workspace().is_dir() {
            return format!("its folder {} is not there", self.store.workspace().display());
        }
        let adapter = self.card.resume_adapter.as_deref().map(Path::new);
        match error.raw_os_error().map(Errno::from_raw) {
            Some(Errno::ENOENT) if adapter.is_some_and(Path::exists) => why_not_interpreted(adapter.and_then(first_line)),
            Some(Errno::ENOEXEC) => "it is neither a program nor a script with a #! line".to_owned(),
            _ => shared::exit::cause(error),
        }
    }
}

/// The start of a file as far as the kernel reads it for an interpreter (256 bytes, execve(2)), to the end of the line.
fn first_line(path: &Path) -> Option<String> {
    let mut start = Vec::new();
    File::open(path).ok()?.take(256).read_to_end(&mut start).ok()?;
    start.split(|byte| *byte == b'\n').next().map(|line| String::from_utf8_lossy(line).into_owned())
}

fn why_not_interpreted(first_line: Option<String>) -> String {
    let line = first_line.unwrap_or_default();
    if line.ends_with('\r') {
        return "its first line ends with a carriage return; save it with Unix line ends".to_owned();
    }
    match line.strip_prefix("#!").and_then(|rest| rest.split_whitespace().next()) {
        Some(interpreter) => format!("its first line names an interpreter that is not there: {interpreter}"),
        None => "the loader that it needs is not there; it was built for another system".to_owned(),
    }
}

/// The folder of these programs: of the file that runs, or where that is not told (no `/proc`), of the name it was called by.
fn own_folder() -> Option<PathBuf> {
    let called = || {
        let name = PathBuf::from(std::env::args_os().next()?);
        let search = std::env::var_os("PATH").unwrap_or_default();
        let candidates = match name.parent() {
            Some(parent) if parent.as_os_str().is_empty() => {
                std::env::split_paths(&search).map(|folder| folder.join(&name)).collect()
            }
            _ => vec![name],
        };
        std::fs::canonicalize(candidates.into_iter().find(|path| path.is_file())?).ok()
    };
    std::env::current_exe().ok().or_else(called)?.parent().map(Path::to_owned)
}

/// Last, so that our `watch` hides no other program's.
fn with_last(search: OsString, folder: &Path) -> OsString {
    if std::env::split_paths(&search).any(|entry| entry == folder) {
        return search;
    }
    let folders = std::env::split_paths(&search).chain([folder.to_owned()]);
    std::env::join_paths(folders.filter(|entry| !entry.as_os_str().is_empty())).unwrap_or(search)
}
