"""When to save a checkpoint, whether one may be resumed from, and which ones may go: never the newest.

A save is made when the trigger is the strategy, and for a task that has ended under every strategy; after each save the
limits are enforced from what is stored, so a new process keeps to them too. Each checkpoint stands alone: what a run must
still know after a crash (which tools have run, and where their results lie) goes into `extra` of *every* save, or into a
table that is not pruned; then no pruning can make a tool run again. Before a resume the state is looked at first and the
age second: a completed task is returned however old.

`store` needs no more than `append`, `load` and `delete`; where it offers `append_and_prune` and `prune`, a save with its
pruning is one commit and a cleanup is one DELETE. A crash inside a cleanup leaves the newest, and the older ones that were
not yet deleted.

Not handled here: work since the last checkpoint. It is done again, so its effects need keys (see `execution`).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from labkit.checkpoint.data import Checkpoint
from labkit.checkpoint.store import Parent
from labkit.clock import Clock
from labkit.errors import CheckpointCorrupt, CheckpointExpired, CheckpointNotFound, CheckpointNotResumable
from labkit.task import Task, TaskState

STRATEGIES = ("every_step", "every_iteration", "on_state_change")
TERMINAL = frozenset({TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED})
_NOT_RESUMABLE = frozenset({TaskState.PENDING, TaskState.CANCELLED})


class Store(Protocol):
    """The least that a store of checkpoints has."""

    def append(self, task_id: str, data: dict[str, Any]) -> int: ...
    def load(self, task_id: str) -> list[Checkpoint]: ...
    def delete(self, task_id: str, seq: int) -> Any: ...


class CheckpointManager:
    """Saves, resumes and prunes the checkpoints of tasks. `max_age` and `max_count` hold for each task."""

    def __init__(self, store: Store, clock: Clock, *, strategy: str, max_age: timedelta, max_count: int) -> None:
        if strategy not in STRATEGIES:
            raise ValueError(f"strategy must be one of {', '.join(STRATEGIES)}, not {strategy!r}")
        if max_count < 0 or max_age < timedelta(0):
            raise ValueError("max_count and max_age must not be negative")
        self._store: Any = store
        self._clock, self._strategy = clock, strategy
        self._max_age, self._max_count = max_age, max_count

    def maybe_save(
        self, task: Task, trigger: str, *, extra: Mapping[str, Any] | None = None, expected: Parent = ...
    ) -> bool:
        """Save the task if it is time to, and prune; whether it was saved.

        `extra` is kept beside the task, as `data["extra"]`. With `expected`, the number of the checkpoint that this work
        went on from, a save that would come after another's is `StaleCheckpoint`: load, apply again, save again.
        """
        if trigger != self._strategy and task.state not in TERMINAL:
            return False
        data = vars(task) | ({} if extra is None else {"extra": dict(extra)})
        told: dict[str, Any] = {} if expected is ... else {"expected": expected}
        if hasattr(self._store, "append_and_prune"):
            self._store.append_and_prune(task.id, data, **told, **self._limits())
        else:
            self._store.append(task.id, data, **told)
            self.cleanup(task.id)  # crash here: one too many, until the next save
        return True

    def validate_and_resume(self, task_id: str) -> Checkpoint:
        """The newest checkpoint, if the task may go on from it (a completed one is returned however old).

        `CheckpointNotFound`, `CheckpointCorrupt`, `CheckpointNotResumable` or `CheckpointExpired`, looked at in this order.
        """
        newest = self._newest(task_id)
        if newest is None:
            raise CheckpointNotFound(f"task {task_id!r} has no checkpoint")
        if not newest.intact:
            raise CheckpointCorrupt(f"checkpoint {newest.seq} of task {task_id} is damaged, which is not missing")
        state = _state_in(newest)
        if state in _NOT_RESUMABLE:
            raise CheckpointNotResumable(f"task {task_id} is {state} in its checkpoint {newest.seq}")
        if state != TaskState.COMPLETED and self._too_old(newest):
            raise CheckpointExpired(f"checkpoint {newest.seq} of task {task_id} is older than {self._max_age}")
        return newest

    def cleanup(self, task_id: str) -> int:
        """Delete all but the newest `max_count`, and those older than `max_age`, never the newest; how many went."""
        if hasattr(self._store, "prune"):
            return int(self._store.prune(task_id, **self._limits()))
        found = sorted(self._store.load(task_id), key=lambda checkpoint: checkpoint.seq)
        surplus = len(found) - max(self._max_count, 1)
        doomed = [c for place, c in enumerate(found[:-1]) if place < surplus or self._too_old(c)]
        for checkpoint in doomed:  # crash here: the oldest went first, the newest is there
            self._store.delete(task_id, checkpoint.seq)
        return len(doomed)

    def _newest(self, task_id: str) -> Checkpoint | None:
        if hasattr(self._store, "newest"):
            return self._store.newest(task_id)  # type: ignore[no-any-return]
        return max(self._store.load(task_id), key=lambda checkpoint: checkpoint.seq, default=None)

    def _too_old(self, checkpoint: Checkpoint) -> bool:
        return self._clock.now() - checkpoint.created_at > self._max_age

    def _limits(self) -> dict[str, Any]:
        try:
            before = self._clock.now() - self._max_age
        except OverflowError:  # an age that nothing reaches
            before = datetime.min.replace(tzinfo=UTC)
        return {"max_count": self._max_count, "before": before}

    def __repr__(self) -> str:
        return f"<CheckpointManager {self._strategy}, at most {self._max_count}, {self._max_age} old>"


def _state_in(checkpoint: Checkpoint) -> TaskState:
    try:
        return TaskState(checkpoint.data["state"])
    except (KeyError, ValueError) as error:
        told = f"checkpoint {checkpoint.seq} of task {checkpoint.task_id} says no state that we know"
        raise CheckpointNotResumable(f"{told}: {error}") from error
