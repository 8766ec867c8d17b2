//! Readers and judges that are broken on purpose, each in a way that a person could write: the layer's checks must notice.

use std::panic;

use serde_json::{Map, Value};
use shared::card::{Card, CardError, Fault};
use shared::document::Document;

use super::{REAL, Seeds, Subject, Tally, batch, examine, odd, started, times};

/// A stand-in that was not noticed until then is believed to be sound.
const MUTATIONS_MAX: u64 = 200_000;

/// Of two fields with one name the last counts.
const LAST_DUPLICATE: Subject = Subject {
    start: |bytes, id, facts, now| {
        let last: Value = serde_json::from_slice(bytes).ok()?;
        started(&Card::parse(last.to_string().as_bytes(), id).ok()?, facts, now)
    },
    ..REAL
};

/// A time that cannot be read is as old as can be.
const UNREADABLE_IS_OLD: Subject = Subject {
    start: |bytes, id, facts, now| {
        let mut object: Map<String, Value> = serde_json::from_slice(bytes).ok()?;
        for (name, value) in &mut object {
            let is_time = name.ends_with("_at") && value.as_str().and_then(times::unix_ms).is_none();
            if is_time {
                *value = "1970-01-01T00:00:00Z".into();
            }
        }
        (REAL.start)(&serde_json::to_vec(&object).ok()?, id, facts, now)
    },
    ..REAL
};

/// What the verdict does not need is not looked at, whatever the verdict.
const NEVER_WHOLE: Subject = Subject { start: |bytes, id, facts, now| started(&Card::parse(bytes, id).ok()?, facts, now), ..REAL };

/// A missing word means yes.
const ASKS_NOBODY: Subject = Subject {
    start: |bytes, id, facts, now| {
        let mut card = Card::parse(bytes, id).ok()?;
        card.allow_auto_resume = true;
        Document::validate(bytes, id).ok().and_then(|()| started(&card, facts, now))
    },
    ..REAL
};

/// A card that is to be started is taken for a broken one.
const HIDES: Subject = Subject {
    start: |bytes, id, facts, now| if bytes.len().is_multiple_of(97) { None } else { (REAL.start)(bytes, id, facts, now) },
    ..REAL
};

/// Bytes that are no text are replaced, and the card is read all the same.
const LOSSY: Subject = Subject { partial: |bytes, id| Card::parse(String::from_utf8_lossy(bytes).as_bytes(), id), ..REAL };

/// The whole parse is content with less.
const LENIENT: Subject = Subject {
    whole: |bytes, id| {
        let text = std::str::from_utf8(bytes).unwrap_or_default().trim_end_matches(['\0', '}', 'x']);
        let result = Document::parse(format!("{text}}}").as_bytes(), id).map(|(_, card)| card);
        result.or_else(|_| (REAL.whole)(bytes, id))
    },
    ..REAL
};

/// What is no text is not expected.
const PANICS: Subject = Subject {
    partial: |bytes, id| {
        let text = std::str::from_utf8(bytes).expect("UTF-8");
        if text.is_empty() { Err(CardError::new(Fault::Invalid, "empty")) } else { Card::parse(text.as_bytes(), id) }
    },
    ..REAL
};

/// Returns what noticed each of them.
pub(crate) fn run(seed: u64) -> Result<String, String> {
    let stand_ins = [
        ("takes the last duplicate", LAST_DUPLICATE),
        ("takes an unreadable time for an old one", UNREADABLE_IS_OLD),
        ("never parses whole", NEVER_WHOLE),
        ("asks nobody", ASKS_NOBODY),
        ("hides cards", HIDES),
        ("reads what is no text", LOSSY),
        ("forgives trailing bytes", LENIENT),
        ("panics", PANICS),
    ];
    let seeds = Seeds::new();
    let mut noticed = Vec::new();
    for (name, subject) in stand_ins {
        let hook = panic::take_hook();
        panic::set_hook(Box::new(|_| {}));
        let found = (0..MUTATIONS_MAX)
            .find_map(|number| examine(&subject, &seeds, seed, number, &mut Tally::default()).err().map(|why| (number, why)));
        panic::set_hook(hook);
        let Some((number, why)) = found else { return Err(format!("a reader that {name} was not noticed")) };
        // What was saved is only of use when it was not broken on purpose.
        drop(std::fs::remove_file(std::env::temp_dir().join(format!("proof-malformed-{seed}-{number}.json"))));
        if why.starts_with("a panic") != (name == "panics") {
            return Err(format!("a reader that {name} was noticed for another reason: {why}"));
        }
        noticed.push(number + 1);
    }
    let odd = odd::control()?;
    let batch = batch::control(seed)?;
    Ok(format!("{} broken readers noticed after {noticed:?} mutations; {odd}; {batch}", stand_ins.len()))
}
