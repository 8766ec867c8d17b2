//! Letting go: a supervisor that outlives the pass that started it.
//!
//! It claims while the pass waits for it, says `started`, and then moves into a session of its
//! own with /dev/null as its standard streams: the pass sees the end of its output and goes on,
//! and neither the end of a terminal nor of a script reaches it any more. How its attempt ended
//! it leaves in the outbox.

use std::fs::File;

use nix::unistd::{dup2_stderr, dup2_stdin, dup2_stdout, setsid};
use shared::exit::Error;

/// Lets go of everything that the pass gave.
pub(crate) fn let_go() -> Result<(), Error> {
    let failed = |what: &str, why: String| Error::io(format!("cannot detach: {what}: {why}"));
    let null = File::options().read(true).write(true).open("/dev/null");
    let null = null.map_err(|error| failed("/dev/null", shared::exit::cause(&error)))?;
    // Fails only for the leader of a group, and a pool starts its detached members as none.
    setsid().map_err(|error| failed("setsid", error.desc().to_owned()))?;
    let streams = dup2_stdin(&null).and_then(|()| dup2_stdout(&null)).and_then(|()| dup2_stderr(&null));
    streams.map_err(|error| failed("dup2", error.desc().to_owned()))
}
