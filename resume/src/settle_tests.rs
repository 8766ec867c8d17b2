//! Settling over its whole table: what the end of an attempt leaves in the card, and what is said about it.

use nix::unistd::Pid;

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
    given: String,
    meanwhile: fn(&mut Document),
    first_start: bool,
    why: Ending,
    answer: Result<Option<Answer>, String>,
    output_held: bool,
    left: Option<String>,
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
    let (given, now) = (GIVEN.to_owned(), clock("12:00:00"));
    Case { given, meanwhile: |_| (), first_start: false, why, answer: Ok(None), output_held: false, left: None, now }
}

impl Case {
    /// Given a card with this instead of that.
    fn given(self, that: &str, this: &str) -> Self {
        assert!(self.given.contains(that), "{that}");
        Self { given: self.given.replacen(that, this, 1), ..self }
    }

    fn counted(self, retry_count: u64, failures: u64) -> Self {
        self.given(r#""retry_count":2,"failures":5"#, &format!(r#""retry_count":{retry_count},"failures":{failures}"#))
    }

    fn first_start(self) -> Self {
        Self { first_start: true, ..self.given(r#""charged":true"#, r#""charged":false"#).counted(0, 0) }
    }

    fn plain_command(self) -> Self {
        self.given(r#""resume_adapter":"/adapter""#, r#""resume_argv":["make"]"#)
    }

    fn meanwhile(self, meanwhile: fn(&mut Document)) -> Self {
        Self { meanwhile, ..self }
    }

    fn says(self, answer: Answer) -> Self {
        Self { answer: Ok(Some(answer)), ..self }
    }

    fn settle(self) -> After {
        let Self { first_start, why, answer, output_held, left, .. } = self;
        let given = Document::parse(self.given.as_bytes(), "t").unwrap().0;
        let mut before = given.clone();
        (self.meanwhile)(&mut before);
        let (mut card, read) = Document::parse(&before.bytes(), "t").unwrap();
        let (stderr_tail, stderr_log) = ("oh".to_owned(), "/7.err".to_owned());
        let ended = Ended { given: &given, number: 7, first_start, why, answer, output_held, left, stderr_tail, stderr_log };
        let settled = settle(&mut card, &read, &ended, self.now).unwrap();
        let after = After { before, card, settled };
        after.holds();
        after
    }
}

impl After {
    /// What holds for every end.
    fn holds(&self) {
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

    /// Outcome | status, reason, wait, run | retries/failures | line, with its reason if that is not the card's.
    fn row(&self) -> String {
        let run = match self.card.get("run") {
            None => "",
            Some(run) if run.get("background").is_some() => ", background",
            run => [", another run", ", run"][usize::from(run == self.before.get("run"))],
        };
        let (reason, until) = (self.text("attention", "reason"), self.card.text("not_before").trim_start_matches("2026-11-30T"));
        let status = [self.card.text("status"), reason, until].join(" ").replace("  ", " ");
        let (retries, failures) = (self.card.count("retry_count"), self.card.count("failures"));
        let line = &self.settled.line;
        let told = match line.text("signal") {
            "recovery" => format!("recovery {} > {}", line.text("from_phase"), line.text("to_phase")),
            "started" => format!("started > {}", line.text("to_phase")),
            "needs_attention" if line.text("reason") != reason => line.text("reason").to_owned(),
            "alert" if line.0.contains_key("progress") => "alert, progress".to_owned(),
            signal => signal.to_owned(),
        };
        let again = if self.settled.again { ", again" } else { "" };
        format!("{} | {}{run} | {retries}/{failures} | {told}{again}", self.settled.kind, status.trim_end())
    }
}

#[track_caller]
fn check<const N: usize>(rows: [(Case, &str); N]) {
    for (number, (case, expected)) in rows.into_iter().enumerate() {
        assert_eq!(case.settle().row(), expected, "row {}", number + 1);
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

fn because(reason: &str, answer: Answer) -> Answer {
    Answer { reason: Some(reason.into()), ..answer }
}

fn not_started(ours: bool) -> Ending {
    NotStarted { ours, detail: "no".to_owned() }
}

#[test]
fn every_ending_without_and_with_progress_on_the_way() {
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
        let repeats_itself = |card: &mut Document| card.add_checkpoint("collect", "100 of 1000", clock("11:30:00"));
        let waited = case().given(r#""attempt":7"#, r#""not_before":"2026-11-30T11:00:00Z","attempt":7"#);
        check([(case(), without), (case().meanwhile(repeats_itself), without), (waited, without), (case().meanwhile(works), with)]);
    }
}

#[test]
fn what_a_good_end_needs_to_be_progress() {
    let case = |meanwhile| attempt(Exited(0)).meanwhile(meanwhile);
    check([
        (case(|card| card.add_artifact("collect", "index", "/index")), "progressed | running | 0/4 | recovery collect > collect"),
        (case(|card| card.add_artifact("collect", "raw", "/other")), "progressed | running | 0/4 | recovery collect > collect"),
        (case(|card| card.add_artifact("collect", "raw", "/raw")), "no_progress | stalled 12:00:30Z | 2/5 | alert"),
        (case(|card| assert!(card.set_step("two", "done", None))), "progressed | running | 0/4 | recovery collect > collect"),
        (case(|card| assert!(card.set_step("two", "failed", None))), "no_progress | stalled 12:00:30Z | 2/5 | alert"),
        (case(|card| card.set("phase", "analyze")), "progressed | running | 0/4 | recovery collect > analyze"),
        (case(|card| card.set("phase", "plan")), "no_progress | stalled 12:00:30Z | 2/5 | alert"),
    ]);
}

#[test]
fn a_phase_that_needs_a_persons_word_stops_it() {
    let into = |meanwhile| attempt(ManualPhase).meanwhile(meanwhile);
    check([
        (into(|card| card.set("phase", "send")), "stopped | stalled | 0/4 | non_idempotent_phase_blocked"),
        (into(|card| card.set("phase", "plan")), "stopped | stalled | 1/4 | non_idempotent_phase_blocked"),
    ]);
}

#[test]
fn one_that_ends_well_in_a_phase_that_needs_a_persons_word_is_stopped_as_well() {
    let manual = |case: Case| case.given(r#""status":"running""#, r#""manual_phases":["send","plan"],"status":"running""#);
    let case = |meanwhile| manual(attempt(Exited(0))).meanwhile(meanwhile);
    let sends = || manual(attempt(Exited(0))).given(r#""phase":"collect","#, r#""phase":"send","#);
    let next = |status, again| {
        let entry = Entry { next_phase: Some("send".to_owned()), ..Entry::default() };
        case(|_| ()).says(Answer { entry, status, again, ..Answer::default() })
    };
    let send = |card: &mut Document| card.set("phase", "send");
    let blocked = "stopped | stalled | 0/4 | non_idempotent_phase_blocked";
    check([
        (case(send), blocked),
        (Case { output_held: true, ..case(send) }, "stopped | stalled, background | 0/4 | non_idempotent_phase_blocked"),
        (case(send).first_start(), "stopped | stalled | 0/0 | non_idempotent_phase_blocked"),
        (case(|card| card.set("phase", "plan")), "stopped | stalled | 1/4 | non_idempotent_phase_blocked"),
        (next(None, false), blocked),
        (next(None, true), blocked),
        (next(Some(Status::Running), false), blocked),
        (next(Some(Status::Stalled), false), blocked),
        (next(Some(Status::Completed), false), "completed | completed | 0/4 | recovery collect > send"),
        (next(Some(Status::NeedsAttention), false), "needs_attention | needs_attention needs_person | 0/5 | needs_attention"),
        (
            case(|card| {
                card.set("phase", "send");
                card.set("permit", "send");
            }),
            "progressed | running | 0/4 | recovery collect > send",
        ),
        (case(|card| card.set("phase", "analyze")), "progressed | running | 0/4 | recovery collect > analyze"),
        (sends().meanwhile(|card| card.add_artifact("send", "mail", "/mail")), "progressed | running | 0/4 | recovery send > send"),
        (sends(), "no_progress | stalled 12:00:30Z | 2/5 | alert"),
    ]);
    let (ended, seen) = (case(send).settle(), manual(attempt(ManualPhase)).meanwhile(send).settle());
    assert_eq!(ended.settled.line.0, seen.settled.line.0);
    assert!(ended.text("outcome", "detail") == seen.text("outcome", "detail") && !ended.text("outcome", "detail").is_empty());
}

#[test]
fn a_plain_command_completes_the_task_by_exit_0() {
    let case = |code| attempt(Exited(code)).plain_command();
    check([
        (case(0), "completed | completed | 1/4 | recovery collect > collect"),
        (Case { output_held: true, ..case(0) }, "completed | completed | 1/4 | recovery collect > collect"),
        (case(75), "postponed | stalled 12:00:15Z | 1/4 | alert"),
        (case(1), "failed | stalled 12:00:30Z | 2/5 | alert"),
    ]);
}

#[test]
fn answers_of_a_good_end() {
    use Status::{Completed, Failed, NeedsAttention, Running, Stalled};
    let phase = |name: &str| says(Entry { phase: Some(name.into()), ..Entry::default() });
    let artifact = |path: &str| says(Entry { artifacts: vec![("raw".into(), path.into())], ..Entry::default() });
    let one = |name: &str, status: &str| Step { name: name.into(), status: status.into(), result: None };
    let step = |name, status| says(Entry { steps: vec![one(name, status)], ..Entry::default() });
    let with = |status, answer| Answer { status: Some(status), ..answer };
    let again = |answer| Answer { again: true, ..answer };
    let no_progress = "no_progress | stalled 12:00:30Z | 2/5 | alert";
    let progressed = "progressed | running | 0/4 | recovery collect > collect";
    let further_again = "progressed | stalled | 0/4 | recovery collect > analyze, again";
    let rows = [
        (Answer::default(), no_progress),
        (message("200 of 1000"), progressed),
        (message("100 of 1000"), no_progress),
        (phase("analyze"), "progressed | running | 0/4 | recovery collect > analyze"),
        (phase("collect"), no_progress),
        (artifact("/other"), progressed),
        (artifact("/raw"), no_progress),
        (step("two", "done"), progressed),
        (step("three", "pending"), no_progress),
        (because("login", Answer::default()), no_progress),
        // Its own status.
        (status(Completed), "completed | completed | 1/4 | recovery collect > collect"),
        (with(Completed, phase("publish")), "completed | completed | 0/4 | recovery collect > publish"),
        (status(Failed), "failed | failed | 2/5 | task_failed"),
        (with(Failed, message("no such site")), "failed | failed | 0/5 | task_failed"),
        (status(Status::Cancelled), "stopped | cancelled | 1/4 | alert"),
        (status(NeedsAttention), "needs_attention | needs_attention needs_person | 2/5 | needs_attention"),
        (because("login", status(NeedsAttention)), "needs_attention | needs_attention login | 2/5 | needs_attention"),
        (with(NeedsAttention, message("who?")), "needs_attention | needs_attention needs_person | 0/5 | needs_attention"),
        (status(Running), "handed_over | running | 2/5 | started > collect"),
        (with(Running, message("100 of 1000")), "handed_over | running | 2/5 | started > collect"),
        (with(Running, message("200 of 1000")), progressed),
        (status(Stalled), no_progress),
        (with(Stalled, message("200 of 1000")), "progressed | stalled | 0/4 | recovery collect > collect"),
        // Again at once only for a phase or step that was not reached before.
        (next_phase("analyze"), further_again),
        (with(Running, next_phase("analyze")), further_again),
        (next_phase("plan"), no_progress),
        (again(phase("plan")), no_progress),
        (again(phase("analyze")), further_again),
        (again(step("two", "done")), "progressed | stalled | 0/4 | recovery collect > collect, again"),
        (again(step("one", "done")), no_progress),
        (again(message("200 of 1000")), progressed),
        (again(artifact("/other")), progressed),
        (again(Answer::default()), no_progress),
        (again(status(Completed)), "completed | completed | 1/4 | recovery collect > collect"),
    ];
    check(rows.map(|(answer, expected)| (attempt(Exited(0)).says(answer), expected)));
    let reached = attempt(Exited(0)).meanwhile(|card| card.set("phase", "analyze"));
    check([(reached.says(again(Answer::default())), further_again)]);
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
    let only_status = attempt(Exited(0)).says(status(Status::Running)).settle().card;
    assert_eq!((end(0).count("checkpoint_count"), only_status.count("checkpoint_count")), (4, 0));
    // What an attempt that failed printed is no answer.
    assert_eq!((end(1).text("phase"), end(1).count("checkpoint_count"), end(1).get("context")), ("collect", 0, None));
}

#[test]
fn an_answer_that_is_wrong_is_none_and_is_told() {
    let wrong = |code| Case { answer: Err("the answer's phase is 7".to_owned()), ..attempt(Exited(code)) };
    check([
        (wrong(0), "no_progress | stalled 12:00:30Z | 2/5 | alert"),
        (wrong(0).meanwhile(works), "progressed | running | 0/4 | recovery collect > collect"),
        (wrong(75), "postponed | stalled 12:00:15Z | 1/4 | alert"),
        (wrong(78), "needs_attention | needs_attention needs_person | 2/5 | needs_attention"),
    ]);
    assert!(wrong(0).settle().text("outcome", "detail").ends_with("was recorded; the answer's phase is 7"));
}

#[test]
fn an_answer_that_no_card_can_hold_is_none_and_is_told() {
    let spoils = |name: &str, value: Value| {
        let entry = Entry { metadata: [(name.to_owned(), value)].into_iter().collect(), ..message("200 of 1000").entry };
        attempt(Exited(0)).says(Answer { entry, ..status(Status::Completed) })
    };
    for case in [spoils("depends_on", "x".into()), spoils("x", "y".repeat(4 << 20).into())] {
        let after = case.settle();
        assert_eq!(after.row(), "no_progress | stalled 12:00:30Z | 2/5 | alert");
        assert!(after.text("outcome", "detail").contains("the answer cannot be recorded: "));
        assert_eq!(after.card.get("metadata"), after.before.get("metadata"));
    }
}

#[test]
fn exit_75_says_how_long_not_now_is() {
    let case = |seconds| attempt(Exited(75)).says(Answer { retry_after_seconds: Some(seconds), ..Answer::default() });
    check([
        (case(0.0), "postponed | stalled 12:00:00Z | 1/4 | alert"),
        (case(0.2), "postponed | stalled 12:00:01Z | 1/4 | alert"),
        (case(90.0), "postponed | stalled 12:01:30Z | 1/4 | alert"),
        (case(604_800.0), "postponed | stalled 2026-12-07T12:00:00Z | 1/4 | alert"),
        (case(604_801.0), "postponed | stalled 2026-12-07T12:00:00Z | 1/4 | alert"),
        (case(1e300), "postponed | stalled 2026-12-07T12:00:00Z | 1/4 | alert"),
        // Without a word it is the first cooldown: nothing failed that would double it.
        (attempt(Exited(75)).counted(3, 5), "postponed | stalled 12:00:15Z | 2/4 | alert"),
        (attempt(Exited(75)).says(message("busy")), "postponed | stalled 12:00:15Z | 0/4 | alert, progress"),
    ]);
    assert_eq!(attempt(Exited(75)).says(message("busy")).settle().text("outcome", "detail"), "busy");
}

#[test]
fn exit_78_says_why_a_person_is_needed() {
    let exited = "the adapter ended with exit status 78";
    for (case, reason, detail, charge) in [
        (attempt(Exited(78)), "needs_person", exited, "2/5"),
        (attempt(Exited(78)).meanwhile(works), "needs_person", exited, "0/5"),
        (attempt(Exited(78)).says(because("login", Answer::default())), "login", exited, "2/5"),
        (attempt(Exited(78)).says(message("log in first")), "needs_person", "log in first", "0/5"),
        (attempt(Exited(78)).says(because("login", message("log in first"))), "login", "log in first", "0/5"),
    ] {
        let after = case.settle();
        assert_eq!(after.row(), format!("needs_attention | needs_attention {reason} | {charge} | needs_attention"));
        assert_eq!((after.text("attention", "detail"), after.text("attention", "since")), (detail, "2026-11-30T12:00:00Z"));
    }
}

#[test]
fn what_was_not_charged_is_not_taken_back() {
    let uncharged = |why| attempt(why).given(r#""charged":true"#, r#""charged":false"#);
    check([
        (uncharged(Exited(1)), "failed | stalled 12:00:30Z | 2/5 | alert"),
        (uncharged(Exited(1)).meanwhile(works), "failed | stalled 12:00:15Z | 0/5 | alert, progress"),
        (uncharged(Exited(75)), "postponed | stalled 12:00:15Z | 2/5 | alert"),
        (uncharged(Exited(0)).meanwhile(works), "progressed | running | 0/5 | recovery collect > collect"),
        // Neither is what somebody else has reset: the checkpoint that brought progress, a person who approved.
        (attempt(Exited(0)).meanwhile(works).counted(0, 5), "progressed | running | 0/4 | recovery collect > collect"),
        (attempt(Exited(75)).meanwhile(is_approved), "postponed | stalled 12:00:15Z | 0/0 | alert"),
        (attempt(Exited(1)).meanwhile(is_approved), "failed | stalled 12:00:15Z | 0/0 | alert"),
    ]);
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
            let fields = format!(r#""cooldown_seconds":{cooldown},"max_retries":100000,"attempt":7"#);
            let after = attempt(Exited(1)).given(r#""attempt":7"#, &fields).counted(*retry_count, 5).settle();
            let until = clock("12:00:00").plus_seconds(f64::from(*seconds)).to_string();
            assert_eq!(after.card.text("not_before"), until, "{cooldown}, {retry_count}");
        }
    }
    for (now, until) in [("12:00:00", "12:00:15"), ("12:00:00.001", "12:00:16"), ("12:00:00.999", "12:00:16")] {
        for why in [Exited(1), Exited(75), not_started(true)] {
            let after = Case { now: clock(now), ..attempt(why).counted(1, 1) }.settle();
            assert_eq!(after.card.text("not_before"), clock(until).to_string(), "{now}");
        }
    }
}

#[test]
fn the_last_attempt_hands_the_task_to_a_person() {
    let kinds = [(Exited(0), "no_progress"), (Exited(1), "failed"), (Killed(9), "failed"), (not_started(false), "failed")];
    for (why, kind) in kinds.into_iter().chain([(Timeout, "timeout"), (Silent, "silent")]) {
        let person = |reason, charge| format!("{kind} | needs_attention {reason} | {charge} | needs_attention");
        check([
            (attempt(why.clone()).counted(3, 49), &person("retries_exhausted", "3/49")),
            (attempt(why.clone()).counted(2, 50), &person("failures_exhausted", "2/50")),
            (attempt(why).counted(3, 50), &person("retries_exhausted", "3/50")),
        ]);
    }
    let last = |why| attempt(why).counted(3, 50);
    let limited = |limit: &str| attempt(Exited(1)).given(r#""attempt":7"#, &format!(r#"{limit},"attempt":7"#));
    check([
        (limited(r#""max_retries":4"#).counted(3, 49), "failed | stalled 12:01:00Z | 3/49 | alert"),
        (limited(r#""max_retries":2"#), "failed | needs_attention retries_exhausted | 2/5 | needs_attention"),
        (limited(r#""max_retries":2"#).meanwhile(works), "failed | stalled 12:00:15Z | 0/5 | alert, progress"),
        (limited(r#""max_failures":5"#), "failed | needs_attention failures_exhausted | 2/5 | needs_attention"),
        (limited(r#""max_failures":5"#).meanwhile(works), "failed | needs_attention failures_exhausted | 0/5 | needs_attention"),
        // Only watched: there is no next attempt that progress could lead to.
        (limited(r#""max_retries":0"#).meanwhile(works), "failed | needs_attention retries_exhausted | 0/5 | needs_attention"),
        (last(Exited(0)).meanwhile(works), "progressed | running | 0/49 | recovery collect > collect"),
        (last(Exited(0)).says(status(Status::Running)), "handed_over | running | 3/50 | started > collect"),
        (last(Exited(75)), "postponed | stalled 12:00:15Z | 2/49 | alert"),
        (last(Exited(78)), "needs_attention | needs_attention needs_person | 3/50 | needs_attention"),
    ]);
    let detail = last(Exited(4)).settle().text("attention", "detail").to_owned();
    assert!(detail.contains("(max_retries)") && detail.ends_with("exit status 4"), "{detail}");
}

#[test]
fn a_finished_card_never_changes() {
    let completes = |card: &mut Document| card.set_status(Status::Completed).unwrap();
    let fails = |card: &mut Document| card.set_status(Status::Failed).unwrap();
    for why in [Exited(0), Exited(75), Exited(78), Exited(1), Timeout, Interrupted(15)] {
        let case = |meanwhile| attempt(why.clone()).says(next_phase("analyze")).meanwhile(meanwhile);
        assert!(!case(completes).settle().settled.changed && !case(fails).settle().settled.changed);
        check([
            (case(completes), "completed | completed | 2/5 | recovery collect > collect"),
            (case(completes).first_start(), "completed | completed | 0/0 | started > collect"),
            (case(fails), "failed | failed | 2/5 | task_failed"),
            (case(fails).first_start(), "failed | failed | 0/0 | task_failed"),
            // As someone who does not know of runs writes it.
            (case(|card| card.set("status", "completed")), "completed | completed, run | 2/5 | recovery collect > collect"),
        ]);
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
    let left = Case { left: Some(left_behind()), ..attempt(Cancelled) }.meanwhile(is_cancelled).settle();
    assert_eq!((left.card, left.settled.changed), (left.before, false));
}

fn left_behind() -> String {
    not_contained(&[Pid::from_raw(11), Pid::from_raw(12)])
}

#[test]
fn processes_of_a_cancelled_task_that_are_left_are_told() {
    let left = Case { left: Some(left_behind()), ..attempt(Cancelled) }.meanwhile(is_cancelled).settle();
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
        let completes = attempt(why.clone()).meanwhile(is_blocked).says(status(Status::Completed));
        let worked = attempt(why).counted(3, 50).meanwhile(works_and_blocks);
        check([
            (completes, "needs_attention | needs_attention login | 2/5 | needs_attention"),
            (worked, "needs_attention | needs_attention login | 0/50 | needs_attention"),
        ]);
    }
    let blocked = attempt(Exited(1)).meanwhile(is_blocked).settle();
    assert_eq!(blocked.card.get("attention"), blocked.before.get("attention"));
}

#[test]
fn what_watch_would_say_of_a_blocked_card_is_told() {
    let blocked = attempt(Exited(0)).meanwhile(is_blocked).settle().settled.line;
    let without_a_word = attempt(Exited(0)).meanwhile(|card| card.set("status", "needs_attention")).settle().settled.line;
    assert_eq!((blocked.text("blocked_since"), without_a_word.text("reason")), ("2026-11-30T11:30:00Z", "blocked"));
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
        let after = Case { left: Some(left_behind()), ..case }.settle();
        assert_eq!(after.row(), format!("{kind} | needs_attention attempt_not_contained, run | {charge} | needs_attention"));
        assert!(after.text("attention", "detail").contains("11, 12") && after.text("outcome", "detail").contains("11, 12"));
    }
}

#[test]
fn a_background_process_keeps_the_run() {
    let case = || Case { output_held: true, ..attempt(Exited(0)) };
    check([
        (case(), "background | running, background | 2/5 | started > collect"),
        (case().counted(3, 50), "background | running, background | 3/50 | started > collect"),
        (case().meanwhile(works), "progressed | running, background | 0/4 | recovery collect > collect"),
        (case().says(status(Status::Running)), "handed_over | running, background | 2/5 | started > collect"),
        (case().meanwhile(is_approved), "background | running, background | 0/0 | started > collect"),
    ]);
}

#[test]
fn the_first_start_is_no_recovery() {
    let first = |why| attempt(why).first_start();
    check([
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
    ]);
}

#[test]
fn outcomes_as_they_are_written_and_what_a_line_holds() {
    let at = r#""at":"2026-11-30T12:00:00Z","attempt":7"#;
    let phases = r#""from_phase":"collect","to_phase":"collect""#;
    for (case, outcome) in [
        (attempt(Exited(0)).meanwhile(works), r#""kind":"progressed","exit_status":0"#),
        (attempt(Exited(1)), r#""kind":"failed","detail":"exit status 1","exit_status":1,"stderr_tail":"oh""#),
        (attempt(Killed(9)), r#""kind":"failed","detail":"ended by signal 9","signal":9,"stderr_tail":"oh""#),
        (attempt(not_started(false)), r#""kind":"failed","detail":"no","stderr_tail":"oh""#),
    ] {
        assert_eq!(case.settle().card.get("outcome").unwrap().to_string(), format!("{{{at},{outcome},{phases}}}"));
    }
    for (case, names) in [
        (attempt(Exited(1)), "signal task_id outcome detail attempt next_attempt_at log"),
        (attempt(Interrupted(15)), "signal task_id outcome detail attempt log"),
        (attempt(Exited(0)).meanwhile(works), "signal task_id from_phase to_phase recovered_at attempt outcome"),
        (attempt(Exited(0)).first_start().meanwhile(works), "signal task_id attempt outcome to_phase"),
        (attempt(Exited(78)), "signal task_id phase reason detail blocked_since next outcome attempt log"),
        (attempt(Exited(0)).says(status(Status::Failed)), "signal task_id phase reason next outcome attempt log"),
    ] {
        let line = case.settle().settled.line;
        assert_eq!(line.0.keys().map(String::as_str).collect::<Vec<_>>().join(" "), names);
    }
}

#[test]
fn unknown_fields_keep_their_place_and_value() {
    let (first, owner) = (r#"{"first":12345678901234567890123,"#, r#""owner":{"b":1e+400,"a":1.10,"run":null},"#);
    for why in [Exited(0), Exited(75), Exited(78), Exited(1), ManualPhase] {
        let case = attempt(why.clone()).given("{", first).given(r#""status""#, &format!(r#"{owner}"status""#));
        let After { before, card, .. } = case.settle();
        let stayed = before.object().keys().filter(|name| *name != "run");
        assert!(stayed.eq(card.object().keys().take(before.object().len() - 1)), "{why:?}");
        let written = serde_json::to_string(card.object()).unwrap();
        assert!(written.starts_with(first) && written.contains(owner), "{why:?}: {written}");
    }
}
