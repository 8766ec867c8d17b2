//! stderr is talk: one line each, beginning with the program's name. Its failures are nobody's.

use std::io::{self, Write};
use std::path::Path;
use std::sync::OnceLock;

use crate::text::{clean, cut_middle};

/// Columns of what is said: what somebody put into a value, or into a name, may be of any length.
const COLUMNS_MAX: usize = 1000;

struct Program {
    name: String,
    /// What the name has before the program's own.
    prefix: String,
}

static PROGRAM: OnceLock<Program> = OnceLock::new();

/// Sets the name that lines begin with, once: the one that the program was called by, else its own.
pub fn set_program(own: &'static str) {
    PROGRAM.get_or_init(|| {
        let called = std::env::args_os().next();
        let called = called.as_deref().and_then(|called| Path::new(called).file_name()?.to_str());
        let name = called.filter(|called| is_name_of(own, called)).unwrap_or(own);
        Program { name: name.to_owned(), prefix: name.strip_suffix(own).unwrap_or_default().to_owned() }
    });
}

/// The program's name.
#[must_use]
pub fn program() -> &'static str {
    PROGRAM.get().map_or("", |program| program.name.as_str())
}

/// How one of our programs is called by whoever called this one: `task-card` for `card` beside `task-watch`.
#[must_use]
pub fn command(own: &str) -> String {
    format!("{}{own}", PROGRAM.get().map_or("", |program| program.prefix.as_str()))
}

/// A program's help, with the programs in its commands called as this one was: `task-card create` by `task-card`.
///
/// A command is what a line of at most eight spaces begins with, or one that begins with `usage:`, and what stands in a pipe or
/// in quotes.
#[must_use]
pub fn help(text: &str) -> String {
    prefixed(text, PROGRAM.get().map_or("", |program| program.prefix.as_str()))
}

/// Whether this is a program's own name, perhaps after a prefix. Whoever starts a program can give it any name at all.
fn is_name_of(own: &str, called: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    called.strip_suffix(own).is_some_and(|prefix| prefix.len() <= 64 && !prefix.starts_with('-') && prefix.chars().all(plain))
}

fn prefixed(text: &str, prefix: &str) -> String {
    let line = |line: &str| match prefix {
        "" => line.to_owned(),
        _ => prefixed_line(line, prefix),
    };
    text.split_inclusive('\n').map(line).collect()
}

/// Every word of the line that is a program and begins a command.
fn prefixed_line(line: &str, prefix: &str) -> String {
    const PROGRAMS: [&str; 5] = ["card", "checkpoint", "watch", "resume", "heartbeat-install"];
    let mut done = String::new();
    for word in line.split_inclusive(' ') {
        let before = done.trim_start_matches("usage:");
        let begins_line = before.len() <= 8 && before.trim().is_empty() && (before.len() >= 2 || done.starts_with("usage:"));
        let bare = word.trim_start_matches('"');
        let name = bare.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        if PROGRAMS.contains(&name) && (begins_line || bare.len() < word.len() || done.ends_with("| ")) {
            done += &word[..word.len() - bare.len()];
            done += prefix;
            done += bare;
        } else {
            done += word;
        }
    }
    done
}

/// Says something to the person: one line on stderr, in one write, so that lines of several processes do not mix. The middle of
/// a very long one is left out: what is wrong stands at its begin or at its end.
pub fn say(text: &str) {
    let line = format!("{}: {}\n", program(), cut_middle(&clean(text), COLUMNS_MAX));
    // Whoever closed stderr does not want to hear it.
    drop(io::stderr().write_all(line.as_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_own_one_after_a_prefix() {
        for called in ["watch", "task-watch", "t.watch"] {
            assert!(is_name_of("watch", called), "{called}");
        }
        for called in ["", "-watch", "watch2", "card", "a b watch", "a\nwatch", "报告watch"] {
            assert!(!is_name_of("watch", called), "{called}");
        }
    }

    #[test]
    fn commands_in_a_help_get_the_prefix_and_words_do_not() {
        for (line, expected) in [
            ("usage: watch | resume [OPTION]…\n", "usage: task-watch | task-resume [OPTION]…\n"),
            ("       resume ID…\n", "       task-resume ID…\n"),
            ("  card create [ID]\n", "  task-card create [ID]\n"),
            ("as in \"watch | resume | card report -\", and\n", "as in \"task-watch | task-resume | task-card report -\", and\n"),
            ("All options of \"card update\" that\n", "All options of \"task-card update\" that\n"),
            ("card folder, else OPENCLAW_WORKSPACE\n", "card folder, else OPENCLAW_WORKSPACE\n"),
            ("  --task-id ID           a card\n", "  --task-id ID           a card\n"),
            ("                         card folder\n", "                         card folder\n"),
            ("lines of watch, cards, or IDs\n", "lines of watch, cards, or IDs\n"),
        ] {
            assert_eq!(prefixed(line, "task-"), expected);
            assert_eq!(prefixed(line, ""), line);
        }
    }
}
