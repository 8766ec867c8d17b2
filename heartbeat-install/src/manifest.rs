//! The manifest: what was placed in a workspace, and what taking it out again needs.
//!
//! It is written *before* anything that it names is done, so that a run that was killed leaves nothing unnamed; what it
//! names and is not there yet is done by the next run, and skipped by `--uninstall`. It is removed last.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shared::card::json_error;
use shared::durable;
use shared::exit::{Error, cause};

use crate::disk::Seen;
use crate::every::Every;
use crate::lang::Lang;
use crate::section::Record;
use crate::trigger::Kind;

/// Beside the cards, and no card: it has no `.json`.
pub(crate) const FOLDER: &str = "data/task-runs";
pub(crate) const NAME: &str = ".installed";

/// What was placed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// The version of the program that placed it.
    pub(crate) version: String,
    /// The workspace as it was then; it may have been moved since.
    pub(crate) workspace: PathBuf,
    /// The folder that the programs came from.
    pub(crate) source: PathBuf,
    pub(crate) lang: Lang,
    pub(crate) every: Every,
    /// `--trigger none`: a later run without a word about it installs none either.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) no_trigger: bool,
    #[serde(default)]
    pub(crate) agents_md: bool,
    #[serde(default)]
    pub(crate) python_shim: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) plugin: bool,
    /// `--enable`: OpenClaw runs the plugin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) enabled: Option<Enabled>,
    /// The folders that were made, outer ones first.
    #[serde(default)]
    pub(crate) folders: Vec<PathBuf>,
    /// By path: below the workspace, or absolute.
    #[serde(default)]
    pub(crate) files: BTreeMap<PathBuf, Placed>,
    /// Our texts in files that belong to others, by path.
    #[serde(default)]
    pub(crate) edits: BTreeMap<PathBuf, Record>,
    #[serde(default)]
    pub(crate) triggers: BTreeMap<Kind, Installed>,
}

/// A plugin that OpenClaw was told to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Enabled {
    /// Where OpenClaw was, for when it is not on the PATH.
    pub(crate) openclaw: PathBuf,
    /// The folder that was linked from here; none when the plugin of another workspace serves this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) linked: Option<PathBuf>,
    /// What its configuration had for a plugin of this name before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<serde_json::Value>,
}

/// A placed file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Placed {
    pub(crate) sha256: String,
    /// The digest before the last update.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) was: Option<String>,
    /// What was there before is kept under this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) orig: Option<PathBuf>,
    /// A person changed it, and the change was seen and left: its SHA-256.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) changed: Option<String>,
}

/// A trigger that was installed, with what finds it again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Installed {
    /// What a pass is made at, also when the trigger itself cannot do it as often as was asked for.
    pub(crate) every: Every,
    /// The declaration key, the line's mark, the unit's name, or the agent whose scratch it is; empty = HEARTBEAT.md.
    pub(crate) name: String,
    /// Where OpenClaw was, for when it is not on the PATH.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) openclaw: Option<PathBuf>,
    /// How our text came into the crontab or the scratch.
    #[serde(default)]
    pub(crate) record: Record,
    /// The one that it takes the place of, as long as that is still there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) former: Option<Box<Self>>,
}

impl Installed {
    /// It and the former ones.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |installed| installed.former.as_deref())
    }
}

impl Placed {
    /// Whether what stands there is what was placed.
    pub(crate) fn is_ours(&self, seen: &Seen) -> bool {
        let digest = seen.digest();
        !digest.is_empty() && (digest == self.sha256 || Some(digest) == self.was)
    }
}

/// Where the manifest of a workspace is.
pub(crate) fn path(workspace: &Path) -> PathBuf {
    workspace.join(FOLDER).join(NAME)
}

impl Manifest {
    /// Reads that of a workspace, if there is one.
    pub(crate) fn load(workspace: &Path) -> Result<Option<Self>, Error> {
        let path = path(workspace);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io(format!("cannot read {}: {}", path.display(), cause(&error)))),
        };
        let wrong = |why: &dyn std::fmt::Display| {
            Error::data(format!(
                "{} is not valid: {why}; remove it and install anew: what it named is then replaced, or removed by hand",
                path.display()
            ))
        };
        let manifest: Self = serde_json::from_slice(&bytes).map_err(|error| wrong(&json_error(&error)))?;
        Ok(Some(if manifest.is_of_a_copy_in(workspace) { manifest.without_what_is_outside() } else { manifest }))
    }

    /// A workspace that was copied has the manifest of the one that it was copied from, which is still there.
    fn is_of_a_copy_in(&self, workspace: &Path) -> bool {
        self.workspace != workspace
            && path(&self.workspace).exists()
            && fs::canonicalize(&self.workspace).is_ok_and(|it| it != workspace)
    }

    /// What is outside of a workspace belongs to the original.
    fn without_what_is_outside(mut self) -> Self {
        self.triggers.clear();
        self.enabled = None;
        self.files.retain(|path, _| path.is_relative());
        self.folders.retain(|path| path.is_relative());
        self
    }

    /// As it is written.
    fn bytes(&self) -> Result<Vec<u8>, Error> {
        let mut bytes =
            serde_json::to_vec_pretty(self).map_err(|error| Error::data(format!("cannot note what is placed: {error}")))?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Writes it.
    pub(crate) fn save(&self) -> Result<(), Error> {
        let folder = self.workspace.join(FOLDER);
        let failed = |why: &dyn std::fmt::Display| Error::io(format!("cannot write {}: {why}", folder.join(NAME).display()));
        durable::replace(&folder, NAME, &self.bytes()?).map_err(|error| failed(&error))
    }
}
