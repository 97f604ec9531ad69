"""One commit on the driver's own connection: for the few statements that run thousands of times a second.

On SQLite it is a transaction that takes the write lock first, on PostgreSQL a single statement that commits by itself
(one round trip, where BEGIN and COMMIT would make it three). A crash inside leaves nothing behind; a crash after it has
left everything. A lock that was waited for too long is `StoreBusy`, other errors are SQLAlchemy's, as everywhere.

Not handled here: several statements on PostgreSQL. Whoever needs that uses `write_transaction`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Engine, select
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import DBAPIError

from labkit.database import db_now, is_busy, parse_time
from labkit.errors import StoreBusy
from labkit.tables import tasks
from labkit.task import Task, TaskState

Rows = list[tuple[Any, ...]]
Execute = Callable[[str, Mapping[str, Any]], Rows]
NAMES = [column.name for column in tasks.c]
COLUMNS = ", ".join(NAMES)
_TIME_PLACES = [place for place, name in enumerate(NAMES) if name.endswith("_at")]
_STATE_PLACE = NAMES.index("state")
_NOW_ON_SQLITE = str(select(db_now()).compile(dialect=sqlite.dialect()))
# subtle: asked once for a statement, since clock_timestamp() runs on while the statement does
_MOMENT = "moment AS MATERIALIZED (SELECT coalesce(CAST(:now AS timestamptz), clock_timestamp()) AS at)"
_WORDS = {
    "sqlite": {"with": "", "with_more": "WITH ", "now": ":now", "expires": ":expires"},
    "postgresql": {
        "with": f"WITH {_MOMENT} ",
        "with_more": f"WITH {_MOMENT}, ",
        "now": "(SELECT at FROM moment)",
        "expires": "(SELECT at FROM moment) + make_interval(secs => :seconds)",
    },
}


def in_dialect(dialect: str, template: str, **words: str) -> str:
    """A statement for one database; parameters are written `:name`."""
    made = template.format(**_WORDS[dialect], **words)
    return re.sub(r":(\w+)", r"%(\1)s", made) if dialect == "postgresql" else made


def for_both(template: str, **words: str) -> dict[str, str]:
    """The same statement for each database, by the dialect's name."""
    return {dialect: in_dialect(dialect, template, **words) for dialect in _WORDS}


def task_of(row: tuple[Any, ...]) -> Task:
    """The task in a row of `COLUMNS`."""
    values = list(row)
    for place in _TIME_PLACES:
        if values[place] is not None:
            values[place] = parse_time(values[place])
    values[_STATE_PLACE] = TaskState(values[_STATE_PLACE])
    return Task(**dict(zip(NAMES, values, strict=True)))


def times(execute: Execute, engine: Engine, now: datetime | None, seconds: float = 0.0) -> dict[str, Any]:
    """The parameters `now`, `expires` and `seconds`; without a `now` it is the database's own time."""
    if engine.dialect.name == "postgresql":
        return {"now": now, "seconds": seconds}
    at = now or parse_time(execute(_NOW_ON_SQLITE, {})[0][0])  # subtle: under the write lock, so no wait makes it old
    return {"now": at, "expires": at + timedelta(seconds=seconds)}


@contextmanager
def one_commit(engine: Engine) -> Iterator[Execute]:
    """Yields what runs a statement and returns its rows; on PostgreSQL for one statement only."""
    postgres = engine.dialect.name == "postgresql"
    base: Any = engine.dialect.loaded_dbapi.Error
    pooled: Any = None
    try:
        pooled = engine.raw_connection()
        cursor = pooled.cursor()
        if postgres:
            pooled.driver_connection.autocommit = True
        else:
            cursor.execute("BEGIN IMMEDIATE")
        yield lambda sql, values: _rows(cursor, sql, values)
        if not postgres:
            pooled.commit()
    except base as error:
        if pooled is not None and engine.dialect.is_disconnect(error, pooled.driver_connection, None):
            pooled.invalidate(error)
        raise _told(engine, error, base) from error
    finally:
        if pooled is not None:
            _give_back(pooled, postgres, base)


def _rows(cursor: Any, sql: str, values: Mapping[str, Any]) -> Rows:
    cursor.execute(sql, values)
    return list(cursor.fetchall())  # subtle: not asking for `description`, which costs psycopg as much as the rows


def _give_back(pooled: Any, postgres: bool, base: Any) -> None:
    """Return the connection to the pool, which rolls back what is open; one that is in the middle of something goes."""
    try:
        if postgres and pooled.is_valid:
            pooled.driver_connection.autocommit = False
    except base:
        pooled.invalidate()
    pooled.close()


def _told(engine: Engine, error: Exception, base: Any) -> BaseException:
    if is_busy(error):
        return StoreBusy()
    return DBAPIError.instance(None, None, error, base, dialect=engine.dialect)
