"""The commands of task_runtime.py: the older runtime's options, carried out by card, checkpoint and watch.

Each prints one JSON object: {"ok": true, "action": ..., "task": ...} on stdout and exit status 0,
or {"ok": false, "error": ...} on stderr and exit status 1. Options that cannot be read: status 2.
"""

import argparse
import json
import os
import shlex
import sys

import task_runtime
from task_runtime import TaskRuntimeError, append_history, list_cards, load_card, make_result, now_iso, run, save_card, tell
from task_runtime_merge import DISPATCHER, TODAYS_STATUS

# What a task may be held back by although it is silent: those of watch's reasons that say "it would be brought back, but".
HELD_BACK = {
    "no_adapter", "adapter_missing", "adapter_insecure", "dependency_failed", "dependency_missing", "too_old",
    "non_idempotent_phase_blocked",
}
VERBS = {"completed": "complete", "failed": "fail", "needs_attention": "block", "cancelled": "cancel"}


def _shared_options(parser, *, resume=True):
    """The options that change a card. They have no defaults of their own: only what is given is carried out. A standing message
    ("checkpoint", "task failed") would count as news, and that resets the count of attempts."""
    for name in ("--phase", "--status", "--notes", "--message"):
        parser.add_argument(name)
    parser.add_argument("--artifact", action="append", default=[], metavar="NAME=PATH")
    parser.add_argument("--meta", action="append", default=[], metavar="KEY=VALUE")
    for name in ("safe_to_retry", "allow_auto_resume"):
        option = name.replace("_", "-")
        parser.add_argument("--" + option, dest=name, action="store_true", default=None)
        parser.add_argument("--no-" + option, dest=name, action="store_false", default=None)
    if resume:
        for name in ("--title", "--resume-command", "--resume-adapter", "--stale-after-minutes", "--max-retries"):
            parser.add_argument(name)


def build_parser():
    parser = argparse.ArgumentParser(prog="task_runtime.py", description="Run cards of long tasks")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.required = True
    create = commands.add_parser("create", help="make a card")
    create.add_argument("--task-id")
    create.add_argument("--task-type", required=True)
    create.add_argument("--mode", default="full")
    create.add_argument("--owner-skill", default="")
    _shared_options(create)
    create.set_defaults(carry_out=_create, phase="planning", status="running", stale_after_minutes="30", max_retries="2")
    for name, text, carry_out in (
        ("checkpoint", "record progress", _checkpoint),
        ("update", "change a card; no sign of life", _update),
        ("complete", "the task is done", _end),
        ("block", "a person has to decide", _end),
        ("fail", "the task is given up", _end),
    ):
        command = commands.add_parser(name, help=text)
        command.add_argument("task_id")
        _shared_options(command, resume=name in ("checkpoint", "update"))
        command.set_defaults(carry_out=carry_out)
    for name, status in (("complete", "done"), ("block", "blocked"), ("fail", "failed")):
        commands.choices[name].set_defaults(status=status)
    inspect = commands.add_parser("inspect", help="show a whole card")
    inspect.add_argument("task_id")
    inspect.set_defaults(carry_out=_inspect)
    cards = commands.add_parser("list", help="show all cards")
    cards.add_argument("--task-type")
    cards.add_argument("--status")
    cards.add_argument("--only-stale", action="store_true")
    cards.set_defaults(carry_out=_list)
    stale = commands.add_parser("stale", help="show the tasks that went silent and may be brought back")
    stale.add_argument("--task-type")
    stale.add_argument("--require-resume-command", action="store_true")
    stale.set_defaults(carry_out=_stale)
    retry = commands.add_parser("mark-retry", help="record that a task was brought back")
    retry.add_argument("task_id")
    retry.add_argument("--message")
    retry.add_argument("--error")
    retry.set_defaults(carry_out=_mark_retry)
    return parser


def _given(args, *names):
    """These options as the programs take them, if they were given."""
    words = []
    for name in names:
        value, option = getattr(args, name, None), "--" + name.replace("_", "-")
        if isinstance(value, bool):
            words.append(option if value else "--no-" + option[2:])
        elif isinstance(value, list):
            words += [word for item in value for word in (option, item.strip())]
        elif value not in (None, ""):
            words += [option, value]
    return words


def _status(args):
    return TODAYS_STATUS.get(args.status, args.status)


def _resume_words(args):
    """How the task is brought back: by the command rather than by the adapter, unless the command only calls the adapter."""
    if args.resume_command and DISPATCHER not in args.resume_command:
        words = [os.path.expandvars(os.path.expanduser(word)) for word in shlex.split(args.resume_command)]
        return ["--resume-command", " ".join(map(shlex.quote, words))]
    adapter = task_runtime.resolve_workspace_path(args.resume_adapter)
    return ["--resume-adapter", adapter] if adapter else []


# Everything that says how a task is brought back, in the order in which it has its effect.
POLICY = ("title", "notes", "stale_after_minutes", "max_retries", "safe_to_retry", "allow_auto_resume")


def _split_artifacts(args):
    """Leaves those that are files, which the programs make absolute, and returns the others, which are kept as they are."""
    texts = {}
    for item in list(args.artifact):
        name, separator, value = (part.strip() for part in item.partition("="))
        if separator and not os.path.isabs(value) and not (task_runtime.WORKSPACE / value).exists():
            args.artifact.remove(item)
            texts[name] = value
    return texts


def _add_artifacts(task_id, texts):
    if texts:
        card = load_card(task_id)
        card["artifacts"].update(texts)
        save_card(card)


def _done(action, task_id):
    return {"ok": True, "action": action, "task": make_result(load_card(task_id))}


def _create(args):
    task_id = ["--task-id", task_runtime.sanitize_task_id(args.task_id)] if args.task_id else []
    texts = _split_artifacts(args)
    words = _given(args, "task_type", "title", "mode", "owner_skill", "phase", "notes", "stale_after_minutes", "max_retries",
                   "safe_to_retry", "allow_auto_resume", "artifact", "meta")
    made = run("card", "create", *task_id, *words, "--status", _status(args), *_resume_words(args))
    made_id = json.loads(made)["task_id"]
    _add_artifacts(made_id, texts)
    return _done("create", made_id)


def _checkpoint(args):
    task_id = task_runtime.known_id(args.task_id)
    status = ["--status", _status(args)] if args.status else []
    _add_artifacts(task_id, _split_artifacts(args))
    words = _given(args, "phase", "message", "artifact", "meta", *POLICY)
    run("checkpoint", task_id, *words, *status, *_resume_words(args))
    return _done("checkpoint", task_id)


def _update(args):
    task_id = task_runtime.known_id(args.task_id)
    status = ["--status", _status(args)] if args.status else []
    _add_artifacts(task_id, _split_artifacts(args))
    run("card", "update", task_id, *_given(args, "phase", "artifact", "meta", *POLICY), *status, *_resume_words(args))
    if args.message:
        card = load_card(task_id)
        append_history(card, "update", phase=card["phase"], status=card["status"], message=args.message)
        save_card(card)
    return _done("update", task_id)


def _end(args):
    """complete, block, fail. What is to be changed besides comes first: a finished card does not change any more."""
    task_id, verb = task_runtime.known_id(args.task_id), VERBS.get(_status(args))
    _add_artifacts(task_id, _split_artifacts(args))
    besides = _given(args, "notes", "safe_to_retry", "allow_auto_resume")
    if verb is None:
        besides += ["--status", _status(args), *_given(args, "phase", "artifact", "meta")]
    if besides:
        run("card", "update", task_id, *besides)
    if verb is not None:
        run("card", verb, task_id, *_given(args, "phase", "message", "artifact", "meta"))
    return _done({"complete": "complete", "block": "blocked", "fail": "failed"}[args.command], task_id)


def _inspect(args):
    card = load_card(args.task_id)
    return {"ok": True, "action": "inspect", "task": card, "task_path": str(task_runtime.task_path(card["id"]))}


def silent_ids(task_type=None):
    """The tasks that went silent and that their cards allow to be brought back, also those that something else holds back."""
    lines = run("watch", "--format", "jsonl", *(["--task-type", task_type] if task_type else []))
    signals = map(json.loads, filter(None, lines.split("\n")))
    return {signal["task_id"] for signal in signals if signal["signal"] == "alert" or signal.get("reason") in HELD_BACK}


def _list(args):
    cards = list_cards(task_type=args.task_type, status=args.status)
    if args.only_stale:
        silent = silent_ids(args.task_type)
        cards = [card for card in cards if card["id"] in silent]
    return {"ok": True, "action": "list", "count": len(cards), "tasks": [make_result(card) for card in cards]}


def _stale(args):
    silent = silent_ids(args.task_type)
    cards = [card for card in list_cards(task_type=args.task_type, status="running") if card["id"] in silent]
    if args.require_resume_command:
        cards = [card for card in cards if card["resume_command_argv"]]
    return {"ok": True, "action": "stale", "count": len(cards), "tasks": [make_result(card) for card in cards]}


def _mark_retry(args):
    card = load_card(args.task_id)
    card["retry_count"] += 1
    card["last_resume_attempt_at"] = now_iso()
    if args.error:
        card["last_resume_error"] = args.error
    message = args.message or args.error or "resume attempt recorded"
    append_history(card, "resume-attempt", phase=card["phase"], status=card["status"], message=message)
    save_card(card)
    return _done("mark-retry", card["id"])


def main(argv=None):
    args = build_parser().parse_args(argv)
    try:
        result = args.carry_out(args)
    except (TaskRuntimeError, OSError, ValueError) as error:
        tell({"ok": False, "error": str(error)}, sys.stderr)
        return 1
    tell(result, sys.stdout)
    return 0
