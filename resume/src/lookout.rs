//! Looks at an attempt's output, its card and the clock. What follows from that is decided in `limits.rs`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use shared::store::Store;

use crate::claim::Claimed;
use crate::limits::{Limits, TICK_SECONDS, Watched};
use crate::step::Ending;

/// An idle supervisor looks around this often.
pub(crate) const TICK: Duration = Duration::from_secs(1);

/// Looks at an attempt.
pub(crate) struct Lookout<'a> {
    store: &'a Store,
    claimed: &'a Claimed,
    watched: Watched,
    counted_at: Instant,
    card_file: Option<(u64, i64, i64)>,
}

impl<'a> Lookout<'a> {
    /// Begins to look.
    ///
    /// `left`: of the pass's time, if it has an end.
    pub(crate) fn new(store: &'a Store, claimed: &'a Claimed, limits: Limits, left: Option<Duration>) -> Self {
        let watched = Watched::new(&claimed.card, limits, left.map(|left| left.as_secs_f64()));
        Self { store, claimed, watched, counted_at: Instant::now(), card_file: None }
    }

    /// Counts the time of one round of the loop that was to wait this long. Returns what of it was spent stopped.
    pub(crate) fn count(&mut self, asked: Duration) -> Duration {
        let now = Instant::now();
        let stopped = self.watched.count((now - self.counted_at).as_secs_f64(), asked.as_secs_f64());
        self.counted_at = now;
        Duration::from_secs_f64(stopped)
    }

    /// The time since it was last counted does not count.
    pub(crate) fn skip(&mut self) {
        self.counted_at = Instant::now();
    }

    /// Seconds since the start that count.
    pub(crate) fn elapsed(&self) -> f64 {
        self.watched.elapsed
    }

    /// How long nothing needs to be looked at.
    pub(crate) fn until_next(&self) -> Duration {
        let next = self.watched.until_limit().min(self.watched.until_output());
        Duration::from_secs_f64(next.clamp(0.001, TICK_SECONDS))
    }

    /// The limit that is reached.
    pub(crate) fn limit(&mut self) -> Option<Ending> {
        self.look_at_card();
        self.look_at_output();
        self.watched.limit()
    }

    /// Whether an attempt that was asked to end since the first call prints as much again as it may.
    pub(crate) fn floods(&mut self) -> bool {
        self.look_at_output();
        self.watched.floods()
    }

    fn look_at_output(&mut self) {
        let length = |path| fs::metadata(path).map(|meta| meta.len()).unwrap_or_default();
        self.watched.saw_output(length(self.claimed.logs.out()), length(self.claimed.logs.err()));
    }

    fn look_at_card(&mut self) {
        let meta = fs::symlink_metadata(self.store.card_path(&self.claimed.id)).ok();
        let file = meta.map(|meta| (meta.ino(), meta.mtime(), meta.mtime_nsec()));
        if self.card_file == file {
            return;
        }
        self.card_file = file;
        if let Ok((_, card)) = self.store.load(&self.claimed.id) {
            self.watched.saw_card(&card);
        }
    }
}
