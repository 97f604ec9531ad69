"""A lease says that a worker is alive; it is also a fence: who lost it can no longer write.

Heartbeat, fail and release (and `complete`) go through only while the row is running under this worker *and* this
attempt. Whoever slept past the lease and was replaced gets `StaleLease`, whoever was cancelled `TaskCancelled`, and
nothing changes. A lease that is over but that nobody took still holds. The attempt alone would be enough of a fence:
two workers under one name are told apart by it.

Not handled here: renewing in time (see `worker`). An effect outside the database is not fenced: it needs its own key.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Engine, select

from labkit.commit import one_commit, times
from labkit.database import parse_time, reading, writing
from labkit.errors import StaleLease, TaskCancelled, TaskNotFound
from labkit.progress.log import append_end
from labkit.queue.change import change, find, moment
from labkit.queue.options import give_back_attempt, limit
from labkit.statement import for_both
from labkit.store.contract import log_written, storable_text
from labkit.tables import tasks
from labkit.task import Task, TaskState

LONGEST_ERROR = 10_000  # characters; of a longer one the beginning and the end are kept
LONGEST_DELAY = 366 * 86_400.0  # seconds; whatever a policy computes, a retry stays within what a date can hold
# subtle: in a CASE, which keeps PostgreSQL from looking for the row among all that ever ran instead of by its id


def fence(task_id: str, worker: str, attempt: str) -> str:
    """The fence as SQL, over parameters or columns: a lost lease matches no row."""
    return f"id = {task_id} AND CASE state WHEN 'running' THEN worker_id = {worker} AND attempt = {attempt} END"


FENCE = fence(":id", ":worker", ":attempt")
_BEAT = for_both(
    "{with}UPDATE tasks SET lease_expires_at = {expires}, updated_at = {now}, version = version + 1 "
    f"WHERE {FENCE} RETURNING lease_expires_at"
)


@dataclass(frozen=True)
class Lease:
    """The right to work on a task until `expires_at`, and the fencing token (worker, attempt)."""

    task_id: str
    worker_id: str
    attempt: int
    expires_at: datetime

    @classmethod
    def of(cls, task: Task) -> Lease:
        """The lease that a claimed task came with."""
        if task.worker_id is None or task.lease_expires_at is None:
            raise StaleLease(f"{task} is nobody's")
        return cls(task.id, task.worker_id, task.attempt, task.lease_expires_at)

    def __str__(self) -> str:
        return f"<Lease {self.task_id} {self.worker_id} attempt={self.attempt}>"


def token(lease: Lease) -> dict[str, object]:
    """The fence's parameters."""
    return {"id": lease.task_id, "worker": lease.worker_id, "attempt": lease.attempt}


def heartbeat(engine: Engine, lease: Lease, lease_seconds: float, now: datetime | None = None) -> Lease:
    """Renew the lease: it now ends `lease_seconds` from now."""
    with one_commit(engine) as execute:
        values = token(lease) | times(execute, engine, now, lease_seconds)
        found = execute(_BEAT[engine.dialect.name], values)
    if not found:
        raise lost(engine, lease)
    return Lease(lease.task_id, lease.worker_id, lease.attempt, parse_time(found[0][0]))


def fail(
    engine: Engine, lease: Lease, error: str, *, retry_in: float | None = None, now: datetime | None = None
) -> Task:
    """End the attempt. With `retry_in` (seconds) and an attempt left the task is pending again, else it has failed.

    A failed task is a dead letter: it keeps `error`, and nothing but a redrive or its key brings it back.
    """
    with writing(engine) as connection:
        at = moment(connection, now)
        last = connection.scalar(select(limit).where(tasks.c.id == lease.task_id))
        values: dict[str, Any] = {"error": shortened(storable_text(error)), "lease_expires_at": None}
        if retry_in is None or lease.attempt >= (last or 0):
            task = change(connection, at, values | {"state": TaskState.FAILED.value}, *held(lease))
        else:
            values |= {"state": TaskState.PENDING.value, "worker_id": None, "available_at": at + _delay(retry_in)}
            task = change(connection, at, values, *held(lease))
        if task is not None and task.state == TaskState.FAILED:
            append_end(connection, task.id)
    if task is None:
        raise lost(engine, lease)
    return log_written(task)


def release(engine: Engine, lease: Lease, *, delay: float = 0.0, now: datetime | None = None) -> Task:
    """Give the task back, to be claimed `delay` seconds from now. An attempt that was given back does not count."""
    with writing(engine) as connection:
        at = moment(connection, now)
        values = {"state": TaskState.PENDING.value, "worker_id": None, "lease_expires_at": None}
        task = change(connection, at, values | {"available_at": at + _delay(delay)}, *held(lease))
        if task is not None:
            give_back_attempt(connection, task.id)
    if task is None:
        raise lost(engine, lease)
    return log_written(task)


def lost(engine: Engine, lease: Lease) -> StaleLease:
    """The error for a lease that is no longer held, saying what became of the task."""
    with reading(engine) as connection:
        try:
            task = find(connection, lease.task_id)
        except TaskNotFound:
            return StaleLease(f"there is no task {lease.task_id!r} any more")
    if task.state == TaskState.CANCELLED:
        return TaskCancelled(f"task {task.id} was cancelled")
    return StaleLease(f"attempt {lease.attempt} of {lease.worker_id} was fenced off: {task}")


def held(lease: Lease) -> tuple[ColumnElement[bool], ...]:
    """The fence as conditions: the row is running under this worker and this attempt."""
    mine = tasks.c.worker_id == lease.worker_id, tasks.c.attempt == lease.attempt
    return (tasks.c.id == lease.task_id, tasks.c.state == TaskState.RUNNING.value, *mine)


def shortened(error: str) -> str:
    """The same, or of a long one the beginning and the end."""
    half = LONGEST_ERROR // 2
    return error if len(error) <= LONGEST_ERROR else f"{error[:half]} ... {error[-half:]}"


def _delay(seconds: float) -> timedelta:
    finite = seconds if math.isfinite(seconds) else LONGEST_DELAY
    return timedelta(seconds=min(max(0.0, finite), LONGEST_DELAY))
