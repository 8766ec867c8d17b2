//! Text as a terminal shows it: made harmless, measured in columns, cut.
//!
//! A Chinese character takes two columns, an accent none. What is measured and cut is a *cluster*:
//! a character with everything that is shown in the same place, so that no accent moves to a
//! neighbour and no joined emoji falls apart.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Stands for a character that a terminal would obey instead of showing it.
const REPLACEMENT: char = '\u{fffd}';

/// A value in a sentence: line ends and tabs are spaces, and nothing in it can command the terminal.
#[must_use]
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if is_line_space(c) { ' ' } else { harmless(c) }).collect()
}

/// A value that is to be copied: nothing in it can command the terminal, and nothing turns into something else that looks well.
#[must_use]
pub fn clean_exact(text: &str) -> String {
    text.chars().map(harmless).collect()
}

fn is_line_space(c: char) -> bool {
    matches!(c, '\t'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn harmless(c: char) -> char {
    // What turns the direction of writing would show the rest of the line in another order.
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if c.is_control() || turns || matches!(c, '\u{2028}' | '\u{2029}') { REPLACEMENT } else { c }
}

/// The columns that a text takes. Letters that only some terminals join, as Arabic ones, count for the others.
#[must_use]
pub fn width(text: &str) -> usize {
    clusters(text).map(UnicodeWidthStr::width).sum()
}

/// A text in at most so many columns, with `…` where its end was cut off.
#[must_use]
pub fn cut(text: &str, columns: usize) -> String {
    let mut used = 0;
    let mut kept = String::new();
    let mut clusters = clusters(text);
    while let Some(cluster) = clusters.next() {
        let fits = used + width(cluster) <= columns.saturating_sub(1);
        let is_last_that_fits = || used + width(cluster) <= columns && clusters.clone().next().is_none();
        if !fits && !is_last_that_fits() {
            if columns > 0 {
                kept.push('…');
            }
            break;
        }
        used += width(cluster);
        kept += cluster;
    }
    kept
}

/// A text in at most so many columns, with `…` where its middle was cut out: names often differ in their ends.
#[must_use]
pub fn cut_middle(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    if columns < 3 {
        return cut(text, columns);
    }
    let start = cut(text, columns.div_ceil(2));
    let room = columns - width(&start);
    let parts: Vec<&str> = clusters(text).collect();
    let mut used = 0;
    let fitting = parts.iter().rev().take_while(|cluster| {
        used += width(cluster);
        used <= room
    });
    let count = fitting.count();
    start + &parts[parts.len() - count..].concat()
}

/// A text filled up with spaces to so many columns.
#[must_use]
pub fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// The parts of a text that stay together.
pub(crate) fn clusters(text: &str) -> impl Iterator<Item = &str> + Clone {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut chars = rest.char_indices();
        let (_, first) = chars.next()?;
        let mut previous = first;
        let end = chars.find(|(_, c)| {
            let joined = belongs_to(previous, *c);
            previous = *c;
            !joined
        });
        let (cluster, after) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
        rest = after;
        Some(cluster)
    })
}

/// Whether a character is shown in the place of the one before it.
fn belongs_to(previous: char, c: char) -> bool {
    const JOINER: char = '\u{200d}';
    let skin_tone = matches!(c, '\u{1f3fb}'..='\u{1f3ff}');
    previous == JOINER || skin_tone || c.width().unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_commands_the_terminal() {
        assert_eq!(clean("a\x1b[31mred\x07\x7f\u{9b}2J\u{202e}x"), "a\u{fffd}[31mred\u{fffd}\u{fffd}\u{fffd}2J\u{fffd}x");
        assert_eq!(clean("one\ntwo\tthree\r\u{2028}four"), "one two three  four");
        assert_eq!(clean_exact("ls 'a\nb'"), "ls 'a\u{fffd}b'");
        assert_eq!(clean("报告 é 👩‍🔧"), "报告 é 👩‍🔧");
        for text in ["", "\0", "\u{85}", "\u{1b}]0;title\u{7}"] {
            assert!(!clean(text).chars().any(char::is_control) && !clean_exact(text).chars().any(char::is_control));
        }
    }

    #[test]
    fn columns_are_counted_not_characters() {
        assert_eq!([width("abc"), width("报告"), width("e\u{301}"), width("👩‍🔧"), width("لا"), width("")], [3, 4, 1, 2, 2, 0]);
        assert_eq!(pad("报告", 6), "报告  ");
        assert_eq!(pad("long", 2), "long");
    }

    #[test]
    fn a_cut_text_has_its_mark_and_fits() {
        for (text, columns, expected) in [
            ("report", 6, "report"),
            ("report", 5, "repo…"),
            ("report", 1, "…"),
            ("report", 0, ""),
            ("人工智能", 8, "人工智能"),
            ("人工智能", 7, "人工智…"),
            ("人工智能", 6, "人工…"),
            ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"),
            ("", 3, ""),
        ] {
            let cut = cut(text, columns);
            assert_eq!(cut, expected, "{text} in {columns}");
            assert!(width(&cut) <= columns);
        }
    }

    #[test]
    fn a_name_keeps_both_ends() {
        assert_eq!(cut_middle("report-20261130T010000Z", 13), "report…10000Z");
        assert_eq!(cut_middle("报告报告报告", 7), "报…报告");
        assert_eq!(cut_middle("short", 5), "short");
        assert_eq!(cut_middle("short", 2), "s…");
        for columns in 0..30 {
            assert!(width(&cut_middle("report-人工智能-20261130T010000Z", columns)) <= columns, "{columns}");
        }
    }

    #[test]
    fn what_is_shown_in_one_place_stays_together() {
        let parts: Vec<&str> = clusters("ae\u{301}👩‍🔧👍🏽报").collect();
        assert_eq!(parts, ["a", "e\u{301}", "👩‍🔧", "👍🏽", "报"]);
        assert_eq!(clusters("").count(), 0);
    }
}
