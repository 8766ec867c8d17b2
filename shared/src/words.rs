//! The words for people: ages, and a plain phrase for every reason and outcome that a signal has.

use crate::time::Timestamp;

/// A time span in words of at most two units.
#[must_use]
pub fn span(seconds: i64) -> String {
    let two = |large: i64, unit: &str, small: i64, smaller: &str| match small {
        0 => format!("{large} {unit}"),
        _ => format!("{large} {unit} {small} {smaller}"),
    };
    match seconds.max(0) {
        seconds @ ..60 => format!("{seconds} s"),
        seconds @ ..3600 => format!("{} min", seconds / 60),
        seconds @ ..86_400 => two(seconds / 3600, "h", seconds % 3600 / 60, "min"),
        seconds => two(seconds / 86_400, "d", seconds % 86_400 / 3600, "h"),
    }
}

/// How long ago a time was.
#[must_use]
pub fn age(then: Timestamp, now: Timestamp) -> String {
    span((now.unix_ms() - then.unix_ms()) / 1000)
}

/// How long something has lasted.
#[must_use]
pub fn lasting(since: Timestamp, now: Timestamp) -> String {
    if now.seconds_since(since) < 60.0 { "just now".to_owned() } else { format!("for {}", age(since, now)) }
}

/// When a time will be.
#[must_use]
pub fn ahead(then: Timestamp, now: Timestamp) -> String {
    if then <= now { "now".to_owned() } else { format!("in {}", age(now, then)) }
}

/// Why a task is due, needs a person or is left alone.
#[must_use]
pub fn reason(word: &str) -> Option<&'static str> {
    Some(match word {
        "silent" => "no sign of life",
        "attempt_silent" => "its attempt lives but gives no sign of life",
        "attempt_died" => "its attempt died",
        "retry_due" => "its next attempt is due",
        "contain" => "it was cancelled, but its attempt still runs",
        "forced" => "it is started by force",
        "pending" => "it was not started yet",

        "auto_resume_off" => "it went silent and is not to be resumed unasked",
        "no_adapter" => "nothing says how to resume it",
        "adapter_missing" => "what resumes it cannot be run",
        "adapter_insecure" => "others could have changed what resumes it",
        "dependency_failed" => "a task that it depends on did not complete",
        "dependency_missing" => "a task that it depends on does not exist",
        "too_old" => "it has been due for too long to be resumed unasked",
        "non_idempotent_phase_blocked" => "its phase is only entered on a person's word",
        "retries_exhausted" => "too many attempts in a row without progress",
        "failures_exhausted" => "too many attempts that did not end well",
        "clock_skew" => "the card and the clock disagree",
        "other_host" => "its attempt belongs to another machine",
        "supervisor_silent" => "its supervisor lives but does nothing",
        "attempt_not_contained" => "processes of an attempt could not be ended",
        "attempt_not_recorded" => "an attempt still runs that its card does not tell of",
        "artifact_missing" => "a verified file is gone",
        "artifact_changed" => "a verified file is not as it was",
        "task_failed" => "it failed",
        "blocked" => "it was handed to a person",
        "permanent_error" => "its model refuses, and waiting does not change that",
        "needs_person" => "its adapter asks for a person",
        "card_unreadable" => "its card cannot be read",
        "card_invalid" => "its card is not valid",
        "card_unknown_version" => "its card is of a later version",
        "card_insecure" => "others could have written its card",

        "attempt_alive" | "alive" => "an attempt is alive",
        "supervised" => "an attempt is under supervision",
        "healthy" => "it is well",
        "not_started" => "it is started by a person only",
        "waiting" => "it waits for other tasks",
        "cooling_down" => "it waits for its next attempt",
        "completed" => "it is completed",
        "failed" => "it has failed",
        "cancelled" => "it is cancelled",
        "superseded" => "a newer attempt took over",
        "no_such_task" => "there is no such task",
        "busy" => "another process holds its card",
        "refused" => "that was refused",
        "claim_failed" => "no attempt could be started",
        "budget" => "the pass had no time left for it",
        "jobs" => "it waits for its turn in the next pass",
        "error" => "something went wrong with it",
        _ => return None,
    })
}

/// How an attempt ended: what is said after its number.
#[must_use]
pub fn outcome(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "completed" => "completed the task",
        "progressed" => "made progress",
        "handed_over" => "handed the work over",
        "background" => "left a process in the background",
        "postponed" => "was put off",
        "stopped" => "was stopped",
        "no_progress" => "ended without progress",
        "failed" => "failed",
        "timeout" => "took too long and was ended",
        "silent" => "went silent and was ended",
        "output_limit" => "printed too much and was ended",
        "budget" => "ran out of the pass's time and was ended",
        "needs_attention" => "asked for a person",
        "llm_timeout" => "ended in a time-out of the model",
        "llm_error" => "ended in an error of the model",
        "tool_failure" => "ended with a tool call that failed",
        "non_action" => "announced a next step and stopped",
        "permanent_error" => "ended in an error that waiting does not change",
        "supervisor_died" => "lost its supervisor",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_one_or_two_units() {
        for (seconds, words) in [
            (-5, "0 s"),
            (0, "0 s"),
            (12, "12 s"),
            (59, "59 s"),
            (60, "1 min"),
            (2759, "45 min"),
            (3600, "1 h"),
            (3659, "1 h"),
            (12_000, "3 h 20 min"),
            (86_399, "23 h 59 min"),
            (86_400, "1 d"),
            (187_200, "2 d 4 h"),
            (i64::MAX / 1000, "106751991167 d 7 h"),
        ] {
            assert_eq!(span(seconds), words, "{seconds}");
        }
    }

    #[test]
    fn times_before_and_ahead() {
        let at = |seconds: i64| Timestamp::from_unix_ms(seconds * 1000);
        assert_eq!(age(at(0), at(2700)), "45 min");
        assert_eq!(age(at(10), at(0)), "0 s");
        assert_eq!([lasting(at(0), at(59)), lasting(at(0), at(60))], ["just now", "for 1 min"]);
        assert_eq!(ahead(at(90), at(0)), "in 1 min");
        assert_eq!(ahead(at(0), at(0)), "now");
    }

    /// A reason that a verdict can have and that has no phrase would reach people as a bare word.
    #[test]
    fn every_word_of_the_verdict_has_a_phrase() {
        let source = include_str!("verdict.rs");
        let after = |mark: &str| -> Vec<&str> {
            source.split(mark).skip(1).filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next()).collect()
        };
        let marks = ["reason: ", "quiet(", "closed(", "attention(", "Some(("];
        let words: Vec<&str> = marks.iter().flat_map(|mark| after(mark)).collect();
        assert!(words.len() > 20 && words.contains(&"too_old") && words.contains(&"healthy"), "{words:?}");
        for word in words {
            assert!(reason(word).is_some(), "{word}");
        }
    }
}
