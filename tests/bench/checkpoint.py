"""A durable checkpoint with nothing but the standard library, for the bench to compare with."""
import datetime
import fcntl
import json
import os
import sys


def main(path, message):
    folder = os.path.dirname(path) or "."
    lock = os.open(path + ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with open(path, encoding="utf-8") as file:
        card = json.load(file)
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    card["revision"] += 1
    card["checkpoints"] = (card.get("checkpoints", []) + [{"phase": card["phase"], "at": now, "message": message}])[-100:]
    card["last_checkpoint_at"] = card["updated_at"] = now
    temporary = f"{path}.{os.getpid()}.tmp"
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump(card, file, indent=2, ensure_ascii=False)
        file.flush()
        os.fsync(file.fileno())
    os.rename(temporary, path)
    directory = os.open(folder, os.O_RDONLY)
    os.fsync(directory)
    print(json.dumps({"task_id": card["task_id"], "revision": card["revision"]}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
