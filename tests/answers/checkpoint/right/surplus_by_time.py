# right: the newest is the one with the highest number; of the others, those that were made first go first
import heapq
from dataclasses import asdict, replace

from labkit import CheckpointCorrupt, CheckpointExpired, CheckpointNotFound, CheckpointNotResumable
from labkit import TaskState as State


class Base:
    strategy, max_age, max_count = "every_step", None, 1

    def __new__(cls, store, clock, *, strategy, max_age, max_count):
        made = super().__new__(cls)
        made.store, made.clock = store, clock
        made.strategy, made.max_age, made.max_count = strategy, max_age, max_count
        return made

    @property
    def horizon(self):
        return self.clock.now() - self.max_age


class CheckpointManager(Base):
    def __init__(self, store, clock, *, strategy, max_age, max_count):
        super().__init__()

    def maybe_save(self, task, trigger):
        saves = [trigger] if trigger == self.strategy else []
        saves += ["ended"] if task.state in (State.COMPLETED, State.FAILED, State.CANCELLED) else []
        for _ in saves[:1]:
            self.store.append(task.id, asdict(task))
        return bool(saves)

    def validate_and_resume(self, task_id):
        try:
            (newest,) = heapq.nlargest(1, self.store.load(task_id), key=lambda checkpoint: checkpoint.seq)
        except ValueError as error:
            raise CheckpointNotFound(task_id) from error
        if not newest.intact:
            raise CheckpointCorrupt(task_id)
        state = State(newest.data["state"])
        if state is State.PENDING or state is State.CANCELLED:
            raise CheckpointNotResumable(task_id)
        if state is not State.COMPLETED and newest.created_at < self.horizon:
            raise CheckpointExpired(task_id)
        return replace(newest)

    def cleanup(self, task_id):
        found = {checkpoint.seq: checkpoint for checkpoint in self.store.load(task_id)}
        found.pop(max(found, default=None), None)
        by_time = sorted(found.values(), key=lambda checkpoint: (checkpoint.created_at, checkpoint.seq))
        went = 0
        while by_time and (len(by_time) >= max(self.max_count, 1) or by_time[0].created_at < self.horizon):
            self.store.delete(task_id, by_time.pop(0).seq)
            went += 1
        return went
