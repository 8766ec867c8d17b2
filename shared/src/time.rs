//! Wall-clock time as it is stored: RFC 3339, written in UTC with `Z` and whole seconds.
//!
//! Inside, a time is a count of milliseconds, so that arithmetic cannot panic at the edge of a
//! calendar. Reading refuses what RFC 3339 refuses; a time without an offset is read as UTC.

use std::fmt;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Year 0000 in milliseconds since 1970: the first that RFC 3339 can write.
const MS_MIN: i64 = -62_167_219_200_000;
/// The last millisecond of year 9999.
const MS_MAX: i64 = 253_402_300_799_999;

/// A point in time: milliseconds since 1970-01-01T00:00:00Z, within the years 0000 to 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// A time from milliseconds since 1970, brought into range.
    #[must_use]
    pub fn from_unix_ms(ms: i64) -> Self {
        Self(ms.clamp(MS_MIN, MS_MAX))
    }

    /// Milliseconds since 1970.
    #[must_use]
    pub fn unix_ms(self) -> i64 {
        self.0
    }

    /// Reads RFC 3339. The second value is true when there was no offset and UTC was assumed.
    ///
    /// # Errors
    /// One line that says what is wrong with the text.
    pub fn parse(text: &str) -> Result<(Self, bool), String> {
        let bad = || format!("{text:?} is no RFC 3339 time such as 2026-11-30T01:00:00Z");
        let bytes = text.as_bytes();
        if let Some(ms) = usual(bytes) {
            return Ok((Self(ms), false));
        }
        if bytes.len() < 19 || bytes.len() > 40 || !matches!(bytes[10], b'T' | b't' | b' ') {
            return Err(bad());
        }
        let naive = !matches!(bytes[bytes.len() - 1], b'Z' | b'z') && !bytes[19..].iter().any(|b| matches!(b, b'+' | b'-'));
        let parsed =
            if naive { OffsetDateTime::parse(&format!("{text}Z"), &Rfc3339) } else { OffsetDateTime::parse(text, &Rfc3339) };
        let nanos = parsed.map_err(|_| bad())?.unix_timestamp_nanos();
        let ms = i64::try_from(nanos.div_euclid(1_000_000)).map_err(|_| bad())?;
        if !(MS_MIN..=MS_MAX).contains(&ms) {
            return Err(bad());
        }
        Ok((Self(ms), naive))
    }

    /// Seconds from `earlier` to this time; negative when it is later.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "within 10,000 years milliseconds fit 53 bits")]
    pub fn seconds_since(self, earlier: Self) -> f64 {
        (self.0 - earlier.0) as f64 / 1000.0
    }

    /// This time moved by seconds, staying in range.
    #[must_use]
    pub fn plus_seconds(self, seconds: f64) -> Self {
        Self::from_unix_ms(self.0.saturating_add(ms(seconds)))
    }

    /// The next whole second: what is stored must not be earlier than what was meant.
    #[must_use]
    pub fn ceil_second(self) -> Self {
        Self::from_unix_ms(self.0.div_euclid(1000).saturating_mul(1000) + if self.0.rem_euclid(1000) == 0 { 0 } else { 1000 })
    }

    /// `20261130T010000Z`, for IDs.
    #[must_use]
    pub fn stamp(self) -> String {
        self.to_string().chars().filter(|c| !matches!(c, '-' | ':')).collect()
    }
}

/// Milliseconds of a time in the form that is written here, `2026-11-30T01:00:00Z`: a card holds many. Whatever is unusual about
/// it, a leap second for example, is left to the library.
pub(crate) fn usual(text: &[u8]) -> Option<i64> {
    let text: &[u8; 20] = text.try_into().ok()?;
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'Z')];
    if marks.iter().any(|(index, mark)| text[*index] != *mark) {
        return None;
    }
    // All digits first, and only then whether they are: cheaper than to stop at each.
    let mut largest = 0;
    let mut two = |index: usize| {
        let (tens, ones) = (text[index].wrapping_sub(b'0'), text[index + 1].wrapping_sub(b'0'));
        largest = largest.max(tens).max(ones);
        i64::from(tens) * 10 + i64::from(ones)
    };
    let (year, month, day) = (two(0) * 100 + two(2), two(5), two(8));
    let (hour, minute, second) = (two(11), two(14), two(17));
    if largest > 9 {
        return None;
    }
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days_of_month = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=days_of_month).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    // Years that begin in March, so that the leap day is the last one of its year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days_before =
        365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + (153 * month + 2) / 5 + day - 1;
    // From 1 March of year 0 to 1970.
    let days = days_before - 719_468;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1000)
}

/// Seconds to milliseconds, saturating; NaN is 0.
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "a cast from f64 saturates, which is what is wanted")]
pub fn ms(seconds: f64) -> i64 {
    (seconds * 1000.0).round() as i64
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let ms = match time.duration_since(UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_millis()).unwrap_or(MS_MAX),
            Err(before) => i64::try_from(before.duration().as_millis()).map_or(MS_MIN, |ms| -ms),
        };
        Self::from_unix_ms(ms)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = OffsetDateTime::from_unix_timestamp(self.0.div_euclid(1000)).map_err(|_| fmt::Error)?;
        f.write_str(&whole.format(&Rfc3339).map_err(|_| fmt::Error)?)
    }
}

/// The wall clock: the system's, or one that `--now` set and that goes on from there.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    replaced: Option<(Timestamp, Instant)>,
}

impl Clock {
    /// The system's clock, or with `now` one that shows that time at this moment.
    #[must_use]
    pub fn new(now: Option<Timestamp>) -> Self {
        Self { replaced: now.map(|now| (now, Instant::now())) }
    }

    /// What the clock shows.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match self.replaced {
            Some((start, at)) => start.plus_seconds(at.elapsed().as_secs_f64()),
            None => SystemTime::now().into(),
        }
    }

    /// What is written down: never a time ahead of the system's, or the real clock would not believe it later.
    #[must_use]
    pub fn stamp(&self) -> Timestamp {
        self.now().min(SystemTime::now().into())
    }

    /// Whether `--now` replaced the system's clock.
    #[must_use]
    pub fn is_replaced(&self) -> bool {
        self.replaced.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap().0
    }

    #[test]
    fn the_usual_form_is_read_as_the_library_reads_it() {
        let by_library = |text: &str| OffsetDateTime::parse(text, &Rfc3339).map(|time| time.unix_timestamp() * 1000).ok();
        let mut read = 0;
        for (year, month, day) in
            (0..=9999).flat_map(|year| (0..=13).flat_map(move |month| [0, 1, 28, 29, 30, 31, 32].map(|day| (year, month, day))))
        {
            let text = format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", year % 24, month * 4, day);
            let usual = usual(text.as_bytes());
            assert_eq!(usual, by_library(&text), "{text}");
            read += usize::from(usual.is_some());
        }
        assert!(read > 10_000, "{read}");
        for other in
            ["2026-11-30T24:00:00Z", "2026-11-30T01:60:00Z", "2026-11-30t01:00:00Z", "2026-11-30T01:00:60Z", "2026-11-30T01:00:0Z"]
        {
            assert_eq!(usual(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn any_offset_is_read_and_utc_is_written() {
        for text in [
            "2026-11-30T01:00:00Z",
            "2026-11-30t01:00:00z",
            "2026-11-30 01:00:00Z",
            "2026-11-30T09:00:00+08:00",
            "2026-11-29T20:30:00-04:30",
            "2026-11-30T01:00:00.999Z",
        ] {
            assert_eq!(at(text).to_string(), "2026-11-30T01:00:00Z", "{text}");
        }
        assert_eq!(Timestamp::parse("2026-11-30T01:00:00").unwrap(), (at("2026-11-30T01:00:00Z"), true));
        assert_eq!(Timestamp::parse("2026-11-30 01:00:00.5").unwrap(), (at("2026-11-30T01:00:00.5Z"), true));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "abc",
            "2026-11-30",
            "2026-11-30T24:00:00Z",
            "2026-11-30T01:60:00Z",
            "2026-02-30T01:00:00Z",
            "2026-13-01T01:00:00Z",
            "2026-11-30T01:00:00+99:00",
            "2026-11-30T01:00:00+8",
            "2026-11-30_01:00:00Z",
            "2026-11-30T01:00Z",
            "2026-11-30T01:00:00ZZ",
            "2026-11-30T01:00:60Z",
            "0000-01-01T00:00:00+01:00",
            "9999-12-31T23:59:59-01:00",
            "+12026-11-30T01:00:00Z",
            "1764464400",
            "2026-11-30T01:00:00.Z",
            "２０２６-11-30T01:00:00Z",
        ] {
            assert!(Timestamp::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn arithmetic_stays_in_range() {
        let now = at("2026-11-30T01:00:00Z");
        assert_eq!(now.plus_seconds(f64::INFINITY).to_string(), "9999-12-31T23:59:59Z");
        assert_eq!(now.plus_seconds(f64::NEG_INFINITY).to_string(), "0000-01-01T00:00:00Z");
        assert_eq!(now.plus_seconds(f64::NAN), now);
        assert_eq!(at("2026-11-30T01:00:00.2Z").ceil_second(), at("2026-11-30T01:00:01Z"));
        assert_eq!(now.ceil_second(), now);
        assert_eq!(now.stamp(), "20261130T010000Z");
    }
}
