//! The verdict over its whole table, gate by gate, and at its boundaries.

use super::*;

const RUN: &str = r#""run":{"attempt":2,"token":"k","host":"here","pid":7,"started_at":"2026-11-30T10:00:00Z"}"#;
const RUNNING: &str = r#""status":"running","allow_auto_resume":true"#;
const STALLED: &str = r#""status":"stalled","allow_auto_resume":true"#;
const REQUESTS: [Request; 4] = [Request::Pass, Request::Named, Request::Forced, Request::Continued];

/// A time of the day on which all of this happens.
fn clock(time: &str) -> Timestamp {
    Timestamp::parse(&format!("2026-11-30T{time}Z")).unwrap().0
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
        forerunner_alive: false,
        last_output: None,
        awake_since: None,
        asleep_seconds: 0.0,
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
const STARTABLE: &str = "auto auto+permit off+permit manual+permit exhausted";
const OFF: &str = "off off+other";

/// Statuses; whether a run is recorded, its supervisor lives, its attempt lives, it is silent: y, n or * for both;
/// houses; the verdict. Words in one column are alternatives.
#[rustfmt::skip]
const TABLE: [(&str, &str, &str, &str); 26] = [
    ("completed",       "****",           ANY,         "quiet completed"),
    ("failed",          "****",           ANY,         "quiet failed"),
    ("cancelled",       "n*** ynn*",      ANY,         "quiet cancelled"),
    ("cancelled",       "yny*",           ANY,         "alert contain"),
    ("cancelled",       "yy**",           ANY,         "quiet supervised"),
    ("needs_attention", "****",           ANY,         "attention blocked"),
    ("pending",         "****",           OFF,         "quiet not_started"),
    ("pending",         "****",           STARTABLE,   "ready"),
    ("pending",         "****",           "manual",    "attention non_idempotent_phase_blocked"),
    ("pending",         "****",           "cooling",   "quiet cooling_down"),
    ("running stalled", "yy*n",           ANY,         "quiet supervised"),
    ("running stalled", "yy*y",           ANY,         "attention supervisor_silent"),
    ("running stalled", "ynyn",           ANY,         "quiet alive"),
    ("running",         "n**n",           ANY,         "quiet healthy"),
    ("running stalled", "ynyy",           OPEN,        "alert attempt_silent"),
    ("running stalled", "ynn*",           OPEN,        "alert attempt_died"),
    ("stalled",         "n***",           OPEN,        "alert retry_due"),
    ("running",         "n**y",           OPEN,        "alert silent"),
    ("running",         "ynyy ynn* n**y", OFF,         "attention auto_resume_off"),
    ("running",         "ynyy ynn* n**y", "exhausted", "attention retries_exhausted"),
    ("running",         "ynyy ynn* n**y", "manual",    "attention non_idempotent_phase_blocked"),
    ("running",         "ynyy ynn* n**y", "cooling",   "quiet cooling_down"),
    ("stalled",         "ynyy ynn* n***", OFF,         "attention auto_resume_off"),
    ("stalled",         "ynyy ynn* n***", "exhausted", "attention retries_exhausted"),
    ("stalled",         "ynyy ynn* n***", "manual",    "attention non_idempotent_phase_blocked"),
    ("stalled",         "ynyy ynn* n***", "cooling",   "quiet cooling_down"),
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
                let run = if run { format!(",{RUN}") } else { String::new() };
                let fields =
                    format!(r#""status":"{status}","phase":"p","last_checkpoint_at":"2026-11-30T{last}:00Z",{gates}{run}"#);
                let has = |words: &str, wanted: &str| words.split(' ').any(|word| word == wanted);
                let fits = |pattern: &str| pattern.chars().zip(what).all(|(wanted, is)| wanted == '*' || wanted == is);
                let matches = |(statuses, patterns, houses, _): (&str, &str, &str, &str)| {
                    has(statuses, status.as_str()) && patterns.split(' ').any(fits) && has(houses, house)
                };
                let rows: Vec<usize> = (0..TABLE.len()).filter(|row| matches(TABLE[*row])).collect();
                let [row] = rows[..] else { panic!("{status} {what:?} {house}: rows {rows:?}") };
                assert_eq!(ask(&fields, &facts, Request::Pass), TABLE[row].3, "{status} {what:?} {house}");
                used[row] += 1;
            }
        }
    }
    assert!(used.iter().all(|count| *count > 0), "{used:?}");
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
    let person = ["auto_resume_off", "too_old", "non_idempotent_phase_blocked", "retries_exhausted", "failures_exhausted"];
    for (fields, alive, last) in [
        (SILENT.to_owned(), facts(), "alert silent"),
        (format!("{SILENT},{RUN}"), attempt_alive(), "alert attempt_silent"),
        (format!("{SILENT},{RUN}"), facts(), "alert attempt_died"),
        (r#""status":"stalled""#.to_owned(), facts(), "alert retry_due"),
    ] {
        // A retry that is due in the future cannot be too old.
        let all = if last == "alert retry_due" { all_but(&["too_old"], last) } else { all_but(&[], last) };
        assert_eq!(walk(&fields, &alive, Request::Pass), all);
        assert_eq!(walk(&fields, &alive, Request::Named), all);
        assert_eq!(walk(&format!(r#"{fields},"permit":"post""#), &alive, Request::Pass), all);
        assert_eq!(walk(&format!(r#"{fields},"permit":"send""#), &alive, Request::Pass), all_but(&person, last));
    }
}

#[test]
fn force_and_continue_open_some_gates() {
    let forced = ["auto_resume_off", "too_old", "retries_exhausted", "failures_exhausted", "quiet cooling_down"];
    assert_eq!(walk(SILENT, &facts(), Request::Forced), all_but(&forced, "alert silent"));
    assert_eq!(walk(&format!("{SILENT},{RUN}"), &facts(), Request::Forced), all_but(&forced, "alert attempt_died"));
    let recent = format!(r#"{SILENT},"last_checkpoint_at":"2026-11-30T11:59:00Z""#);
    let at_once = Standing::Due(Due { reason: "forced", since: now() });
    assert_eq!(standing(&card(&recent), &facts(), Request::Forced, now()), at_once);
    assert_eq!(walk(&recent, &facts(), Request::Forced), all_but(&forced, "alert forced"));
    assert_eq!(walk(&recent, &facts(), Request::Named), ["quiet healthy"]);
    assert_eq!(walk(&recent, &facts(), Request::Continued), ["quiet healthy"]);
    let both = [&forced[..], &["non_idempotent_phase_blocked"]].concat();
    assert_eq!(walk(&format!(r#"{SILENT},"permit":"send""#), &facts(), Request::Forced), all_but(&both, "alert silent"));

    let continued = ["auto_resume_off", "too_old"];
    assert_eq!(walk(SILENT, &facts(), Request::Continued), all_but(&continued, "alert silent"));
    let old = r#""status":"stalled","give_up_after_minutes":1,"approved_at":"2026-11-30T11:00:00Z""#;
    assert_eq!(ask(old, &facts(), Request::Continued), "alert retry_due");
    assert_eq!(ask(&format!(r#"{old},"allow_auto_resume":true"#), &facts(), Request::Named), "attention too_old");
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

    let unfinished = Dependencies { unfinished: vec!["a".to_owned()], ..Dependencies::default() };
    let waiting = Facts { dependencies: unfinished, adapter: Usability::None, ..facts() };
    let auto = format!(r#"{PENDING},"allow_auto_resume":true"#);
    assert_eq!(ask(PENDING, &waiting, Request::Pass), "quiet not_started");
    assert_eq!(ask(&auto, &waiting, Request::Pass), "quiet waiting");
    assert_eq!(ask(PENDING, &waiting, Request::Named), "quiet waiting");
    assert_eq!(ask(PENDING, &waiting, Request::Forced), "quiet waiting");
    // A task that has started does not wait for anybody.
    let usable = Facts { adapter: Usability::Usable, ..waiting };
    assert_eq!(ask(RUNNING, &usable, Request::Pass), "alert silent");

    let stopped = attention_of(&auto, &house(4, facts()), Request::Pass);
    assert_eq!((stopped.reason.as_str(), stopped.since), ("dependency_failed", Some(clock("10:00:00"))));
    assert!(stopped.detail.contains("a, which is cancelled"), "{}", stopped.detail);
}

#[test]
fn waiting_for_one_dependency_is_in_vain_when_another_failed() {
    let pending = r#""status":"pending","allow_auto_resume":true"#;
    for (opened, expected) in [(4, "attention dependency_failed"), (5, "attention dependency_missing")] {
        let mut facts = house(opened, facts());
        facts.dependencies.unfinished.push("c".to_owned());
        assert_eq!(ask(pending, &facts, Request::Pass), expected, "{:?}", facts.dependencies);
    }
}

#[test]
fn silence_counts_from_its_limit_on() {
    // Stale after, the last sign that is too old, the first that is not; the same two for a supervisor.
    for (minutes, old, recent, hung, well) in [
        ("30", "11:30:00", "11:30:01", "11:28:00", "11:28:01"),
        ("0.5", "11:59:30", "11:59:31", "11:57:30", "11:57:31"),
        ("2.3", "11:57:42", "11:57:42.001", "11:55:42", "11:55:42.001"),
        ("0.001", "11:59:59.940", "11:59:59.941", "11:57:59.940", "11:57:59.941"),
    ] {
        let seen = |time: &str| {
            let stale = if minutes == "30" { String::new() } else { format!(r#","stale_after_minutes":{minutes}"#) };
            format!(r#"{RUNNING}{stale},"last_checkpoint_at":"2026-11-30T{time}Z""#)
        };
        let with_run = |time: &str| format!("{},{RUN}", seen(time));
        assert_eq!(ask(&seen(old), &facts(), Request::Pass), "alert silent", "{minutes}");
        assert_eq!(ask(&seen(recent), &facts(), Request::Pass), "quiet healthy", "{minutes}");
        assert_eq!(ask(&with_run(old), &attempt_alive(), Request::Pass), "alert attempt_silent", "{minutes}");
        assert_eq!(ask(&with_run(recent), &attempt_alive(), Request::Pass), "quiet alive", "{minutes}");
        assert_eq!(ask(&with_run(hung), &supervisor_alive(), Request::Pass), "attention supervisor_silent", "{minutes}");
        assert_eq!(ask(&with_run(well), &supervisor_alive(), Request::Pass), "quiet supervised", "{minutes}");
    }
    let hung = attention_of(&format!("{RUNNING},{RUN}"), &supervisor_alive(), Request::Pass);
    assert_eq!(hung.since, Some(clock("10:00:00")));
    assert!(hung.detail.contains("120 min"), "{}", hung.detail);
    assert_eq!([-1.0, 5.0, 59.9, 60.0, 119.9].map(minutes), [0.0, 0.0, 0.9, 1.0, 1.0]);
}

#[test]
fn stale_after_zero_switches_silence_off() {
    let run = RUN.replace("2026-11-30", "2026-11-29");
    for never in [r#""stale_after_minutes":0"#, r#""resume_argv":["make"]"#] {
        let base = format!(r#""created_at":"2026-11-29T10:00:00Z",{RUNNING},{never}"#);
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
    assert_eq!(until(&format!(r#"{STALLED},"not_before":"2026-11-30T12:00:30Z""#), &facts()), Some(clock("12:00:30")));
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
    for (field, status) in fields.iter().flat_map(|field| [(field, "running"), (field, "stalled")]) {
        let with = |time: &str| format!(r#""status":"{status}",{}"#, field.replace("TIME", time));
        for request in REQUESTS {
            assert_eq!(ask(&with("2026-11-30T12:05:00.001Z"), &supervisor_alive(), request), "attention clock_skew");
            assert_ne!(ask(&with("2026-11-30T12:05:00Z"), &supervisor_alive(), request), "attention clock_skew");
        }
    }
    for (fields, expected) in [
        (r#""not_before":"2026-12-08T12:00:00Z""#, "quiet cooling_down"),
        (r#""not_before":"2026-12-08T12:00:00.001Z""#, "attention clock_skew"),
        (r#""not_before":"2026-12-08T12:00:00.001Z","permit":"""#, "attention clock_skew"),
    ] {
        assert_eq!(ask(&format!("{STALLED},{fields}"), &facts(), Request::Pass), expected, "{fields}");
    }
    // A file's time may be ahead, when the clock is a replaced one.
    let printed = Facts { last_output: Some(clock("13:00:00")), ..attempt_alive() };
    assert_eq!(ask(&format!("{SILENT},{RUN}"), &printed, Request::Pass), "quiet alive");
    assert_eq!(silent_since(&card(&format!("{SILENT},{RUN}")), &printed, now()), now());
}

#[test]
fn a_task_can_be_due_for_too_long() {
    // Being due begins at the end of a wait, at the limit of silence, or with the last sign of a dead attempt.
    for (fields, expected) in [
        (format!(r#"{STALLED},"not_before":"2026-11-27T12:00:00Z""#), "alert retry_due"),
        (format!(r#"{STALLED},"not_before":"2026-11-27T11:59:59.999Z""#), "attention too_old"),
        (format!(r#"{STALLED},"not_before":"2020-01-01T00:00:00Z","give_up_after_minutes":0"#), "alert retry_due"),
        (format!(r#"{STALLED},"not_before":"2026-11-30T11:59:30Z","give_up_after_minutes":0.5"#), "alert retry_due"),
        (format!(r#"{STALLED},"not_before":"2026-11-30T11:59:29Z","give_up_after_minutes":0.5"#), "attention too_old"),
        (format!(r#"{RUNNING},"last_checkpoint_at":"2026-11-27T11:30:00Z""#), "alert silent"),
        (format!(r#"{RUNNING},"last_checkpoint_at":"2026-11-27T11:29:59Z""#), "attention too_old"),
        (format!(r#"{RUNNING},{RUN},"give_up_after_minutes":120"#), "alert attempt_died"),
        (format!(r#"{RUNNING},{RUN},"give_up_after_minutes":119"#), "attention too_old"),
    ] {
        assert_eq!(ask(&fields, &facts(), Request::Pass), expected, "{fields}");
    }
}

#[test]
fn the_limits_of_attempts() {
    for (count, limit, given, reason) in [
        ("retry_count", 3, "", "retries_exhausted"),
        ("retry_count", 5, r#","max_retries":5"#, "retries_exhausted"),
        ("failures", 50, "", "failures_exhausted"),
        ("failures", 2, r#","max_failures":2"#, "failures_exhausted"),
    ] {
        let with = |number: u64| format!(r#"{STALLED},"{count}":{number}{given}"#);
        assert_eq!(ask(&with(limit - 1), &facts(), Request::Pass), "alert retry_due", "{count} {given}");
        for number in [limit, limit + 1] {
            assert_eq!(ask(&with(number), &facts(), Request::Pass), format!("attention {reason}"), "{count} {number}");
        }
    }
    let watched = attention_of(&format!(r#"{STALLED},"max_retries":0"#), &facts(), Request::Pass);
    assert_eq!(watched.reason, "retries_exhausted");
    assert!(watched.detail.contains("only watched"), "{}", watched.detail);
}

#[test]
fn silence_counts_from_the_latest_sign_of_life() {
    // Checkpoint, approval, outcome, awake since, start of the run, its last output.
    for latest in 0..6 {
        let times: [&str; 6] = std::array::from_fn(|i| if i == latest { "11:20:00" } else { "10:30:00" });
        let [checkpoint, approval, outcome, awake, started, printed] = times;
        let fields = format!(
            r#"{RUNNING},"last_checkpoint_at":"2026-11-30T{checkpoint}Z","approved_at":"2026-11-30T{approval}Z",
               "outcome":{{"at":"2026-11-30T{outcome}Z","attempt":1,"kind":"failed"}}"#
        );
        let with_run = format!("{fields},{}", RUN.replace("10:00:00", started));
        let facts = Facts { awake_since: Some(clock(awake)), last_output: Some(clock(printed)), ..facts() };
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
            r#"{STALLED},"last_checkpoint_at":"2026-11-30T11:55:00Z","not_before":"2026-11-30T{wait}:00Z",
               "approved_at":"2026-11-30T{approval}:00Z","outcome":{{"at":"2026-11-30T{outcome}:00Z","attempt":1,"kind":"failed"}}"#
        );
        assert_eq!(due(&fields, &facts()), Due { reason: "retry_due", since: clock("11:50:00") });
    }
}

#[test]
fn some_verdicts_are_the_same_whoever_asks() {
    let recent = format!(r#""last_checkpoint_at":"2026-11-30T11:59:00Z",{RUN}"#);
    let there = RUN.replace("here", "there");
    for (fields, alive, expected) in [
        (format!(r#""status":"running",{recent}"#), attempt_alive(), "quiet alive"),
        (format!(r#""status":"stalled",{recent}"#), attempt_alive(), "quiet alive"),
        (format!(r#""status":"stalled",{recent}"#), supervisor_alive(), "quiet supervised"),
        (format!(r#""status":"running",{RUN}"#), supervisor_alive(), "attention supervisor_silent"),
        (format!("{RUNNING},{there}"), facts(), "attention other_host"),
        (format!("{STALLED},{there}"), attempt_alive(), "attention other_host"),
        (format!(r#"{RUNNING},"permit":"",{there}"#), supervisor_alive(), "attention other_host"),
        (format!(r#"{RUNNING},"approved_at":"2026-11-30T13:00:00Z",{there}"#), facts(), "attention clock_skew"),
        (r#""status":"completed""#.to_owned(), facts(), "quiet completed"),
        (r#""status":"failed""#.to_owned(), facts(), "quiet failed"),
        (format!(r#""status":"cancelled",{RUN}"#), facts(), "quiet cancelled"),
        (format!(r#""status":"cancelled",{RUN}"#), house(0, attempt_alive()), "alert contain"),
        (format!(r#""status":"cancelled",{RUN}"#), supervisor_alive(), "quiet supervised"),
        (r#""status":"needs_attention","attention":{"reason":"login"}"#.to_owned(), attempt_alive(), "attention login"),
        (r#""status":"needs_attention""#.to_owned(), house(0, facts()), "attention blocked"),
    ] {
        for request in REQUESTS {
            assert_eq!(ask(&fields, &alive, request), expected, "{fields} {request:?}");
        }
    }
    let cancelled = format!(r#""status":"cancelled","updated_at":"2026-11-30T11:45:00Z",{RUN}"#);
    assert_eq!(due(&cancelled, &attempt_alive()), Due { reason: "contain", since: clock("11:45:00") });
    let elsewhere = attention_of(&format!("{RUNNING},{there}"), &facts(), Request::Pass);
    assert_eq!(elsewhere.since, Some(clock("10:00:00")));
    assert!(elsewhere.detail.contains("on there, this is here"), "{}", elsewhere.detail);
}

#[test]
fn needs_attention_says_its_own_reason() {
    let blocked = r#""status":"needs_attention","updated_at":"2026-11-30T11:45:00Z""#;
    for (own, reason, detail, since) in [
        (r#","attention":{"reason":"a","detail":"b","since":"2026-11-30T11:15:00Z"}"#, "a", "b", "11:15:00"),
        (r#","attention":{"reason":"a"}"#, "a", "", "11:45:00"),
        ("", "blocked", "", "11:45:00"),
    ] {
        let expected = Attention { reason: reason.to_owned(), detail: detail.to_owned(), since: Some(clock(since)) };
        assert_eq!(attention_of(&format!("{blocked}{own}"), &facts(), Request::Pass), expected);
    }
    for reason in ["retries_exhausted", "failures_exhausted"] {
        let old = format!(r#"{blocked},"attention":{{"reason":"{reason}"}},"retry_count":3,"failures":50"#);
        let recent = format!(r#"{old},"last_checkpoint_at":"2026-11-30T11:59:00Z""#);
        for request in [Request::Pass, Request::Named, Request::Continued] {
            assert_eq!(ask(&old, &facts(), request), format!("attention {reason}"));
        }
        assert_eq!(ask(&old, &facts(), Request::Forced), "alert silent");
        assert_eq!(ask(&recent, &facts(), Request::Forced), "alert forced");
        assert_eq!(ask(&format!("{recent},{RUN}"), &attempt_alive(), Request::Forced), "quiet alive");
    }
}
