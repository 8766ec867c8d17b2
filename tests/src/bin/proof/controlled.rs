//! A control over several stand-ins: the check passes the sound one and notices each broken one.

use crate::{Outcome, Passed};

/// A layer that failed so often is not gone on with.
pub(crate) const FAILURES_MAX: usize = 5000;

/// `check` does to the stand-in of this mode what the layer does to the real programs.
pub(crate) fn controlled(sound: &str, broken: &[&str], check: impl Fn(&str) -> Result<(), String>) -> Outcome {
    check(sound).map_err(|what| format!("the sound stand-in does not pass: {what}"))?;
    for mode in broken {
        if check(mode).is_ok() {
            return Err(format!("the stand-in that is broken ({mode}) was not noticed"));
        }
    }
    Ok(Passed::Done(format!("noticed: {}", broken.join(", "))))
}
