//! What an agent's last words tell: that it is about to act, that something failed, that it is
//! done, that it asks. English and Chinese, by lists of phrases.
//!
//! An announcement counts where it stands: at the beginning of the last sentence, or of the one before
//! a last one that only says how long it takes. "Let me know" offers, "the job will continue" reports,
//! "let me explain" is the answer itself, and so may be what follows: "let me check: 17 is prime".

use super::lists::{
    ABOUT_TO, ABOUT_TO_ZH, DEEDS, DEEDS_ZH, DOUBTS, FAILURES, FINDINGS, FOLLOWERS, GOES_ON, LEADS, LEADS_ZH, LEFTOVERS, NO_DEEDS,
    NOT_DONE_ZH, NOW, NOW_ZH, OWN_FAILURES, QUESTIONS, QUIET, SUCCESSES, TOGETHER, UNDER_WAY, UNDER_WAY_ZH, YES_OR_NO,
};

/// Phrases of intent: the built-in ones, or those that somebody gave instead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Phrases {
    /// Sought in lower case, anywhere in the last two sentences. None: the built-in ones; one that is empty: nothing is an intent.
    pub(crate) own: Vec<String>,
}

/// Whether a text announces a next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intent {
    Sure,
    /// It does, but something else in it speaks against that.
    Perhaps,
    None,
}

/// A text as the lists have it: lower case, straight apostrophes, without marks of emphasis.
pub(super) fn plain(text: &str) -> String {
    let text: String = text.chars().filter(|c| !matches!(c, '*' | '_' | '`' | '#' | '>')).collect();
    text.trim().to_lowercase().replace(['’', '‘'], "'")
}

/// The last characters of a text.
pub(super) fn ending(text: &str, chars_max: usize) -> &str {
    let start = text.char_indices().rev().nth(chars_max.saturating_sub(1)).map_or(0, |(at, _)| at);
    &text[start..]
}

fn has(text: &str, phrases: &str) -> bool {
    phrases.split('|').any(|phrase| text.match_indices(phrase).any(|(at, _)| is_whole(text, at, phrase)))
}

/// "Later" is in "later on", not in "collateral"; Chinese has no spaces.
fn is_whole(text: &str, at: usize, phrase: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric();
    let before = text[..at].chars().next_back().is_some_and(letter) && phrase.starts_with(letter);
    let after = text[at + phrase.len()..].chars().next().is_some_and(letter) && phrase.ends_with(letter);
    !before && !after
}

/// Whether it says that something did not go well.
pub(super) fn admits_failure(text: &str) -> bool {
    has(&without(text, FINDINGS), FAILURES)
}

/// Whether it says that the agent itself did not manage something, beside what it was to find out.
pub(super) fn admits_own_failure(text: &str) -> bool {
    has(&without(text, FINDINGS), OWN_FAILURES)
}

/// Whether it answers yes or no.
pub(super) fn answers_yes_or_no(text: &str) -> bool {
    starts(text, YES_OR_NO)
}

/// Whether it says that something is not there, which is an answer.
pub(super) fn reports_absence(text: &str) -> bool {
    has(text, FINDINGS)
}

fn without(text: &str, phrases: &str) -> String {
    phrases.split('|').fold(text.to_owned(), |text, phrase| text.replace(phrase, " "))
}

/// Whether it says that all went well.
pub(super) fn claims_success(text: &str) -> bool {
    has(text, SUCCESSES)
}

/// Whether it waits for an answer.
pub(super) fn asks(text: &str) -> bool {
    text.contains(['?', '？']) || has(text, QUESTIONS)
}

/// Whether it says that work is left.
pub(super) fn leaves_work(text: &str) -> bool {
    has(text, LEFTOVERS) || counts_part(text) || sentences(text).last().is_some_and(|sentence| tells_what_goes_on(sentence))
}

/// "7 of 12", "7/12": fewer than all.
fn counts_part(text: &str) -> bool {
    [" of ", "/"].into_iter().any(|mark| {
        text.match_indices(mark).any(|(at, _)| {
            let (before, after) = (&text[..at], &text[at + mark.len()..]);
            let start = before.trim_end_matches(|c: char| c.is_ascii_digit()).len();
            let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
            // A date or a path has more of them.
            let alone = mark != "/" || !before[..start].ends_with(['/', '.']) && !after[end..].starts_with(['/', '.']);
            let part = before[start..].parse::<u64>().ok().zip(after[..end].parse::<u64>().ok());
            alone && part.is_some_and(|(done, all)| done < all)
        })
    })
}

/// "Fetching the data now."
fn tells_what_goes_on(sentence: &str) -> bool {
    let edge = |c: char| !c.is_alphanumeric();
    let mut rest = sentence.trim_start_matches(edge);
    while let Some(after) = after_longest(rest, LEADS) {
        rest = after.trim_start_matches(edge);
    }
    let word = &rest[..rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len())];
    word.len() > 5 && word.ends_with("ing") && !starts(word, NO_DEEDS)
        || !rest.chars().any(char::is_alphanumeric)
        || rest.starts_with("开始")
}

/// Whether its end is missing.
pub(super) fn is_cut_off(text: &str) -> bool {
    text.ends_with([':', '：', ',', '，', '…']) || text.ends_with("...")
}

/// Whether it is nothing but a token that says nothing. Marks of emphasis are gone, and with them the underscore.
pub(super) fn is_quiet_token(text: &str) -> bool {
    QUIET.split('|').any(|token| text.trim_end_matches('.') == token.replace('_', ""))
}

impl Phrases {
    /// Whether a plain text announces a next step in one of its last two sentences.
    pub(super) fn intent(&self, text: &str) -> Intent {
        let sentences = sentences(text);
        let last = &sentences[sentences.len().saturating_sub(2)..];
        let found = match self.own.as_slice() {
            [] => announced(last),
            own => {
                let mut sought = own.iter().map(|phrase| plain(phrase)).filter(|phrase| !phrase.is_empty());
                let found = sought.any(|phrase| last.iter().any(|sentence| sentence.contains(&phrase)));
                if found { Intent::Sure } else { Intent::None }
            }
        };
        match found {
            Intent::Sure if text.contains(['?', '？']) || has(text, DOUBTS) => Intent::Perhaps,
            found => found,
        }
    }
}

/// Whether one of the last two sentences announces. What comes behind an announcement may be what it announces.
fn announced(last: &[&str]) -> Intent {
    let of_last = last.last().map_or(Intent::None, |sentence| announces(sentence));
    let &[before, sentence] = last else { return of_last };
    match (announces(before), of_last) {
        (Intent::None, of_last) => of_last,
        (_, Intent::Sure) => Intent::Sure,
        (Intent::Sure, _) if starts(sentence, FOLLOWERS) => Intent::Sure,
        _ => Intent::Perhaps,
    }
}

/// The sentences and lines of a text.
fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        let after = at + c.len_utf8();
        let ends = matches!(c, '\n' | '。' | '！' | '？' | '；' | ';')
            || matches!(c, '.' | '!' | '?') && text[after..].starts_with(char::is_whitespace);
        if ends {
            sentences.push(text[start..after].trim());
            start = after;
        }
    }
    sentences.push(text[start..].trim());
    sentences.retain(|sentence| sentence.chars().any(char::is_alphanumeric));
    sentences
}

fn announces(sentence: &str) -> Intent {
    let edge = |c: char| c.is_whitespace() || matches!(c, ',' | '，' | '、' | '!' | '-' | '–' | '—' | ':' | '：' | '.' | '•');
    let mut rest = sentence.trim_start_matches(edge);
    loop {
        let found = begins(rest, sentence);
        if found != Intent::None {
            return found;
        }
        let Some(after) = after_longest(rest, LEADS) else { return Intent::None };
        rest = after.trim_start_matches(edge);
    }
}

/// Whether the rest of a sentence begins with an announcement.
fn begins(text: &str, sentence: &str) -> Intent {
    let deed = after_longest(text, ABOUT_TO).is_some_and(|rest| {
        let rest = rest.trim_start();
        let rest = ["now ", "next ", "first ", "then ", "also ", "just ", "quickly ", "immediately "]
            .iter()
            .find_map(|word| rest.strip_prefix(word))
            .unwrap_or(rest);
        starts(rest, DEEDS)
    });
    if starts(text, TOGETHER) {
        return Intent::Perhaps;
    }
    let doubtful = tells_more(text) || is_done_zh(text);
    if deed || starts(text, UNDER_WAY) || starts(text, UNDER_WAY_ZH) {
        let sure = !doubtful && (!deed || has(sentence, NOW));
        return if sure { Intent::Sure } else { Intent::Perhaps };
    }
    let Some(mut rest) = after_longest(text, ABOUT_TO_ZH) else { return Intent::None };
    let begun = text[..text.len() - rest.len()].ends_with("开始") || text[..text.len() - rest.len()].ends_with("继续");
    while let Some(after) = after_longest(rest.trim_start(), LEADS_ZH) {
        rest = after;
    }
    let of_deed = after_longest(rest.trim_start(), DEEDS_ZH).map(|after| !after.starts_with('的'));
    let alone = begun && !rest.chars().any(char::is_alphanumeric);
    let sure = (of_deed == Some(true) || alone) && !doubtful && has(sentence, NOW_ZH);
    if sure { Intent::Sure } else { Intent::Perhaps }
}

/// Whether something stands behind a colon, a dash or a comma that does not go on with the plan: that may be what was announced.
fn tells_more(sentence: &str) -> bool {
    let told = |rest: &str| rest.chars().any(char::is_alphanumeric);
    let breaks = [":", "：", "—", " – ", " - "].into_iter().flat_map(|mark| sentence.match_indices(mark));
    let commas = [", ", "，"].into_iter().flat_map(|mark| sentence.match_indices(mark));
    let behind = |(at, mark): (usize, &str)| sentence[at + mark.len()..].trim_start().to_owned();
    breaks.map(behind).any(|rest| told(&rest)) || commas.map(behind).any(|rest| told(&rest) && !starts(&rest, GOES_ON))
}

/// Whether a Chinese sentence tells of something that was done.
fn is_done_zh(sentence: &str) -> bool {
    without(sentence, NOT_DONE_ZH).contains(['了', '过'])
}

fn starts(text: &str, phrases: &str) -> bool {
    after_longest(text, phrases).is_some()
}

/// What follows the longest of the phrases that a text begins with.
fn after_longest<'a>(text: &'a str, phrases: &str) -> Option<&'a str> {
    let fitting = phrases.split('|').filter(|phrase| text.starts_with(phrase) && is_whole(text, 0, phrase));
    fitting.max_by_key(|phrase| phrase.len()).map(|phrase| &text[phrase.len()..])
}

#[cfg(test)]
#[path = "phrases_tests.rs"]
mod tests;
