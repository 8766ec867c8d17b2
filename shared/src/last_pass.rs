//! What the last finished pass left: the clocks as they were, and what people were told.
//!
//! From the clocks comes the *gap*: when the wall clock advanced over a minute more than the
//! monotonic one since then, the machine was suspended or its clock was stepped. Nothing could
//! work in that time, so no silence starts earlier than the first pass after it.
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
/// What was told beyond this many entries is told again, so that the file stays readable.
const TOLD_MAX: usize = 20_000;

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
    /// The clocks now; none where the system does not name its boots.
    #[must_use]
    pub fn read() -> Option<Self> {
        let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned();
        let monotonic = clock_gettime(ClockId::CLOCK_MONOTONIC).ok()?;
        let monotonic_ms = monotonic.tv_sec() * 1000 + monotonic.tv_nsec() / 1_000_000;
        Some(Self { wall: std::time::SystemTime::now().into(), monotonic_ms, boot_id })
    }
}

impl LastPass {
    /// Reads it. What is not there or not readable tells nothing; the next pass writes it anew.
    #[must_use]
    pub fn load(store: &Store) -> Self {
        serde_json::from_slice::<Value>(&store.read_private(FILE)).ok().map(|value| Self::from_json(&value)).unwrap_or_default()
    }

    /// Since when the machine has been awake, as far as it is known to have slept.
    #[must_use]
    pub fn awake_since(&self, now: Option<&Clocks>) -> Option<Timestamp> {
        let (Some(then), Some(now)) = (&self.clocks, now) else { return self.awake_since };
        if then.boot_id != now.boot_id {
            return None;
        }
        let gap_ms = (now.wall.unix_ms() - then.wall.unix_ms()) - (now.monotonic_ms - then.monotonic_ms);
        if gap_ms > GAP_MS { Some(now.wall) } else { self.awake_since }
    }

    /// Writes what this pass leaves. Without clocks, those of the last one stay.
    ///
    /// # Errors
    /// Those of the store.
    pub fn save(&self, store: &Store, clocks: Option<Clocks>, told: BTreeSet<Told>) -> Result<(), crate::exit::Error> {
        let awake_since = self.awake_since(clocks.as_ref());
        let next = Self { clocks: clocks.or_else(|| self.clocks.clone()), awake_since, told };
        let mut bytes = next.to_json().to_string().into_bytes();
        bytes.push(b'\n');
        store.replace_private(FILE, &bytes)
    }

    fn to_json(&self) -> Value {
        let told: Vec<Value> = self.told.iter().take(TOLD_MAX).map(|(task, reason, phase)| json!([task, reason, phase])).collect();
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
        Clocks { wall: Timestamp::from_unix_ms(wall_s * 1000), monotonic_ms: monotonic_s * 1000, boot_id: boot.to_owned() }
    }

    #[test]
    fn a_gap_is_the_wall_clock_running_ahead_in_the_same_boot() {
        let last = LastPass { clocks: Some(clocks(1000, 500, "a")), ..LastPass::default() };
        assert_eq!(last.awake_since(Some(&clocks(1300, 800, "a"))), None);
        assert_eq!(last.awake_since(Some(&clocks(1360, 800, "a"))), None);
        assert_eq!(last.awake_since(Some(&clocks(1361, 800, "a"))), Some(Timestamp::from_unix_ms(1_361_000)));
        assert_eq!(last.awake_since(Some(&clocks(9000, 10, "b"))), None);
        assert_eq!(last.awake_since(Some(&clocks(900, 800, "a"))), None);
        let later = LastPass { awake_since: Some(Timestamp::from_unix_ms(1_361_000)), ..last };
        assert_eq!(later.awake_since(Some(&clocks(1300, 800, "a"))), Some(Timestamp::from_unix_ms(1_361_000)));
        assert_eq!(later.awake_since(Some(&clocks(9000, 10, "b"))), None);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let told = BTreeSet::from([("t".to_owned(), "too_old".to_owned(), String::new())]);
        let pass = LastPass { clocks: Some(clocks(1000, 500, "a")), awake_since: Some(Timestamp::from_unix_ms(0)), told };
        assert_eq!(LastPass::from_json(&pass.to_json()), pass);
        assert_eq!(LastPass::from_json(&json!([1])), LastPass::default());
    }
}
