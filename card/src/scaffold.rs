//! `card create --scaffold`: an adapter from a template, in a folder of the task's own.
//!
//! It becomes `<workspace>/tmp/task-runtime/<task_id>/task_resume.sh` (or `.py`). A file that is
//! there already is somebody's work: it is never overwritten, and the card is not made.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use shared::durable;
use shared::exit::{Error, Exit, cause};
use shared::id::TaskId;

const FOLDER: &str = "tmp/task-runtime";
const SH: &str = include_str!("../../heartbeat-install/assets/templates/task_resume.sh");
const PYTHON: &str = include_str!("../../heartbeat-install/assets/templates/task_resume.py");

/// A template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scaffold {
    Sh,
    Python,
}

/// An adapter that was just made.
#[derive(Debug)]
pub(crate) struct Placed {
    path: PathBuf,
    shown: String,
}

impl Scaffold {
    /// By its name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        match name {
            "sh" => Some(Self::Sh),
            "python" => Some(Self::Python),
            _ => None,
        }
    }

    /// Makes this task's adapter.
    pub(crate) fn place(self, workspace: &Path, id: &TaskId) -> Result<Placed, Error> {
        let (name, text) = match self {
            Self::Sh => ("task_resume.sh", SH),
            Self::Python => ("task_resume.py", PYTHON),
        };
        let folder = workspace.join(FOLDER).join(id.as_str());
        let path = folder.join(name);
        let Some(shown) = path.to_str().map(str::to_owned) else {
            return Err(Error::usage(format!("--scaffold: {} is not UTF-8", path.display())));
        };
        let failed = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                Error::new(Exit::Exists, format!("{shown} exists already; name it with --resume-adapter, or move it away"))
            }
            _ => Error::io(format!("cannot make {shown}: {}", cause(&error))),
        };
        durable::make_folder(&folder).map_err(failed)?;
        let mut options = OpenOptions::new();
        // O_EXCL, which follows no link either.
        options.write(true).create_new(true).mode(0o700);
        let mut file = options.open(&path).map_err(failed)?;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).and_then(|()| durable::sync_folder(&folder));
        drop(file);
        let placed = Placed { path, shown };
        match written {
            Ok(()) => Ok(placed),
            Err(error) => {
                let error = Error::io(format!("cannot write {}: {}", placed.shown, cause(&error)));
                placed.take_back();
                Err(error)
            }
        }
    }
}

impl Placed {
    /// The adapter's absolute path.
    pub(crate) fn adapter(&self) -> &str {
        &self.shown
    }

    /// Removes it again: its card was not made. What else is in the folder stays.
    pub(crate) fn take_back(self) {
        if fs::remove_file(&self.path).is_ok() {
            drop(self.path.parent().map(fs::remove_dir));
        }
    }
}
