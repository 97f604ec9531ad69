# wrong: in the chapter's manner: a list in the object, cut when it grows, and the latest time is the newest
# diagnosed: newest by time
from dataclasses import asdict

from labkit import CheckpointExpired, CheckpointNotFound


class CheckpointManager:
    def __init__(self, store, clock, *, strategy, max_age, max_count):
        self.store, self.clock = store, clock
        self.strategy, self.max_age, self.max_count = strategy, max_age, max_count
        self.saved = []

    def maybe_save(self, task, trigger):
        if trigger == self.strategy or task.state in ("completed", "failed", "cancelled"):
            self.saved.append((task.id, self.store.append(task.id, asdict(task))))
            return True
        return False

    def validate_and_resume(self, task_id):
        found = [checkpoint for checkpoint in self.store.load(task_id) if checkpoint.intact]
        if not found:
            raise CheckpointNotFound(task_id)
        latest = max(found, key=lambda checkpoint: checkpoint.created_at)
        if self.clock.now() - latest.created_at > self.max_age:
            raise CheckpointExpired(task_id)
        return latest

    def cleanup(self, task_id):
        went = 0
        while len(self.saved) > self.max_count:
            self.store.delete(*self.saved.pop(0))
            went += 1
        return went
