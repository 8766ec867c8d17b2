//! A timer and a service of the person's systemd manager.
//!
//! `KillMode=process`: what a pass detached goes on when the pass is over. The timer counts from the last pass, so passes do
//! not pile up after a suspend. Without linger the manager, and the timer, end when the person logs out.

use std::borrow::Cow;
use std::path::PathBuf;

use nix::unistd::{Uid, User};
use shared::exit::{Error, Exit};

use crate::action::Action;
use crate::check::Finding;
use crate::child::Program;
use crate::files::Desired;
use crate::manifest::Installed;
use crate::trigger::{Call, Planned, Terms, pass_options};
use crate::world::World;

const LIMIT_SECONDS: u64 = 30;

/// The person's manager, which answers.
#[derive(Clone, Debug)]
pub(crate) struct Systemd {
    systemctl: Program,
    user: String,
    /// Whether it goes on when the person logs out; none when that is not known.
    pub(crate) linger: Option<bool>,
}

impl Systemd {
    /// Looks for it.
    ///
    /// # Errors
    /// A sentence, when none answers.
    pub(crate) fn find() -> Result<Self, String> {
        let systemctl = Program::find("systemctl", LIMIT_SECONDS, None).ok_or("there is no systemctl here")?;
        let answer = systemctl.run(&["--user", "show-environment"], None)?;
        if !answer.is_ok() {
            return Err(format!("systemctl --user: {}", answer.complaint()));
        }
        let user = User::from_uid(Uid::effective()).ok().flatten().map_or_else(|| Uid::effective().to_string(), |user| user.name);
        let asked = Program::find("loginctl", LIMIT_SECONDS, None)
            .and_then(|loginctl| loginctl.run(&["show-user", &user, "--property=Linger", "--value"], None).ok());
        let linger = asked.filter(super::super::child::Answer::is_ok).map(|answer| answer.stdout.trim() == "yes");
        Ok(Self { systemctl, user, linger })
    }

    /// The command that has the manager go on when the person logs out, when it does not.
    pub(crate) fn linger_command(&self) -> Option<String> {
        (self.linger != Some(true)).then(|| format!("loginctl enable-linger {}", self.user))
    }

    fn call(&self, args: &[&str], must: bool, remedy: &str) -> Action {
        let args = std::iter::once("--user").chain(args.iter().copied()).map(str::to_owned).collect();
        Action::call(Call::Run { program: self.systemctl.clone(), args, must, remedy: remedy.to_owned() })
    }

    fn says(&self, args: &[&str]) -> bool {
        self.systemctl.run(args, None).is_ok_and(|answer| answer.is_ok())
    }
}

pub(crate) fn plan(world: &World, terms: Terms) -> Result<Planned, Error> {
    let systemd = world.systemd().map_err(|why| {
        let cron = world.command(&["--trigger", "cron"]);
        Error::new(Exit::Config, format!("cannot use systemd: {why}; log in as yourself (not through su), or run: {cron}"))
    })?;
    let name = name(world);
    let folder = folder()?;
    let mut planned = Planned::new(Installed { every: terms.every, name: name.clone(), ..Installed::default() });
    let texts = [("service", service(world, terms)), ("timer", timer(world, terms))];
    let mut same = true;
    for (kind, text) in texts {
        let path = folder.join(format!("{name}.{kind}"));
        same &= std::fs::read(&path).is_ok_and(|bytes| bytes == text.as_bytes());
        planned.files.push(Desired { path, bytes: Cow::Owned(text.into_bytes()), mode: 0o644, is_text: false });
    }
    let timer = format!("{name}.timer");
    let runs =
        systemd.says(&["--user", "is-active", "--quiet", &timer]) && systemd.says(&["--user", "is-enabled", "--quiet", &timer]);
    if !(same && runs) {
        let remedy = world.command(&["--trigger", "systemd"]);
        planned.actions.push(systemd.call(&["daemon-reload"], true, &remedy));
        planned.actions.push(systemd.call(&["enable", &timer], true, &remedy));
        planned.actions.push(systemd.call(&["restart", &timer], true, &remedy));
    }
    if let Some(command) = systemd.linger_command() {
        planned.notes.push("the timer ends when you log out, unless lingering is switched on".to_owned());
        planned.next.push(command);
    }
    Ok(planned)
}

pub(crate) fn take(world: &World, installed: &Installed) -> Vec<Action> {
    let timer = format!("{}.timer", installed.name);
    // Without a manager nothing runs; what is on the disk is removed all the same.
    let disable = world.systemd().ok().map(|systemd| systemd.call(&["disable", "--now", &timer], false, ""));
    let link = folder().ok().map(|folder| Action::Remove(folder.join("timers.target.wants").join(&timer)));
    disable.into_iter().chain(link).collect()
}

/// What is done when the files are gone.
pub(crate) fn reload(world: &World) -> Option<Action> {
    world.systemd().ok().map(|systemd| systemd.call(&["daemon-reload"], false, ""))
}

pub(crate) fn check(world: &World, installed: &Installed) -> Vec<Finding> {
    let remedy = world.command(&["--trigger", "systemd"]);
    let timer = format!("{}.timer", installed.name);
    let found = |what: String| vec![Finding::new("trigger", what, remedy.clone())];
    match world.systemd() {
        Err(why) => found(format!("the timer cannot be seen: {why}")),
        Ok(systemd) if !systemd.says(&["--user", "is-active", "--quiet", &timer]) => found(format!("{timer} is not running")),
        Ok(systemd) if !systemd.says(&["--user", "is-enabled", "--quiet", &timer]) => {
            found(format!("{timer} does not start by itself"))
        }
        Ok(_) => Vec::new(),
    }
}

fn name(world: &World) -> String {
    format!("task-recovery-{}", world.short_name())
}

fn folder() -> Result<PathBuf, Error> {
    let path = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let config = path("XDG_CONFIG_HOME").or_else(|| path("HOME").map(|home| home.join(".config")));
    let config = config.ok_or_else(|| Error::new(Exit::Config, "cannot find systemd's folder: HOME is not set"))?;
    Ok(config.join("systemd/user"))
}

fn service(world: &World, terms: Terms) -> String {
    let options: String = pass_options(terms, None).iter().map(|word| format!(" {word}")).collect();
    format!(
        "# Made by heartbeat-install, which refreshes and removes it.\n\
         [Unit]\n\
         Description=task-recovery: one pass over {} (watch | resume)\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         ExecStart=/bin/sh {}{options}\n\
         KillMode=process\n",
        world.text().replace('%', "%%"),
        word(&world.pass()),
    )
}

fn timer(world: &World, terms: Terms) -> String {
    format!(
        "# Made by heartbeat-install, which refreshes and removes it.\n\
         [Unit]\n\
         Description=task-recovery: a pass over {} every {}\n\
         \n\
         [Timer]\n\
         OnActiveSec=10s\n\
         OnUnitActiveSec={}s\n\
         AccuracySec=1s\n\
         \n\
         [Install]\n\
         WantedBy=timers.target\n",
        world.text().replace('%', "%%"),
        terms.every,
        terms.every.0,
    )
}

/// A word as systemd reads it. Variables are only replaced in arguments, so it must be one.
fn word(text: &str) -> String {
    let mut word = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => word.extend(['\\', c]),
            '%' => word.push_str("%%"),
            '$' => word.push_str("$$"),
            _ => word.push(c),
        }
    }
    word.push('"');
    word
}

#[cfg(test)]
mod tests {
    use super::word;

    #[test]
    fn what_is_special_to_systemd_is_escaped() {
        assert_eq!(word("/a b/c"), "\"/a b/c\"");
        assert_eq!(word("/$x/50%/\"q\"/\\/工作"), "\"/$$x/50%%/\\\"q\\\"/\\\\/工作\"");
    }
}
