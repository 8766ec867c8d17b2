//! The languages of a report, and which one is spoken.

use std::ffi::OsString;

use shared::time::Timestamp;

use super::en::English;
use super::story::Kind;
use super::zh::Chinese;

/// A language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    English,
    Chinese,
}

impl Language {
    /// By its code: `en` or `zh`, with or without a country and an encoding.
    pub(crate) fn parse(code: &str) -> Option<Self> {
        match code.split(['_', '-', '.', '@']).next().unwrap_or_default() {
            "en" | "C" | "POSIX" => Some(Self::English),
            "zh" => Some(Self::Chinese),
            _ => None,
        }
    }

    /// What is said in it.
    pub(crate) fn words(self) -> &'static dyn Words {
        match self {
            Self::English => &English,
            Self::Chinese => &Chinese,
        }
    }
}

/// That of this process. No machine needs the locale installed.
pub(crate) fn of_process() -> Language {
    of(&|name| std::env::var_os(name))
}

/// The first of POSIX's variables that is set decides; a language that we do not have is English.
fn of(env: &dyn Fn(&str) -> Option<OsString>) -> Language {
    let set = ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().filter_map(env).find(|value| !value.is_empty());
    set.and_then(|value| Language::parse(&value.to_string_lossy())).unwrap_or(Language::English)
}

/// What a language says. Values come in as they are, and go out as they came: whoever shows them makes them harmless.
pub(crate) trait Words {
    /// What stories of a kind have in common, without a colon.
    fn heading(&self, kind: Kind) -> &'static str;
    /// A reason's phrase.
    fn reason(&self, word: &str) -> Option<&'static str>;
    /// How an attempt ended: what is said after its number.
    fn outcome(&self, kind: &str) -> Option<&'static str>;
    /// A detail, as far as it is a sentence of `watch` or `resume`; what a task says in its own words stays.
    fn detail(&self, detail: &str) -> String;
    /// A time span.
    fn span(&self, seconds: i64) -> String;

    /// A task by its title and ID; the ID is given as it is shown.
    fn task(&self, title: &str, id: &str) -> String;
    /// What stands before what is said of a task.
    fn colon(&self) -> &'static str;
    /// Several things that are said of a task.
    fn join(&self, parts: &[String]) -> String;

    /// No reason is given.
    fn no_reason(&self) -> &'static str;
    /// The phase that it is in.
    fn phase(&self, phase: &str) -> String;
    /// So long already.
    fn lasting(&self, span: &str) -> String;
    /// What is about to happen when a person approves.
    fn pending(&self, action: &str) -> String;
    /// An attempt and how it ended.
    fn attempt(&self, number: &str, outcome: &str) -> String;
    /// An attempt that made progress before it failed.
    fn progress_on_the_way(&self) -> &'static str;
    /// When it is tried again.
    fn again(&self, at: Option<Timestamp>, now: Timestamp) -> String;
    /// A reason with the silence that shows it.
    fn silence(&self, word: &str, phrase: &str, span: &str) -> String;
    /// It goes on.
    fn goes_on(&self, from: &str, to: &str, attempt: &str) -> String;
    /// It is completed.
    fn is_finished(&self, attempt: &str) -> String;
    /// An attempt is at work.
    fn is_running(&self, attempt: &str) -> String;
    /// It can start.
    fn is_ready(&self) -> &'static str;
    /// What a cancelled task had left was ended.
    fn is_contained(&self, attempt: &str) -> String;
    /// What a dry run says that would be done.
    fn would(&self, what: &str, phrase: &str) -> String;
    /// Over at this time.
    fn until(&self, at: Timestamp, now: Timestamp) -> String;

    /// What stands before a log's path.
    fn log(&self) -> &'static str;
    /// What stands before a command.
    fn command(&self) -> &'static str;
    /// So many are not told.
    fn more(&self, count: usize) -> String;
    /// Where the commands' programs are; the folder is given as it is shown.
    fn programs(&self, folder: &str) -> String;
}

/// A time of day, and the day where it is another one than today's: UTC.
pub(crate) fn clock_time(then: Timestamp, now: Timestamp) -> (Option<String>, String) {
    let (then, now) = (then.to_string(), now.to_string());
    let part = |text: &str, from: usize, to: usize| text.get(from..to).unwrap_or_default().to_owned();
    let day = part(&then, 0, 10);
    ((day != part(&now, 0, 10)).then_some(day), part(&then, 11, 16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_is_set_decides() {
        for (set, expected) in [
            (&[][..], Language::English),
            (&[("LANG", "zh_CN.UTF-8")], Language::Chinese),
            (&[("LANG", "zh_CN.UTF-8"), ("LC_MESSAGES", "en_US.UTF-8")], Language::English),
            (&[("LC_ALL", ""), ("LANG", "zh")], Language::Chinese),
            (&[("LC_ALL", "C"), ("LANG", "zh_TW")], Language::English),
            (&[("LC_ALL", "de_DE.UTF-8"), ("LANG", "zh_TW")], Language::English),
            (&[("LC_MESSAGES", "zh-Hans@x")], Language::Chinese),
        ] {
            let env = |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value));
            assert_eq!(of(&env), expected, "{set:?}");
        }
    }

    #[test]
    fn another_day_is_said() {
        let at = |text: &str| Timestamp::parse(text).unwrap().0;
        let now = at("2026-11-30T23:50:00Z");
        assert_eq!(clock_time(at("2026-11-30T23:59:59Z"), now), (None, "23:59".to_owned()));
        assert_eq!(clock_time(at("2026-12-01T00:05:00Z"), now), (Some("2026-12-01".to_owned()), "00:05".to_owned()));
    }
}
