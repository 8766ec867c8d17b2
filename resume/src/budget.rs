//! The pass's time. What of it was spent stopped does not count (`signals.rs` knows how much that was).

use std::time::{Duration, Instant};

use crate::signals::Signals;

/// Longer budgets are none: a hundred years.
const SECONDS_MAX: f64 = 3.2e9;

/// When the pass's time is over, if ever.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    until: Option<Instant>,
}

impl Budget {
    /// That many seconds from now; 0 = no end.
    pub(crate) fn from_now(seconds: f64) -> Self {
        Self { until: (seconds > 0.0).then(|| Instant::now() + Duration::from_secs_f64(seconds.min(SECONDS_MAX))) }
    }

    /// What is left, if it has an end.
    pub(crate) fn left(self, signals: &Signals) -> Option<Duration> {
        Some((self.until? + signals.stopped()).saturating_duration_since(Instant::now()))
    }

    /// Whether nothing is left.
    pub(crate) fn is_over(self, signals: &Signals) -> bool {
        self.left(signals).is_some_and(|left| left.is_zero())
    }
}
