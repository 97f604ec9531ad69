"""Atomically hand the most urgent task that is due to one worker, for the length of a lease.

One statement looks and takes: a pending task whose time has come, or a running one whose lease is over. PostgreSQL skips
rows that somebody else is taking, SQLite takes its write lock first; on both, never two workers for one row and never two
rows for one call. The attempt is counted here, where a worker that dies later cannot keep it from being counted, so a
task that kills its workers comes to its last attempt too. A crash before the commit leaves the task as it was, a crash
after it leaves it running until the lease ends.

Not handled here: which one is the most urgent (see `choose`), renewing the lease (see `lease`), and burying a task whose
last lease ended (see `dead`).
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Engine

from labkit.commit import Rows, one_commit, times
from labkit.queue.choose import CLAIM, CLAIM_ANY, LOOK_AGAIN
from labkit.statement import task_of
from labkit.store.contract import log_written, plain_text
from labkit.task import Task


def claim(engine: Engine, worker_id: str, lease_seconds: float, now: datetime | None = None) -> Task | None:
    """The task that is now this worker's until `lease_expires_at`, or None if nothing is due.

    Without `now` all times are the database's own. `StoreBusy` if another writer holds the lock for too long.
    """
    values: dict[str, Any] = {"worker": plain_text("worker_id", worker_id)}
    with one_commit(engine) as execute:
        values |= times(execute, engine, now, lease_seconds)
        rows = execute(CLAIM[engine.dialect.name], values)
    return task_in(engine, rows, values)


def task_in(engine: Engine, rows: Rows, values: dict[str, Any]) -> Task | None:
    """The task in what a claim returned; where it saw that a lease is over, the one that is next among all."""
    if rows and rows[0][0] == LOOK_AGAIN:
        with one_commit(engine) as execute:
            rows = execute(CLAIM_ANY, values)
    if not rows or rows[0][1] is None:
        return None
    return log_written(task_of(rows[0][1:]))
