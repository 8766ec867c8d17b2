//! Settling over its whole table: what the end of an attempt leaves in the card, and what is said about it.

use super::*;
use shared::entry::{Entry, Step};

use Ending::{Cancelled, Exited, Interrupted, Killed, ManualPhase, NotStarted, Silent, Timeout};

/// As a charged attempt was given it: `retry_count`/`failures` are 2/5.
const GIVEN: &str = r#"{
    "task_id":"t","created_at":"2026-11-30T10:00:00Z","updated_at":"2026-11-30T11:00:00Z","status":"running","phase":"collect",
    "resume_adapter":"/adapter","retry_count":2,"failures":5,"attempt":7,
    "checkpoints":[{"phase":"plan","at":"2026-11-30T10:10:00Z","message":"planned"},
                   {"phase":"collect","at":"2026-11-30T10:20:00Z","message":""},
                   {"phase":"collect","at":"2026-11-30T10:30:00Z","message":"100 of 1000"}],
    "artifacts":{"phase_collect":{"raw":"/raw"}},"steps":[{"name":"one","status":"done"},{"name":"two","status":"pending"}],
    "run":{"attempt":7,"token":"k","host":"here","pid":7,"started_at":"2026-11-30T11:00:00Z","charged":true}}"#;

/// An attempt, from the card that it was given to its end at 12:00.
struct Case {
    given: Document,
    meanwhile: fn(&mut Document),
    first_start: bool,
    why: Ending,
    answer: Result<Option<Answer>, String>,
    output_held: bool,
    left: Vec<i32>,
    now: Timestamp,
}

fn clock(time: &str) -> Timestamp {
    Timestamp::parse(&format!("2026-11-30T{time}Z")).unwrap().0
}

fn attempt(why: Ending) -> Case {
    let given = Document::parse(GIVEN.as_bytes(), "t").unwrap().0;
    let now = clock("12:00:00");
    Case { given, meanwhile: |_| (), first_start: false, why, answer: Ok(None), output_held: false, left: Vec::new(), now }
}

impl Case {
    /// Given a card with these fields.
    fn given(mut self, fields: &str) -> Self {
        let fields: Map<String, Value> = serde_json::from_str(&format!("{{{fields}}}")).unwrap();
        fields.into_iter().for_each(|(name, value)| self.given.set(&name, value));
        self
    }

    fn counted(self, retry_count: u64, failures: u64) -> Self {
        self.given(&format!(r#""retry_count":{retry_count},"failures":{failures}"#))
    }

    fn uncharged(mut self) -> Self {
        self.given.object_at("run").insert("charged".into(), false.into());
        self
    }

    fn first_start(self) -> Self {
        Self { first_start: true, ..self.uncharged().counted(0, 0) }
    }

    fn plain_command(mut self) -> Self {
        self.given.remove("resume_adapter");
        self.given(r#""resume_argv":["make"]"#)
    }

    fn meanwhile(self, meanwhile: fn(&mut Document)) -> Self {
        Self { meanwhile, ..self }
    }

    fn says(self, answer: Answer) -> Self {
        Self { answer: Ok(Some(answer)), ..self }
    }

    fn settle(self) -> After {
        let Self { given, first_start, why, answer, output_held, left, now, .. } = self;
        let mut before = Document::parse(&given.bytes(), "t").unwrap().0;
        (self.meanwhile)(&mut before);
        let (mut card, read) = Document::parse(&before.bytes(), "t").unwrap();
        let (stderr_tail, stderr_log) = ("oh".to_owned(), "/7.err".to_owned());
        let ended = Ended { given: &given, number: 7, first_start, why, answer, output_held, left, stderr_tail, stderr_log };
        let settled = settle(&mut card, &read, &ended, now).unwrap();
        let after = After { before, card, settled };
        after.check();
        after
    }

    fn row(self) -> String {
        self.settle().row()
    }
}

/// What it came to.
struct After {
    before: Document,
    card: Document,
    settled: Settled,
}

impl After {
    /// What holds for every end.
    fn check(&self) {
        let line = &self.settled.line;
        assert_eq!(self.settled.changed, self.card != self.before);
        assert_eq!((line.text("task_id"), &line.0["attempt"]), ("t", &7.into()));
        if line.text("signal") == "alert" {
            assert_eq!((line.text("outcome"), line.text("log")), (self.settled.kind, "/7.err"));
            assert_eq!(line.0.get("next_attempt_at"), self.card.get("not_before"));
        }
        match self.card.card("t").unwrap().status {
            Status::NeedsAttention => assert_eq!(line.text("detail"), self.text("attention", "detail")),
            _ => assert_eq!(self.card.get("attention"), None),
        }
        if !self.before.status().unwrap().is_terminal() {
            assert_eq!(self.text("outcome", "kind"), self.settled.kind);
        }
    }

    fn text(&self, object: &str, name: &str) -> &str {
        self.card.get(object).and_then(|object| object.get(name)).and_then(Value::as_str).unwrap_or_default()
    }

    /// Outcome | status, reason, wait, run | retries/failures | line.
    fn row(&self) -> String {
        let run = match self.card.get("run") {
            None => "",
            Some(run) if run.get("background") == Some(&Value::Bool(true)) => ", background",
            run => [", another run", ", run"][usize::from(run == self.before.get("run"))],
        };
        let until = self.card.text("not_before").trim_start_matches("2026-11-30T");
        let status = [self.card.text("status"), self.text("attention", "reason"), until].join(" ").replace("  ", " ");
        let (retries, failures) = (self.card.count("retry_count"), self.card.count("failures"));
        format!("{} | {}{run} | {retries}/{failures} | {}", self.settled.kind, status.trim_end(), self.line())
    }

    /// Without the reason when it is the card's.
    fn line(&self) -> String {
        let line = &self.settled.line;
        let told = match line.text("signal") {
            "recovery" => format!("recovery {} > {}", line.text("from_phase"), line.text("to_phase")),
            "started" => format!("started > {}", line.text("to_phase")),
            "needs_attention" if line.text("reason") != self.text("attention", "reason") => line.text("reason").to_owned(),
            "alert" if line.0.contains_key("progress") => "alert, progress".to_owned(),
            signal => signal.to_owned(),
        };
        told + if self.settled.again { ", again" } else { "" }
    }
}

fn works(card: &mut Document) {
    card.add_checkpoint("collect", "200 of 1000", clock("11:30:00"));
}

/// As `card block` does it.
fn is_blocked(card: &mut Document) {
    card.set_attention("login", Some("log in first"), clock("11:30:00")).unwrap();
}

/// As `card approve` does it.
fn is_approved(card: &mut Document) {
    card.set_status(Status::Stalled).unwrap();
    ["retry_count", "failures"].into_iter().for_each(|name| card.set(name, 0));
}

fn is_cancelled(card: &mut Document) {
    card.set_status(Status::Cancelled).unwrap();
}

fn says(entry: Entry) -> Answer {
    Answer { entry, ..Answer::default() }
}

fn message(text: &str) -> Answer {
    says(Entry { message: Some(text.into()), ..Entry::default() })
}

fn next_phase(name: &str) -> Answer {
    Answer { again: true, ..says(Entry { next_phase: Some(name.into()), ..Entry::default() }) }
}

fn status(status: Status) -> Answer {
    Answer { status: Some(status), ..Answer::default() }
}

fn not_started(ours: bool) -> Ending {
    NotStarted { ours, detail: "no".to_owned() }
}

#[test]
fn every_ending_without_and_with_progress_on_the_way() {
    let repeats_itself = |card: &mut Document| card.add_checkpoint("collect", "100 of 1000", clock("11:30:00"));
    for (why, without, with) in [
        (Exited(0), "no_progress | stalled 12:00:30Z | 2/5 | alert", "progressed | running | 0/4 | recovery collect > collect"),
        (Exited(75), "postponed | stalled 12:00:15Z | 1/4 | alert", "postponed | stalled 12:00:15Z | 0/4 | alert, progress"),
        (Exited(1), "failed | stalled 12:00:30Z | 2/5 | alert", "failed | stalled 12:00:15Z | 0/5 | alert, progress"),
        (Killed(9), "failed | stalled 12:00:30Z | 2/5 | alert", "failed | stalled 12:00:15Z | 0/5 | alert, progress"),
        (Timeout, "timeout | stalled 12:00:30Z | 2/5 | alert", "timeout | stalled 12:00:15Z | 0/5 | alert, progress"),
        (Silent, "silent | stalled 12:00:30Z | 2/5 | alert", "silent | stalled 12:00:15Z | 0/5 | alert, progress"),
        (Interrupted(15), "postponed | stalled | 1/4 | alert", "postponed | stalled | 0/4 | alert, progress"),
        (not_started(true), "postponed | stalled 12:00:15Z | 1/4 | alert", "postponed | stalled 12:00:15Z | 0/4 | alert, progress"),
        (not_started(false), "failed | stalled 12:00:30Z | 2/5 | alert", "failed | stalled 12:00:15Z | 0/5 | alert, progress"),
    ] {
        let case = || attempt(why.clone());
        assert_eq!(case().row(), without, "{why:?}");
        assert_eq!(case().meanwhile(repeats_itself).row(), without, "{why:?}, the same message again");
        assert_eq!(case().meanwhile(works).row(), with, "{why:?}, a new message");
        assert_eq!(case().given(r#""not_before":"2026-11-30T11:00:00Z""#).row(), without, "{why:?}, a wait that is over");
    }
}

#[test]
fn what_a_good_end_needs_to_be_progress() {
    let change = |meanwhile| attempt(Exited(0)).meanwhile(meanwhile).row();
    let progressed = "progressed | running | 0/4 | recovery collect > collect";
    let no_progress = "no_progress | stalled 12:00:30Z | 2/5 | alert";
    assert_eq!(change(|card| card.add_artifact("collect", "index", "/index")), progressed);
    assert_eq!(change(|card| card.add_artifact("collect", "raw", "/other")), progressed);
    assert_eq!(change(|card| card.add_artifact("collect", "raw", "/raw")), no_progress);
    assert_eq!(change(|card| assert!(card.set_step("two", "done", None))), progressed);
    assert_eq!(change(|card| assert!(card.set_step("two", "failed", None))), no_progress);
    assert_eq!(change(|card| card.set("phase", "analyze")), "progressed | running | 0/4 | recovery collect > analyze");
    assert_eq!(change(|card| card.set("phase", "plan")), no_progress);
}

#[test]
fn a_phase_that_needs_a_persons_word_stops_it() {
    let moved = |meanwhile| attempt(ManualPhase).meanwhile(meanwhile).settle();
    let (new, old) = (moved(|card| card.set("phase", "send")), moved(|card| card.set("phase", "plan")));
    assert_eq!(new.row(), "stopped | stalled | 0/4 | non_idempotent_phase_blocked");
    assert_eq!(old.row(), "stopped | stalled | 1/4 | non_idempotent_phase_blocked");
    assert_eq!((new.settled.line.text("phase"), new.settled.line.text("next")), ("send", "card approve t | resume"));
}

#[test]
fn a_plain_command_completes_the_task_by_exit_0() {
    let case = |code| attempt(Exited(code)).plain_command();
    let completed = "completed | completed | 1/4 | recovery collect > collect";
    assert_eq!((case(0).row().as_str(), Case { output_held: true, ..case(0) }.row().as_str()), (completed, completed));
    assert_eq!(case(75).row(), "postponed | stalled 12:00:15Z | 1/4 | alert");
    assert_eq!(case(1).row(), "failed | stalled 12:00:30Z | 2/5 | alert");
}

#[test]
fn answers_of_a_good_end() {
    use Status::{Completed, Failed, NeedsAttention, Running, Stalled};
    let phase = |name| says(Entry { phase: Some(name.into()), ..Entry::default() });
    let artifact = |path: &str| says(Entry { artifacts: vec![("raw".to_owned(), path.to_owned())], ..Entry::default() });
    let step = |name: &str, status: &str| {
        let step = Step { name: name.to_owned(), status: status.to_owned(), result: None };
        says(Entry { steps: vec![step], ..Entry::default() })
    };
    let with = |status, answer| Answer { status: Some(status), ..answer };
    let again = |answer| Answer { again: true, ..answer };
    let login = |answer| Answer { reason: Some("login".into()), ..answer };
    let no_progress = "no_progress | stalled 12:00:30Z | 2/5 | alert";
    let progressed = "progressed | running | 0/4 | recovery collect > collect";
    let further_again = "progressed | stalled | 0/4 | recovery collect > analyze, again";
    for (answer, expected) in [
        (Answer::default(), no_progress),
        (message("200 of 1000"), progressed),
        (message("100 of 1000"), no_progress),
        (phase("analyze"), "progressed | running | 0/4 | recovery collect > analyze"),
        (phase("collect"), no_progress),
        (artifact("/other"), progressed),
        (artifact("/raw"), no_progress),
        (step("two", "done"), progressed),
        (step("three", "pending"), no_progress),
        (login(Answer::default()), no_progress),
        // Its own status.
        (status(Completed), "completed | completed | 1/4 | recovery collect > collect"),
        (with(Completed, phase("publish")), "completed | completed | 0/4 | recovery collect > publish"),
        (status(Failed), "failed | failed | 2/5 | task_failed"),
        (with(Failed, message("no such site")), "failed | failed | 0/5 | task_failed"),
        (status(Status::Cancelled), "stopped | cancelled | 1/4 | alert"),
        (status(NeedsAttention), "needs_attention | needs_attention needs_person | 2/5 | needs_attention"),
        (login(status(NeedsAttention)), "needs_attention | needs_attention login | 2/5 | needs_attention"),
        (login(with(NeedsAttention, message("who?"))), "needs_attention | needs_attention login | 0/5 | needs_attention"),
        (status(Running), "handed_over | running | 2/5 | started > collect"),
        (with(Running, message("100 of 1000")), "handed_over | running | 2/5 | started > collect"),
        (with(Running, message("200 of 1000")), progressed),
        (status(Stalled), no_progress),
        (with(Stalled, message("200 of 1000")), "progressed | stalled | 0/4 | recovery collect > collect"),
        // Again at once only for a phase or step that was not reached before.
        (next_phase("analyze"), further_again),
        (with(Running, next_phase("analyze")), further_again),
        (next_phase("plan"), no_progress),
        (again(phase("plan")), "progressed | running | 0/4 | recovery collect > plan"),
        (again(phase("analyze")), further_again),
        (again(step("two", "done")), "progressed | stalled | 0/4 | recovery collect > collect, again"),
        (again(step("one", "done")), no_progress),
        (again(message("200 of 1000")), progressed),
        (again(artifact("/other")), progressed),
        (again(Answer::default()), no_progress),
        (again(status(Completed)), "completed | completed | 1/4 | recovery collect > collect"),
    ] {
        let shown = format!("{answer:?}");
        assert_eq!(attempt(Exited(0)).says(answer).row(), expected, "{shown}");
    }
    let reached = attempt(Exited(0)).meanwhile(|card| card.set("phase", "analyze"));
    assert_eq!(reached.says(again(Answer::default())).row(), further_again, "a new phase by a checkpoint");
}

#[test]
fn an_answer_is_written_into_the_card() {
    let mut answer = next_phase("analyze");
    answer.entry.message = Some("all of 1000".into());
    answer.entry.context.insert("page".into(), 3.into());
    let end = |code| attempt(Exited(code)).says(answer.clone()).settle().card;
    let newest = end(0).get("checkpoints").and_then(|all| all.get(3)).cloned().unwrap();
    assert_eq!((newest["phase"].as_str(), newest["message"].as_str()), (Some("collect"), Some("all of 1000")));
    assert_eq!((end(0).text("phase"), &end(0).get("context").unwrap()["page"]), ("analyze", &3.into()));
    // What an attempt that failed printed is no answer.
    assert_eq!((end(1).text("phase"), end(1).count("checkpoint_count"), end(1).get("context")), ("collect", 0, None));
}

#[test]
fn an_answer_that_is_wrong_is_none_and_is_told() {
    let wrong = |code| Case { answer: Err("the answer's phase is 7".to_owned()), ..attempt(Exited(code)) };
    let after = wrong(0).settle();
    assert_eq!(after.row(), "no_progress | stalled 12:00:30Z | 2/5 | alert");
    assert_eq!(after.text("outcome", "detail"), "exit status 0, but the answer's phase is 7");
    assert_eq!(wrong(0).meanwhile(works).row(), "progressed | running | 0/4 | recovery collect > collect");
    assert_eq!(wrong(75).row(), "postponed | stalled 12:00:15Z | 1/4 | alert");
    assert_eq!(wrong(78).row(), "needs_attention | needs_attention needs_person | 2/5 | needs_attention");
}

#[test]
fn exit_75_says_how_long_not_now_is() {
    let week = "2026-12-07T12:00:00Z";
    let waits = [(0.0, "12:00:00Z"), (0.2, "12:00:01Z"), (90.0, "12:01:30Z"), (604_800.0, week), (604_801.0, week), (1e300, week)];
    for (seconds, until) in waits {
        let answer = Answer { retry_after_seconds: Some(seconds), ..Answer::default() };
        let row = attempt(Exited(75)).says(answer).row();
        assert_eq!(row, format!("postponed | stalled {until} | 1/4 | alert"), "{seconds}");
    }
    // Without a word it is the first cooldown: nothing failed that would double it.
    let bare = attempt(Exited(75)).given(r#""cooldown_seconds":100,"retry_count":3"#).row();
    assert_eq!(bare, "postponed | stalled 12:01:40Z | 2/4 | alert");
    let busy = attempt(Exited(75)).says(message("the site is busy")).settle();
    assert_eq!((busy.text("outcome", "detail"), busy.card.count("retry_count")), ("the site is busy", 0));
}

#[test]
fn exit_78_says_why_a_person_is_needed() {
    let because = |answer| Answer { reason: Some("login".into()), ..answer };
    let exited = "the adapter ended with exit status 78";
    for (case, reason, detail, charge) in [
        (attempt(Exited(78)), "needs_person", exited, "2/5"),
        (attempt(Exited(78)).meanwhile(works), "needs_person", exited, "0/5"),
        (attempt(Exited(78)).says(because(Answer::default())), "login", exited, "2/5"),
        (attempt(Exited(78)).says(message("log in first")), "needs_person", "log in first", "0/5"),
        (attempt(Exited(78)).says(because(message("log in first"))), "login", "log in first", "0/5"),
    ] {
        let after = case.settle();
        assert_eq!(after.row(), format!("needs_attention | needs_attention {reason} | {charge} | needs_attention"));
        assert_eq!((after.text("attention", "detail"), after.text("attention", "since")), (detail, "2026-11-30T12:00:00Z"));
    }
}

#[test]
fn charges() {
    let uncharged = |why| attempt(why).uncharged();
    for (name, case, expected) in [
        ("kept", attempt(Exited(1)), "2/5"),
        ("kept, reset", attempt(Exited(1)).meanwhile(works), "0/5"),
        ("taken back", attempt(Exited(75)), "1/4"),
        ("taken back, reset", attempt(Exited(0)).meanwhile(works), "0/4"),
        ("taken back, reset by the checkpoint", attempt(Exited(0)).meanwhile(works).counted(0, 5), "0/4"),
        ("uncharged", uncharged(Exited(1)), "2/5"),
        ("uncharged, reset", uncharged(Exited(1)).meanwhile(works), "0/5"),
        ("uncharged, nothing to take back", uncharged(Exited(75)), "2/5"),
        ("uncharged, progressed", uncharged(Exited(0)).meanwhile(works), "0/5"),
        ("the first retry", attempt(Exited(75)).counted(1, 1), "0/0"),
        ("never below 0", attempt(Exited(75)).counted(0, 0), "0/0"),
        ("approved meanwhile, kept", attempt(Exited(1)).meanwhile(is_approved), "0/0"),
        ("approved meanwhile, taken back", attempt(Exited(75)).meanwhile(is_approved), "0/0"),
    ] {
        assert_eq!(case.row().split(" | ").nth(2), Some(expected), "{name}");
    }
}

#[test]
fn the_cooldown_doubles_up_to_an_hour_and_never_ends_early() {
    for (cooldown, waits) in [
        ("15", &[(0, 15), (1, 15), (2, 30), (3, 60), (4, 120), (8, 1920), (9, 3600), (10, 3600), (99_999, 3600)][..]),
        ("0", &[(1, 0), (50, 0)]),
        ("0.4", &[(1, 1), (2, 1), (3, 2)]),
        // A first wait that is longer stays as it was asked for.
        ("7200", &[(1, 7200), (5, 7200)]),
    ] {
        for (retry_count, seconds) in waits {
            let fields = format!(r#""cooldown_seconds":{cooldown},"max_retries":100000,"retry_count":{retry_count}"#);
            let until = clock("12:00:00").plus_seconds(f64::from(*seconds)).to_string();
            let after = attempt(Exited(1)).given(&fields).settle();
            assert_eq!(after.card.text("not_before"), until, "{cooldown}, {retry_count}");
        }
    }
    for (now, until) in [("12:00:00", "12:00:15Z"), ("12:00:00.001", "12:00:16Z"), ("12:00:00.999", "12:00:16Z")] {
        for why in [Exited(1), Exited(75), not_started(true)] {
            let after = Case { now: clock(now), ..attempt(why).counted(1, 1) }.settle();
            assert_eq!(after.card.text("not_before").trim_start_matches("2026-11-30T"), until, "{now}");
        }
    }
}

#[test]
fn the_last_attempt_hands_the_task_to_a_person() {
    let kinds = [(Exited(0), "no_progress"), (Exited(1), "failed"), (Killed(9), "failed"), (not_started(false), "failed")];
    for (why, kind) in kinds.into_iter().chain([(Timeout, "timeout"), (Silent, "silent")]) {
        let person = |reason, charge| format!("{kind} | needs_attention {reason} | {charge} | needs_attention");
        assert_eq!(attempt(why.clone()).counted(3, 49).row(), person("retries_exhausted", "3/49"));
        assert_eq!(attempt(why.clone()).counted(2, 50).row(), person("failures_exhausted", "2/50"));
        assert_eq!(attempt(why).counted(3, 50).row(), person("retries_exhausted", "3/50"));
    }
    let case = |fields, retries, failures| attempt(Exited(1)).given(fields).counted(retries, failures);
    let last = |why| attempt(why).counted(3, 50);
    for (case, expected) in [
        (case(r#""max_retries":4"#, 3, 49), "failed | stalled 12:01:00Z | 3/49 | alert"),
        (case(r#""max_retries":3"#, 3, 49).meanwhile(works), "failed | stalled 12:00:15Z | 0/49 | alert, progress"),
        (case(r#""max_failures":5"#, 2, 5), "failed | needs_attention failures_exhausted | 2/5 | needs_attention"),
        (case(r#""max_failures":5"#, 2, 5).meanwhile(works), "failed | needs_attention failures_exhausted | 0/5 | needs_attention"),
        (case(r#""max_retries":0"#, 0, 0), "failed | needs_attention retries_exhausted | 0/0 | needs_attention"),
        // Only watched: there is no next attempt that progress could lead to.
        (case(r#""max_retries":0"#, 0, 0).meanwhile(works), "failed | needs_attention retries_exhausted | 0/0 | needs_attention"),
        (last(Exited(0)).meanwhile(works), "progressed | running | 0/49 | recovery collect > collect"),
        (last(Exited(0)).says(status(Status::Running)), "handed_over | running | 3/50 | started > collect"),
        (last(Exited(75)), "postponed | stalled 12:00:15Z | 2/49 | alert"),
        (last(Exited(78)), "needs_attention | needs_attention needs_person | 3/50 | needs_attention"),
    ] {
        assert_eq!(case.row(), expected);
    }
    let detail = last(Exited(4)).settle().text("attention", "detail").to_owned();
    assert!(detail.contains("(max_retries)") && detail.ends_with("exit status 4"), "{detail}");
}

#[test]
fn a_finished_card_never_changes() {
    let completes = |card: &mut Document| card.set_status(Status::Completed).unwrap();
    let fails = |card: &mut Document| card.set_status(Status::Failed).unwrap();
    for why in [Exited(0), Exited(75), Exited(78), Exited(1), Timeout, Interrupted(15)] {
        let case = |meanwhile| attempt(why.clone()).says(next_phase("analyze")).meanwhile(meanwhile);
        for (case, expected) in [
            (case(completes), "completed | completed | 2/5 | recovery collect > collect"),
            (case(completes).first_start(), "completed | completed | 0/0 | started > collect"),
            (case(fails), "failed | failed | 2/5 | task_failed"),
            (case(fails).first_start(), "failed | failed | 0/0 | task_failed"),
        ] {
            let after = case.settle();
            assert_eq!((after.row().as_str(), after.settled.changed), (expected, false), "{why:?}");
        }
    }
}

#[test]
fn a_cancelled_card_only_loses_its_run() {
    for why in [Cancelled, Exited(0), Exited(1), Interrupted(15)] {
        let mut after = attempt(why.clone()).says(next_phase("analyze")).meanwhile(is_cancelled).settle();
        assert_eq!(after.row(), "stopped | cancelled | 2/5 | contained", "{why:?}");
        after.before.remove("run");
        assert_eq!(after.card, after.before, "{why:?}");
    }
}

#[test]
fn processes_of_a_cancelled_task_that_are_left_are_told() {
    let left = Case { left: vec![11, 12], ..attempt(Cancelled) }.meanwhile(is_cancelled).settle();
    assert_eq!(left.row(), "stopped | cancelled, run | 2/5 | attempt_not_contained");
    assert!(left.settled.line.text("detail").contains("11, 12"));
}

#[test]
fn a_background_process_of_a_cancelled_task_can_be_found() {
    // Its leader ended well before anyone stopped it, so nothing was contained.
    let held = Case { output_held: true, ..attempt(Exited(0)) }.meanwhile(is_cancelled).settle();
    assert_eq!(held.card.get("run"), held.before.get("run"));
}

#[test]
fn what_a_person_has_to_decide_stays_with_the_person() {
    let works_and_blocks = |card: &mut Document| {
        works(card);
        is_blocked(card);
    };
    for why in [Exited(0), Exited(75), Exited(78), Exited(1), Killed(9), Timeout, Silent, Interrupted(15), ManualPhase] {
        let blocked = attempt(why.clone()).meanwhile(is_blocked).says(status(Status::Completed)).settle();
        assert_eq!(blocked.row(), "needs_attention | needs_attention login | 2/5 | needs_attention", "{why:?}");
        assert_eq!(blocked.card.get("attention"), blocked.before.get("attention"));
        let worked = attempt(why).counted(3, 50).meanwhile(works_and_blocks).row();
        assert_eq!(worked, "needs_attention | needs_attention login | 0/50 | needs_attention");
    }
}

#[test]
fn it_is_told_since_when_the_card_was_blocked() {
    let line = attempt(Exited(0)).meanwhile(is_blocked).settle().settled.line;
    assert_eq!((line.text("reason"), line.text("blocked_since")), ("login", "2026-11-30T11:30:00Z"));
}

#[test]
fn a_card_that_gives_no_reason_is_blocked() {
    let line = attempt(Exited(0)).meanwhile(|card| card.set("status", "needs_attention")).settle().settled.line;
    assert_eq!(line.text("reason"), "blocked");
}

#[test]
fn processes_that_are_left_need_a_person() {
    for (case, kind, charge) in [
        (attempt(Exited(1)), "failed", "2/5"),
        (attempt(Exited(75)), "postponed", "1/4"),
        (attempt(Exited(78)), "needs_attention", "2/5"),
        (attempt(Timeout).counted(3, 50), "timeout", "3/50"),
        (attempt(Silent).meanwhile(works), "silent", "0/5"),
        (attempt(Interrupted(15)), "postponed", "1/4"),
        (attempt(ManualPhase).meanwhile(|card| card.set("phase", "send")), "stopped", "0/4"),
        (attempt(not_started(true)), "postponed", "1/4"),
        (attempt(Exited(1)).meanwhile(is_blocked), "needs_attention", "2/5"),
    ] {
        let after = Case { left: vec![11, 12], ..case }.settle();
        assert_eq!(after.row(), format!("{kind} | needs_attention attempt_not_contained, run | {charge} | needs_attention"));
        assert!(after.text("attention", "detail").contains("11, 12") && after.text("outcome", "detail").contains("11, 12"));
        assert_eq!(after.settled.line.text("next"), "card log t");
    }
}

#[test]
fn a_background_process_keeps_the_run() {
    let case = || Case { output_held: true, ..attempt(Exited(0)) };
    for (case, expected) in [
        (case(), "background | running, background | 2/5 | started > collect"),
        (case().counted(3, 50), "background | running, background | 3/50 | started > collect"),
        (case().meanwhile(works), "progressed | running | 0/4 | recovery collect > collect"),
        (case().says(status(Status::Running)), "handed_over | running | 2/5 | started > collect"),
    ] {
        assert_eq!(case.row(), expected);
    }
    let mut run = case().settle().card.remove("run").unwrap();
    run.as_object_mut().unwrap().shift_remove("background");
    assert_eq!(Some(&run), case().given.get("run"));
}

#[test]
fn an_approval_meanwhile_changes_no_outcome() {
    let case = || attempt(Exited(0)).meanwhile(is_approved);
    for (case, expected) in [
        (case(), "no_progress | stalled 12:00:15Z | 0/0 | alert"),
        (case().says(message("200 of 1000")), "progressed | running | 0/0 | recovery collect > collect"),
        (case().says(status(Status::Running)), "handed_over | running | 0/0 | started > collect"),
        (Case { output_held: true, ..case() }, "background | running, background | 0/0 | started > collect"),
    ] {
        assert_eq!(case.row(), expected);
    }
}

#[test]
fn the_first_start_is_no_recovery() {
    let first = |why| attempt(why).first_start();
    for (case, expected) in [
        (first(Exited(0)).says(next_phase("analyze")), "progressed | stalled | 0/0 | started > analyze, again"),
        (first(Exited(0)).meanwhile(works), "progressed | running | 0/0 | started > collect"),
        (first(Exited(0)).says(status(Status::Completed)), "completed | completed | 0/0 | started > collect"),
        (first(Exited(0)).plain_command(), "completed | completed | 0/0 | started > collect"),
        (first(Exited(0)).says(status(Status::Running)), "handed_over | running | 0/0 | started > collect"),
        (Case { output_held: true, ..first(Exited(0)) }, "background | running, background | 0/0 | started > collect"),
        (first(Exited(0)), "no_progress | stalled 12:00:15Z | 0/0 | alert"),
        (first(Exited(1)), "failed | stalled 12:00:15Z | 0/0 | alert"),
        (first(Exited(75)), "postponed | stalled 12:00:15Z | 0/0 | alert"),
        (first(Exited(78)), "needs_attention | needs_attention needs_person | 0/0 | needs_attention"),
    ] {
        assert_eq!(case.row(), expected);
    }
}

#[test]
fn outcomes_as_they_are_written() {
    let common = |outcome: &str| {
        let at = r#""at":"2026-11-30T12:00:00Z","attempt":7"#;
        format!(r#"{{{at},{outcome},"from_phase":"collect","to_phase":"collect"}}"#)
    };
    for (case, expected) in [
        (attempt(Exited(0)).meanwhile(works), r#""kind":"progressed","exit_status":0"#),
        (attempt(Exited(1)), r#""kind":"failed","detail":"exit status 1","exit_status":1,"stderr_tail":"oh""#),
        (attempt(Killed(9)), r#""kind":"failed","detail":"ended by signal 9","signal":9,"stderr_tail":"oh""#),
        (attempt(not_started(false)), r#""kind":"failed","detail":"no","stderr_tail":"oh""#),
    ] {
        assert_eq!(case.settle().card.get("outcome").unwrap().to_string(), common(expected));
    }
}

#[test]
fn what_a_line_holds() {
    for (case, expected) in [
        (attempt(Exited(1)), "signal task_id outcome detail attempt next_attempt_at log"),
        (attempt(Interrupted(15)), "signal task_id outcome detail attempt log"),
        (attempt(Exited(0)).meanwhile(works), "signal task_id from_phase to_phase recovered_at attempt outcome"),
        (attempt(Exited(0)).first_start().meanwhile(works), "signal task_id attempt outcome to_phase"),
        (attempt(Exited(78)), "signal task_id phase reason detail blocked_since next outcome attempt log"),
        (attempt(Exited(0)).says(status(Status::Failed)), "signal task_id phase reason next outcome attempt log"),
    ] {
        let line = case.settle().settled.line;
        assert_eq!(line.0.keys().map(String::as_str).collect::<Vec<_>>().join(" "), expected);
    }
}

#[test]
fn unknown_fields_keep_their_place_and_value() {
    let (first, owner) = (r#"{"first":12345678901234567890123,"#, r#""owner":{"b":1e+400,"a":1.10,"run":null},"#);
    let text = GIVEN.replacen('{', first, 1).replacen(r#""status""#, &format!(r#"{owner}"status""#), 1);
    for why in [Exited(0), Exited(75), Exited(78), Exited(1), ManualPhase] {
        let given = Document::parse(text.as_bytes(), "t").unwrap().0;
        let after = Case { given, ..attempt(why.clone()) }.settle();
        let known_before = after.before.object().keys().filter(|name| *name != "run");
        assert!(known_before.eq(after.card.object().keys().take(after.before.object().len() - 1)), "{why:?}");
        let written = serde_json::to_string(after.card.object()).unwrap();
        assert!(written.starts_with(first) && written.contains(owner), "{why:?}: {written}");
    }
}
