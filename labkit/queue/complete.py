"""Complete a task exactly once, with its terminal event, and take the next one in the same commit if wanted.

Who no longer holds the lease changes nothing, takes nothing and gets `StaleLease`. Either way the state and the event
share a transaction: a crash leaves both or neither. With the next claim in the same statement a task costs one commit
instead of two; a crash right after it leaves one task done and the next one running until its lease ends.

Not handled here: an answer that was lost on the way. Asked again, this raises `StaleLease`: look at the task.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Engine

from labkit.commit import bound, one_commit, times
from labkit.errors import UnstorableValue
from labkit.progress.log import COMPLETED_ON_SQLITE, end_sql
from labkit.queue.choose import CLAIM, ONE, TAKEN, TAKING
from labkit.queue.claim import task_in
from labkit.queue.lease import FENCE, Lease, lost, token
from labkit.statement import COLUMNS, UPDATED, in_dialect, task_of
from labkit.store.contract import log_written, plain_text
from labkit.task import Task

LARGEST_RESULT = 1_000_000  # bytes of UTF-8; what is larger belongs elsewhere, and its address into the result

DONE = 0  # the first column of the completed task, where a claimed one follows


def completing(result: str, which: str) -> str:
    """The template of the UPDATE that ends tasks with a result and returns them; `which` says which ones."""
    return f"""UPDATE tasks SET state = 'completed', result = {result}, error = NULL, lease_expires_at = NULL,
  updated_at = {{own_now}}, version = version + 1 {which} RETURNING {COLUMNS}"""


_DONE = completing(":result", f"WHERE {FENCE}")
_TOLD = f"done AS ({_DONE}), told AS ({end_sql('postgresql', 'done')})"
COMPLETE = {
    "sqlite": in_dialect("sqlite", _DONE),
    "postgresql": in_dialect("postgresql", f"{{with_more}}{_TOLD} SELECT {COLUMNS} FROM done"),
}
# subtle: the statement still sees the completed row as running, so its own lease must not count as one that is over
_BOTH = in_dialect(
    "postgresql",
    f"{{with_more}}{_TOLD}, {TAKING} SELECT {DONE} AS place, {COLUMNS} FROM done UNION ALL {TAKEN} ORDER BY place",
    besides=" AND id <> :id",
    only_if=" AND EXISTS (SELECT 1 FROM done)",
    **ONE,
)


def complete(engine: Engine, lease: Lease, result: str, now: datetime | None = None) -> Task:
    """Store the result and end the task. `StaleLease`, or `UnstorableValue` for a result that no store can hold."""
    values = values_of(lease, result, bound(engine, now))
    with one_commit(engine) as execute:
        found = execute(COMPLETE[engine.dialect.name], values)
        if found and engine.dialect.name == "sqlite":
            execute(COMPLETED_ON_SQLITE, values)
    if not found:
        raise lost(engine, lease)
    return log_written(task_of(found[0]))


def complete_and_claim(
    engine: Engine, lease: Lease, result: str, lease_seconds: float, now: datetime | None = None
) -> tuple[Task, Task | None]:
    """`complete`, and the task that `claim` would give to the same worker afterwards, in one commit."""
    values = values_of(lease, result, bound(engine, now), lease_seconds)
    done: Task | None = None
    with one_commit(engine) as execute:
        if engine.dialect.name == "postgresql":
            found = execute(_BOTH, values)
            if found and found[0][0] == DONE:
                done, found = task_of(found[0][1:]), found[1:]
        elif rows := execute(COMPLETE["sqlite"], values):
            done = task_of(rows[0])
            execute(COMPLETED_ON_SQLITE, values)
            values |= times(execute, engine, rows[0][UPDATED], lease_seconds)
            found = execute(CLAIM["sqlite"], values)
    if done is None:
        raise lost(engine, lease)
    return log_written(done), task_in(engine, found, values)


def values_of(lease: Lease, result: str, now: Any, seconds: float = 0.0) -> dict[str, Any]:
    text = plain_text("result", result)
    if len(text) > LARGEST_RESULT or (len(text) * 4 > LARGEST_RESULT and len(text.encode()) > LARGEST_RESULT):
        raise UnstorableValue(f"result is larger than {LARGEST_RESULT} bytes", path="result")
    return token(lease) | {"result": text, "now": now, "seconds": seconds}
