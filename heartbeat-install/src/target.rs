//! Which workspaces, and that only one run at a time works in one.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use shared::durable;
use shared::exit::{Error, Exit, cause};
use shared::talk::say;
use shared::workspace::{Place, Surroundings};

use crate::args::{Task, Wanted};
use crate::openclaw::OpenClaw;

/// The workspaces that the command line and the surroundings name.
pub(crate) fn find(wanted: &Wanted) -> Result<Vec<PathBuf>, Error> {
    if wanted.all_agents {
        return of_all_agents();
    }
    if wanted.workspace.is_none()
        && let Some(cards) = std::env::var_os("TASK_RUNS_DIR").filter(|cards| !cards.is_empty())
    {
        let cards = PathBuf::from(cards);
        if !cards.ends_with("data/task-runs") {
            let why =
                format!("TASK_RUNS_DIR {} is not the data/task-runs of a workspace, and no trigger would know it", cards.display());
            return Err(Error::new(Exit::Config, format!("{why}; give --workspace DIR")));
        }
    }
    let place = Place::find(wanted.workspace.as_deref(), &Surroundings::of_process())?;
    if place.fallback && !place.workspace.is_dir() && wanted.task == Task::Install {
        let folder = place.workspace.display();
        if wanted.dry_run {
            return Err(Error::new(Exit::Config, format!("no workspace was found or named; one would be made in {folder}")));
        }
        say(&format!("no workspace was found or named: making {folder}"));
        durable::make_folder(&place.workspace).map_err(|error| Error::io(format!("cannot make {folder}: {}", cause(&error))))?;
    }
    Ok(vec![place.workspace])
}

fn of_all_agents() -> Result<Vec<PathBuf>, Error> {
    let config = |why: String| Error::new(Exit::Config, why);
    let lacking = |why: &str| config(format!("--all-agents: {why}; see to that, or give --workspace DIR"));
    let openclaw = OpenClaw::find(None).ok_or_else(|| lacking("openclaw is not on the PATH"))?;
    let agents = openclaw.agents().map_err(|failure| lacking(failure.message()))?;
    let mut folders: Vec<PathBuf> = Vec::new();
    for agent in agents {
        let folder = std::fs::canonicalize(&agent.workspace).unwrap_or(agent.workspace);
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    if folders.is_empty() { Err(config("--all-agents: OpenClaw has no agents".to_owned())) } else { Ok(folders) }
}

/// Keeps other runs out of a workspace until it is dropped. The lock is the folder's own: no file is left behind.
pub(crate) fn lock(workspace: &Path) -> Result<File, Error> {
    let failed = |why: String| Error::io(format!("cannot lock {}: {why}", workspace.display()));
    let folder = File::open(workspace).map_err(|error| failed(cause(&error)))?;
    match folder.try_lock() {
        Ok(()) => Ok(folder),
        Err(TryLockError::WouldBlock) => {
            let why = format!("another heartbeat-install is at work in {}; run this again when it is done", workspace.display());
            Err(Error::new(Exit::Busy, why))
        }
        Err(TryLockError::Error(error)) => Err(failed(cause(&error))),
    }
}
