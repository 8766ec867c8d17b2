//! The programs, run for real.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers;
mod card;
mod checkpoint;
mod cli;
mod crash;
mod detach;
mod docs;
mod edits;
mod gates;
mod import;
mod pipeline;
mod resume;
mod schema;
mod shim;
mod supervision;
mod text;
mod watch;
mod workspace;
