//! A second reader of cards, written from their description and not from the programs' code: it
//! reads the text whole into plain values, and says whether that is a card.

use serde_json::{Map, Value};

use super::times;

/// How a text is judged.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Read {
    /// A card.
    Card(Map<String, Value>),
    /// None, and why.
    None(String),
    /// One of another schema version, or none: what else is in it may mean something else.
    OtherVersion,
}

/// What a field holds.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Bool,
    Time,
    /// A whole number of 0 or more.
    Whole,
    /// One that can still be counted up: below 2^53 - 1.
    Count,
    /// A finite number of 0 or more.
    Amount,
    Texts,
    Status,
    StepStatus,
    Any,
    Object(&'static [Member]),
    ArrayOf(&'static Kind),
    ObjectOf(&'static Kind),
    /// What an entry of `artifacts` is.
    PathOrPaths,
}

/// A field: its name, whether it must be there, what it holds.
type Member = (&'static str, bool, Kind);

const MUST: bool = true;
const MAY: bool = false;

const METADATA: &[Member] = &[("depends_on", MAY, Kind::Texts), ("pending_action", MAY, Kind::Any)];
const STEP: &[Member] = &[("name", MUST, Kind::Text), ("status", MUST, Kind::StepStatus), ("result", MAY, Kind::Any)];
const CHECKPOINT: &[Member] = &[("phase", MAY, Kind::Text), ("at", MUST, Kind::Time), ("message", MAY, Kind::Text)];
const DIGEST: &[Member] = &[("bytes", MUST, Kind::Whole), ("sha256", MUST, Kind::Text)];
const OUTCOME: &[Member] = &[("at", MUST, Kind::Time), ("attempt", MUST, Kind::Whole), ("kind", MUST, Kind::Text)];
const ATTENTION: &[Member] = &[("reason", MUST, Kind::Text), ("detail", MAY, Kind::Text), ("since", MAY, Kind::Time)];
const RUN: &[Member] = &[
    ("attempt", MUST, Kind::Whole),
    ("token", MUST, Kind::Text),
    ("host", MUST, Kind::Text),
    ("pid", MUST, Kind::Whole),
    ("started_at", MUST, Kind::Time),
    ("charged", MAY, Kind::Bool),
    ("forerunners_from", MAY, Kind::Whole),
    ("background", MAY, Kind::Bool),
];
const CARD: &[Member] = &[
    ("schema_version", MAY, Kind::Whole),
    ("revision", MAY, Kind::Count),
    ("task_id", MAY, Kind::Text),
    ("id", MAY, Kind::Text),
    ("task_type", MAY, Kind::Text),
    ("title", MAY, Kind::Text),
    ("created_at", MAY, Kind::Time),
    ("updated_at", MAY, Kind::Time),
    ("status", MUST, Kind::Status),
    ("phase", MAY, Kind::Text),
    ("resume_adapter", MAY, Kind::Text),
    ("resume_argv", MAY, Kind::Texts),
    ("resume_command_argv", MAY, Kind::Texts),
    ("cwd", MAY, Kind::Text),
    ("path", MAY, Kind::Text),
    ("allow_auto_resume", MAY, Kind::Bool),
    ("stale_after_minutes", MAY, Kind::Amount),
    ("max_retries", MAY, Kind::Whole),
    ("retry_count", MAY, Kind::Count),
    ("max_failures", MAY, Kind::Whole),
    ("failures", MAY, Kind::Count),
    ("attempt", MAY, Kind::Count),
    ("timeout_seconds", MAY, Kind::Amount),
    ("cooldown_seconds", MAY, Kind::Amount),
    ("not_before", MAY, Kind::Time),
    ("give_up_after_minutes", MAY, Kind::Amount),
    ("manual_phases", MAY, Kind::Texts),
    ("safe_to_retry", MAY, Kind::Bool),
    ("approved_at", MAY, Kind::Time),
    ("permit", MAY, Kind::Text),
    ("permit_artifacts", MAY, Kind::Bool),
    ("last_checkpoint_at", MAY, Kind::Time),
    ("checkpoint_count", MAY, Kind::Count),
    ("checkpoints", MAY, Kind::ArrayOf(&Kind::Object(CHECKPOINT))),
    ("artifacts", MAY, Kind::ObjectOf(&Kind::PathOrPaths)),
    ("artifact_digests", MAY, Kind::ObjectOf(&Kind::Object(DIGEST))),
    ("steps", MAY, Kind::ArrayOf(&Kind::Object(STEP))),
    ("context", MAY, Kind::ObjectOf(&Kind::Any)),
    ("metadata", MAY, Kind::Object(METADATA)),
    ("run", MAY, Kind::Object(RUN)),
    ("outcome", MAY, Kind::Object(OUTCOME)),
    ("attention", MAY, Kind::Object(ATTENTION)),
];

/// Reads what the file `<id>.json` holds.
pub(crate) fn read(bytes: &[u8], id: &str) -> Read {
    if let Err(error) = serde_json::from_slice::<Map<String, Value>>(bytes) {
        return Read::None(error.to_string());
    }
    let (Value::Object(card), duplicates) = Reader::read(bytes) else { return Read::None("it is no object".to_owned()) };
    // An object with such a name is another value to the library.
    let private = String::from_utf8_lossy(bytes).contains("$serde_json::private::").then(|| "a private name".to_owned());
    let fault = private.or_else(|| fault(&card, duplicates, id));
    match (card.get("schema_version").map(|version| version.to_string().parse::<u64>()), fault) {
        (Some(Ok(version)), _) if version != 1 => Read::OtherVersion,
        (_, Some(why)) => Read::None(why),
        (_, None) => Read::Card(card),
    }
}

fn fault(card: &Map<String, Value>, duplicates: Vec<Duplicate>, id: &str) -> Option<String> {
    if let Some(why) = members(CARD, card, "") {
        return Some(why);
    }
    // The predecessor's word for metadata, which counts as long as there is no metadata.
    let meta = if card.contains_key("metadata") { None } else { card.get("meta") };
    if let Some(why) = meta.and_then(|meta| misfit(Kind::Object(METADATA), meta, "meta")) {
        return Some(why);
    }
    let text = |name: &str| card.get(name).and_then(Value::as_str);
    if !is_id(id) || text("task_id").or(text("id")) != Some(id) {
        return Some("another ID".to_owned());
    }
    let finished = matches!(text("status"), Some("completed" | "done" | "failed" | "cancelled"));
    if !finished && !["created_at", "last_checkpoint_at", "updated_at"].iter().any(|name| card.contains_key(*name)) {
        return Some("no time".to_owned());
    }
    if let Some(bad) = depends_on(card).iter().find(|id| !is_id(id)) {
        return Some(format!("depends_on {bad}"));
    }
    duplicates.into_iter().find_map(|(path, first)| {
        let duplicate = || format!("duplicate {}", path.join("."));
        // A name that is free may be there twice, but what it had first must fit, too.
        let kind = match path.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["artifacts", _] => Kind::PathOrPaths,
            ["artifact_digests", _] => Kind::Object(DIGEST),
            _ => return is_known(&path, meta.is_some()).then(duplicate),
        };
        misfit(kind, &first, &duplicate())
    })
}

/// The tasks that a card waits for.
pub(crate) fn depends_on(card: &Map<String, Value>) -> Vec<&str> {
    let metadata = card.get("metadata").or(card.get("meta"));
    let ids = metadata.and_then(|metadata| metadata.get("depends_on")).and_then(Value::as_array);
    ids.into_iter().flatten().filter_map(Value::as_str).collect()
}

fn is_id(text: &str) -> bool {
    let first = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    first && text.len() <= 128 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

fn members(wanted: &[Member], object: &Map<String, Value>, at: &str) -> Option<String> {
    wanted.iter().find_map(|(name, must, kind)| match object.get(*name) {
        Some(value) => misfit(*kind, value, &format!("{at}.{name}")),
        None => must.then(|| format!("{at}.{name} is missing")),
    })
}

fn misfit(kind: Kind, value: &Value, at: &str) -> Option<String> {
    let text = value.as_str();
    let digits = if value.is_number() { value.to_string() } else { String::new() };
    let whole = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u64>().ok()).flatten();
    let fits = match kind {
        Kind::Any => true,
        Kind::Text => text.is_some(),
        Kind::Bool => value.is_boolean(),
        Kind::Time => text.is_some_and(|text| times::unix_ms(text).is_some()),
        Kind::Whole => whole.is_some(),
        Kind::Count => whole.is_some_and(|number| number < (1 << 53) - 1),
        // The library's conversion: at the very end of the range it rounds in its own way.
        Kind::Amount => serde_json::from_str::<f64>(&digits).is_ok_and(|number| number.is_finite() && number >= 0.0),
        Kind::Texts => value.as_array().is_some_and(|items| items.iter().all(Value::is_string)),
        Kind::Status => matches!(
            text,
            Some("pending" | "running" | "stalled" | "needs_attention" | "blocked" | "completed" | "done" | "failed" | "cancelled")
        ),
        Kind::StepStatus => matches!(text, Some("pending" | "done" | "failed")),
        Kind::PathOrPaths => value.is_string() || value.is_object(),
        Kind::Object(wanted) => match value.as_object() {
            Some(object) => return members(wanted, object, at),
            None => false,
        },
        Kind::ArrayOf(kind) => match value.as_array() {
            Some(items) => return items.iter().find_map(|item| misfit(*kind, item, at)),
            None => false,
        },
        Kind::ObjectOf(kind) => match value.as_object() {
            Some(object) => return object.values().find_map(|item| misfit(*kind, item, at)),
            None => false,
        },
    };
    (!fits).then(|| format!("{at} is {value}"))
}

/// Whether the programs know the field at this path, `*` for an array's item: then it may not be there twice.
fn is_known(path: &[String], meta_counts: bool) -> bool {
    let has = |members: &[Member], name: &str| members.iter().any(|(known, ..)| *known == name);
    match path.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [name] => name == "meta" || has(CARD, name),
        ["metadata", name] => has(METADATA, name),
        ["meta", name] => meta_counts && has(METADATA, name),
        ["run", name] => has(RUN, name),
        ["outcome", name] => has(OUTCOME, name),
        ["attention", name] => has(ATTENTION, name),
        ["checkpoints", "*", name] => has(CHECKPOINT, name),
        ["steps", "*", name] => has(STEP, name),
        ["artifact_digests", _, name] => has(DIGEST, name),
        _ => false,
    }
}

/// The path of a name that an object has twice, `*` for an array's item, and the value that does not count.
type Duplicate = (Vec<String>, Value);

/// Makes plain values of a text that is known to be JSON. Of a name that an object has twice the last counts, and it is noted.
struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    path: Vec<String>,
    duplicates: Vec<Duplicate>,
}

impl<'a> Reader<'a> {
    fn read(text: &'a [u8]) -> (Value, Vec<Duplicate>) {
        let mut reader = Self { text, at: 0, path: Vec::new(), duplicates: Vec::new() };
        let value = reader.value();
        (value, reader.duplicates)
    }

    fn next(&mut self) -> u8 {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied().unwrap_or_default()
    }

    fn value(&mut self) -> Value {
        match self.next() {
            b'{' => self.object(),
            b'[' => self.array(),
            b'"' => self.string().into(),
            _ => {
                let start = self.at;
                let ends = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\n' | b'\t' | b'\r');
                self.at = self.text[start..].iter().position(ends).map_or(self.text.len(), |length| start + length);
                serde_json::from_slice(&self.text[start..self.at]).unwrap_or_default()
            }
        }
    }

    fn array(&mut self) -> Value {
        self.at += 1;
        self.path.push("*".to_owned());
        let mut items = Vec::new();
        while !matches!(self.next(), b']' | 0) {
            items.push(self.value());
            self.at += usize::from(self.next() == b',');
        }
        self.path.pop();
        self.at += 1;
        items.into()
    }

    fn object(&mut self) -> Value {
        self.at += 1;
        let mut members = Map::new();
        while !matches!(self.next(), b'}' | 0) {
            let name = self.string();
            self.path.push(name.clone());
            self.at += usize::from(self.next() == b':');
            let value = self.value();
            if let Some(first) = members.insert(name, value) {
                self.duplicates.push((self.path.clone(), first));
            }
            self.path.pop();
            self.at += usize::from(self.next() == b',');
        }
        self.at += 1;
        members.into()
    }

    fn string(&mut self) -> String {
        let start = self.at;
        self.at += 1;
        while self.text.get(self.at).is_some_and(|byte| *byte != b'"') {
            self.at += if self.text[self.at] == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
        serde_json::from_slice(&self.text[start..self.at.min(self.text.len())]).unwrap_or_default()
    }
}
