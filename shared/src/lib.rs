//! What the programs share: the card, the store, the verdict, the signals.
//!
//! ```text
//! id  time                         values
//! status  shape  parts  usual      what a card's fields may be
//! card  fault  document            a card as it is read, why it cannot be, and as it is written
//! entry  answer  progress          what a checkpoint records, and whether it is more than before
//! lock  durable  history  folder   files: exclusion, replacing, the audit trail, trees
//! interrupted                      calls that a signal cut short
//! workspace  listing  read  store  where the cards are; list, load, create, update
//! attempt  edit                    the cookie of an attempt, fencing by it, and fenced edits
//! processes  leader  liveness     what lives, by /proc and by held locks
//! task_state                       the file of a session's skill, kept up to its card
//! adapter  verified                what can be run; files that must be as they were
//! facts  last_pass  verdict        what a card needs now
//! signal  stream                   what flows in the pipe, out and in
//! text  screen  prose              text on a terminal: width, colours, wrapping
//! words  sentence                  signals for people
//! exit  talk  cli                  exit statuses, errors, stderr, stdout
//! command_line  policy             options
//! ```

pub mod adapter;
pub mod answer;
pub mod attempt;
pub mod card;
pub mod cli;
pub mod command_line;
pub mod document;
pub mod durable;
pub mod edit;
pub mod entry;
pub mod exit;
pub mod facts;
mod fault;
pub mod folder;
pub mod history;
pub mod id;
mod interrupted;
pub mod last_pass;
pub mod leader;
pub mod listing;
pub mod liveness;
pub mod lock;
mod parts;
pub mod policy;
pub mod processes;
pub mod progress;
pub mod prose;
mod read;
pub mod screen;
pub mod sentence;
mod shape;
pub mod signal;
pub mod status;
pub mod store;
pub mod stream;
pub mod talk;
pub mod task_state;
pub mod text;
pub mod time;
mod usual;
pub mod verdict;
pub mod verified;
pub mod words;
pub mod workspace;
