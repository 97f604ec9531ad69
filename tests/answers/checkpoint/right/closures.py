# right: closures
from dataclasses import asdict

from labkit import CheckpointCorrupt, CheckpointExpired, CheckpointNotFound, CheckpointNotResumable


class CheckpointManager:
    def __init__(self, store, clock, *, strategy, max_age, max_count):
        ended = frozenset(["completed", "failed", "cancelled"])

        def old(c):
            return c.created_at < clock.now() - max_age

        def save(task, trigger):
            if trigger == strategy or task.state in ended:
                store.append(task.id, asdict(task))
                return True
            return False

        def resume(task_id):
            found = store.load(task_id)
            if not found:
                raise CheckpointNotFound()
            c = found[-1]
            if not c.intact:
                raise CheckpointCorrupt()
            s = c.data["state"]
            if s == "completed":
                return c
            if s in ("pending", "cancelled"):
                raise CheckpointNotResumable()
            if old(c):
                raise CheckpointExpired()
            return c

        def clean(task_id):
            found = store.load(task_id)
            n = 0
            for i, c in enumerate(reversed(found)):
                if i and (i >= max_count or old(c)):
                    store.delete(task_id, c.seq)
                    n += 1
            return n

        self.maybe_save, self.validate_and_resume, self.cleanup = save, resume, clean
