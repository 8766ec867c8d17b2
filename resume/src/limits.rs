//! Which limit an attempt has reached: its time, its silence, its output, the pass's time, or a word of the card. Pure: what was
//! seen, and how long it took, is told (`lookout.rs` does).
//!
//! Time is counted in rounds of the supervisor's loop: what was much longer than asked for was spent stopped or suspended.

use shared::card::{Card, Status};

use crate::step::Ending;

/// An idle supervisor looks around this often, in seconds.
pub const TICK_SECONDS: f64 = 1.0;
/// And never more often than this.
const TICK_SECONDS_MIN: f64 = 0.05;

/// Limits of one attempt, in seconds; 0 = none.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// From its start.
    pub timeout_seconds: f64,
    /// From TERM to KILL.
    pub grace_seconds: f64,
    /// Bytes.
    pub output_max: u64,
}

/// How much was printed, and how fast.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Output {
    lengths: (u64, u64),
    printed: u64,
    looked_at: f64,
    bytes_per_second: f64,
}

impl Output {
    /// Returns whether anything changed.
    fn look(&mut self, out: u64, err: u64, now: f64) -> bool {
        let changed = self.lengths != (out, err);
        let printed = out.saturating_add(err);
        if now > self.looked_at {
            self.bytes_per_second = float(printed.saturating_sub(self.printed)) / (now - self.looked_at);
            self.looked_at = now;
        }
        self.lengths = (out, err);
        self.printed = printed;
        changed
    }

    /// A young attempt is looked at often, before it can be known how fast it prints; later half of the time passes that the limit
    /// is away at this speed.
    fn seconds_until_next(&self, limit: u64, elapsed: f64) -> f64 {
        let left = float(limit.saturating_sub(self.printed));
        let half = if self.bytes_per_second > 0.0 { left / self.bytes_per_second / 2.0 } else { f64::INFINITY };
        half.min(elapsed).max(TICK_SECONDS_MIN)
    }
}

#[expect(clippy::cast_precision_loss, reason = "so many bytes that it matters are printed by nobody")]
fn float(bytes: u64) -> f64 {
    bytes as f64
}

/// What was seen of an attempt, beside its limits.
#[derive(Clone, Debug)]
pub struct Watched {
    limits: Limits,
    budget_seconds: Option<f64>,
    stale_after_seconds: f64,
    /// The phase that it was started in.
    phase: String,
    /// Seconds since the start that count.
    pub elapsed: f64,
    active_at: f64,
    output: Output,
    /// Bytes; beyond that an attempt that was asked to end floods its logs.
    flood_from: Option<u64>,
    checkpoints: u64,
    word: Option<Ending>,
}

impl Watched {
    /// Nothing was seen yet of an attempt that was given this card. `budget_seconds`: what is left of the pass's time, if it has
    /// an end.
    #[must_use]
    pub fn new(given: &Card, limits: Limits, budget_seconds: Option<f64>) -> Self {
        Self {
            limits,
            budget_seconds,
            stale_after_seconds: given.stale_after_minutes() * 60.0,
            phase: given.phase.clone(),
            elapsed: 0.0,
            active_at: 0.0,
            output: Output::default(),
            flood_from: None,
            checkpoints: given.checkpoint_count,
            word: None,
        }
    }

    /// Counts the time of one round of the loop, looking around included. What took over a second longer than the wait that was
    /// asked for was spent stopped: that is returned.
    pub fn count(&mut self, took_seconds: f64, asked_seconds: f64) -> f64 {
        let counted = took_seconds.min(asked_seconds + TICK_SECONDS);
        self.elapsed += counted;
        took_seconds - counted
    }

    /// Its stdout and stderr have this many bytes.
    pub fn saw_output(&mut self, out: u64, err: u64) {
        if self.output.look(out, err, self.elapsed) {
            self.active_at = self.elapsed;
        }
    }

    /// Its card changed.
    pub fn saw_card(&mut self, card: &Card) {
        if card.checkpoint_count != self.checkpoints {
            self.checkpoints = card.checkpoint_count;
            self.active_at = self.elapsed;
        }
        let moved = card.phase != self.phase;
        self.word = match card.status {
            Status::Cancelled => Some(Ending::Cancelled),
            Status::Running if moved && card.in_manual_phase() && !card.is_permitted() => Some(Ending::ManualPhase),
            _ => None,
        };
    }

    /// Seconds until a limit is reached when nothing more is seen.
    #[must_use]
    pub fn until_limit(&self) -> f64 {
        let timeout = (self.limits.timeout_seconds > 0.0).then_some(self.limits.timeout_seconds);
        let silence = (self.stale_after_seconds > 0.0).then_some(self.active_at + self.stale_after_seconds);
        let limits = [timeout, self.budget_seconds, silence];
        limits.into_iter().flatten().fold(f64::INFINITY, f64::min) - self.elapsed
    }

    /// Seconds until its output needs to be looked at again.
    #[must_use]
    pub fn until_output(&self) -> f64 {
        let limit = self.limits.output_max;
        if limit > 0 { self.output.seconds_until_next(limit, self.elapsed) } else { f64::INFINITY }
    }

    /// The limit that is reached.
    #[must_use]
    pub fn limit(&self) -> Option<Ending> {
        if self.word.is_some() {
            return self.word.clone();
        }
        if self.limits.timeout_seconds > 0.0 && self.elapsed >= self.limits.timeout_seconds {
            return Some(Ending::Timeout);
        }
        if self.budget_seconds.is_some_and(|budget| self.elapsed >= budget) {
            return Some(Ending::Budget);
        }
        if self.limits.output_max > 0 && self.output.printed > self.limits.output_max {
            return Some(Ending::OutputLimit);
        }
        let silent = self.elapsed - self.active_at >= self.stale_after_seconds;
        (self.stale_after_seconds > 0.0 && silent).then_some(Ending::Silent)
    }

    /// Whether an attempt that was asked to end since the first call has printed as much again as it may.
    pub fn floods(&mut self) -> bool {
        if self.limits.output_max == 0 {
            return false;
        }
        let from = *self.flood_from.get_or_insert(self.output.printed.saturating_add(self.limits.output_max));
        self.output.printed > from
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(text: &str, limits: Limits) -> Watched {
        Watched::new(&card(text), limits, None)
    }

    fn card(text: &str) -> Card {
        let whole = format!(r#"{{"task_id":"t","created_at":"2026-11-30T01:00:00Z","resume_adapter":"/a",{text}}}"#);
        Card::parse(whole.as_bytes(), "t").unwrap()
    }

    const LIMITS: Limits = Limits { timeout_seconds: 300.0, grace_seconds: 10.0, output_max: 100 };

    #[test]
    fn time_that_was_spent_stopped_does_not_count() {
        let mut attempt = watched(r#""status":"running""#, LIMITS);
        assert!(attempt.count(1.5, 1.0).abs() < 1e-9);
        assert!((attempt.count(7200.0, 1.0) - 7198.0).abs() < 1e-9);
        assert!((attempt.elapsed - 3.5).abs() < 1e-9);
        assert!((attempt.until_limit() - 296.5).abs() < 1e-9);
    }

    #[test]
    fn each_limit_is_reached_at_its_moment() {
        let given = r#""status":"running","phase":"a","stale_after_minutes":1"#;
        let mut attempt = watched(given, LIMITS);
        attempt.count(59.9, 60.0);
        assert_eq!(attempt.limit(), None);
        attempt.saw_output(0, 1);
        attempt.count(59.9, 60.0);
        assert_eq!(attempt.limit(), None);
        attempt.saw_card(&card(&format!(r#"{given},"checkpoint_count":1"#)));
        attempt.count(60.0, 60.0);
        assert_eq!(attempt.limit(), Some(Ending::Silent));
        attempt.saw_output(50, 51);
        assert_eq!(attempt.limit(), Some(Ending::OutputLimit));
        attempt.count(200.0, 200.0);
        assert_eq!(attempt.limit(), Some(Ending::Timeout));
        let mut late = Watched::new(&card(given), LIMITS, Some(5.0));
        late.count(5.0, 5.0);
        assert_eq!(late.limit(), Some(Ending::Budget));
        late.saw_card(&card(r#""status":"cancelled""#));
        assert_eq!(late.limit(), Some(Ending::Cancelled));
    }

    #[test]
    fn a_manual_phase_needs_a_word_unless_it_was_started_there() {
        let mut attempt = watched(r#""status":"running","phase":"send","manual_phases":["send","pay"]"#, LIMITS);
        for (phase, permit, expected) in
            [("send", "", None), ("pay", "", Some(Ending::ManualPhase)), ("pay", "pay", None), ("done", "", None)]
        {
            let now = format!(r#""status":"running","phase":"{phase}","permit":"{permit}","manual_phases":["send","pay"]"#);
            attempt.saw_card(&card(&now));
            assert_eq!(attempt.limit(), expected, "{phase}");
        }
    }

    #[test]
    fn one_that_was_asked_to_end_may_print_as_much_again() {
        let given = r#""status":"running""#;
        let mut attempt = watched(given, LIMITS);
        attempt.saw_output(80, 0);
        assert!(!attempt.floods());
        attempt.saw_output(120, 60);
        assert!(!attempt.floods());
        attempt.saw_output(120, 61);
        assert!(attempt.floods());
        let mut unlimited = watched(given, Limits { output_max: 0, ..LIMITS });
        assert!(!unlimited.floods());
        unlimited.saw_output(1 << 40, 0);
        assert!(!unlimited.floods() && unlimited.until_output() > 1e9);
    }

    #[test]
    fn output_that_grows_fast_is_looked_at_more_often() {
        let mut output = Output::default();
        let next = |output: &Output, elapsed| output.seconds_until_next(1000, elapsed);
        assert!(!output.look(0, 0, 0.0));
        assert_eq!((next(&output, 0.0), next(&output, 0.5), next(&output, 60.0)), (0.05, 0.5, 60.0));
        assert!(output.look(100, 0, 60.0) && !output.look(100, 0, 61.0));
        assert_eq!(next(&output, 61.0), 61.0, "it prints nothing any more");
        assert!(output.look(100, 100, 62.0));
        assert_eq!(next(&output, 62.0), 4.0, "100 bytes a second, and 800 are left");
        assert!(output.look(500, 490, 63.0));
        assert_eq!(next(&output, 63.0), 0.05);
        assert!(output.look(0, 0, 64.0), "it was truncated, which is a sign of life");
        assert_eq!(next(&output, 64.0), 64.0);
    }
}
