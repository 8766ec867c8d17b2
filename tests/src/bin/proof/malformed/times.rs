//! A second reader of RFC 3339 times, by the calendar's own arithmetic.

/// Milliseconds since 1970; none when the text is no time of the years 0 to 9999. Without an offset it is UTC.
pub(crate) fn unix_ms(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    if !(19..=40).contains(&bytes.len()) || !bytes.is_ascii() {
        return None;
    }
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = bytes.get(from..to).filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
        std::str::from_utf8(digits).ok()?.parse().ok()
    };
    let is = |at: usize, byte: u8| bytes.get(at) == Some(&byte);
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if !(is(4, b'-') && is(7, b'-') && matches!(bytes[10], b'T' | b't' | b' ') && is(13, b':') && is(16, b':')) {
        return None;
    }
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=days).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut at = 19;
    let mut ms = 0;
    if is(at, b'.') {
        let digits = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            return None;
        }
        let thousandths: String = text[at + 1..at + 1 + digits].chars().chain("000".chars()).take(3).collect();
        ms = thousandths.parse().ok()?;
        at += 1 + digits;
    }
    let offset_minutes = match &bytes[at..] {
        [] | [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), _, _, b':', _, _] => {
            let (hours, minutes) = (number(at + 1, at + 3)?, number(at + 4, at + 6)?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            (hours * 60 + minutes) * if *sign == b'+' { 1 } else { -1 }
        }
        _ => return None,
    };
    let day_minute = hour * 60 + minute - offset_minutes;
    if second == 60 {
        // A leap second is the last one of a month in UTC, and stands for the moment before the next month.
        let last = (day == days && day_minute == 1439) || (day == 1 && day_minute == -1) || (day == days - 1 && day_minute == 2879);
        if !last {
            return None;
        }
        ms = 999;
    }
    let unix = ((days_before(year, month, day) * 1440 + day_minute) * 60 + second.min(59)) * 1000 + ms;
    (-62_167_219_200_000..=253_402_300_799_999).contains(&unix).then_some(unix)
}

/// Days from 1970-01-01 to this one (Howard Hinnant: chrono-compatible low-level date algorithms).
fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}
