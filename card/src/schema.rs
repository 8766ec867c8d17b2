//! `card schema`: the card as JSON Schema 2020-12.

/// The schema. What it cannot say (that `task_id` equals the file's name) the programs check.
pub(crate) const SCHEMA: &str = include_str!("../schema.json");
