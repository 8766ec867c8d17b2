//! What a run says: one JSON line a workspace, or a finding; or text.

use serde_json::{Value, json};
use shared::cli::Output;
use shared::exit::Error;
use shared::time::Timestamp;

use crate::args::{Format, Task, Wanted};
use crate::check::Finding;
use crate::plan::Plan;
use crate::world::World;

/// What was done in a workspace.
pub(crate) fn done(output: &mut Output, wanted: &Wanted, world: &World, plan: &Plan, changed: bool) -> Result<(), Error> {
    let triggers: Vec<&str> = plan.triggers.iter().map(|kind| kind.word()).collect();
    if format(output, wanted) == Format::Json {
        let mut value = json!({"workspace": world.text(), "changed": changed});
        if wanted.task == Task::Install {
            value["triggers"] = json!(triggers);
            value["why"] = plan.why.clone().into();
        }
        let texts = |paths: &[std::path::PathBuf]| paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        for (name, list) in [("kept", texts(&plan.kept)), ("notes", plan.notes.clone()), ("next", plan.next.clone())] {
            if !list.is_empty() {
                value[name] = Value::from(list);
            }
        }
        return output.json_line(&value);
    }
    let did = match (wanted.task, changed) {
        (Task::Uninstall, true) => "taken out".to_owned(),
        (Task::Uninstall, false) => "nothing to take out".to_owned(),
        (_, changed) => {
            let did = if changed { "installed" } else { "nothing to do" };
            let calls = if triggers.is_empty() { "nothing calls bin/recovery-pass".to_owned() } else { triggers.join(" and ") };
            format!("{did}; trigger: {calls} ({})", plan.why)
        }
    };
    output.text(&format!("{}: {did}\n", world.text()))?;
    for note in &plan.notes {
        output.text(&format!("  note: {note}\n"))?;
    }
    for command in &plan.next {
        output.text(&format!("  run: {command}\n"))?;
    }
    Ok(())
}

/// What would be done in a workspace.
pub(crate) fn dry(output: &mut Output, world: &World, plan: &Plan) -> Result<(), Error> {
    output.text(&format!("# {}\n", world.text()))?;
    for note in &plan.notes {
        output.text(&format!("# {note}\n"))?;
    }
    for action in &plan.actions {
        output.text(&action.shown())?;
    }
    if plan.actions.is_empty() {
        output.text("# nothing to do\n")?;
    }
    for command in &plan.next {
        output.text(&format!("# for a person to run: {command}\n"))?;
    }
    Ok(())
}

/// What is wrong in a workspace.
pub(crate) fn checked(
    output: &mut Output,
    wanted: &Wanted,
    world: &World,
    findings: &[Finding],
    last_pass: Option<Timestamp>,
) -> Result<(), Error> {
    let json = format(output, wanted) == Format::Json;
    for Finding { part, what, remedy } in findings {
        if json {
            output.json_line(&json!({"workspace": world.text(), "ok": false, "part": part, "finding": what, "remedy": remedy}))?;
        } else {
            output.text(&format!("{}: {what}; run: {remedy}\n", world.text()))?;
        }
    }
    let last = last_pass.map(|at| at.to_string()).unwrap_or_default();
    match (findings.is_empty(), json) {
        (false, _) => Ok(()),
        (true, true) => output.json_line(&json!({"workspace": world.text(), "ok": true, "last_pass": last})),
        (true, false) => output.text(&format!("{}: all is well; the last pass was at {last}\n", world.text())),
    }
}

fn format(output: &Output, wanted: &Wanted) -> Format {
    wanted.format.unwrap_or(if output.is_terminal() { Format::Text } else { Format::Json })
}
