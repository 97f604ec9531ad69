# right: what a state means for going on stands in a table; errors are looked up in it
import dataclasses
import logging

from labkit import errors
from labkit.task import TaskState

LOG = logging.getLogger("checkpoints")
GO, GO_IF_FRESH = "go", "go if fresh"
VERDICTS = {
    TaskState.PENDING: errors.CheckpointNotResumable,
    TaskState.RUNNING: GO_IF_FRESH,
    TaskState.WAITING: GO_IF_FRESH,
    TaskState.COMPLETED: GO,
    TaskState.FAILED: GO_IF_FRESH,
    TaskState.CANCELLED: errors.CheckpointNotResumable,
}
OVER = {TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED}


class CheckpointManager:
    def __init__(self, store, clock, **options):
        self._store, self._clock = store, clock
        self.__dict__.update(options)

    def maybe_save(self, task, trigger):
        saved = trigger == self.strategy or task.state in OVER
        if saved:
            seq = self._store.append(task.id, dataclasses.asdict(task))
            LOG.info("task %s: checkpoint %s at %s", task.id, seq, trigger)
        return saved

    def validate_and_resume(self, task_id):
        by_number = {checkpoint.seq: checkpoint for checkpoint in self._store.load(task_id)}
        try:
            newest = by_number[max(by_number)]
        except ValueError:
            raise errors.CheckpointNotFound(task_id) from None
        if not newest.intact:
            raise errors.CheckpointCorrupt(f"{task_id}/{newest.seq}")
        verdict = VERDICTS[TaskState(newest.data["state"])]
        if verdict is GO_IF_FRESH:
            verdict = errors.CheckpointExpired if self._too_old(newest) else GO
        if verdict is not GO:
            raise verdict(f"task {task_id}, checkpoint {newest.seq}")
        return newest

    def cleanup(self, task_id):
        numbers = [checkpoint.seq for checkpoint in self._store.load(task_id)]
        old = {checkpoint.seq for checkpoint in self._store.load(task_id) if self._too_old(checkpoint)}
        kept = set(sorted(numbers)[-max(1, self.max_count) :]) - old | set(sorted(numbers)[-1:])
        for seq in set(numbers) - kept:
            self._store.delete(task_id, seq)
        LOG.info("task %s: %s checkpoints went", task_id, len(numbers) - len(kept))
        return len(set(numbers) - kept)

    def _too_old(self, checkpoint):
        return (self._clock.now() - checkpoint.created_at).total_seconds() > self.max_age.total_seconds()
