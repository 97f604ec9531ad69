"""Complete a task exactly once, with its terminal event, and take the next one in the same commit if wanted.

Who no longer holds the lease changes nothing, takes nothing and gets `StaleLease`. Either way the state and the event
share a transaction: a crash leaves both or neither. With the next claim in the same statement a task costs one commit
instead of two; a crash right after it leaves one task done and the next one running until its lease ends.

Not handled here: an answer that was lost on the way. Asked again, this raises `StaleLease`: look at the task.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Engine

from labkit.progress.log import END_SQL
from labkit.queue.claim import CHOSEN, CLAIM, TAKE
from labkit.queue.commit import COLUMNS, Rows, in_dialect, one_commit, task_of, times
from labkit.queue.lease import FENCE, Lease, lost, token
from labkit.store.contract import log_written, plain_text
from labkit.task import Task

_DONE = f"""UPDATE tasks SET state = 'completed', result = :result, error = NULL, lease_expires_at = NULL,
  updated_at = {{now}}, version = version + 1 WHERE {FENCE} RETURNING {COLUMNS}"""
_TOLD = f"done AS ({_DONE}), told AS ({END_SQL.replace('{ended}', 'done')})"
_COMPLETE = {
    "sqlite": in_dialect("sqlite", _DONE),
    "postgresql": in_dialect("postgresql", f"{{with_more}}{_TOLD} SELECT {COLUMNS} FROM done"),
}
_END = in_dialect("sqlite", END_SQL, ended="tasks")
# subtle: the statement still sees the completed row as running, so it must be kept from taking that one again
_BOTH = in_dialect(
    "postgresql",
    f"""{{with_more}}{_TOLD}, {CHOSEN["postgresql"]}, taken AS ({TAKE})
SELECT 0 AS place, {COLUMNS} FROM done UNION ALL SELECT 1, {COLUMNS} FROM taken ORDER BY place""",
    besides=" AND id <> :id AND EXISTS (SELECT 1 FROM done)",
)


def complete(engine: Engine, lease: Lease, result: str, now: datetime | None = None) -> Task:
    """Store the result and end the task. `StaleLease`, or `UnstorableValue` for a result that no store can hold."""
    values = token(lease) | {"result": plain_text("result", result)}
    with one_commit(engine) as execute:
        values |= times(execute, engine, now)
        found = execute(_COMPLETE[engine.dialect.name], values)
        if found and engine.dialect.name == "sqlite":
            execute(_END, values)
    if not found:
        raise lost(engine, lease)
    return log_written(task_of(found[0]))


def complete_and_claim(
    engine: Engine, lease: Lease, result: str, lease_seconds: float, now: datetime | None = None
) -> tuple[Task, Task | None]:
    """`complete`, and the task that `claim` would give to the same worker afterwards, in one commit."""
    values = token(lease) | {"result": plain_text("result", result)}
    with one_commit(engine) as execute:
        values |= times(execute, engine, now, lease_seconds)
        if engine.dialect.name == "postgresql":
            found: Rows = [row[1:] for row in execute(_BOTH, values)]
        elif found := execute(_COMPLETE["sqlite"], values):
            execute(_END, values)
            found += execute(CLAIM["sqlite"], values)
    if not found:
        raise lost(engine, lease)
    done, *taken = (log_written(task_of(row)) for row in found)
    return done, taken[0] if taken else None
