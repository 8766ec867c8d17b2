//! What a card needs, decided a second time from plain values: when a start can be proved right.
//!
//! Only starts are decided here, because only they do something: `alert` and `ready`. Everything
//! that is not provably one of them is nothing.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::cards::NOW;
use super::{oracle, times};

/// What is the case beside the card.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) now: i64,
    pub(crate) host: String,
    /// Where commands run that have no folder of their own.
    pub(crate) folder: PathBuf,
    pub(crate) supervisor_alive: bool,
    pub(crate) attempt_alive: bool,
    pub(crate) last_output: Option<i64>,
    pub(crate) awake_since: Option<i64>,
}

impl World {
    /// Nothing lives.
    pub(crate) fn quiet(host: &str, folder: &Path) -> Self {
        Self {
            now: times::unix_ms(NOW).expect("a time"),
            host: host.to_owned(),
            folder: folder.to_owned(),
            supervisor_alive: false,
            attempt_alive: false,
            last_output: None,
            awake_since: None,
        }
    }
}

/// The task that is completed, and the one that is not, of those that cards wait for.
pub(crate) const DONE: &str = "done_1";
pub(crate) const OPEN: &str = "open_1";

/// Where one time is compared with another: what is within a millisecond is either.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Passed {
    Yes,
    No,
    Either,
}

/// Whether a card is to be started.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Start<'a> {
    /// For this reason; `ready` is one.
    For(&'a str),
    Not,
    /// It hangs on a millisecond.
    Either,
}

/// Decides on a card that is one.
pub(crate) fn decide(card: &Map<String, Value>, world: &World) -> Start<'static> {
    let text = |name: &str| card.get(name).and_then(Value::as_str);
    let run = card.get("run");
    let outcome = card.get("outcome");
    match text("status") {
        Some("pending") => return gates(card, world, "ready", None),
        Some("cancelled") if run.is_some() && world.attempt_alive && !world.supervisor_alive => return Start::For("contain"),
        Some("running" | "stalled") => {}
        _ => return Start::Not,
    }
    let time = |name: &str| time(card.get(name));
    let of = |outer: Option<&Value>, inner: &str| self::time(outer.and_then(|outer| outer.get(inner)));
    let base = time("last_checkpoint_at").or(time("created_at")).or(time("updated_at"));
    let told = [base, time("approved_at"), of(outcome, "at"), of(run, "started_at")];
    // A time that lies ahead is not believed, and nothing follows from it.
    if told.iter().flatten().any(|at| at - world.now > 300_000)
        || time("not_before").is_some_and(|at| at - world.now > 8 * 86_400_000)
    {
        return Start::Not;
    }
    if run.is_some_and(|run| run.get("host").and_then(Value::as_str) != Some(&world.host)) {
        return Start::Not;
    }
    if run.is_some() && world.supervisor_alive {
        return Start::Not;
    }
    let printed = run.and(world.last_output);
    let last_sign = told.into_iter().chain([world.awake_since, printed]).flatten().max().unwrap_or(world.now).min(world.now);
    let stale_ms = amount(card, "stale_after_minutes", if is_plain_command(card) { 0.0 } else { 30.0 }) * 60_000.0;
    let silent = if stale_ms == 0.0 { Passed::No } else { passed(world.now - last_sign, stale_ms) };
    let stale_at = last_sign.saturating_add(whole(stale_ms));
    let kind = outcome.and_then(|outcome| outcome.get("kind")).and_then(Value::as_str);
    let was_left =
        run.is_some_and(|run| run.get("background") == Some(&Value::Bool(true))) && kind.is_some_and(|kind| kind != "background");
    let (reason, since) = if run.is_some() && world.attempt_alive {
        ("attempt_silent", stale_at)
    } else if run.is_some() && !was_left {
        return gates(card, world, "attempt_died", Some(last_sign));
    } else if text("status") == Some("stalled") {
        let since = [time("not_before"), of(outcome, "at"), time("approved_at")].into_iter().flatten().max();
        return gates(card, world, "retry_due", Some(since.unwrap_or(last_sign)));
    } else {
        ("silent", stale_at)
    };
    match silent {
        Passed::No => Start::Not,
        Passed::Yes => gates(card, world, reason, Some(since)),
        Passed::Either => Start::Either,
    }
}

/// All that must hold, whatever the reason. `since` is none for a first start.
fn gates(card: &Map<String, Value>, world: &World, reason: &'static str, since: Option<i64>) -> Start<'static> {
    let text = |name: &str| card.get(name).and_then(Value::as_str);
    let phase = text("phase").unwrap_or_default();
    let permitted = text("permit") == Some(phase);
    let allowed = card.get("allow_auto_resume") == Some(&Value::Bool(true)) || permitted;
    let own = text("task_id").or(text("id"));
    // A task that was begun is not held back by one that is not finished, only by one that is not there.
    let is_met = |id: &&str| *id == DONE || Some(*id) == own || (*id == OPEN && since.is_some());
    if !allowed || !can_run(card, &world.folder) || !oracle::depends_on(card).iter().all(is_met) {
        return Start::Not;
    }
    let manual = match card.get("manual_phases").and_then(Value::as_array) {
        Some(phases) => phases.iter().any(|one| one == phase),
        None => card.get("safe_to_retry") == Some(&Value::Bool(false)),
    };
    if (manual && !permitted) || time(card.get("not_before")).is_some_and(|until| until > world.now) {
        return Start::Not;
    }
    if permitted || since.is_none() {
        return Start::For(reason);
    }
    let count = |name: &str, default: u64| card.get(name).map_or(default, |value| value.to_string().parse().unwrap_or(u64::MAX));
    if count("retry_count", 0) >= count("max_retries", 3) || count("failures", 0) >= count("max_failures", 50) {
        return Start::Not;
    }
    let give_up_ms = amount(card, "give_up_after_minutes", 4320.0) * 60_000.0;
    match passed(world.now - since.unwrap_or(world.now), give_up_ms) {
        _ if give_up_ms == 0.0 => Start::For(reason),
        Passed::No => Start::For(reason),
        Passed::Yes => Start::Not,
        Passed::Either => Start::Either,
    }
}

fn time(value: Option<&Value>) -> Option<i64> {
    value.and_then(Value::as_str).and_then(times::unix_ms)
}

fn amount(card: &Map<String, Value>, name: &str, default: f64) -> f64 {
    card.get(name).map_or(default, |value| value.to_string().parse().unwrap_or(default))
}

fn whole(ms: f64) -> i64 {
    // Beyond what any time can be, a little more or less is the same.
    #[expect(clippy::cast_possible_truncation, reason = "it is bounded right before")]
    let whole = ms.min(1e15) as i64;
    whole
}

fn passed(age_ms: i64, limit_ms: f64) -> Passed {
    match age_ms - whole(limit_ms) {
        ..=-2 => Passed::No,
        -1..=1 => Passed::Either,
        _ => Passed::Yes,
    }
}

fn words<'a>(card: &'a Map<String, Value>, name: &str) -> Vec<&'a str> {
    card.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The plain command's words: today's, else the predecessor's.
fn argv(card: &Map<String, Value>) -> Vec<&str> {
    let today = words(card, "resume_argv");
    if today.is_empty() { words(card, "resume_command_argv") } else { today }
}

fn is_plain_command(card: &Map<String, Value>) -> bool {
    !card.contains_key("resume_adapter") && !argv(card).is_empty()
}

fn can_run(card: &Map<String, Value>, folder: &Path) -> bool {
    let text = |name: &str| card.get(name).and_then(Value::as_str);
    if let Some(adapter) = text("resume_adapter") {
        let path = Path::new(adapter);
        let in_safe_folder =
            || path.parent().and_then(|folder| fs::metadata(folder).ok()).is_none_or(|meta| meta.mode() & 0o1002 != 0o002);
        return path.is_absolute() && is_program(path, adapter.ends_with(".py"), true) && in_safe_folder();
    }
    let argv = argv(card);
    let Some(program) = argv.first() else { return false };
    let folder = text("cwd").map_or(folder, Path::new);
    if !folder.is_dir() {
        return false;
    }
    if program.contains('/') {
        return is_program(&folder.join(program), false, false);
    }
    let path = text("path").map_or_else(|| std::env::var("PATH").unwrap_or_default(), str::to_owned);
    path.split(':').any(|entry| is_program(&folder.join(entry).join(program), false, false))
}

fn is_program(path: &Path, python: bool, own: bool) -> bool {
    let Ok(meta) = fs::metadata(path) else { return false };
    let trusted = !own || ((meta.uid() == 0 || meta.uid() == nix::unistd::geteuid().as_raw()) && meta.mode() & 0o002 == 0);
    meta.is_file() && trusted && (python || meta.mode() & 0o111 != 0)
}
