//! The programs that read standard input, for real.

use std::fs;
use std::io::Write;
use std::process::{Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Map, Value};
use tests::Workspace;

use super::readers::{PROTECTED, is_answer, unchanged};
use super::{ANSWERS, ID, examine, mutation, records, slices};
use crate::malformed::cards;
use crate::malformed::oracle::{self, Read};
use crate::mutator::shown;

/// A program that takes longer hangs.
const HANG: Duration = Duration::from_secs(120);
/// Passes that only look, and their records.
const DRY: (u64, u64) = (4, 2000);
/// Passes that would start something if anything were to be started: each task that is named is a process.
const WET: (u64, u64) = (10, 30);
const CHECKPOINTS: u64 = 300;
const PUTS: u64 = 300;
/// Sound records of each pass.
const SOUND: u64 = 10;

/// How a program ended: its status (none for a signal), stdout, stderr.
type Ended = (Option<i32>, String, String);
/// Runs a program with this on its standard input.
type Feed = fn(&Workspace, &str, &[&str], &[u8]) -> Result<Ended, String>;

/// Returns the number of mutations.
pub(super) fn run(seed: u64) -> Result<u64, String> {
    (0..DRY.0).try_for_each(|pass| resume(seed, pass, DRY.1, true, feed))?;
    (0..WET.0).try_for_each(|pass| resume(seed, DRY.0 + pass, WET.1, false, feed))?;
    writes(seed, CHECKPOINTS, checkpoint, feed)?;
    writes(seed, PUTS, put, feed)?;
    Ok(DRY.0 * DRY.1 + WET.0 * WET.1 + CHECKPOINTS + PUTS)
}

/// Returns the number of broken programs, all of which were noticed.
pub(super) fn control(seed: u64) -> Result<usize, String> {
    let panics: Feed = |workspace, program, args, bytes| {
        let (status, stdout, stderr) = feed(workspace, program, args, bytes)?;
        Ok((if status == Some(65) { Some(101) } else { status }, stdout, stderr))
    };
    let loses: Feed = |workspace, program, args, bytes| {
        let (status, stdout, stderr) = feed(workspace, program, args, bytes)?;
        Ok((status, stdout.lines().filter(|line| !line.contains("sound_9")).map(|line| format!("{line}\n")).collect(), stderr))
    };
    let writes_all: Feed = |workspace, program, args, bytes| {
        let ended = feed(workspace, program, args, bytes)?;
        fs::write(workspace.card_path(&format!("{ID}.json")), bytes).map_err(|error| error.to_string())?;
        Ok(ended)
    };
    let refuses: Feed = |_, program, _, _| Ok((Some(65), String::new(), format!("{program}: no\n")));
    let noticed = [
        ("resume that panics", resume(seed, 0, 100, true, panics)),
        ("resume that loses a record", resume(seed, 0, 100, true, loses)),
        ("checkpoint that panics", writes(seed, 30, checkpoint, panics)),
        ("checkpoint that writes what it is given", writes(seed, 30, checkpoint, writes_all)),
        ("card put that writes what it is given", writes(seed, 30, put, writes_all)),
        ("checkpoint that refuses everything", writes(seed, 30, checkpoint, refuses)),
        ("card put that refuses everything", writes(seed, 30, put, refuses)),
    ];
    for (name, outcome) in &noticed {
        if outcome.is_ok() {
            return Err(format!("a {name} was not noticed"));
        }
    }
    Ok(noticed.len())
}

fn feed(workspace: &Workspace, program: &str, args: &[&str], bytes: &[u8]) -> Result<Ended, String> {
    let mut command = workspace.command(program);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("{program}: {error}"))?;
    let pid = child.id();
    let (sender, receiver) = mpsc::channel();
    let input = child.stdin.take();
    let bytes = bytes.to_vec();
    // Two threads: a program that answers before it has read all must not wait for this one.
    std::thread::spawn(move || input.map(|mut input| input.write_all(&bytes)));
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    match receiver.recv_timeout(HANG) {
        Ok(output) => output.map(ended).map_err(|error| error.to_string()),
        Err(_) => {
            // It is a child that nobody has reaped yet: the number is still its own.
            i32::try_from(pid).map(|pid| kill(Pid::from_raw(pid), Signal::SIGKILL).ok()).ok();
            Err(format!("{program} hangs"))
        }
    }
}

fn ended(output: Output) -> Ended {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// A pass over sound and broken records: every sound one is answered once, no card changes.
fn resume(seed: u64, pass: u64, count: u64, dry: bool, feed: Feed) -> Result<(), String> {
    let workspace = Workspace::new();
    let others = ["t", "report_1", "x.y-2"];
    let sound: Vec<String> = (0..SOUND).map(|number| format!("sound_{number}")).collect();
    let ids: Vec<&str> = others.into_iter().chain(sound.iter().map(String::as_str)).collect();
    for id in &ids {
        // Nothing is to be started but what is only looked at.
        let card = if dry { cards::SILENT } else { cards::HEALTHY };
        workspace.put_card(id, &cards::named(card, id).replace("\"done_1\"", ""));
    }
    let texts = records(&others);
    let mut bytes = Vec::new();
    for number in 0..count {
        bytes.extend(mutation(seed, (1 << 43) + pass * count + number, &slices(&texts)));
        bytes.push(b'\n');
        if number % (count / SOUND) == 1 {
            let sound = &sound[usize::try_from(number / (count / SOUND)).expect("a few")];
            bytes.extend_from_slice(format!("{{\"signal\":\"alert\",\"task_id\":\"{sound}\"}}\n").as_bytes());
        }
    }
    let card = |id: &str| fs::read(workspace.card_path(&format!("{id}.json"))).unwrap_or_default();
    let before: Vec<Vec<u8>> = ids.iter().map(|id| card(id)).collect();
    examine(seed, (1 << 43) + pass, &bytes, |bytes| {
        let args: &[&str] = if dry { &["--dry-run", "--now", cards::NOW] } else { &["--now", cards::NOW, "--jobs", "4"] };
        let (status, stdout, stderr) = feed(&workspace, "resume", args, bytes)?;
        // Something could not be read, or a task that was named is not there.
        if !matches!(status, Some(0 | 65 | 66)) || stderr.contains("panicked") {
            return Err(format!("resume ended with {status:?}: {}", shown(stderr.as_bytes())));
        }
        let lines: Vec<Value> = stdout
            .lines()
            .map(|line| serde_json::from_str(line).map_err(|error| format!("{error}: {line}")))
            .collect::<Result<_, _>>()?;
        for id in &sound {
            let own: Vec<&Value> = lines.iter().filter(|line| line["task_id"] == **id).collect();
            let signal = if dry { "dry_run" } else { "skipped" };
            if own.len() != 1 || own[0]["signal"] != signal {
                return Err(format!("the sound record of {id} was answered with {own:?}"));
            }
        }
        if let Some((id, _)) = ids.iter().zip(&before).find(|(id, before)| card(id) != **before) {
            return Err(format!("the card {id} was changed: {}", shown(&card(id))));
        }
        let watch = workspace.run("watch", &["--now", cards::NOW]);
        if watch.status() != Some(0) || !watch.stderr().is_empty() {
            return Err(format!("afterwards watch ends with {}: {}", watch.exit(), watch.stderr()));
        }
        Ok(())
    })
}

/// What a program that writes one card did with what it was fed: its input, the card before and after.
type Judge = fn(&[u8], &[u8], &[u8]) -> Result<(), String>;
/// A program that writes one card: its name, arguments, texts to be mutated, and what it may do.
type Writer = (&'static str, &'static [&'static str], Vec<String>, Judge);

fn checkpoint() -> Writer {
    let texts = ANSWERS.iter().map(|answer| (*answer).to_owned()).collect();
    let judge: Judge = |input, before, after| match is_answer(input) {
        true => unchanged(before, after, PROTECTED),
        false => Err("what is no answer was recorded".to_owned()),
    };
    ("checkpoint", &[ID, "-", "--now", cards::NOW], texts, judge)
}

fn put() -> Writer {
    let texts = vec![cards::named(cards::SILENT, ID), cards::named(cards::SILENT, ID).replace("collect", "send")];
    let judge: Judge = |input, before, after| {
        let (Read::Card(given), Read::Card(after_card)) = (oracle::read(input, ID), oracle::read(after, ID)) else {
            return Err("what is no card was taken".to_owned());
        };
        let differs = |name: &&&str| given.get(**name) != after_card.get(**name);
        match ["status", "phase", "allow_auto_resume", "steps", "outcome"].iter().find(differs) {
            Some(name) if after != before && given.get("status").is_none_or(|status| status != "done" && status != "blocked") => {
                Err(format!("{name} is not as it was given"))
            }
            _ if revision(&given) != 7 => Err("an edit of another revision was taken".to_owned()),
            _ => unchanged(before, after, &["task_id", "run", "attempt"]),
        }
    };
    ("card", &["put", ID, "--now", cards::NOW], texts, judge)
}

fn revision(card: &Map<String, Value>) -> u64 {
    card.get("revision").and_then(Value::as_u64).unwrap_or_default()
}

fn writes(seed: u64, count: u64, writer: fn() -> Writer, feed: Feed) -> Result<(), String> {
    let (program, args, texts, judge) = writer();
    let workspace = Workspace::new();
    let before = cards::named(cards::SILENT, ID);
    let sibling = cards::named(cards::SILENT, "sibling");
    let mut taken = 0;
    workspace.put_card("sibling", &sibling);
    for number in 0..count {
        workspace.put_card(ID, &before);
        let number = (1 << 44) + number;
        examine(seed, number, &mutation(seed, number, &slices(&texts)), |bytes| {
            let (status, stdout, stderr) = feed(&workspace, program, args, bytes)?;
            let after = fs::read(workspace.card_path(&format!("{ID}.json"))).unwrap_or_default();
            let complained = stderr.lines().count() == 1 && stderr.starts_with(&format!("{program}: "));
            match status {
                // 75: another revision than the card's. 77: what may not be changed so.
                Some(65 | 77) | Some(75) if !(complained && stdout.is_empty()) => {
                    Err(format!("{program} exits with {status:?} and says {}{}", stdout, shown(stderr.as_bytes())))
                }
                Some(65 | 77) | Some(75) if after != before.as_bytes() => {
                    Err(format!("{program} exits with {status:?} and leaves {}", shown(&after)))
                }
                Some(65 | 77) => Ok(()),
                Some(75) if program == "card" => Ok(()),
                Some(0) => {
                    taken += 1;
                    judge(bytes, before.as_bytes(), &after)
                }
                _ => Err(format!("{program} ended with {status:?}: {}", shown(stderr.as_bytes()))),
            }
        })?;
    }
    let after = fs::read_to_string(workspace.card_path("sibling.json")).unwrap_or_default();
    if after != sibling {
        return Err(format!("{program} changed another card: {after}"));
    }
    if taken < count / 30 {
        return Err(format!("{program} took {taken} of {count} inputs, so that nothing is proved"));
    }
    Ok(())
}
