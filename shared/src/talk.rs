//! stderr is talk: one line each, beginning with the program's name. Its failures are nobody's.

use std::io::{self, Write};
use std::sync::OnceLock;

static PROGRAM: OnceLock<&'static str> = OnceLock::new();

/// Sets the name that lines begin with, once.
pub fn set_program(name: &'static str) {
    PROGRAM.get_or_init(|| name);
}

/// The program's name.
#[must_use]
pub fn program() -> &'static str {
    PROGRAM.get().copied().unwrap_or_default()
}

/// Says something to the person: one line on stderr, in one write, so that lines of several processes do not mix.
pub fn say(text: &str) {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = format!("{}: {text}\n", program());
    // Whoever closed stderr does not want to hear it.
    drop(io::stderr().write_all(line.as_bytes()));
}
