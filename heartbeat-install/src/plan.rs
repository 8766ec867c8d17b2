//! The plan of an installation.
//!
//! Order: the folders → the manifest, naming everything that will be there and everything that is still to go → files →
//! texts → triggers → what is not wanted any more goes → what OpenClaw is told of the plugin → the manifest as it is to
//! stay. So a run that is cut leaves nothing that the manifest does not name, a trigger only ever calls what is there, and an old
//! one goes after the new one came.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use shared::exit::{Error, Exit};

use crate::action::Action;
use crate::args::{Choice, Wanted};
use crate::assets::{self, Asset};
use crate::disk::Seen;
use crate::edits;
use crate::files::{self, Desired, Note};
use crate::manifest::{self, Installed, Manifest, Placed};
use crate::plugin;
use crate::programs;
use crate::trigger::auto::{self, Chosen};
use crate::trigger::heartbeat;
use crate::trigger::{Kind, Terms, systemd};
use crate::uninstall::leftovers;
use crate::world::World;

/// What is to be done, and what there is to say about it.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) actions: Vec<Action>,
    pub(crate) triggers: Vec<Kind>,
    pub(crate) why: String,
    /// Files that a person changed, which stay.
    pub(crate) kept: Vec<PathBuf>,
    pub(crate) notes: Vec<String>,
    /// Commands that a person should run.
    pub(crate) next: Vec<String>,
    /// No trigger was found that works.
    pub(crate) lacks_trigger: bool,
}

/// What the triggers come to.
#[derive(Default)]
struct Triggers {
    files: Vec<Desired>,
    heartbeat_md: bool,
    actions: Vec<Action>,
    /// Paths of files that stay as they are.
    untouched: Vec<PathBuf>,
}

/// Makes the plan.
pub(crate) fn install(world: &World, wanted: &Wanted) -> Result<Plan, Error> {
    let before = world.manifest.clone();
    let terms = terms(world, wanted);
    let declined = !wanted.chose && before.as_ref().is_some_and(|before| before.no_trigger);
    let chosen = match &wanted.choice {
        Choice::Auto if declined => Chosen { why: "none was asked for the last time".to_owned(), ..Chosen::default() },
        Choice::Auto => auto::choose(world, terms.every)?,
        Choice::These(kinds) => Chosen { kinds: kinds.clone(), why: "it was asked for".to_owned(), ..Chosen::default() },
    };
    let mut plan = Plan {
        triggers: chosen.kinds.clone(),
        why: chosen.why.clone(),
        notes: chosen.notes.clone(),
        next: chosen.next.clone(),
        lacks_trigger: chosen.kinds.is_empty() && wanted.choice == Choice::Auto && !declined,
        ..Plan::default()
    };
    let mut manifest = Manifest {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        workspace: world.workspace.clone(),
        source: before.as_ref().map_or_else(|| world.programs.folder.clone(), |before| source(world, before)),
        lang: terms.lang,
        every: terms.every,
        no_trigger: declined || wanted.choice == Choice::These(Vec::new()),
        agents_md: wanted.agents_md || before.as_ref().is_some_and(|before| before.agents_md),
        python_shim: wanted.python_shim || before.as_ref().is_some_and(|before| before.python_shim) || has_predecessor(world)?,
        plugin: wanted.plugin || before.as_ref().is_some_and(|before| before.plugin),
        enabled: before.as_ref().and_then(|before| before.enabled.clone()),
        folders: before.as_ref().map(|before| before.folders.clone()).unwrap_or_default(),
        files: BTreeMap::new(),
        edits: BTreeMap::new(),
        triggers: BTreeMap::new(),
    };
    let triggers = plan_triggers(world, terms, &chosen, &mut manifest, &mut plan)?;
    let mut desired = plain_files(world, &manifest)?;
    let enabling = enable(world, wanted, &mut manifest, &mut plan)?;
    desired.extend(triggers.files);

    let folders = folders(world, &desired, &mut manifest.folders);
    let placing = place(world, &desired, &mut manifest, &mut plan)?;
    let mut texts = Vec::new();
    if triggers.heartbeat_md {
        texts.push((PathBuf::from(heartbeat::FILE), heartbeat::ours(terms, "HEARTBEAT_OK")));
    }
    if manifest.agents_md {
        texts.push((PathBuf::from(edits::AGENTS_MD), edits::agents_text(terms.lang)));
    }
    let old_edits = before.as_ref().map(|before| before.edits.clone()).unwrap_or_default();
    let mut editing = Vec::new();
    for (path, ours) in &texts {
        let (action, record) = edits::put_in(&world.workspace, path, ours, old_edits.get(path))?;
        editing.extend(action);
        manifest.edits.insert(path.clone(), record);
    }

    let mut ahead = manifest.clone();
    let mut going = Vec::new();
    if let Some(before) = &before {
        going = not_wanted_any_more(world, before, &triggers.untouched, &mut manifest, &mut ahead, &mut plan)?;
    }
    let (first, other): (Vec<_>, Vec<_>) = folders.into_iter().partition(|action| is_card_folder(world, action));
    plan.actions.extend(before.iter().flat_map(|before| leftovers(world, before)));
    plan.actions.extend(first);
    if before.as_ref() != Some(&ahead) {
        plan.actions.push(Action::Record(Box::new(ahead.clone())));
    }
    plan.actions.extend(other.into_iter().chain(placing).chain(editing).chain(triggers.actions).chain(going).chain(enabling));
    if ahead != manifest {
        plan.actions.push(Action::Record(Box::new(manifest)));
    }
    Ok(plan)
}

/// The terms of passes: what was asked for, else what is in use here.
pub(crate) fn terms(world: &World, wanted: &Wanted) -> Terms {
    let before = world.manifest.as_ref().map(|before| before.every);
    Terms { every: wanted.every.or(before).unwrap_or_default(), lang: world.lang(wanted.lang) }
}

fn plan_triggers(
    world: &World,
    terms: Terms,
    chosen: &Chosen,
    manifest: &mut Manifest,
    plan: &mut Plan,
) -> Result<Triggers, Error> {
    let mut all = Triggers::default();
    for kind in &chosen.kinds {
        let before = world.manifest.as_ref().and_then(|manifest| manifest.triggers.get(kind));
        match (kind.plan(world, terms, before), before) {
            (Ok(planned), _) => {
                manifest.triggers.insert(*kind, planned.installed);
                all.files.extend(planned.files);
                all.heartbeat_md |= planned.text.is_some();
                all.actions.extend(planned.actions);
                plan.notes.extend(planned.notes);
                plan.next.extend(planned.next);
            }
            // What is there stays, also when it cannot be seen just now.
            (Err(error), Some(before)) if chosen.kept => {
                manifest.triggers.insert(*kind, before.clone());
                all.untouched
                    .extend(world.manifest.iter().flat_map(|manifest| manifest.files.keys()).filter(|p| p.is_absolute()).cloned());
                plan.notes.push(format!("whether the trigger {} is there was not seen: {}", kind.word(), error.message));
            }
            (Err(error), _) => return Err(error),
        }
    }
    Ok(all)
}

/// The programs and the assets.
fn plain_files(world: &World, manifest: &Manifest) -> Result<Vec<Desired>, Error> {
    let mut desired = Vec::new();
    for name in programs::NAMES {
        let path = Path::new("bin").join(name);
        let bytes = world.programs.read(name)?;
        refuse_blessing(world, &path, name, &bytes)?;
        desired.push(Desired { path, bytes: Cow::Owned(bytes), mode: 0o755, is_text: false });
    }
    let shim: &[Asset] = if manifest.python_shim { &assets::SHIM } else { &[] };
    let plugin: &[Asset] = if manifest.plugin { &assets::PLUGIN } else { &[] };
    desired.extend(assets::ASSETS.iter().chain(shim).chain(plugin).map(|asset| Desired {
        path: asset.place.into(),
        bytes: Cow::Borrowed(asset.bytes),
        mode: asset.mode,
        is_text: true,
    }));
    Ok(desired)
}

/// What is to be done so that OpenClaw runs the plugin, when that is asked for now or was before; else what a person runs.
fn enable(world: &World, wanted: &Wanted, manifest: &mut Manifest, plan: &mut Plan) -> Result<Vec<Action>, Error> {
    if !wanted.enable && manifest.enabled.is_none() {
        plan.next.extend(wanted.plugin.then(|| plugin::commands(world)).into_iter().flatten());
        return Ok(Vec::new());
    }
    match plugin::plan(world, manifest.enabled.as_ref()) {
        Ok(planned) => {
            manifest.enabled = Some(planned.enabled);
            plan.notes.extend(planned.notes);
            plan.next.extend(planned.next);
            Ok(planned.actions)
        }
        Err(error) if wanted.enable => Err(error),
        // What is there stays, also when it cannot be seen just now.
        Err(error) => {
            plan.notes.push(format!("whether OpenClaw has the plugin was not seen: {}", error.message));
            Ok(Vec::new())
        }
    }
}

/// Run from the workspace itself, a program that was replaced must not be taken for the one to place.
fn refuse_blessing(world: &World, path: &Path, name: &str, bytes: &[u8]) -> Result<(), Error> {
    let placed = world.manifest.as_ref().and_then(|manifest| manifest.files.get(path));
    let (Some(placed), Some(manifest)) = (placed, &world.manifest) else { return Ok(()) };
    let own_place = std::fs::canonicalize(world.workspace.join("bin")).is_ok_and(|folder| folder == world.programs.folder);
    let digest = shared::verified::sha256(bytes);
    if own_place && digest != placed.sha256 && Some(digest) != placed.was {
        let from = manifest.source.join("heartbeat-install");
        let why = format!("bin/{name} is not what was placed, and this program has no other; run {}", from.display());
        return Err(Error::new(Exit::Config, why));
    }
    Ok(())
}

/// Where the programs came from: not the workspace itself, once it is known from elsewhere.
fn source(world: &World, before: &Manifest) -> PathBuf {
    let own_place = std::fs::canonicalize(world.workspace.join("bin")).is_ok_and(|folder| folder == world.programs.folder);
    if own_place { before.source.clone() } else { world.programs.folder.clone() }
}

fn has_predecessor(world: &World) -> Result<bool, Error> {
    for name in assets::PREDECESSOR {
        if Seen::at(&world.workspace.join(name))? != Seen::Missing {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The folders that are missing, outer ones first; they are noted, too.
fn folders(world: &World, desired: &[Desired], noted: &mut Vec<PathBuf>) -> Vec<Action> {
    let mut missing: Vec<PathBuf> = Vec::new();
    let cards = PathBuf::from(manifest::FOLDER).join("x");
    for path in std::iter::once(&cards).chain(desired.iter().map(|desired| &desired.path)) {
        let parents: Vec<&Path> = path.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty()).collect();
        for parent in parents.into_iter().rev() {
            if !world.workspace.join(parent).is_dir() && !missing.iter().any(|path| path == parent) {
                missing.push(parent.to_owned());
            }
        }
    }
    for path in &missing {
        if !noted.contains(path) {
            noted.push(path.clone());
        }
    }
    let mode = |path: &Path| if path.starts_with("data") { 0o700 } else { 0o755 };
    missing.into_iter().map(|path| Action::MakeFolder { mode: mode(&path), path: world.workspace.join(path) }).collect()
}

fn is_card_folder(world: &World, action: &Action) -> bool {
    matches!(action, Action::MakeFolder { path, .. } if path.starts_with(world.workspace.join("data")))
}

fn place(world: &World, desired: &[Desired], manifest: &mut Manifest, plan: &mut Plan) -> Result<Vec<Action>, Error> {
    let none = BTreeMap::new();
    let before: &BTreeMap<PathBuf, Placed> = world.manifest.as_ref().map_or(&none, |before| &before.files);
    let mut actions = Vec::new();
    for desired in desired {
        let step = files::place(&world.workspace, desired, before.get(&desired.path), &Seen::at)?;
        let path = desired.path.display();
        match step.note {
            Some(Note::Kept) => {
                plan.kept.push(desired.path.clone());
                plan.notes
                    .push(format!("{path} was changed by someone and is left so; to have ours, remove it and run this again"));
            }
            Some(Note::KeptAs(orig)) => plan.notes.push(format!("{path} was there: it is kept as {}", orig.display())),
            Some(Note::Replaced) => plan.notes.push(format!("{path} was not what had been placed; it was placed again")),
            None => {}
        }
        actions.extend(step.action);
        manifest.files.insert(desired.path.clone(), step.placed);
    }
    Ok(actions)
}

/// What a former installation had and this one has not. Until it is gone, the manifest `ahead` names it, too.
fn not_wanted_any_more(
    world: &World,
    before: &Manifest,
    untouched: &[PathBuf],
    manifest: &mut Manifest,
    ahead: &mut Manifest,
    plan: &mut Plan,
) -> Result<Vec<Action>, Error> {
    let mut actions = Vec::new();
    for (kind, installed) in &before.triggers {
        let name = manifest.triggers.get(kind).map(|now| now.name.clone());
        for former in installed.all().filter(|former| name.as_ref() != Some(&former.name)) {
            let noted = Installed { former: None, ..former.clone() };
            note(&mut ahead.triggers, *kind, noted.clone());
            match kind.take(world, former) {
                Ok(taking) => actions.extend(taking),
                Err(error) => {
                    plan.notes.push(format!("the former trigger {} is still there: {}", kind.word(), error.message));
                    note(&mut manifest.triggers, *kind, noted);
                }
            }
        }
    }
    for (path, record) in &before.edits {
        if !manifest.edits.contains_key(path) {
            ahead.edits.insert(path.clone(), record.clone());
            actions.extend(edits::take_out(&world.workspace, path, record)?);
        }
    }
    let mut stale = before.files.clone();
    stale.retain(|path, _| !manifest.files.contains_key(path));
    for path in untouched {
        if let Some(placed) = stale.remove(path) {
            manifest.files.insert(path.clone(), placed.clone());
            ahead.files.insert(path.clone(), placed);
        }
    }
    ahead.files.extend(stale.clone());
    let (taking, kept) = files::take(&world.workspace, &stale, &Seen::at)?;
    let had_units = !taking.is_empty() && stale.keys().any(|path| path.is_absolute());
    actions.extend(taking);
    plan.kept.extend(kept);
    if had_units {
        actions.extend(systemd::reload(world));
    }
    Ok(actions)
}

/// Notes a trigger behind those of its kind.
fn note(triggers: &mut BTreeMap<Kind, Installed>, kind: Kind, former: Installed) {
    let Some(mut last) = triggers.get_mut(&kind) else {
        triggers.insert(kind, former);
        return;
    };
    while last.former.is_some() {
        let Some(next) = last.former.as_deref_mut() else { return };
        last = next;
    }
    last.former = Some(Box::new(former));
}
