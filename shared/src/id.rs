//! Task IDs: `[A-Za-z0-9][A-Za-z0-9._-]{0,127}`, and so safe as the name of a file.

use std::fmt;
use std::str::FromStr;

/// The longest ID, in bytes.
pub const LENGTH_MAX: usize = 128;

/// A validated task ID. Only a value of this type ever becomes part of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(String);

impl TaskId {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether this text has the form of a task ID.
#[must_use]
pub fn is_valid(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() <= LENGTH_MAX
        && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte))
}

impl FromStr for TaskId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if is_valid(text) {
            return Ok(Self(text.to_owned()));
        }
        let shown: String = text.chars().take(40).collect();
        Err(format!(
            "{shown:?} is no task ID: letters, digits, '.', '_' and '-', beginning with a letter or digit, at most {LENGTH_MAX}"
        ))
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for TaskId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_are_safe_in_a_path() {
        for good in ["a", "7", "report_1", "a.b-c_d", "x.json", &"a".repeat(128)] {
            assert!(good.parse::<TaskId>().is_ok(), "{good}");
        }
        for bad in ["", ".", "..", ".a", "-a", "_a", "a/b", "a b", "a\n", "a\0", "é", &"a".repeat(129)] {
            assert!(bad.parse::<TaskId>().is_err(), "{bad:?}");
        }
    }
}
