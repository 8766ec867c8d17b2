//! The power is cut while writers run: whatever was acknowledged before is there afterwards, and each card is whole or absent.
//!
//! A copy of a live image would prove little: it is not of one moment, and a frozen or synced file
//! system has just made everything durable. So the file system lies on a disk of our own
//! (`disk.rs`) that notes every write and every cache flush. Each answer is noted, outside, with
//! the position of that log when it was read. After the run the medium is built as it was at 60
//! moments, half of them right after an answer (of a checkpoint, or of what files tasks away), a
//! quarter right before a flush: every write that was flushed, and of those since then, block by
//! block, none or some. What sat in the page cache only is missing. Each is mounted, so that the
//! file system repairs itself, and looked at.
//!
//! That this loses what is not synced is shown by the controls, which leave out one fsync each.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use serde_json::Value;
use tests::{Workspace, eventually};

use crate::checkpointer::{Checkpointer, acknowledged, program};
use crate::random::Random;
use crate::{Context, Outcome, Passed};

mod disk;
mod filing;

use disk::{Asked, BLOCK, Disk};
use filing::Said;

/// How often the power is cut.
const CUTS: usize = 60;
/// At the same time.
const WRITERS: usize = 2;
/// Of each writer.
const COMMANDS: usize = 150;
/// Shared by the writers.
const CARDS: usize = 6;

/// The control of what is filed away.
const FILING: &str = "filing";

/// What the controls must fail by: a file system that cannot be mounted any more, for one, proves nothing.
const LOSSES: [&str; 6] = ["is lost", "is torn", "is back", "is there twice", "was completed, and is", "is not in one place"];

/// A file system, and how it is made.
struct Kind {
    name: &'static str,
    bytes: usize,
    make: &'static [&'static str],
    /// Fsyncs of a checkpoint that are not left out without a loss there, and `filing`, which is done by a mere rename.
    controls: &'static [&'static str],
}

// Ext4 writes a file's data before the journal's entry of its rename: only that one must be asked for.
const EXT4: Kind = Kind {
    name: "ext4",
    bytes: 48 << 20,
    make: &["mkfs.ext4", "-q", "-F", "-J", "size=4", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"],
    controls: &["fsync", "folder-fsync", FILING],
};
const BTRFS: Kind = Kind {
    name: "btrfs",
    bytes: 128 << 20,
    make: &["mkfs.btrfs", "-q", "-f", "-K", "-m", "single", "-d", "single"],
    controls: &["fsync", "folder-fsync", "file-fsync", FILING],
};

pub(crate) fn ext4(context: &Context) -> Outcome {
    survives(context, &EXT4, None)
}

pub(crate) fn ext4_control(context: &Context) -> Outcome {
    control(context, &EXT4)
}

pub(crate) fn btrfs(context: &Context) -> Outcome {
    survives(context, &BTRFS, None)
}

pub(crate) fn btrfs_control(context: &Context) -> Outcome {
    control(context, &BTRFS)
}

fn control(context: &Context, kind: &Kind) -> Outcome {
    let mut noticed = Vec::new();
    for broken in kind.controls {
        match survives(context, kind, Some(broken)) {
            Ok(Passed::Done(what)) => return Err(format!("without {broken} nothing was lost: {what}")),
            Ok(skipped) => return Ok(skipped),
            Err(what) if LOSSES.iter().any(|loss| what.contains(loss)) => noticed.push(format!("without {broken}: {what}")),
            Err(what) => return Err(format!("without {broken} it fails, but not by a loss: {what}")),
        }
    }
    Ok(Passed::Done(noticed.join("; ")))
}

/// An answer, and how much the disk had been asked for when it was read.
#[derive(Debug)]
struct Answer {
    position: usize,
    id: String,
    revision: u64,
    message: Option<String>,
}

fn survives(context: &Context, kind: &Kind, broken: Option<&'static str>) -> Outcome {
    if !nix::unistd::Uid::effective().is_root() {
        return Ok(Passed::Skipped("it needs root".to_owned()));
    }
    for tool in [kind.make[0], "mount", "umount"] {
        if !std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).any(|folder| folder.join(tool).is_file()) {
            return Ok(Passed::Skipped(format!("{tool} is not installed")));
        }
    }
    let scratch = Workspace::new();
    let image = make(kind, &scratch.path("medium"));
    let disk = match Disk::serve(&scratch.path("disk"), image.clone()) {
        Ok(disk) => disk,
        Err(why) => return Ok(Passed::Skipped(why)),
    };
    let live = match Mounted::on(&scratch.path("disk"), &scratch.path("live"), kind) {
        Ok(live) => live,
        Err(why) => return Ok(Passed::Skipped(why)),
    };
    let begin = disk.position();
    // A control is of one thing: the fsyncs of others would make good what is left out.
    let (answers, said) = std::thread::scope(|scope| {
        let writes = scope.spawn(|| match broken {
            Some(FILING) => Vec::new(),
            broken => write(context, &disk, &live.0, broken.map_or(Checkpointer::Real, Checkpointer::Broken)),
        });
        let said = match broken {
            None | Some(FILING) => filing::work(&disk, &live.0, broken.is_some()),
            Some(_) => Vec::new(),
        };
        (writes.join().expect("no panic"), said)
    });
    let end = disk.position();
    drop(live);
    let log = disk.end();

    let mut random = Random::new(context.seed, 0);
    let flushes: Vec<usize> = (begin..end).filter(|at| matches!(log[*at], Asked::Flush)).collect();
    let spoken: [Vec<usize>; 2] =
        [answers.iter().map(|answer| answer.position).collect(), said.iter().map(|said| said.position).collect()];
    let mut cuts: Vec<usize> = (0..CUTS)
        .map(|cut| match cut % 4 {
            half @ (0 | 1) if !spoken[half].is_empty() => spoken[half][random.below(spoken[half].len())],
            2 if !flushes.is_empty() => flushes[random.below(flushes.len())],
            _ => begin + random.below(end + 1 - begin),
        })
        .collect();
    cuts.sort_unstable();
    if broken.is_none() && (flushes.is_empty() || answers.is_empty() || said.is_empty()) {
        return Err(format!("{} flushes, {} answers: that proves nothing", flushes.len(), answers.len() + said.len()));
    }
    let (mut medium, mut flushed, mut lost) = (image, 0, 0);
    for (number, cut) in cuts.into_iter().enumerate() {
        let flush = log[..cut].iter().rposition(|asked| matches!(asked, Asked::Flush)).unwrap_or(0).max(flushed);
        log[flushed..flush].iter().for_each(|asked| put(&mut medium, asked, |()| true));
        flushed = flush;
        let mut image = medium.clone();
        log[flush..cut].iter().for_each(|asked| {
            put(&mut image, asked, |()| {
                let kept = number % 2 == 0 && random.below(2) == 0;
                lost += usize::from(!kept);
                kept
            });
        });
        write_sparse(&scratch.path("medium"), &image);
        let before: Vec<&Answer> = answers.iter().filter(|answer| answer.position <= cut).collect();
        let mounted = Mounted::on(&scratch.path("medium"), &scratch.path("cut"), kind);
        let told: Vec<&Said> = said.iter().filter(|said| said.position <= cut).collect();
        let found = mounted.and_then(|mounted| check(&mounted.0, &before).and_then(|()| filing::check(&mounted.0, &told)));
        found.map_err(|what| {
            format!("cut {} of {CUTS}, after {cut} of {end} requests: {what} (--seed {})", number + 1, context.seed)
        })?;
    }
    Ok(Passed::Done(format!(
        "{CUTS} power cuts of {} in {} answers and while {} tasks were filed away, {lost} blocks lost from the disk's cache",
        kind.name,
        answers.len(),
        filing::TASKS
    )))
}

/// An empty file system.
fn make(kind: &Kind, path: &Path) -> Vec<u8> {
    File::create(path).and_then(|file| file.set_len(u64::try_from(kind.bytes).unwrap_or_default())).expect("a file for the image");
    let output = Command::new(kind.make[0]).args(&kind.make[1..]).arg(path).output().expect("it runs");
    assert!(output.status.success(), "{}: {}", kind.make[0], String::from_utf8_lossy(&output.stderr));
    fs::read(path).expect("the image")
}

/// Writers at work, until each has had its answers.
fn write(context: &Context, disk: &Disk, workspace: &Path, checkpointer: Checkpointer) -> Vec<Answer> {
    let answers = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let answers = &answers;
            scope.spawn(move || {
                let mut random = Random::new(context.seed, 1 + writer as u64);
                for number in 0..COMMANDS {
                    let id = format!("t{}", random.below(CARDS));
                    let (mut command, message) = if !workspace.join(format!("data/task-runs/{id}.json")).exists() {
                        let mut create = program("card", workspace);
                        create.args(["create", &id, "--task-type", "t", "--title", "x"]);
                        (create, None)
                    } else if random.below(8) == 0 {
                        let mut update = program("card", workspace);
                        update.args(["update", &id, "--meta", &format!("w{writer}={number}")]);
                        (update, None)
                    } else {
                        let message = format!("{number} by {writer}");
                        (checkpointer.command(workspace, &id, &message), Some(message))
                    };
                    let output = command.output().expect("it runs");
                    // Another writer may have created it meanwhile.
                    if let Some(revision) = acknowledged(&output.stdout).filter(|_| output.status.success()) {
                        let answer = Answer { position: disk.position(), id, revision, message };
                        answers.lock().expect("no panic").push(answer);
                    } else {
                        let exists = output.status.code() == Some(73) && message.is_none();
                        assert!(exists, "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
                    }
                }
            });
        }
    });
    answers.into_inner().expect("no panic")
}

/// Writes the blocks of a request that are kept.
fn put(image: &mut [u8], asked: &Asked, mut kept: impl FnMut(()) -> bool) {
    let Asked::Write { offset, data } = asked else { return };
    for (number, block) in data.chunks(BLOCK).enumerate() {
        let start = offset + number * BLOCK;
        if kept(()) {
            image[start..start + block.len()].copy_from_slice(block);
        }
    }
}

fn write_sparse(path: &Path, image: &[u8]) {
    let file = File::create(path).expect("a file for the image");
    file.set_len(image.len() as u64).expect("its length");
    for (number, block) in image.chunks(BLOCK).enumerate() {
        if block.iter().any(|byte| *byte != 0) {
            file.write_all_at(block, (number * BLOCK) as u64).expect("a block");
        }
    }
}

/// What is there after the power came back.
fn check(workspace: &Path, answers: &[&Answer]) -> Result<(), String> {
    let mut there = None;
    for id in (0..CARDS).map(|number| format!("t{number}")) {
        let path = workspace.join(format!("data/task-runs/{id}.json"));
        let acknowledged: Vec<&&Answer> = answers.iter().filter(|answer| answer.id == id).collect();
        let text = match fs::read(&path) {
            Err(error) if acknowledged.is_empty() && error.kind() == std::io::ErrorKind::NotFound => continue,
            text => text.map_err(|error| format!("{id} is lost: {error}"))?,
        };
        let card: Value = serde_json::from_slice(&text).map_err(|error| format!("{id} is torn ({} bytes): {error}", text.len()))?;
        for answer in acknowledged {
            let said = card["checkpoints"]
                .as_array()
                .is_some_and(|all| all.iter().any(|one| Some(one["message"].as_str()) == Some(answer.message.as_deref())));
            if card["revision"].as_u64() < Some(answer.revision) || (answer.message.is_some() && !said) {
                return Err(format!("{id} is at revision {}: {answer:?} is lost", card["revision"]));
            }
        }
        there = Some(id);
    }
    let Some(id) = there else { return Ok(()) };
    // Whoever comes next can go on.
    let next = Checkpointer::Real.command(workspace, &id, "after the power cut").output().expect("it runs");
    let log = program("card", workspace).args(["log", &id]).output().expect("it runs");
    let watch = program("watch", workspace).output().expect("it runs");
    let seen = String::from_utf8_lossy(&watch.stdout);
    if !(next.status.success() && log.status.success() && watch.status.success()) || seen.contains("\"card_") {
        return Err(format!("the next command does not work: {next:?} {log:?} {watch:?}"));
    }
    Ok(())
}

/// A mounted image.
struct Mounted(PathBuf);

impl Mounted {
    fn on(image: &Path, folder: &Path, kind: &Kind) -> Result<Self, String> {
        fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        let mut mount = Command::new("mount");
        let output = mount.args(["-t", kind.name, "-o", "loop,nodiscard"]).args([image, folder]).output();
        let output = output.map_err(|error| format!("mount: {error}"))?;
        match output.status.success() {
            true => Ok(Self(folder.to_owned())),
            false => Err(format!("{} cannot be mounted: {}", kind.name, String::from_utf8_lossy(&output.stderr).trim())),
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        eventually("it can be unmounted", || {
            Command::new("umount").arg(&self.0).output().is_ok_and(|output| output.status.success())
        });
    }
}
