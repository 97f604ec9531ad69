# right: dataclass with match
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from labkit import CheckpointCorrupt, CheckpointExpired, CheckpointNotFound, CheckpointNotResumable


@dataclass
class CheckpointManager:
    store: Any
    clock: Any
    strategy: str
    max_age: timedelta
    max_count: int

    def maybe_save(self, task, trigger):
        match trigger, task.state:
            case self.strategy, _:
                pass
            case _, "completed" | "failed" | "cancelled":
                pass
            case _:
                return False
        self.store.append(task_id=task.id, data=vars(task))
        return True

    def validate_and_resume(self, task_id):
        match self.store.load(task_id=task_id):
            case [*_, newest]:
                return self.validated(newest)
            case _:
                raise CheckpointNotFound

    def validated(self, newest):
        if not newest.intact:
            raise CheckpointCorrupt
        fresh = newest.created_at >= self.clock.now() - self.max_age
        match newest.data["state"], fresh:
            case "completed", _:
                return newest
            case "pending" | "cancelled", _:
                raise CheckpointNotResumable
            case _, False:
                raise CheckpointExpired
        return newest

    def cleanup(self, task_id):
        *older, _ = self.store.load(task_id) or [None]
        limit = self.clock.now() - self.max_age
        keep = self.max_count - 1
        doomed = older if keep < 1 else older[:-keep] + [c for c in older[-keep:] if c.created_at < limit]
        for checkpoint in doomed:
            self.store.delete(task_id=task_id, seq=checkpoint.seq)
        return len(doomed)
