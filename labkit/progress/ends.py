"""How a task ended, told from the terminal event of the run that ended, however much later somebody asks.

The log says `completed` or `error`; whether an error was a failure or a cancel, and with which result, stands in the row of the task. That row is
still as the run left it unless the run failed and the task was put back to work: then what the run left is rebuilt from its event, so a
failure is told as a failure though its task may have been completed since. What the event does not say (priority, version) is as it is now.

Not handled here: a task whose row was deleted; it has no ends any more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, func, select

from labkit.database import parse_time
from labkit.tables import progress_log, task_from_row, tasks
from labkit.task import FINAL, Task, TaskState

_log = progress_log.c
_later = progress_log.alias("later")
_newest = (
    select(func.max(_later.c.position))
    .where(_later.c.task_id == _log.task_id, _later.c.terminal)
    .scalar_subquery()
    .label("newest_end")
)
_told = [_log.position, _log.run, _log.webhook_url, _log.message]
_ENDS = (
    select(tasks, *_told, _log.attempt.label("attempt_then"), _log.time.label("ended_at"), _newest)
    .join_from(progress_log, tasks, tasks.c.id == _log.task_id)
    .where(_log.terminal)
    .order_by(_log.position)
)


@dataclass(frozen=True)
class Ended:
    """One end of one run: `task` as it was then, and where that is still to be told, if anywhere."""

    position: int
    run: int
    task: Task
    webhook_url: str | None = None

    def __str__(self) -> str:
        return f"<Ended {self.task.id} run={self.run} {self.task.state}>"


def ends(connection: Connection, *which: ColumnElement[bool]) -> list[Ended]:
    """The ends whose terminal event satisfies all conditions, in the order of the log."""
    rows = connection.execute(_ENDS.where(*which)).all()
    return [Ended(row.position, row.run, _as_it_ended(row), row.webhook_url) for row in rows]


def _as_it_ended(row: Row[Any]) -> Task:
    task = task_from_row(row)
    # subtle: nothing changes a task that completed or was cancelled, and a failed one is changed only by its next run
    if row.position == row.newest_end and (task.state in FINAL or task.state == TaskState.FAILED):
        return task
    return replace(
        task, state=TaskState.FAILED, error=row.message, result=None, attempt=row.attempt_then, worker_id=None,
        lease_expires_at=None, updated_at=parse_time(row.ended_at),
    )  # fmt: skip
