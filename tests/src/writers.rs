//! Every command that writes a card, each in a workspace where it has something to write, and what
//! must be true however it ended: a card is whole, old or new; what was acknowledged is there; and
//! whoever comes next can go on.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{Ran, Workspace, own_folder, programs};

/// A task that somebody works on.
const A: &str = r#"{"schema_version":1,"revision":3,"task_id":"a","task_type":"t","title":"x","created_at":"2026-01-01T00:00:00Z",
"updated_at":"2026-01-01T00:00:00Z","status":"running","phase":"p","allow_auto_resume":false,"stale_after_minutes":0}"#;
/// The same with another title: what `put` is given.
const A_EDITED: &str = r#"{"schema_version":1,"revision":3,"task_id":"a","task_type":"t","title":"y","created_at":"2026-01-01T00:00:00Z",
"updated_at":"2026-01-01T00:00:00Z","status":"running","phase":"p","allow_auto_resume":false,"stale_after_minutes":0}"#;
/// A card of the Python predecessor: what `import` is given.
const OLD_B: &str = r#"{"id":"b","task_type":"t","title":"x","created_at":"2026-01-01T00:00:00Z","status":"running","phase":"p",
"meta":{"k":1},"artifacts":{"raw":"/r"},"safe_to_retry":false}"#;
/// The folder that it is given in, in the workspace.
pub const GIVEN: &str = "old";
/// A plain command that was not started yet.
const C: &str = r#"{"schema_version":1,"revision":1,"task_id":"c","task_type":"t","title":"x","created_at":"2026-01-01T00:00:00Z",
"updated_at":"2026-01-01T00:00:00Z","status":"pending","allow_auto_resume":false,"resume_argv":["true"],"cwd":"/","path":"/usr/bin:/bin"}"#;
/// A finished task, to be filed away; its `cleanup` is in the workspace.
const D: &str = r#"{"schema_version":1,"revision":5,"task_id":"d","task_type":"t","title":"x","created_at":"2020-01-01T00:00:00Z",
"updated_at":"2020-01-01T00:00:00Z","status":"completed","phase":"p","allow_auto_resume":false,"attempt":1}"#;
const HISTORY: &str = "{\"at\":\"2026-01-01T00:00:00Z\",\"revision\":3,\"event\":\"checkpoint\"}\n";
const TORN_LINE: &str = "{\"at\":\"2026-01-0";
/// The tasks; `b` is made by `create` and `import`, `d` filed away, `e` deleted.
pub const IDS: [&str; 5] = ["a", "b", "c", "d", "e"];
/// Whoever comes next succeeds within this time: an attempt whose supervisor was killed may still be ending.
const NEXT_SECONDS: u64 = 60;

/// What the workspace holds besides the cards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// Nothing: folders are made on the way.
    Fresh,
    /// Locks and history.
    Used,
    /// The history's last line was cut by a crash.
    Torn,
    /// Beside the others a finished task `d`, with history and logs.
    Finished,
    /// The same as `e`, in the archive.
    Filed,
}

/// A command that writes a card.
#[derive(Clone, Debug)]
pub struct Writer {
    /// For people.
    pub name: String,
    /// Whose card it writes.
    pub id: &'static str,
    before: Before,
    program: PathBuf,
    args: Vec<String>,
    input: Option<&'static str>,
    environment: Option<(&'static str, String)>,
    status: i32,
}

/// The cards as they are in their files.
pub type Cards = BTreeMap<&'static str, Option<Value>>;

/// All of them.
pub fn writers() -> Vec<Writer> {
    use Before::{Filed, Finished, Fresh, Torn, Used};
    let rows: [(&str, &str, Before, &[&str]); 15] = [
        ("card", "b", Fresh, &["create", "b", "--task-type", "t", "--title", "x"]),
        ("card", "b", Used, &["import", "--from", "task-runtime", GIVEN]),
        ("card", "a", Used, &["update", "a", "--title", "new"]),
        ("card", "a", Used, &["put", "a"]),
        ("card", "a", Used, &["complete", "a", "--message", "new"]),
        ("card", "a", Used, &["fail", "a", "--message", "new"]),
        ("card", "a", Used, &["block", "a", "--reason", "new"]),
        ("card", "a", Used, &["cancel", "a"]),
        ("card", "a", Used, &["approve", "a"]),
        ("checkpoint", "a", Fresh, &["a", "--message", "new", "--artifact", "x=/x"]),
        ("checkpoint", "a", Used, &["a", "--message", "new"]),
        ("checkpoint", "a", Torn, &["a", "--message", "new"]),
        ("card", "d", Finished, &["archive", "d"]),
        ("card", "e", Filed, &["prune", "--older-than", "90d"]),
        ("resume", "c", Fresh, &["c"]),
    ];
    rows.into_iter().map(|(program, id, before, args)| Writer::new(program, id, before, args)).collect()
}

impl Writer {
    /// One of the programs with these arguments.
    pub fn new(program: &str, id: &'static str, before: Before, args: &[&str]) -> Self {
        let verb = if program == "card" { format!(" {}", args[0]) } else { String::new() };
        let state = if before == Before::Torn { " over a torn history" } else { "" };
        Self {
            name: format!("{program}{verb}{state}"),
            id,
            before,
            program: programs().join(program),
            args: args.iter().map(|word| (*word).to_owned()).collect(),
            input: (args[0] == "put").then_some(A_EDITED),
            environment: None,
            status: 0,
        }
    }

    /// `card create` of a task that there is: nothing may come of it.
    pub fn refused() -> Self {
        let writer = Self::new("card", "a", Before::Used, &["create", "a", "--task-type", "t", "--title", "x"]);
        Self { name: "card create of one that exists".to_owned(), status: 73, ..writer }
    }

    /// A stand-in for `checkpoint a` that is broken in this way.
    pub fn broken(how: &str) -> Self {
        Self::stand_in("broken-writer", "a", Before::Used, &["a"], how)
    }

    /// A stand-in for `card archive d` that is broken in this way.
    pub fn broken_filing(how: &str) -> Self {
        Self::stand_in("broken-filing", "d", Before::Finished, &["archive", "d"], how)
    }

    fn stand_in(program: &str, id: &'static str, before: Before, args: &[&str], how: &str) -> Self {
        let name = format!("the stand-in ({how})");
        let environment = Some(("BROKEN", how.to_owned()));
        Self { name, program: own_folder().join(program), environment, ..Self::new("card", id, before, args) }
    }

    /// Whether it starts an attempt.
    pub fn supervises(&self) -> bool {
        self.program.ends_with("resume")
    }

    /// Whether it moves or deletes files, and writes no card anew.
    pub fn files_away(&self) -> bool {
        matches!(self.before, Before::Finished | Before::Filed)
    }

    /// Runs until it must have come to a point. A supervisor that its attempt left already asks once less whether it lives.
    pub fn tries(&self) -> usize {
        if self.supervises() { 10 } else { 1 }
    }

    /// Its workspace.
    pub fn workspace(&self) -> Workspace {
        let workspace = Workspace::new();
        workspace.put_card("a", A);
        workspace.put_card("c", C);
        if self.before != Before::Fresh {
            fs::create_dir(workspace.card_path(".locks")).expect("a folder");
            fs::create_dir(workspace.card_path("history")).expect("a folder");
            let torn = if self.before == Before::Torn { TORN_LINE } else { "" };
            fs::write(workspace.card_path("history/a.jsonl"), format!("{HISTORY}{torn}")).expect("a history");
        }
        if self.args[0] == "import" {
            fs::create_dir(workspace.path(GIVEN)).expect("a folder");
            fs::write(workspace.path("old/b.json"), OLD_B).expect("a card of others");
        }
        match self.before {
            Before::Finished => put_finished(&workspace, "", "d"),
            Before::Filed => put_finished(&workspace, "archive/", "e"),
            Before::Fresh | Before::Used | Before::Torn => {}
        }
        workspace
    }

    /// The command in a workspace.
    pub fn command(&self, workspace: &Workspace) -> Command {
        let mut command = workspace.command("card");
        let mut own = Command::new(&self.program);
        own.args(&self.args)
            .current_dir(workspace.path(""))
            .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        own.envs(self.environment.as_ref().map(|(name, value)| (name, value)));
        std::mem::swap(&mut command, &mut own);
        command
    }

    /// How it ends when nothing goes wrong.
    pub fn status(&self) -> i32 {
        self.status
    }

    /// What it is given on stdin.
    pub fn input(&self) -> Option<&'static str> {
        self.input
    }

    /// Whether the change that it makes is there, if it makes one.
    pub fn is_done(&self, cards: &Cards) -> bool {
        let Some(card) = &cards[self.id] else { return self.id == "e" };
        if self.status != 0 {
            return card["revision"] == 3;
        }
        match self.id {
            "a" => card["revision"] == 4,
            "b" => card["revision"] == 1 && card["title"] == "x",
            "d" => card["archived"] == true,
            "e" => false,
            _ => card["status"] == "completed",
        }
    }
}

fn put_finished(workspace: &Workspace, place: &str, id: &str) {
    let write = |name: &str, text: &str| {
        let path = workspace.card_path(&format!("{place}{name}"));
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file of a finished task");
    };
    let cleanup = workspace.path("cleanup").to_string_lossy().into_owned();
    let mut card: Value = serde_json::from_str(D).expect("a card");
    card["task_id"] = id.into();
    card["metadata"] = serde_json::json!({ "cleanup": [cleanup] });
    write(&format!("{id}.json"), &card.to_string());
    write(&format!("history/{id}.jsonl"), HISTORY);
    for kind in ["in", "out", "err"] {
        write(&format!("logs/{id}/1.{kind}"), kind);
    }
    fs::create_dir(workspace.card_path("../../cleanup")).expect("a folder");
    fs::write(workspace.path("cleanup/file"), "").expect("a file");
}

/// Reads the cards; one from the archive has `archived`.
///
/// # Errors
/// When one is there and is not whole, or is there twice.
pub fn cards(workspace: &Workspace) -> Result<Cards, String> {
    let read = |id, name: String| match fs::read(workspace.card_path(&name)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("the card of {id} cannot be read: {error}")),
        Ok(bytes) => match serde_json::from_slice::<Value>(&bytes) {
            Ok(card) if card["task_id"] == id => Ok(Some(card)),
            _ => Err(format!("the card of {id} is torn: {:?}", String::from_utf8_lossy(&bytes))),
        },
    };
    let look = |id| match (read(id, format!("{id}.json"))?, read(id, format!("archive/{id}.json"))?) {
        (Some(_), Some(_)) => Err(format!("the card of {id} is there twice")),
        (None, Some(mut filed)) => {
            filed["archived"] = true.into();
            Ok(Some(filed))
        }
        (card, None) => Ok(card),
    };
    IDS.into_iter().map(|id| Ok((id, look(id)?))).collect()
}

/// Each card is the old one, filed away or not, or a newer one; only from the archive one may be gone.
///
/// # Errors
/// The one that is neither.
pub fn are_old_or_new(before: &Cards, after: &Cards) -> Result<(), String> {
    let revision = |card: &Option<Value>| card.as_ref().map_or(0, |card| card["revision"].as_u64().unwrap_or_default());
    let harmed = |id: &&str| {
        let (old, new) = (&before[id], &after[id]);
        let bare = |card: &Option<Value>| {
            card.clone().map(|mut card| {
                card.as_object_mut().expect("a card").remove("archived");
                card
            })
        };
        let was_filed = old.as_ref().is_some_and(|card| card["archived"] == true);
        let is_filed = new.as_ref().is_some_and(|card| card["archived"] == true);
        let deleted = was_filed && new.is_none();
        let brought_back = was_filed && new.is_some() && !is_filed;
        brought_back || (!deleted && bare(old) != bare(new) && revision(new) <= revision(old))
    };
    match IDS.into_iter().find(harmed) {
        Some(id) => {
            Err(format!("the card of {id} is neither the old one nor a new one\nbefore: {:?}\nafter: {:?}", before[id], after[id]))
        }
        None => Ok(()),
    }
}

/// What was answered on stdout is in the cards.
///
/// # Errors
/// The answer that is lost.
pub fn is_kept(stdout: &str, cards: &Cards) -> Result<(), String> {
    for line in stdout.split_inclusive('\n') {
        let Ok(answer) = serde_json::from_str::<Value>(line) else { continue };
        let filed = cards["d"].as_ref().is_some_and(|card| card["archived"] == true);
        if (answer["archived"] == 1 && !filed) || (answer["pruned"] == 1 && cards["e"].is_some()) {
            return Err(format!("it was acknowledged and is not so: {answer}"));
        }
        let card = answer["task_id"].as_str().and_then(|id| cards.get(id)).and_then(Option::as_ref);
        let is = |name: &str| card.map_or(&Value::Null, |card| &card[name]);
        let lost = match (answer["revision"].as_u64(), answer["outcome"].as_str()) {
            (Some(revision), _) => is("revision").as_u64().unwrap_or_default() < revision,
            (None, Some(outcome)) => is("outcome")["kind"] != outcome,
            (None, None) => false,
        };
        if lost {
            return Err(format!("it was acknowledged and is not there: {answer}\nthe card: {card:?}"));
        }
    }
    Ok(())
}

/// Whoever comes next can go on: with the same card, past what was left behind.
///
/// # Errors
/// What does not work.
pub fn next_works(workspace: &Workspace, writer: &Writer) -> Result<(), String> {
    let seen = workspace.run("watch", &[]);
    if seen.status() != Some(0) || seen.stdout().contains("\"card_") {
        return Err(format!("watch does not like what is left\n{seen}"));
    }
    if writer.files_away() {
        return files_away_again(workspace, writer);
    }
    let cards = cards(workspace)?;
    let status = cards[writer.id].as_ref().map_or("", |card| card["status"].as_str().unwrap_or_default()).to_owned();
    let next = match (writer.id, &*status) {
        ("c", _) => return finishes(workspace),
        (_, "") => workspace.run("card", &["create", writer.id, "--task-type", "t", "--title", "x"]),
        (_, "completed" | "failed" | "cancelled") => return Ok(()),
        (_, "needs_attention") => workspace.run("card", &["approve", writer.id]),
        _ => workspace.run("checkpoint", &[writer.id, "--message", "next"]),
    };
    if next.status() != Some(0) || !next.stderr().is_empty() {
        return Err(format!("the next command does not work\n{next}"));
    }
    if workspace.card_path(&format!("{}.json.tmp", writer.id)).exists() {
        return Err(format!("a temporary file is left\n{next}"));
    }
    let history = fs::read_to_string(workspace.card_path(&format!("history/{}.jsonl", writer.id))).unwrap_or_default();
    let whole = history.ends_with('\n') && history.lines().all(|line| serde_json::from_str::<Value>(line).is_ok());
    if whole { Ok(()) } else { Err(format!("the history is torn: {history:?}\n{next}")) }
}

/// The same command, and with it everything of the task is where it belongs.
fn files_away_again(workspace: &Workspace, writer: &Writer) -> Result<(), String> {
    let id = writer.id;
    let shown = workspace.run("card", &["show", id]);
    let deleted = cards(workspace)?[id].is_none();
    if deleted && id == "d" || shown.status() != Some(if deleted { 66 } else { 0 }) {
        return Err(format!("no reader finds it\n{shown}"));
    }
    let log = workspace.run("card", &["log", id]);
    if id == "d" && log.stdout() != HISTORY {
        return Err(format!("its history is not what it was\n{log}"));
    }
    let args: Vec<&str> = writer.args.iter().map(String::as_str).collect();
    let again = workspace.run("card", &args);
    let logs = |kind| format!("logs/{id}/1.{kind}");
    let files = [format!("{id}.json"), format!("history/{id}.jsonl"), logs("in"), logs("out"), logs("err")];
    let filed = |file: &String| workspace.card_path(&format!("archive/{file}")).exists();
    let well = files.iter().all(|file| !workspace.card_path(file).exists() && filed(file) == (id == "d"));
    let cleaned = !args.contains(&"--cleanup") || !workspace.path("cleanup").exists();
    if again.status() != Some(0) || !again.stderr().is_empty() || !well || !cleaned {
        return Err(format!("the same command again does not finish it\n{again}"));
    }
    let create = workspace.run("card", &["create", id, "--task-type", "t", "--title", "x"]);
    let expected = if id == "d" { 73 } else { 0 };
    if create.status() == Some(expected) { Ok(()) } else { Err(format!("{expected} was expected\n{create}")) }
}

/// An attempt may have been cut anywhere; whoever comes next finishes the task.
fn finishes(workspace: &Workspace) -> Result<(), String> {
    let start = Instant::now();
    loop {
        if cards(workspace)?["c"].as_ref().is_some_and(|card| card["status"] == "completed") {
            return Ok(());
        }
        drop(workspace.run("card", &["approve", "c"]));
        let ran = workspace.run("resume", &["c"]);
        if ran.status() != Some(0) || start.elapsed() > Duration::from_secs(NEXT_SECONDS) {
            return Err(format!("the next attempt does not finish the task\n{ran}"));
        }
    }
}

/// Whether a command under strace was killed: strace then ends itself in the same way.
pub fn was_killed(ran: &Ran<'_>) -> bool {
    ran.exit().signal() == Some(9) || ran.status() == Some(137)
}
