//! The plan of taking everything out again.
//!
//! Order: triggers → the plugin's link → texts → files → folders → the manifest. A trigger that cannot be removed now, or a
//! link, stops it before anything is gone that it calls. What is gone already is passed over, so a run that was cut is simply run again.

use std::path::Path;

use shared::exit::Error;

use crate::action::{Action, temporary};
use crate::disk::{Seen, behind_links};
use crate::edits;
use crate::files;
use crate::manifest::{self, FOLDER, Manifest};
use crate::plan::Plan;
use crate::plugin;
use crate::trigger::systemd;
use crate::world::World;

/// Makes the plan.
pub(crate) fn uninstall(world: &World) -> Result<Plan, Error> {
    let mut plan = Plan::default();
    let Some(manifest) = &world.manifest else {
        plan.notes.push("nothing is installed here".to_owned());
        plan.actions.extend(leftover(&manifest::path(&world.workspace)));
        return Ok(plan);
    };
    for (kind, installed) in &manifest.triggers {
        for installed in installed.all() {
            if installed.openclaw.is_some() && world.openclaw().is_none() {
                let note = "openclaw is not on the PATH; if it is in use elsewhere, what it was told stays:";
                plan.notes.push(format!("{note} {} {}", kind.word(), installed.name));
            }
            plan.actions.extend(kind.take(world, installed)?);
        }
    }
    let (forgetting, note) = plugin::take(world, manifest)?;
    plan.actions.extend(forgetting);
    plan.notes.extend(note);
    for (path, record) in &manifest.edits {
        plan.actions.extend(edits::take_out(&world.workspace, path, record)?);
    }
    let (taking, kept) = files::take(&world.workspace, &manifest.files, &Seen::at)?;
    let had_units = !taking.is_empty() && manifest.files.keys().any(|path| path.is_absolute());
    plan.actions.extend(taking);
    plan.actions.extend(leftovers(world, manifest));
    if had_units {
        plan.actions.extend(systemd::reload(world));
    }
    plan.actions.extend(python_caches(world));
    for path in &kept {
        plan.notes.push(format!("{} was changed by someone and is left", path.display()));
    }
    plan.kept = kept;
    let made = |path: &str| manifest.folders.iter().any(|folder| folder.as_os_str() == path);
    let inner_first = || manifest.folders.iter().rev();
    let folders = |below_data: bool| {
        let wanted = inner_first().filter(move |folder| folder.starts_with("data") == below_data);
        wanted.map(|folder| Action::RemoveFolder(world.workspace.join(folder))).collect::<Vec<_>>()
    };
    plan.actions.extend(folders(false));
    plan.actions.push(Action::Forget { workspace: world.workspace.clone(), card_folder_was_made: made(FOLDER) });
    plan.actions.extend(folders(true));
    Ok(plan)
}

/// What runs that were killed left beside what they placed and edited.
pub(crate) fn leftovers(world: &World, manifest: &Manifest) -> Vec<Action> {
    let texts = manifest.edits.keys().map(|path| behind_links(&world.workspace.join(path)));
    let placed = manifest.files.keys().map(|path| world.workspace.join(path));
    placed.chain(texts).chain([manifest::path(&world.workspace)]).filter_map(|path| leftover(&path)).collect()
}

/// What a run that was killed while it wrote this file left beside it.
fn leftover(path: &Path) -> Option<Action> {
    let temporary = temporary(path);
    temporary.exists().then_some(Action::Remove(temporary))
}

/// What Python made of the shim. A cache is made again by whoever needs it.
fn python_caches(world: &World) -> Vec<Action> {
    let folder = world.workspace.join("scripts/__pycache__");
    if !world.manifest.as_ref().is_some_and(|manifest| manifest.python_shim) || !folder.is_dir() {
        return Vec::new();
    }
    let names = std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let ours = names.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("task_runtime")));
    ours.map(Action::Remove).chain([Action::RemoveFolder(folder.clone())]).collect()
}
