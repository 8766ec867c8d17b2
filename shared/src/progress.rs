//! Progress: whether a card tells of work that it did not tell of before.
//!
//! It counts: a phase or step not reached before, a new or changed artifact, and a new pair of
//! phase and message among the checkpoints. A checkpoint that only repeats the last one is a
//! sign of life, not progress; an exit status is neither.

use std::collections::HashSet;

use serde_json::Value;

use crate::document::Document;

/// Whether `after` holds progress over `before`.
#[must_use]
pub fn between(before: &Document, after: &Document) -> bool {
    reaches_further(before, after)
        || is_new(&checkpoints(before), &checkpoints(after))
        || is_new(&artifacts(before), &artifacts(after))
}

/// Whether `after` is in a phase, or has done a step, that `before` had not reached.
#[must_use]
pub fn reaches_further(before: &Document, after: &Document) -> bool {
    !reached(before).contains(after.text("phase")) || is_new(&steps_done(before), &steps_done(after))
}

fn is_new<T: std::hash::Hash + Eq>(before: &HashSet<T>, after: &HashSet<T>) -> bool {
    after.iter().any(|item| !before.contains(item))
}

fn reached(card: &Document) -> HashSet<&str> {
    entries(card).map(|entry| text(entry, "phase")).chain([card.text("phase")]).collect()
}

fn checkpoints(card: &Document) -> HashSet<(&str, &str)> {
    // Without a message it is a sign of life, however new the phase's first one is.
    entries(card).map(|entry| (text(entry, "phase"), text(entry, "message"))).filter(|(_, message)| !message.is_empty()).collect()
}

fn entries(card: &Document) -> impl Iterator<Item = &Value> {
    card.get("checkpoints").and_then(Value::as_array).into_iter().flatten()
}

fn text<'a>(entry: &'a Value, name: &str) -> &'a str {
    entry.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn artifacts(card: &Document) -> HashSet<(&str, &str, &str)> {
    let phases = card.get("artifacts").and_then(Value::as_object);
    let mut all = HashSet::new();
    for (phase, value) in phases.into_iter().flatten() {
        match value {
            Value::Object(paths) => {
                all.extend(paths.iter().map(|(name, path)| (phase.as_str(), name.as_str(), path.as_str().unwrap_or_default())));
            }
            other => all.extend(other.as_str().map(|path| ("", phase.as_str(), path))),
        }
    }
    all
}

fn steps_done(card: &Document) -> HashSet<&str> {
    let steps = card.get("steps").and_then(Value::as_array);
    let done = steps.into_iter().flatten().filter(|step| step.get("status").and_then(Value::as_str) == Some("done"));
    done.filter_map(|step| step.get("name").and_then(Value::as_str)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Timestamp;

    fn card() -> Document {
        let mut card = Document::new(serde_json::from_str(r#"{"phase":"collect"}"#).unwrap());
        card.add_checkpoint("collect", "started", Timestamp::from_unix_ms(0));
        card.add_artifact("collect", "raw", "/raw");
        card.set_step("one", "done", None);
        card
    }

    #[test]
    fn what_counts_and_what_does_not() {
        let before = card();
        let at = Timestamp::from_unix_ms(1000);
        type Change<'a> = &'a dyn Fn(&mut Document);
        let cases: [(&str, bool, Change<'_>); 12] = [
            ("nothing", false, &|_| ()),
            ("the same message again", false, &|card| card.add_checkpoint("collect", "started", at)),
            ("no message", false, &|card| card.add_checkpoint("collect", "", at)),
            ("a new message", true, &|card| card.add_checkpoint("collect", "250 of 1000", at)),
            ("a new phase", true, &|card| card.set("phase", "analyze")),
            ("the same artifact", false, &|card| card.add_artifact("collect", "raw", "/raw")),
            ("a changed artifact", true, &|card| card.add_artifact("collect", "raw", "/raw2")),
            ("a new artifact", true, &|card| card.add_artifact("collect", "index", "/raw")),
            ("the same step", false, &|card| assert!(card.set_step("one", "done", Some("x")))),
            ("a pending step", false, &|card| assert!(!card.set_step("two", "pending", None))),
            ("a step done", true, &|card| assert!(!card.set_step("two", "done", None))),
            ("metadata", false, &|card| card.set("metadata", "x")),
        ];
        for (name, expected, change) in cases {
            let mut after = before.clone();
            change(&mut after);
            assert_eq!(between(&before, &after), expected, "{name}");
        }
    }

    #[test]
    fn going_back_to_a_phase_is_no_progress() {
        let mut before = card();
        before.set("phase", "analyze");
        let mut after = before.clone();
        after.set("phase", "collect");
        assert!(!between(&before, &after));
    }
}
