//! Settling over its whole table: what the end of an attempt leaves in the card, and what is said about it.

use super::*;
use shared::entry::{Entry, Step};

use Ending::{Cancelled, Exited, Interrupted, Killed, ManualPhase, NotStarted, Silent, Timeout};

/// As the fifth charged attempt was given it, the second in a row: `retry_count`/`failures` are 2/5.
const GIVEN: &str = r#"{
    "task_id":"t","created_at":"2026-11-30T10:00:00Z","updated_at":"2026-11-30T11:00:00Z","status":"running","phase":"collect",
    "resume_adapter":"/adapter","manual_phases":["send"],"retry_count":2,"failures":5,"attempt":7,
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

/// What it came to.
struct After {
    before: Document,
    card: Document,
    settled: Settled,
}

fn clock(time: &str) -> Timestamp {
    Timestamp::parse(&format!("2026-11-30T{time}Z")).unwrap().0
}

fn attempt(why: Ending) -> Case {
    let given = Document::parse(GIVEN.as_bytes(), "t").unwrap().0;
    let now = clock("12:00:00");
    Case { given, meanwhile: nothing, first_start: false, why, answer: Ok(None), output_held: false, left: Vec::new(), now }
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

    fn holds_output(self) -> Self {
        Self { output_held: true, ..self }
    }

    fn leaves(self, left: &[i32]) -> Self {
        Self { left: left.to_vec(), ..self }
    }

    fn settle(self) -> After {
        let given = Document::parse(&self.given.bytes(), "t").unwrap().0;
        let mut before = given.clone();
        (self.meanwhile)(&mut before);
        let (mut document, card) = Document::parse(&before.bytes(), "t").unwrap();
        let ended = Ended {
            given: &given,
            number: 7,
            first_start: self.first_start,
            why: self.why,
            answer: self.answer,
            output_held: self.output_held,
            left: self.left,
            stderr_tail: "oh".to_owned(),
            stderr_log: "/7.err".to_owned(),
        };
        let settled = settle(&mut document, &card, &ended, self.now).unwrap();
        let after = After { before, card: document, settled };
        after.check();
        after
    }

    fn row(self) -> String {
        self.settle().row()
    }
}

impl After {
    /// What holds for every end.
    fn check(&self) {
        let read = self.card.card("t").unwrap();
        let line = &self.settled.line;
        assert_eq!(self.settled.changed, self.card != self.before);
        assert_eq!(line.text("task_id"), "t");
        assert_eq!(line.0["attempt"], 7);
        assert_eq!(
            read.attention.is_some(),
            read.status == Status::NeedsAttention && self.before.get("attention") != Some(&Value::Null)
        );
        if line.text("signal") == "alert" {
            assert_eq!((line.text("outcome"), line.text("log")), (self.settled.kind, "/7.err"));
            assert_eq!(line.0.get("next_attempt_at"), self.card.get("not_before"));
        }
        if !self.before.status().unwrap().is_terminal() {
            assert_eq!(self.text("outcome", "kind"), self.settled.kind);
            assert_eq!(
                (self.text("outcome", "from_phase"), self.text("outcome", "to_phase")),
                ("collect", self.card.text("phase"))
            );
            assert_eq!(self.card.get("outcome").unwrap()["attempt"], 7);
        }
    }

    fn text(&self, object: &str, name: &str) -> &str {
        self.card.get(object).and_then(|object| object.get(name)).and_then(Value::as_str).unwrap_or_default()
    }

    /// Outcome | status, reason, wait and run | retries/failures | line.
    fn row(&self) -> String {
        format!("{} | {} | {} | {}", self.settled.kind, self.status(), self.charge(), self.line())
    }

    fn status(&self) -> String {
        let mut status = self.card.text("status").to_owned();
        for word in [self.text("attention", "reason"), self.card.text("not_before").trim_start_matches("2026-11-30T")] {
            if !word.is_empty() {
                status = format!("{status} {word}");
            }
        }
        match self.card.get("run") {
            None => status,
            Some(run) if run.get("background") == Some(&Value::Bool(true)) => status + ", background",
            Some(run) => {
                assert_eq!(Some(run), self.before.get("run"));
                status + ", run"
            }
        }
    }

    fn charge(&self) -> String {
        format!("{}/{}", self.card.count("retry_count"), self.card.count("failures"))
    }

    fn line(&self) -> String {
        let line = &self.settled.line;
        let told = match line.text("signal") {
            "recovery" => format!("recovery {} > {}", line.text("from_phase"), line.text("to_phase")),
            "started" => format!("started > {}", line.text("to_phase")),
            "needs_attention" => format!("needs_attention {}", line.text("reason")),
            "alert" if line.0.contains_key("progress") => "alert, progress".to_owned(),
            signal => signal.to_owned(),
        };
        told + if self.settled.again { ", again" } else { "" }
    }
}

fn nothing(_: &mut Document) {}

fn works(card: &mut Document) {
    card.add_checkpoint("collect", "200 of 1000", clock("11:30:00"));
}

fn repeats_itself(card: &mut Document) {
    card.add_checkpoint("collect", "100 of 1000", clock("11:30:00"));
}

/// As `card block` does it.
fn is_blocked(card: &mut Document) {
    card.set_attention("login", Some("log in first"), clock("11:30:00")).unwrap();
}

/// As `card approve` does it.
fn is_approved(card: &mut Document) {
    card.set_status(Status::Stalled).unwrap();
    card.set("permit", "collect");
    ["retry_count", "failures"].into_iter().for_each(|name| card.set(name, 0));
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn says(entry: Entry) -> Answer {
    Answer { entry, ..Answer::default() }
}

fn message(text: &str) -> Answer {
    says(Entry { message: some(text), ..Entry::default() })
}

fn phase(name: &str) -> Answer {
    says(Entry { phase: some(name), ..Entry::default() })
}

fn next_phase(name: &str) -> Answer {
    Answer { again: true, ..says(Entry { next_phase: some(name), ..Entry::default() }) }
}

fn artifact(path: &str) -> Answer {
    says(Entry { artifacts: vec![("raw".to_owned(), path.to_owned())], ..Entry::default() })
}

fn step(name: &str, status: &str) -> Answer {
    says(Entry { steps: vec![Step { name: name.to_owned(), status: status.to_owned(), result: None }], ..Entry::default() })
}

fn status(status: Status) -> Answer {
    Answer { status: Some(status), ..Answer::default() }
}

fn not_started(ours: bool) -> Ending {
    NotStarted { ours, detail: "no".to_owned() }
}

#[test]
fn every_ending_without_and_with_progress_on_the_way() {
    for (why, without, with) in [
        (Exited(0), "no_progress | stalled 12:00:30Z | 2/5 | alert", "progressed | running | 0/4 | recovery collect > collect"),
        (Exited(75), "postponed | stalled 12:00:15Z | 1/4 | alert", "postponed | stalled 12:00:15Z | 0/4 | alert, progress"),
        (
            Exited(78),
            "needs_attention | needs_attention needs_person | 2/5 | needs_attention needs_person",
            "needs_attention | needs_attention needs_person | 0/5 | needs_attention needs_person",
        ),
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
    // The checkpoint that brought it has reset the count already.
    let reset = |card: &mut Document| {
        works(card);
        card.set("retry_count", 0);
    };
    assert_eq!(change(reset), progressed);
}

#[test]
fn a_phase_that_needs_a_persons_word_stops_it() {
    let reached = "stopped | stalled | 0/4 | needs_attention non_idempotent_phase_blocked";
    let after = attempt(ManualPhase).meanwhile(|card| card.set("phase", "send")).settle();
    assert_eq!(after.row(), reached);
    assert_eq!(after.settled.line.text("next"), "card approve t | resume");
    assert!(after.text("outcome", "detail").contains("phase send"));
    let again = attempt(ManualPhase).meanwhile(|card| card.set("phase", "plan")).row();
    assert_eq!(again, "stopped | stalled | 1/4 | needs_attention non_idempotent_phase_blocked");
}

#[test]
fn a_plain_command_completes_the_task_by_exit_0() {
    let case = |code| attempt(Exited(code)).plain_command();
    let completed = "completed | completed | 1/4 | recovery collect > collect";
    assert_eq!(case(0).row(), completed);
    assert_eq!(case(0).holds_output().row(), completed);
    assert_eq!(case(0).first_start().row(), "completed | completed | 0/0 | started > collect");
    assert_eq!(case(75).row(), "postponed | stalled 12:00:15Z | 1/4 | alert");
    assert_eq!(case(1).row(), "failed | stalled 12:00:30Z | 2/5 | alert");
}

#[test]
fn answers_of_a_good_end() {
    use Status::{Completed, Failed, NeedsAttention, Running, Stalled};
    let with = |status, answer| Answer { status: Some(status), ..answer };
    let again = |answer| Answer { again: true, ..answer };
    let login = |answer| Answer { reason: some("login"), ..answer };
    let no_progress = "no_progress | stalled 12:00:30Z | 2/5 | alert";
    let progressed = "progressed | running | 0/4 | recovery collect > collect";
    let further = "progressed | running | 0/4 | recovery collect > analyze";
    let further_again = "progressed | stalled | 0/4 | recovery collect > analyze, again";
    for (answer, expected) in [
        (Answer::default(), no_progress),
        (message("200 of 1000"), progressed),
        (message("100 of 1000"), no_progress),
        (phase("analyze"), further),
        (phase("collect"), no_progress),
        (phase("plan"), "progressed | running | 0/4 | recovery collect > plan"),
        (artifact("/other"), progressed),
        (artifact("/raw"), no_progress),
        (step("two", "done"), progressed),
        (step("three", "pending"), no_progress),
        (login(Answer::default()), no_progress),
        // Its own status.
        (status(Completed), "completed | completed | 1/4 | recovery collect > collect"),
        (with(Completed, phase("publish")), "completed | completed | 0/4 | recovery collect > publish"),
        (status(Failed), "failed | failed | 2/5 | needs_attention task_failed"),
        (with(Failed, message("no such site")), "failed | failed | 0/5 | needs_attention task_failed"),
        (status(Status::Cancelled), "stopped | cancelled | 1/4 | alert"),
        (status(NeedsAttention), "needs_attention | needs_attention needs_person | 2/5 | needs_attention needs_person"),
        (login(status(NeedsAttention)), "needs_attention | needs_attention login | 2/5 | needs_attention login"),
        (login(with(NeedsAttention, message("who?"))), "needs_attention | needs_attention login | 0/5 | needs_attention login"),
        (status(Running), "handed_over | running | 2/5 | started > collect"),
        (with(Running, message("100 of 1000")), "handed_over | running | 2/5 | started > collect"),
        (with(Running, message("200 of 1000")), progressed),
        (status(Stalled), no_progress),
        (with(Stalled, message("200 of 1000")), "progressed | stalled | 0/4 | recovery collect > collect"),
        // At once again only for a phase or step that was not reached before.
        (next_phase("analyze"), further_again),
        (with(Running, next_phase("analyze")), further_again),
        (next_phase("plan"), no_progress),
        (again(Answer::default()), no_progress),
        (again(message("200 of 1000")), progressed),
        (again(artifact("/other")), progressed),
        (again(phase("analyze")), further_again),
        (again(step("two", "done")), "progressed | stalled | 0/4 | recovery collect > collect, again"),
        (again(step("one", "done")), no_progress),
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
    answer.entry.message = some("all of 1000");
    answer.entry.artifacts = artifact("/new").entry.artifacts;
    answer.entry.context.insert("page".into(), 3.into());
    let after = attempt(Exited(0)).says(answer.clone()).settle();
    let newest = after.card.get("checkpoints").and_then(|all| all.get(3)).unwrap();
    assert_eq!((newest["phase"].as_str(), newest["message"].as_str()), (Some("collect"), Some("all of 1000")));
    assert_eq!(after.card.get("artifacts").unwrap()["phase_collect"]["raw"], "/new");
    assert_eq!((after.card.text("phase"), &after.card.get("context").unwrap()["page"]), ("analyze", &3.into()));
    // What an attempt that failed printed is no answer.
    let failed = attempt(Exited(1)).says(answer).settle();
    assert_eq!(failed.row(), "failed | stalled 12:00:30Z | 2/5 | alert");
    assert_eq!((failed.card.text("phase"), failed.card.get("context")), ("collect", None));
}

#[test]
fn an_answer_that_is_wrong_is_none_and_is_told() {
    let wrong = |code| Case { answer: Err("the answer's phase is 7".to_owned()), ..attempt(Exited(code)) };
    let after = wrong(0).settle();
    assert_eq!(after.row(), "no_progress | stalled 12:00:30Z | 2/5 | alert");
    assert_eq!(after.text("outcome", "detail"), "exit status 0, but the answer's phase is 7");
    assert_eq!(wrong(0).meanwhile(works).row(), "progressed | running | 0/4 | recovery collect > collect");
    assert_eq!(wrong(75).row(), "postponed | stalled 12:00:15Z | 1/4 | alert");
    assert_eq!(wrong(78).settle().text("attention", "reason"), "needs_person");
}

#[test]
fn how_long_not_now_is() {
    for (seconds, until) in [
        (0.0, "12:00:00Z"),
        (0.2, "12:00:01Z"),
        (90.0, "12:01:30Z"),
        (604_800.0, "2026-12-07T12:00:00Z"),
        (604_801.0, "2026-12-07T12:00:00Z"),
        (1e300, "2026-12-07T12:00:00Z"),
    ] {
        let answer = Answer { retry_after_seconds: Some(seconds), ..Answer::default() };
        let row = attempt(Exited(75)).says(answer).row();
        assert_eq!(row, format!("postponed | stalled {until} | 1/4 | alert"), "{seconds}");
    }
    // It is not the attempt's fault, so that its wait is not doubled.
    let bare = attempt(Exited(75)).given(r#""cooldown_seconds":100,"retry_count":3"#).row();
    assert_eq!(bare, "postponed | stalled 12:01:40Z | 2/4 | alert");
    let busy = attempt(Exited(75)).says(message("the site is busy")).settle();
    assert_eq!(busy.text("outcome", "detail"), "the site is busy");
}

#[test]
fn who_needs_a_person_says_why() {
    let login = || Answer { reason: some("login"), ..message("log in first") };
    for (answer, reason, detail) in [
        (Answer::default(), "needs_person", "the adapter ended with exit status 78"),
        (Answer { reason: some("login"), ..Answer::default() }, "login", "the adapter ended with exit status 78"),
        (message("log in first"), "needs_person", "log in first"),
        (login(), "login", "log in first"),
    ] {
        let after = attempt(Exited(78)).says(answer).settle();
        assert_eq!((after.text("attention", "reason"), after.text("attention", "detail")), (reason, detail));
        assert_eq!((after.settled.line.text("reason"), after.settled.line.text("detail")), (reason, detail));
        assert_eq!(after.text("attention", "since"), "2026-11-30T12:00:00Z");
    }
    let asked = attempt(Exited(0)).says(Answer { status: Some(Status::NeedsAttention), ..login() }).settle();
    assert_eq!((asked.text("attention", "reason"), asked.text("attention", "detail")), ("login", "log in first"));
}

#[test]
fn charges() {
    let uncharged = |why| attempt(why).uncharged();
    for (name, case, expected) in [
        ("kept", attempt(Exited(1)), "2/5"),
        ("kept, reset", attempt(Exited(1)).meanwhile(works), "0/5"),
        ("taken back", attempt(Exited(75)), "1/4"),
        ("taken back, reset", attempt(Exited(0)).meanwhile(works), "0/4"),
        ("handed over", attempt(Exited(0)).says(status(Status::Running)), "2/5"),
        ("uncharged, kept", uncharged(Exited(1)), "2/5"),
        ("uncharged, kept, reset", uncharged(Exited(1)).meanwhile(works), "0/5"),
        ("uncharged, nothing to take back", uncharged(Exited(75)), "2/5"),
        ("uncharged, reset", uncharged(Exited(0)).meanwhile(works), "0/5"),
        ("first start", attempt(Exited(75)).first_start(), "0/0"),
        ("the first retry", attempt(Exited(75)).counted(1, 1), "0/0"),
        ("never below 0", attempt(Exited(75)).counted(0, 0), "0/0"),
        ("approved meanwhile, taken back", attempt(Exited(75)).meanwhile(is_approved), "0/0"),
        ("approved meanwhile, kept", attempt(Exited(1)).meanwhile(is_approved), "0/0"),
    ] {
        assert_eq!(case.settle().charge(), expected, "{name}");
    }
    // A count that was not there and stays 0 is not written.
    let mut first = attempt(Exited(0)).first_start().meanwhile(works);
    ["retry_count", "failures"].into_iter().for_each(|name| drop(first.given.remove(name)));
    let after = first.settle();
    assert_eq!((after.card.get("retry_count"), after.card.get("failures")), (None, None));
}

#[test]
fn the_cooldown_doubles_up_to_an_hour() {
    let quarter_minute: &[(u64, u32)] =
        &[(0, 15), (1, 15), (2, 30), (3, 60), (4, 120), (8, 1920), (9, 3600), (10, 3600), (99_999, 3600)];
    // The first wait is as long as was asked for, however long.
    for (cooldown, waits) in
        [("15", quarter_minute), ("0", &[(1, 0), (50, 0)]), ("0.4", &[(1, 1), (2, 1), (3, 2)]), ("7200", &[(1, 7200), (5, 7200)])]
    {
        for (retry_count, seconds) in waits {
            let fields = format!(r#""cooldown_seconds":{cooldown},"max_retries":100000,"retry_count":{retry_count}"#);
            let until = clock("12:00:00").plus_seconds(f64::from(*seconds)).to_string();
            let after = attempt(Exited(1)).given(&fields).settle();
            assert_eq!(after.card.text("not_before"), until, "{cooldown}, {retry_count}");
        }
    }
}

#[test]
fn a_wait_ends_at_a_whole_second_and_never_early() {
    for (now, until) in [("12:00:00", "12:00:15Z"), ("12:00:00.001", "12:00:16Z"), ("12:00:00.999", "12:00:16Z")] {
        for (name, why) in [("failed", Exited(1)), ("postponed", Exited(75)), ("postponed", not_started(true))] {
            let row = Case { now: clock(now), ..attempt(why).counted(0, 0) }.row();
            assert_eq!(row, format!("{name} | stalled {until} | 0/0 | alert"), "{now}");
        }
    }
}

#[test]
fn the_last_attempt_hands_the_task_to_a_person() {
    let retries = |kind: &str, charge: &str| {
        format!("{kind} | needs_attention retries_exhausted | {charge} | needs_attention retries_exhausted")
    };
    let failures = |kind: &str, charge: &str| {
        format!("{kind} | needs_attention failures_exhausted | {charge} | needs_attention failures_exhausted")
    };
    for (why, kind) in [
        (Exited(0), "no_progress"),
        (Exited(1), "failed"),
        (Killed(9), "failed"),
        (Timeout, "timeout"),
        (Silent, "silent"),
        (not_started(false), "failed"),
    ] {
        assert_eq!(attempt(why.clone()).counted(3, 5).row(), retries(kind, "3/5"));
        assert_eq!(attempt(why.clone()).counted(1, 50).row(), failures(kind, "1/50"));
    }
    let last = |why| attempt(why).counted(3, 50);
    let watched = || attempt(Exited(1)).given(r#""max_retries":0"#).counted(0, 5);
    for (case, expected) in [
        (attempt(Exited(1)).counted(3, 49).given(r#""max_retries":4"#), "failed | stalled 12:01:00Z | 3/49 | alert".to_owned()),
        (attempt(Exited(1)).given(r#""max_failures":5"#), failures("failed", "2/5")),
        (last(Exited(1)), retries("failed", "3/50")),
        (attempt(Exited(1)).counted(3, 49).meanwhile(works), "failed | stalled 12:00:15Z | 0/49 | alert, progress".to_owned()),
        (last(Exited(1)).meanwhile(works), failures("failed", "0/50")),
        (watched(), retries("failed", "0/5")),
        (watched().meanwhile(works), retries("failed", "0/5")),
        (last(Exited(0)).meanwhile(works), "progressed | running | 0/49 | recovery collect > collect".to_owned()),
        (last(Exited(75)), "postponed | stalled 12:00:15Z | 2/49 | alert".to_owned()),
        (last(Interrupted(2)), "postponed | stalled | 2/49 | alert".to_owned()),
        (last(Exited(0)).says(status(Status::Running)), "handed_over | running | 3/50 | started > collect".to_owned()),
        (last(Exited(78)), "needs_attention | needs_attention needs_person | 3/50 | needs_attention needs_person".to_owned()),
    ] {
        assert_eq!(case.row(), expected);
    }
    let detail = attempt(Exited(4)).counted(3, 5).settle().text("attention", "detail").to_owned();
    assert!(detail.contains("(max_retries)") && detail.ends_with("exit status 4"), "{detail}");
}

#[test]
fn a_finished_card_never_changes() {
    let completes = |card: &mut Document| card.set_status(Status::Completed).unwrap();
    let fails = |card: &mut Document| card.set_status(Status::Failed).unwrap();
    for why in [Exited(0), Exited(75), Exited(78), Exited(1), Killed(9), Timeout, Silent, Interrupted(15)] {
        let case = |meanwhile| attempt(why.clone()).says(next_phase("analyze")).meanwhile(meanwhile);
        for (case, expected) in [
            (case(completes), "completed | completed | 2/5 | recovery collect > collect"),
            (case(completes).first_start(), "completed | completed | 0/0 | started > collect"),
            (case(completes).leaves(&[11]), "completed | completed | 2/5 | recovery collect > collect"),
            (case(fails), "failed | failed | 2/5 | needs_attention task_failed"),
            (case(fails).first_start(), "failed | failed | 0/0 | needs_attention task_failed"),
        ] {
            let after = case.settle();
            assert_eq!((after.row().as_str(), after.settled.changed), (expected, false), "{why:?}");
        }
    }
}

fn is_cancelled(card: &mut Document) {
    card.set_status(Status::Cancelled).unwrap();
}

#[test]
fn a_cancelled_card_only_loses_its_run() {
    for why in [Cancelled, Exited(0), Exited(1), Interrupted(15)] {
        let mut after = attempt(why.clone()).says(next_phase("analyze")).meanwhile(is_cancelled).settle();
        assert_eq!(after.row(), "stopped | cancelled | 2/5 | contained", "{why:?}");
        after.before.remove("run");
        assert_eq!(after.card, after.before, "{why:?}");
    }
    let left = attempt(Cancelled).meanwhile(is_cancelled).leaves(&[11]).settle();
    assert_eq!((left.status().as_str(), left.settled.changed), ("cancelled, run", false));
}

#[test]
fn a_cancelled_tasks_processes_that_are_left_are_told() {
    let left = attempt(Cancelled).meanwhile(is_cancelled).leaves(&[11, 12]).settle();
    assert_eq!(left.row(), "stopped | cancelled, run | 2/5 | needs_attention attempt_not_contained");
    assert!(left.settled.line.text("detail").contains("11, 12"));
}

#[test]
fn a_cancelled_task_that_left_a_background_process_can_be_found() {
    // It cancelled itself and ended well, so nothing was contained.
    let held = attempt(Exited(0)).meanwhile(is_cancelled).holds_output().settle();
    assert_eq!(held.status(), "cancelled, run");
}

#[test]
fn what_a_person_has_to_decide_stays_with_the_person() {
    let login = |charge: &str| format!("needs_attention | needs_attention login | {charge} | needs_attention login");
    for why in [Exited(0), Exited(75), Exited(78), Exited(1), Killed(9), Timeout, Silent, Interrupted(15), ManualPhase] {
        let blocked = attempt(why.clone()).meanwhile(is_blocked).settle();
        assert_eq!(blocked.row(), login("2/5"), "{why:?}");
        assert_eq!(blocked.card.get("attention"), blocked.before.get("attention"));
        assert_eq!(blocked.text("outcome", "detail"), "log in first");
        let worked = |card: &mut Document| {
            works(card);
            is_blocked(card);
        };
        assert_eq!(attempt(why).counted(3, 50).meanwhile(worked).row(), login("0/50"));
    }
    assert_eq!(attempt(Exited(0)).meanwhile(is_blocked).says(status(Status::Completed)).row(), login("2/5"));
}

#[test]
fn what_the_card_says_of_its_attention_is_told() {
    let line = attempt(Exited(0)).meanwhile(is_blocked).settle().settled.line;
    assert_eq!((line.text("reason"), line.text("detail")), ("login", "log in first"));
    assert_eq!(line.text("blocked_since"), "2026-11-30T11:30:00Z");
}

#[test]
fn a_card_that_gives_no_reason_is_blocked_as_watch_says_it() {
    let blocks = |card: &mut Document| card.set("status", "needs_attention");
    assert_eq!(attempt(Exited(0)).meanwhile(blocks).settle().settled.line.text("reason"), "blocked");
}

#[test]
fn processes_that_are_left_need_a_person() {
    let person = "needs_attention attempt_not_contained";
    for (case, kind, charge) in [
        (attempt(Exited(1)), "failed", "2/5"),
        (attempt(Exited(75)), "postponed", "1/4"),
        (attempt(Exited(78)), "needs_attention", "2/5"),
        (attempt(Timeout), "timeout", "2/5"),
        (attempt(Silent).meanwhile(works), "silent", "0/5"),
        (attempt(Timeout).counted(3, 50), "timeout", "3/50"),
        (attempt(Interrupted(15)), "postponed", "1/4"),
        (attempt(ManualPhase).meanwhile(|card| card.set("phase", "send")), "stopped", "0/4"),
        (attempt(not_started(true)), "postponed", "1/4"),
        (attempt(Exited(1)).meanwhile(is_blocked), "needs_attention", "2/5"),
    ] {
        let after = case.leaves(&[11, 12]).settle();
        assert_eq!(after.row(), format!("{kind} | {person}, run | {charge} | {person}"));
        for detail in [after.text("attention", "detail"), after.text("outcome", "detail"), after.settled.line.text("detail")] {
            assert!(detail.contains("11, 12"), "{detail}");
        }
        assert_eq!(after.settled.line.text("next"), "card log t");
    }
}

#[test]
fn a_background_process_keeps_the_run() {
    let case = || attempt(Exited(0)).holds_output();
    assert_eq!(case().row(), "background | running, background | 2/5 | started > collect");
    assert_eq!(case().first_start().row(), "background | running, background | 0/0 | started > collect");
    assert_eq!(case().counted(3, 50).row(), "background | running, background | 3/50 | started > collect");
    assert_eq!(case().meanwhile(works).row(), "progressed | running | 0/4 | recovery collect > collect");
    assert_eq!(case().says(status(Status::Running)).row(), "handed_over | running | 2/5 | started > collect");
    let mut run = case().settle().card.remove("run").unwrap();
    assert_eq!(run.as_object_mut().unwrap().shift_remove("background"), Some(true.into()));
    assert_eq!(Some(&run), attempt(Exited(0)).given.get("run"));
}

#[test]
fn an_approval_meanwhile_does_not_keep_it_stalled() {
    let case = || attempt(Exited(0)).meanwhile(is_approved);
    assert_eq!(case().row(), "no_progress | stalled 12:00:15Z | 0/0 | alert");
    assert_eq!(case().says(message("200 of 1000")).row(), "progressed | running | 0/0 | recovery collect > collect");
    assert_eq!(case().says(status(Status::Running)).row(), "handed_over | running | 0/0 | started > collect");
    assert_eq!(case().holds_output().row(), "background | running, background | 0/0 | started > collect");
}

#[test]
fn the_first_start_is_no_recovery() {
    let first = |why| attempt(why).first_start();
    for (case, expected) in [
        (first(Exited(0)).says(next_phase("analyze")), "progressed | stalled | 0/0 | started > analyze, again"),
        (first(Exited(0)).meanwhile(works), "progressed | running | 0/0 | started > collect"),
        (first(Exited(0)).says(status(Status::Completed)), "completed | completed | 0/0 | started > collect"),
        (first(Exited(0)).says(status(Status::Running)), "handed_over | running | 0/0 | started > collect"),
        (first(Exited(0)), "no_progress | stalled 12:00:15Z | 0/0 | alert"),
        (first(Exited(1)), "failed | stalled 12:00:15Z | 0/0 | alert"),
        (first(Exited(0)).says(status(Status::Failed)), "failed | failed | 0/0 | needs_attention task_failed"),
        (first(Exited(78)), "needs_attention | needs_attention needs_person | 0/0 | needs_attention needs_person"),
    ] {
        assert_eq!(case.row(), expected);
    }
}

#[test]
fn lines_and_outcomes_as_they_are_written() {
    let at = r#""at":"2026-11-30T12:00:00Z","attempt":7"#;
    let log = r#""log":"/7.err""#;
    let phases = r#""from_phase":"collect","to_phase":"collect""#;
    for (case, outcome, line) in [
        (
            attempt(Exited(1)),
            format!(r#"{{{at},"kind":"failed","detail":"exit status 1","exit_status":1,"stderr_tail":"oh",{phases}}}"#),
            format!(
                r#"{{"signal":"alert","task_id":"t","outcome":"failed","detail":"exit status 1","attempt":7,
                    "next_attempt_at":"2026-11-30T12:00:30Z",{log}}}"#
            ),
        ),
        (
            attempt(Killed(9)).counted(3, 5).given(r#""max_retries":9"#).meanwhile(works),
            format!(r#"{{{at},"kind":"failed","detail":"ended by signal 9","signal":9,"stderr_tail":"oh",{phases}}}"#),
            format!(
                r#"{{"signal":"alert","task_id":"t","outcome":"failed","detail":"ended by signal 9","attempt":7,"progress":true,
                    "next_attempt_at":"2026-11-30T12:00:15Z",{log}}}"#
            ),
        ),
        (
            attempt(Interrupted(15)),
            format!(r#"{{{at},"kind":"postponed","detail":"resume was stopped by signal 15","stderr_tail":"oh",{phases}}}"#),
            format!(
                r#"{{"signal":"alert","task_id":"t","outcome":"postponed","detail":"resume was stopped by signal 15",
                    "attempt":7,{log}}}"#
            ),
        ),
        (
            attempt(Exited(0)).says(phase("analyze")),
            format!(r#"{{{at},"kind":"progressed","exit_status":0,"from_phase":"collect","to_phase":"analyze"}}"#),
            r#"{"signal":"recovery","task_id":"t","from_phase":"collect","to_phase":"analyze","recovered_at":"2026-11-30T12:00:00Z",
                "attempt":7,"outcome":"progressed"}"#
                .to_owned(),
        ),
        (
            attempt(Exited(0)).first_start().plain_command(),
            format!(r#"{{{at},"kind":"completed","exit_status":0,{phases}}}"#),
            r#"{"signal":"started","task_id":"t","attempt":7,"outcome":"completed","to_phase":"collect"}"#.to_owned(),
        ),
        (
            attempt(Exited(78)).says(Answer { reason: some("login"), ..message("who?") }),
            format!(r#"{{{at},"kind":"needs_attention","detail":"who?","exit_status":78,"stderr_tail":"oh",{phases}}}"#),
            format!(
                r#"{{"signal":"needs_attention","task_id":"t","phase":"collect","reason":"login","detail":"who?",
                    "blocked_since":"2026-11-30T12:00:00Z","next":"card approve t | resume","outcome":"needs_attention",
                    "attempt":7,{log}}}"#
            ),
        ),
    ] {
        let after = case.settle();
        assert_eq!(after.card.get("outcome"), Some(&serde_json::from_str(&outcome).unwrap()));
        assert_eq!(Value::Object(after.settled.line.0), serde_json::from_str::<Value>(&line).unwrap());
    }
}

#[test]
fn unknown_fields_keep_their_place_and_value() {
    let owner = r#""owner":{"b":1e+400,"a":1.10,"run":null}"#;
    let text =
        GIVEN.replacen('{', r#"{"first":12345678901234567890123,"#, 1).replace(r#""status""#, &format!(r#"{owner},"status""#));
    for why in [Exited(0), Exited(75), Exited(78), Exited(1), Timeout, ManualPhase] {
        let given = Document::parse(text.as_bytes(), "t").unwrap().0;
        let after = Case { given, ..attempt(why.clone()) }.leaves(&[]).settle();
        let names: Vec<&str> = after.card.object().keys().map(String::as_str).collect();
        let before: Vec<&str> = after.before.object().keys().map(String::as_str).filter(|name| *name != "run").collect();
        assert_eq!(names[..before.len()], before, "{why:?}");
        let written = serde_json::to_string(after.card.object()).unwrap();
        assert!(written.starts_with(r#"{"first":12345678901234567890123,"#) && written.contains(owner), "{why:?}: {written}");
    }
}
