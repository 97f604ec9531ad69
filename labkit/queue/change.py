"""A change of a task that happens or does not: one UPDATE with its condition, of which the row is read.

`change` returns the task as it is now, or None when the condition did not hold and nothing happened: a caller cannot
overlook a lost compare-and-set. Every change counts up `version` and dates the row, as all writes of tasks do.

Not handled here: which conditions make a change right (see `lease`, `control`, `dead`).
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, select, update

from labkit.database import db_now
from labkit.errors import TaskNotFound
from labkit.store.contract import plain_text
from labkit.tables import task_from_row, tasks
from labkit.task import Task, TaskState

ENDED = frozenset({TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED})


def moment(connection: Connection, now: datetime | None) -> datetime:
    """The given time, or the database's own."""
    at = now or connection.execute(select(db_now())).scalar_one()
    return at


def change(
    connection: Connection, at: datetime, values: dict[str, Any], *conditions: ColumnElement[bool]
) -> Task | None:
    """Change the one task for which all conditions hold; None if there is none, and nothing has changed."""
    written = update(tasks).where(*conditions).values(**values, version=tasks.c.version + 1, updated_at=at)
    row = connection.execute(written.returning(*tasks.c)).one_or_none()
    return None if row is None else task_from_row(row)


def named(task_id: str) -> ColumnElement[bool]:
    """The condition that it is this task; `UnstorableValue` for an id that no task can have."""
    return tasks.c.id == plain_text("id", task_id)


def find(connection: Connection, task_id: str) -> Task:
    """The task as it is stored; `TaskNotFound`, `UnstorableValue`."""
    row = connection.execute(select(tasks).where(named(task_id))).one_or_none()
    if row is None:
        raise TaskNotFound(f"there is no task {task_id!r}")
    return task_from_row(row)
