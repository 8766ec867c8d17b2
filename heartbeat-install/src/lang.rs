//! The language of what agents and chats are told.

use serde::{Deserialize, Serialize};

/// A language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Lang {
    #[default]
    En,
    Zh,
}

impl Lang {
    /// The one that the locale asks for.
    pub(crate) fn of_locale() -> Self {
        let locale =
            ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()));
        if locale.is_some_and(|locale| locale.starts_with("zh")) { Self::Zh } else { Self::En }
    }
}
