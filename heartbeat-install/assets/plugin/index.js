// task-recovery for OpenClaw: tells the programs how agent runs ended.
//
// It decides nothing and keeps nothing: whether a run is to be continued, when
// and how often is the programs' business (card import, resume), and what they
// decide is on the session's card. A Gateway that dies takes at most the runs of
// the last minute from here; "card import --from openclaw-sessions" finds those.
//
//   hooks ── join by run ── quiet for a while ── record ── bin/run-ended FILE
//
// Quiet means that no hook told anything more of the run. After a good end that
// takes moments (llm_output comes behind agent_end). After a failure OpenClaw may
// still be retrying by itself, with pauses of up to half a minute and an
// agent_end for each: only when it has given up is there something to do. When
// somebody went on with the session meanwhile, it is that run's end that counts.
//
// register() runs again on each reload, and old hooks may stay alive: what is
// known of runs is kept outside, one for the process, and each event is taken
// once.

import { access, mkdtemp, rm, writeFile } from "node:fs/promises";
import { constants } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { add, endedWell, newRun, record } from "./runs.js";

const ID = "task-recovery";
const HOOKS = ["agent_end", "llm_output", "after_tool_call", "model_call_ended"];
const QUIET_AFTER_GOOD_END_MS = 2_000;
const QUIET_AFTER_FAILURE_MS = 45_000;
// More than the cooldown that run-ended waits for.
const COMMAND_TIMEOUT_MS = 180_000;
// Runs that never end are forgotten, oldest first.
const RUNS_MAX = 500;

// Sessions that OpenClaw opens for work of its own, such as a review of its skills: nobody waits for them.
const OWN_SESSIONS = ["*:internal-session-effects:*"];

const DEFAULTS = { enabled: true, maxAutoResumes: 3, cooldownMs: 15_000, nonAction: true, intentPhrases: [], denySessions: [] };

// One for the process, however often this file is loaded.
const shared = (globalThis[Symbol.for("task-recovery.runs")] ??= { runs: new Map(), seen: new WeakSet(), tell: null });

function register(api) {
  const options = optionsOf(api);
  // Timers of an earlier registration tell by the newest one's options.
  shared.tell = options.enabled ? (run) => tell(api, options, run) : null;
  if (!options.enabled) return;
  for (const hook of HOOKS) {
    api.on(hook, async (event, ctx) => guarded(api, () => onEvent(hook, event, ctx)));
  }
  api.on("session_end", async (event, ctx) => guarded(api, () => onSessionEnd(event, ctx)));
}

function optionsOf(api) {
  const given = api.pluginConfig ?? api.config?.plugins?.entries?.[ID]?.config ?? {};
  return { ...DEFAULTS, ...given };
}

// A fault of ours never becomes one of the run.
function guarded(api, body) {
  try {
    body();
  } catch (error) {
    warn(api, error);
  }
}

function onEvent(hook, event, ctx) {
  if (event === null || typeof event !== "object" || shared.seen.has(event)) return;
  shared.seen.add(event);
  const runId = event.runId ?? ctx?.runId;
  if (typeof runId !== "string" || runId === "") return;
  let run = shared.runs.get(runId);
  if (run === undefined) {
    run = { ...newRun(runId), begunAtMs: Date.now() };
    shared.runs.set(runId, run);
    forgetOldest();
  }
  const ends = add(run, hook, event, ctx, Date.now());
  // Of a run that was told, only another end is news.
  if (run.ended === null || (run.told && !ends)) return;
  run.told = false;
  wait(run);
}

function wait(run) {
  clearTimeout(run.timer);
  run.timer = setTimeout(() => end(run), endedWell(run) ? QUIET_AFTER_GOOD_END_MS : QUIET_AFTER_FAILURE_MS);
  // A Gateway that stops does not wait for us.
  run.timer.unref?.();
}

function end(run) {
  clearTimeout(run.timer);
  run.told = true;
  if (endedWell(run) || !wentOn(run)) shared.tell?.(run);
}

// A heartbeat goes on with nothing.
function wentOn(run) {
  const later = (other) => other.begunAtMs > run.endedAtMs && other.trigger !== "heartbeat";
  return [...shared.runs.values()].some((other) => later(other) && isOf(other, run.sessionId, run.sessionKey));
}

function isOf(run, sessionId, sessionKey) {
  return sessionId !== undefined && run.sessionId !== undefined ? run.sessionId === sessionId : run.sessionKey === sessionKey;
}

// A session that is left behind takes its runs with it; when the Gateway stops,
// what is known is told at once.
function onSessionEnd(event, ctx) {
  const key = event?.sessionKey ?? ctx?.sessionKey;
  const id = event?.sessionId ?? ctx?.sessionId;
  for (const run of shared.runs.values()) {
    if (!isOf(run, id, key) || run.ended === null || run.told) continue;
    if (event?.reason === "shutdown") end(run);
    else if (LEFT_BEHIND.has(event?.reason)) {
      clearTimeout(run.timer);
      shared.runs.delete(run.runId);
    }
  }
}

const LEFT_BEHIND = new Set(["new", "reset", "deleted"]);

function forgetOldest() {
  for (const [runId, run] of shared.runs) {
    if (shared.runs.size <= RUNS_MAX) return;
    clearTimeout(run.timer);
    shared.runs.delete(runId);
  }
}

async function tell(api, options, run) {
  let folder;
  try {
    if (run.trigger === "heartbeat" || isDenied([...OWN_SESSIONS, ...options.denySessions], run.sessionKey)) return;
    const command = await runEnded(run.workspaceDir);
    if (command === null) {
      warn(api, "bin/run-ended is in no workspace; run heartbeat-install again");
      return;
    }
    // A file, because a command line can be read by everyone on the machine.
    folder = await mkdtemp(join(tmpdir(), "task-recovery-"));
    const file = join(folder, "run.json");
    await writeFile(file, JSON.stringify(recordFor(options, run)) + "\n", { mode: 0o600 });
    const ran = await api.runtime.system.runCommandWithTimeout([command, ...argumentsOf(options), file], {
      timeoutMs: COMMAND_TIMEOUT_MS,
    });
    if (ran?.code !== 0) warn(api, `run-ended: ${String(ran?.stderr ?? "").trim() || `exit status ${ran?.code}`}`);
  } catch (error) {
    warn(api, error);
  } finally {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true }).catch(() => {});
  }
}

// Only a run that is known to have called nothing can be one of words without
// action: without nonAction that is not told.
function recordFor(options, run) {
  const { tool_calls, ...others } = record(run);
  return options.nonAction === false && tool_calls === 0 ? others : { ...others, tool_calls };
}

function argumentsOf(options) {
  const args = ["--max-retries", String(options.maxAutoResumes), "--cooldown-seconds", String(options.cooldownMs / 1000)];
  for (const phrase of options.intentPhrases) args.push("--intent-phrase", phrase);
  return args;
}

// The agent's own workspace comes first, then the one that this plugin lies in.
async function runEnded(workspaceDir) {
  const folders = workspaceDir ? [workspaceDir] : [];
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    folders.push(folder);
    if (dirname(folder) === folder) break;
  }
  for (const folder of folders) {
    const command = join(folder, "bin", "run-ended");
    try {
      await access(command, constants.X_OK);
      return command;
    } catch {
      // The next one.
    }
  }
  return null;
}

// Patterns of session keys: "*" stands for anything, all else for itself.
function isDenied(patterns, key) {
  const fits = (pattern) =>
    new RegExp(`^${pattern.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join(".*")}$`, "s").test(key ?? "");
  return patterns.some(fits);
}

function warn(api, why) {
  const line = `${ID}: ${why instanceof Error ? why.message : why}`;
  if (api.logger?.warn) api.logger.warn(line);
  else process.stderr.write(`${line}\n`);
}

export default { id: ID, name: ID, description: "Agent runs that ended without being finished go on", register };
