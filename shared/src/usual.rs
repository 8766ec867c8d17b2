//! The checkpoints of a card in the layout that they are written in: most of its text, and nothing that a verdict reads.
//!
//! A pass reads every card, and a general reader of JSON takes most of its time for these. Here they are recognised byte by byte
//! and left out; whatever is in the slightest unusual is left to the general reader, which decides alone what is valid.

use memchr::memmem;

use crate::time::usual;

/// Within a JSON text there is no newline in a string: this stands between values.
const OPENING: &str = "\n  \"checkpoints\": [";

/// What ends a string or is none of its plain characters.
const ENDS: [bool; 256] = {
    let mut ends = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        ends[byte] = byte < 0x20 || byte == b'"' as usize || byte == b'\\' as usize;
        byte += 1;
    }
    ends
};

/// The card's text with an empty array in place of its checkpoints, if these are as they are written here.
pub(crate) fn without_checkpoints(text: &str) -> Option<String> {
    let start = memmem::find(text.as_bytes(), OPENING.as_bytes())? + OPENING.len();
    let length = text.len() - start - after_items(&text.as_bytes()[start..])?.len();
    Some([&text[..start], &text[start + length..]].concat())
}

/// What comes after the items of the array, from its closing bracket on.
fn after_items(mut text: &[u8]) -> Option<&[u8]> {
    loop {
        text = after_string(text.strip_prefix(b"\n    {\n      \"phase\": \"")?)?;
        let (time, rest) = text.strip_prefix(b",\n      \"at\": \"")?.split_at_checked(20)?;
        usual(time)?;
        text = after_string(rest.strip_prefix(b"\",\n      \"message\": \"")?)?.strip_prefix(b"\n    }")?;
        match text.strip_prefix(b",") {
            Some(rest) => text = rest,
            None => return text.strip_prefix(b"\n  ").filter(|rest| rest.starts_with(b"]")),
        }
    }
}

/// What comes after a string without escapes, from behind its closing quote on.
fn after_string(text: &[u8]) -> Option<&[u8]> {
    let end = text.iter().position(|byte| ENDS[usize::from(*byte)])?;
    text[end..].strip_prefix(b"\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CARD: &str = r#"{
  "task_id": "t",
  "checkpoints": [
    {
      "phase": "collect",
      "at": "2026-11-30T01:00:00Z",
      "message": "1 of 2: ✓"
    },
    {
      "phase": "",
      "at": "2026-11-30T01:00:01Z",
      "message": ""
    }
  ],
  "checkpoint_count": 2
}
"#;

    #[test]
    fn checkpoints_as_they_are_written_are_left_out() {
        let rest = "{\n  \"task_id\": \"t\",\n  \"checkpoints\": [],\n  \"checkpoint_count\": 2\n}\n";
        assert_eq!(without_checkpoints(CARD).as_deref(), Some(rest));
        let mut document = crate::document::Document::new(serde_json::Map::new());
        for message in ["one", "two"] {
            document.add_checkpoint("collect", message, crate::time::Timestamp::from_unix_ms(0));
        }
        let written = String::from_utf8(document.bytes()).unwrap();
        assert!(without_checkpoints(&written).unwrap().contains("\"checkpoints\": [],"), "{written}");
    }

    /// Any byte changed, taken away or added, anywhere: what is left out was valid, and the rest decides as the whole does.
    #[test]
    fn whatever_is_left_out_was_valid() {
        type Json = Result<serde_json::Value, String>;
        let read = |text: &str| -> Json { serde_json::from_str(text).map_err(|error| error.to_string()) };
        let (mut left_out, mut invalid) = (0, 0);
        let bytes = CARD.as_bytes();
        for index in 0..bytes.len() {
            for new in [&b""[..], b"\"", b"\\", b"\n", b",", b"]", b"}", b"1", b" ", b"],"] {
                let changed = [&bytes[..index], new, &bytes[index + 1..]].concat();
                let Ok(changed) = String::from_utf8(changed) else { continue };
                let whole = read(&changed);
                invalid += u32::from(whole.is_err());
                if let Some(rest) = without_checkpoints(&changed) {
                    left_out += 1;
                    assert_eq!(read(&rest).is_ok(), whole.is_ok(), "{changed}");
                    if let (Ok(mut rest), Ok(mut whole)) = (read(&rest), whole) {
                        for value in [&mut rest, &mut whole] {
                            value.as_object_mut().unwrap().remove("checkpoints");
                        }
                        assert_eq!(rest, whole, "{changed}");
                    }
                }
            }
        }
        assert!(left_out > 300 && invalid > 1000, "{left_out} {invalid}");
    }
}
