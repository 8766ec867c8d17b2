//! Verified artifacts: files that are recorded with their size and SHA-256, and looked at again before an attempt starts.
//!
//! An attempt that reads what a phase before it left must not build on a file that was cut short, lost or replaced.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;

use nix::fcntl::OFlag;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::document::Document;
use crate::exit::cause;

/// Measures a file: `{"bytes", "sha256"}`.
///
/// # Errors
/// Those of open and read; what is no regular file cannot be verified.
pub fn measure(path: &str) -> io::Result<Value> {
    let mut file = open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut bytes: u64 = 0;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                hash.update(&buffer[..count]);
                bytes += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(json!({"bytes": bytes, "sha256": hex(&hash.finalize())}))
}

/// The SHA-256 of these bytes, in hexadecimal digits.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The first recorded artifact that is not as it was: the reason and a sentence.
#[must_use]
pub fn first_fault(card: &Document) -> Option<(&'static str, String)> {
    let digests = card.get("artifact_digests").and_then(Value::as_object);
    digests.into_iter().flatten().find_map(|(path, recorded)| fault(path, recorded))
}

fn fault(path: &str, recorded: &Value) -> Option<(&'static str, String)> {
    // A size that differs needs no reading.
    let size = open(path).and_then(|file| file.metadata()).map(|meta| meta.len());
    let changed = |detail: String| Some(("artifact_changed", detail));
    match size {
        Err(error) => return Some(("artifact_missing", format!("{path}: {}", cause(&error)))),
        Ok(size) if recorded.get("bytes").and_then(Value::as_u64) != Some(size) => {
            return changed(format!("{path} has {size} bytes, {} were recorded", recorded.get("bytes").unwrap_or(&Value::Null)));
        }
        Ok(_) => {}
    }
    match measure(path) {
        Err(error) => Some(("artifact_missing", format!("{path}: {}", cause(&error)))),
        Ok(now) if now == *recorded => None,
        Ok(_) => changed(format!("{path} has another content than was recorded")),
    }
}

fn open(path: &str) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file")) }
}
