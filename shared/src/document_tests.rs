//! Cards as they are written.

use super::*;

fn document(text: &str) -> Document {
    Document::new(serde_json::from_str(text).unwrap())
}

#[test]
fn unknown_fields_keep_their_place_and_numbers_their_digits() {
    let text = "{\n  \"task_id\": \"t\",\n  \"a\": 1.10,\n  \"phase\": \"x\",\n  \"b\": 1e400,\n  \"c\": 123456789012345678901234567890,\n  \
                \"status\": \"running\",\n  \"d\": [1, [2.0,\n 3]],\n  \"e\": \"\\u957f\",\n  \"created_at\": \"2026-11-30T01:00:00Z\"\n}\n";
    let (mut document, _) = Document::parse(text.as_bytes(), "t").unwrap();
    assert_eq!(String::from_utf8(document.bytes()).unwrap(), text);
    document.set("phase", "y");
    assert_eq!(String::from_utf8(document.bytes()).unwrap(), text.replace("\"x\"", "\"y\""));
    document.remove("a");
    assert_eq!(document.object().keys().take(3).collect::<Vec<_>>(), ["task_id", "phase", "b"]);
}

#[test]
fn a_predecessors_card_gets_todays_names_once() {
    let mut document = document(
        r#"{"id":"t","status":"blocked","phase":"collect","created_at":"2026-11-30T01:00:00","meta":{"k":1},
            "artifacts":{"raw":"/r","phase_plan":{"p":"/p"}},"checkpoints":[{"at":"2026-11-30 01:00:00"}]}"#,
    );
    document.adopt();
    assert_eq!(document.take_notes().len(), 6);
    assert_eq!(
        Value::Object(document.object().clone()),
        json!({"task_id":"t","status":"needs_attention","phase":"collect","created_at":"2026-11-30T01:00:00Z","metadata":{"k":1},
            "artifacts":{"phase_plan":{"p":"/p"},"phase_collect":{"raw":"/r"}},"checkpoints":[{"at":"2026-11-30T01:00:00Z"}]})
    );
    assert_eq!(document.object().keys().next(), Some(&"task_id".to_owned()));
    document.adopt();
    assert!(document.take_notes().is_empty());
}

#[test]
fn names_that_would_be_another_value_are_refused() {
    for field in [r#""$serde_json::private::Number":"x""#, r#""meta":{"$serde_json::private::RawValue":"1"}"#] {
        let text = format!(r#"{{{field},"task_id":"t","status":"running","created_at":"2026-11-30T01:00:00Z"}}"#);
        let refused = Document::validate(text.as_bytes(), "t").unwrap_err();
        assert_eq!((refused.fault, Document::parse(text.as_bytes(), "t").map(drop)), (Fault::Invalid, Err(refused)), "{field}");
    }
}

#[test]
fn a_card_keeps_the_newest_hundred_checkpoints() {
    let mut document = document("{}");
    let at = Timestamp::from_unix_ms(0);
    for number in 0..103 {
        document.add_checkpoint("a", &format!("{number}"), at);
    }
    let entries = document.get("checkpoints").and_then(Value::as_array).unwrap();
    assert_eq!((entries.len(), entries[0]["message"].as_str()), (100, Some("3")));
    assert_eq!(document.count("checkpoint_count"), 103);
    document.add_checkpoint("a", "50", at);
    let entries = document.get("checkpoints").and_then(Value::as_array).unwrap();
    assert_eq!((entries.len(), entries[99]["message"].as_str()), (100, Some("50")));
}

#[test]
fn long_messages_are_cut_between_characters() {
    let text = cut(&"长".repeat(2000));
    assert!(text.len() <= MESSAGE_BYTES_MAX && text.ends_with("(cut)"));
}

#[test]
fn artifacts_stand_under_their_phase() {
    assert_eq!(artifacts_key("collect"), "phase_collect");
    assert_eq!(artifacts_key("phase_collect"), "phase_collect");
    assert_eq!(artifacts_key(""), "phase_main");
}
