"""What the queue knows of a task beyond its row, and the index that a claim walks along.

A task without a row here has the defaults, so whoever inserts tasks by hand need not know of this table. Attempts are
only ever counted up, since (worker, attempt) is a fencing token and must never come again; `attempts_before` says how
many of them do not count: those of earlier runs, and those that a worker gave back.

Not handled here: a registry of workers. Whether one is alive stands on the row of its task (`lease_expires_at`), where
nothing can prune it.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Column, Connection, Index, Table, Text, func, select, text
from sqlalchemy.dialects import postgresql, sqlite

from labkit.tables import metadata, tasks

MAX_ATTEMPTS = 3

task_options = Table(
    "task_options",
    metadata,
    Column("task_id", tasks.c.id.type, primary_key=True),
    Column("webhook_url", Text),
    Column("max_attempts", BigInteger, nullable=False, server_default=text(str(MAX_ATTEMPTS))),
    Column("attempts_before", BigInteger, nullable=False, server_default=text("0")),
)

# subtle: IS TRUE and a CASE in the claim keep PostgreSQL from walking another index and sorting, whatever its statistics say
ALIVE_SQL = "(state IN ('pending', 'running')) IS TRUE"
Index(
    "tasks_claimable",
    tasks.c.priority.desc(),
    tasks.c.created_at,
    tasks.c.id,
    postgresql_where=text(ALIVE_SQL),
).ddl_if(dialect="postgresql")  # SQLite finds its way by `tasks_in_claim_order`

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


def do_not_count(connection: Connection, task_id: str, attempts: Any) -> None:
    """Let this many of the attempts so far not count towards the limit (a number, or an expression over the row)."""
    put_options(connection, task_id, attempts_before=attempts)
