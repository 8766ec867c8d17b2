//! One line in the person's crontab, known by the mark at its end. Other lines are never touched.
//!
//! cron hands the line to the crontab's `SHELL`, with `%` made a line break; what is special to any of them is not in the
//! line: a quote, a backslash or a per cent sign of the path is printed by the line itself.

use shared::exit::{Error, Exit};

use crate::action::Action;
use crate::check::Finding;
use crate::child::Program;
use crate::manifest::Installed;
use crate::section::Record;
use crate::trigger::{Call, Planned, Terms, pass_options};
use crate::world::World;

const LIMIT_SECONDS: u64 = 30;
/// Debian's cron refuses longer commands.
const COMMAND_CHARS_MAX: usize = 990;

/// The crontab as it was read.
#[derive(Clone, Debug)]
pub(crate) struct Crontab {
    program: Program,
    /// None when the person has none.
    pub(crate) text: Option<String>,
}

impl Crontab {
    /// Reads it.
    ///
    /// # Errors
    /// A sentence, when there is no cron here or this person may not use it.
    pub(crate) fn read() -> Result<Self, String> {
        let program = Program::find("crontab", LIMIT_SECONDS, Some(std::path::Path::new("/usr/bin/crontab")));
        let program = program.ok_or("there is no crontab program; install cron")?;
        let answer = program.run(&["-l"], None)?;
        let text = match answer.status {
            Some(0) => Some(answer.stdout),
            _ if answer.stderr.to_lowercase().contains("no crontab") => None,
            _ => return Err(format!("crontab -l: {}", answer.complaint())),
        };
        Ok(Self { program, text })
    }

    /// Makes it this text; nothing = there is none any more.
    pub(crate) fn replace(&self, text: Option<&str>) -> Result<(), Error> {
        let now = Self::read().map_err(Error::io)?;
        if now.text != self.text {
            return Err(Error::new(Exit::Busy, "the crontab was changed by someone else just now; run it again"));
        }
        let args: &[&str] = if text.is_some() { &["-"] } else { &["-r"] };
        let answer = self.program.run(args, text).map_err(Error::io)?;
        if answer.is_ok() { Ok(()) } else { Err(Error::refused(format!("crontab {}: {}", args[0], answer.complaint()))) }
    }
}

pub(crate) fn plan(world: &World, terms: Terms, before: Option<&Installed>) -> Result<Planned, Error> {
    let line = line(world, terms)?;
    let crontab = world.crontab().map_err(|why| {
        Error::new(Exit::Config, format!("cannot use cron: {why}; or run: {}", world.command(&["--trigger", "systemd"])))
    })?;
    let (after, record) = put(crontab.text.as_deref(), &line, &mark(world), before.map(|before| &before.record));
    let mut planned = Planned::new(Installed { every: terms.every, name: mark(world), openclaw: None, record });
    if crontab.text.as_deref() != Some(after.as_str()) {
        planned.actions.push(Action::Call(Call::Crontab { crontab: crontab.clone(), after: Some(after) }));
    }
    Ok(planned)
}

pub(crate) fn take(world: &World, installed: &Installed) -> Result<Vec<Action>, Error> {
    let crontab = world.crontab().map_err(|why| Error::io(format!("cannot remove the line from the crontab: {why}")))?;
    let Some(text) = &crontab.text else { return Ok(Vec::new()) };
    let after = without(text, &installed.name);
    if after == *text {
        return Ok(Vec::new());
    }
    let after = if after.is_empty() && installed.record.made {
        None
    } else if !after.is_empty() && !installed.record.lead.is_empty() && text.ends_with(&format!("{}\n", installed.name)) {
        // The last line had no end.
        Some(after.trim_end_matches('\n').to_owned())
    } else {
        Some(after)
    };
    Ok(vec![Action::Call(Call::Crontab { crontab: crontab.clone(), after })])
}

pub(crate) fn check(world: &World, terms: Terms, installed: &Installed) -> Vec<Finding> {
    let remedy = world.command(&["--trigger", "cron"]);
    let found = |what: String| vec![Finding::new("trigger", what, remedy.clone())];
    let crontab = match world.crontab() {
        Ok(crontab) => crontab,
        Err(why) => return found(format!("the crontab cannot be read: {why}")),
    };
    let text = crontab.text.as_deref().unwrap_or_default();
    match (text.lines().find(|line| is_ours(line, &installed.name)), line(world, terms)) {
        (None, _) => found("the line in the crontab is gone".to_owned()),
        (Some(there), Ok(wanted)) if there == wanted => Vec::new(),
        (Some(_), _) => found("the line in the crontab is not the one that was installed".to_owned()),
    }
}

/// The line that is put in.
fn line(world: &World, terms: Terms) -> Result<String, Error> {
    let fields = terms
        .every
        .cron_fields()
        .map_err(|nearest| Error::usage(format!("--every: cron cannot do {}; give {nearest}, or another trigger", terms.every)))?;
    let options: String = pass_options(terms, None).iter().map(|word| format!(" {word}")).collect();
    let command = format!("{}{options} {}", word(&world.pass()), mark(world));
    if command.chars().count() > COMMAND_CHARS_MAX {
        return Err(Error::new(Exit::Config, "the workspace's path is too long for a line of cron; give another trigger"));
    }
    Ok(format!("{fields} {command}"))
}

/// What tells our line, and this workspace's from another one's. A shell takes it for a comment.
fn mark(world: &World) -> String {
    format!("# task-recovery:{}", world.short_name())
}

fn is_ours(line: &str, mark: &str) -> bool {
    line.trim_end().ends_with(mark)
}

/// A word that every cron hands on and every shell reads as this text.
fn word(text: &str) -> String {
    let mut word = String::from("'");
    for c in text.chars() {
        match c {
            '\'' => word.push_str("'\"'\"'"),
            // Some crons remove a backslash, some make a line break of a per cent sign, some do neither.
            '\\' => word.push_str("'\"$(printf '\\134')\"'"),
            '%' => word.push_str("'\"$(printf '\\045')\"'"),
            _ => word.push(c),
        }
    }
    word.push('\'');
    word
}

fn put(text: Option<&str>, line: &str, mark: &str, record: Option<&Record>) -> (String, Record) {
    let old = text.unwrap_or_default();
    if old.lines().any(|line| is_ours(line, mark)) {
        let lines = old.split_inclusive('\n');
        let new = lines.map(|old| if is_ours(old, mark) { format!("{line}\n") } else { old.to_owned() }).collect();
        return (new, record.cloned().unwrap_or_default());
    }
    let lead = if old.is_empty() || old.ends_with('\n') { "" } else { "\n" };
    (format!("{old}{lead}{line}\n"), Record { made: text.is_none(), lead: lead.to_owned(), replaced: None })
}

fn without(text: &str, mark: &str) -> String {
    text.split_inclusive('\n').filter(|line| !is_ours(line, mark)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_read_by_a_shell_as_the_path() {
        for path in ["/a b/c", "/it's", "/x\"y", "/$HOME/`id`", "/50%/\\n", "/工作 区", "/a\\%b", "/-e", "/#x"] {
            let word = word(path);
            assert!(!word.contains('%'), "{word}");
            let shell = Program { path: "/bin/sh".into(), limit: std::time::Duration::from_secs(20) };
            let answer = shell.run(&["-c", &format!("printf '[%s]' {word}")], None).unwrap();
            assert_eq!(answer.stdout, format!("[{path}]"), "{word}");
        }
    }

    #[test]
    fn other_lines_stay_as_they_are() {
        let mark = "# task-recovery:1";
        for text in [None, Some(""), Some("MAILTO=x\n* * * * * y # task-recovery:2\n"), Some("# no end")] {
            let (once, record) = put(text, &format!("a b {mark}"), mark, None);
            assert!(once.starts_with(text.unwrap_or_default()) && once.ends_with(&format!("a b {mark}\n")));
            let (again, _) = put(Some(&once), &format!("c d {mark}"), mark, Some(&record));
            assert_eq!(again, once.replace("a b", "c d"));
            let left = without(&again, mark);
            assert_eq!(left.strip_suffix(record.lead.as_str()).unwrap_or(&left), text.unwrap_or_default());
        }
    }
}
