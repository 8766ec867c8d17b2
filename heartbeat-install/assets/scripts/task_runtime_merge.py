"""A card as scripts of the older runtime see it, and what they changed in it put into the card as it is now.

A view has that runtime's names, and every field that its scripts look at. On the way back three
versions meet: the card as the script loaded it (base), the script's copy (mine), and the card as
others have left it (theirs). Field by field: what the script did not change is theirs; what only
the script changed is its; of what both changed, the script's wins. Objects are merged entry by
entry and lists are united. Artifacts are only ever added or changed. Nothing here reads or writes
anything.
"""

import copy
import os
import re
import shlex
from datetime import datetime, timezone

HISTORY_MAX = 80
CHECKPOINTS_MAX = 100

# The words of the older runtime for a status, and today's.
TODAYS_STATUS = {"done": "completed", "blocked": "needs_attention", "canceled": "cancelled"}
FORMER_STATUS = {"completed": "done", "needs_attention": "blocked", "stalled": "running"}
# What a script's edit never changes: the task's identity, and what belongs to the supervision of attempts.
NOT_EDITED = {"schema_version", "revision", "id", "task_id", "created_at", "updated_at", "run", "attempt", "outcome", "attention"}
# The dispatcher of the older runtime: as a task's command it only says that the task has an adapter.
DISPATCHER = "task_runtime_resume.py"

# Fields that scripts may look at in every card.
DEFAULTS = {
    "revision": 0, "task_type": "", "title": "", "mode": "full", "owner_skill": "", "phase": "", "notes": "",
    "created_at": None, "updated_at": None, "last_checkpoint_at": None, "allow_auto_resume": False,
    "retry_count": 0, "resume_adapter": None, "history": [], "checkpoints": [], "watchdog": {},
}
TIMES = ("created_at", "updated_at", "last_checkpoint_at")

# No value at all, which None is not.
ABSENT = object()


class Moment(str):
    """A time that was just given out. Put into a card twice within a second, it still tells that it was put there."""


def parse_iso(value):
    """A card's time, None if it is none. Without an offset it is UTC."""
    try:
        # Python before 3.11 cannot read a "Z".
        at = datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", value))
    except (TypeError, ValueError):
        return None
    return at if at.tzinfo else at.replace(tzinfo=timezone.utc)


def group_of(phase):
    """The entry of a card's artifacts where those of this phase stand."""
    if not phase:
        return "phase_main"
    return phase if phase.startswith("phase_") else "phase_" + phase


def adopt(card):
    """Gives a card that the older runtime wrote today's names, as the next write of the programs will."""
    for old, new in (("id", "task_id"), ("meta", "metadata")):
        if old in card and new not in card:
            renamed = [(new if name == old else name, value) for name, value in card.items()]
            card.clear()
            card.update(renamed)
    card["status"] = TODAYS_STATUS.get(card["status"], card["status"])
    if card.get("safe_to_retry") is False and "manual_phases" not in card:
        card["manual_phases"] = [card.get("phase", "")]
    artifacts = card.get("artifacts", {})
    flat = {name: value for name, value in artifacts.items() if isinstance(value, str)}
    if flat:
        card["artifacts"] = {name: dict(value) for name, value in artifacts.items() if name not in flat}
        card["artifacts"].setdefault(group_of(card.get("phase")), {}).update(flat)
    return card


def flat_artifacts(card):
    """A card's artifacts by name, and where each stands. Of two with one name: the current phase's, else the later one."""
    groups, own = card.get("artifacts", {}), group_of(card.get("phase"))
    found, origin = {}, {}
    for group in sorted(groups, key=lambda group: group == own):
        for name, path in groups[group].items():
            found[name], origin[name] = path, group
    found.update(card.get("artifact_values", {}))
    return found, origin


class Artifacts(dict):
    """Artifacts listed by name or by phase; what is not listed is found all the same."""

    def __init__(self, listed, also):
        super().__init__(listed)
        self.also = also

    def __missing__(self, name):
        return self.also[name]

    def __contains__(self, name):
        return super().__contains__(name) or name in self.also

    def get(self, name, default=None):
        return self[name] if name in self else default

    def setdefault(self, name, default=None):
        if name not in self:
            self[name] = default
        return self[name]


class RunCard(dict):
    """A card whose fields are attributes, too: card.phase is card["phase"]. Artifacts are listed by phase."""

    def __getattr__(self, name):
        if former_name(name) not in self:
            raise AttributeError("the card has no field %r" % name)
        return self[former_name(name)]

    def __setattr__(self, name, value):
        self[former_name(name)] = value

    def __delattr__(self, name):
        self.pop(former_name(name), None)


def former_name(name):
    return "meta" if name == "metadata" else name


def view_of(card, dispatcher, by_phase=False):
    """What scripts see of a card that has today's names. `dispatcher` is the path of the script that runs adapters."""
    card = copy.deepcopy(card)
    view = {name: copy.deepcopy(value) for name, value in DEFAULTS.items()}
    view.update(card)
    view["id"] = card["task_id"]
    view["meta"] = view.pop("metadata", {})
    view["status"] = FORMER_STATUS.get(card["status"], card["status"])
    view["safe_to_retry"] = view["phase"] not in view.get("manual_phases", [])
    groups, (flat, _) = card.get("artifacts", {}), flat_artifacts(card)
    view["artifacts"] = Artifacts(groups, flat) if by_phase else Artifacts(flat, groups)
    view.pop("artifact_values", None)
    own = card.get("resume_argv", card.get("resume_command_argv", []))
    by_adapter = ["python3", dispatcher, "--task-id", card["task_id"]]
    view["resume_command_argv"] = by_adapter if view["resume_adapter"] else list(own)
    view["resume_command"] = " ".join(map(shlex.quote, view["resume_command_argv"])) or None
    view.setdefault("stale_after_minutes", 0 if own and not view["resume_adapter"] else 30)
    view.setdefault("max_retries", 3)
    for name in TIMES:
        if isinstance(view[name], str):
            view[name] = re.sub(r"[zZ]$", "+00:00", view[name])
    return RunCard(view) if by_phase else view


def merge(base, before, mine, theirs):
    """Puts what the script changed into `theirs`, and returns it.

    `base` is the card that was loaded and `before` what the script saw of it; both are {} when nobody knows.
    `theirs` may be changed.
    """
    changed = {name for name in {**before, **mine} if mine.get(name, ABSENT) != before.get(name, ABSENT)} - NOT_EDITED
    special = {"status", "last_checkpoint_at", "safe_to_retry", "artifacts", "meta", "resume_command", "resume_command_argv"}
    for name in sorted(changed - special):
        _put(theirs, name, three_way(before.get(name, ABSENT), mine.get(name, ABSENT), theirs.get(name, ABSENT)))
    if "meta" in changed:
        meta = three_way(before.get("meta", {}), mine.get("meta") or {}, theirs.get("metadata", {}))
        _put(theirs, "metadata", meta)
    _merge_artifacts(base, mine.get("artifacts") or {}, theirs)
    if "status" in changed:
        _set_status(theirs, mine, _news(before, mine))
    if "last_checkpoint_at" in changed or isinstance(mine.get("last_checkpoint_at"), Moment):
        _checkpoint(before, mine, theirs)
    if "safe_to_retry" in changed:
        _set_safe(theirs, bool(mine.get("safe_to_retry")))
    if changed & {"resume_command", "resume_command_argv", "resume_adapter"}:
        _set_command(before, mine, theirs)
    for name, limit in (("history", HISTORY_MAX), ("checkpoints", CHECKPOINTS_MAX)):
        if name in changed and isinstance(theirs.get(name), list):
            del theirs[name][:-limit]
    return theirs


def three_way(base, mine, theirs):
    """The value that holds both changes; `mine` where they cannot both be held. ABSENT means that there is none."""
    if mine == base or mine == theirs:
        return theirs
    if theirs == base:
        return mine
    if isinstance(mine, dict) and isinstance(theirs, dict):
        base = base if isinstance(base, dict) else {}
        merged = {}
        for name in [*theirs, *(name for name in mine if name not in theirs)]:
            value = three_way(base.get(name, ABSENT), mine.get(name, ABSENT), theirs.get(name, ABSENT))
            if value is not ABSENT:
                merged[name] = value
        return merged
    if isinstance(mine, list) and isinstance(theirs, list):
        base = base if isinstance(base, list) else []
        if _are_named(mine) and _are_named(theirs) and _are_named(base):
            named = [{item["name"]: item for item in items} for items in (base, mine, theirs)]
            return list(three_way(*named).values())
        kept = [item for item in theirs if item in mine or item not in base]
        return kept + [item for item in mine if item not in base and item not in theirs]
    return mine


def _are_named(items):
    names = [item.get("name") for item in items if isinstance(item, dict)]
    return len(names) == len(items) == len(set(map(repr, names))) and all(isinstance(name, str) for name in names)


def _put(card, name, value):
    """Sets a field. A script that sets a field to None says that there is none: cards do not hold that."""
    if value is ABSENT or value is None:
        card.pop(name, None)
    else:
        card[name] = copy.deepcopy(value)


def _news(before, mine):
    """What the script last wrote into the history since it loaded the card."""
    known = before.get("history") or []
    new = [entry for entry in mine.get("history") or [] if isinstance(entry, dict) and entry not in known]
    return str(new[-1].get("message") or new[-1].get("event") or "") if new else ""


def _set_status(theirs, mine, news):
    status = str(mine.get("status") or "")
    theirs["status"] = TODAYS_STATUS.get(status, status)
    theirs.pop("attention", None)
    if theirs["status"] == "needs_attention":
        theirs["attention"] = {"reason": "blocked", "since": _stamp(datetime.now(timezone.utc))}
        if news:
            theirs["attention"]["detail"] = news[:1000]


def _stamp(at):
    return at.astimezone(timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")


def _checkpoint(before, mine, theirs):
    """A new last_checkpoint_at is how the older runtime recorded progress: today that is a checkpoint, of the phase as loaded."""
    at, known = parse_iso(mine.get("last_checkpoint_at")), parse_iso(theirs.get("last_checkpoint_at"))
    if at is None:
        return
    if known is None or at > known:
        theirs["last_checkpoint_at"] = _stamp(at)
    if mine.get("status") == "running" and theirs["status"] in ("stalled", "pending"):
        theirs["status"] = "running"
    if mine.get("checkpoints") == before.get("checkpoints"):
        phase, message = str(before.get("phase") or mine.get("phase") or ""), _news(before, mine)[:1000]
        entries = theirs.get("checkpoints", [])
        count = theirs.get("checkpoint_count", len(entries))
        # One that says the same as an earlier one is a sign of life: it takes its place.
        entries = [entry for entry in entries if (entry.get("phase"), entry.get("message")) != (phase, message)]
        entries.append({"phase": phase, "at": _stamp(at), "message": message})
        theirs["checkpoints"] = entries[-CHECKPOINTS_MAX:]
        theirs["checkpoint_count"] = count + 1


def _set_safe(theirs, safe):
    """Not safe to retry: the phase is one that no attempt enters without a person's word."""
    phase, manual = theirs.get("phase", ""), theirs.get("manual_phases", [])
    if safe != (phase not in manual):
        theirs["manual_phases"] = [name for name in manual if name != phase] + ([] if safe else [phase])
    if "safe_to_retry" in theirs:
        theirs["safe_to_retry"] = safe


def _set_command(before, mine, theirs):
    argv = mine.get("resume_command_argv")
    if argv == before.get("resume_command_argv") and mine.get("resume_command") != before.get("resume_command"):
        argv = shlex.split(mine.get("resume_command") or "")
    argv = [str(word) for word in argv or []]
    is_dispatcher = any(os.path.basename(word) == DISPATCHER for word in argv)
    if not theirs.get("resume_adapter") and argv and not is_dispatcher:
        theirs["resume_argv"] = argv
        theirs.pop("resume_command_argv", None)


def _merge_artifacts(base, mine, theirs):
    known, origin = flat_artifacts(base)
    groups, own = base.get("artifacts", {}), group_of(base.get("phase") or theirs.get("phase"))
    for name, value in [*mine.items(), *getattr(mine, "also", {}).items()]:
        if isinstance(value, dict) and name.startswith("phase_"):
            for inner, path in value.items():
                if groups.get(name, {}).get(inner) != path:
                    _set_artifact(theirs, name, inner, path)
        elif value is not None and known.get(name) != value:
            _set_artifact(theirs, origin.get(name, own), name, value)


def _set_artifact(card, group, name, value):
    """Sets an artifact. What is no path cannot be one; it is kept beside them, so that the script finds it again."""
    groups = card.setdefault("artifacts", {})
    old = groups.get(group, {}).get(name)
    if not isinstance(value, (str, os.PathLike)):
        card.setdefault("artifact_values", {})[name] = copy.deepcopy(value)
        return
    card.get("artifact_values", {}).pop(name, None)
    groups.setdefault(group, {})[name] = os.fspath(value)
    # A measure of a file that no artifact is any more would hold the task back for nothing.
    if old not in (path for paths in groups.values() for path in paths.values()):
        card.get("artifact_digests", {}).pop(old, None)
