//! Which workspace: the search order, from the most to the least explicit.
//!
//! `--workspace DIR` → `TASK_RUNS_DIR` (the card folder itself) → `OPENCLAW_WORKSPACE` → `OPENCLAW_WORKSPACE_DIR` → the
//! nearest ancestor of the current folder, then of the program's own file, that is a workspace → OpenClaw's default one
//! (of `OPENCLAW_STATE_DIR`, or of `OPENCLAW_PROFILE`), if it exists → `${XDG_STATE_HOME:-~/.local/state}/task-recovery`.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::exit::{Error, Exit, cause};

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

    /// Where OpenClaw's default workspace would be. Of a profile, 2026.7 and before had it elsewhere.
    fn openclaw_defaults(&self, home: Option<&Path>) -> Vec<PathBuf> {
        if let Some(state) = self.path("OPENCLAW_STATE_DIR") {
            return vec![state.join("workspace")];
        }
        let Some(home) = home else { return Vec::new() };
        let profile = (self.env)("OPENCLAW_PROFILE").and_then(|name| name.into_string().ok());
        match profile.filter(|name| !name.is_empty() && name != "default" && !name.contains('/')) {
            Some(name) => {
                vec![home.join(format!(".openclaw-{name}/workspace")), home.join(format!(".openclaw/workspace-{name}"))]
            }
            None => vec![home.join(".openclaw/workspace")],
        }
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
    /// `Config` when what was named is no folder, what is searched cannot be looked into, or nothing is known to search in.
    pub fn find(explicit: Option<&Path>, around: &Surroundings<'_>) -> Result<Self, Error> {
        if let Some(folder) = explicit {
            return must_exist("--workspace", folder).map(|()| Self::in_workspace(folder.to_owned()));
        }
        if let Some(cards) = around.path("TASK_RUNS_DIR") {
            let absolute = std::path::absolute(&cards)
                .map_err(|error| Error::new(Exit::Config, format!("TASK_RUNS_DIR {}: {}", cards.display(), cause(&error))))?;
            return Ok(Self::of_cards(absolute));
        }
        for name in ["OPENCLAW_WORKSPACE", "OPENCLAW_WORKSPACE_DIR"] {
            if let Some(folder) = around.path(name) {
                return must_exist(name, &folder).map(|()| Self::in_workspace(folder));
            }
        }
        let starts = [around.current.as_deref(), around.program.as_deref()];
        for folder in starts.into_iter().flatten().flat_map(Path::ancestors) {
            if is_workspace(folder)? {
                return Ok(Self::in_workspace(folder.to_owned()));
            }
        }
        let home = around.path("HOME");
        for default in around.openclaw_defaults(home.as_deref()) {
            if is_there(&default)? == Some(Kind::Folder) {
                return Ok(Self::in_workspace(default));
            }
        }
        let state = around.path("XDG_STATE_HOME").or_else(|| home.map(|home| home.join(".local/state")));
        match state {
            Some(state) => Ok(Self { fallback: true, ..Self::in_workspace(state.join("task-recovery")) }),
            None => Err(Error::new(Exit::Config, "cannot find a workspace: HOME is not set; give --workspace DIR")),
        }
    }
}

fn must_exist(name: &str, folder: &Path) -> Result<(), Error> {
    let why = match fs::metadata(folder) {
        Ok(meta) if meta.is_dir() => return Ok(()),
        Err(error) if !is_absence(&error) => {
            return Err(Error::new(Exit::Config, format!("{name} {} cannot be used: {}", folder.display(), cause(&error))));
        }
        _ => "is no folder; make it first, or correct the name",
    };
    Err(Error::new(Exit::Config, format!("{name} {} {why}", folder.display())))
}

/// A folder that cannot be looked into may be the workspace: to go on would be to work in another one.
fn is_workspace(folder: &Path) -> Result<bool, Error> {
    let has = |name: &str| is_there(&folder.join(name)).map(|kind| kind.is_some());
    match is_there(&folder.join("data/task-runs")) {
        // One that this user may not search cannot be it.
        Err(_) if !may_search(folder) => Ok(false),
        Ok(Some(Kind::Folder)) => Ok(true),
        Ok(_) => Ok(has("AGENTS.md")? && (has("SOUL.md")? || has("IDENTITY.md")?)),
        Err(error) => Err(error),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Folder,
    Other,
}

fn is_there(path: &Path) -> Result<Option<Kind>, Error> {
    match fs::metadata(path) {
        Ok(meta) => Ok(Some(if meta.is_dir() { Kind::Folder } else { Kind::Other })),
        Err(error) if is_absence(&error) => Ok(None),
        Err(error) => {
            let text = format!("cannot look for a workspace at {}: {}; give --workspace DIR", path.display(), cause(&error));
            Err(Error::new(Exit::Config, text))
        }
    }
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn may_search(folder: &Path) -> bool {
    !fs::metadata(folder.join(".")).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}
