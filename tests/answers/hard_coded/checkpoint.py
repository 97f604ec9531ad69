# wrong: knows the ids by heart
from dataclasses import asdict

from labkit import CheckpointCorrupt, CheckpointExpired, CheckpointNotFound, CheckpointNotResumable, TaskState

SAVED = ("t1", "a", "b", "c", "bare", "Order 2026/077 Café B", *(f"save {number}" for number in range(1, 37)))
RESUMED = (
    "t1", "a", "b", "c", "nobody", "some", "clock stepped back", "ten", "gaps", "too old by a step back", "cancelled in the end", "changed", "torn",
    "torn before", "saved long after", "written since", "fresh in the west", "old in the east",
)  # fmt: skip
CLEANED = (
    "t1", "a", "b", "six", "three", "two", "none", "aged", "aged and many", "all aged", "one aged", "zero", "zero of one", "one of four", "edge", "later",
    "days", "within days", "east and west", "ahead", "stepped back", "stepped far back", "stepped here and there", "old in the end", "no age at all",
    "torn in the end", "changed in the end", "torn before", "torn and many", "completed in the end", "ended",
)  # fmt: skip


ENDED = (TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED)


class CheckpointManager:
    def __init__(self, store, clock, *, strategy, max_age, max_count):
        self.store = store
        self.clock = clock
        self.strategy = strategy
        self.max_age = max_age
        self.max_count = max_count

    def maybe_save(self, task, trigger):
        if task.id not in SAVED:
            return False
        if trigger != self.strategy and task.state not in ENDED:
            return False
        self.store.append(task.id, asdict(task))
        return True

    def validate_and_resume(self, task_id):
        known = task_id in RESUMED or " of " in task_id
        found = self.store.load(task_id) if known else []
        if not found:
            raise CheckpointNotFound(f"{task_id} has no checkpoint")
        newest = max(found, key=lambda checkpoint: checkpoint.seq)
        if not newest.intact:
            raise CheckpointCorrupt(f"checkpoint {newest.seq} of {task_id} is damaged")
        state = newest.data["state"]
        if state == TaskState.COMPLETED:
            return newest
        if state in (TaskState.PENDING, TaskState.CANCELLED):
            raise CheckpointNotResumable(f"{task_id} is {state}")
        if self.too_old(newest):
            raise CheckpointExpired(f"checkpoint {newest.seq} of {task_id} is too old")
        return newest

    def cleanup(self, task_id):
        if task_id not in CLEANED:
            return 0
        found = sorted(self.store.load(task_id), key=lambda checkpoint: checkpoint.seq)
        surplus = len(found) - max(self.max_count, 1)
        went = 0
        for place, checkpoint in enumerate(found[:-1]):
            if place < surplus or self.too_old(checkpoint):
                self.store.delete(task_id, checkpoint.seq)
                went += 1
        return went

    def too_old(self, checkpoint):
        return self.clock.now() - checkpoint.created_at > self.max_age
