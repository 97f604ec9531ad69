"""A task and its life: the states, the transitions that are allowed, and nothing else.

A `Task` is a value: it never changes, a change is a new one (`dataclasses.replace`). What may follow what is one table, and every
store asks it before it writes. Completed and cancelled are final; failed ends an attempt, not the task.

Not handled here: who wins when two write at once. The `version` counts writes, and the stores compare it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from labkit.errors import InvalidTransition


class TaskState(StrEnum):
    """Where a task stands; compares and hashes like its lower-case text."""

    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"  # parked until a person answers
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


FINAL = frozenset({TaskState.COMPLETED, TaskState.CANCELLED})

TRANSITIONS: dict[TaskState, frozenset[TaskState]] = {
    TaskState.PENDING: frozenset({TaskState.RUNNING, TaskState.CANCELLED}),
    TaskState.RUNNING: frozenset(
        {
            TaskState.COMPLETED,
            TaskState.FAILED,
            TaskState.CANCELLED,
            TaskState.WAITING,
            TaskState.PENDING,  # released, to be tried later
            TaskState.RUNNING,  # run again after a crash
        }
    ),
    TaskState.WAITING: frozenset({TaskState.PENDING, TaskState.RUNNING, TaskState.FAILED, TaskState.CANCELLED}),
    TaskState.FAILED: frozenset({TaskState.PENDING, TaskState.RUNNING}),
    TaskState.COMPLETED: frozenset(),
    TaskState.CANCELLED: frozenset(),
}


def check_transition(old: TaskState | str, new: TaskState | str) -> None:
    """Return when `old -> new` is allowed, raise `InvalidTransition` when it is not."""
    if TaskState(new) not in TRANSITIONS[TaskState(old)]:
        raise InvalidTransition(f"a task cannot go from {TaskState(old)} to {TaskState(new)}")


@dataclass(frozen=True)
class Task:
    """One piece of work that somebody asked for. Times are aware UTC; `None` means "not yet" (a store fills in its own)."""

    id: str
    user_input: str
    state: TaskState = TaskState.PENDING
    result: str | None = None
    error: str | None = None
    priority: int = 0
    available_at: datetime | None = None
    worker_id: str | None = None
    attempt: int = 0
    lease_expires_at: datetime | None = None
    idempotency_key: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    version: int = 0

    def __str__(self) -> str:
        worker = f" {self.worker_id}" if self.worker_id else ""
        attempt = f" attempt={self.attempt}" if self.attempt else ""
        return f"<Task {self.id} {TaskState(self.state)}{worker}{attempt} v{self.version}>"

    __repr__ = __str__
