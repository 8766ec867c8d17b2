//! Files that can be run, written by another process: what is open for writing here, or in a child that another thread just
//! started, could not be.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes a script.
pub fn write_script(path: &Path, text: &str) {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "cat >\"$1\" && chmod 755 \"$1\"", "sh"]).arg(path).stdin(Stdio::piped());
    let mut child = command.spawn().expect("a shell");
    child.stdin.take().expect("its stdin").write_all(text.as_bytes()).expect("to be written");
    assert!(child.wait().expect("its end").success(), "{} cannot be written", path.display());
}

/// Copies a program.
pub fn copy_program(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-p").args([from, to]).status().expect("cp");
    assert!(copied.success(), "{} cannot be copied", from.display());
}
