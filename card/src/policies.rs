//! A card's policies that differ from the defaults, as the options that set them.

use serde_json::Value;
use shared::card::Card;
use shared::document::Document;
use shared::signal::{number, shell_word};

/// Cards that say nothing: what they answer is the default.
const SILENT: &str = r#"{"task_id":"x","status":"pending","created_at":"1970-01-01T00:00:00Z"}"#;
const SILENT_COMMAND: &str = r#"{"task_id":"x","status":"pending","created_at":"1970-01-01T00:00:00Z","resume_argv":["x"]}"#;

/// The options.
pub(crate) fn of(document: &Document, card: &Card) -> Vec<String> {
    let silent = if card.is_plain_command() { SILENT_COMMAND } else { SILENT };
    let Ok(default) = Card::parse(silent.as_bytes(), "x") else { return Vec::new() };
    let mut options = Vec::new();
    if card.allow_auto_resume {
        options.push("--allow-auto-resume".to_owned());
    }
    for (option, value, by_default) in [
        ("stale-after-minutes", card.stale_after_minutes(), default.stale_after_minutes()),
        ("timeout-seconds", card.timeout_seconds(), default.timeout_seconds()),
        ("cooldown-seconds", card.cooldown_seconds(), default.cooldown_seconds()),
        ("give-up-after-minutes", card.give_up_after_minutes(), default.give_up_after_minutes()),
    ] {
        if value.to_bits() != by_default.to_bits() {
            options.push(format!("--{option} {}", number(value)));
        }
    }
    for (option, value, by_default) in
        [("max-retries", card.max_retries(), default.max_retries()), ("max-failures", card.max_failures(), default.max_failures())]
    {
        if value != by_default {
            options.push(format!("--{option} {value}"));
        }
    }
    let phases = document.get("manual_phases").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    options.extend(phases.map(|phase| format!("--manual-phase {}", shell_word(phase))));
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(fields: &str) -> String {
        let text = SILENT.replace('}', &format!("{fields}}}"));
        let (document, card) = Document::parse(text.as_bytes(), "x").unwrap();
        of(&document, &card).join(" ")
    }

    #[test]
    fn what_is_as_by_default_is_not_said() {
        assert_eq!(options(""), "");
        let said =
            r#","stale_after_minutes":30,"max_retries":3,"max_failures":50,"timeout_seconds":300.0,"allow_auto_resume":false"#;
        assert_eq!(options(said), "");
        assert_eq!(options(r#","resume_argv":["make"],"timeout_seconds":0"#), "");
        assert_eq!(
            options(r#","resume_argv":["make"],"stale_after_minutes":30,"timeout_seconds":300"#),
            "--stale-after-minutes 30 --timeout-seconds 300"
        );
        assert_eq!(
            options(r#","allow_auto_resume":true,"stale_after_minutes":0.5,"max_retries":0,"manual_phases":["deliver","a b"]"#),
            "--allow-auto-resume --stale-after-minutes 0.5 --max-retries 0 --manual-phase deliver --manual-phase 'a b'"
        );
    }
}
