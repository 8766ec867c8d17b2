//! The `checkpoint` under test: the real one, or the stand-in that is broken on purpose.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

/// Which `checkpoint` is meant.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Checkpointer {
    Real,
    /// `broken-checkpoint`, with what is broken in it.
    Broken(&'static str),
}

impl Checkpointer {
    /// A checkpoint of this card in this workspace, not started yet.
    pub(crate) fn command(self, workspace: &Path, id: &str, message: &str) -> Command {
        let mut command = match self {
            Self::Real => program("checkpoint", workspace),
            Self::Broken(what) => {
                let own = std::env::current_exe().expect("this program's path");
                let mut command = bare(&own.with_file_name("broken-checkpoint"), workspace);
                command.env("BROKEN", what);
                command
            }
        };
        command.args([id, "--message", message]);
        command
    }
}

/// A real program in this workspace, with a bare environment.
pub(crate) fn program(name: &str, workspace: &Path) -> Command {
    bare(&tests::programs().join(name), workspace)
}

fn bare(program: &Path, workspace: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(workspace).env_clear().env("PATH", "/usr/bin:/bin").env("OPENCLAW_WORKSPACE", workspace);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The revision that an answer acknowledges; none when it is not whole.
pub(crate) fn acknowledged(stdout: &[u8]) -> Option<u64> {
    serde_json::from_slice::<Value>(stdout).ok()?["revision"].as_u64()
}
