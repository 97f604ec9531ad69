"""The table of tasks: one definition for SQLite and PostgreSQL, and the one way from a row to a `Task`.

A row can be inserted by naming nothing but `id` and `user_input`: the rest has server defaults or is null. Ids
compare by code point on both databases, so "then by id" means the same everywhere.

Not handled here: who may change a row, and when (see `store.sql` and `queue`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Column, Engine, Index, MetaData, Row, Table, Text, text

from labkit.database import UtcDateTime, db_now, parse_time, write_transaction
from labkit.task import Task, TaskState

metadata = MetaData()

_ID = Text().with_variant(Text(collation="C"), "postgresql")


def _count(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False, server_default=text("0"))


def _stamp(name: str) -> Column[datetime]:
    return Column(name, UtcDateTime, nullable=False, server_default=db_now())


tasks = Table(
    "tasks",
    metadata,
    Column("id", _ID, primary_key=True),
    Column("user_input", Text, nullable=False),
    Column("state", Text, nullable=False, server_default=TaskState.PENDING.value),
    _count("priority"),
    _stamp("created_at"),
    _stamp("available_at"),
    _stamp("updated_at"),
    Column("worker_id", Text),
    _count("attempt"),
    Column("lease_expires_at", UtcDateTime),
    Column("result", Text),
    Column("error", Text),
    Column("idempotency_key", Text, unique=True),
    _count("version"),
)
Index("tasks_in_claim_order", tasks.c.state, tasks.c.priority.desc(), tasks.c.created_at, tasks.c.id)

_FIELDS = frozenset(field.name for field in fields(Task))
_TIMES = ("available_at", "lease_expires_at", "created_at", "updated_at")


def create_tables(engine: Engine, tables: MetaData = metadata) -> None:
    """Create what is missing. Safe when several processes start on one new database at once."""
    with write_transaction(engine) as connection:
        if connection.dialect.name == "postgresql":
            # subtle: CREATE TABLE IF NOT EXISTS can still fail when two run at once
            connection.execute(text("SELECT pg_advisory_xact_lock(7226017)"))
        tables.create_all(connection)


def task_from_row(row: Row[Any] | Mapping[str, Any]) -> Task:
    """The `Task` in a row of any query; foreign columns are ignored, missing ones keep their defaults."""
    named: Any = row if isinstance(row, Mapping) else row._mapping
    values = {name: named[name] for name in named.keys() & _FIELDS}
    values.update({name: parse_time(values[name]) for name in _TIMES if values.get(name) is not None})
    if "state" in values:
        values["state"] = TaskState(values["state"])
    return Task(**values)
