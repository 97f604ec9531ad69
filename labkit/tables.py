"""All tables in one place, so that whoever creates them creates all of them; and the one way from a row to a `Task`.

One definition serves SQLite and PostgreSQL. A task can be inserted by naming nothing but `id` and `user_input`: the rest has
server defaults or is null, and one without options has the defaults of those. Ids compare by code point on both databases,
so "then by id" means the same everywhere.

Not handled here: who may change a row, and when (see `store.sql`, `queue` and `progress`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Engine,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Row,
    Table,
    Text,
    false,
    inspect,
    text,
)

from labkit.database import UtcDateTime, db_now, parse_time, write_transaction
from labkit.task import Task, TaskState

metadata = MetaData()

_ID = Text().with_variant(Text(collation="C"), "postgresql")


MAX_ATTEMPTS = 3  # of a task for which nobody said another number


def _count(name: str, default: int = 0) -> Column[int]:
    return Column(name, BigInteger, nullable=False, server_default=text(str(default)))


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
# A task stands in one of these while it is in that state, and a completed one in none.
# subtle: an index that began with the state would keep the dead entries of all tasks that ever ran, and a claim must not write
# into the index that it walks along, or PostgreSQL cannot clear away the dead entries there
PENDING_SQL, RUNNING_SQL, FAILED_SQL = (f"state = '{state}'" for state in ("pending", "running", "failed"))


def _while(state_sql: str, name: str, *columns: Any) -> None:
    Index(name, *columns, postgresql_where=text(state_sql), sqlite_where=text(state_sql))


_while(PENDING_SQL, "tasks_pending", tasks.c.priority.desc(), tasks.c.created_at, tasks.c.id)
_while(RUNNING_SQL, "tasks_running", tasks.c.lease_expires_at)
_while(FAILED_SQL, "tasks_failed", tasks.c.updated_at, tasks.c.id)

task_options = Table(  # what the queue knows of a task beyond its row
    "task_options",
    metadata,
    Column("task_id", _ID, primary_key=True),
    Column("webhook_url", Text),
    Column("deadline", UtcDateTime),
    _count("max_attempts", MAX_ATTEMPTS),
    _count("attempts_before"),  # those that do not count: of earlier runs, and those that were given back
    Column("question", Text),  # what a parked task waits to hear
    Column("answer", Text),
)

amendments = Table(  # what people added to a task while it was on its way
    "amendments",
    metadata,
    Column("task_id", _ID, primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("text", Text, nullable=False),
    _stamp("time"),
)

progress_log = Table(  # what tasks told while they ran, only ever appended to; `webhook_url` alone is cleared later
    "progress_log",
    metadata,
    Column("position", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("task_id", _ID, nullable=False),
    _count("run", 1),
    _count("attempt"),
    Column("step", BigInteger, nullable=False),
    _count("total_step"),
    Column("status", Text, nullable=False),
    Column("message", Text, nullable=False, server_default=""),
    Column("tool", Text, nullable=False, server_default=""),
    _stamp("time"),
    Column("terminal", Boolean, nullable=False, server_default=false()),
    Column("webhook_url", Text),  # where this end is still to be told; nothing once a delivery is written for it
)
Index("progress_of_task", progress_log.c.task_id, progress_log.c.position)
Index("progress_one_end_a_run", progress_log.c.task_id, progress_log.c.run, unique=True,
      sqlite_where=progress_log.c.terminal, postgresql_where=progress_log.c.terminal)  # fmt: skip
_while("webhook_url IS NOT NULL", "progress_untold", progress_log.c.run, progress_log.c.position)

webhook_deliveries = Table(  # one for each end of a task that somebody wants to be told
    "webhook_deliveries",
    metadata,
    Column("id", _ID, primary_key=True),
    Column("task_id", _ID, nullable=False),
    Column("run", BigInteger, nullable=False),
    Column("url", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),  # as it is sent, each time
    Column("state", Text, nullable=False, server_default="pending"),
    _count("attempt"),  # those that ended with an answer or an error
    _stamp("due_at"),  # while somebody sends it: the end of that lease
    Column("last_status", BigInteger),
    Column("last_error", Text),
    _stamp("created_at"),
    _stamp("updated_at"),
    _count("version"),  # counts writes, and is the fence of whoever sends it
)
Index("deliveries_of_task", webhook_deliveries.c.task_id, webhook_deliveries.c.run, unique=True)
_while("state = 'pending'", "deliveries_due", webhook_deliveries.c.due_at, webhook_deliveries.c.id)

saga_log = Table(  # what a saga has begun, done and undone, in the order of `seq`; whoever writes must have read all of it
    "saga_log",
    metadata,
    Column("saga_id", _ID, primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("event", Text, nullable=False),
    Column("step", Text, nullable=False, server_default=""),
    Column("error", Text, nullable=False, server_default=""),
    _stamp("time"),
    info={"log": {"of": ("saga_id", "step"), "says": "event", "number": "seq"}},  # to say the same of the same once more says nothing
)

checkpoints = Table(  # snapshots of tasks; their order is `seq`, never the time
    "checkpoints",
    metadata,
    Column("task_id", _ID, primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("data", Text, nullable=False),
    Column("checksum", Text, nullable=False),
    _stamp("created_at"),
)

checkpoint_heads = Table(  # the last number that a task's checkpoints had; PostgreSQL's writers meet at this row, SQLite's at the write lock
    "checkpoint_heads",
    metadata,
    Column("task_id", _ID, primary_key=True),
    Column("seq", BigInteger, nullable=False),
)

artifacts = Table(  # results that are too large for a state or a checkpoint, named by their content
    "artifacts",
    metadata,
    Column("artifact_id", _ID, primary_key=True),
    Column("type", Text, nullable=False),
    Column("summary", Text, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("content", LargeBinary, nullable=False),
    _stamp("created_at"),
)

messages = Table(  # the conversation of an agent with its model, each message as JSON
    "messages",
    metadata,
    Column("task_id", _ID, primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("message", Text, nullable=False),
    _count("tokens"),  # what it cost
    _count("millis"),
)

tool_results = Table(  # what a tool call gave, kept before the model is told
    "tool_results",
    metadata,
    Column("task_id", _ID, primary_key=True),
    Column("call_id", _ID, primary_key=True),
    Column("result", Text),  # null while the call is being made
)

agent_states = Table(  # what an agent knows of a task, shared; whoever writes must have read the version before
    "agent_states",
    metadata,
    Column("agent_id", _ID, primary_key=True),
    Column("task_id", _ID, primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    _stamp("updated_at"),
)

_FIELDS = frozenset(field.name for field in fields(Task))
_TIMES = ("available_at", "lease_expires_at", "created_at", "updated_at")


def create_tables(engine: Engine, tables: MetaData = metadata) -> None:
    """Create what is missing. Safe when several processes start on one new database at once."""
    with write_transaction(engine) as connection:
        if connection.dialect.name == "postgresql":
            # subtle: CREATE TABLE IF NOT EXISTS can still fail when two run at once
            connection.execute(text("SELECT pg_advisory_xact_lock(7226017)"))
        tables.create_all(connection)


def lacking(engine: Engine, tables: MetaData = metadata) -> dict[str, list[str]]:
    """Table -> the columns of ours that are not in it, for each table that is there under a name of ours and is another one."""
    with engine.connect() as connection:
        look = inspect(connection)
        there = {table: look.get_columns(table.name) for table in tables.sorted_tables if look.has_table(table.name)}
    missing = {table.name: [c.name for c in table.columns if c.name not in {one["name"] for one in found}] for table, found in there.items()}
    return {name: columns for name, columns in missing.items() if columns}


def task_from_row(row: Row[Any] | Mapping[str, Any]) -> Task:
    """The `Task` in a row of any query; foreign columns are ignored, missing ones keep their defaults."""
    named: Any = row if isinstance(row, Mapping) else row._mapping
    values = {name: named[name] for name in named.keys() & _FIELDS}
    values.update({name: parse_time(values[name]) for name in _TIMES if values.get(name) is not None})
    if "state" in values:
        values["state"] = TaskState(values["state"])
    return Task(**values)
