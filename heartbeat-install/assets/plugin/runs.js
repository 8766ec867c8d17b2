// What is known of runs that go on or have just ended. Pure: no clock, no
// files, no OpenClaw.
//
// A run is told in pieces, and no order of them can be relied on: agent_end
// comes before llm_output, and once for each of OpenClaw's own retries. So each
// piece only adds to what is known of its run, and what is known is read when
// nothing has come for a while.

const PARAMS_BYTES_MAX = 2048;
const ERROR_BYTES_MAX = 4096;
const TEXT_BYTES_MAX = 16384;

// A run of which nothing is known yet.
export function newRun(runId) {
  return { runId, ends: 0, tools: new Map(), ended: null, output: null, failureKind: null, endedAtMs: 0 };
}

// Adds a piece. Whether the run has ended, as far as this piece tells.
export function add(run, hook, event, ctx, nowMs) {
  for (const name of ["sessionKey", "sessionId", "agentId", "workspaceDir", "trigger"]) {
    run[name] = text(ctx?.[name]) || text(event?.[name]) || run[name];
  }
  switch (hook) {
    case "model_call_ended":
      // A later call that went well undoes an earlier failure.
      run.failureKind = event.outcome === "completed" ? null : text(event.failureKind) || "error";
      return false;
    case "after_tool_call": {
      const id = text(event.toolCallId) || text(ctx?.toolCallId) || `#${run.tools.size}`;
      run.tools.set(id, toolOfEvent(event));
      return false;
    }
    case "llm_output":
      run.output = event;
      return false;
    case "agent_end":
      run.ended = event;
      run.ends += 1;
      run.endedAtMs = nowMs;
      return true;
    default:
      return false;
  }
}

// Whether OpenClaw itself has nothing left to retry in it.
export function endedWell(run) {
  const { stopReason, error } = lastWords(run);
  return run.ended?.success === true && run.failureKind === null && !error && stopReason !== "error" && stopReason !== "aborted";
}

// The record that "card import --from openclaw-run" reads.
export function record(run) {
  const { stopReason, error, finalText } = lastWords(run);
  const tools = toolsOfMessages(run.ended?.messages);
  // The hooks tell more of a tool than the messages; the messages tell which was the last.
  const last = tools.length > 0 ? run.tools.get(tools.at(-1).id) ?? tools.at(-1).tool : [...run.tools.values()].at(-1);
  const known = {
    session_key: run.sessionKey,
    session_id: run.sessionId,
    agent_id: run.agentId,
    run_id: run.runId,
    trigger: run.trigger,
    success: typeof run.ended?.success === "boolean" ? run.ended.success : undefined,
    failure_kind: run.failureKind && run.failureKind !== "error" ? run.failureKind : undefined,
    stop_reason: stopReason,
    error: cut(error, ERROR_BYTES_MAX),
    tool_calls: Math.max(run.tools.size, tools.length),
    last_tool: last,
    final_text: cutStart(finalText, TEXT_BYTES_MAX),
    ended_at: new Date(run.endedAtMs).toISOString(),
    has_internal_retry: run.ends > 1 ? true : undefined,
  };
  return Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined && value !== ""));
}

// How the model's last message ended. Of the retries' messages only the newest
// counts, wherever it was told.
function lastWords(run) {
  const messages = thisTurn(run.ended?.messages);
  const ofMessages = messages.filter((message) => message?.role === "assistant").at(-1);
  const ofOutput = run.output?.lastAssistant;
  const newer = (ofOutput?.timestamp ?? 0) > (ofMessages?.timestamp ?? 0) ? ofOutput : ofMessages ?? ofOutput;
  const spoken = Array.isArray(run.output?.assistantTexts) ? text(run.output.assistantTexts.at(-1)) : "";
  return {
    stopReason: text(newer?.stopReason),
    error: text(run.ended?.error) || text(run.ended?.error?.message) || text(newer?.errorMessage),
    finalText: textOf(newer?.content) || (newer ? "" : spoken),
  };
}

// The messages after the last one of the user: those before it are of other runs.
function thisTurn(messages) {
  if (!Array.isArray(messages)) return [];
  return messages.slice(messages.findLastIndex((message) => message?.role === "user") + 1);
}

function toolsOfMessages(messages) {
  const results = thisTurn(messages).filter((message) => message?.role === "toolResult");
  return results.map((message) => ({ id: message.toolCallId, tool: toolOfMessage(message) }));
}

function toolOfEvent(event) {
  return known({
    name: text(event.toolName),
    params: cut(jsonOf(event.params), PARAMS_BYTES_MAX),
    error: cut(text(event.error) || text(event.error?.message) || thrown(event.result), ERROR_BYTES_MAX),
    exit_code: exitCode(event.result?.details),
  });
}

function toolOfMessage(message) {
  return known({
    name: text(message.toolName),
    error: cut(thrown(message), ERROR_BYTES_MAX),
    exit_code: exitCode(message.details),
  });
}

function thrown(result) {
  return result?.isError === true ? textOf(result.content) || "error" : "";
}

// A command that ended by a signal has no exit status of its own, and did not go well.
function exitCode(details) {
  if (Number.isInteger(details?.exitCode)) return details.exitCode;
  return text(details?.exitSignal) ? 128 : undefined;
}

function known(fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== ""));
}

function text(value) {
  return typeof value === "string" ? value : "";
}

function textOf(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (part?.type === "text" ? text(part.text) : "")).filter(Boolean).join("\n");
}

function jsonOf(value) {
  if (value === undefined || value === null) return "";
  try {
    return typeof value === "string" ? value : JSON.stringify(value);
  } catch {
    return "";
  }
}

// A text of at most so many bytes, never cut within a character.
function cut(value, bytes) {
  const whole = Buffer.from(text(value));
  if (whole.length <= bytes) return text(value);
  let end = bytes;
  while ((whole[end] & 0xc0) === 0x80) end -= 1;
  return whole.subarray(0, end).toString();
}

// The same, from its end: there a text says how it ends.
function cutStart(value, bytes) {
  const whole = Buffer.from(text(value));
  if (whole.length <= bytes) return text(value);
  let start = whole.length - bytes;
  while ((whole[start] & 0xc0) === 0x80) start += 1;
  return whole.subarray(start).toString();
}
