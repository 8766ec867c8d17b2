//! What the last finished pass left: the clocks as they were, and what people were told.
//!
//! From the clocks comes the *gap*: when the wall clock advanced over a minute more than the
//! monotonic one since then, the machine was suspended or its clock was stepped. Nothing could
//! work in that time, so no silence starts earlier than the first pass after it, which stamps
//! that. Where nobody stamps (only `watch` is run, or `resume` with IDs), the time asleep is taken
//! off each silence instead once the last pass is long ago: looking must not delay for ever.
//!
//! Only a pass that works by the system's clock stamps the clocks; with `--now` they would lie.

use std::collections::BTreeSet;

use nix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

use crate::store::Store;
use crate::time::Timestamp;

const FILE: &str = ".last-pass";
/// The wall clock may run this much ahead of the monotonic one before it counts as a gap.
const GAP_MS: i64 = 60_000;
/// Without a pass for this long, awake, nobody is there to stamp.
const UNSTAMPED_MS: i64 = 600_000;
/// What was told beyond this is told again, so that the file stays small enough to be read.
const TOLD_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Something that a person was told: task, reason, phase.
pub type Told = (String, String, String);

/// What the last finished pass left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastPass {
    clocks: Option<Clocks>,
    awake_since: Option<Timestamp>,
    /// What people were told and what was still so.
    pub told: BTreeSet<Told>,
}

/// Both clocks of one boot at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clocks {
    wall: Timestamp,
    monotonic_ms: i64,
    boot_id: String,
}

impl Clocks {
    /// Clocks that show this.
    #[must_use]
    pub fn new(wall: Timestamp, monotonic_ms: i64, boot_id: impl Into<String>) -> Self {
        Self { wall, monotonic_ms, boot_id: boot_id.into() }
    }

    /// The clocks now; none where the system does not name its boots.
    #[must_use]
    pub fn read() -> Option<Self> {
        let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned();
        let monotonic = clock_gettime(ClockId::CLOCK_MONOTONIC).ok()?;
        let monotonic_ms = monotonic.tv_sec() * 1000 + monotonic.tv_nsec() / 1_000_000;
        Some(Self::new(std::time::SystemTime::now().into(), monotonic_ms, boot_id))
    }
}

/// What is known of the machine's sleep.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sleep {
    /// No silence starts earlier.
    pub awake_since: Option<Timestamp>,
    /// Each silence is shorter by this.
    pub asleep_seconds: f64,
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds of one boot fit 53 bits")]
fn seconds(ms: i64) -> f64 {
    ms as f64 / 1000.0
}

impl LastPass {
    /// Reads it. What is not there or not readable tells nothing; the next pass writes it anew.
    #[must_use]
    pub fn load(store: &Store) -> Self {
        Self::parse(&store.read_private(FILE))
    }

    fn parse(bytes: &[u8]) -> Self {
        serde_json::from_slice::<Value>(bytes).ok().map(|value| Self::from_json(&value)).unwrap_or_default()
    }

    /// When it was, by the system's clock; none where nobody stamped it.
    #[must_use]
    pub fn finished_at(&self) -> Option<Timestamp> {
        self.clocks.as_ref().map(|clocks| clocks.wall)
    }

    /// What a pass leaves that ends at this moment and over this one. Without clocks, those of this one stay.
    #[must_use]
    pub fn next(&self, clocks: Option<Clocks>, told: BTreeSet<Told>) -> Self {
        let slept = self.sleep(clocks.as_ref());
        // From that pass on the time asleep counts no more; the silence begins with it.
        let awake_since = if slept.asleep_seconds > 0.0 { clocks.as_ref().map(|now| now.wall) } else { slept.awake_since };
        Self { clocks: clocks.or_else(|| self.clocks.clone()), awake_since, told }
    }

    /// What is known of the machine's sleep at this moment.
    #[must_use]
    pub fn sleep(&self, now: Option<&Clocks>) -> Sleep {
        let (Some(then), Some(now)) = (&self.clocks, now) else {
            return Sleep { awake_since: self.awake_since, asleep_seconds: 0.0 };
        };
        if then.boot_id != now.boot_id {
            return Sleep::default();
        }
        let awake_ms = now.monotonic_ms - then.monotonic_ms;
        let gap_ms = (now.wall.unix_ms() - then.wall.unix_ms()) - awake_ms;
        // A stamp from before the clock was set back tells nothing.
        let stamped = self.awake_since.filter(|since| *since <= now.wall);
        match gap_ms {
            ..=GAP_MS => Sleep { awake_since: stamped, asleep_seconds: 0.0 },
            _ if awake_ms <= UNSTAMPED_MS => Sleep { awake_since: Some(now.wall), asleep_seconds: 0.0 },
            _ => Sleep { awake_since: stamped, asleep_seconds: now.wall.seconds_since(then.wall) - seconds(awake_ms) },
        }
    }

    /// Writes what this pass leaves, over what others left meanwhile: `still_told` makes of what people were told by them what
    /// they are told now. Without clocks, those of the last one stay.
    ///
    /// # Errors
    /// Those of the store.
    pub fn save(
        store: &Store,
        clocks: Option<Clocks>,
        still_told: impl FnOnce(&BTreeSet<Told>) -> BTreeSet<Told>,
    ) -> Result<(), crate::exit::Error> {
        store.update_private(FILE, |bytes| {
            let last = Self::parse(bytes);
            let next = last.next(clocks, still_told(&last.told));
            let mut bytes = next.to_json().to_string().into_bytes();
            bytes.push(b'\n');
            bytes
        })
    }

    fn to_json(&self) -> Value {
        let mut room = TOLD_BYTES_MAX;
        let fits = |(task, reason, phase): &&Told| {
            let size = 2 * (task.len() + reason.len() + phase.len()) + 16;
            room = room.saturating_sub(size);
            room > 0
        };
        let told: Vec<Value> =
            self.told.iter().take_while(fits).map(|(task, reason, phase)| json!([task, reason, phase])).collect();
        let mut value = json!({});
        if let Some(clocks) = &self.clocks {
            value = json!({"finished_at": clocks.wall.to_string(), "monotonic_ms": clocks.monotonic_ms, "boot_id": clocks.boot_id});
        }
        if let Some(since) = self.awake_since {
            value["awake_since"] = since.to_string().into();
        }
        value["told"] = told.into();
        value
    }

    fn from_json(value: &Value) -> Self {
        let time = |name: &str| Some(Timestamp::parse(value.get(name)?.as_str()?).ok()?.0);
        let clocks = || {
            Some(Clocks {
                wall: time("finished_at")?,
                monotonic_ms: value.get("monotonic_ms")?.as_i64()?,
                boot_id: value.get("boot_id")?.as_str()?.to_owned(),
            })
        };
        let text = |item: &Value, index: usize| Some(item.get(index)?.as_str()?.to_owned());
        let told = value.get("told").and_then(Value::as_array).into_iter().flatten();
        Self {
            clocks: clocks(),
            awake_since: time("awake_since"),
            told: told.filter_map(|item| Some((text(item, 0)?, text(item, 1)?, text(item, 2)?))).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clocks(wall_s: i64, monotonic_s: i64, boot: &str) -> Clocks {
        Clocks::new(Timestamp::from_unix_ms(wall_s * 1000), monotonic_s * 1000, boot)
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_unix_ms(seconds * 1000)
    }

    #[test]
    fn a_gap_is_the_wall_clock_running_ahead_in_the_same_boot() {
        let awake = |since: Option<i64>| Sleep { awake_since: since.map(at), asleep_seconds: 0.0 };
        let last = LastPass { clocks: Some(clocks(1000, 500, "a")), ..LastPass::default() };
        for (name, now, expected) in [
            ("no gap", clocks(1300, 800, "a"), awake(None)),
            ("a minute is none yet", clocks(1360, 800, "a"), awake(None)),
            ("a gap", clocks(1361, 800, "a"), awake(Some(1361))),
            ("another boot", clocks(9000, 10, "b"), awake(None)),
            ("set back", clocks(900, 800, "a"), awake(None)),
            ("a gap that nobody stamps", clocks(9000, 1101, "a"), Sleep { awake_since: None, asleep_seconds: 7399.0 }),
        ] {
            assert_eq!(last.sleep(Some(&now)), expected, "{name}");
        }
        let later = LastPass { awake_since: Some(at(1361)), ..last };
        assert_eq!(later.sleep(Some(&clocks(1400, 900, "a"))), awake(Some(1361)));
        assert_eq!(later.sleep(Some(&clocks(9000, 10, "b"))), awake(None));
        assert_eq!(later.sleep(Some(&clocks(1300, 800, "a"))), awake(None), "stamped ahead of the clock");
    }

    #[test]
    fn what_is_written_is_read_again() {
        let told = BTreeSet::from([("t".to_owned(), "too_old".to_owned(), String::new())]);
        let pass = LastPass { clocks: Some(clocks(1000, 500, "a")), awake_since: Some(Timestamp::from_unix_ms(0)), told };
        assert_eq!(LastPass::from_json(&pass.to_json()), pass);
        assert_eq!(LastPass::from_json(&json!([1])), LastPass::default());
    }
}
