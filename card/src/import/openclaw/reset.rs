//! When a refused model may be called again, as its error tells: an absolute time, so that it stays
//! the same however late, and however often, the text is read.
//!
//! Understood: `retry-after: 30`, "try again in 6m0s", "resets in 3 hours", "请在 1 分 30 秒后重试",
//! "请于 15:30 后重试", RFC 3339, seconds or milliseconds since 1970, "try again at 3:45 PM", "at Dec
//! 1st, 2026 15:00", the dates of HTTP. A time without an offset is read as UTC, as everywhere in
//! these programs. A connection that was reset, and a wait that is over, announce nothing.

use shared::answer::RETRY_AFTER_SECONDS_MAX;
use shared::time::Timestamp;

/// What announces a time.
const CUES: [&str; 14] = [
    "retry-after",
    "retry_after",
    "retry after",
    "try again",
    "retry in",
    "retry at",
    "retrydelay",
    "reset",
    "wait",
    "available again",
    "available in",
    "available at",
    "重试",
    "恢复",
];
/// A time stands no further behind what announces it, in characters.
const REACH_CHARS: usize = 48;

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// The time, if there is one ahead of the run's end. At most seven days ahead.
pub(super) fn reset(error: &str, ended_at: Timestamp) -> Option<Timestamp> {
    let text = error.to_lowercase();
    let latest = ended_at.plus_seconds(RETRY_AFTER_SECONDS_MAX);
    let found = instant(&text.replace(" at ", " "), ended_at)
        .or_else(|| chinese_span(&text).map(|seconds| ended_at.plus_seconds(seconds)))
        .or_else(|| chinese_clock(&text, ended_at))
        .or_else(|| {
            let cues = CUES.iter().flat_map(|cue| text.match_indices(cue)).filter(|(at, cue)| announces(&text, *at, cue));
            cues.into_iter().find_map(|(at, cue)| behind_cue(&text[at..], cue, ended_at))
        })?;
    (found > ended_at).then_some(found.min(latest))
}

/// A whole date and time, or a count since 1970 that is ahead: that is no accident.
fn instant(text: &str, ended_at: Timestamp) -> Option<Timestamp> {
    let ahead = |at: &Timestamp| *at > ended_at && at.seconds_since(ended_at) <= 30.0 * 86_400.0;
    let counts = text.split(|c: char| !c.is_ascii_digit()).filter(|digits| matches!(digits.len(), 10 | 13));
    let counts = counts.filter_map(|digits| {
        let count: i64 = digits.parse().ok()?;
        Some(Timestamp::from_unix_ms(if digits.len() == 10 { count * 1000 } else { count }))
    });
    let dates = text.match_indices("20").filter_map(|(at, _)| {
        let rest = &text[at..];
        let end = rest.find(|c: char| !(c.is_ascii_digit() || "-:.+tz ".contains(c))).unwrap_or(rest.len());
        let words: Vec<&str> = rest[..end].trim_end_matches(['.', ' ']).split(' ').collect();
        let spoken = match words.as_slice() {
            [date, time, ..] if date.len() == 10 && time.len() == 5 => format!("{date}T{time}:00"),
            [date, time, ..] if date.len() == 10 => format!("{date}T{time}"),
            [whole, ..] => (*whole).to_owned(),
            [] => return None,
        };
        Timestamp::parse(&spoken.to_uppercase()).ok().map(|(at, _)| at)
    });
    dates.chain(counts).find(ahead)
}

/// Not "connection reset by peer", "waiting 600 seconds".
fn announces(text: &str, at: usize, cue: &str) -> bool {
    let after = &text[at + cue.len()..];
    match cue {
        "wait" => !after.starts_with(|c: char| c.is_ascii_alphabetic()),
        "reset" => {
            let before = text[..at].trim_end();
            let of_connection =
                ["connection", "econn", "stream", "socket", "was", "been"].iter().any(|word| before.ends_with(word));
            !of_connection && !after.starts_with(" by peer")
        }
        _ => true,
    }
}

/// "1 分 30 秒后", "等待 60 秒": the numbers stand before their units, and "after" behind them.
fn chinese_span(text: &str) -> Option<f64> {
    const UNITS: [(&str, f64); 8] = [
        ("毫秒", 0.001),
        ("秒钟", 1.0),
        ("秒", 1.0),
        ("分钟", 60.0),
        ("分", 60.0),
        ("个小时", 3600.0),
        ("小时", 3600.0),
        ("天", 86_400.0),
    ];
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let waits = rest[..start].trim_end().ends_with('等') || rest[..start].trim_end().ends_with("等待");
        rest = &rest[start..];
        let mut seconds = None;
        while rest.starts_with(|c: char| c.is_ascii_digit()) {
            let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
            let number = rest[..end].parse::<f64>();
            rest = rest[end..].trim_start();
            let (Ok(number), Some((unit, length))) = (number, UNITS.into_iter().find(|(unit, _)| rest.starts_with(unit))) else {
                seconds = None;
                break;
            };
            seconds = Some(seconds.unwrap_or(0.0) + number * length);
            rest = rest[unit.len()..].trim_start();
        }
        if seconds.is_some() && (waits || rest.trim_start_matches(['之', '以', ' ']).starts_with('后')) {
            return seconds;
        }
    }
    None
}

/// "请于 15:30 后重试": the time stands before what it is told for.
fn chinese_clock(text: &str, ended_at: Timestamp) -> Option<Timestamp> {
    const AIMS: [&str; 5] = ["重试", "再试", "恢复", "重置", "解除"];
    let aim = AIMS.iter().filter_map(|aim| text.find(aim)).max()?;
    let before = &text[..aim];
    let at = before.rfind(['于', '在'])?;
    clock_time(before[at..].trim_start_matches(['于', '在']).trim_end_matches(['后', '之', '以', ' ']), ended_at)
}

fn behind_cue(text: &str, cue: &str, ended_at: Timestamp) -> Option<Timestamp> {
    let rest = &text[cue.len()..];
    let end = rest.char_indices().nth(REACH_CHARS).map_or(rest.len(), |(at, _)| at);
    let rest = &rest[..end];
    // `retry_after_ms: 2000` and `resets_in_seconds: 90` have the unit in their names, and a header has seconds without one.
    let header = matches!(cue, "retry-after" | "retry_after" | "retry after");
    let name_end = rest.find(|c: char| !(c.is_ascii_alphabetic() || "-_".contains(c))).unwrap_or(rest.len());
    let bare_unit = match rest[..name_end].rsplit(['-', '_']).next() {
        Some("ms" | "milliseconds") => Some(0.001),
        Some("seconds") => Some(1.0),
        _ => header.then_some(1.0),
    };
    clock_time(rest, ended_at).or_else(|| span(rest, bare_unit).map(|seconds| ended_at.plus_seconds(seconds)))
}

/// The first span of time: `6m0s`, `2 hours`, `1.5s`; a bare number only where its unit is known.
fn span(text: &str, bare_unit: Option<f64>) -> Option<f64> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let mut rest = &text[start..];
    let mut seconds = None;
    while rest.starts_with(|c: char| c.is_ascii_digit()) {
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
        let number: f64 = rest[..end].trim_end_matches('.').parse().ok()?;
        let tail = rest[end..].trim_start();
        let word_end = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let unit = match &tail[..word_end] {
            "ms" | "millisecond" | "milliseconds" => Some(0.001),
            "s" | "sec" | "secs" | "second" | "seconds" => Some(1.0),
            "m" | "min" | "mins" | "minute" | "minutes" => Some(60.0),
            "h" | "hr" | "hrs" | "hour" | "hours" => Some(3600.0),
            "d" | "day" | "days" => Some(86_400.0),
            _ => None,
        };
        let Some(unit) = unit.or(bare_unit.filter(|_| seconds.is_none())) else { break };
        seconds = Some(seconds.unwrap_or(0.0) + number * unit);
        rest = tail[word_end..].trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    seconds
}

/// A time of the day, the next one; with a month and a day before it, of that day.
fn clock_time(text: &str, ended_at: Timestamp) -> Option<Timestamp> {
    let words: Vec<&str> = text.split([' ', ',', '(', ')']).filter(|word| !word.is_empty()).collect();
    let (index, minutes) = words.iter().enumerate().find_map(|(index, word)| {
        let half = words.get(index + 1).copied().unwrap_or_default();
        minutes_of_day(word.trim_end_matches('.'), &half.replace('.', "")).map(|minutes| (index, minutes))
    })?;
    let now = ended_at.to_string();
    let of_day = |day: &str| Timestamp::parse(&format!("{day}T{:02}:{:02}:00Z", minutes / 60, minutes % 60)).ok().map(|(at, _)| at);
    let month = words[..index].iter().position(|word| MONTHS.iter().any(|month| word.starts_with(month)));
    let Some(place) = month else {
        let today = of_day(&now[..10])?;
        let is_today = today > ended_at && !words[..index].contains(&"tomorrow");
        return Some(if is_today { today } else { today.plus_seconds(86_400.0) });
    };
    let number = MONTHS.iter().position(|month| words[place].starts_with(month))? + 1;
    let digits = |word: &&str| word.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse::<u32>().ok();
    let mut behind = words[place + 1..index].iter().filter_map(digits).peekable();
    // "30 nov 2026", "nov 30, 2026"
    let day = match behind.next_if(|number| *number <= 31) {
        Some(day) => day,
        None => words[..place].last().and_then(digits)?,
    };
    let year = behind.next().map_or_else(|| now[..4].to_owned(), |year| year.to_string());
    of_day(&format!("{year}-{number:02}-{day:02}"))
}

/// `15:30`, `3:45pm`, `3pm`, `3:45` before `pm`.
fn minutes_of_day(word: &str, next: &str) -> Option<u32> {
    let (digits, half) = match word.strip_suffix("pm").map(|digits| (digits, Some(12))).or_else(|| {
        let digits = word.strip_suffix("am")?;
        Some((digits, Some(0)))
    }) {
        Some(found) => found,
        None => (
            word,
            if next == "pm" {
                Some(12)
            } else if next == "am" {
                Some(0)
            } else {
                None
            },
        ),
    };
    let (hour, minute) = match digits.split_once(':') {
        Some((hour, minute)) => (hour.parse::<u32>().ok()?, minute.get(..2)?.parse::<u32>().ok()?),
        None if half.is_some() => (digits.parse::<u32>().ok()?, 0),
        None => return None,
    };
    let hour = half.map_or(hour, |half| hour % 12 + half);
    (hour < 24 && minute < 60).then_some(hour * 60 + minute)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_providers_tell_them() {
        let ended_at = Timestamp::parse("2026-11-30T14:00:00Z").unwrap().0;
        for (text, expected) in [
            ("429 Too Many Requests, retry-after: 120", "2026-11-30T14:02:00Z"),
            ("{\"retry_after_ms\": 2500}", "2026-11-30T14:00:02Z"),
            ("{\"error\":{\"retry_after\": 12.5}}", "2026-11-30T14:00:12Z"),
            ("Rate limit reached for gpt-5. Please try again in 6m0s.", "2026-11-30T14:06:00Z"),
            ("Please try again in 350ms.", "2026-11-30T14:00:00Z"),
            ("try again in 1h2m3s", "2026-11-30T15:02:03Z"),
            ("usage limit: resets in 3 hours and 5 minutes", "2026-11-30T17:05:00Z"),
            ("Overloaded. Wait 5 minutes.", "2026-11-30T14:05:00Z"),
            ("You've hit your usage limit. Try again at 3:45 PM.", "2026-11-30T15:45:00Z"),
            ("5-hour limit reached, resets 3am", "2026-12-01T03:00:00Z"),
            ("limit will reset at 13:30 (UTC)", "2026-12-01T13:30:00Z"),
            ("or try again at Dec 1st, 2026 3:00 PM.", "2026-12-01T15:00:00Z"),
            ("try again at 2026-12-01T08:00:00+08:00.", "2026-12-01T00:00:00Z"),
            ("quota resets 2026-12-01 06:30", "2026-12-01T06:30:00Z"),
            ("AI usage limit reached|1796054400", "2026-11-30T16:00:00Z"),
            ("x-ratelimit-reset: 1796054400000", "2026-11-30T16:00:00Z"),
            ("请求过于频繁，请在 30 秒后重试", "2026-11-30T14:00:30Z"),
            ("已达上限，2小时后恢复", "2026-11-30T16:00:00Z"),
            ("retry after 90 days", "2026-12-07T14:00:00Z"),
            ("Retry-After: Mon, 30 Nov 2026 14:05:00 GMT", "2026-11-30T14:05:00Z"),
            ("You will regain access on 2026-12-01 at 00:00 UTC", "2026-12-01T00:00:00Z"),
            ("{\"resets_in_seconds\":13872}", "2026-11-30T17:51:12Z"),
            ("{\"retryDelay\":\"34s\"}", "2026-11-30T14:00:34Z"),
            ("try again at 3:45 p.m.", "2026-11-30T15:45:00Z"),
            ("limit resets tomorrow at 15:00", "2026-12-01T15:00:00Z"),
            ("1小时30分钟后重试", "2026-11-30T15:30:00Z"),
            ("请在 1 分 30 秒后重试", "2026-11-30T14:01:30Z"),
            ("请等待60秒再试", "2026-11-30T14:01:00Z"),
            ("请于 15:30 后重试", "2026-11-30T15:30:00Z"),
            ("额度将在 2026-12-01 02:03:04 重置", "2026-12-01T02:03:04Z"),
        ] {
            let found = reset(text, ended_at).map(|at| at.to_string());
            assert_eq!(found.as_deref(), Some(expected), "{text}");
        }
        for text in [
            "This is usually temporary — try again shortly.",
            "Request timed out before a response was generated. Please try again, or increase `agents.defaults.timeoutSeconds`.",
            "500 fake upstream exploded",
            "try again later (request 20261130)",
            "at 2026-11-30T13:59:00Z: overloaded",
            "read ECONNRESET at 13:59:58",
            "Connection reset by peer (13:59:58 UTC)",
            "the connection was reset after 300 seconds",
            "Request timed out after waiting 600 seconds",
            "请求超时，已等了很久",
            "",
        ] {
            assert_eq!(reset(text, ended_at), None, "{text}");
        }
    }

    #[test]
    fn no_text_makes_it_panic() {
        let ended_at = Timestamp::from_unix_ms(0);
        for text in [
            "后",
            "秒后",
            "9秒后重试",
            "reset 99999999999999999999s",
            "retry-after",
            "try again at :",
            "20",
            "reset 25:99",
            "wait …99…m",
            "后20后",
        ] {
            assert!(reset(text, ended_at).is_none_or(|at| at > ended_at), "{text}");
        }
    }
}
