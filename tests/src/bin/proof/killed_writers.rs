//! Several writers at work on a few cards, and SIGKILL for some of them at a random time.
//!
//! After each round: a card is whole; its revision has not gone back, and has grown by no more
//! than the writes that were tried; what was acknowledged, in this round or in an earlier one, is
//! in the card, once, and in the history; no lock is held; and the next command works. The
//! history tells of every revision, or says that it lacks it (`history_gap`).
//!
//! The moments of the kills are spread over the time that a round takes, as measured in the rounds
//! before. A round is repeated by the seed as far as commands and victims go; the moment is the machine's.

use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use tests::Workspace;

use crate::checkpointer::{Checkpointer, acknowledged, program};
use crate::controlled::controlled;
use crate::random::Random;
use crate::{Context, Outcome, Passed};

mod card;

use card::{Card, Written};

const ROUNDS: usize = 3000;
/// Of the stand-in that is not broken.
const ROUNDS_OF_CONTROL: usize = 100;
/// The most writers of a round; two at least.
const WRITERS_MAX: usize = 8;
/// The most cards of a round.
const CARDS_MAX: usize = 3;
/// Rounds of one workspace.
const LIFE: usize = 20;

pub(crate) fn run(context: &Context) -> Outcome {
    let mut figures = Figures::default();
    hunt(context, Checkpointer::Real, ROUNDS, &mut figures)?;
    let Figures { rounds, writers, killed, answers, temporary, gaps } = figures;
    if killed < rounds / 2 || temporary == 0 {
        return Err(format!("the kills came too late: {killed} in {rounds} rounds, {temporary} in the middle of a write"));
    }
    Ok(Passed::Done(format!(
        "{rounds} rounds, {writers} writers, {killed} killed ({temporary} left half a write, {gaps} a noted gap), {answers} answers all kept"
    )))
}

pub(crate) fn control(context: &Context) -> Outcome {
    // Which of them shows first is chance.
    let broken = [
        ("lock", "revision|are counted as|the history has"),
        ("order", "acknowledged as revision"),
        ("place", "is torn|failed with"),
        ("history", "the history"),
    ];
    controlled(&broken, |mode| {
        let rounds = if mode == "sound" { ROUNDS_OF_CONTROL } else { ROUNDS };
        hunt(context, Checkpointer::Broken(mode), rounds, &mut Figures::default())
    })
}

#[derive(Debug, Default)]
struct Figures {
    rounds: usize,
    writers: usize,
    killed: usize,
    answers: usize,
    /// Killed between the creation of the temporary file and its rename.
    temporary: usize,
    /// Killed between the rename and the history.
    gaps: usize,
}

/// A command that was started.
struct Writer {
    child: Child,
    /// Which of the round's cards.
    card: usize,
    what: Written,
    started: Instant,
    /// When it is to be killed.
    due: Option<Instant>,
}

fn hunt(context: &Context, checkpointer: Checkpointer, rounds: usize, figures: &mut Figures) -> Result<(), String> {
    // How long a writer of a round takes, in microseconds: a running mean.
    let mut usual = 5000;
    while figures.rounds < rounds {
        let workspace = Workspace::new();
        let mut cards = Vec::new();
        for _ in 0..LIFE.min(rounds - figures.rounds) {
            let round = figures.rounds;
            let mut random = Random::new(context.seed, round as u64);
            cards.retain(|card: &Card| !card.is_done());
            while cards.len() < CARDS_MAX {
                cards.push(Card::create(&workspace, format!("r{round}c{}", cards.len())));
            }
            let failed =
                |what: String| format!("round {round}: {what} (--seed {}; see {})", context.seed, workspace.path("").display());
            if let Err(what) = one_round(&workspace, checkpointer, &mut cards, &mut random, &mut usual, figures) {
                let what = failed(what);
                // It is looked at by a person.
                std::mem::forget(workspace);
                return Err(what);
            }
            figures.rounds += 1;
        }
    }
    Ok(())
}

fn one_round(
    workspace: &Workspace,
    checkpointer: Checkpointer,
    cards: &mut [Card],
    random: &mut Random,
    usual: &mut usize,
    figures: &mut Figures,
) -> Result<(), String> {
    let count = 2 + random.below(WRITERS_MAX - 1);
    let shared = 1 + random.below(CARDS_MAX);
    let first_victim = random.below(count);
    let mut writers: Vec<Writer> = Vec::new();
    for number in 0..count {
        let card = random.below(shared);
        let (mut command, what) = command(workspace, checkpointer, &cards[card], number, random);
        let child = command.spawn().map_err(|error| error.to_string())?;
        let started = Instant::now();
        let delay = Duration::from_micros(random.below(*usual * 5 / 4) as u64);
        let is_victim = number == first_victim || random.below(3) == 0;
        writers.push(Writer { child, card, what, started, due: is_victim.then(|| started + delay) });
        kill_due(&mut writers);
    }
    while let Some(next) = writers.iter().filter_map(|writer| writer.due).min() {
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        kill_due(&mut writers);
    }
    let mut tried = vec![0; cards.len()];
    for Writer { child, card, what, started, .. } in writers {
        let output = child.wait_with_output().map_err(|error| error.to_string())?;
        tried[card] += 1;
        figures.writers += 1;
        match (output.status.code(), acknowledged(&output.stdout)) {
            // A whole answer is an answer, also when its writer was killed right after it.
            (Some(0) | None, Some(revision)) => {
                figures.answers += 1;
                cards[card].acknowledged(what, revision);
            }
            (None, None) => cards[card].unknown(what),
            (code, _) => cards[card].refused(code, &what, &String::from_utf8_lossy(&output.stderr))?,
        }
        if output.status.code().is_none() {
            figures.killed += 1;
        } else {
            *usual = (*usual * 15 + usize::try_from(started.elapsed().as_micros()).unwrap_or_default()) / 16;
        }
    }
    figures.temporary += cards.iter().filter(|card| card.has_temporary(workspace)).count();
    for (card, tried) in cards.iter_mut().zip(tried) {
        let checked =
            card.check(workspace, tried).and_then(|()| if tried > 0 { card.go_on(workspace, checkpointer) } else { Ok(()) });
        checked.map_err(|what| format!("{}: {what}", card.id()))?;
        figures.gaps += card.new_gaps();
    }
    let watch = program("watch", &workspace.path("")).output().map_err(|error| error.to_string())?;
    match watch.status.success() && !String::from_utf8_lossy(&watch.stdout).contains("\"card_") {
        true => Ok(()),
        false => Err(format!("watch: {}", shown(&watch))),
    }
}

/// Kills whose time has come. A child that is not waited for keeps its pid.
fn kill_due(writers: &mut [Writer]) {
    let now = Instant::now();
    for writer in writers.iter_mut().filter(|writer| writer.due.is_some_and(|due| due <= now)) {
        writer.due = None;
        drop(writer.child.kill());
    }
}

/// Any of the writing commands, and what it means to write.
fn command(
    workspace: &Workspace,
    checkpointer: Checkpointer,
    card: &Card,
    number: usize,
    random: &mut Random,
) -> (Command, Written) {
    let folder = workspace.path("");
    let name = card.new_name(number);
    let verb = |verb: &str, more: &[&str]| {
        let mut command = program("card", &folder);
        command.args([verb, card.id()]).args(more);
        command
    };
    match random.below(16) {
        0..8 => (checkpointer.command(&folder, card.id(), &name), Written::Message(name)),
        8..11 => (verb("update", &["--meta", &format!("{name}=1")]), Written::Meta(name)),
        11 => {
            let (text, meta) = card.with_meta(&name);
            let file = workspace.path("put.json");
            std::fs::write(&file, text).expect("a file for stdin");
            let mut put = verb("put", &[]);
            put.stdin(std::fs::File::open(&file).expect("the file"));
            // The next one is another file: this one may not be read yet.
            std::fs::remove_file(&file).expect("to unlink it");
            (put, meta)
        }
        12 => (verb("approve", &[]), Written::Other),
        13 => (verb("block", &["--reason", "r"]), Written::Other),
        14 => (verb("update", &["--title", &name]), Written::Other),
        _ => {
            let (word, status) = [("complete", "completed"), ("fail", "failed"), ("cancel", "cancelled")][random.below(3)];
            (verb(word, &[]), Written::Status(status))
        }
    }
}

fn shown(output: &Output) -> String {
    format!("{}: {}{}", output.status, String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
