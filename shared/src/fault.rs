//! Why a card cannot be used.

use std::path::PathBuf;

use serde_json::error::Category;

/// Why a card cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The file cannot be opened or read, or is no regular file of at most 4 MiB.
    Unreadable,
    /// The content is no card.
    Invalid,
    /// A later schema version.
    UnknownVersion,
    /// Others could have written it.
    Insecure,
}

impl Fault {
    /// The attention's reason.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::Unreadable => "card_unreadable",
            Self::Invalid => "card_invalid",
            Self::UnknownVersion => "card_unknown_version",
            Self::Insecure => "card_insecure",
        }
    }
}

/// A card that cannot be used, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardError {
    /// Which kind of fault.
    pub fault: Fault,
    /// One sentence.
    pub detail: String,
    /// The file, where it is known.
    pub path: Option<PathBuf>,
}

impl CardError {
    /// A fault with its sentence.
    pub fn new(fault: Fault, detail: impl Into<String>) -> Self {
        Self { fault, detail: detail.into(), path: None }
    }
}

/// `serde_json`'s message in one line, in words that a person can do something with.
#[must_use]
pub fn json_error(error: &serde_json::Error) -> String {
    // Rust's names of what JSON calls otherwise.
    let names = [("type: map", "type: object"), ("type: sequence", "type: array"), ("expected a map", "expected an object")];
    let text = names.into_iter().fold(error.to_string(), |text, (old, new)| text.replace(old, new));
    match error.classify() {
        Category::Eof => format!("it ends too early, at line {} column {}", error.line(), error.column()),
        _ => text.chars().take(300).map(|c| if c.is_control() { ' ' } else { c }).collect(),
    }
}
