# right: exceptions as flow
from dataclasses import asdict

from labkit import CheckpointCorrupt, CheckpointExpired, CheckpointNotFound, CheckpointNotResumable


class Skip(Exception):
    pass


class CheckpointManager:
    def __init__(self, store, clock, *, strategy, max_age, max_count):
        self.s, self.c, self.st, self.a, self.n = store, clock, strategy, max_age, max_count

    def maybe_save(self, task, trigger):
        try:
            self._check(task, trigger)
        except Skip:
            return False
        else:
            self.s.append(task.id, asdict(task))
            return True

    def _check(self, task, trigger):
        if task.state.name not in {"COMPLETED", "FAILED", "CANCELLED"} and trigger != self.st:
            raise Skip

    def validate_and_resume(self, task_id):
        try:
            *_, newest = iter(self.s.load(task_id))
        except ValueError:
            raise CheckpointNotFound(task_id) from None
        assert newest is not None
        if not newest.intact:
            raise CheckpointCorrupt("damaged")
        try:
            {"pending": lambda: 1 / 0, "cancelled": lambda: 1 / 0}.get(newest.data["state"], int)()
        except ZeroDivisionError as e:
            raise CheckpointNotResumable("no") from e
        if newest.data["state"] != "completed" and (self.c.now() - newest.created_at) > self.a:
            raise CheckpointExpired("old")
        return newest

    def cleanup(self, task_id):
        n = 0
        while True:
            try:
                self.s.delete(task_id, next(self._doomed(task_id)))
                n += 1
            except StopIteration:
                return n

    def _doomed(self, task_id):
        found = self.s.load(task_id)
        while len(found) > 1:
            c = found.pop(0)
            if len(found) + 1 > self.n or self.c.now() - c.created_at > self.a:
                yield c.seq
