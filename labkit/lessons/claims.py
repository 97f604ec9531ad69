"""Chapter 21, common error 2, and its relatives: ways to take the next task, most of them broken on purpose.

A claim takes `engine`, `worker` and `now`, and returns the ids that it has taken. Each docstring says where it breaks:
between two workers, or when one dies. They are kept short: every pending task is due.

Not handled here: times to come, and the cure in full, which is `labkit.queue.claim`.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Engine, select, text, update
from sqlalchemy.dialects.postgresql.base import PGDialect
from sqlalchemy.dialects.sqlite.base import SQLiteDialect

from labkit.clock import STORY_BEGINS
from labkit.database import utc_text, write_transaction
from labkit.queue.claim import claim as claim_of_the_queue
from labkit.tables import tasks

LEASE = 60.0  # seconds
NEXT = (
    select(tasks.c.id)
    .where(tasks.c.state == "pending")
    .order_by(tasks.c.priority.desc(), tasks.c.created_at, tasks.c.id)
    .limit(1)
)
CLAUSE = re.compile(r"\s+(\(SELECT id|ORDER|FOR|UPDATE tasks|WHERE id)\b")
_LOOK = "SELECT id FROM tasks WHERE state = 'pending' ORDER BY priority DESC, created_at, id LIMIT 1"
_TAKE = "UPDATE tasks SET state = 'running', worker_id = :worker, attempt = attempt + 1, updated_at = :now"


def take(task_id: Any, worker: str, now: datetime) -> Any:
    """The UPDATE that makes a row this worker's."""
    taken = {"state": "running", "worker_id": worker, "attempt": tasks.c.attempt + 1, "updated_at": now}
    return update(tasks).where(tasks.c.id == task_id).values(taken)


def _taken(connection: Connection, statement: Any) -> list[str]:
    return list(connection.execute(statement.returning(tasks.c.id)).scalars())


def select_then_update(engine: Engine, worker: str, now: datetime) -> list[str]:
    """Common error 2, the BAD listing: look first, take later. Breaks when both look before either has taken."""
    with engine.connect() as connection:
        chosen = connection.scalar(NEXT)
    with engine.begin() as connection:
        connection.execute(take(chosen, worker, now))
    return [chosen] if chosen else []


def in_one_transaction(engine: Engine, worker: str, now: datetime) -> list[str]:
    """Both in one transaction. PostgreSQL lets both look all the same; SQLite refuses the second with an error."""
    with engine.begin() as connection:
        chosen = connection.scalar(NEXT)
        connection.execute(take(chosen, worker, now))
    return [chosen] if chosen else []


def in_a_driver_transaction(engine: Engine, worker: str, now: datetime) -> list[str]:
    """The same with `sqlite3` as it comes. Breaks: it sends BEGIN before the UPDATE, and nothing before the SELECT."""
    pooled = engine.raw_connection()
    connection: Any = pooled.driver_connection
    connection.isolation_level = ""  # as `sqlite3.connect` leaves it
    try:
        with connection:
            chosen = [row[0] for row in connection.execute(_LOOK)]
            values = {"worker": worker, "now": utc_text(now), "id": "".join(chosen)}
            connection.execute(f"{_TAKE} WHERE id = :id", values)
    finally:
        connection.isolation_level = None
        pooled.close()
    return chosen


def write_lock_first(engine: Engine, worker: str, now: datetime) -> list[str]:
    """Both under BEGIN IMMEDIATE: right on SQLite. On PostgreSQL that is a plain transaction, and doubles."""
    with write_transaction(engine) as connection:
        chosen = connection.scalar(NEXT)
        connection.execute(take(chosen, worker, now))
    return [chosen] if chosen else []


def update_by_id(engine: Engine, worker: str, now: datetime) -> list[str]:
    """One statement, but the UPDATE asks for the id alone. Breaks on PostgreSQL: who waited for the row takes it too."""
    with engine.begin() as connection:
        return _taken(connection, take(NEXT.scalar_subquery(), worker, now))


def update_if_pending(engine: Engine, worker: str, now: datetime) -> list[str]:
    """Never twice: it looks at the state again. On PostgreSQL it waits for another's row, and then takes none."""
    with engine.begin() as connection:
        return _taken(connection, take(NEXT.scalar_subquery(), worker, now).where(tasks.c.state == "pending"))


def lock_without_skip(engine: Engine, worker: str, now: datetime) -> list[str]:
    """FOR UPDATE alone: on PostgreSQL it waits for the row that another is taking, though the next one is free."""
    with engine.begin() as connection:
        return _taken(connection, take(NEXT.with_for_update().scalar_subquery(), worker, now))


def lock_given_back(engine: Engine, worker: str, now: datetime) -> list[str]:
    """FOR UPDATE SKIP LOCKED, to the letter. Breaks on both: the lock ends with its transaction, before the UPDATE."""
    with engine.connect() as connection:
        chosen = connection.scalar(NEXT.with_for_update(skip_locked=True))
    with engine.begin() as connection:
        connection.execute(take(chosen, worker, now))
    return [chosen] if chosen else []


def skip_without_lock(engine: Engine, worker: str, now: datetime) -> list[str]:
    """SKIP LOCKED without FOR UPDATE is no SQL: there is nothing to skip where nothing is locked."""
    with engine.begin() as connection:
        return list(connection.execute(text(f"{_LOOK} SKIP LOCKED")).scalars())


def limit_inside_in(engine: Engine, worker: str, now: datetime) -> list[str]:
    """IN instead of =. Takes several on PostgreSQL, under a plan that runs the subquery again for each row."""
    skip = "FOR UPDATE SKIP LOCKED" if engine.dialect.name == "postgresql" else ""
    taken = text(f"{_TAKE} WHERE id IN ({_LOOK} {skip}) RETURNING id")
    with engine.begin() as connection:
        plan_of_stale_statistics(connection)
        given = utc_text(now) if engine.dialect.name == "sqlite" else now
        return list(connection.execute(taken, {"worker": worker, "now": given}).scalars())


def plan_of_stale_statistics(connection: Connection) -> None:
    """Let PostgreSQL plan this transaction as it would if its statistics were old."""
    if connection.dialect.name == "postgresql":
        ways = ("hashjoin", "mergejoin", "hashagg", "sort", "material")
        off = ", ".join(f"set_config('enable_{way}', 'off', true)" for way in ways)
        connection.execute(text(f"SELECT {off}"))


def one_act(dialect: str, worker: str, now: datetime) -> Any:
    """The statement that looks and takes in one go. SQLite has no row locks, and SQLAlchemy leaves them out there."""
    lock = NEXT.with_for_update(skip_locked=True).cte("chosen")
    if dialect == "postgresql":
        lock = lock.prefix_with("MATERIALIZED")  # computed once, whatever the plan
    return take(select(lock.c.id).scalar_subquery(), worker, now)


def no_lease(engine: Engine, worker: str, now: datetime) -> list[str]:
    """One act, right between workers on both. Breaks when a worker dies: what it held is never claimed again."""
    with engine.begin() as connection:
        return _taken(connection, one_act(engine.dialect.name, worker, now))


def with_a_lease(engine: Engine, worker: str, now: datetime) -> list[str]:
    """The library's: one act, and for a while."""
    task = claim_of_the_queue(engine, worker, LEASE, now)
    return [task.id] if task else []


def sql_of_one_act(dialect: str) -> str:
    """The statement of `one_act` in the SQL of this database, a clause a line."""
    spoken: Any = {"postgresql": PGDialect, "sqlite": SQLiteDialect}[dialect](paramstyle="named")
    words = str(one_act(dialect, "w1", STORY_BEGINS).compile(dialect=spoken)).split()
    return CLAUSE.sub("\n\\1", " ".join(words).replace("tasks.", ""))
