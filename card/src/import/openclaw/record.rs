//! One ended run, as it is told: by a plugin that saw it end, or by OpenClaw's list of sessions.
//!
//! A field that is absent or null is not known; one of another type is refused, because a run that
//! is misread is resumed or completed wrongly. Fields that are not named here are skipped.

use serde_json::{Map, Value};
use shared::time::Timestamp;

/// The longest text of a record that is looked at or kept, in bytes.
const TEXT_BYTES_MAX: usize = 64 * 1024;
/// The longest parameters of a tool call that are kept, in bytes.
pub(super) const PARAMS_BYTES_MAX: usize = 2048;

/// A run that a person began moves `lastInteractionAt`, at its beginning at the latest; a heartbeat's own does not. A failed run
/// this long after it is taken for a heartbeat's.
const INTERACTION_AGE_SECONDS_MAX: f64 = 1800.0;

/// How a session's last run stands, in OpenClaw's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Running,
    Done,
    Failed,
    Killed,
    Timeout,
}

/// The last tool that a run called.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tool {
    pub(super) name: String,
    /// As text, cut.
    pub(super) params: String,
    /// What it threw; empty when it did not.
    pub(super) error: String,
    /// Of a command; 0 is a good one.
    pub(super) exit_code: Option<i64>,
}

impl Tool {
    pub(super) fn failed(&self) -> bool {
        !self.error.is_empty() || self.exit_code.is_some_and(|code| code != 0)
    }
}

/// An ended run. Texts that are not known are empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Run {
    pub(super) session_key: String,
    pub(super) session_id: String,
    pub(super) agent_id: String,
    pub(super) run_id: String,
    /// user, heartbeat, cron …
    pub(super) trigger: String,
    pub(super) state: Option<State>,
    pub(super) success: Option<bool>,
    /// Of the last call of the model: timeout, aborted, connection_reset …
    pub(super) failure_kind: String,
    /// Of the last message: stop, error, aborted, toolUse …
    pub(super) stop_reason: String,
    pub(super) error: String,
    pub(super) tool_calls: Option<u64>,
    pub(super) last_tool: Option<Tool>,
    pub(super) final_text: String,
    pub(super) ended_at: Option<Timestamp>,
    /// When a person last began a run of the session, as the list of sessions tells it.
    pub(super) interaction_at: Option<Timestamp>,
}

impl Run {
    /// Reads a record of `--from openclaw-run`.
    pub(super) fn of_record(record: &Map<String, Value>) -> Result<Self, String> {
        let fields = Fields(record);
        let run = Self {
            session_key: fields.text("session_key")?,
            session_id: fields.text("session_id")?,
            agent_id: fields.text("agent_id")?,
            run_id: fields.text("run_id")?,
            trigger: fields.text("trigger")?,
            state: state(&fields.text("status")?),
            success: fields.flag("success")?,
            failure_kind: fields.text("failure_kind")?,
            stop_reason: fields.text("stop_reason")?,
            error: fields.text("error")?,
            tool_calls: fields.count("tool_calls")?,
            last_tool: fields.get("last_tool").map(tool).transpose()?,
            final_text: fields.text("final_text")?,
            ended_at: fields.time("ended_at")?,
            interaction_at: None,
        };
        run.named()
    }

    /// Reads one of the sessions that `openclaw sessions --json` lists: all that it tells is how the last run stands.
    pub(super) fn of_session(session: &Map<String, Value>) -> Result<Self, String> {
        let fields = Fields(session);
        let aborted = fields.flag("abortedLastRun")? == Some(true);
        // Without a word of it, nothing is known to have ended.
        let told = state(&fields.text("status")?).or(Some(State::Running));
        let ended_at = fields.time("updatedAt")?;
        let interaction_at = fields.time("lastInteractionAt")?;
        let age = ended_at.zip(interaction_at).map(|(ended_at, at)| ended_at.seconds_since(at));
        let of_nobody =
            matches!(told, Some(State::Failed | State::Timeout)) && age.is_some_and(|age| age > INTERACTION_AGE_SECONDS_MAX);
        let run = Self {
            session_key: fields.text("key")?,
            session_id: fields.text("sessionId")?,
            agent_id: fields.text("agentId")?,
            trigger: if of_nobody { "heartbeat".to_owned() } else { String::new() },
            state: if aborted && told != Some(State::Running) { Some(State::Killed) } else { told },
            ended_at,
            interaction_at,
            ..Self::default()
        };
        run.named()
    }

    fn named(self) -> Result<Self, String> {
        if self.session_key.is_empty() && self.session_id.is_empty() {
            return Err("it names no session: session_key or session_id is needed".to_owned());
        }
        Ok(self)
    }

    /// What the session is called where people see it.
    pub(super) fn session(&self) -> &str {
        if self.session_key.is_empty() { &self.session_id } else { &self.session_key }
    }
}

fn state(word: &str) -> Option<State> {
    Some(match word {
        "" => return None,
        "done" => State::Done,
        "failed" => State::Failed,
        "killed" => State::Killed,
        "timeout" => State::Timeout,
        // What a later OpenClaw may say beside these is not known to be an end.
        _ => State::Running,
    })
}

fn tool(value: &Value) -> Result<Tool, String> {
    let object = value.as_object().ok_or_else(|| format!("last_tool is {}; an object was expected", shown(value)))?;
    let fields = Fields(object);
    let params = match fields.get("params") {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    // A tool may throw an object.
    let error = match fields.get("error") {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let exit_code = match fields.get("exit_code") {
        None => None,
        Some(value) => Some(value.as_i64().ok_or_else(|| format!("exit_code is {}; a whole number was expected", shown(value)))?),
    };
    Ok(Tool {
        name: fields.text("name")?,
        params: cut(&params, PARAMS_BYTES_MAX).to_owned(),
        error: cut(&error, TEXT_BYTES_MAX).to_owned(),
        exit_code,
    })
}

struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    fn get(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    fn text(&self, name: &str) -> Result<String, String> {
        match self.get(name) {
            None => Ok(String::new()),
            Some(Value::String(text)) => Ok(cut(text, TEXT_BYTES_MAX).to_owned()),
            Some(other) => Err(format!("{name} is {}; a text was expected", shown(other))),
        }
    }

    fn flag(&self, name: &str) -> Result<Option<bool>, String> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(other) => Err(format!("{name} is {}; true or false was expected", shown(other))),
        }
    }

    fn count(&self, name: &str) -> Result<Option<u64>, String> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.as_u64().map(Some).ok_or_else(|| format!("{name} is {}; a count was expected", shown(value)))
    }

    /// RFC 3339, or milliseconds since 1970 as JavaScript counts them.
    fn time(&self, name: &str) -> Result<Option<Timestamp>, String> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Timestamp::parse(text).map(|(at, _)| Some(at)).map_err(|why| format!("{name}: {why}")),
            Some(value) => match value.as_i64() {
                Some(ms) => Ok(Some(Timestamp::from_unix_ms(ms))),
                None => Err(format!("{name} is {}; a time was expected", shown(value))),
            },
        }
    }
}

fn shown(value: &Value) -> String {
    value.to_string().chars().take(60).collect()
}

/// The beginning of a text, in whole characters.
pub(super) fn cut(text: &str, bytes_max: usize) -> &str {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Run, String> {
        Run::of_record(serde_json::from_str::<Value>(text).unwrap().as_object().unwrap())
    }

    #[test]
    fn null_is_not_known_and_another_type_is_refused() {
        let run = read(r#"{"session_key":"k","success":null,"tool_calls":0,"ended_at":1796031134564,"more":[1]}"#).unwrap();
        assert_eq!(
            (run.success, run.tool_calls, run.ended_at.unwrap().to_string().as_str()),
            (None, Some(0), "2026-11-30T09:32:14Z")
        );
        for (record, why) in [
            ("{}", "names no session"),
            (r#"{"session_key":7}"#, "session_key is 7"),
            (r#"{"session_key":"k","success":"false"}"#, "success is"),
            (r#"{"session_key":"k","tool_calls":-1}"#, "tool_calls is -1"),
            (r#"{"session_key":"k","last_tool":"exec"}"#, "last_tool is"),
            (r#"{"session_key":"k","last_tool":{"exit_code":"1"}}"#, "exit_code is"),
            (r#"{"session_key":"k","ended_at":"yesterday"}"#, "ended_at"),
            (r#"{"session_key":"k","ended_at":1.5}"#, "ended_at"),
        ] {
            let error = read(record).unwrap_err();
            assert!(error.contains(why), "{record}: {error}");
        }
    }

    #[test]
    fn long_params_are_cut_between_characters() {
        let long = "报".repeat(2000);
        let record = serde_json::json!({"session_id": "s", "last_tool": {"name": "exec", "params": {"command": long}}});
        let tool = Run::of_record(record.as_object().unwrap()).unwrap().last_tool.unwrap();
        assert!(tool.params.len() <= PARAMS_BYTES_MAX && tool.params.len() > PARAMS_BYTES_MAX - 3);
    }

    #[test]
    fn a_failure_long_after_the_last_word_of_a_person_is_a_heartbeats() {
        let trigger = |status: &str, minutes: i64| {
            let ended_ms = 1_796_031_209_098_i64;
            let session = serde_json::json!({"key": "agent:main:main", "status": status, "updatedAt": ended_ms, "lastInteractionAt": ended_ms - minutes * 60_000});
            Run::of_session(session.as_object().unwrap()).unwrap().trigger
        };
        assert_eq!((trigger("timeout", 70).as_str(), trigger("failed", 31).as_str()), ("heartbeat", "heartbeat"));
        assert_eq!((trigger("timeout", 0).as_str(), trigger("failed", 20).as_str(), trigger("done", 70).as_str()), ("", "", ""));
    }

    #[test]
    fn a_word_that_no_version_says_today_is_no_end() {
        let session =
            |text: &str| Run::of_session(serde_json::from_str::<Value>(text).unwrap().as_object().unwrap()).unwrap().state;
        assert_eq!(session(r#"{"key":"k","status":"queued"}"#), Some(State::Running));
        assert_eq!(session(r#"{"key":"k","status":"failed","abortedLastRun":true}"#), Some(State::Killed));
        assert_eq!(session(r#"{"key":"k"}"#), Some(State::Running));
    }
}
