//! What tasks, attempts and agents are like: drawn from a world's chance.

use shared::answer::Answer;
use shared::card::{Card, Status};
use shared::document::Document;
use shared::entry::Entry;
use shared::time::Timestamp;

use super::chance::Chance;
use super::machine::{HOUR, MINUTE, Moment, SECOND};
use super::task::{Crash, End, Obeys, Process, Work};

/// A card as `card create`, or an agent that began to work, leaves it.
pub(super) fn card(chance: &mut Chance, id: &str, now: Timestamp, pending: bool) -> Document {
    let plain = chance.one_in(8);
    let mut card = Document::new(serde_json::Map::new());
    card.set("schema_version", 1);
    card.set("revision", 1);
    card.set("task_id", id);
    card.set("task_type", "simulated");
    card.set_time("created_at", now);
    card.set("status", if pending || plain { "pending" } else { "running" });
    card.set("phase", "p0");
    if plain {
        card.set("resume_argv", vec!["make", "data"]);
        card.set("timeout_seconds", chance.between(600, 40_000));
    } else {
        card.set("resume_adapter", "/a");
        card.set("stale_after_minutes", chance.pick(&[0, 5, 20, 45, 90, 240, 480, 720]));
        if chance.one_in(2) {
            card.set("timeout_seconds", chance.pick(&[120, 900, 3600, 14_400, 0]));
        }
        card.set("manual_phases", vec!["send"]);
    }
    card.set("allow_auto_resume", !chance.one_in(10));
    if chance.one_in(2) {
        card.set("max_retries", chance.pick(&[0, 1, 2, 5, 8]));
    }
    if chance.one_in(2) {
        card.set("max_failures", chance.between(1, 12));
    }
    card.set("cooldown_seconds", chance.pick(&[0, 15, 300, 1800, 3600]));
    card.set("give_up_after_minutes", chance.pick(&[0, 600, 4320]));
    card
}

/// A new attempt's leader, and perhaps a process that it starts.
pub(super) fn attempt(chance: &mut Chance, card: &Card, key: u64, token: &str, now: Moment) -> Vec<Process> {
    let stale = shared::time::ms(card.stale_after_minutes() * 60.0);
    let timeout = shared::time::ms(card.timeout_seconds());
    let acts = chance.below(5);
    let mut pause = if stale > 0 { stale * 2 / 5 } else { HOUR };
    if timeout > 0 && !chance.one_in(8) {
        pause = pause.min(timeout / (acts + 2) / 2);
    }
    let holds_lock = !chance.one_in(10);
    let work = Work { acts, pause: pause.max(SECOND), end: end(chance, card), active: now };
    let leader = Process {
        key,
        number: card.attempt,
        token: token.to_owned(),
        holds_lock,
        carries_cookie: !chance.one_in(if holds_lock { 20 } else { 2 }),
        obeys: obeys(chance),
        settled: false,
        work: Some(work),
    };
    let mut processes = vec![leader.clone()];
    if chance.one_in(5) {
        let child = Process {
            key: key + 1,
            holds_lock: chance.one_in(2),
            carries_cookie: true,
            obeys: obeys(chance),
            work: None,
            ..leader
        };
        processes.push(child);
    }
    processes
}

fn obeys(chance: &mut Chance) -> Obeys {
    match chance.below(40) {
        0..=29 => Obeys::Term(chance.between(5, 3000)),
        30..=38 => Obeys::Kill,
        _ => Obeys::Nothing,
    }
}

fn end(chance: &mut Chance, card: &Card) -> End {
    if card.is_plain_command() {
        return match chance.below(10) {
            0..=3 => End::Exits(0, None, false),
            4..=6 => End::Exits(2, None, false),
            7 => End::Killed(9),
            _ => End::Hangs,
        };
    }
    let answer = Answer::default;
    let says = |code, answer, is_new| End::Exits(code, Some(Box::new(answer)), is_new);
    let wait = |chance: &mut Chance| chance.one_in(2).then(|| f64::from(i32::try_from(chance.between(1, 90_000)).unwrap_or(1)));
    match chance.below(32) {
        0..=8 => says(0, answer(), true),
        9..=12 => says(0, Answer { again: true, ..answer() }, !chance.one_in(4)),
        13 => says(0, Answer { status: Some(Status::Completed), ..answer() }, false),
        14 => says(0, Answer { status: Some(Status::Stalled), retry_after_seconds: wait(chance), ..answer() }, true),
        15 => says(0, Answer { status: Some(Status::NeedsAttention), ..answer() }, chance.one_in(2)),
        16 => says(0, Answer { status: Some(Status::Failed), ..answer() }, false),
        17 | 18 => End::Exits(0, None, false),
        19 => End::HandsOver,
        20 | 21 => says(75, Answer { retry_after_seconds: wait(chance), ..answer() }, chance.one_in(4)),
        22 => End::Exits(78, None, false),
        23..=25 => End::Exits(1, None, false),
        26 => End::Killed(11),
        27 | 28 => End::Hangs,
        29 => End::Floods,
        30 => End::EntersManualPhase(chance.one_in(2)),
        _ => End::Decides(chance.pick(&[Status::Completed, Status::Failed, Status::NeedsAttention, Status::Cancelled])),
    }
}

/// When the supervisor of a new claim is killed, if it is.
pub(super) fn crash(chance: &mut Chance) -> Crash {
    match chance.below(40) {
        0 => Crash::BeforeWrite,
        1 => Crash::AfterWrite,
        2 => Crash::BeforeSpawn,
        3..=6 => Crash::Meanwhile(chance.around(20 * MINUTE)),
        7 => Crash::BeforeSettle,
        _ => Crash::Never,
    }
}

/// Something that no card of the task holds yet: a message, an artifact, or a phase.
pub(super) fn novelty(chance: &mut Chance, number: u64) -> Entry {
    let entry = Entry::default();
    match chance.below(3) {
        0 => Entry { message: Some(format!("did {number}")), ..entry },
        1 => Entry { artifacts: vec![("data".to_owned(), format!("/data/{number}"))], ..entry },
        _ => Entry { next_phase: Some(format!("p{number}")), ..entry },
    }
}
