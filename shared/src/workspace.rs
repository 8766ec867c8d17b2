//! Which workspace: the search order, from the most to the least explicit.
//!
//! `--workspace DIR` → `TASK_RUNS_DIR` (the card folder itself) → `OPENCLAW_WORKSPACE` → `OPENCLAW_WORKSPACE_DIR` → the
//! nearest ancestor of the current folder, then of the program's own file, that is a workspace → OpenClaw's default one, if
//! it exists → `${XDG_STATE_HOME:-~/.local/state}/task-recovery`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::exit::{Error, Exit};

/// Where the cards are and where adapters run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The folder of the cards.
    pub cards: PathBuf,
    /// The workspace.
    pub workspace: PathBuf,
    /// Nothing named it: the last resort of the search order.
    pub fallback: bool,
}

/// What the search looks at besides the disk.
pub struct Surroundings<'a> {
    /// Reads an environment variable.
    pub env: &'a dyn Fn(&str) -> Option<OsString>,
    /// The current folder.
    pub current: Option<PathBuf>,
    /// The program's own file.
    pub program: Option<PathBuf>,
}

impl Surroundings<'_> {
    /// This process's.
    #[must_use]
    pub fn of_process() -> Surroundings<'static> {
        Surroundings {
            env: &|name| std::env::var_os(name),
            current: std::env::current_dir().ok(),
            program: std::env::current_exe().ok(),
        }
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        (self.env)(name).filter(|value| !value.is_empty()).map(PathBuf::from)
    }
}

impl Place {
    fn in_workspace(workspace: PathBuf) -> Self {
        Self { cards: workspace.join("data/task-runs"), workspace, fallback: false }
    }

    fn of_cards(cards: PathBuf) -> Self {
        let mut workspace = cards.parent().unwrap_or(&cards);
        if cards.ends_with("data/task-runs") {
            workspace = workspace.parent().unwrap_or(workspace);
        }
        Self { workspace: workspace.to_owned(), cards, fallback: false }
    }

    /// Finds the workspace.
    ///
    /// # Errors
    /// `Config` when what was named is no folder, or nothing is known to search in.
    pub fn find(explicit: Option<&Path>, around: &Surroundings<'_>) -> Result<Self, Error> {
        if let Some(folder) = explicit {
            return must_exist("--workspace", folder).map(|()| Self::in_workspace(folder.to_owned()));
        }
        if let Some(cards) = around.path("TASK_RUNS_DIR") {
            let absolute = std::path::absolute(&cards).map_err(|error| {
                Error::new(Exit::Config, format!("TASK_RUNS_DIR {}: {}", cards.display(), crate::exit::cause(&error)))
            })?;
            return Ok(Self::of_cards(absolute));
        }
        for name in ["OPENCLAW_WORKSPACE", "OPENCLAW_WORKSPACE_DIR"] {
            if let Some(folder) = around.path(name) {
                return must_exist(name, &folder).map(|()| Self::in_workspace(folder));
            }
        }
        let starts = [around.current.as_deref(), around.program.as_deref()];
        if let Some(found) = starts.into_iter().flatten().flat_map(Path::ancestors).find(|folder| is_workspace(folder)) {
            return Ok(Self::in_workspace(found.to_owned()));
        }
        let home = around.path("HOME");
        let openclaw = around.path("OPENCLAW_STATE_DIR").or_else(|| home.as_ref().map(|home| home.join(".openclaw")));
        if let Some(found) = openclaw.map(|state| state.join("workspace")).filter(|folder| folder.is_dir()) {
            return Ok(Self::in_workspace(found));
        }
        let state = around.path("XDG_STATE_HOME").or_else(|| home.map(|home| home.join(".local/state")));
        match state {
            Some(state) => Ok(Self { fallback: true, ..Self::in_workspace(state.join("task-recovery")) }),
            None => Err(Error::new(Exit::Config, "cannot find a workspace: HOME is not set; give --workspace DIR")),
        }
    }
}

fn must_exist(name: &str, folder: &Path) -> Result<(), Error> {
    if folder.is_dir() {
        return Ok(());
    }
    Err(Error::new(Exit::Config, format!("{name} {} is no folder; make it first, or correct the name", folder.display())))
}

fn is_workspace(folder: &Path) -> bool {
    let has = |name: &str| folder.join(name).exists();
    folder.join("data/task-runs").is_dir() || (has("AGENTS.md") && (has("SOUL.md") || has("IDENTITY.md")))
}
