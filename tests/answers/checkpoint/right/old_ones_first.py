# right: what is too old goes first, and only what is left is counted; each save cleans up, too
import json
from dataclasses import asdict
from operator import attrgetter

from labkit import Checkpoint, CheckpointCorrupt, CheckpointExpired, CheckpointNotFound, CheckpointNotResumable

SEQ = attrgetter("seq")


class Strategy:
    def __init__(self, name):
        self.name = name

    def __call__(self, task, trigger):
        return trigger == self.name or task.state in {"completed", "failed", "cancelled"}


class Retention:
    def __init__(self, clock, max_age, max_count):
        self.clock, self.max_age, self.max_count = clock, max_age, max_count

    def expired(self, checkpoint: Checkpoint):
        return checkpoint.created_at < self.clock.now() - self.max_age

    def doomed(self, checkpoints):
        if not checkpoints:
            return
        checkpoints.sort(key=SEQ)
        checkpoints.pop()  # the newest is out of reach
        alive = []
        while checkpoints:
            one = checkpoints.pop(0)
            if self.expired(one):
                yield one
            else:
                alive.append(one)
        while alive and len(alive) + 1 > self.max_count:
            yield alive.pop(0)


class CheckpointManager:
    def __init__(self, store, clock, *, strategy, max_age, max_count):
        self.store = store
        self.wants = Strategy(strategy)
        self.retention = Retention(clock, max_age, max_count)

    def maybe_save(self, task, trigger):
        wanted = self.wants(task, trigger)
        if wanted:
            self.store.append(task.id, json.loads(json.dumps(asdict(task), default=str)))
            self.cleanup(task.id)
        return wanted

    def validate_and_resume(self, task_id):
        checkpoints = sorted(self.store.load(task_id), key=SEQ)
        if not checkpoints:
            raise CheckpointNotFound(f"no checkpoint of {task_id}")
        newest = checkpoints[-1]
        if not newest.intact:
            raise CheckpointCorrupt(f"checkpoint {newest.seq} of {task_id} is damaged")
        if newest.data["state"] == "completed":
            return newest
        if newest.data["state"] not in ("running", "waiting", "failed"):
            raise CheckpointNotResumable(f"{task_id} is {newest.data['state']}")
        if self.retention.expired(newest):
            raise CheckpointExpired(f"checkpoint {newest.seq} of {task_id} is too old")
        return newest

    def cleanup(self, task_id):
        doomed = list(self.retention.doomed(self.store.load(task_id)))
        for one in doomed:
            self.store.delete(task_id, one.seq)
        return len(doomed)
