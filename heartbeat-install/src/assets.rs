//! What is placed besides the programs, with its place in the workspace. Everything is inside this program.

/// A file that is placed.
pub(crate) struct Asset {
    /// Where, below the workspace.
    pub(crate) place: &'static str,
    /// 0755 for what is run, 0644 for what is read.
    pub(crate) mode: u32,
    pub(crate) bytes: &'static [u8],
}

macro_rules! asset {
    ($place:literal, $mode:literal, $file:literal) => {
        Asset { place: $place, mode: $mode, bytes: include_bytes!(concat!("../assets/", $file)) }
    };
}

/// For every workspace.
pub(crate) const ASSETS: [Asset; 23] = [
    asset!("bin/recovery-pass", 0o755, "recovery-pass"),
    asset!("templates/task-recovery/task_resume.sh", 0o755, "templates/task_resume.sh"),
    asset!("templates/task-recovery/task_resume.py", 0o755, "templates/task_resume.py"),
    asset!("bin/run-ended", 0o755, "run-ended"),
    asset!("templates/task-recovery/openclaw_session.sh", 0o755, "adapters/openclaw_session.sh"),
    asset!("templates/task-recovery/claude_session.sh", 0o755, "adapters/claude_session.sh"),
    asset!("templates/task-recovery/codex_session.sh", 0o755, "adapters/codex_session.sh"),
    asset!("templates/task-recovery/session.sh", 0o644, "adapters/session.sh"),
    asset!("templates/task-recovery/resume-prompt.en.txt", 0o644, "adapters/resume-prompt.en.txt"),
    asset!("templates/task-recovery/resume-prompt.zh.txt", 0o644, "adapters/resume-prompt.zh.txt"),
    asset!("docs/task-recovery/en/adapter-contract.md", 0o644, "docs/en/adapter-contract.md"),
    asset!("docs/task-recovery/en/agent-runs.md", 0o644, "docs/en/agent-runs.md"),
    asset!("docs/task-recovery/en/notify.md", 0o644, "docs/en/notify.md"),
    asset!("docs/task-recovery/en/practice.md", 0o644, "docs/en/practice.md"),
    asset!("docs/task-recovery/en/PROMPTS.md", 0o644, "docs/en/PROMPTS.md"),
    asset!("docs/task-recovery/en/troubleshooting.md", 0o644, "docs/en/troubleshooting.md"),
    asset!("docs/task-recovery/zh/adapter-contract.md", 0o644, "docs/zh/adapter-contract.md"),
    asset!("docs/task-recovery/zh/agent-runs.md", 0o644, "docs/zh/agent-runs.md"),
    asset!("docs/task-recovery/zh/notify.md", 0o644, "docs/zh/notify.md"),
    asset!("docs/task-recovery/zh/practice.md", 0o644, "docs/zh/practice.md"),
    asset!("docs/task-recovery/zh/PROMPTS.md", 0o644, "docs/zh/PROMPTS.md"),
    asset!("docs/task-recovery/zh/troubleshooting.md", 0o644, "docs/zh/troubleshooting.md"),
    asset!("skills/task-recovery/SKILL.md", 0o644, "skill/SKILL.md"),
];

/// For workspaces of the Python predecessor: its three files' names over our programs, and what they share.
pub(crate) const SHIM: [Asset; 5] = [
    asset!("scripts/task_runtime.py", 0o755, "scripts/task_runtime.py"),
    asset!("scripts/task_runtime_watch.py", 0o755, "scripts/task_runtime_watch.py"),
    asset!("scripts/task_runtime_resume.py", 0o755, "scripts/task_runtime_resume.py"),
    asset!("scripts/task_runtime_commands.py", 0o644, "scripts/task_runtime_commands.py"),
    asset!("scripts/task_runtime_merge.py", 0o644, "scripts/task_runtime_merge.py"),
];

/// A plugin of OpenClaw, which tells the programs how agents' runs end.
pub(crate) const PLUGIN: [Asset; 4] = [
    asset!("plugins/task-recovery/package.json", 0o644, "plugin/package.json"),
    asset!("plugins/task-recovery/openclaw.plugin.json", 0o644, "plugin/openclaw.plugin.json"),
    asset!("plugins/task-recovery/index.js", 0o644, "plugin/index.js"),
    asset!("plugins/task-recovery/runs.js", 0o644, "plugin/runs.js"),
];

/// The files by which the predecessor is known.
pub(crate) const PREDECESSOR: [&str; 3] =
    ["scripts/task_runtime.py", "scripts/task_runtime_watch.py", "scripts/task_runtime_resume.py"];

/// The texts for heartbeats and agents, by language: `[en, zh]`.
pub(crate) const HEARTBEAT: [&str; 2] =
    [include_str!("../assets/texts/heartbeat.en.md"), include_str!("../assets/texts/heartbeat.zh.md")];
pub(crate) const ENTRY: [&str; 2] = [include_str!("../assets/texts/entry.en.txt"), include_str!("../assets/texts/entry.zh.txt")];
pub(crate) const AGENTS: [&str; 2] = [include_str!("../assets/texts/agents.en.md"), include_str!("../assets/texts/agents.zh.md")];
