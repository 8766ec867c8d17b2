//! Parts of a card that a verdict does not need: checked as it is read, and dropped.

use std::borrow::Cow;

use serde::Deserialize;

use crate::shape::{Text, present};
use crate::time::Timestamp;

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Checkpoint {
    #[serde(rename = "phase", default, deserialize_with = "present")]
    _phase: Option<Text>,
    #[serde(rename = "at")]
    _at: Timestamp,
    #[serde(rename = "message", default, deserialize_with = "present")]
    _message: Option<Text>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Step {
    #[serde(rename = "name")]
    _name: Text,
    #[serde(rename = "status")]
    _status: StepStatus,
    #[serde(rename = "result", default)]
    _result: Option<serde::de::IgnoredAny>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StepStatus;

impl<'de> Deserialize<'de> for StepStatus {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Cow::<str>::deserialize(deserializer)?.as_ref() {
            "pending" | "done" | "failed" => Ok(Self),
            other => Err(serde::de::Error::custom(format!("{other:?} is no status of a step; known are pending, done, failed"))),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Digest {
    #[serde(rename = "bytes")]
    _bytes: u64,
    #[serde(rename = "sha256")]
    _sha256: Text,
}
