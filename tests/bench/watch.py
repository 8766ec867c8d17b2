"""The watchdog's rule with nothing but the standard library, for the bench to compare with."""
import datetime
import json
import os
import sys


def main(folder, now):
    for name in os.listdir(folder):
        if not name.endswith(".json") or name.startswith("."):
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            card = json.load(file)
        if card["status"] not in ("running", "stalled"):
            continue
        last = card.get("last_checkpoint_at") or card["created_at"]
        silent = (now - datetime.datetime.fromisoformat(last.replace("Z", "+00:00"))).total_seconds() / 60
        if silent > card.get("stale_after_minutes", 30):
            print(json.dumps({"signal": "alert", "task_id": card["task_id"], "phase": card["phase"], "stale_for_minutes": int(silent)}))


if __name__ == "__main__":
    main(sys.argv[1], datetime.datetime.now(datetime.timezone.utc))
