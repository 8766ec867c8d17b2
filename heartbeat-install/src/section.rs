//! Our text in a file that belongs to others: put in, refreshed in place, taken out without a trace. Pure.
//!
//! Two forms. A *section* stands between two marks, which are HTML comments; everything between them is ours. An *entry*
//! is ours in a `tasks:` block of a heartbeat text, known by its name: OpenClaw reads no prose when such a block exists and
//! nothing in it is due, and a comment would end the block (`tasks_block.rs`).
//!
//! What taking out needs and the text does not tell is in a `Record`, written down before the text is changed: what was put
//! in front of ours to set it off, and what ours took the place of. Without a record only ours is taken out.

use serde::{Deserialize, Serialize};

use crate::tasks_block;

const BEGIN: &str = "<!-- task-recovery:begin";
const END: &str = "<!-- task-recovery:end";
/// The Python predecessor's sections, which ours takes the place of.
const PREDECESSORS: [&str; 2] = ["## Task Runtime Recovery Check", "## Task Recovery Check"];

/// How our text came into a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// There was no file, or no text.
    #[serde(default)]
    pub(crate) made: bool,
    /// What was put in front of ours.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) lead: String,
    /// What ours took the place of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) replaced: Option<String>,
    /// What was put between our marks, and before the last update.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) placed: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) was: String,
}

/// Our text in both forms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ours {
    /// Markdown that begins with a heading; lines end with `\n`.
    pub(crate) section: String,
    /// Of a heartbeat's text: the interval and the prompt of an entry, if a `tasks:` block is to hold it instead.
    pub(crate) entry: Option<(String, String)>,
}

/// A part of a text in bytes.
type Range = std::ops::Range<usize>;

/// The text with ours in it, and how it came there. `record` is that of the last time.
///
/// # Errors
/// A sentence, when a mark lacks the other one.
pub(crate) fn put(was: Option<&str>, ours: &Ours, record: Option<&Record>) -> Result<(String, Record), String> {
    let (text, mut now) = put_text(was, ours, record)?;
    if now.placed != ours.section {
        now.was = std::mem::replace(&mut now.placed, ours.section.clone());
    }
    Ok((text, now))
}

/// What others wrote between our marks, which goes with ours: a sentence that holds it. An older record does not tell what was ours.
pub(crate) fn lost(text: &str, record: &Record) -> Option<String> {
    let range = find(text).ok()?.filter(|_| !record.placed.is_empty())?;
    let ours = |line: &str| record.placed.lines().chain(record.was.lines()).any(|own| own.trim() == line) || line.is_empty();
    let inner = text[range].lines().map(str::trim).filter(|line| !line.starts_with(BEGIN) && !line.starts_with(END));
    let foreign: Vec<String> = inner.filter(|line| !ours(line)).map(|line| format!("{line:?}")).collect();
    (!foreign.is_empty())
        .then(|| format!("what someone wrote between our marks is taken out: {}; write it outside of them", foreign.join(", ")))
}

fn put_text(was: Option<&str>, ours: &Ours, record: Option<&Record>) -> Result<(String, Record), String> {
    let old = was.unwrap_or_default();
    let eol = if old.contains("\r\n") { "\r\n" } else { "\n" };
    let entry = ours.entry.as_ref().filter(|_| tasks_block::find(old).is_some_and(|block| !block.entries.is_empty()));
    let wanted = match entry {
        Some((interval, prompt)) => tasks_block::render(old, interval, prompt, eol),
        None => render(&ours.section, eol),
    };
    let (section, own_entry) = (find(old)?, tasks_block::find_ours(old));
    match (section, own_entry) {
        (Some(range), None) if entry.is_none() => Ok(refresh(old, range, &wanted, record)),
        (None, Some(range)) if entry.is_some() => Ok(refresh(old, range, &wanted, record)),
        // In the other form, or in both: anew.
        (Some(_), _) | (_, Some(_)) => put_text(take(old, record)?.as_deref(), ours, None),
        (None, None) => {
            if let Some(block) = entry.and_then(|_| tasks_block::find(old)) {
                let at = block.end;
                let lead = if old[..at].ends_with('\n') { "" } else { eol };
                return Ok(insert(old, at, lead, &wanted));
            }
            if let Some(range) = ours.entry.as_ref().and_then(|_| find_predecessor(old)) {
                let whole = old[range.clone()].ends_with('\n');
                let wanted = if whole { wanted.as_str() } else { wanted.trim_end_matches(['\r', '\n']) };
                let record = Record { replaced: Some(old[range.clone()].to_owned()), ..Record::default() };
                return Ok(([&old[..range.start], wanted, &old[range.end..]].concat(), record));
            }
            let lead = match old {
                "" => String::new(),
                _ if old.ends_with("\n\n") || old.ends_with("\n\r\n") || old.trim().is_empty() => String::new(),
                _ if old.ends_with('\n') => eol.to_owned(),
                _ => format!("{eol}{eol}"),
            };
            let (text, record) = insert(old, old.len(), &lead, &wanted);
            Ok((text, Record { made: was.is_none(), ..record }))
        }
    }
}

/// The text without ours; `None` when nothing is left of a text that was made for ours.
///
/// # Errors
/// As `put`.
pub(crate) fn take(text: &str, record: Option<&Record>) -> Result<Option<String>, String> {
    let (mut left, mut record) = (text.to_owned(), record.cloned().unwrap_or_default());
    while let Some(range) = find(&left)?.or_else(|| tasks_block::find_ours(&left)) {
        let lead = if left[..range.start].ends_with(&record.lead) { record.lead.len() } else { 0 };
        let (before, after) = (&left[..range.start - lead], &left[range.end..]);
        let back = record.replaced.take().unwrap_or_default();
        // Two lines of others do not become one.
        let glue = if !before.is_empty() && !before.ends_with('\n') && back.is_empty() && !after.is_empty() { "\n" } else { "" };
        left = [before, &back, glue, after].concat();
        record.lead.clear();
    }
    Ok(if record.made && left.is_empty() { None } else { Some(left) })
}

/// Whether a text has ours in it, whole or not.
pub(crate) fn is_in(text: &str) -> bool {
    text.contains(BEGIN) || tasks_block::find_ours(text).is_some()
}

fn refresh(old: &str, range: Range, wanted: &str, record: Option<&Record>) -> (String, Record) {
    let whole = old[range.clone()].ends_with('\n');
    let wanted = if whole { wanted } else { wanted.trim_end_matches(['\r', '\n']) };
    ([&old[..range.start], wanted, &old[range.end..]].concat(), record.cloned().unwrap_or_default())
}

fn insert(old: &str, at: usize, lead: &str, wanted: &str) -> (String, Record) {
    let text = [&old[..at], lead, wanted, &old[at..]].concat();
    (text, Record { lead: lead.to_owned(), ..Record::default() })
}

fn render(section: &str, eol: &str) -> String {
    let text = format!("{BEGIN} (made by heartbeat-install, which refreshes and removes it) -->\n{section}{END} -->\n");
    if eol == "\n" { text } else { text.replace('\n', eol) }
}

/// Our section, marks included.
fn find(text: &str) -> Result<Option<Range>, String> {
    let mut begin = None;
    for (number, (range, line)) in (1..).zip(lines(text)) {
        let line = line.trim_start();
        if line.starts_with(BEGIN) {
            begin = begin.or(Some((range.start, number)));
        } else if line.starts_with(END) {
            return match begin {
                Some((begin, _)) => Ok(Some(begin..range.end)),
                None => Err(format!(
                    "line {number} is the mark task-recovery:end, without its begin before it; remove that line, with what is left of \
                     our text above it, and run this again"
                )),
            };
        }
    }
    match begin {
        Some((_, number)) => Err(format!(
            "line {number} is the mark task-recovery:begin, without its end ({END} -->) after it; put that line back where our text \
             ends, or remove our text with its mark, and run this again"
        )),
        None => Ok(None),
    }
}

/// The predecessor's section: to the next heading of its level or above, a `tasks:` block or the end; without the blank
/// lines that set the next one off. A `#` in a code fence is no heading.
fn find_predecessor(text: &str) -> Option<Range> {
    let mut found: Option<Range> = None;
    let mut fenced = false;
    for (range, line) in lines(text) {
        let line = line.trim_end();
        match &mut found {
            None if !fenced && PREDECESSORS.contains(&line) => found = Some(range),
            None => {}
            Some(_) if !fenced && (line.starts_with("# ") || line.starts_with("## ") || line == "tasks:") => break,
            Some(section) if !line.is_empty() => section.end = range.end,
            Some(_) => {}
        }
        fenced ^= line.trim_start().starts_with("```");
    }
    found
}

/// The lines with where they are; a range includes the line's end.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (Range, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        (start..at, line.trim_end_matches(['\r', '\n']))
    })
}
