//! Realistic cards, in the states that a verdict tells apart. The time is `NOW`, the folder `/`.

/// When the cards are judged.
pub(crate) const NOW: &str = "2026-12-01T00:00:00Z";

/// The task ID in the texts below, to be replaced.
pub(crate) const ID: &str = "TASK";

/// With what the programs say about each when nothing lives: the reason of its start, or nothing.
pub(crate) const CARDS: &[(&str, Option<&str>)] = &[
    (SILENT, Some("silent")),
    (HEALTHY, None),
    (STALLED, Some("retry_due")),
    (PENDING, Some("ready")),
    (DIED, Some("attempt_died")),
    (COMMAND, Some("silent")),
    (PREDECESSOR, Some("silent")),
    (PERMITTED, Some("retry_due")),
    (BACKGROUND, Some("silent")),
    (COOLING, None),
    (MANUAL, None),
    (CANCELLED, None),
    (ATTENTION, None),
    (COMPLETED, None),
];

/// A card as it stands in a file of this name.
pub(crate) fn named(card: &str, id: &str) -> String {
    card.replace(ID, id)
}

/// Its checkpoints are laid out as they are written, for which the programs' reader has a short cut.
pub(crate) const SILENT: &str = r#"{
  "schema_version": 1, "revision": 7, "task_id": "TASK", "task_type": "report", "title": "月报 📈",
  "created_at": "2026-11-30T20:00:00Z", "updated_at": "2026-11-30T23:20:00Z", "status": "running", "phase": "collect",
  "resume_adapter": "/bin/sh", "allow_auto_resume": true, "stale_after_minutes": 30, "max_retries": 3, "retry_count": 1,
  "max_failures": 50, "failures": 2, "attempt": 4, "timeout_seconds": 300, "cooldown_seconds": 15, "give_up_after_minutes": 4320,
  "last_checkpoint_at": "2026-11-30T23:20:00Z", "checkpoint_count": 2,
  "checkpoints": [
    {
      "phase": "plan",
      "at": "2026-11-30T22:00:00Z",
      "message": "planned"
    },
    {
      "phase": "collect",
      "at": "2026-11-30T23:20:00Z",
      "message": "250 of 1000"
    }
  ],
  "artifacts": {"phase_plan": {"plan": "/tmp/plan.md"}}, "artifact_digests": {"/tmp/plan.md": {"bytes": 4, "sha256": "b5bb"}},
  "steps": [{"name": "one", "status": "done", "result": "fine"}, {"name": "two", "status": "pending"}],
  "context": {"cursor": 250}, "metadata": {"depends_on": ["done_1"], "owner": "alice"},
  "outcome": {"at": "2026-11-30T23:00:00Z", "attempt": 4, "kind": "progressed"}, "note": 1.10
}"#;

pub(crate) const HEALTHY: &str = r#"{"revision":3,"task_id":"TASK","task_type":"report","title":"It works","created_at":"2026-11-30T22:00:00Z","updated_at":"2026-11-30T23:50:00Z","status":"running","phase":"collect","resume_adapter":"/bin/sh","allow_auto_resume":true,"stale_after_minutes":30,"max_retries":3,"retry_count":0,"last_checkpoint_at":"2026-11-30T23:50:00Z","checkpoint_count":1,"checkpoints":[{"phase":"collect","at":"2026-11-30T23:50:00Z","message":"page 3"}]}"#;

const STALLED: &str = r#"{"schema_version":1,"revision":9,"task_id":"TASK","task_type":"crawl","title":"Crawl","created_at":"2026-11-30T20:00:00Z","updated_at":"2026-11-30T23:55:00Z","status":"stalled","phase":"fetch","resume_adapter":"/bin/sh","allow_auto_resume":true,"max_retries":3,"retry_count":2,"failures":2,"attempt":2,"not_before":"2026-11-30T23:58:00Z","manual_phases":["send"],"outcome":{"at":"2026-11-30T23:57:30Z","attempt":2,"kind":"failed","detail":"exit status 2","exit_status":2,"stderr_tail":"no route\n"}}"#;

const PENDING: &str = r#"{"schema_version":1,"revision":1,"task_id":"TASK","task_type":"render","title":"Render","created_at":"2026-11-30T23:59:00Z","updated_at":"2026-11-30T23:59:00Z","status":"pending","phase":"render","resume_adapter":"/bin/sh","allow_auto_resume":true,"metadata":{"depends_on":["done_1"],"pending_action":null}}"#;

const DIED: &str = r#"{"schema_version":1,"revision":4,"task_id":"TASK","task_type":"report","title":"It died","created_at":"2026-11-30T23:00:00Z","updated_at":"2026-11-30T23:55:00Z","status":"running","phase":"collect","resume_adapter":"/bin/sh","allow_auto_resume":true,"attempt":2,"retry_count":1,"failures":1,"run":{"attempt":2,"token":"9c1f0a7722d3e481","host":"here","pid":31337,"started_at":"2026-11-30T23:55:00Z","charged":true,"forerunners_from":1,"background":false}}"#;

const COMMAND: &str = r#"{"schema_version":1,"revision":2,"task_id":"TASK","task_type":"build","title":"make","created_at":"2026-11-30T22:00:00.5Z","updated_at":"2026-11-30T22:00:00Z","status":"running","phase":"","resume_argv":["sh","-c","true"],"cwd":"/","path":"/usr/bin:/bin","allow_auto_resume":true,"stale_after_minutes":7.5,"timeout_seconds":0}"#;

const PREDECESSOR: &str = r#"{"id":"TASK","task_type":"report-generation","title":"\u62a5\u544a","status":"running","phase":"collect","created_at":"2026-12-01T05:00:00.123456+08:00","updated_at":"2026-11-30 21:30:00","resume_command_argv":["/bin/sh","x.py"],"allow_auto_resume":true,"stale_after_minutes":30,"max_retries":3,"retry_count":1,"last_checkpoint_at":"2026-11-30T22:30:00.654321","safe_to_retry":true,"history":[{"event":"created","progress":0.5}],"artifacts":{"raw":"/tmp/raw.json"},"watchdog":{"last_alert_at":null,"alerts":2},"meta":{"depends_on":["done_1"],"cost":0.1}}"#;

const PERMITTED: &str = r#"{"schema_version":1,"revision":12,"task_id":"TASK","task_type":"mail","title":"Send it","created_at":"2026-11-25T20:00:00Z","updated_at":"2026-11-30T23:55:00Z","status":"stalled","phase":"send","resume_adapter":"/bin/sh","allow_auto_resume":false,"max_retries":3,"retry_count":3,"manual_phases":["send"],"permit":"send","approved_at":"2026-11-30T23:55:00Z"}"#;

const BACKGROUND: &str = r#"{"schema_version":1,"revision":5,"task_id":"TASK","task_type":"serve","title":"It left a server","created_at":"2026-11-30T20:00:00Z","status":"running","phase":"wait","resume_adapter":"/bin/sh","allow_auto_resume":true,"attempt":1,"last_checkpoint_at":"2026-11-30T22:00:00Z","run":{"attempt":1,"token":"a1","host":"here","pid":7,"started_at":"2026-11-30T21:00:00Z","background":true},"outcome":{"at":"2026-11-30T22:00:00Z","attempt":1,"kind":"progressed"}}"#;

const COOLING: &str = r#"{"task_id":"TASK","created_at":"2026-11-30T20:00:00Z","status":"stalled","phase":"fetch","resume_adapter":"/bin/sh","allow_auto_resume":true,"not_before":"2026-12-01T00:00:30Z","outcome":{"at":"2026-11-30T23:59:30Z","attempt":1,"kind":"timeout","signal":9}}"#;

const MANUAL: &str = r#"{"task_id":"TASK","created_at":"2026-11-30T20:00:00Z","status":"running","phase":"pay","resume_adapter":"/bin/sh","allow_auto_resume":true,"manual_phases":["send","pay"],"permit":"send","metadata":{"pending_action":"pay 120.50 €"}}"#;

const CANCELLED: &str = r#"{"task_id":"TASK","created_at":"2026-11-30T20:00:00Z","updated_at":"2026-11-30T23:00:00Z","status":"cancelled","phase":"fetch","resume_adapter":"/bin/sh","allow_auto_resume":true,"attempt":3,"run":{"attempt":3,"token":"a1","host":"here","pid":7,"started_at":"2026-11-30T21:00:00Z","charged":true}}"#;

const ATTENTION: &str = r#"{"task_id":"TASK","created_at":"2026-11-30T20:00:00Z","updated_at":"2026-11-30T23:00:00Z","status":"needs_attention","phase":"fetch","resume_adapter":"/bin/sh","allow_auto_resume":true,"attention":{"reason":"retries_exhausted","detail":"3 attempts","since":"2026-11-30T23:00:00Z"}}"#;

const COMPLETED: &str = r#"{"task_id":"TASK","created_at":"2026-11-30T20:00:00Z","status":"completed","phase":"done","resume_adapter":"/bin/sh","allow_auto_resume":true,"artifacts":{"phase_done":{"report":"/tmp/r.html"}}}"#;
