//! Who reads a text: how many columns there are, and whether they show colours.
//!
//! Colours are for a terminal only: a file or a pipe never gets an escape sequence.

use std::io::{IsTerminal, stderr, stdout};

use nix::unistd::{getpgrp, tcgetpgrp};
use terminal_size::{Width, terminal_size_of};

/// Less than this is no width that anything could be shown in.
const COLUMNS_MIN: usize = 20;
/// The width of a terminal that does not tell its own.
const COLUMNS_UNKNOWN: usize = 80;

/// Where a text is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Its columns; without them lines may have any length.
    pub columns: Option<usize>,
    /// Whether colours are shown.
    pub coloured: bool,
}

/// How a piece of text looks on a terminal with colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Like any other text.
    #[default]
    Plain,
    /// Emphasised.
    Strong,
    /// Not so important.
    Faint,
    /// Somebody has to look.
    Alarm,
    /// Something is not as it should be.
    Warning,
    /// It is well.
    Good,
    /// It goes on.
    Active,
}

/// What the process was given: the part of its environment that decides.
struct Given<'a> {
    is_terminal: bool,
    terminal_columns: Option<usize>,
    columns: Option<&'a str>,
    no_color: Option<&'a str>,
    term: Option<&'a str>,
}

impl Screen {
    /// This process's stdout.
    #[must_use]
    pub fn of_stdout() -> Self {
        let value = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        let (columns, no_color, term) = (value("COLUMNS"), value("NO_COLOR"), value("TERM"));
        Self::of(&Given {
            is_terminal: stdout().is_terminal(),
            terminal_columns: terminal_size_of(stdout()).map(|(Width(columns), _)| usize::from(columns)),
            columns: columns.as_deref(),
            no_color: no_color.as_deref(),
            term: term.as_deref(),
        })
    }

    /// This process's stderr, if it is a terminal that can move its cursor.
    #[must_use]
    pub fn of_stderr() -> Option<Self> {
        let can_move = std::env::var_os("TERM").is_some_and(|term| term != "dumb" && !term.is_empty());
        let columns = terminal_size_of(stderr()).map_or(COLUMNS_UNKNOWN, |(Width(columns), _)| usize::from(columns));
        (stderr().is_terminal() && can_move).then_some(Self { columns: Some(columns.max(COLUMNS_MIN)), coloured: false })
    }

    /// Whether this process may write to the terminal behind stderr: in the background that could stop it (SIGTTOU).
    #[must_use]
    pub fn is_in_foreground() -> bool {
        tcgetpgrp(stderr()).is_ok_and(|group| group == getpgrp())
    }

    fn of(given: &Given<'_>) -> Self {
        let asked = given.columns.and_then(|text| text.parse().ok()).filter(|columns| *columns >= COLUMNS_MIN);
        let own = given.is_terminal.then(|| given.terminal_columns.unwrap_or(COLUMNS_UNKNOWN).max(COLUMNS_MIN));
        let no_color = given.no_color.is_some_and(|value| !value.is_empty());
        Self { columns: asked.or(own), coloured: given.is_terminal && !no_color && given.term != Some("dumb") }
    }

    /// A text in a style, where colours are shown.
    #[must_use]
    pub fn paint(&self, style: Style, text: &str) -> String {
        let shown = text.trim();
        if !self.coloured || style == Style::Plain || shown.is_empty() {
            return text.to_owned();
        }
        let (before, after) = (text.len() - text.trim_start().len(), text.trim_end().len());
        format!("{}\x1b[{}m{shown}\x1b[0m{}", &text[..before], style.code(), &text[after..])
    }

    /// The columns that are left after an indent; at least one.
    #[must_use]
    pub fn room(&self, indent: usize) -> usize {
        self.columns.map_or(usize::MAX, |columns| columns.saturating_sub(indent).max(1))
    }
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "0",
            Self::Strong => "1",
            Self::Faint => "2",
            Self::Alarm => "1;31",
            Self::Warning => "1;33",
            Self::Good => "1;32",
            Self::Active => "1;36",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMINAL: Given<'_> =
        Given { is_terminal: true, terminal_columns: Some(100), columns: None, no_color: None, term: Some("xterm") };

    #[test]
    fn colours_are_for_a_terminal_that_wants_them() {
        for (name, given, coloured) in [
            ("a terminal", TERMINAL, true),
            ("NO_COLOR", Given { no_color: Some("1"), ..TERMINAL }, false),
            ("an empty NO_COLOR", Given { no_color: Some(""), ..TERMINAL }, true),
            ("a dumb terminal", Given { term: Some("dumb"), ..TERMINAL }, false),
            ("no TERM", Given { term: None, ..TERMINAL }, true),
            ("a pipe", Given { is_terminal: false, terminal_columns: None, ..TERMINAL }, false),
        ] {
            assert_eq!(Screen::of(&given).coloured, coloured, "{name}");
        }
    }

    #[test]
    fn the_width_is_what_was_asked_for_or_the_terminals() {
        let pipe = || Given { is_terminal: false, terminal_columns: None, ..TERMINAL };
        for (name, given, columns) in [
            ("a terminal", TERMINAL, Some(100)),
            ("COLUMNS", Given { columns: Some("60"), ..TERMINAL }, Some(60)),
            ("COLUMNS without a terminal", Given { columns: Some("60"), ..pipe() }, Some(60)),
            ("COLUMNS too small", Given { columns: Some("19"), ..TERMINAL }, Some(100)),
            ("COLUMNS no number", Given { columns: Some("wide"), ..pipe() }, None),
            ("a terminal that does not tell", Given { terminal_columns: None, ..TERMINAL }, Some(80)),
            ("a terminal of nothing", Given { terminal_columns: Some(3), ..TERMINAL }, Some(20)),
            ("a pipe", pipe(), None),
        ] {
            assert_eq!(Screen::of(&given).columns, columns, "{name}");
        }
    }

    #[test]
    fn paint_is_ansi_or_nothing() {
        let screen = Screen { columns: None, coloured: true };
        assert_eq!(screen.paint(Style::Alarm, "x"), "\x1b[1;31mx\x1b[0m");
        assert_eq!([screen.paint(Style::Plain, "x"), screen.paint(Style::Alarm, "  ")], ["x", "  "]);
        assert_eq!(screen.paint(Style::Faint, "  a b "), "  \x1b[2ma b\x1b[0m ");
        assert_eq!(Screen { coloured: false, ..screen }.paint(Style::Alarm, "x"), "x");
        assert_eq!([screen.room(4), Screen { columns: Some(40), ..screen }.room(4)], [usize::MAX, 36]);
        assert_eq!(Screen { columns: Some(20), ..screen }.room(30), 1);
    }
}
