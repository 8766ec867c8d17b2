//! A control over several stand-ins: the check passes the sound one, and notices each broken one for what is broken in it.

use crate::{Outcome, Passed};

/// A layer that failed so often is not gone on with.
pub(crate) const FAILURES_MAX: usize = 50;

/// `check` does to the stand-in of this mode what the layer does to the real programs. Each broken mode comes with words of the
/// failure that it must lead to, or with several of which one must be in it: `torn|lost`.
pub(crate) fn controlled(broken: &[(&'static str, &str)], check: impl Fn(&'static str) -> Result<(), String>) -> Outcome {
    check("sound").map_err(|what| format!("the sound stand-in does not pass: {what}"))?;
    for (mode, words) in broken {
        match check(mode) {
            Err(what) if words.split('|').any(|words| what.contains(words)) => {}
            Err(what) => return Err(format!("the stand-in that is broken ({mode}) fails, but not by {words:?}: {what}")),
            Ok(()) => return Err(format!("the stand-in that is broken ({mode}) was not noticed")),
        }
    }
    Ok(Passed::Done(format!("noticed: {}", broken.iter().map(|(mode, _)| *mode).collect::<Vec<_>>().join(", "))))
}
