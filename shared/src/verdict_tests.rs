//! The verdict over its whole table, gate by gate, and at its boundaries.

use super::*;

const RUN: &str = r#""run":{"attempt":2,"token":"k","host":"here","pid":7,"started_at":"2026-11-30T10:00:00Z"}"#;

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap().0
}

/// A time of the day on which all of this happens.
fn clock(time: &str) -> Timestamp {
    at(&format!("2026-11-30T{time}Z"))
}

fn now() -> Timestamp {
    clock("12:00:00")
}

/// A card made at 10:00, unless `fields` say otherwise.
fn card(fields: &str) -> Card {
    let created = if fields.contains("created_at") { "" } else { r#""created_at":"2026-11-30T10:00:00Z","# };
    let json = format!(r#"{{"task_id":"t",{created}{fields}}}"#);
    Card::parse(json.as_bytes(), "t").unwrap_or_else(|error| panic!("{json}: {error:?}"))
}

/// Nothing lives, everything is usable.
fn facts() -> Facts {
    Facts {
        host: "here".to_owned(),
        supervisor_alive: false,
        attempt_alive: false,
        last_output: None,
        awake_since: None,
        adapter: Usability::Usable,
        dependencies: Dependencies::default(),
    }
}

fn attempt_alive() -> Facts {
    Facts { attempt_alive: true, ..facts() }
}

fn supervisor_alive() -> Facts {
    Facts { supervisor_alive: true, ..attempt_alive() }
}

fn ask(fields: &str, facts: &Facts, request: Request) -> String {
    match judge(&card(fields), facts, request, now()) {
        Verdict::Quiet(quiet) => format!("quiet {}", quiet.reason),
        Verdict::Alert(due) => format!("alert {}", due.reason),
        Verdict::Ready => "ready".to_owned(),
        Verdict::Attention(attention) => format!("attention {}", attention.reason),
    }
}

fn due(fields: &str, facts: &Facts) -> Due {
    match judge(&card(fields), facts, Request::Pass, now()) {
        Verdict::Alert(due) => due,
        other => panic!("{fields}: {other:?}"),
    }
}

fn attention_of(fields: &str, facts: &Facts, request: Request) -> Attention {
    match judge(&card(fields), facts, request, now()) {
        Verdict::Attention(attention) => attention,
        other => panic!("{fields}: {other:?}"),
    }
}

/// Asserts what a pass says of each card: the fields that follow the `common` ones, and the verdict.
fn assert_each(common: &str, facts: &Facts, rows: &[(&str, &str)]) {
    for (fields, expected) in rows {
        assert_eq!(ask(&format!("{common},{fields}"), facts, Request::Pass), *expected, "{common},{fields}");
    }
}

/// What the gates look at, by name.
const HOUSES: [(&str, &str); 9] = [
    ("auto", r#""allow_auto_resume":true"#),
    ("auto+permit", r#""allow_auto_resume":true,"permit":"p""#),
    ("off", r#""allow_auto_resume":false"#),
    ("off+permit", r#""permit":"p""#),
    ("off+other", r#""permit":"q""#),
    ("manual", r#""allow_auto_resume":true,"manual_phases":["o","p"]"#),
    ("manual+permit", r#""manual_phases":["p"],"permit":"p""#),
    ("cooling", r#""allow_auto_resume":true,"not_before":"2026-11-30T12:10:00Z""#),
    ("exhausted", r#""allow_auto_resume":true,"retry_count":3"#),
];
const ANY: &str = "auto auto+permit off off+permit off+other manual manual+permit cooling exhausted";
const OPEN: &str = "auto auto+permit off+permit manual+permit";
const OFF: &str = "off off+other";

/// Statuses; run recorded, supervisor alive, attempt alive, silent: y, n or * for both; houses; verdict.
#[rustfmt::skip]
const TABLE: [(&str, &str, &str, &str); 36] = [
    ("completed",       "****", ANY,         "quiet completed"),
    ("failed",          "****", ANY,         "quiet failed"),
    ("cancelled",       "n***", ANY,         "quiet cancelled"),
    ("cancelled",       "ynn*", ANY,         "quiet cancelled"),
    ("cancelled",       "yny*", ANY,         "alert contain"),
    ("cancelled",       "yy**", ANY,         "quiet supervised"),
    ("needs_attention", "****", ANY,         "attention blocked"),
    ("pending",         "****", OFF,         "quiet not_started"),
    ("pending",         "****", OPEN,        "ready"),
    ("pending",         "****", "exhausted", "ready"),
    ("pending",         "****", "manual",    "attention non_idempotent_phase_blocked"),
    ("pending",         "****", "cooling",   "quiet cooling_down"),
    ("running stalled", "yy*n", ANY,         "quiet supervised"),
    ("running stalled", "yy*y", ANY,         "attention supervisor_silent"),
    ("running stalled", "ynyn", ANY,         "quiet alive"),
    ("running stalled", "ynyy", OFF,         "attention auto_resume_off"),
    ("running stalled", "ynyy", OPEN,        "alert attempt_silent"),
    ("running stalled", "ynyy", "exhausted", "attention retries_exhausted"),
    ("running stalled", "ynyy", "manual",    "attention non_idempotent_phase_blocked"),
    ("running stalled", "ynyy", "cooling",   "quiet cooling_down"),
    ("running stalled", "ynn*", OFF,         "attention auto_resume_off"),
    ("running stalled", "ynn*", OPEN,        "alert attempt_died"),
    ("running stalled", "ynn*", "exhausted", "attention retries_exhausted"),
    ("running stalled", "ynn*", "manual",    "attention non_idempotent_phase_blocked"),
    ("running stalled", "ynn*", "cooling",   "quiet cooling_down"),
    ("stalled",         "n***", OFF,         "attention auto_resume_off"),
    ("stalled",         "n***", OPEN,        "alert retry_due"),
    ("stalled",         "n***", "exhausted", "attention retries_exhausted"),
    ("stalled",         "n***", "manual",    "attention non_idempotent_phase_blocked"),
    ("stalled",         "n***", "cooling",   "quiet cooling_down"),
    ("running",         "n**n", ANY,         "quiet healthy"),
    ("running",         "n**y", OFF,         "attention auto_resume_off"),
    ("running",         "n**y", OPEN,        "alert silent"),
    ("running",         "n**y", "exhausted", "attention retries_exhausted"),
    ("running",         "n**y", "manual",    "attention non_idempotent_phase_blocked"),
    ("running",         "n**y", "cooling",   "quiet cooling_down"),
];

#[test]
fn every_combination_has_exactly_one_verdict() {
    let mut used = [0; TABLE.len()];
    for status in Status::ALL {
        for bits in 0..16 {
            let [run, supervisor, attempt, silent] = [8, 4, 2, 1].map(|bit| bits & bit != 0);
            let what = [run, supervisor, attempt, silent].map(|yes| if yes { 'y' } else { 'n' });
            let facts = Facts { supervisor_alive: supervisor, attempt_alive: attempt, ..facts() };
            for (house, gates) in HOUSES {
                let last = if silent { "11:00" } else { "11:59" };
                let mut fields = format!(r#""status":"{status}","phase":"p","last_checkpoint_at":"2026-11-30T{last}:00Z",{gates}"#);
                if run {
                    fields = format!("{fields},{RUN}");
                }
                let rows: Vec<usize> = (0..TABLE.len())
                    .filter(|row| {
                        let (statuses, pattern, houses, _) = TABLE[*row];
                        statuses.split(' ').any(|word| word == status.as_str())
                            && pattern.chars().zip(what).all(|(wanted, is)| wanted == '*' || wanted == is)
                            && houses.split(' ').any(|word| word == house)
                    })
                    .collect();
                let [row] = rows[..] else { panic!("{status} {what:?} {house}: rows {rows:?}") };
                assert_eq!(ask(&fields, &facts, Request::Pass), TABLE[row].3, "{status} {what:?} {house}");
                used[row] += 1;
            }
        }
    }
    assert!(used.iter().all(|count| *count > 0), "{used:?}");
    assert_eq!(used.iter().sum::<usize>(), 7 * 16 * HOUSES.len());
}

/// The gates in their order, with the fields that close and open each. Those without are closed in `house`.
const GATES: [(&str, &str, &str); 11] = [
    ("auto_resume_off", r#""allow_auto_resume":false"#, r#""allow_auto_resume":true"#),
    ("no_adapter", "", ""),
    ("adapter_missing", "", ""),
    ("adapter_insecure", "", ""),
    ("dependency_failed", "", ""),
    ("dependency_missing", "", ""),
    ("too_old", r#","give_up_after_minutes":1"#, r#","give_up_after_minutes":0"#),
    ("non_idempotent_phase_blocked", r#","manual_phases":["send"]"#, r#","manual_phases":["post"]"#),
    ("retries_exhausted", r#","retry_count":3"#, r#","retry_count":2"#),
    ("failures_exhausted", r#","failures":50"#, r#","failures":49"#),
    ("quiet cooling_down", r#","not_before":"2026-11-30T12:00:01Z""#, r#","not_before":"2026-11-30T12:00:00Z""#),
];

/// The facts when that many gates are open.
fn house(opened: usize, alive: Facts) -> Facts {
    let adapter = match opened {
        0 | 1 => Usability::None,
        2 => Usability::Missing("/bin/gone: no such file".to_owned()),
        3 => Usability::Insecure("/tmp/open: everyone may write it".to_owned()),
        _ => Usability::Usable,
    };
    let failed = if opened <= 4 { vec![("a".to_owned(), Status::Cancelled)] } else { Vec::new() };
    let missing = if opened <= 5 { vec!["b".to_owned()] } else { Vec::new() };
    Facts { adapter, dependencies: Dependencies { unfinished: Vec::new(), failed, missing }, ..alive }
}

/// Opens one gate after the other, beginning with all closed, and collects the different verdicts.
fn walk(fields: &str, alive: &Facts, request: Request) -> Vec<String> {
    let mut seen: Vec<String> = (0..=GATES.len())
        .map(|opened| {
            let gates: String =
                GATES.iter().enumerate().map(|(i, (_, closed, open))| if i < opened { *open } else { *closed }).collect();
            let said = ask(&format!(r#"{gates},"phase":"send",{fields}"#), &house(opened, alive.clone()), request);
            said.strip_prefix("attention ").map(str::to_owned).unwrap_or(said)
        })
        .collect();
    seen.dedup();
    seen
}

/// All gates but some, then the verdict when they are open.
fn all_but(skipped: &[&str], last: &str) -> Vec<String> {
    let asked = GATES.iter().map(|(name, ..)| *name).filter(|name| !skipped.contains(name));
    asked.chain([last]).map(str::to_owned).collect()
}

const SILENT: &str = r#""status":"running""#;

#[test]
fn the_first_closed_gate_is_the_reason() {
    for request in [Request::Pass, Request::Named] {
        assert_eq!(walk(SILENT, &facts(), request), all_but(&[], "alert silent"));
        let with_run = format!("{SILENT},{RUN}");
        assert_eq!(walk(&with_run, &attempt_alive(), request), all_but(&[], "alert attempt_silent"));
        assert_eq!(walk(&with_run, &facts(), request), all_but(&[], "alert attempt_died"));
        // A retry that is due in the future cannot be too old.
        assert_eq!(walk(r#""status":"stalled""#, &facts(), request), all_but(&["too_old"], "alert retry_due"));
    }
}

#[test]
fn a_permit_opens_some_gates_for_its_own_phase() {
    let person = ["auto_resume_off", "too_old", "non_idempotent_phase_blocked", "retries_exhausted", "failures_exhausted"];
    for (fields, alive, last) in [
        (SILENT.to_owned(), facts(), "alert silent"),
        (format!("{SILENT},{RUN}"), attempt_alive(), "alert attempt_silent"),
        (format!("{SILENT},{RUN}"), facts(), "alert attempt_died"),
        (r#""status":"stalled""#.to_owned(), facts(), "alert retry_due"),
    ] {
        assert_eq!(walk(&format!(r#"{fields},"permit":"send""#), &alive, Request::Pass), all_but(&person, last));
    }
    assert_eq!(walk(&format!(r#"{SILENT},"permit":"post""#), &facts(), Request::Pass), all_but(&[], "alert silent"));
}

#[test]
fn force_and_continue_open_some_gates() {
    let forced = ["auto_resume_off", "too_old", "retries_exhausted", "failures_exhausted", "quiet cooling_down"];
    assert_eq!(walk(SILENT, &facts(), Request::Forced), all_but(&forced, "alert silent"));
    assert_eq!(walk(&format!("{SILENT},{RUN}"), &facts(), Request::Forced), all_but(&forced, "alert attempt_died"));
    let recent = format!(r#"{SILENT},"last_checkpoint_at":"2026-11-30T12:00:00Z""#);
    assert_eq!(walk(&recent, &facts(), Request::Forced), all_but(&forced, "alert forced"));
    let both = [&forced[..], &["non_idempotent_phase_blocked"]].concat();
    assert_eq!(walk(&format!(r#"{SILENT},"permit":"send""#), &facts(), Request::Forced), all_but(&both, "alert silent"));

    let continued = ["auto_resume_off", "too_old"];
    assert_eq!(walk(SILENT, &facts(), Request::Continued), all_but(&continued, "alert silent"));
    let old =
        r#""status":"stalled","give_up_after_minutes":1,"outcome":{"at":"2026-11-30T11:00:00Z","attempt":1,"kind":"progressed"}"#;
    assert_eq!(ask(old, &facts(), Request::Continued), "alert retry_due");
    assert_eq!(ask(&format!(r#"{old},"allow_auto_resume":true"#), &facts(), Request::Named), "attention too_old");
}

#[test]
fn force_never_meets_a_living_attempt_or_a_finished_task() {
    let recent = r#""last_checkpoint_at":"2026-11-30T11:59:00Z""#;
    for (fields, alive, expected) in [
        (format!(r#""status":"running",{recent},{RUN}"#), attempt_alive(), "quiet alive"),
        (format!(r#""status":"stalled",{recent},{RUN}"#), supervisor_alive(), "quiet supervised"),
        (format!(r#""status":"running",{RUN}"#), supervisor_alive(), "attention supervisor_silent"),
        (r#""status":"completed""#.to_owned(), facts(), "quiet completed"),
        (r#""status":"failed""#.to_owned(), facts(), "quiet failed"),
        (r#""status":"cancelled""#.to_owned(), facts(), "quiet cancelled"),
    ] {
        assert_eq!(ask(&fields, &alive, Request::Forced), expected, "{fields}");
    }
}

#[test]
fn a_pending_task() {
    const PENDING: &str = r#""status":"pending""#;
    // Neither age nor exhaustion stops what was never started.
    let later = ["too_old", "retries_exhausted", "failures_exhausted"];
    let mut by_itself = all_but(&later, "ready");
    by_itself[0] = "quiet not_started".to_owned();
    assert_eq!(walk(PENDING, &facts(), Request::Pass), by_itself);
    let named = [&later[..], &["auto_resume_off"]].concat();
    assert_eq!(walk(PENDING, &facts(), Request::Named), all_but(&named, "ready"));
    let forced = [&named[..], &["quiet cooling_down"]].concat();
    assert_eq!(walk(PENDING, &facts(), Request::Forced), all_but(&forced, "ready"));
    let permitted = [&named[..], &["non_idempotent_phase_blocked"]].concat();
    assert_eq!(walk(&format!(r#"{PENDING},"permit":"send""#), &facts(), Request::Pass), all_but(&permitted, "ready"));
    assert_eq!(walk(&format!(r#"{PENDING},"permit":"post""#), &facts(), Request::Pass), by_itself);
    assert_eq!(ask(&format!(r#"{PENDING},"max_retries":0"#), &facts(), Request::Named), "ready");

    let unfinished = Dependencies { unfinished: vec!["a".to_owned()], ..Dependencies::default() };
    let waiting = Facts { dependencies: unfinished, adapter: Usability::None, ..facts() };
    let auto = format!(r#"{PENDING},"allow_auto_resume":true"#);
    assert_eq!(ask(PENDING, &waiting, Request::Pass), "quiet not_started");
    assert_eq!(ask(&auto, &waiting, Request::Pass), "quiet waiting");
    assert_eq!(ask(PENDING, &waiting, Request::Named), "quiet waiting");
    assert_eq!(ask(PENDING, &waiting, Request::Forced), "quiet waiting");
    // A task that has started does not wait for anybody.
    let usable = Facts { adapter: Usability::Usable, ..waiting };
    assert_eq!(ask(&format!(r#"{SILENT},"allow_auto_resume":true"#), &usable, Request::Pass), "alert silent");

    let stopped = attention_of(&auto, &house(4, facts()), Request::Pass);
    assert_eq!((stopped.reason.as_str(), stopped.since), ("dependency_failed", Some(clock("10:00:00"))));
    assert!(stopped.detail.contains("a, which is cancelled"), "{}", stopped.detail);
}

#[test]
fn a_pending_task_waits_for_one_dependency_though_another_failed() {
    let pending = r#""status":"pending","allow_auto_resume":true"#;
    for opened in [4, 5] {
        let mut facts = house(opened, facts());
        facts.dependencies.unfinished.push("c".to_owned());
        assert_eq!(ask(pending, &facts, Request::Pass), "quiet waiting", "{:?}", facts.dependencies);
    }
}

#[test]
fn silence_counts_from_its_limit_on() {
    let auto = r#""status":"running","allow_auto_resume":true"#;
    let rows = [
        (r#""last_checkpoint_at":"2026-11-30T11:30:00Z""#, "alert silent"),
        (r#""last_checkpoint_at":"2026-11-30T11:30:01Z""#, "quiet healthy"),
        (r#""stale_after_minutes":0.5,"last_checkpoint_at":"2026-11-30T11:59:30Z""#, "alert silent"),
        (r#""stale_after_minutes":0.5,"last_checkpoint_at":"2026-11-30T11:59:31Z""#, "quiet healthy"),
        (r#""stale_after_minutes":2.3,"last_checkpoint_at":"2026-11-30T11:57:42Z""#, "alert silent"),
        (r#""stale_after_minutes":2.3,"last_checkpoint_at":"2026-11-30T11:57:42.001Z""#, "quiet healthy"),
        (r#""stale_after_minutes":0.001,"last_checkpoint_at":"2026-11-30T11:59:59.940Z""#, "alert silent"),
        (r#""stale_after_minutes":0.001,"last_checkpoint_at":"2026-11-30T11:59:59.941Z""#, "quiet healthy"),
    ];
    assert_each(auto, &facts(), &rows);
    let with_run = format!("{auto},{RUN}");
    // The same limit for a living attempt, two minutes more for a supervisor.
    let rows =
        rows.map(|(fields, verdict)| (fields, if verdict == "quiet healthy" { "quiet alive" } else { "alert attempt_silent" }));
    assert_each(&with_run, &attempt_alive(), &rows);
    let rows = [
        (r#""last_checkpoint_at":"2026-11-30T11:28:00Z""#, "attention supervisor_silent"),
        (r#""last_checkpoint_at":"2026-11-30T11:28:01Z""#, "quiet supervised"),
        (r#""stale_after_minutes":0.5,"last_checkpoint_at":"2026-11-30T11:57:30Z""#, "attention supervisor_silent"),
        (r#""stale_after_minutes":0.5,"last_checkpoint_at":"2026-11-30T11:57:31Z""#, "quiet supervised"),
    ];
    assert_each(&with_run, &supervisor_alive(), &rows);
    let hung = attention_of(&with_run, &supervisor_alive(), Request::Pass);
    assert_eq!(hung.since, Some(clock("10:00:00")));
    assert!(hung.detail.contains("120 min"), "{}", hung.detail);
}

#[test]
fn stale_after_zero_switches_silence_off() {
    let run = RUN.replace("2026-11-30", "2026-11-29");
    for never in [r#""stale_after_minutes":0"#, r#""resume_argv":["make"]"#] {
        let base = format!(r#""created_at":"2026-11-29T10:00:00Z","status":"running","allow_auto_resume":true,{never}"#);
        let with_run = format!("{base},{run}");
        assert_eq!(ask(&base, &facts(), Request::Pass), "quiet healthy");
        assert_eq!(ask(&with_run, &attempt_alive(), Request::Pass), "quiet alive");
        assert_eq!(ask(&with_run, &supervisor_alive(), Request::Pass), "quiet supervised");
        assert_eq!(ask(&with_run, &facts(), Request::Pass), "alert attempt_died");
        assert_eq!(ask(&base.replace("running", "stalled"), &facts(), Request::Pass), "alert retry_due");
    }
}

#[test]
fn quiet_says_until_when() {
    let until = |fields: &str, facts: &Facts| match judge(&card(fields), facts, Request::Pass, now()) {
        Verdict::Quiet(quiet) => quiet.until,
        other => panic!("{fields}: {other:?}"),
    };
    let recent = r#""status":"running","last_checkpoint_at":"2026-11-30T11:50:00Z""#;
    assert_eq!(until(recent, &facts()), Some(clock("12:20:00")));
    assert_eq!(until(&format!("{recent},{RUN}"), &attempt_alive()), Some(clock("12:20:00")));
    assert_eq!(until(&format!(r#"{recent},"stale_after_minutes":0"#), &facts()), None);
    let cooling = r#""status":"stalled","allow_auto_resume":true,"not_before":"2026-11-30T12:00:30Z""#;
    assert_eq!(until(cooling, &facts()), Some(clock("12:00:30")));
}

#[test]
fn times_far_ahead_are_not_believed() {
    let fields = [
        r#""created_at":"TIME""#.to_owned(),
        r#""last_checkpoint_at":"TIME""#.to_owned(),
        r#""approved_at":"TIME""#.to_owned(),
        r#""outcome":{"at":"TIME","attempt":1,"kind":"failed"}"#.to_owned(),
        RUN.replace("2026-11-30T10:00:00Z", "TIME"),
    ];
    for status in ["running", "stalled"] {
        for field in &fields {
            let with = |time: &str| format!(r#""status":"{status}",{}"#, field.replace("TIME", time));
            for request in [Request::Pass, Request::Forced] {
                assert_eq!(ask(&with("2026-11-30T12:05:00.001Z"), &supervisor_alive(), request), "attention clock_skew");
                assert_ne!(ask(&with("2026-11-30T12:05:00Z"), &supervisor_alive(), request), "attention clock_skew");
            }
        }
    }
    let stalled = r#""status":"stalled","allow_auto_resume":true"#;
    let rows = [
        (r#""not_before":"2026-12-08T12:00:00Z""#, "quiet cooling_down"),
        (r#""not_before":"2026-12-08T12:00:00.001Z""#, "attention clock_skew"),
        (r#""not_before":"2026-12-08T12:00:00.001Z","permit":"""#, "attention clock_skew"),
    ];
    assert_each(stalled, &facts(), &rows);
    // A file's time may be ahead, when the clock is a replaced one: that is no silence.
    let printed = Facts { last_output: Some(clock("13:00:00")), ..attempt_alive() };
    assert_eq!(ask(&format!("{SILENT},{RUN}"), &printed, Request::Pass), "quiet alive");
}

#[test]
fn limits_of_age_and_of_attempts() {
    let stalled = r#""status":"stalled","allow_auto_resume":true"#;
    let rows = [
        (r#""outcome":{"at":"2026-11-27T12:00:00Z","attempt":1,"kind":"failed"}"#, "alert retry_due"),
        (r#""outcome":{"at":"2026-11-27T11:59:59.999Z","attempt":1,"kind":"failed"}"#, "attention too_old"),
        (r#""give_up_after_minutes":0,"outcome":{"at":"2020-01-01T00:00:00Z","attempt":1,"kind":"failed"}"#, "alert retry_due"),
        (r#""give_up_after_minutes":0.5,"not_before":"2026-11-30T11:59:30Z""#, "alert retry_due"),
        (r#""give_up_after_minutes":0.5,"not_before":"2026-11-30T11:59:29Z""#, "attention too_old"),
        (r#""retry_count":2"#, "alert retry_due"),
        (r#""retry_count":3"#, "attention retries_exhausted"),
        (r#""retry_count":4,"max_retries":5"#, "alert retry_due"),
        (r#""retry_count":5,"max_retries":5"#, "attention retries_exhausted"),
        (r#""max_retries":0"#, "attention retries_exhausted"),
        (r#""failures":49"#, "alert retry_due"),
        (r#""failures":50"#, "attention failures_exhausted"),
        (r#""failures":1,"max_failures":2"#, "alert retry_due"),
        (r#""failures":2,"max_failures":2"#, "attention failures_exhausted"),
    ];
    assert_each(stalled, &facts(), &rows);
    // Being due begins when the limit of silence is reached, or with the last sign of a dead attempt.
    let running = r#""status":"running","allow_auto_resume":true"#;
    let rows = [
        (r#""last_checkpoint_at":"2026-11-27T11:30:00Z""#, "alert silent"),
        (r#""last_checkpoint_at":"2026-11-27T11:29:59Z""#, "attention too_old"),
    ];
    assert_each(running, &facts(), &rows);
    let rows = [
        (r#""last_checkpoint_at":"2026-11-30T11:00:00Z""#, "alert attempt_died"),
        (r#""last_checkpoint_at":"2026-11-30T10:59:59Z""#, "attention too_old"),
    ];
    assert_each(&format!(r#"{running},"give_up_after_minutes":60,{RUN}"#), &facts(), &rows);
    let watched = attention_of(&format!(r#"{stalled},"max_retries":0"#), &facts(), Request::Pass);
    assert!(watched.detail.contains("only watched"), "{}", watched.detail);
}

#[test]
fn silence_counts_from_the_latest_sign_of_life() {
    // Checkpoint, approval, outcome, awake since, start of the run, its last output.
    for latest in 0..6 {
        let times: [&str; 6] = std::array::from_fn(|i| if i == latest { "11:20:00" } else { "10:30:00" });
        let [checkpoint, approval, outcome, awake, started, printed] = times.map(|time| format!("2026-11-30T{time}Z"));
        let fields = format!(
            r#""status":"running","allow_auto_resume":true,"last_checkpoint_at":"{checkpoint}","approved_at":"{approval}",
               "outcome":{{"at":"{outcome}","attempt":1,"kind":"failed"}}"#
        );
        let with_run = format!("{fields},{}", RUN.replace("2026-11-30T10:00:00Z", &started));
        let facts = Facts { awake_since: Some(at(&awake)), last_output: Some(at(&printed)), ..facts() };
        let alive = Facts { attempt_alive: true, ..facts.clone() };

        let start = clock("11:20:00");
        assert_eq!(silent_since(&card(&with_run), &facts, now()), start, "{times:?}");
        assert_eq!(due(&with_run, &facts), Due { reason: "attempt_died", since: start });
        assert_eq!(due(&with_run, &alive), Due { reason: "attempt_silent", since: clock("11:50:00") });
        // What was printed is only a sign of life of a recorded run.
        let without = if latest < 4 { "11:20:00" } else { "10:30:00" };
        assert_eq!(silent_since(&card(&fields), &facts, now()), clock(without), "{times:?}");
        assert_eq!(due(&fields, &facts), Due { reason: "silent", since: clock(without).plus_seconds(1800.0) });
    }
    // The creation counts only until the first checkpoint.
    let created = r#""status":"running","created_at":"2026-11-30T11:20:00Z""#;
    assert_eq!(silent_since(&card(created), &facts(), now()), clock("11:20:00"));
    let checked = format!(r#"{created},"last_checkpoint_at":"2026-11-30T11:10:00Z""#);
    assert_eq!(silent_since(&card(&checked), &facts(), now()), clock("11:10:00"));
}

#[test]
fn a_retry_is_due_since_the_latest_of_three() {
    for latest in 0..3 {
        let [wait, outcome, approval] = std::array::from_fn(|i| if i == latest { "11:50" } else { "11:00" });
        let fields = format!(
            r#""status":"stalled","allow_auto_resume":true,"last_checkpoint_at":"2026-11-30T11:55:00Z",
               "not_before":"2026-11-30T{wait}:00Z","approved_at":"2026-11-30T{approval}:00Z",
               "outcome":{{"at":"2026-11-30T{outcome}:00Z","attempt":1,"kind":"failed"}}"#
        );
        assert_eq!(due(&fields, &facts()), Due { reason: "retry_due", since: clock("11:50:00") });
    }
}

#[test]
fn a_cancelled_task_is_contained_whoever_asks() {
    let fields = format!(r#""status":"cancelled","updated_at":"2026-11-30T11:45:00Z",{RUN}"#);
    assert_eq!(due(&fields, &attempt_alive()), Due { reason: "contain", since: clock("11:45:00") });
    for request in [Request::Pass, Request::Named, Request::Forced, Request::Continued] {
        assert_eq!(ask(&fields, &house(0, attempt_alive()), request), "alert contain");
        assert_eq!(ask(&fields, &supervisor_alive(), request), "quiet supervised");
        assert_eq!(ask(&fields, &facts(), request), "quiet cancelled");
    }
}

#[test]
fn needs_attention_says_its_own_reason() {
    let blocked = r#""status":"needs_attention","allow_auto_resume":true,"updated_at":"2026-11-30T11:45:00Z""#;
    let own = |attention: &str| format!(r#"{blocked},"attention":{attention}"#);
    let said = |reason: &str, detail: &str, since: &str| Attention {
        reason: reason.to_owned(),
        detail: detail.to_owned(),
        since: Some(clock(since)),
    };
    let full = own(r#"{"reason":"login","detail":"The token is over.","since":"2026-11-30T11:15:00Z"}"#);
    let short = own(r#"{"reason":"login"}"#);
    for request in [Request::Pass, Request::Named, Request::Forced, Request::Continued] {
        for facts in [facts(), attempt_alive(), supervisor_alive()] {
            assert_eq!(attention_of(&full, &facts, request), said("login", "The token is over.", "11:15:00"));
            assert_eq!(attention_of(&short, &facts, request), said("login", "", "11:45:00"));
            assert_eq!(attention_of(blocked, &facts, request), said("blocked", "", "11:45:00"));
        }
    }
    for reason in ["retries_exhausted", "failures_exhausted"] {
        let exhausted = own(&format!(r#"{{"reason":"{reason}"}}"#)) + r#","retry_count":3,"failures":50"#;
        for request in [Request::Pass, Request::Named, Request::Continued] {
            assert_eq!(ask(&exhausted, &facts(), request), format!("attention {reason}"));
        }
        assert_eq!(ask(&exhausted, &facts(), Request::Forced), "alert silent");
        let recent = format!(r#"{exhausted},"last_checkpoint_at":"2026-11-30T11:59:00Z""#);
        assert_eq!(ask(&recent, &facts(), Request::Forced), "alert forced");
        assert_eq!(ask(&format!("{recent},{RUN}"), &attempt_alive(), Request::Forced), "quiet alive");
    }
}

#[test]
fn an_attempt_on_another_host_is_left_alone() {
    let run = RUN.replace("here", "there");
    for status in ["running", "stalled"] {
        let fields = format!(r#""status":"{status}","allow_auto_resume":true,"permit":"",{run}"#);
        for request in [Request::Pass, Request::Named, Request::Forced, Request::Continued] {
            for facts in [facts(), attempt_alive(), supervisor_alive()] {
                let found = attention_of(&fields, &facts, request);
                assert_eq!((found.reason.as_str(), found.since), ("other_host", Some(clock("10:00:00"))));
                assert!(found.detail.contains("there") && found.detail.contains("here"), "{}", found.detail);
            }
        }
        let skewed = format!(r#"{fields},"approved_at":"2026-11-30T13:00:00Z""#);
        assert_eq!(ask(&skewed, &facts(), Request::Pass), "attention clock_skew");
    }
}
