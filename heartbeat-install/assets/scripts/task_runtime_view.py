"""A card as scripts of the older runtime see it: with its names, and with every field that they look at.

Nothing here reads or writes anything. What a script changed in a view goes back by task_runtime_merge.
"""

import copy
import re
import shlex

from task_runtime_merge import FORMER_STATUS, flat_artifacts

# Fields that scripts may look at in every card.
DEFAULTS = {
    "revision": 0, "task_type": "", "title": "", "mode": "full", "owner_skill": "", "phase": "", "notes": "",
    "created_at": None, "updated_at": None, "last_checkpoint_at": None, "allow_auto_resume": False,
    "retry_count": 0, "resume_adapter": None, "history": [], "checkpoints": [], "watchdog": {},
}
TIMES = ("created_at", "updated_at", "last_checkpoint_at")


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
