//! The `tasks:` block of a heartbeat text, as OpenClaw reads it: a line `tasks:`, then entries `- name:` with indented
//! `interval:` and `prompt:`. The first other line that is not blank ends it.

use crate::section::lines;

/// The name of our entry.
const NAME: &str = "task-recovery";

/// A block.
#[derive(Debug, Default)]
pub(crate) struct Block<'a> {
    pub(crate) entries: Vec<Entry<'a>>,
    /// Behind the last line of the last entry.
    pub(crate) end: usize,
}

/// An entry of a block.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    name: &'a str,
    indent: &'a str,
    range: std::ops::Range<usize>,
}

/// The first block of a text.
pub(crate) fn find(text: &str) -> Option<Block<'_>> {
    let mut block: Option<Block<'_>> = None;
    for (range, line) in lines(text) {
        let trimmed = line.trim();
        let Some(block) = &mut block else {
            if trimmed == "tasks:" {
                block = Some(Block { entries: Vec::new(), end: range.end });
            }
            continue;
        };
        let indent = &line[..line.len() - line.trim_start().len()];
        if let Some(name) = trimmed.strip_prefix("- name:") {
            block.entries.push(Entry { name: name.trim().trim_matches(['"', '\'']), indent, range: range.clone() });
        } else if trimmed.is_empty() {
            continue;
        } else if !indent.is_empty() && (trimmed.starts_with("interval:") || trimmed.starts_with("prompt:")) {
            let Some(entry) = block.entries.last_mut() else { break };
            entry.range.end = range.end;
        } else {
            break;
        }
        block.end = range.end;
    }
    block
}

/// Where our entry is.
pub(crate) fn find_ours(text: &str) -> Option<std::ops::Range<usize>> {
    find(text)?.entries.into_iter().find(|entry| entry.name == NAME).map(|entry| entry.range)
}

/// Our entry, indented like the others.
pub(crate) fn render(text: &str, interval: &str, prompt: &str, eol: &str) -> String {
    let block = find(text).unwrap_or_default();
    let other = block.entries.iter().find(|entry| entry.name != NAME).or(block.entries.first());
    let indent = other.map_or("", |entry| entry.indent);
    format!("{indent}- name: {NAME}{eol}{indent}  interval: {interval}{eol}{indent}  prompt: \"{prompt}\"{eol}")
}
