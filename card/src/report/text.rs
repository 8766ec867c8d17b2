//! Stories as a text, all of them: for a terminal, a mail or a file.

use shared::prose::{Prose, print_whole};
use shared::screen::{Screen, Style};
use shared::text::clean;

use super::language::Words;
use super::story::{Kind, Story};

const INDENT: usize = 4;

/// The text; empty when there are no stories.
pub(crate) fn print(stories: &[Story], words: &dyn Words, screen: &Screen) -> String {
    let mut text = String::new();
    let mut heading = None;
    for story in stories {
        if heading != Some(story.kind) {
            heading = Some(story.kind);
            let count = stories.iter().filter(|other| other.kind == story.kind).count();
            text += &screen.paint(style(story.kind), words.heading(story.kind));
            text += &format!(" · {count}\n");
        }
        text += &entry(story, words, screen);
    }
    text
}

fn entry(story: &Story, words: &dyn Words, screen: &Screen) -> String {
    let task = words.task(clean(&story.title).trim(), &story.task);
    let said = words.join(&[story.what.clone(), story.detail.clone(), story.then.clone()]);
    let head = Prose::default().styled(Style::Strong, &task).plain(words.colon()).plain(&said);
    let mut text = head.print(screen, (Style::Plain, "  "), INDENT);
    for (label, exact) in
        [(words.log(), &story.log), (words.command(), &story.next)].into_iter().filter(|(_, text)| !text.is_empty())
    {
        text += &print_whole(screen, (Style::Faint, &format!("{}{label}", " ".repeat(INDENT))), exact);
    }
    text
}

fn style(kind: Kind) -> Style {
    match kind {
        Kind::Person => Style::Alarm,
        Kind::Failed | Kind::Trouble | Kind::Silent => Style::Warning,
        Kind::Recovered | Kind::Finished => Style::Good,
        Kind::Started | Kind::Ready => Style::Active,
        Kind::Other => Style::Faint,
    }
}
