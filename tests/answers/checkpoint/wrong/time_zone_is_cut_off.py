# wrong: the offset from UTC is cut off both times before they are compared
# diagnosed: an offset from UTC is cut off
import dataclasses
from datetime import timedelta
from labkit import (Checkpoint, CheckpointCorrupt, CheckpointExpired, CheckpointNotFound, CheckpointNotResumable, Clock, Task, TaskState)

END = {"completed", "failed", "cancelled"}


class CheckpointManager:
    def __init__(self, store, clock, *, strategy, max_age, max_count):
        self.store = store
        self.clock = clock
        self.strategy = strategy
        self.max_age = max_age
        self.max_count = max_count

    def maybe_save(self, task, trigger):
        if trigger == self.strategy or task.state in END:
            self.store.append(task.id, dataclasses.asdict(task))
            return True
        return False

    def old(self, cp):
        return self.clock.now().replace(tzinfo=None) - cp.created_at.replace(tzinfo=None) > self.max_age

    def validate_and_resume(self, task_id):
        found = self.store.load(task_id)
        if not found:
            raise CheckpointNotFound(task_id)
        newest = max(found, key=lambda c: c.seq)
        if not newest.intact:
            raise CheckpointCorrupt(task_id)
        state = newest.data["state"]
        if state == "completed":
            return newest
        if state in ("pending", "cancelled"):
            raise CheckpointNotResumable(task_id)
        if self.old(newest):
            raise CheckpointExpired(task_id)
        return newest

    def cleanup(self, task_id):
        found = sorted(self.store.load(task_id), key=lambda c: c.seq)
        if not found:
            return 0
        *rest, newest = found
        keep = max(self.max_count - 1, 0)
        surplus = {c.seq for c in rest[:max(len(rest) - keep, 0)]}
        gone = [c for c in rest if c.seq in surplus or self.old(c)]
        for c in gone:
            self.store.delete(task_id, c.seq)
        return len(gone)
