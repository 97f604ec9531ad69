"""The end of tasks that do not work, and the way back.

A task whose last lease ended without a word is failed by `bury`: a poison task kills as many workers as it has
attempts, and no more. A failed task is a dead letter and stays one until somebody redrives it: then it is pending
again with all its attempts, as a new run under the same id. The attempt is counted on, so a zombie of the old run
is no holder of the new one. Of two who redrive from the same list, the second changes nothing (`StaleTask`).

Not handled here: why a task failed. Its `error` says so, and the log keeps the errors of earlier runs.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Engine, Row, Select, select, text

from labkit.database import reading, writing
from labkit.errors import InvalidTransition, StaleTask
from labkit.progress.log import append_end
from labkit.queue.change import change, find, moment, named
from labkit.queue.notify import notify
from labkit.queue.options import begin_new_run, limit
from labkit.store.contract import log_written
from labkit.tables import FAILED_SQL, RUNNING_SQL, task_from_row, task_options, tasks
from labkit.task import Task, TaskState

_MOST = 100  # dead in one transaction


def bury(engine: Engine, now: datetime | None = None) -> list[Task]:
    """Fail the running tasks whose last lease is over, each with its terminal event. Returns those that were buried."""
    with reading(engine) as connection:
        if connection.execute(_expired(moment(connection, now))).first() is None:
            return []  # subtle: looking takes no write lock, and nearly always there is nothing to do
    with writing(engine) as connection:
        at = moment(connection, now)
        found = connection.execute(_expired(at).with_for_update(of=tasks, skip_locked=True)).all()
        buried = [_bury(connection, at, row) for row in found]
    return [log_written(task) for task in buried if task is not None]


def _expired(at: datetime) -> Select[Any]:
    before = select(task_options.c.attempts_before).where(task_options.c.task_id == tasks.c.id).scalar_subquery()
    return (
        select(tasks.c.id, tasks.c.attempt, tasks.c.error, before.label("before"))
        .where(text(RUNNING_SQL), tasks.c.lease_expires_at < at, tasks.c.attempt >= limit)
        .order_by(tasks.c.id)
        .limit(_MOST)
    )


def _bury(connection: Connection, at: datetime, row: Row[Any]) -> Task | None:
    attempts = row.attempt - (row.before or 0)
    said = (
        f"lease expired on attempt {attempts}; before that: {row.error}" if row.error else f"lease expired x{attempts}"
    )
    values = {"state": TaskState.FAILED.value, "error": said, "lease_expires_at": None}
    same = tasks.c.attempt == row.attempt, tasks.c.lease_expires_at < at
    task = change(connection, at, values, tasks.c.id == row.id, tasks.c.state == TaskState.RUNNING.value, *same)
    if task is not None:
        append_end(connection, task.id)
    return task


def dead_letters(engine: Engine, limit: int = 100) -> list[Task]:
    """The failed tasks, those that failed first before the others."""
    chosen = select(tasks).where(text(FAILED_SQL)).order_by(tasks.c.updated_at, tasks.c.id)
    with reading(engine) as connection:
        return [task_from_row(row) for row in connection.execute(chosen.limit(limit))]


def redrive(engine: Engine, task: Task | str, now: datetime | None = None) -> Task:
    """Queue a failed task again. Given as a `Task`, only if nobody has written it since: else `StaleTask`.

    `TaskNotFound`; `InvalidTransition` if it has not failed.
    """
    task_id, version = (task, None) if isinstance(task, str) else (task.id, task.version)
    with writing(engine) as connection:
        again = requeue(connection, task_id, moment(connection, now), version)
        if again is None:
            stored = find(connection, task_id)
            if version is not None and stored.version != version:
                raise StaleTask(f"{stored} was written since it was read at version {version}")
            raise InvalidTransition(f"{stored} has not failed")
        notify(connection)
    return log_written(again)


def requeue(connection: Connection, task_id: str, at: datetime, version: int | None = None, **asked: Any) -> Task | None:
    """Make a failed task pending, with all its attempts before it and with what is `asked` of it anew; None if it has not failed (at this version)."""
    values = {"state": TaskState.PENDING.value, "error": None, "worker_id": None, "available_at": at} | asked
    read = () if version is None else (tasks.c.version == version,)
    task = change(connection, at, values, named(task_id), tasks.c.state == TaskState.FAILED.value, *read)
    if task is not None:
        begin_new_run(connection, task_id, task.attempt)
    return task
