# right: cleans up by recursion: one goes, and the store is asked again
from dataclasses import fields

from labkit import CheckpointCorrupt, CheckpointExpired, CheckpointNotFound, CheckpointNotResumable


class CheckpointManager:
    def __init__(self, store, clock, *, strategy, max_age, max_count):
        self.limits = {"strategy": strategy, "age": max_age, "count": max(max_count, 1)}
        self.store, self.clock = store, clock

    def maybe_save(self, task, trigger):
        if self.limits["strategy"] == trigger or str(task.state) in ["completed", "failed", "cancelled"]:
            data = {field.name: getattr(task, field.name) for field in fields(task)}
            return self.store.append(task.id, data) is not None
        return False

    def validate_and_resume(self, task_id):
        found = list(reversed(self.store.load(task_id)))
        if found == []:
            raise CheckpointNotFound(task_id)
        if found[0].intact is False:
            raise CheckpointCorrupt(task_id)
        age, state = self.clock.now() - found[0].created_at, found[0].data["state"]
        if state in ("pending", "cancelled"):
            raise CheckpointNotResumable(task_id)
        if age > self.limits["age"] and state != "completed":
            raise CheckpointExpired(task_id)
        return found[0]

    def cleanup(self, task_id):
        doomed = self.next_to_go(task_id)
        if doomed is None:
            return 0
        self.store.delete(task_id, doomed.seq)
        return 1 + self.cleanup(task_id)

    def next_to_go(self, task_id):
        found = self.store.load(task_id)
        if len(found) > self.limits["count"]:
            return found[0]
        old = (c for c in found[:-1] if c.created_at + self.limits["age"] < self.clock.now())
        return next(old, None)
