//! The machine: its clocks, its boots, and what the last pass left.
//!
//! Time runs in milliseconds awake, over all boots. The wall clock is that and an offset, which a
//! suspend, a step of the clock and the time off between two boots change. What is true of them is
//! kept beside what the product knows, so that its verdicts can be checked against it.

use std::collections::BTreeSet;

use shared::last_pass::{Clocks, LastPass, Sleep};
use shared::time::Timestamp;

pub(super) const SECOND: i64 = 1000;
pub(super) const MINUTE: i64 = 60 * SECOND;
pub(super) const HOUR: i64 = 60 * MINUTE;
pub(super) const DAY: i64 = 24 * HOUR;

/// 2026-11-30T00:00:00Z.
const START: i64 = 1_795_996_800_000;

#[derive(Debug)]
pub(super) struct Machine {
    /// Milliseconds awake.
    pub(super) now: i64,
    offset: i64,
    boot: u32,
    booted_at: i64,
    last_pass: LastPass,
    stamped_at: i64,
    /// In which boot that was: of another one's clocks nothing follows.
    stamped_in: Option<u32>,
    /// What the wall clock ran ahead by, and what it was set back by, since the last stamp.
    ahead: i64,
    back: i64,
    /// What it ran ahead by in intervals where that could not be told by the clocks.
    unseen: i64,
    /// The latest that it ever showed before it was set back: signs of life may bear any time up to that.
    shown: i64,
    /// The last look that was the first one after a gap: silence begins anew with it.
    anew_at: i64,
}

/// A moment, with what is needed to tell how long ago it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) at: i64,
    unseen: i64,
}

impl Machine {
    pub(super) fn new() -> Self {
        Self {
            now: 0,
            offset: START,
            boot: 0,
            booted_at: 0,
            last_pass: LastPass::default(),
            stamped_at: 0,
            stamped_in: None,
            ahead: 0,
            back: 0,
            unseen: 0,
            shown: 0,
            anew_at: 0,
        }
    }

    pub(super) fn wall(&self) -> Timestamp {
        Timestamp::from_unix_ms(self.now + self.offset)
    }

    fn clocks(&self) -> Clocks {
        Clocks::new(self.wall(), self.now - self.booted_at, self.boot.to_string())
    }

    /// What a program that starts now knows of the machine's sleep.
    pub(super) fn sleep(&self) -> Sleep {
        self.last_pass.sleep(Some(&self.clocks()))
    }

    /// A suspend, or a step of the clock.
    pub(super) fn jump(&mut self, ms: i64) {
        if ms < 0 {
            self.shown = self.shown.max(self.wall().unix_ms());
        }
        self.offset += ms;
        self.ahead += ms.max(0);
        self.back += (-ms).max(0);
    }

    pub(super) fn reboot(&mut self, off: i64) {
        self.jump(off);
        self.boot += 1;
        self.booted_at = self.now;
    }

    /// Until a pass of this boot has ended, nobody can tell a step of the clock from time.
    fn gap_is_seen(&self) -> bool {
        self.stamped_in == Some(self.boot) && self.ahead - self.back > MINUTE
    }

    /// A pass looks around.
    pub(super) fn look(&mut self) {
        if self.gap_is_seen() && self.now - self.stamped_at <= 10 * MINUTE {
            self.anew_at = self.now;
        }
    }

    /// A pass ends and leaves its stamp.
    pub(super) fn stamp(&mut self) {
        if self.gap_is_seen() {
            self.anew_at = self.now;
        } else {
            self.unseen += self.ahead;
        }
        (self.ahead, self.back, self.stamped_at, self.stamped_in) = (0, 0, self.now, Some(self.boot));
        self.last_pass = self.last_pass.next(Some(self.clocks()), BTreeSet::new());
    }

    pub(super) fn moment(&self) -> Moment {
        // What ran ahead in this interval before that moment counts too; that only makes checks milder.
        Moment { at: self.now, unseen: self.unseen }
    }

    /// Milliseconds awake since then.
    pub(super) fn since(&self, then: Moment) -> i64 {
        self.now - then.at
    }

    /// What nobody can blame a verdict for that takes the time since then for longer than it was.
    pub(super) fn taken_for_longer(&self, then: Moment) -> i64 {
        let current = if self.gap_is_seen() { 0 } else { self.ahead };
        self.unseen - then.unseen + current + 2 * SECOND
    }

    /// The least that a verdict must know of the silence since then. Of a gap that no pass has stamped yet nobody knows whether it
    /// lies in that silence.
    pub(super) fn known_since(&self, then: Moment) -> i64 {
        let gap = if self.gap_is_seen() { self.ahead - self.back } else { 0 };
        let silence = self.now - then.at.max(self.anew_at) - gap;
        silence.min(self.wall().unix_ms() - self.shown) - 2 * SECOND
    }
}
