//! What is a card and what is none.

use super::*;

fn parse(fields: &str) -> Result<Card, CardError> {
    Card::parse(format!(r#"{{"task_id":"t","created_at":"2026-11-30T01:00:00Z","status":"running"{fields}}}"#).as_bytes(), "t")
}

#[test]
fn defaults_depend_on_what_is_run() {
    let card = parse("").unwrap();
    assert_eq!((card.stale_after_minutes(), card.timeout_seconds()), (30.0, 300.0));
    assert_eq!((card.max_retries(), card.max_failures(), card.cooldown_seconds()), (3, 50, 15.0));
    assert!(!card.allow_auto_resume);
    let plain = parse(r#","resume_argv":["make"]"#).unwrap();
    assert_eq!((plain.stale_after_minutes(), plain.timeout_seconds()), (0.0, 0.0));
}

#[test]
fn a_known_field_of_the_wrong_type_is_refused() {
    for field in [
        r#""allow_auto_resume":"false""#,
        r#""allow_auto_resume":null"#,
        r#""allow_auto_resume":0"#,
        r#""max_retries":"3""#,
        r#""attempt":18446744073709551615"#,
        r#""revision":9007199254740991"#,
        r#""steps":[{"name":"a","status":{"done":null}}]"#,
        r#""max_retries":-1"#,
        r#""max_retries":1.5"#,
        r#""stale_after_minutes":1e400"#,
        r#""stale_after_minutes":-1"#,
        r#""stale_after_minutes":null"#,
        r#""phase":null"#,
        r#""phase":7"#,
        r#""not_before":"abc""#,
        r#""not_before":"2026-11-30T24:00:00Z""#,
        r#""not_before":1764464400"#,
        r#""checkpoints":{}"#,
        r#""checkpoints":[{"phase":"a"}]"#,
        r#""checkpoints":[{"phase":"a","at":"x","message":""}]"#,
        r#""artifacts":[]"#,
        r#""artifacts":{"phase_a":7}"#,
        r#""artifacts":{"phase_a":7.5}"#,
        r#""artifacts":{"phase_a":1e2}"#,
        r#""meta":7"#,
        r#""meta":{"depends_on":"a"}"#,
        r#""meta":{"depends_on":["a"],"depends_on":[]}"#,
        r#""metadata":{"depends_on":["a"],"depends_on":[]}"#,
        r#""steps":[{"name":"a","status":"half"}]"#,
        r#""context":[]"#,
        r#""metadata":[]"#,
        r#""run":[1,"t","h",1,"2026-11-30T01:00:00Z"]"#,
        r#""outcome":["2026-11-30T01:00:00Z",1,"x"]"#,
        r#""checkpoints":[["a","2026-11-30T01:00:00Z","m"]]"#,
        r#""metadata":{"depends_on":"a"}"#,
        r#""metadata":{"depends_on":["../a"]}"#,
        r#""run":{}"#,
        r#""run":null"#,
        r#""attention":"why""#,
        r#""resume_argv":"make all""#,
        r#""resume_argv":null"#,
        r#""schema_version":"1""#,
        r#""status":"running""#,
        r#""phase":"a","phase":"b""#,
    ] {
        assert_eq!(parse(&format!(",{field}")).unwrap_err().fault, Fault::Invalid, "{field}");
    }
}

#[test]
fn a_later_schema_version_is_told_from_a_broken_card() {
    for fields in [r#","schema_version":2"#, r#","schema_version":2,"phase":{}"#] {
        assert_eq!(parse(fields).unwrap_err().fault, Fault::UnknownVersion, "{fields}");
    }
}

#[test]
fn what_surrounds_the_object_counts() {
    for text in [
        "",
        " \n",
        "{",
        "[]",
        "null",
        "garbage",
        "\u{feff}{}",
        "{}",
        r#"{"task_id":"t"}"#,
        r#"{"task_id":"t","created_at":"2026-11-30T01:00:00Z","status":"running"} x"#,
        r#"{"task_id":"other","created_at":"2026-11-30T01:00:00Z","status":"running"}"#,
        r#"{"task_id":"t","status":"running"}"#,
        r#"{"task_id":"t","created_at":"2026-11-30T01:00:00Z","status":"sleeping"}"#,
    ] {
        assert_eq!(Card::parse(text.as_bytes(), "t").unwrap_err().fault, Fault::Invalid, "{text}");
    }
    assert_eq!(Card::parse(b"{\"task_id\":\"t\xff\"}", "t").unwrap_err().fault, Fault::Invalid);
}

#[test]
fn the_predecessors_words_are_understood() {
    let text = r#"{"id":"t","created_at":"2026-11-30T09:00:00+08:00","status":"done","meta":{"a":1},"history":[{"x":1}],
        "artifacts":{"raw":"/tmp/raw.json"},"resume_command_argv":["python3","x.py"],"safe_to_retry":false,"watchdog":{}}"#;
    let card = Card::parse(text.as_bytes(), "t").unwrap();
    assert_eq!((card.task_id(), card.status), ("t", Status::Completed));
    assert_eq!(card.argv(), ["python3", "x.py"]);
    assert!(card.in_manual_phase());
    assert_eq!(card.created_at.unwrap().to_string(), "2026-11-30T01:00:00Z");
}

/// In the layout of a card's checkpoints, where a person is asked whether it may be done.
#[test]
fn a_pending_action_is_told_whole_whatever_its_layout() {
    const ACTION: &str = "{\n  \"checkpoints\": [\n    {\n      \"phase\": \"pay\",\n      \"at\": \"2026-11-30T01:00:00Z\",\n      \
        \"message\": \"pay 120.50\"\n    }\n  ]}";
    for place in ["metadata", "meta"] {
        let text = format!(
            r#"{{"task_id":"t","status":"running","created_at":"2026-11-30T01:00:00Z","{place}":{{"pending_action":{ACTION}}}}}"#
        );
        let told = Card::parse(text.as_bytes(), "t").unwrap().pending_action().unwrap();
        assert!(told.contains("pay 120.50"), "{place}: {told}");
    }
}
