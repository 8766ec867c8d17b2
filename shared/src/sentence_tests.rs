use serde_json::json;

use super::*;

fn say(line: &Value, columns: Option<usize>) -> String {
    let now = Timestamp::parse("2026-11-30T02:00:00Z").unwrap().0;
    sentence(&Line(line.as_object().unwrap().clone()), now, &Screen { columns, coloured: false })
}

#[track_caller]
fn says(line: &Value, expected: &str) {
    assert_eq!(say(line, None), expected);
}

#[test]
fn what_is_due() {
    says(
        &json!({"signal": "alert", "task_id": "t", "title": "报告", "phase": "collect", "status": "running", "reason": "silent",
            "stale_for_minutes": 45, "last_checkpoint": "2026-11-30T01:15:00Z", "retry_count": 0, "max_retries": 3}),
        "t: due: no sign of life for 45 min [silent]\n    报告 · phase collect · retries 0/3 · next: resume t\n",
    );
    says(
        &json!({"signal": "alert", "task_id": "t", "title": "", "phase": "", "reason": "attempt_died", "stale_for_minutes": 0.2,
            "last_checkpoint": "2026-11-30T01:00:00Z", "retry_count": 2, "max_retries": 3}),
        "t: due: its attempt died, last sign of life 12 s ago [attempt_died]\n    retries 2/3 · last checkpoint 1 h ago · next: resume t\n",
    );
    says(
        &json!({"signal": "alert", "task_id": "t", "reason": "contain", "stale_for_minutes": 3}),
        "t: due: it was cancelled, but its attempt still runs, last sign of life 3 min ago [contain]\n    \
         no checkpoint yet · next: resume t\n",
    );
    says(&json!({"signal": "ready", "task_id": "t", "phase": "render"}), "t: ready to start\n    phase render · next: resume t\n");
}

#[test]
fn what_needs_a_person() {
    says(
        &json!({"signal": "needs_attention", "task_id": "t", "phase": "send", "reason": "non_idempotent_phase_blocked",
            "detail": "it is not entered unasked", "blocked_since": "2026-11-29T22:40:00Z", "next": "card approve t | resume", "new": true}),
        "t (new): needs a person: its phase is only entered on a person's word [non_idempotent_phase_blocked]\n    \
         phase send · for 3 h 20 min · it is not entered unasked · next: card approve t | resume\n",
    );
    says(
        &json!({"signal": "needs_attention", "task_id": "t", "phase": "a", "reason": "which_one", "detail": "A or B?", "next": "card approve t",
            "outcome": "needs_attention", "attempt": 2, "log": "/l/2.err"}),
        "t: needs a person: which_one\n    \
         phase a · attempt 2 asked for a person · A or B? · log: /l/2.err · next: card approve t\n",
    );
    says(&json!({"signal": "needs_attention", "task_id": "t"}), "t: needs a person: no reason is given\n");
}

#[test]
fn how_attempts_ended() {
    says(
        &json!({"signal": "alert", "task_id": "t", "outcome": "timeout", "detail": "longer than its time-out", "attempt": 1,
            "progress": true, "next_attempt_at": "2026-11-30T02:00:15Z", "log": "/l/1.err"}),
        "t: attempt 1 took too long and was ended; the next one is due in 15 s [timeout]\n    \
         it made progress on the way · longer than its time-out · log: /l/1.err\n",
    );
    says(
        &json!({"signal": "alert", "task_id": "t", "outcome": "stopped", "attempt": 1, "log": "/l/1.err"}),
        "t: attempt 1 was stopped; the next pass looks at it again [stopped]\n    log: /l/1.err\n",
    );
    says(
        &json!({"signal": "recovery", "task_id": "t", "from_phase": "a", "to_phase": "b", "attempt": 2, "outcome": "progressed"}),
        "t: recovered: attempt 2 made progress, from phase a to b [progressed]\n",
    );
    says(
        &json!({"signal": "recovery", "task_id": "t", "from_phase": "b", "to_phase": "b", "attempt": 2, "outcome": "completed"}),
        "t: recovered: attempt 2 completed the task, phase b [completed]\n",
    );
    says(&json!({"signal": "started", "task_id": "t", "attempt": 1}), "t: started: attempt 1 is running\n");
    says(
        &json!({"signal": "started", "task_id": "t", "attempt": 1, "outcome": "background", "to_phase": ""}),
        "t: started: attempt 1 left a process in the background [background]\n",
    );
    says(
        &json!({"signal": "contained", "task_id": "t", "attempt": 3}),
        "t: contained: what attempt 3 of the cancelled task had left was ended\n",
    );
}

#[test]
fn what_was_or_would_be_left_alone() {
    says(
        &json!({"signal": "skipped", "task_id": "t", "reason": "attempt_alive"}),
        "t: skipped: an attempt is alive [attempt_alive]\n",
    );
    says(
        &json!({"signal": "skipped", "task_id": "t", "reason": "cooling_down", "until": "2026-11-30T02:00:40Z"}),
        "t: skipped: it waits for its next attempt [cooling_down]\n    over in 40 s\n",
    );
    says(
        &json!({"signal": "skipped", "task_id": "t", "reason": "healthy", "until": "2026-11-30T02:20:00Z"}),
        "t: skipped: it is well [healthy]\n    it counts as silent in 20 min\n",
    );
    says(
        &json!({"signal": "dry_run", "task_id": "t", "would": "resume", "reason": "silent", "phase": "a",
            "command": ["/a b/run", "-x"], "would_first_end": "attempt_alive"}),
        "t: would be resumed: no sign of life [silent]\n    \
         phase a · its living attempt would be ended first · command: '/a b/run' -x\n",
    );
    says(
        &json!({"signal": "dry_run", "task_id": "t", "would": "skip", "reason": "waiting"}),
        "t: would be skipped: it waits for other tasks [waiting]\n",
    );
    says(
        &json!({"signal": "later_word", "task_id": "t", "reason": "own", "detail": 7, "phase": null}),
        "t: later_word: own\n    7\n",
    );
    says(&json!({}), ":\n");
}

#[test]
fn a_command_or_path_that_does_not_fit_has_a_line_of_its_own() {
    let line = json!({"signal": "needs_attention", "task_id": "mail_2", "phase": "send_email", "reason": "non_idempotent_phase_blocked",
        "detail": "phase send_email is not entered without a person's word", "blocked_since": "2026-11-29T22:40:00Z",
        "next": "card approve mail_2 | resume", "log": "/srv/workspace/data/task-runs/logs/mail_2/2.err"});
    let expected = "mail_2: needs a person: its phase is\n    only entered on a person's word\n    [non_idempotent_phase_blocked]\n    \
                    phase send_email · for 3 h 20 min ·\n    phase send_email is not entered\n    without a person's word\n    log:\n    \
                    /srv/workspace/data/task-runs/logs/mail_2/2.err\n    next: card approve mail_2 | resume\n";
    assert_eq!(say(&line, Some(40)), expected);
    assert!(say(&line, Some(24)).ends_with("    next:\n    card approve mail_2 | resume\n"));
    assert!(say(&line, Some(200)).lines().count() == 2);
}

#[test]
fn values_are_harmless_and_titles_cut() {
    let line = json!({"signal": "alert", "task_id": "t\x1b[1m", "title": "长".repeat(100) + "\x1b]0;x\x07", "phase": "\x1b", "reason": "\x1b",
        "detail": "a\nb\x1b", "next": "\x1b", "log": "\x1b", "command": ["\x1b"]});
    for columns in [None, Some(20), Some(80)] {
        let text = say(&line, columns);
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    }
    assert!(say(&line, Some(80)).contains(&format!("{}… · ", "长".repeat(29))));
    assert!(say(&line, None).contains(&"长".repeat(100)));
}
