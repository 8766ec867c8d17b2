//! One line in the person's crontab, known by the mark at its end. Other lines are never touched.
//!
//! cron hands the line to the crontab's `SHELL`, with `%` made a line break; what is special to any of them is not in the
//! line: a quote, a backslash or a per cent sign of the path is printed by the line itself.

use std::fs::{File, TryLockError};
use std::time::{Duration, Instant};

use shared::exit::{Error, Exit};

use crate::action::Action;
use crate::check::Finding;
use crate::child::Program;
use crate::diff::unified;
use crate::manifest::Installed;
use crate::section::Record;
use crate::trigger::{Call, Planned, Terms, pass_options};
use crate::world::World;

const LIMIT_SECONDS: u64 = 30;
/// How often a lock that another run holds is asked for.
const LOOK: Duration = Duration::from_millis(50);
/// How often a line that others took away is put in.
const TRIES: usize = 5;
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
            Some(0) if answer.is_text => Some(answer.stdout),
            Some(0) => return Err("the crontab is not UTF-8, and could not be written back as it is; convert it".to_owned()),
            // Debian's and most others' words, and busybox's.
            _ if answer.stderr.contains("no crontab") || answer.stderr.contains("No such file") => None,
            _ => return Err(format!("crontab -l: {}", answer.complaint())),
        };
        Ok(Self { program, text })
    }

    /// Keeps other runs, in whatever workspace, from reading what this one is about to write: the crontab is one for all of them.
    /// The lock is on the program's own file, so that none is left behind; whoever edits the crontab otherwise does not know it.
    fn lock(&self) -> Result<Option<File>, Error> {
        // Where the program cannot be read there is no lock, and what is written is read again all the same.
        let Ok(file) = File::open(&self.program.path) else { return Ok(None) };
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(file)),
                Err(TryLockError::WouldBlock) if start.elapsed().as_secs() < LIMIT_SECONDS => std::thread::sleep(LOOK),
                Err(TryLockError::WouldBlock) => {
                    return Err(Error::new(
                        Exit::Busy,
                        "another heartbeat-install is at work on the crontab; run this again when it is done",
                    ));
                }
                Err(TryLockError::Error(_)) => return Ok(None),
            }
        }
    }

    /// Makes it this text; nothing = there is none any more.
    fn write(&self, text: Option<&str>) -> Result<(), Error> {
        let args: &[&str] = if text.is_some() { &["-"] } else { &["-r"] };
        let answer = self.program.run(args, text).map_err(Error::io)?;
        let refused = || format!("crontab {} was refused: {}; see to that, or give another --trigger", args[0], answer.complaint());
        if answer.is_ok() { Ok(()) } else { Err(Error::refused(refused())) }
    }
}

/// An edit of the crontab, made of it as it is then: a line put in, or the one with this mark taken out.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// As it was when the plan was made, for whoever wants to see it.
    seen: Option<String>,
    mark: String,
    line: Option<String>,
    record: Record,
}

impl Change {
    /// Does it; whether that changed anything.
    pub(crate) fn carry_out(&self) -> Result<bool, Error> {
        let mut changed = false;
        let _lock = Crontab::read().map_err(Error::io)?.lock()?;
        for _ in 0..TRIES {
            let crontab = Crontab::read().map_err(Error::io)?;
            let after = self.edit(crontab.text.as_deref());
            // Read again after the write: somebody else may have saved an older one meanwhile.
            if after == crontab.text {
                return Ok(changed);
            }
            crontab.write(after.as_deref())?;
            changed = true;
        }
        Err(Error::new(Exit::Busy, "the crontab is changed by others all the time; run this again when they are done"))
    }

    /// What a person would see of it beforehand.
    pub(crate) fn shown(&self) -> String {
        unified("crontab", self.seen.as_deref(), self.edit(self.seen.as_deref()).as_deref())
    }

    fn edit(&self, text: Option<&str>) -> Option<String> {
        match &self.line {
            Some(line) => Some(put(text, line, &self.mark, None).0),
            None => without(text?, &self.mark, &self.record),
        }
    }
}

pub(crate) fn plan(world: &World, terms: Terms, before: Option<&Installed>) -> Result<Planned, Error> {
    let line = line(world, terms)?;
    let crontab = world.crontab().map_err(|why| {
        Error::new(Exit::Config, format!("cannot use cron: {why}; or run: {}", world.command(&["--trigger", "systemd"])))
    })?;
    let (after, mut record) = put(crontab.text.as_deref(), &line, &mark(world), before.map(|before| &before.record));
    // Under another mark, before the workspace was moved.
    record.made |= before.is_some_and(|before| before.record.made);
    let mut planned =
        Planned::new(Installed { every: terms.every, name: mark(world), record: record.clone(), ..Installed::default() });
    if crontab.text.as_deref() != Some(after.as_str()) {
        let change = Change { seen: crontab.text.clone(), mark: mark(world), line: Some(line), record };
        planned.actions.push(Action::call(Call::Crontab(change)));
    }
    Ok(planned)
}

pub(crate) fn take(world: &World, installed: &Installed) -> Result<Vec<Action>, Error> {
    let crontab = world.crontab().map_err(|why| Error::io(format!("cannot remove the line from the crontab: {why}")))?;
    let (seen, mark) = (crontab.text.clone(), installed.name.clone());
    let there = seen.as_deref().is_some_and(|text| text.lines().any(|line| is_ours(line, &mark)));
    let change = Change { seen, mark, line: None, record: installed.record.clone() };
    Ok(if there { vec![Action::call(Call::Crontab(change))] } else { Vec::new() })
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
    (format!("{old}{lead}{line}\n"), Record { made: text.is_none(), lead: lead.to_owned(), ..Record::default() })
}

/// Without our line; nothing when there was no crontab before it.
fn without(text: &str, mark: &str, record: &Record) -> Option<String> {
    let was_last = text.lines().last().is_some_and(|line| is_ours(line, mark));
    let left: String = text.split_inclusive('\n').filter(|line| !is_ours(line, mark)).collect();
    match () {
        () if left.is_empty() && record.made => None,
        // The line before it had no end.
        () if was_last && !record.lead.is_empty() => Some(left.strip_suffix('\n').unwrap_or(&left).to_owned()),
        () => Some(left),
    }
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
            assert_eq!(without(&again, mark, &record).as_deref(), text);
        }
    }
}
