#!/usr/bin/env python3
"""Brings one task back now: task_runtime_resume.py --task-id ID, as the older runtime did.

It is `resume ID --force`: the attempt is supervised, charged and recorded like any other. "ok" says
that the adapter ended with exit status 0; whether it got anywhere is in "outcome". Exit status 0
when ok, else 2 with the JSON on stderr.
"""

import argparse
import json
import os
import signal
import subprocess
import sys

# Without this, python3 -I would not find what stands beside this file.
if os.path.dirname(os.path.abspath(__file__)) not in sys.path:
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))

from task_runtime import TASK_RUNS_DIR, TaskRuntimeError, command, load_card, tell  # noqa: E402

# Of a log, this much is read back.
OUTPUT_BYTES_MAX = 4 * 1024 * 1024


def supervise(*args, stdin=""):
    """Runs `resume` to its end: its lines, what it said, its exit status. Signals to us are handed on, so that it can settle."""
    forwarded = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in forwarded}
    child = None

    def forward(number, _frame):
        if child is not None:
            child.send_signal(number)

    for number in forwarded:
        if before[number] != signal.SIG_IGN:
            signal.signal(number, forward)
    try:
        words, pipe = command("resume", *args, "--format", "jsonl"), subprocess.PIPE
        child = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe)
        output, said = child.communicate(stdin.encode())
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    status = child.returncode if child.returncode >= 0 else 128 - child.returncode
    return [json.loads(line) for line in output.splitlines()], said.decode(errors="replace").strip(), status


def attempt_output(task_id, attempt, kind):
    """What an attempt printed: its log's end. Empty when there is none."""
    path = TASK_RUNS_DIR / "logs" / task_id / ("%d.%s" % (attempt, kind))
    try:
        with open(path, "rb") as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - OUTPUT_BYTES_MAX))
            return log.read().decode(errors="replace").strip()
    except OSError:
        return ""


def _result(text):
    """An adapter's stdout: its JSON, or the text as it is."""
    if not text:
        return None
    try:
        return json.loads(text)
    except ValueError:
        return {"raw_stdout": text}


def bring_back(task_id, timeout_seconds=None):
    """One attempt: whether it ended well, the JSON that says so, and the exit status of `resume` when a signal ended it."""
    before = load_card(task_id)
    task_id = before["id"]
    limit = [] if timeout_seconds is None else ["--timeout-seconds", timeout_seconds]
    lines, said, status = supervise(task_id, "--force", *limit)
    after = load_card(task_id)
    adapter = after["resume_adapter"]
    words = [adapter, "--task-id", task_id] if adapter else after["resume_command_argv"]
    report = {"ok": False, "task_id": task_id, "adapter": adapter, "command": words}
    attempt = after.get("attempt", 0)
    if attempt == before.get("attempt", 0):
        line = lines[-1] if lines else {}
        report["error"] = said or line.get("detail") or line.get("reason") or "resume: exit status %d" % status
        return report, status
    # A card that the attempt itself finished does not change any more: how the attempt ended is only in what resume printed.
    line = next((line for line in lines if line.get("attempt") == attempt), {})
    outcome = after.get("outcome", {})
    if outcome.get("attempt") != attempt:
        outcome = {"kind": line.get("outcome"), "detail": line.get("detail"), "exit_status": line.get("exit_status")}
        report["ok"] = line.get("signal") in ("recovery", "started")
    else:
        report["ok"] = outcome.get("exit_status") == 0
    report.update(attempt=attempt, outcome=outcome["kind"], status=after["status"], phase=after["phase"])
    output = attempt_output(task_id, attempt, "out")
    if report["ok"]:
        report["result"] = _result(output)
    else:
        report.update(stdout=output, stderr=attempt_output(task_id, attempt, "err"), returncode=outcome.get("exit_status"))
        report["error"] = outcome.get("detail") or outcome.get("kind") or "the attempt was not settled"
    return report, status


def main():
    parser = argparse.ArgumentParser(description="Bring a task back now, by its adapter")
    parser.add_argument("--task-id", required=True)
    parser.add_argument("--timeout-seconds", help="longest attempt, instead of the card's")
    args = parser.parse_args()
    try:
        report, status = bring_back(args.task_id, args.timeout_seconds)
    except (TaskRuntimeError, OSError, ValueError) as error:
        report, status = {"ok": False, "task_id": args.task_id, "error": str(error)}, 2
    tell(report, sys.stdout if report["ok"] else sys.stderr)
    if status > 128:
        return status
    return 0 if report["ok"] else 2


if __name__ == "__main__":
    sys.exit(main())
