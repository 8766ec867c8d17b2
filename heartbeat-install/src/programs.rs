//! The five programs that are placed: those beside this one.

use std::fs;
use std::path::PathBuf;

use shared::exit::{Error, Exit, cause};

use crate::child::Program;

/// The programs by name; this one is the last.
pub(crate) const NAMES: [&str; 5] = ["card", "checkpoint", "watch", "resume", "heartbeat-install"];
const LIMIT_SECONDS: u64 = 20;

/// Where they come from.
#[derive(Clone, Debug)]
pub(crate) struct Programs {
    /// This program's own folder.
    pub(crate) folder: PathBuf,
}

impl Programs {
    /// Those beside this program.
    pub(crate) fn find() -> Result<Self, Error> {
        let own = std::env::current_exe().and_then(fs::canonicalize);
        let own = own.map_err(|error| Error::io(format!("cannot find this program's own file: {}", cause(&error))))?;
        match own.parent() {
            Some(folder) => Ok(Self { folder: folder.to_owned() }),
            None => Err(Error::io(format!("{} is in no folder", own.display()))),
        }
    }

    /// The bytes of one. What has its name and is none of ours, such as procps' watch, is not placed.
    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>, Error> {
        let path = self.folder.join(name);
        let config = |why: &str| {
            let path = path.display();
            Error::new(Exit::Config, format!("{path} {why}; keep the five programs of one release in one folder"))
        };
        if name != "heartbeat-install" {
            let program = Program { path: path.clone(), limit: std::time::Duration::from_secs(LIMIT_SECONDS) };
            let answer = program.run(&["--version"], None).map_err(|why| config(&format!("is not usable: {why}")))?;
            let expected = format!("{name} (task-recovery) {}", env!("CARGO_PKG_VERSION"));
            if answer.stdout.trim_end() != expected {
                return Err(config(&format!("is not {expected}, the one that belongs to this program")));
            }
        }
        fs::read(&path).map_err(|error| config(&format!("cannot be read: {}", cause(&error))))
    }
}
