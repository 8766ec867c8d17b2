//! The programs, run for real.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers;
mod archive;
mod browser;
mod budget;
mod card;
mod checkpoint;
mod cli;
mod completions;
mod crash;
mod detach;
mod docs;
mod edits;
mod gates;
mod grace;
mod import;
mod install;
mod install_make;
mod installed;
mod leader;
mod manuals;
mod monitor;
mod notify;
mod openclaw_attempts;
mod openclaw_ends;
mod openclaw_runs;
mod overtaken;
mod pipeline;
mod plugin;
mod recovery_pass;
mod report;
mod resume;
mod schema;
mod session_adapters;
mod shim;
mod skill;
mod supervision;
mod templates;
mod terminal;
mod text;
mod unfinished;
mod watch;
mod workspace;
