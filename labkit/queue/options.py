"""What a task may still have: its options, and the number of its last attempt.

A task without a row of options has the defaults, so whoever inserts tasks by hand need not know of that table. Attempts are
only ever counted up, since (worker, attempt) is a fencing token and must never come again; `attempts_before` says how
many of them do not count: those of earlier runs, and those that a worker gave back.

Not handled here: a registry of workers. Whether one is alive stands on the row of its task (`lease_expires_at`), where
nothing can prune it.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, func, select
from sqlalchemy.dialects import postgresql, sqlite

from labkit.tables import MAX_ATTEMPTS, task_options, tasks

LIMIT_SQL = (
    "coalesce((SELECT o.max_attempts + o.attempts_before FROM task_options o WHERE o.task_id = tasks.id), "
    f"{MAX_ATTEMPTS})"
)  # the number of the last attempt that a task may have
limit = func.coalesce(
    select(task_options.c.max_attempts + task_options.c.attempts_before)
    .where(task_options.c.task_id == tasks.c.id)
    .scalar_subquery(),
    MAX_ATTEMPTS,
)
_INSERT: dict[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


def put_options(connection: Connection, task_id: str, **values: Any) -> None:
    """Set options of a task; the others keep their value, or get their default."""
    made = _INSERT[connection.dialect.name](task_options).values(task_id=task_id, **values)
    connection.execute(made.on_conflict_do_update(index_elements=["task_id"], set_=values))


def begin_new_run(connection: Connection, task_id: str, attempts: int) -> None:
    """The attempts so far do not count towards the limit, and what was answered to the old run is forgotten."""
    put_options(connection, task_id, attempts_before=attempts, question=None, answer=None)


def give_back_attempt(connection: Connection, task_id: str, **values: Any) -> None:
    """Let the attempt that has just ended not count towards the limit, and set other options along with that."""
    before = select(task_options.c.attempts_before).where(task_options.c.task_id == task_id)
    put_options(connection, task_id, attempts_before=(connection.scalar(before) or 0) + 1, **values)
