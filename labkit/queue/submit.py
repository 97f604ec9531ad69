"""Accept a task at most once under its key, and never more than the queue may hold.

A key that is known gives the id of its task, also when the queue is full, whatever has become of the task, and
whatever the request asks for: a key stands for one request, and of two that differ the first one counts. If that task
*failed*, the request is not answered with an old failure: the same task is queued again as a new run, under the same
id, so effects that the failed run left are recognised by their keys. That run is what the new request asks for, and
nothing of the old one: text, priority, time, deadline, attempts and webhook. It needs room like a new task. Counting
and inserting are one act: submitters at the limit never exceed it together. A crash leaves the whole task or nothing.

Not handled here: tasks that come back for a retry. They are pending again and count, but are never refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Engine, bindparam, func, insert, select, text
from sqlalchemy.dialects import postgresql, sqlite

from labkit.database import writing
from labkit.errors import QueueFull, StoreBusy
from labkit.ids import IdSource
from labkit.queue.change import moment
from labkit.queue.dead import requeue
from labkit.queue.notify import notify
from labkit.queue.options import put_options
from labkit.store.contract import log_written, plain_count, plain_text, plain_time, storable
from labkit.tables import MAX_ATTEMPTS, PENDING_SQL, task_options, tasks
from labkit.task import Task, TaskState

_FIELDS = ("id", "user_input", "priority", "idempotency_key", "created_at", "updated_at", "available_at")
_NEW: dict[str, Any] = {name: bindparam(name) for name in _FIELDS}
_INSERT: dict[str, Any] = {  # made once: to build a statement takes longer than to run it
    name: made(tasks)
    .values(version=1, **_NEW)
    .on_conflict_do_nothing(index_elements=["idempotency_key"])
    .returning(tasks.c.id)
    for name, made in (("sqlite", sqlite.insert), ("postgresql", postgresql.insert))
}
_OPTIONS = insert(task_options)
_KNOWN = select(tasks.c.id, tasks.c.state).where(tasks.c.idempotency_key == bindparam("key"))
_COUNT = select(func.count()).select_from(
    select(tasks.c.id).where(text(PENDING_SQL)).limit(bindparam("most")).subquery()
)
MOST_ATTEMPTS = 10**12  # more would count for ever, and leave no room to count on
_TRIES = 10  # each one lost to another submitter of the same key who then rolled back
_LOCK = text("SELECT pg_advisory_xact_lock(7226021)")


@dataclass(frozen=True)
class Request:
    """What somebody asks for. `available_at` None is at once; `max_attempts` counts those that ended without a word too."""

    user_input: str
    priority: int = 0
    available_at: datetime | None = None
    idempotency_key: str | None = None
    webhook_url: str | None = None
    max_attempts: int = MAX_ATTEMPTS
    deadline: datetime | None = None


@dataclass(frozen=True)
class Bounds:
    """How many tasks may be pending (None: any number), and how many seconds those who are refused should wait."""

    max_pending: int | None = None
    retry_after: float = 1.0


def submit(engine: Engine, request: Request, bounds: Bounds, new_id: IdSource, now: datetime | None = None) -> str:
    """The id of the accepted task. `QueueFull` (`retry_after`), `UnstorableValue`, `StoreBusy`: nothing was stored."""
    task = storable(_task(request, new_id()))
    if plain_count("max_attempts", request.max_attempts) < 1:
        raise ValueError(f"max_attempts must be at least 1, not {request.max_attempts}")
    if request.webhook_url is not None:
        plain_text("webhook_url", request.webhook_url)
    if request.deadline is not None:
        plain_time("deadline", request.deadline)
    for _ in range(_TRIES):
        with writing(engine) as connection:
            if (accepted := _accept(connection, task, request, bounds, now)) is not None:
                notify(connection)
        if accepted is not None:
            return log_written(accepted).id
    raise StoreBusy(f"the key {request.idempotency_key!r} is inserted and rolled back again and again")


def _task(request: Request, task_id: str) -> Task:
    return Task(
        task_id, request.user_input, priority=request.priority, available_at=request.available_at,
        idempotency_key=request.idempotency_key,
    )  # fmt: skip


def _accept(connection: Connection, task: Task, request: Request, bounds: Bounds, now: datetime | None) -> Task | None:
    """The task under this key, old or new; None if another submitter came between, whose task is not yet to be seen."""
    if bounds.max_pending is not None and connection.dialect.name == "postgresql":
        # subtle: rows that are not there yet cannot be locked, so counting takes a lock of its own
        connection.execute(_LOCK)
    known = _known(connection, task.idempotency_key)
    if known is not None and known.state != TaskState.FAILED:
        return known
    _refuse_if_full(connection, bounds)
    at = moment(connection, now)
    options = {
        "webhook_url": request.webhook_url, "max_attempts": min(request.max_attempts, MOST_ATTEMPTS),
        "deadline": request.deadline,
    }  # fmt: skip
    if known is not None:
        put_options(connection, known.id, **options)
        asked: dict[str, Any] = {"user_input": task.user_input, "priority": task.priority, "available_at": task.available_at or at}
        return requeue(connection, known.id, at, **asked)
    named = {"id": task.id, "user_input": task.user_input, "priority": task.priority}
    times = {"created_at": at, "updated_at": at, "available_at": task.available_at or at}
    new = named | times | {"idempotency_key": task.idempotency_key}
    # crash here: the transaction is not committed, nothing is left
    # subtle: the rows are read, since the rowcount of an INSERT may be -1
    if connection.execute(_INSERT[connection.dialect.name], new).first() is None:
        return None
    connection.execute(_OPTIONS, {"task_id": task.id, **options})
    return task


def _known(connection: Connection, key: str | None) -> Task | None:
    if key is None:
        return None
    row = connection.execute(_KNOWN, {"key": key}).first()
    return None if row is None else Task(row.id, "", state=TaskState(row.state))


def _refuse_if_full(connection: Connection, bounds: Bounds) -> None:
    if bounds.max_pending is not None:
        pending = connection.execute(_COUNT, {"most": bounds.max_pending}).scalar_one()
        if pending >= bounds.max_pending:
            raise QueueFull(retry_after=bounds.retry_after)
