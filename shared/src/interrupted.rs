//! Interrupted calls: a signal that arrived is no failure. The standard library repeats open, read,
//! write and fsync by itself, but neither `flock` nor the opening of a folder.

use std::io::{self, ErrorKind};

/// Does it again as long as it is interrupted.
pub(crate) fn again<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
