//! How often a pass is made, and what each trigger can express of that.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An interval in whole seconds, from 10 s to a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Every(pub(crate) u64);

impl Default for Every {
    fn default() -> Self {
        Self(300)
    }
}

const SECONDS_MIN: u64 = 10;
const DAY_SECONDS: u64 = 86_400;

impl FromStr for Every {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let unit_seconds = match unit {
            "s" => 1,
            "m" | "min" => 60,
            "h" => 3600,
            "d" => DAY_SECONDS,
            _ => return Err("is no time such as 90s, 5m or 1h"),
        };
        let number: u64 = number.parse().map_err(|_| "is no time such as 90s, 5m or 1h")?;
        match number.checked_mul(unit_seconds) {
            Some(seconds @ SECONDS_MIN..=DAY_SECONDS) => Ok(Self(seconds)),
            _ => Err("is not between 10s and 1d"),
        }
    }
}

impl fmt::Display for Every {
    /// In the largest unit that keeps it whole: what OpenClaw and systemd read, too.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            seconds if seconds % 3600 == 0 => write!(f, "{}h", seconds / 3600),
            seconds if seconds % 60 == 0 => write!(f, "{}m", seconds / 60),
            seconds => write!(f, "{seconds}s"),
        }
    }
}

impl Every {
    /// cron's five fields. It counts whole minutes that divide an hour, and whole hours that divide a day; anything else
    /// would come at uneven times. Otherwise the nearest shorter one that it can express.
    pub(crate) fn cron_fields(self) -> Result<String, Self> {
        let (minutes, hours) = (self.0 / 60, self.0 / 3600);
        let fields = match self.0 {
            60 => "* * * * *".to_owned(),
            3600 => "0 * * * *".to_owned(),
            DAY_SECONDS => "0 0 * * *".to_owned(),
            seconds if seconds % 60 == 0 && minutes < 60 && 60 % minutes == 0 => format!("*/{minutes} * * * *"),
            seconds if seconds % 3600 == 0 && hours < 24 && 24 % hours == 0 => format!("0 */{hours} * * *"),
            _ => return Err(self.nearest_for_cron()),
        };
        Ok(fields)
    }

    fn nearest_for_cron(self) -> Self {
        let minutes = [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30].map(|minutes| minutes * 60);
        let hours = [1, 2, 3, 4, 6, 8, 12].map(|hours| hours * 3600);
        Self(minutes.into_iter().chain(hours).take_while(|seconds| *seconds <= self.0).last().unwrap_or(60))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_shown() {
        for (text, shown) in [("5m", "5m"), ("90s", "90s"), ("3600s", "1h"), ("1d", "24h"), ("120s", "2m"), ("10s", "10s")] {
            assert_eq!(text.parse::<Every>().map(|every| every.to_string()), Ok(shown.to_owned()), "{text}");
        }
        for text in ["", "5", "m", "0m", "9s", "2d", "1.5h", "-5m", "5 m", "99999999999999999999h"] {
            assert!(text.parse::<Every>().is_err(), "{text}");
        }
    }

    #[test]
    fn cron_expresses_what_divides_an_hour_or_a_day() {
        for (seconds, expected) in [
            (60, Ok("* * * * *")),
            (300, Ok("*/5 * * * *")),
            (1800, Ok("*/30 * * * *")),
            (3600, Ok("0 * * * *")),
            (6 * 3600, Ok("0 */6 * * *")),
            (86_400, Ok("0 0 * * *")),
            (30, Err(60)),
            (90, Err(60)),
            (7 * 60, Err(360)),
            (45 * 60, Err(1800)),
            (5 * 3600, Err(4 * 3600)),
            (90 * 60, Err(3600)),
        ] {
            assert_eq!(Every(seconds).cron_fields(), expected.map(str::to_owned).map_err(Every), "{seconds}");
        }
    }
}
