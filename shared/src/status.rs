//! Where a task stands, and how it may go on from there.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error};

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Not started.
    Pending,
    /// Work is going on.
    Running,
    /// The last attempt ended without finishing; another may follow.
    Stalled,
    /// A person decides.
    NeedsAttention,
    /// Finished.
    Completed,
    /// Given up.
    Failed,
    /// Called off.
    Cancelled,
}

impl Status {
    /// All of them, in the order of a task's life.
    pub const ALL: [Self; 7] =
        [Self::Pending, Self::Running, Self::Stalled, Self::NeedsAttention, Self::Completed, Self::Failed, Self::Cancelled];

    /// As it is written in a card.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Stalled => "stalled",
            Self::NeedsAttention => "needs_attention",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// What the predecessor's words mean, in its cards and in its adapters' answers.
    #[must_use]
    pub fn of_predecessor(word: &str) -> Option<Self> {
        match word {
            "done" => Some(Self::Completed),
            "blocked" => Some(Self::NeedsAttention),
            _ => None,
        }
    }

    /// A word of others, which may be one of the predecessor's.
    ///
    /// # Errors
    /// A sentence, when it is no status.
    pub fn of_others(word: &str) -> Result<Self, String> {
        Self::of_predecessor(word).map_or_else(|| word.parse(), Ok)
    }

    /// Completed, failed or cancelled: never changed again.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// Whether a task may go from this status to that one.
    #[must_use]
    pub fn may_become(self, next: Self) -> bool {
        match self {
            _ if self == next => true,
            Self::Pending => matches!(next, Self::Running | Self::Cancelled | Self::NeedsAttention),
            Self::Running => next != Self::Pending,
            Self::Stalled | Self::NeedsAttention => next != Self::Pending,
            Self::Completed | Self::Failed | Self::Cancelled => false,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Through text: a derived enum would take `{"running": null}`, too. The predecessor's words count.
impl<'de> Deserialize<'de> for Status {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        Self::of_others(&text).map_err(D::Error::custom)
    }
}

impl std::str::FromStr for Status {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|status| status.as_str() == text);
        known.ok_or_else(|| format!("{text:?} is no status; known are {}", Self::ALL.map(Self::as_str).join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transitions() {
        use Status::*;
        for from in Status::ALL {
            for to in Status::ALL {
                let expected = match (from, to) {
                    _ if from == to => true,
                    (Pending, Running | Cancelled | NeedsAttention) => true,
                    (Running, Stalled | NeedsAttention | Completed | Failed | Cancelled) => true,
                    (Stalled, Running | NeedsAttention | Completed | Failed | Cancelled) => true,
                    (NeedsAttention, Stalled | Running | Completed | Failed | Cancelled) => true,
                    _ => false,
                };
                assert_eq!(from.may_become(to), expected, "{from} -> {to}");
            }
        }
    }
}
