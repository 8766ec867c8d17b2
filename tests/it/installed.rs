//! A workspace as heartbeat-install leaves it: what the tests of its assets share.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tests::{Workspace, programs, root};

/// What shells and cron lines break on.
pub(crate) const ODD: &str = "it's a \"$HOME\" `id` \\t 报告 & co; #1";

pub(crate) fn asset(name: &str) -> String {
    let path = root().join("heartbeat-install/assets").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Makes a folder of the workspace one that has the programs and the pass in its bin/.
pub(crate) fn install(workspace: &Workspace, name: &str) -> PathBuf {
    let folder = workspace.path(name);
    let bin = folder.join("bin");
    fs::create_dir_all(folder.join("data/task-runs")).unwrap();
    fs::create_dir_all(&bin).unwrap();
    for program in ["card", "checkpoint", "watch", "resume"] {
        symlink(programs().join(program), bin.join(program)).unwrap();
    }
    workspace.write(bin.join("recovery-pass").to_str().unwrap(), &asset("recovery-pass"));
    folder
}

/// A command without an environment, elsewhere than in the workspace: as cron would be at its worst.
pub(crate) fn bare(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().current_dir("/").stdin(Stdio::null());
    command
}

/// The POSIX shells that are here.
pub(crate) fn shells() -> Vec<Vec<&'static str>> {
    let all = [vec!["dash"], vec!["bash", "--posix"], vec!["busybox", "sh"], vec!["ksh"], vec!["mksh"]];
    let there = |shell: &Vec<&str>| ["/bin", "/usr/bin"].iter().any(|folder| Path::new(folder).join(shell[0]).is_file());
    let shells: Vec<_> = all.into_iter().filter(there).collect();
    assert!(!shells.is_empty(), "no shell");
    shells
}
