//! Is it whole, and does it run? "Installed" is not "running": the last word has the pass that was really finished.
//!
//! Looks only. `watch` is run, because it writes nothing and a pass ends with it when it fails.

use std::path::Path;
use std::time::Duration;

use shared::exit::Error;
use shared::last_pass::LastPass;
use shared::store::Store;
use shared::time::Timestamp;
use shared::verified::sha256;
use shared::workspace::{Place, Surroundings};

use crate::assets;
use crate::child::{Program, shown};
use crate::disk::{Seen, Text};
use crate::edits;
use crate::every::Every;
use crate::manifest::{Manifest, Placed};
use crate::plugin;
use crate::programs::NAMES;
use crate::section::put;
use crate::trigger::Terms;
use crate::world::World;

/// A pass may be this many intervals ago.
const INTERVALS_MAX: u64 = 3;
/// A pass this far ahead of the clock says nothing about now.
const AHEAD_SECONDS_MAX: f64 = 300.0;
const WATCH_LIMIT: Duration = Duration::from_secs(60);

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// What it is about, in one word.
    pub(crate) part: &'static str,
    pub(crate) what: String,
    /// The command that a person would run.
    pub(crate) remedy: String,
}

impl Finding {
    pub(crate) fn new(part: &'static str, what: String, remedy: String) -> Self {
        Self { part, what, remedy }
    }
}

/// Everything that is wrong; nothing = all is well. The time of the last pass, if one is known.
pub(crate) fn check(world: &World) -> Result<(Vec<Finding>, Option<Timestamp>), Error> {
    let again = world.command(&[]);
    let Some(manifest) = &world.manifest else {
        return Ok((vec![Finding::new("install", "nothing is installed here".to_owned(), again)], None));
    };
    let mut findings = Vec::new();
    if manifest.workspace != world.workspace {
        let what = format!("the workspace was moved here from {}", manifest.workspace.display());
        findings.push(Finding::new("install", what, again.clone()));
    }
    for (path, placed) in &manifest.files {
        findings.extend(file(world, manifest, path, placed)?);
    }
    let terms = Terms { every: manifest.every, lang: manifest.lang };
    if let Some(record) = manifest.edits.get(Path::new(edits::AGENTS_MD)) {
        let text = Text::read(&world.workspace.join(edits::AGENTS_MD))?.content;
        let wanted = put(text.as_deref(), &edits::agents_text(terms.lang), Some(record)).ok().map(|(wanted, _)| wanted);
        if wanted.is_none() || wanted != text {
            findings.push(Finding::new("agents_md", "our section in AGENTS.md is not as it was placed".to_owned(), again.clone()));
        }
    }
    for (kind, installed) in &manifest.triggers {
        findings.extend(kind.check(world, terms, installed));
    }
    if manifest.plugin {
        findings.extend(plugin::check(world));
    }
    findings.extend(watch(world));
    let intervals = manifest.triggers.values().map(|installed| installed.every);
    let every = intervals.min().unwrap_or(manifest.every);
    let (finding, last) = last_pass(world, every)?;
    findings.extend(finding);
    Ok((findings, last))
}

fn file(world: &World, manifest: &Manifest, path: &Path, placed: &Placed) -> Result<Option<Finding>, Error> {
    let again = world.command(&[]);
    let found = |what: String, remedy: String| Ok(Some(Finding::new("file", what, remedy)));
    let seen = Seen::at(&world.workspace.join(path))?;
    let (name, digest) = (path.display(), seen.digest());
    let in_bin = path.starts_with("bin");
    let is_program = NAMES.iter().any(|name| path == Path::new("bin").join(name));
    match &seen {
        Seen::Missing => return found(format!("{name} is gone"), again),
        Seen::File { executable: false, .. } if in_bin => return found(format!("{name} cannot be executed"), again),
        _ if placed.changed.as_ref() == Some(&digest) => return Ok(None),
        _ if digest == placed.sha256 => {}
        _ if is_program || path.is_absolute() => {
            let own = manifest.source.join("heartbeat-install");
            let own = if own.exists() { shown(&[&own.to_string_lossy(), "--workspace", world.text()]) } else { again };
            return found(format!("{name} is not what was placed"), own);
        }
        _ => return found(format!("{name} was changed since it was placed (running this again leaves it and takes note)"), again),
    }
    let current =
        match assets::ASSETS.iter().chain(&assets::SHIM).chain(&assets::PLUGIN).find(|asset| path == Path::new(asset.place)) {
            Some(asset) => Some(sha256(asset.bytes)),
            None if is_program => {
                path.file_name().and_then(|name| std::fs::read(world.programs.folder.join(name)).ok()).map(|b| sha256(&b))
            }
            None => None,
        };
    if current.is_some_and(|current| current != placed.sha256) {
        return found(format!("{name} is of another version than this program"), again);
    }
    Ok(None)
}

fn watch(world: &World) -> Option<Finding> {
    let path = world.workspace.join("bin/watch");
    let text = path.to_str()?;
    // That it is gone was said.
    if !path.exists() {
        return None;
    }
    let remedy = shown(&[text, "--workspace", world.text()]);
    let program = Program { path: path.clone(), limit: WATCH_LIMIT };
    let why = match program.run(&["--format", "ids", "--workspace", world.text()], None) {
        Ok(answer) if answer.is_ok() => return None,
        Ok(answer) => answer.complaint(),
        Err(why) => why,
    };
    Some(Finding::new("watch", format!("watch fails, so no pass goes on: {why}"), remedy))
}

fn last_pass(world: &World, every: Every) -> Result<(Option<Finding>, Option<Timestamp>), Error> {
    let place = Place::find(Some(&world.workspace), &Surroundings::of_process())?;
    let store = Store::open(&place, world.clock)?;
    // Where the system does not name its boots nobody stamps a time; then the file's own is what there is.
    let stamped = LastPass::load(&store).finished_at();
    let written =
        || std::fs::metadata(store.folder().join(".last-pass")).and_then(|meta| meta.modified()).ok().map(Timestamp::from);
    let last = stamped.or_else(written);
    let found = |what: String| Some(Finding::new("last_pass", what, shown(&[&world.pass()])));
    let Some(at) = last else { return Ok((found("no pass was finished yet".to_owned()), None)) };
    let ago_seconds = world.clock.now().seconds_since(at);
    #[expect(clippy::cast_precision_loss, reason = "three days in seconds fit")]
    let most_seconds = (every.0 * INTERVALS_MAX) as f64;
    let finding = if ago_seconds > most_seconds {
        found(format!("no pass was finished for over {INTERVALS_MAX} intervals of {every}; the last one was at {at}"))
    } else if ago_seconds < -AHEAD_SECONDS_MAX {
        found(format!("the last pass was at {at}, which is ahead of the clock"))
    } else {
        None
    };
    Ok((finding, last))
}
