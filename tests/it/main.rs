//! The programs, run for real.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod card;
mod checkpoint;
mod cli;
mod crash;
mod docs;
mod pipeline;
mod resume;
mod watch;
mod workspace;
