//! The layer `malformed-cards`: cards that are broken in every way that could be thought of, and in a million that nobody did.
//!
//! In this process the programs' own reader and judge (`shared`) get mutations of realistic cards,
//! and are held against a second reader (`oracle`) and a second judge (`due`): both must say the
//! same of every one. So nothing is started unless it is provably to be started, and nothing that
//! is to be started is hidden. Through the real programs go a list by hand (`odd`), and folders of
//! mutated cards among healthy silent ones (`batch`).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use shared::adapter;
use shared::card::{Card, CardError, Fault};
use shared::document::Document;
use shared::time::Timestamp;
use shared::verdict::{self, Dependencies, Facts, Request, Verdict};

use crate::mutator::{mutate, shown};
use crate::random::Random;
use crate::{Context, Outcome, Passed};

mod batch;
pub(crate) mod cards;
mod controls;
mod due;
mod odd;
pub(crate) mod oracle;
mod times;

use due::{Start, World};
use oracle::Read;

const MUTATIONS: u64 = 1_000_000;
const THREADS: u64 = 2;
/// One mutation that takes longer hangs.
const HANG: Duration = Duration::from_secs(60);
/// The ID of every card in this process.
const ID: &str = "t";

/// What is tested: the programs' own code, or a stand-in that is broken on purpose.
#[derive(Clone, Copy)]
pub(crate) struct Subject {
    /// Reads what a verdict needs.
    partial: fn(&[u8], &str) -> Result<Card, CardError>,
    /// Reads everything.
    whole: fn(&[u8], &str) -> Result<Card, CardError>,
    /// What `watch` would say to start, and why.
    start: fn(&[u8], &str, &Facts, Timestamp) -> Option<&'static str>,
}

const REAL: Subject = Subject {
    partial: Card::parse,
    whole: |bytes, id| Document::parse(bytes, id).map(|(_, card)| card),
    start: |bytes, id, facts, now| {
        let card = Card::parse(bytes, id).ok()?;
        let reason = started(&card, facts, now)?;
        Document::validate(bytes, id).ok().map(|()| reason)
    },
};

/// What the programs' verdict says to start.
pub(crate) fn started(card: &Card, facts: &Facts, now: Timestamp) -> Option<&'static str> {
    let mut facts = facts.clone();
    facts.adapter = adapter::usability(card, Path::new("/"));
    facts.dependencies = dependencies(card);
    match verdict::judge(card, &facts, Request::Pass, now) {
        Verdict::Alert(due) => Some(due.reason),
        Verdict::Ready => Some("ready"),
        Verdict::Quiet(_) | Verdict::Attention(_) => None,
    }
}

fn dependencies(card: &Card) -> Dependencies {
    let mut found = Dependencies::default();
    for id in card.depends_on() {
        match id.as_str() {
            due::DONE | ID => {}
            due::OPEN => found.unfinished.push(id.clone()),
            _ => found.missing.push(id.clone()),
        }
    }
    found
}

/// How often what was found, so that nobody believes a check that saw nothing.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    cards: u64,
    started: u64,
}

/// Runs all of it.
pub(crate) fn run(context: &Context) -> Outcome {
    let odd = odd::run()?;
    let batch = batch::run(context.seed)?;
    let tally = in_process(context.seed)?;
    Ok(Passed::Done(format!(
        "{odd} odd cards and {batch} mutated ones through the programs; {MUTATIONS} mutations, {} of them cards, {} to be started",
        tally.cards, tally.started
    )))
}

/// Runs it on what is broken on purpose.
pub(crate) fn control(context: &Context) -> Outcome {
    controls::run(context.seed).map(Passed::Done)
}

fn in_process(seed: u64) -> Result<Tally, String> {
    let (sender, receiver) = mpsc::channel();
    let counters: Arc<Vec<AtomicU64>> = Arc::new((0..THREADS).map(|_| AtomicU64::new(0)).collect());
    let stop = Arc::new(AtomicBool::new(false));
    for thread in 0..THREADS {
        let (sender, counters, stop) = (sender.clone(), Arc::clone(&counters), Arc::clone(&stop));
        let own = usize::try_from(thread).expect("a few threads");
        std::thread::spawn(move || {
            let mut tally = Tally::default();
            let seeds = Seeds::new();
            let mut numbers = (thread..MUTATIONS).step_by(usize::try_from(THREADS).expect("a few threads"));
            let failed = numbers.find_map(|number| {
                if stop.load(Ordering::Relaxed) {
                    return Some(String::new());
                }
                counters[own].store(number, Ordering::Relaxed);
                examine(&REAL, &seeds, seed, number, &mut tally).err()
            });
            // Nobody listens any more after the first failure.
            sender.send((own, failed.map_or(Ok(tally), Err))).ok();
        });
    }
    let mut total = Tally::default();
    let mut running: Vec<usize> = (0..counters.len()).collect();
    let mut last: Vec<(u64, Instant)> = vec![(u64::MAX, Instant::now()); counters.len()];
    while !running.is_empty() {
        match receiver.recv_timeout(Duration::from_secs(1)) {
            Ok((own, Ok(tally))) => {
                running.retain(|thread| *thread != own);
                total.cards += tally.cards;
                total.started += tally.started;
            }
            Ok((_, Err(why))) => {
                stop.store(true, Ordering::Relaxed);
                return Err(why);
            }
            Err(_) => {}
        }
        for thread in &running {
            let number = counters[*thread].load(Ordering::Relaxed);
            if last[*thread].0 != number {
                last[*thread] = (number, Instant::now());
            } else if last[*thread].1.elapsed() > HANG {
                let (_, _, bytes) = Seeds::new().mutation(seed, number);
                return Err(failure(seed, number, &bytes, "it hangs"));
            }
        }
    }
    if total.cards < MUTATIONS / 20 || total.started < MUTATIONS / 100 {
        return Err(format!("the mutator breaks nearly everything, so that nothing is proved: {total:?}"));
    }
    Ok(total)
}

/// The texts that are mutated.
pub(crate) struct Seeds {
    texts: Vec<Vec<u8>>,
}

impl Seeds {
    /// Each state, and each card of the fixtures that is not too large to be quick.
    pub(crate) fn new() -> Self {
        let mut texts: Vec<Vec<u8>> = cards::CARDS.iter().map(|(card, _)| cards::named(card, ID).into_bytes()).collect();
        let folder = tests::root().join("tests/fixtures/cards/valid");
        let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            if text.len() < 4096 {
                texts.push(text.replace(&format!("\"{stem}\""), &format!("\"{ID}\"")).into_bytes());
            }
        }
        Self { texts }
    }

    /// The mutation of this number: of which text, and its bytes; also the randomness that is left for the rest.
    fn mutation(&self, seed: u64, number: u64) -> (usize, Random, Vec<u8>) {
        let mut random = Random::new(seed, number);
        let others: Vec<&[u8]> = self.texts.iter().map(Vec::as_slice).collect();
        // Those that are near a start come more often.
        let of = if random.one_in(4) { random.below(self.texts.len()) } else { random.below(cards::CARDS.len()) };
        let bytes = mutate(&self.texts[of], &others, &mut random);
        (of, random, bytes)
    }
}

fn failure(seed: u64, number: u64, bytes: &[u8], why: &str) -> String {
    let path = std::env::temp_dir().join(format!("proof-malformed-{seed}-{number}.json"));
    let saved = std::fs::write(&path, bytes).map_or_else(|error| error.to_string(), |()| path.display().to_string());
    format!("{why}\n  mutation {number} of --seed {seed}, saved as {saved}: {}", shown(bytes))
}

/// Mutation `number`, with all that must hold of it.
fn examine(subject: &Subject, seeds: &Seeds, seed: u64, number: u64, tally: &mut Tally) -> Result<(), String> {
    let (_, mut random, bytes) = seeds.mutation(seed, number);
    let world = world(&mut random);
    let checked = catch_unwind(AssertUnwindSafe(|| check(subject, &bytes, &world, number.is_multiple_of(4))));
    match checked {
        Ok(Ok(one)) => {
            tally.cards += one.cards;
            tally.started += one.started;
            Ok(())
        }
        Ok(Err(why)) => Err(failure(seed, number, &bytes, &format!("{why}\n  with {world:?}"))),
        Err(_) => Err(failure(seed, number, &bytes, "a panic")),
    }
}

/// Most of the time nothing lives.
fn world(random: &mut Random) -> World {
    let mut world = World::quiet("here", Path::new("/"));
    match random.below(10) {
        0 => world.attempt_alive = true,
        1 => (world.attempt_alive, world.last_output) = (true, Some(world.now - 45 * 60_000)),
        2 => world.supervisor_alive = true,
        3 => world.awake_since = Some(world.now - 10 * 60_000),
        4 => world.last_output = Some(world.now - 60_000),
        _ => {}
    }
    world
}

fn facts(world: &World) -> Facts {
    let time = |ms: Option<i64>| ms.map(Timestamp::from_unix_ms);
    Facts {
        host: world.host.clone(),
        supervisor_alive: world.supervisor_alive,
        attempt_alive: world.attempt_alive,
        forerunner_alive: false,
        last_output: time(world.last_output),
        awake_since: time(world.awake_since),
        asleep_seconds: 0.0,
        adapter: adapter::Usability::Usable,
        dependencies: Dependencies::default(),
    }
}

fn check(subject: &Subject, bytes: &[u8], world: &World, adopted_too: bool) -> Result<Tally, String> {
    let facts = facts(world);
    let now = Timestamp::from_unix_ms(world.now);
    let partial = (subject.partial)(bytes, ID);
    let whole = (subject.whole)(bytes, ID);
    let validated = Document::validate(bytes, ID);
    let start = (subject.start)(bytes, ID, &facts, now);
    match (&partial, &whole) {
        (Err(one), Err(other)) if one == other => {}
        (Ok(one), Ok(other)) if one == other => {}
        // The whole parse may refuse more; then the second reader refuses it, too, below.
        (Ok(_), Err(_)) => {}
        _ => return Err(format!("the partial parse says {partial:?}, the whole one {whole:?}")),
    }
    if whole.as_ref().err() != validated.as_ref().err() {
        return Err(format!("the whole parse says {whole:?}, validation {validated:?}"));
    }
    let read = oracle::read(bytes, ID);
    let agreed = match (&read, &whole) {
        (Read::Card(_), Ok(_)) => true,
        (Read::None(_), Err(error)) => {
            error.fault == Fault::Invalid
                || (error.fault == Fault::UnknownVersion && serde_json::from_slice::<Value>(bytes).is_err())
        }
        (Read::OtherVersion, Err(_)) => true,
        _ => false,
    };
    if !agreed {
        return Err(format!("the second reader says {read:?}, the programs {whole:?}"));
    }
    let expected = match &read {
        Read::Card(object) => {
            if let Ok(card) = &whole {
                same_fields(card, object)?;
            }
            due::decide(object, world)
        }
        Read::None(_) | Read::OtherVersion => Start::Not,
    };
    let as_expected = |start: Option<&str>| match expected {
        Start::For(reason) => start == Some(reason),
        Start::Not => start.is_none(),
        Start::Either => true,
    };
    if !as_expected(start) {
        return Err(format!("the programs would start it for {start:?}, the second judge says {expected:?}"));
    }
    if adopted_too && let Ok((mut document, _)) = Document::parse(bytes, ID) {
        document.adopt();
        let bytes = document.bytes();
        let start = (subject.start)(&bytes, ID, &facts, now);
        if Document::validate(&bytes, ID).is_err() || (!as_expected(start) && !has_part_seconds(&bytes, &read)) {
            return Err(format!("as it would be written it is another card: {}", shown(&bytes)));
        }
    }
    Ok(Tally { cards: u64::from(whole.is_ok()), started: u64::from(start.is_some()) })
}

/// Whether times lost their milliseconds when the card got today's form: then a limit may lie in between.
fn has_part_seconds(written: &[u8], read: &Read) -> bool {
    let Read::Card(object) = read else { return false };
    let times = |value: &Value| value.to_string().matches('.').count();
    let now: Option<Value> = serde_json::from_slice(written).ok();
    now.is_some_and(|now| times(&now) < times(&Value::Object(object.clone())))
}

/// What the programs' card says is what the plain values say.
fn same_fields(card: &Card, object: &Map<String, Value>) -> Result<(), String> {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let count = |name: &str| object.get(name).and_then(Value::as_u64).unwrap_or_default();
    let ms = |value: Option<&Value>| value.and_then(Value::as_str).and_then(times::unix_ms);
    let time = |time: Option<Timestamp>, name: &str| time.map(Timestamp::unix_ms) == ms(object.get(name));
    let run = object.get("run");
    let of_run = |name: &str| run.and_then(|run| run.get(name)).and_then(Value::as_u64);
    let status = match text("status") {
        "done" => "completed",
        "blocked" => "needs_attention",
        other => other,
    };
    let same = card.status.as_str() == status
        && card.phase == text("phase")
        && card.title == text("title")
        && card.task_type == text("task_type")
        && card.permit.as_deref() == object.get("permit").and_then(Value::as_str)
        && card.resume_adapter.as_deref() == object.get("resume_adapter").and_then(Value::as_str)
        && card.allow_auto_resume == (object.get("allow_auto_resume") == Some(&Value::Bool(true)))
        && [("revision", card.revision), ("retry_count", card.retry_count), ("failures", card.failures), ("attempt", card.attempt)]
            .iter()
            .all(|(name, value)| *value == count(name))
        && time(card.created_at, "created_at")
        && time(card.updated_at, "updated_at")
        && time(card.last_checkpoint_at, "last_checkpoint_at")
        && time(card.approved_at, "approved_at")
        && time(card.not_before, "not_before")
        && card.outcome.as_ref().map(|outcome| outcome.at.unix_ms())
            == ms(object.get("outcome").and_then(|outcome| outcome.get("at")))
        && card.run.as_ref().map(|run| run.started_at.unix_ms()) == ms(run.and_then(|run| run.get("started_at")))
        && card.run.as_ref().map(|run| run.attempt) == of_run("attempt")
        && card.run.as_ref().map(|run| run.pid) == of_run("pid")
        && card.depends_on() == oracle::depends_on(object);
    same.then_some(()).ok_or_else(|| format!("the card was read as {card:?}"))
}
