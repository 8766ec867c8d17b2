//! What the tests of session adapters share: a card whose session was cut, and stand-ins of the agents' programs.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tests::{Ran, Workspace, root, word};

use crate::installed::asset;

pub(crate) const KEY: &str = "agent:main:task";

/// Prints what it is told to print, and notes how it was called.
const STAND_IN: &str = r#"#!/bin/sh
program=${0##*/}
{ printf '%s' "$program"; printf ' [%s]' "$@"; echo; } | tr '\n' '~' | sed 's/~$/\n/' >>"$STAND_IN/calls"
case $program in
openclaw) what=$1 ;;
*) what=$program; cat >"$STAND_IN/prompt"; pwd >"$STAND_IN/folder" ;;
esac
[ ! -f "$STAND_IN/$what.sh" ] || . "$STAND_IN/$what.sh"
cat "$STAND_IN/$what" 2>/dev/null
exit "$(cat "$STAND_IN/$what.rc" 2>/dev/null || echo 0)"
"#;

pub(crate) struct Bench {
    pub(crate) workspace: Workspace,
    pub(crate) env: HashMap<&'static str, String>,
    pub(crate) adapter: PathBuf,
}

impl Bench {
    /// With this adapter, and a card `t` of a session that was cut.
    pub(crate) fn new(adapter: &str, metadata: &Value) -> Self {
        let workspace = Workspace::new();
        for folder in ["adapters", "programs", "stand-in", "it's in here"] {
            fs::create_dir(workspace.path(folder)).unwrap();
        }
        for name in ["session.sh", adapter, "resume-prompt.en.txt", "resume-prompt.zh.txt"] {
            workspace.write(&format!("adapters/{name}"), &asset(&format!("adapters/{name}")));
        }
        for name in ["openclaw", "claude", "codex"] {
            workspace.write(&format!("programs/{name}"), STAND_IN);
        }
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", workspace.path("programs").display());
        let env = HashMap::from([("PATH", path), ("STAND_IN", word(&workspace.path("stand-in")).to_owned())]);
        let bench = Self { adapter: workspace.path(&format!("adapters/{adapter}")), workspace, env };
        bench.session("done", 0);
        bench.put(&json!({ "metadata": metadata }));
        bench
    }

    pub(crate) fn openclaw() -> Self {
        Self::new("openclaw_session.sh", &json!({"openclaw": {"session_key": KEY, "session_id": "s-1"}}))
    }

    pub(crate) fn put(&self, more: &Value) {
        let mut card = json!({
            "schema_version": 1, "revision": 1, "task_id": "t", "task_type": "agent-run", "title": "Watch the \"log\" & tell",
            "status": "stalled", "phase": "watch", "resume_adapter": self.adapter, "allow_auto_resume": true,
            "max_retries": 3, "cooldown_seconds": 0, "timeout_seconds": 300,
            "created_at": "2026-11-30T09:00:00Z", "updated_at": "2026-11-30T09:10:00Z", "give_up_after_minutes": 0,
            "last_checkpoint_at": "2026-11-30T09:05:00Z",
            "checkpoints": [{"phase": "watch", "at": "2026-11-30T09:05:00Z", "message": "line 40 of 90 {{phase}}"}],
            "artifacts": {"phase_watch": {"position": "/w/position.txt"}},
            "outcome": {"at": "2026-11-30T09:10:00Z", "attempt": 0, "kind": "tool_failure", "detail": "send_alert: no network"},
        });
        card.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.workspace.put_card("t", &card.to_string());
    }

    /// What a call answers: a recorded answer, with its exit status.
    pub(crate) fn answers(&self, what: &str, fixture: &str, rc: i32) {
        self.says(what, &fs::read_to_string(root().join("tests/fixtures/openclaw/answers").join(fixture)).unwrap(), rc);
    }

    pub(crate) fn says(&self, what: &str, text: &str, rc: i32) {
        fs::write(self.workspace.path(&format!("stand-in/{what}")), text).unwrap();
        fs::write(self.workspace.path(&format!("stand-in/{what}.rc")), rc.to_string()).unwrap();
    }

    /// How the session stands in OpenClaw's list, and when it last changed.
    pub(crate) fn session(&self, status: &str, updated_ms: i64) {
        self.says("sessions", &Self::sessions(status, updated_ms), 0);
    }

    fn sessions(status: &str, updated_ms: i64) -> String {
        let path = root().join("tests/fixtures/openclaw/answers/sessions.json");
        let mut list: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let ours = json!({"key": KEY, "updatedAt": updated_ms, "sessionId": "s-1", "status": status, "abortedLastRun": status == "killed",
                          "agentId": "main", "kind": "direct"});
        list["sessions"].as_array_mut().unwrap().insert(2, ours);
        list.to_string()
    }

    /// What happens to the session while this call goes on.
    pub(crate) fn meanwhile(&self, what: &str, status: &str, updated_ms: i64) {
        fs::write(self.workspace.path("stand-in/later"), Self::sessions(status, updated_ms)).unwrap();
        fs::write(self.workspace.path(&format!("stand-in/{what}.sh")), "cp \"$STAND_IN/later\" \"$STAND_IN/sessions\"\n").unwrap();
    }

    pub(crate) fn resume(&self) -> Ran<'_> {
        let mut command = self.workspace.command("resume");
        command.args(["t", "--force"]).envs(&self.env);
        self.workspace.finish(command, None)
    }

    /// How the attempt ended, by resume's word.
    #[track_caller]
    pub(crate) fn outcome(&self) -> String {
        let ran = self.resume();
        ran.ok();
        let card = self.card();
        card["outcome"]["kind"].as_str().unwrap_or_else(|| panic!("{ran}")).to_owned()
    }

    pub(crate) fn card(&self) -> Value {
        self.workspace.card("t")
    }

    pub(crate) fn calls(&self) -> Vec<String> {
        self.workspace.lines("stand-in/calls")
    }

    pub(crate) fn sent(&self) -> usize {
        self.calls().iter().filter(|call| call.starts_with("openclaw [agent]") || call.starts_with("openclaw [system]")).count()
    }

    /// The newest prompt, with the call that it was sent by.
    pub(crate) fn last_sent(&self) -> String {
        self.calls().into_iter().rfind(|call| call.starts_with("openclaw [agent]")).unwrap()
    }

    pub(crate) fn stderr(&self) -> String {
        let card = self.card();
        card["outcome"]["stderr_tail"].as_str().unwrap_or_default().to_owned()
    }
}

pub(crate) fn time(value: &Value) -> time::OffsetDateTime {
    time::OffsetDateTime::parse(value.as_str().unwrap(), &time::format_description::well_known::Rfc3339).unwrap()
}
