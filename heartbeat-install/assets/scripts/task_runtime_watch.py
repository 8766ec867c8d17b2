#!/usr/bin/env python3
"""One pass of the watchdog, as the older runtime did it: `watch`, and with --auto-resume `watch | resume`.

Prints one JSON object. What people should hear of is in "alerts" (a task went silent), "recoveries"
(an attempt got it further) and "needs_attention" (a person is needed, and was not told before);
"active_needs_attention" is everything that needs a person. All four empty: there is nothing to say.
--dry-run changes nothing. Exit status 0 when the pass was carried out, whatever it found.
"""

import argparse
import json
import os
import sys

# Without this, python3 -I would not find what stands beside this file.
if os.path.dirname(os.path.abspath(__file__)) not in sys.path:
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))

from task_runtime import TaskRuntimeError, list_cards, make_result, now_iso, run, seconds_since_checkpoint, tell  # noqa: E402
from task_runtime_resume import supervise  # noqa: E402


def _age(seconds):
    if seconds is None:
        return "unknown"
    minutes = seconds // 60
    if minutes < 1:
        return "%ds" % seconds
    return "%dm" % minutes if minutes < 60 else "%dh%02dm" % divmod(minutes, 60)


def _entry(signal, cards, message):
    """A signal line with what the older runtime's readers look for: task_type, kind, summary and message."""
    card = cards.get(signal["task_id"], {})
    name = "%s:%s" % (signal.get("task_type") or card.get("task_type") or "task", signal["task_id"])
    state = (name, signal.get("to_phase") or signal.get("phase") or card.get("phase"), card.get("status"))
    entry = {name: value for name, value in signal.items() if name not in ("signal", "new")}
    entry.setdefault("task_type", card.get("task_type", ""))
    entry["summary"] = "%s phase=%s status=%s age=%s" % (*state, _age(seconds_since_checkpoint(card)))
    entry["message"] = "%s %s" % (name, message)
    return entry


def _silent(signal, cards):
    minutes = signal.get("stale_for_minutes")
    since = " for %s" % _age(int(minutes * 60)) if minutes is not None else ""
    message = "went silent%s in phase %s (%s)" % (since, signal.get("phase"), signal.get("reason"))
    return dict(_entry(signal, cards, message), kind="silent")


def _attention(signal, cards):
    detail = signal.get("detail")
    next_step = "; next: " + signal["next"] if signal.get("next") else ""
    message = "needs attention: %s%s%s" % (signal.get("reason"), ": " + detail if detail else "", next_step)
    return _entry(signal, cards, message)


def _recovery(signal, cards):
    card = cards.get(signal["task_id"], {})
    message = "was brought back: %s, now in phase %s, %s" % (signal.get("outcome"), signal.get("to_phase"), card.get("status"))
    return dict(_entry(signal, cards, message), retry_count=card.get("retry_count"))


def _attempt(signal, cards):
    """What was tried with a task, or would be."""
    tried = {"task_id": signal["task_id"], "retry_count": cards.get(signal["task_id"], {}).get("retry_count")}
    tried.update((name, signal[name]) for name in ("attempt", "outcome", "detail", "next_attempt_at", "log") if name in signal)
    if signal["signal"] == "dry_run":
        return dict(tried, ok=True, action="dry-run", command=" ".join(signal.get("command", [])), reason=signal.get("reason"))
    return dict(tried, ok=signal["signal"] in ("recovery", "started"), action="resume")


def look(task_type=None, auto_resume=False, dry_run=False, timeout_seconds=None):
    """One pass: its report and the exit status of `resume`."""
    found = run("watch", "--format", "jsonl", *(["--task-type", task_type] if task_type else []))
    signals = [json.loads(line) for line in found.split("\n") if line]
    every = list_cards(task_type=task_type)
    before = after = {card["id"]: card for card in every}
    done, status = [], 0
    if auto_resume:
        limit = [] if timeout_seconds is None else ["--timeout-seconds", timeout_seconds]
        done, said, status = supervise(*(["--dry-run"] if dry_run else []), *limit, stdin=found)
        if said:
            print(said, file=sys.stderr)
        after = {card["id"]: card for card in list_cards(task_type=task_type)}
    running = [card for card in every if card["status"] == "running"]
    silent = {signal["task_id"] for signal in signals if signal["signal"] == "alert"}
    stale = [card for card in every if card["id"] in silent]
    report = {
        "checked_at": now_iso(),
        "running_count": len(running),
        "stale_count": len(stale),
        "running": [make_result(card) for card in running],
        "stale": [make_result(card) for card in stale],
        "alerts": [_silent(signal, before) for signal in signals if signal["signal"] == "alert"],
        "recoveries": [],
        "resumed": [],
        "skipped": [],
        "needs_attention": [],
        "active_needs_attention": [],
    }
    for signal in done if auto_resume else signals:
        kind = signal["signal"]
        if kind == "needs_attention":
            report["active_needs_attention"].append(_attention(signal, after))
            # Only resume knows what people were told before.
            if signal.get("new"):
                report["needs_attention"].append(_attention(signal, after))
        elif kind == "recovery":
            report["recoveries"].append(_recovery(signal, after))
        elif kind == "skipped" or signal.get("would") == "skip" or (kind == "alert" and not auto_resume):
            reason = signal.get("reason") if auto_resume else "silent, and auto-resume was not requested"
            report["skipped"].append(_entry(dict(signal, reason=reason), after, "was left alone: %s" % reason))
        if auto_resume and ("attempt" in signal or signal.get("would") in ("resume", "start")):
            report["resumed"].append(_attempt(signal, after))
    return report, status


def main():
    parser = argparse.ArgumentParser(description="Say which tasks went silent, and bring them back")
    parser.add_argument("--task-type", help="only tasks of this type")
    parser.add_argument("--auto-resume", action="store_true", help="bring back what went silent")
    parser.add_argument("--dry-run", action="store_true", help="change nothing, say what would be done")
    parser.add_argument("--timeout-seconds", help="longest attempt, instead of the cards'")
    args = parser.parse_args()
    try:
        report, status = look(args.task_type, args.auto_resume, args.dry_run, args.timeout_seconds)
    except (TaskRuntimeError, OSError, ValueError) as error:
        tell({"ok": False, "error": str(error)}, sys.stderr)
        return 1
    tell(report, sys.stdout)
    return status


if __name__ == "__main__":
    sys.exit(main())
