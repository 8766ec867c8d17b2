//! Paragraphs: styled text that is wrapped between words, and where Chinese allows it.
//!
//! A piece that is *whole* (a command, a path) can be copied: it is never broken. One that is
//! wider than the screen stands on a line of its own.

use crate::screen::{Screen, Style};
use crate::text::{clean, clean_exact, clusters, width};

/// Where a command stands that does not fit beside its label.
const COMMAND_INDENT: usize = 4;

/// A text in the making. Values are made harmless as they come in.
#[derive(Clone, Debug, Default)]
pub struct Prose {
    spans: Vec<Span>,
}

#[derive(Clone, Debug)]
struct Span {
    style: Style,
    text: String,
    whole: bool,
}

/// One line: pieces with their styles.
#[derive(Debug, Default)]
struct Row {
    pieces: Vec<(Style, String)>,
    width: usize,
}

/// What no line ends within.
#[derive(Debug, Default)]
struct Word {
    after_space: bool,
    row: Row,
    whole: bool,
}

impl Prose {
    /// With this text.
    #[must_use]
    pub fn plain(self, text: &str) -> Self {
        self.styled(Style::Plain, text)
    }

    /// With this text, in this style.
    #[must_use]
    pub fn styled(mut self, style: Style, text: &str) -> Self {
        self.spans.push(Span { style, text: clean(text), whole: false });
        self
    }

    /// With this text, never to be broken.
    #[must_use]
    pub fn whole(mut self, style: Style, text: &str) -> Self {
        self.spans.push(Span { style, text: clean_exact(text), whole: true });
        self
    }

    /// With a dot between what is there and what comes.
    #[must_use]
    pub fn and(self) -> Self {
        if self.is_empty() { self } else { self.plain(" · ") }
    }

    /// Whether there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// On a screen: after `head`, and after `indent` spaces on each further line.
    #[must_use]
    pub fn print(&self, screen: &Screen, (style, head): (Style, &str), indent: usize) -> String {
        let words = self.words();
        let first_room = screen.room(width(head));
        let is_alone = words.first().is_some_and(|word| word.whole && word.row.width > first_room) && !head.trim().is_empty();
        let mut rows = if is_alone { vec![Row::default()] } else { Vec::new() };
        rows.extend(wrap(words, if is_alone { screen.room(indent) } else { first_room }, screen.room(indent)));
        let mut text = screen.paint(style, if is_alone { head.trim_end() } else { head });
        for (index, row) in rows.iter().enumerate() {
            if index > 0 {
                text += &" ".repeat(indent);
            }
            row.pieces.iter().for_each(|(style, piece)| text += &screen.paint(*style, piece));
            text.push('\n');
        }
        if rows.is_empty() {
            text.push('\n');
        }
        text
    }

    /// Whether it is one line of at most so many columns.
    #[must_use]
    pub fn fits(&self, room: usize) -> bool {
        self.words().iter().map(|word| word.row.width + usize::from(word.after_space)).sum::<usize>() <= room
    }

    fn words(&self) -> Vec<Word> {
        let mut words: Vec<Word> = Vec::new();
        // Whether the next cluster begins a word, and if so whether after a space.
        let mut begin = Some(false);
        let mut previous = "";
        for span in &self.spans {
            let parts: Box<dyn Iterator<Item = &str>> =
                if span.whole { Box::new(std::iter::once(span.text.as_str())) } else { Box::new(clusters(&span.text)) };
            for part in parts.filter(|part| !part.is_empty()) {
                if part == " " {
                    begin = Some(!words.is_empty());
                    continue;
                }
                // A dot between two things ends a line rather than beginning one.
                if let (true, Some(true), Some(last)) = (part == "·", begin, words.last_mut()) {
                    last.row.push(span.style, " ·");
                    begin = None;
                    continue;
                }
                let breakable = words.last().is_some_and(|word| !word.whole) && !span.whole;
                if begin.is_none() && breakable && may_break(previous, part) {
                    begin = Some(false);
                }
                if let Some(after_space) = begin.take() {
                    words.push(Word { after_space, ..Word::default() });
                }
                if let Some(word) = words.last_mut() {
                    // A path can be copied, too.
                    word.whole |= span.whole || (part == "/" && word.row.width == 0);
                    word.row.push(span.style, part);
                }
                previous = part;
            }
        }
        join_units(words)
    }
}

/// No line ends between a number and the unit of its time.
fn join_units(words: Vec<Word>) -> Vec<Word> {
    let mut joined: Vec<Word> = Vec::new();
    for word in words {
        let is_unit = matches!(word.text().trim_end_matches([' ', '·', ',', ';', ':', '.']), "s" | "min" | "h" | "d");
        match joined.last_mut() {
            Some(last) if is_unit && word.after_space && last.text().ends_with(|c: char| c.is_ascii_digit()) => {
                last.row.append(&word);
            }
            _ => joined.push(word),
        }
    }
    joined
}

/// A command or path after its label; on a line of its own when it does not fit there.
#[must_use]
pub fn print_whole(screen: &Screen, (style, label): (Style, &str), text: &str) -> String {
    let text = clean_exact(text);
    let painted = screen.paint(Style::Strong, &text);
    if width(label) + width(&text) <= screen.room(0) {
        return format!("{}{painted}\n", screen.paint(style, label));
    }
    let label = label.trim_end();
    let above = if label.is_empty() { String::new() } else { screen.paint(style, label) + "\n" };
    format!("{above}{}{painted}\n", " ".repeat(COMMAND_INDENT))
}

impl Word {
    fn text(&self) -> &str {
        self.row.pieces.last().map_or("", |(_, piece)| piece)
    }
}

impl Row {
    fn push(&mut self, style: Style, text: &str) {
        self.width += width(text);
        match self.pieces.last_mut() {
            Some((last, piece)) if *last == style => *piece += text,
            _ => self.pieces.push((style, text.to_owned())),
        }
    }

    fn append(&mut self, word: &Word) {
        if word.after_space && self.width > 0 {
            let style = match (self.pieces.last(), word.row.pieces.first()) {
                (Some((before, _)), Some((after, _))) if before == after => *after,
                _ => Style::Plain,
            };
            self.push(style, " ");
        }
        word.row.pieces.iter().for_each(|(style, piece)| self.push(*style, piece));
    }
}

fn wrap(words: Vec<Word>, first_room: usize, room: usize) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut row = Row::default();
    let room_of = |rows: &Vec<Row>| if rows.is_empty() { first_room } else { room };
    for word in words {
        let space = usize::from(word.after_space && row.width > 0);
        if row.width > 0 && (row.width + space).saturating_add(word.row.width) > room_of(&rows) {
            rows.push(std::mem::take(&mut row));
        }
        if word.whole || word.row.width <= room_of(&rows) {
            row.append(&word);
            continue;
        }
        for (style, piece) in &word.row.pieces {
            for part in clusters(piece) {
                if row.width > 0 && row.width + width(part) > room_of(&rows) {
                    rows.push(std::mem::take(&mut row));
                }
                row.push(*style, part);
            }
        }
    }
    if row.width > 0 {
        rows.push(row);
    }
    rows
}

/// Whether a line may end between two clusters that no space separates.
fn may_break(before: &str, after: &str) -> bool {
    const OPENING: &str = "（「『【《〈“‘([{";
    const CLOSING: &str = "），。！？；：、」』】》〉”’…,.!?;:)]}%";
    let wide = |cluster: &str| width(cluster) == 2;
    (wide(before) || wide(after)) && !OPENING.contains(before) && !CLOSING.contains(after)
}

#[cfg(test)]
#[path = "prose_tests.rs"]
mod tests;
