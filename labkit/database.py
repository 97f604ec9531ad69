"""Engines on which a transaction is a transaction and a time compares rightly, on SQLite and on PostgreSQL alike.

`begin()` sends a real BEGIN on SQLite (the driver alone would let two readers both decide and both write), a commit
is on disk before it returns, and a writer that meets another writer waits up to five seconds, unless a PostgreSQL URL
or `options` say `-c lock_timeout=...`. Whoever reads first and
writes later uses `write_transaction`, which takes SQLite's write lock at once. Times are aware UTC: `timestamptz` on
PostgreSQL, on SQLite text of one form that sorts in time order. The database's own time is always asked for through
`db_now()`.

Not handled here: what a transaction must check before it writes (see `store`), and where a PostgreSQL comes from (see
`postgres`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    DateTime,
    Dialect,
    Engine,
    QueuePool,
    Text,
    TypeDecorator,
    create_engine,
    event,
    make_url,
)
from sqlalchemy.dialects.postgresql import TIMESTAMP
from sqlalchemy.dialects.sqlite.base import SQLiteDialect
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine

from labkit.clock import SystemClock
from labkit.errors import StoreBusy, StoreFull

BUSY_SECONDS = 5.0  # how long a statement waits for another writer before it is refused
_LOCKED_SQLITE = {5, 6}  # SQLITE_BUSY, SQLITE_LOCKED
_LOCKED_POSTGRES = {"55P03", "40P01", "40001"}  # lock timeout, deadlock, serialization failure
_FULL_POSTGRES = "53100"


def utc_text(value: datetime) -> str:
    """The form in which SQLite keeps an instant: in UTC, so that the order of the texts is the order in time."""
    return (value if value.tzinfo is None else value.astimezone(UTC)).isoformat(" ")


def parse_time(value: str | datetime) -> datetime:
    """What a database gave for a time, as aware UTC; a text without an offset is taken as UTC."""
    instant = datetime.fromisoformat(value) if isinstance(value, str) else value
    if instant.tzinfo is UTC:
        return instant
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)


class UtcDateTime(TypeDecorator[datetime]):
    """An aware instant. A naive one is refused with `ValueError`, since nobody knows which instant it means."""

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        sqlite = dialect.name == "sqlite"
        return dialect.type_descriptor(Text() if sqlite else TIMESTAMP(timezone=True))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone; give an aware time such as clock.now()")
        return utc_text(value) if dialect.name == "sqlite" else value

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        return None if value is None else parse_time(value)


class _UtcLiteral(DateTime):
    """SQLAlchemy's DateTime drops the offset on SQLite; an aware time bound without our type must compare rightly."""

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], Any]:
        return lambda value: utc_text(value) if isinstance(value, datetime) else value

    def literal_processor(self, dialect: Dialect) -> Callable[[Any], str]:
        return lambda value: f"'{utc_text(value)}'"

    def result_processor(self, dialect: Dialect, coltype: Any) -> Callable[[Any], Any]:
        return lambda value: datetime.fromisoformat(value) if isinstance(value, str) else value


class _DbNow(FunctionElement[datetime]):
    inherit_cache = True
    type = UtcDateTime()


@compiles(_DbNow, "sqlite")
def _now_on_sqlite(element: _DbNow, compiler: Any, **options: Any) -> str:
    return "replace(strftime('%Y-%m-%d %H:%M:%f','now') || '000+00:00', '.000000+', '+')"


@compiles(_DbNow)
def _now_elsewhere(element: _DbNow, compiler: Any, **options: Any) -> str:
    return "clock_timestamp()"  # subtle: now() would stand still inside a transaction


def db_now() -> ColumnElement[datetime]:
    """The database's own time as an SQL expression, in the form in which it stores times."""
    return _DbNow()


def open_engine(url: str | URL, **options: Any) -> Engine:
    """An engine with the promises of this module; `options` go to `create_engine`. Nothing connects yet.

    What is bound to a statement stays out of error messages (tasks, prompts, results), unless `hide_parameters` is said to be False.
    """
    where = make_url(url)
    options.setdefault("hide_parameters", True)
    if where.get_backend_name() == "sqlite":
        return _open_sqlite(where, options)
    if where.drivername in ("postgres", "postgresql"):
        where = where.set(drivername="postgresql+psycopg")
    settings = {**options.pop("connect_args", {})}
    given = settings.get("options", where.query.get("options", ""))
    # what is prepared is planned once, not once for each set of values; and a plan that was made for an empty table must not read
    # all of a full one: our statements find their rows by a key
    waits = f"-c lock_timeout={BUSY_SECONDS * 1000:.0f}"  # PostgreSQL itself would wait for ever
    settings["options"] = f"-c plan_cache_mode=force_generic_plan -c enable_seqscan=off {waits} {given} -c timezone=UTC"
    return create_engine(where, connect_args=settings, **options)


def _open_sqlite(where: URL, options: dict[str, Any]) -> Engine:
    settings = {**options.pop("connect_args", {})}
    if "timeout" not in where.query:
        settings.setdefault("timeout", BUSY_SECONDS)
    if "isolation_level" in options:  # as an option of each connection, so that `_begin` sees it
        level = {"isolation_level": options.pop("isolation_level")}
        options["execution_options"] = level | options.get("execution_options", {})
    in_memory = where.database in (None, "", ":memory:") or where.query.get("mode") == "memory"
    if where.query.get("mode") == "memory":
        options.setdefault("poolclass", QueuePool)
        settings.setdefault("check_same_thread", False)
    sqlite3.register_adapter(datetime, utc_text)
    engine = create_engine(where, connect_args=settings, **options)
    dialect: Any = engine.dialect
    dialect.set_isolation_level = partial(_set_isolation_level, dialect)
    dialect.colspecs = {**dialect.colspecs, DateTime: _UtcLiteral}
    event.listen(engine, "connect", _prepare_memory if in_memory else _prepare_file)
    event.listen(engine, "begin", _begin)
    return engine


def _prepare_memory(connection: Any, record: Any) -> None:
    connection.isolation_level = None  # subtle: from here on the driver sends no BEGIN of its own, `_begin` does


def _prepare_file(connection: Any, record: Any) -> None:
    # subtle: by a cursor, since Connection.execute goes past a cursor class that somebody else put in
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA synchronous=FULL")
    clock = SystemClock()
    give_up = clock.monotonic() + BUSY_SECONDS
    while True:
        try:
            if cursor.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                cursor.execute("PRAGMA journal_mode=WAL").fetchone()
            cursor.close()
            return
        except sqlite3.OperationalError as error:
            # subtle: SQLite does not wait here, though several processes that open a new file together all switch it
            if not is_busy(error) or clock.monotonic() > give_up:
                raise
            clock.sleep(0.01)


def _set_isolation_level(dialect: SQLiteDialect, connection: Any, level: Any) -> None:
    # subtle: SQLAlchemy would let the driver send a BEGIN of its own from here on; without one, AUTOCOMMIT is what it does anyway
    if level != "AUTOCOMMIT":
        SQLiteDialect.set_isolation_level(dialect, connection, level)


def _begin(connection: Connection) -> None:
    options = connection.get_execution_options()
    immediate = options.get("labkit_begin") == "IMMEDIATE"
    if options.get("isolation_level") == "AUTOCOMMIT" and not immediate:
        return
    statement = "BEGIN IMMEDIATE" if immediate else "BEGIN"
    cursor = connection.connection.cursor()
    try:
        cursor.execute(statement)
    except sqlite3.OperationalError as error:
        raise OperationalError(statement, None, error) from error
    finally:
        cursor.close()


@contextmanager
def write_transaction(engine: Engine) -> Iterator[Connection]:
    """A transaction that holds SQLite's write lock from the start: what it reads stays true until it writes.

    On PostgreSQL it is a plain transaction: there, rows are locked by the statements. Commits at the end, rolls back
    on any error.
    """
    with engine.connect() as connection:
        connection.execution_options(labkit_begin="IMMEDIATE")
        with connection.begin():
            yield connection


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A connection that only reads; a lock that was waited for too long is `StoreBusy`."""
    with busy_is_an_answer(), engine.connect() as connection:
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A `write_transaction`; a lock that was waited for too long is `StoreBusy`."""
    with busy_is_an_answer(), write_transaction(engine) as connection:
        yield connection


def shown(engine: Engine) -> str:
    """Where its database is, for a person: without a password, which a URL may hold in its query too."""
    return engine.url.set(query={}).render_as_string(hide_password=True)


def is_busy(error: BaseException | None) -> bool:
    """Whether a database error says "locked by another for too long": nothing was written, later it may work."""
    original = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(original, sqlite3.OperationalError):
        return (getattr(original, "sqlite_errorcode", 0) & 0xFF) in _LOCKED_SQLITE
    return getattr(original, "sqlstate", None) in _LOCKED_POSTGRES


def in_one_line(error: BaseException) -> str:
    """What an error says, for a person: a database's own words, without the statement and without links."""
    told = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    said = told.args[0] if isinstance(told, SQLAlchemyError) and told.args else told  # subtle: `str` of theirs adds a link
    return (str(said).strip().splitlines() or [type(told).__name__])[0]


def is_full(error: BaseException | None) -> bool:
    """Whether a database error says that the disk has no more room: nothing was written."""
    original = error.orig if isinstance(error, DBAPIError) else error
    code = getattr(original, "sqlite_errorcode", None)
    return code == sqlite3.SQLITE_FULL or getattr(original, "sqlstate", None) == _FULL_POSTGRES


@contextmanager
def busy_is_an_answer() -> Iterator[None]:
    """Turns a lock that was waited for too long into `StoreBusy`; every other error goes through as it is."""
    try:
        yield
    except DBAPIError as error:
        if is_busy(error):
            raise StoreBusy from error
        raise


@contextmanager
def full_is_an_answer() -> Iterator[None]:
    """Turns a disk without room into `StoreFull`; every other error goes through as it is."""
    try:
        yield
    except DBAPIError as error:
        if is_full(error):
            raise StoreFull from error
        raise
