//! What is read of such a file, and written back.

use serde_json::json;

use super::*;

const FILE: &str = r#"{
  "version": 1,
  "taskId": "7b1f3c52-8a0e-4c1e-9d55-0b6f3a1f2c11",
  "createdAt": "2026-11-30T09:00:00+08:00",
  "updatedAt": "2026-11-30T09:30:00+08:00",
  "description": "整理季度报告",
  "status": "in_progress",
  "steps": [
    {"name": "收集数据", "status": "done", "result": "12 份", "tookMs": 1200},
    {"name": "写草稿", "status": "pending"}
  ],
  "context": {"file": "/tmp/a.md", "budget": 1.50},
  "mood": "calm",
  "lastCheckpoint": "2026-11-30T09:30:00+08:00"
}
"#;

fn parse(text: &str) -> TaskState {
    TaskState::parse(text.as_bytes()).unwrap().unwrap()
}

#[test]
fn what_the_card_does_not_know_better_stays_as_it_was() {
    let state = parse(FILE);
    let mut card = state.new_card(None, Timestamp::parse("2026-11-30T02:00:00Z").unwrap().0);
    assert!(card.card("7b1f3c52-8a0e-4c1e-9d55-0b6f3a1f2c11").is_ok());
    let at = Timestamp::parse("2026-11-30T02:00:00Z").unwrap().0;
    card.set_step("写草稿", "done", Some("第一版"));
    card.set_time("updated_at", at);
    card.set_time("last_checkpoint_at", at);
    let written = String::from_utf8(TaskState::of_card(&card, Some(state), None).bytes()).unwrap();
    let expected = FILE.replace("\"2026-11-30T09:30:00+08:00\"", "\"2026-11-30T02:00:00Z\"");
    let (before, after): (Value, Value) = (serde_json::from_str(&expected).unwrap(), serde_json::from_str(&written).unwrap());
    let mut before = before;
    before["steps"][1] = json!({"name": "写草稿", "status": "done", "result": "第一版"});
    assert_eq!(before, after);
    assert!(written.contains("\"context\": {\"file\": \"/tmp/a.md\", \"budget\": 1.50}"), "{written}");
}

#[test]
fn a_file_that_is_gone_is_made_anew_with_all_that_it_held() {
    let card = parse(FILE).new_card(None, Timestamp::parse("2026-11-30T01:30:00Z").unwrap().0);
    let anew: Value = serde_json::from_slice(&TaskState::of_card(&card, None, None).bytes()).unwrap();
    let mut expected: Value = serde_json::from_str(FILE).unwrap();
    expected["updatedAt"] = "2026-11-30T01:30:00Z".into();
    assert_eq!(anew, expected);
}

#[test]
fn a_step_that_is_done_stays_done() {
    let state = parse(FILE);
    let mut card = state.new_card(None, Timestamp::from_unix_ms(0));
    card.set_step("写草稿", "done", Some("x"));
    let before = card.clone();
    state.refresh(&mut card, None, false);
    assert_eq!(card, before);
}

#[test]
fn what_is_no_task_state_is_refused_with_a_reason() {
    assert!(TaskState::parse(b" \n").unwrap().is_none());
    for (text, why) in [
        (&FILE[..200], "ends too early"),
        ("[]", "expected an object"),
        ("{}", "taskId"),
        (r#"{"taskId":"a/b"}"#, "taskId"),
        (r#"{"taskId":7}"#, "taskId is 7; a text"),
        (r#"{"taskId":"a","status":"done","status":"in_progress"}"#, "duplicate field `status`"),
        (r#"{"taskId":"a","status":"sleeping"}"#, "status"),
        (r#"{"taskId":"a","steps":{}}"#, "steps"),
        (r#"{"taskId":"a","steps":[{"status":"done"}]}"#, "steps"),
        (r#"{"taskId":"a","context":[]}"#, "context"),
        (r#"{"taskId":"a","createdAt":"yesterday"}"#, "createdAt"),
    ] {
        let error = TaskState::parse(text.as_bytes()).unwrap_err();
        assert!(error.contains(why), "{text}: {error}");
    }
}
