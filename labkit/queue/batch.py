"""Claim several tasks in one commit, and complete several in one: for tasks so short that a commit for each is what they cost.

A batch is claimed as if one by one: in the same order, each task with its own attempt and lease, none of them twice, never
more than asked for. It is completed row by row in one transaction: each row has its own fence and its own terminal event,
and a lease that was lost is told without undoing the others. A crash in between leaves what was claimed and not yet completed
running until the leases end, so it redoes at most one batch per worker. Whoever cannot afford that completes each task by itself.

Not handled here: working on the tasks within one lease. Claim as many as are done before it ends, or renew each lease.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import Engine

from labkit.commit import Execute, Rows, bound, one_commit, times
from labkit.errors import StaleLease
from labkit.progress.log import COMPLETED_ON_SQLITE, end_sql
from labkit.queue.choose import CLAIM_ANY_MANY, CLAIM_MANY, LOOK_AGAIN
from labkit.queue.complete import COMPLETE, completing, values_of
from labkit.queue.lease import Lease, fence, lost
from labkit.statement import COLUMNS, in_dialect, task_of
from labkit.store.contract import log_written, plain_text
from labkit.task import Task

_Asked = dict[tuple[str, str, int], dict[str, Any]]  # by (task, worker, attempt)
_TOGETHER = in_dialect(
    "postgresql",
    f"""{{with_more}}asked AS (SELECT * FROM unnest(CAST(:id AS text[]), CAST(:worker AS text[]),
  CAST(:attempt AS bigint[]), CAST(:result AS text[])) AS given (task, holder, number, outcome)),
done AS ({completing("outcome", f"FROM asked WHERE {fence('task', 'holder', 'number')}")}),
told AS ({end_sql("postgresql", "done")}) SELECT {COLUMNS} FROM done""",
)


def claim_many(
    engine: Engine, worker_id: str, limit: int, lease_seconds: float, now: datetime | None = None
) -> list[Task]:
    """Up to `limit` tasks that are now this worker's, the most urgent first; none if nothing is due. `StoreBusy`."""
    if limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
    values: dict[str, Any] = {"worker": plain_text("worker_id", worker_id), "limit": limit}
    with one_commit(engine) as execute:
        values |= times(execute, engine, now, lease_seconds)
        rows = execute(CLAIM_MANY[engine.dialect.name], values)
    if rows and rows[0][0] == LOOK_AGAIN:
        with one_commit(engine) as execute:
            rows = execute(CLAIM_ANY_MANY, values)
    # subtle: RETURNING promises no order
    return sorted((log_written(task_of(row[1:])) for row in rows if row[1] is not None), key=_urgency)


def complete_many(
    engine: Engine, results: Iterable[tuple[Lease, str]], now: datetime | None = None
) -> list[Task | StaleLease]:
    """What became of each, in the given order: the completed task, or the `StaleLease` that `complete` would have raised.

    `UnstorableValue` for a result that no store can hold, and `StoreBusy`: then nothing was completed.
    """
    given = [(lease, values_of(lease, result, bound(engine, now))) for lease, result in results]
    asked = {_holder(lease): values for lease, values in reversed(given)}  # of two for one lease the first counts
    with one_commit(engine) as execute:
        # crash here: nothing is committed, all of them are still this worker's
        rows = _together(execute, asked, now) if engine.dialect.name == "postgresql" else _one_by_one(execute, asked)
    done = {_holder(task): task for task in map(task_of, rows)}
    return [_told(engine, lease, done.pop(_holder(lease), None)) for lease, _ in given]


def _one_by_one(execute: Execute, asked: _Asked) -> Rows:
    rows: Rows = []
    for values in reversed(asked.values()):
        if found := execute(COMPLETE["sqlite"], values):
            execute(COMPLETED_ON_SQLITE, values)
            rows += found
    return rows


def _together(execute: Execute, asked: _Asked, now: datetime | None) -> Rows:
    rows = [asked[holder] for holder in sorted(asked)]  # subtle: all lock in one order, or two of them may deadlock
    columns = {name: [values[name] for values in rows] for name in ("id", "worker", "attempt", "result")}
    return execute(_TOGETHER, columns | {"now": now})


def _told(engine: Engine, lease: Lease, task: Task | None) -> Task | StaleLease:
    return lost(engine, lease) if task is None else log_written(task)


def _holder(held: Lease | Task) -> tuple[str, str, int]:
    task_id = held.id if isinstance(held, Task) else held.task_id
    return task_id, held.worker_id or "", held.attempt


def _urgency(task: Task) -> Any:
    return -task.priority, task.created_at, task.id
