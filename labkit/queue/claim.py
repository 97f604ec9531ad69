"""Atomically hand the most urgent task that is due to one worker, for the length of a lease.

One statement looks and takes: highest priority first, then oldest, then by id; a pending task whose time has come, or
a running one whose lease is over. PostgreSQL skips rows that somebody else is taking, SQLite takes its write lock
first; on both, never two workers for one row and never two rows for one call. The attempt is counted here, where a
worker that dies later cannot keep it from being counted, so a task that kills its workers comes to its last attempt
too. A crash before the commit leaves the task as it was, a crash after it leaves it running until the lease ends.

Not handled here: renewing the lease (see `lease`), and burying a task whose last lease ended (see `dead`).
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Engine

from labkit.queue.commit import COLUMNS, in_dialect, one_commit, task_of, times
from labkit.queue.tables import ALIVE_SQL, LIMIT_SQL
from labkit.store.contract import log_written, plain_text
from labkit.task import Task

_PENDING = "state = 'pending' AND available_at <= {now}"
_EXPIRED = f"state = 'running' AND lease_expires_at < {{now}} AND attempt < {LIMIT_SQL}"
_ORDER = "ORDER BY priority DESC, created_at, id LIMIT 1"
_FIRST = "SELECT * FROM (SELECT id, priority, created_at FROM tasks WHERE"
CHOSEN = {
    # each half walks along an index and stops at its first row
    "sqlite": f"""chosen AS (SELECT id FROM (
  {_FIRST} {_PENDING} {_ORDER}) UNION ALL {_FIRST} {_EXPIRED} {_ORDER})) {_ORDER})""",
    # subtle: a CTE that is computed once; as a subquery of IN its LIMIT may be run again and let several rows through
    "postgresql": f"""chosen AS MATERIALIZED (
  SELECT id FROM tasks WHERE {ALIVE_SQL} AND CASE state
    WHEN 'pending' THEN available_at <= {{now}}
    ELSE lease_expires_at < {{now}} AND attempt < {LIMIT_SQL} END{{besides}}
  {_ORDER} FOR UPDATE OF tasks SKIP LOCKED)""",
}
TAKE = f"""UPDATE tasks SET state = 'running', worker_id = :worker, attempt = attempt + 1, lease_expires_at = {{expires}},
  updated_at = {{now}}, version = version + 1
WHERE id = (SELECT id FROM chosen) RETURNING {COLUMNS}"""
CLAIM = {
    dialect: in_dialect(dialect, f"{{with_more}}{chosen} {TAKE}", besides="") for dialect, chosen in CHOSEN.items()
}


def claim(engine: Engine, worker_id: str, lease_seconds: float, now: datetime | None = None) -> Task | None:
    """The task that is now this worker's until `lease_expires_at`, or None if nothing is due.

    Without `now` all times are the database's own. `StoreBusy` if another writer holds the lock for too long.
    """
    worker = plain_text("worker_id", worker_id)
    with one_commit(engine) as execute:
        taken = execute(CLAIM[engine.dialect.name], {"worker": worker, **times(execute, engine, now, lease_seconds)})
    return log_written(task_of(taken[0])) if taken else None
