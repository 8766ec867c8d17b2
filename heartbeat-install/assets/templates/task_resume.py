#!/usr/bin/env python3
"""Continues one long task from the phase in which it was cut.

When the task went silent, resume runs this file in the workspace as
    task_resume.py --task-id ID --timeout-seconds N
with TASK_ID, TASK_PHASE and TASK_BIN in its environment, and the card on
stdin. What you put here may be cut anywhere and is then run again, so:

- a phase reads only what the phases before it have finished, and checks it;
- it writes to a temporary file and renames that when it is whole;
- it says how far it is ("250 of 1000"): silence counts as death;
- it ends in a checkpoint that names the next phase. A checkpoint that is
  refused ends the job: a newer attempt has taken over;
- what must not happen twice (a mail, a payment) is a phase of its own, made
  manual by "card create --manual-phase NAME". After the checkpoint that leads
  to it, print('{"continue": true}') and return None: a person is asked at once,
  and the next run begins in it when that person has said yes.

Exit status: 0 it went well, 75 not now (try later, free of charge), 78 a
person has to look, anything else: failed, tried again after a while.

As it stands it works: it counts the words of the workspace's Markdown files.
Put your own work into the three functions. Standard library only.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

# What belongs to the task is beside this file: tmp/task-runtime/<task_id>/.
WORK = Path(__file__).resolve().parent
FILES = WORK / "files.json"
COUNTS = WORK / "counts.jsonl"
LONGEST = WORK / "longest.txt"

NEEDS_PERSON = 78


def collect(task):
    """What is there to be done?"""
    found = sorted(str(path) for path in Path(".").rglob("*.md") if not any(part.startswith(".") for part in path.parts))
    replace(FILES, json.dumps(found))
    task.checkpoint("--phase", "collect", "--next-phase", "process", "--artifact", f"files={FILES}",
                    "--message", f"{len(found)} files to count")
    return "process"


def process(task):
    """The long part. It goes on behind what an attempt before this one has done."""
    if not FILES.is_file():
        stop(NEEDS_PERSON, f"{FILES} is gone")
    files = json.loads(FILES.read_text())
    counted = whole_lines(COUNTS)
    with COUNTS.open("a") as out:
        for count, name in enumerate(files[counted:], start=counted + 1):
            out.write(json.dumps([words(name), name]) + "\n")
            if count % 25 == 0:
                out.flush()
                task.checkpoint("--phase", "process", "--message", f"{count} of {len(files)} files counted")
    task.checkpoint("--phase", "process", "--next-phase", "finish", "--artifact", f"counts={COUNTS}",
                    "--message", f"all {len(files)} files counted")
    return "finish"


def finish(task):
    """What people get, and the end of the task."""
    counts = [json.loads(line) for line in COUNTS.read_text().splitlines()]
    longest = sorted(counts, key=lambda entry: (-entry[0], entry[1]))[:10]
    replace(LONGEST, "".join(f"{count} {name}\n" for count, name in longest))
    task.complete("--phase", "finish", "--artifact", f"longest={LONGEST}",
                  "--message", f"the longest files are in {LONGEST}")
    return None


# By name, in their order; each returns the next one, or None when this run is over.
PHASES = {"collect": collect, "process": process, "finish": finish}


def words(name):
    try:
        return len(Path(name).read_text(errors="replace").split())
    except OSError:
        return 0


def whole_lines(path):
    """The number of lines. An attempt may have been cut in the middle of one: that is taken away."""
    text = path.read_text() if path.exists() else ""
    whole = text[: text.rfind("\n") + 1]
    replace(path, whole)
    return whole.count("\n")


def replace(path, text):
    """Writes a file so that it is there whole, or as it was."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8", errors="surrogateescape")
    os.replace(part, path)


def stop(status, why):
    print(f"task_resume.py: {why}", file=sys.stderr)
    sys.exit(status)


class Task:
    """This task's card, by the programs that keep it."""

    def __init__(self, task_id):
        self.id = task_id
        self.bin = programs()

    def phase(self):
        """The phase that the card is in. Run by hand, the card is asked for it."""
        if "TASK_PHASE" in os.environ:
            return os.environ["TASK_PHASE"]
        return json.loads(self.run("card", "show", self.id, "--format", "json")).get("phase", "")

    def checkpoint(self, *options):
        self.run("checkpoint", self.id, *options)

    def complete(self, *options):
        self.run("card", "complete", self.id, *options)

    def run(self, program, *arguments):
        done = subprocess.run([self.bin / program, *arguments], stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            # It said why on stderr. 77: a newer attempt has taken over.
            sys.exit(done.returncode)
        return done.stdout


def programs():
    """The folder of the programs. Run by hand, they are in bin/ of the workspace above this file, or on the PATH."""
    if os.environ.get("TASK_BIN"):
        return Path(os.environ["TASK_BIN"])
    workspace = next((folder for folder in WORK.parents if (folder / "data/task-runs").is_dir()), Path.cwd())
    os.chdir(workspace)
    found = shutil.which("checkpoint", path=os.pathsep.join([str(workspace / "bin"), os.environ.get("PATH", "")]))
    return Path(found).parent if found else stop(NEEDS_PERSON, f"the programs are not in {workspace / 'bin'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task-id", default=os.environ.get("TASK_ID") or WORK.name)
    parser.add_argument("--timeout-seconds", type=float, default=0, help="how long this attempt may take; 0 = no limit")
    task = Task(parser.parse_args().task_id)
    phase = task.phase() or next(iter(PHASES))
    while phase is not None:
        if phase not in PHASES:
            stop(NEEDS_PERSON, f'there is no phase "{phase}"')
        phase = PHASES[phase](task)


if __name__ == "__main__":
    main()
