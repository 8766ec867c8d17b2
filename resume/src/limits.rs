//! Which limit an attempt has reached: its time, its silence, its output, the pass's time, or a word of the card.
//!
//! Time is counted in rounds of the supervisor's loop: what was much longer than asked for was spent stopped or suspended.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use shared::card::Status;
use shared::store::Store;

use crate::budget::Budget;
use crate::claim::Claimed;
use crate::signals::Signals;
use crate::step::Ending;

/// An idle supervisor looks around this often.
pub(crate) const TICK: Duration = Duration::from_secs(1);
/// And never more often than this.
const TICK_SECONDS_MIN: f64 = 0.05;

/// Limits of one attempt, in seconds; 0 = none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) timeout_seconds: f64,
    pub(crate) grace_seconds: f64,
    /// The pass's time.
    pub(crate) budget: Budget,
    /// Bytes.
    pub(crate) output_max: u64,
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

/// Looks at limits, the card and the attempt's output.
pub(crate) struct Lookout<'a> {
    store: &'a Store,
    claimed: &'a Claimed,
    timeout_seconds: f64,
    budget_seconds: Option<f64>,
    output_max: u64,
    stale_after_seconds: f64,
    /// Seconds since the start that count.
    pub(crate) elapsed: f64,
    counted_at: Instant,
    active_at: f64,
    output: Output,
    /// Bytes; beyond that an attempt that was asked to end floods its logs.
    flood_from: Option<u64>,
    card_file: Option<(u64, i64, i64)>,
    checkpoints: u64,
    word: Option<Ending>,
}

impl<'a> Lookout<'a> {
    /// Begins to look.
    pub(crate) fn new(store: &'a Store, claimed: &'a Claimed, limits: Limits, signals: &Signals) -> Self {
        Self {
            store,
            claimed,
            timeout_seconds: limits.timeout_seconds,
            budget_seconds: limits.budget.left(signals).map(|left| left.as_secs_f64()),
            output_max: limits.output_max,
            stale_after_seconds: claimed.card.stale_after_minutes() * 60.0,
            elapsed: 0.0,
            counted_at: Instant::now(),
            active_at: 0.0,
            output: Output::default(),
            flood_from: None,
            card_file: None,
            checkpoints: claimed.card.checkpoint_count,
            word: None,
        }
    }

    /// Counts the time of one round of the loop, looking around included. What took over a second longer than the wait that was
    /// asked for was spent stopped: that is returned.
    pub(crate) fn count(&mut self, asked: Duration) -> Duration {
        let now = Instant::now();
        let time = now - self.counted_at;
        let counted = time.min(asked + TICK);
        self.elapsed += counted.as_secs_f64();
        self.counted_at = now;
        time - counted
    }

    /// The time since it was last counted does not count.
    pub(crate) fn skip(&mut self) {
        self.counted_at = Instant::now();
    }

    /// How long nothing needs to be looked at.
    pub(crate) fn until_next(&self) -> Duration {
        let mut seconds = TICK.as_secs_f64();
        if self.timeout_seconds > 0.0 {
            seconds = seconds.min(self.timeout_seconds - self.elapsed);
        }
        if let Some(budget) = self.budget_seconds {
            seconds = seconds.min(budget - self.elapsed);
        }
        if self.stale_after_seconds > 0.0 {
            seconds = seconds.min(self.active_at + self.stale_after_seconds - self.elapsed);
        }
        if self.output_max > 0 {
            seconds = seconds.min(self.output.seconds_until_next(self.output_max, self.elapsed));
        }
        Duration::from_secs_f64(seconds.max(0.001))
    }

    /// The limit that is reached.
    pub(crate) fn limit(&mut self) -> Option<Ending> {
        self.look_at_card();
        self.look_at_output();
        if self.word.is_some() {
            return self.word.clone();
        }
        if self.timeout_seconds > 0.0 && self.elapsed >= self.timeout_seconds {
            return Some(Ending::Timeout);
        }
        if self.budget_seconds.is_some_and(|budget| self.elapsed >= budget) {
            return Some(Ending::Budget);
        }
        if self.output_max > 0 && self.output.printed > self.output_max {
            return Some(Ending::OutputLimit);
        }
        (self.stale_after_seconds > 0.0 && self.elapsed - self.active_at >= self.stale_after_seconds).then_some(Ending::Silent)
    }

    /// Whether an attempt that was asked to end since the first call prints as much again as it may.
    pub(crate) fn floods(&mut self) -> bool {
        if self.output_max == 0 {
            return false;
        }
        self.look_at_output();
        let from = *self.flood_from.get_or_insert(self.output.printed.saturating_add(self.output_max));
        self.output.printed > from
    }

    fn look_at_output(&mut self) {
        let length = |path| fs::metadata(path).map(|meta| meta.len()).unwrap_or_default();
        let (out, err) = (length(self.claimed.logs.out()), length(self.claimed.logs.err()));
        if self.output.look(out, err, self.elapsed) {
            self.active_at = self.elapsed;
        }
    }

    fn look_at_card(&mut self) {
        let meta = fs::symlink_metadata(self.store.card_path(&self.claimed.id)).ok();
        let file = meta.map(|meta| (meta.ino(), meta.mtime(), meta.mtime_nsec()));
        if self.card_file == file {
            return;
        }
        self.card_file = file;
        let Ok((_, card)) = self.store.load(&self.claimed.id) else { return };
        if card.checkpoint_count != self.checkpoints {
            self.checkpoints = card.checkpoint_count;
            self.active_at = self.elapsed;
        }
        let moved = card.phase != self.claimed.card.phase;
        self.word = match card.status {
            Status::Cancelled => Some(Ending::Cancelled),
            Status::Running if moved && card.in_manual_phase() && !card.is_permitted() => Some(Ending::ManualPhase),
            _ => None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
