#!/usr/bin/env python3
"""Run cards for scripts that were written for the Python task runtime.

This file keeps the names of that runtime: its commands (task_runtime.py create, checkpoint, ...)
and its functions (load_card, save_card, append_history, now_iso, ...). All work is done by the
programs card, checkpoint and watch. Standard library only, Python 3.8 or later; importing it
starts nothing and touches no file.

How a card looks here. A card is given with the names of that runtime: "id", "meta", status
"done" and "blocked", artifacts as {"name": "path"}. Artifacts can also be asked for by phase:
card["artifacts"]["phase_collect"]["raw"]. A task between two attempts is "running".

How a card is saved. save_card never writes the card that it is given. It takes what the caller
changed since load_card, puts that into the card as it is now, and writes the result if nobody
wrote meanwhile; else it looks again. So what others recorded in between (checkpoints, history,
artifacts, any field that the caller left alone) stays. The version that the caller started from
is found by the card's "revision": a card keeps it when it is copied. An attempt that a newer one
has replaced cannot save: Refused is raised, and nothing was changed.
"""

import copy
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import time
from collections import OrderedDict
from datetime import datetime, timezone
from pathlib import Path

# A script that has loaded this file by its path has no other way to what stands beside it.
if os.path.dirname(os.path.abspath(__file__)) not in sys.path:
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))

from task_runtime_merge import (  # noqa: E402
    DISPATCHER, HISTORY_MAX, TODAYS_STATUS, Artifacts, Moment, RunCard, adopt, former_name, merge, parse_iso, view_of,
)

PROGRAMS = ("card", "checkpoint", "watch", "resume")
BASES_MAX = 64
SAVE_PATIENCE_SECONDS = 60


class TaskRuntimeError(Exception):
    """Something could not be done; the text says what, and why."""


class TaskNotFound(TaskRuntimeError):
    """There is no such task."""


class Busy(TaskRuntimeError):
    """Somebody else is writing, or wrote meanwhile: try again."""


class Refused(TaskRuntimeError):
    """Not allowed: a newer attempt has this task, or its status does not allow the change. Nothing was changed."""


# Exit statuses of the programs.
BAD_DATA = 65
ERRORS = {66: TaskNotFound, 75: Busy, 77: Refused}


# Where everything is

def _find_workspace():
    """The workspace and its card folder, searched as the programs do it; last, the folder that holds scripts/."""
    cards = os.environ.get("TASK_RUNS_DIR")
    if cards:
        folder = Path(os.path.abspath(cards))
        return (folder.parent.parent if folder.parts[-2:] == ("data", "task-runs") else folder.parent), folder
    named = os.environ.get("OPENCLAW_WORKSPACE") or os.environ.get("OPENCLAW_WORKSPACE_DIR")
    found = Path(os.path.abspath(os.path.expanduser(named) if named else Path(__file__).absolute().parent.parent))
    return found, found / "data" / "task-runs"


WORKSPACE, TASK_RUNS_DIR = _find_workspace()


def _find_programs():
    """The folder of the programs. One that has all of them: a "watch" alone on the PATH is another program."""
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    folders = [str(Path(__file__).absolute().parent.parent / "bin"), os.environ.get("TASK_BIN"), *path]
    for folder in filter(None, folders):
        if all(shutil.which(name, path=folder) for name in PROGRAMS):
            return folder
    raise TaskRuntimeError("cannot find the programs %s: not in %s, TASK_BIN or PATH" % (", ".join(PROGRAMS), folders[0]))


def command(program, *args):
    """The words that run one of the programs in this workspace."""
    place = [] if os.environ.get("TASK_RUNS_DIR") else ["--workspace", str(WORKSPACE)]
    return [os.path.join(_find_programs(), program), *args, *place]


def run(program, *args, stdin="", also=0):
    """Runs a program to its end and returns its stdout. TaskRuntimeError with what it said unless its status is 0 or `also`."""
    folder, pipe = str(WORKSPACE) if WORKSPACE.is_dir() else None, subprocess.PIPE
    done = subprocess.run(command(program, *args), input=stdin.encode(), stdout=pipe, stderr=pipe, cwd=folder)
    said = done.stderr.decode(errors="replace").strip()
    if done.returncode == 66:
        said = "task not found: " + said
    if done.returncode not in (0, also):
        raise ERRORS.get(done.returncode, TaskRuntimeError)(said or "%s: exit status %d" % (program, done.returncode))
    if done.returncode != 0:
        print(said, file=sys.stderr)
    return done.stdout.decode()


def tell(report, stream):
    """Prints a report. In UTF-8, whatever the locale; a reader that went away has seen enough."""
    try:
        stream.buffer.write(json.dumps(report, ensure_ascii=False, indent=2).encode(errors="replace") + b"\n")
        stream.buffer.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def sanitize_task_id(value):
    """An ID from free text, as the older runtime made them."""
    cleaned = re.sub(r"-{2,}", "-", re.sub(r"[^a-zA-Z0-9._-]+", "-", str(value).strip())).strip("-")
    if not cleaned:
        raise ValueError("task id is empty after sanitization")
    return cleaned.lower()


def known_id(value):
    """The ID as it is given, or as the older runtime would have written it if only that card exists."""
    text, cleaned = str(value), sanitize_task_id(value)
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", text) is None:
        return cleaned
    return cleaned if _card_path(cleaned).exists() and not _card_path(text).exists() else text


def _card_path(task_id):
    return TASK_RUNS_DIR / (task_id + ".json")


def task_path(task_id):
    """The card's file."""
    return _card_path(known_id(task_id))


def resolve_workspace_path(value):
    """A path with ~ and variables replaced; a relative one is in the workspace."""
    if not value or not str(value).strip():
        return None
    return str(WORKSPACE / os.path.expandvars(os.path.expanduser(str(value).strip())))


# Time

def now_iso():
    """The time now, as cards hold it. With "+00:00": older Pythons cannot read a "Z"."""
    return Moment(datetime.now(timezone.utc).isoformat(timespec="seconds"))


def seconds_since_checkpoint(card):
    """How long ago the task's last sign of life is, in whole seconds."""
    at = parse_iso(card.get("last_checkpoint_at") or card.get("created_at") or card.get("updated_at"))
    return None if at is None else max(0, int((datetime.now(timezone.utc) - at).total_seconds()))


# Reading and saving

def _view(card, by_phase=False):
    return view_of(card, str(WORKSPACE / "scripts" / DISPATCHER), by_phase)


# The cards that were handed out, as they were then, by ID and revision.
_bases = OrderedDict()


def _fields(text):
    """A JSON object's fields: each value with the very text that it was read from, so that what nobody changes keeps it."""
    decode, fields, space = json.JSONDecoder().raw_decode, {}, re.compile(r"[\s,:]*")
    index = space.match(text, text.index("{") + 1).end()
    while text[index] != "}":
        name, index = decode(text, index)
        index = space.match(text, index).end()
        value, end = decode(text, index)
        fields[name] = (value, text[index:end])
        index = space.match(text, end).end()
    return fields


def _values(fields):
    return adopt({name: copy.deepcopy(value) for name, (value, _) in fields.items()})


def _read(task_id):
    """A card's fields from its file, not from `card show`: that prints them without their layout."""
    try:
        path = _card_path(task_id)
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise ValueError("%s is no regular file" % path)
        text = path.read_text(encoding="utf-8")
        json.loads(text)
        fields = _fields(text)
        _view(_values(fields))
        return fields
    except FileNotFoundError:
        raise TaskNotFound("task not found: " + task_id) from None
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        # What is no card is refused in the words of the programs, which know all of it.
        run("card", "show", task_id)
        raise TaskRuntimeError("the card of %s cannot be read: %s" % (task_id, error)) from error


def _remember(card):
    key = (card["task_id"], card.get("revision", 0))
    _bases[key] = copy.deepcopy(card)
    _bases.move_to_end(key)
    while len(_bases) > BASES_MAX:
        _bases.popitem(last=False)
    return card


def load_card(task_id):
    """The task's card as a dictionary. TaskNotFound when there is none."""
    return _view(_remember(_values(_read(known_id(task_id)))))


def load_run_card(task_id):
    """The task's card as a RunCard."""
    return _view(_remember(_values(_read(known_id(task_id)))), by_phase=True)


def save_card(card):
    """Saves what was changed in this card since it was loaded; see above. The card then is what was written. Returns its path.

    Refused when a newer attempt has the task or the task is finished; TaskRuntimeError when the result is no card.
    """
    task_id = known_id(card.get("id") or card.get("task_id") or "")
    until = time.monotonic() + SAVE_PATIENCE_SECONDS
    pause = 0.01
    while True:
        try:
            fields = _read(task_id)
        except TaskNotFound:
            _create_for(task_id, card)
            fields = _read(task_id)
        now = _values(fields)
        base = _bases.get((task_id, card.get("revision", 0)), {})
        merged = merge(base, _view(base) if base else {}, card, copy.deepcopy(now))
        try:
            if merged != now:
                fields = _fields(run("card", "put", task_id, stdin=_text(merged, now, fields)))
            break
        except Busy:
            if time.monotonic() > until:
                raise
            time.sleep(pause)
            pause = min(2 * pause, 1)
    _refresh(card, _view(_remember(_values(fields)), by_phase=isinstance(card, RunCard)))
    return task_path(task_id)


def update_run_card(task, changes=None, **more):
    """Changes fields of a task, which is an ID or a card with changes of its own, and saves them. Returns the RunCard."""
    card = task if isinstance(task, dict) else load_run_card(task)
    for name, value in dict(changes or {}, **more).items():
        name = former_name(name)
        if name in ("artifacts", "meta", "context") and isinstance(value, dict):
            card.setdefault(name, {}).update(value)
        else:
            card[name] = value
    save_card(card)
    return card if isinstance(card, RunCard) else load_run_card(card["id"])


def history_entry(event, *, phase=None, status=None, message="", extra=None):
    """One entry of a card's history."""
    entry = {"at": now_iso(), "event": event, "phase": phase, "status": status, "message": message, "extra": extra}
    return {name: value for name, value in entry.items() if value}


def append_history(card, event, *, phase=None, status=None, message="", extra=None):
    """Adds to the card's history; save_card writes it."""
    if not isinstance(card.get("history"), list):
        card["history"] = []
    card["history"].append(history_entry(event, phase=phase, status=status, message=message, extra=extra))
    del card["history"][:-HISTORY_MAX]


def _text(merged, now, fields):
    """The card as JSON. A field that is as it was read is written as it was read."""
    parts = []
    for name, value in merged.items():
        same = name in fields and name in now and now[name] == value == fields[name][0]
        text = fields[name][1] if same else json.dumps(value, ensure_ascii=False, allow_nan=False, default=os.fspath)
        parts.append("%s: %s" % (json.dumps(name, ensure_ascii=False), text))
    return "{%s}\n" % ",\n".join(parts)


def _create_for(task_id, card):
    """A card that a script made by itself: created, so that it can be saved."""
    status = "pending" if card.get("status") == "pending" else "running"
    run("card", "create", task_id, "--task-type", str(card.get("task_type") or "task"),
        "--title", str(card.get("title") or task_id), "--status", status)


def _refresh(old, new):
    """Makes a dictionary or list what another one is, also within: a script may hold on to a part of its card."""
    if isinstance(old, list):
        old[:] = new
        return
    for name in [name for name in old if name not in new]:
        del old[name]
    for name, value in new.items():
        mine = dict.get(old, name)
        if name == "artifacts" and isinstance(mine, dict):
            mine.update(value)
            if isinstance(mine, Artifacts):
                mine.also = value.also
        elif isinstance(mine, (dict, list)) and isinstance(value, dict if isinstance(mine, dict) else list):
            _refresh(mine, value)
        else:
            old[name] = value


# What the commands tell of a card

def list_cards(*, task_type=None, status=None):
    """All cards, the last changed first; a status may be one of the older words. What cannot be read is named on stderr."""
    words = ["--task-type", task_type] if task_type else []
    lines = run("card", "list", "--format", "jsonl", *words, also=BAD_DATA)
    cards = [_view(_remember(_values(_fields(line)))) for line in lines.split("\n") if line]
    cards = [card for card in cards if status in (None, "", card["status"], TODAYS_STATUS.get(status))]
    return sorted(cards, key=lambda card: str(card["updated_at"] or ""), reverse=True)


def make_result(card, path=None):
    """A card's summary, as the commands print it."""
    names = ("task_type", "title", "mode", "status", "phase", "retry_count", "max_retries", "allow_auto_resume")
    result = {"task_id": card["id"], "task_path": str(path or task_path(card["id"]))}
    result.update((name, card[name]) for name in (*names, "stale_after_minutes"))
    result["seconds_since_checkpoint"] = seconds_since_checkpoint(card)
    result.update((name, card[name]) for name in ("artifacts", "resume_command", "resume_adapter", "watchdog"))
    return result


if __name__ == "__main__":
    import task_runtime_commands
    sys.exit(task_runtime_commands.main())
