"""Wait for the end of a task: any number of waiters, before or after the end, each gets the same task.

The state on the row is what is asked, again and again at growing intervals, so a waiter misses nothing that happened
before it came and needs nobody to wake it. Waiting has no effect on the task: when the time is up, it goes on.

Not handled here: progress on the way (see `progress`).
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Engine, select

from labkit.clock import Clock
from labkit.database import reading
from labkit.errors import WaitTimeout
from labkit.queue.change import ENDED, find
from labkit.tables import task_from_row, tasks
from labkit.task import Task

FIRST_POLL, LONGEST_POLL = 0.02, 0.5  # seconds


def look(engine: Engine, task_id: str) -> Task:
    """The task as it is stored; `TaskNotFound`."""
    with reading(engine) as connection:
        return find(connection, task_id)


def newest(engine: Engine, limit: int) -> list[Task]:
    """The tasks that were submitted last, newest first."""
    chosen = select(tasks).order_by(tasks.c.created_at.desc(), tasks.c.id.desc()).limit(limit)
    with reading(engine) as connection:
        return [task_from_row(row) for row in connection.execute(chosen)]


def wait(
    engine: Engine, task_id: str, timeout: float | None, clock: Clock, pause: Callable[[float], object] | None = None
) -> Task:
    """The completed, failed or cancelled task. `TaskNotFound` at once, `WaitTimeout` after `timeout` seconds.

    `pause(seconds)` is how it waits, for whoever can be woken earlier; else it sleeps on the clock.
    """
    began, poll = clock.monotonic(), FIRST_POLL
    while (task := look(engine, task_id)).state not in ENDED:
        left = LONGEST_POLL if timeout is None else timeout - (clock.monotonic() - began)
        if left <= 0:
            raise WaitTimeout(f"{task} has not ended in {timeout:g} s")
        (pause or clock.sleep)(min(poll, left))
        poll = min(poll * 1.5, LONGEST_POLL)
    return task
