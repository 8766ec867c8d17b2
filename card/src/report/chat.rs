//! Stories for a chat: short, plain, and safe to send.
//!
//! Values stand in one line each and cannot end it; commands, IDs and paths are code, as chats
//! write it, so that no underscore turns into italics and they can be copied. A message has a
//! limit: what needs a person comes first, and what does not fit is counted.

use std::path::Path;

use shared::text::{clean, clean_exact, cut};

use super::language::Words;
use super::story::{Kind, Story};

/// Tasks in one message.
const TASKS_MAX: usize = 20;
/// Characters of one message, about: the first task is told whatever its length.
const CHARACTERS_MAX: usize = 3500;
/// Columns of a title, and of what else a task or a program says in its own words.
const TITLE_COLUMNS_MAX: usize = 60;
const WORDS_COLUMNS_MAX: usize = 160;

/// The message; empty when there are no stories.
pub(crate) fn print(stories: &[Story], words: &dyn Words, programs: Option<&Path>, is_plain: bool) -> String {
    let code = |text: &str| if is_plain { clean_exact(text) } else { code(text) };
    let mut text = String::new();
    let mut heading = None;
    let mut told = 0;
    let mut has_command = false;
    for story in stories.iter().take(TASKS_MAX) {
        let mut piece = String::new();
        if heading != Some(story.kind) {
            let mark = if is_plain { String::new() } else { format!("{} ", mark(story.kind)) };
            piece += &format!("{mark}{}{}\n", words.heading(story.kind), words.colon().trim_end());
        }
        piece += &entry(story, words, &code);
        if told > 0 && text.chars().count() + piece.chars().count() > CHARACTERS_MAX {
            break;
        }
        text += &piece;
        heading = Some(story.kind);
        told += 1;
        has_command |= !story.next.is_empty();
    }
    if told < stories.len() {
        text += &format!("{}\n", words.more(stories.len() - told));
    }
    match programs {
        Some(folder) if has_command => text + &words.programs(&code(&folder.to_string_lossy())) + "\n",
        _ => text,
    }
}

fn entry(story: &Story, words: &dyn Words, code: &dyn Fn(&str) -> String) -> String {
    let title = cut(&plain(&story.title), TITLE_COLUMNS_MAX);
    let task = words.task(&title, &code(&cut(&story.task, WORDS_COLUMNS_MAX)));
    let detail = cut(&plain(&story.detail), WORDS_COLUMNS_MAX);
    let what = words.join(&[cut(&plain(&story.what), 2 * WORDS_COLUMNS_MAX), detail, story.then.clone()]);
    let mut text = format!("- {task}{}{what}\n", words.colon());
    for (label, exact) in
        [(words.log(), &story.log), (words.command(), &story.next)].into_iter().filter(|(_, text)| !text.is_empty())
    {
        text += &format!("  {label}{}\n", code(exact));
    }
    text
}

/// A value in a sentence. It opens and closes no code, calls nobody (`@everyone`, `<!channel>`) and hides no address behind a
/// word (`[word](address)`): what is between the signs is seen by programs only.
fn plain(text: &str) -> String {
    let text = clean(text).trim().replace('`', "'");
    text.replace('@', "@\u{2060}").replace('<', "<\u{2060}").replace("](", "]\u{2060}(")
}

/// What is to be copied.
fn code(text: &str) -> String {
    let text = clean_exact(text);
    if text.contains('`') { text } else { format!("`{text}`") }
}

fn mark(kind: Kind) -> &'static str {
    match kind {
        Kind::Person => "⚠️",
        Kind::Failed | Kind::Trouble => "❌",
        Kind::Silent => "💤",
        Kind::Recovered => "🔄",
        Kind::Finished => "✅",
        Kind::Started | Kind::Ready => "▶️",
        Kind::Other => "ℹ️",
    }
}
