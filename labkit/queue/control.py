"""Cancel a task or change its priority from outside, whatever its worker is doing.

A cancel takes effect at once: the task is cancelled with its terminal event in one transaction, and if a worker is at
it, that worker's next heartbeat, completion or failure is refused (`TaskCancelled`). Of a cancel and a completion that
race, exactly one wins. Cancelling twice is fine; cancelling what has completed or failed is `InvalidTransition`.

Not handled here: effects that the task already had. Its worker sees the cancel at a heartbeat and may undo them.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, Engine

from labkit.database import writing
from labkit.errors import InvalidTransition
from labkit.progress.log import append_end
from labkit.queue.change import ENDED, change, find, moment, named
from labkit.queue.lease import shortened
from labkit.store.contract import log_written, plain_count, storable_text
from labkit.tables import tasks
from labkit.task import TRANSITIONS, Task, TaskState

_CANCELLABLE = [state.value for state, after in TRANSITIONS.items() if TaskState.CANCELLED in after]
_CHANGEABLE = [state.value for state in TaskState if state not in ENDED]


def cancel(engine: Engine, task_id: str, reason: str = "", now: datetime | None = None) -> Task:
    """The cancelled task; `reason` becomes its `error`, a long one shortened. `TaskNotFound`, `InvalidTransition` when it came too late."""
    values = {"state": TaskState.CANCELLED.value, "lease_expires_at": None, "error": shortened(storable_text(reason)) or None}
    with writing(engine) as connection:
        at = moment(connection, now)
        task = change(connection, at, values, named(task_id), tasks.c.state.in_(_CANCELLABLE))
        if task is None:
            return _cancelled_before(connection, task_id)
        append_end(connection, task_id)
    return log_written(task)


def _cancelled_before(connection: Connection, task_id: str) -> Task:
    task = find(connection, task_id)
    if task.state != TaskState.CANCELLED:
        raise InvalidTransition(f"task {task_id} has {task.state} already")
    return task


def set_priority(engine: Engine, task_id: str, priority: int, now: datetime | None = None) -> Task:
    """Let the task be claimed earlier or later; of a running one it counts from its next attempt on."""
    values = {"priority": plain_count("priority", priority)}
    with writing(engine) as connection:
        at = moment(connection, now)
        task = change(connection, at, values, named(task_id), tasks.c.state.in_(_CHANGEABLE))
        if task is None:
            raise InvalidTransition(f"{find(connection, task_id)} has ended: its priority means nothing")
    return task
