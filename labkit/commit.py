"""One commit on the driver's own connection: for the few statements that run thousands of times a second.

On SQLite it is a transaction that takes the write lock first, on PostgreSQL a single statement that commits by itself
(one round trip, where BEGIN and COMMIT would make it three). A crash inside leaves nothing behind; a crash after it has
left everything. A lock that was waited for too long is `StoreBusy`, a full disk `StoreFull`, other errors are SQLAlchemy's, as everywhere. Within
`keeping` a thread holds on to its connection, and with it to the plans that the server has made for these statements.

Not handled here: several statements on PostgreSQL. Whoever needs that uses `write_transaction`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from labkit.database import is_busy, is_full, parse_time, utc_text
from labkit.errors import StoreBusy, StoreFull
from labkit.statement import ASK_NOW_ON_SQLITE

Rows = list[tuple[Any, ...]]
Execute = Callable[[str, Mapping[str, Any]], Rows]


class Held:
    """A connection out of the pool, with one cursor; on PostgreSQL each statement on it commits by itself."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.postgres = engine, engine.dialect.name == "postgresql"
        self._pooled = engine.raw_connection()
        driver: Any = self._pooled.driver_connection
        self._driver = driver
        self._cursor: Any = self._pooled.cursor()
        if self.postgres:
            self._autocommitted, driver.autocommit = driver.autocommit, True

    def execute(self, sql: str, values: Mapping[str, Any]) -> Rows:
        self._cursor.execute(sql, values)
        return self._cursor.fetchall() if self._cursor.description else []

    def begin(self) -> None:
        if not self.postgres:
            self._cursor.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        if not self.postgres:
            self._driver.commit()

    def broken(self, error: Any) -> bool:
        """Whether it is of no use any more."""
        return not self._pooled.is_valid or self.engine.dialect.is_disconnect(error, self._driver, None)

    def give_back(self, error: BaseException | None = None) -> None:
        """Return it to the pool, which rolls back what is open; one that is in the middle of something goes."""
        if self._pooled.is_valid:
            try:
                self._cursor.close()  # subtle: one with unread rows would make every later COMMIT on this connection fail
                if error is not None:
                    self._pooled.invalidate(error)
                elif self.postgres:
                    self._driver.autocommit = self._autocommitted
            except self.engine.dialect.loaded_dbapi.Error:
                self._pooled.invalidate()
        self._pooled.close()


class _Kept(threading.local):
    """What this thread holds on to: engine -> its connection, None as long as it needs none."""

    def __init__(self) -> None:
        self.by_engine: dict[Engine, Held | None] = {}


_kept = _Kept()


@contextmanager
def keeping(engine: Engine) -> Iterator[None]:
    """Until the end of this block the thread's commits share one connection, opened by the first of them."""
    if engine in _kept.by_engine:
        yield
        return
    _kept.by_engine[engine] = None
    try:
        yield
    finally:
        held = _kept.by_engine.pop(engine)
        if held is not None:
            held.give_back()


class one_commit:
    """`with one_commit(engine) as execute`: what runs a statement and returns its rows; on PostgreSQL for one statement only.

    A class, since a generator as a context manager would cost as much as one of the statements.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine, self._held = engine, _kept.by_engine.get(engine)

    def __enter__(self) -> Execute:
        try:
            self._held = self._held or Held(self._engine)
            self._held.begin()
        except BaseException as error:
            self._fail(error)
            raise
        return self._held.execute

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        held: Any = self._held
        if error is not None:
            return self._fail(error)
        try:
            held.commit()
        except BaseException as refused:
            self._fail(refused)
            raise
        if self._engine in _kept.by_engine:
            _kept.by_engine[self._engine] = held
        else:
            held.give_back()

    def _fail(self, error: BaseException) -> None:
        """Let go of the connection, and raise an error of the driver as one of ours."""
        base: Any = self._engine.dialect.loaded_dbapi.Error
        if self._held is not None:
            if self._engine in _kept.by_engine:
                _kept.by_engine[self._engine] = None
            self._held.give_back(error if isinstance(error, base) and self._held.broken(error) else None)
        if isinstance(error, base):
            raise _told(self._engine, error, base) from error


def bound(engine: Engine, now: datetime | str | None) -> Any:
    """An instant as the driver is given it.

    On SQLite as text: how sqlite3 writes a datetime hangs on the last module that registered an adapter (nbformat does).
    """
    return utc_text(now) if isinstance(now, datetime) and engine.dialect.name == "sqlite" else now


def times(execute: Execute, engine: Engine, now: datetime | str | None, seconds: float) -> dict[str, Any]:
    """The parameters `now`, `expires` and `seconds`; without a `now` it is the database's own time."""
    if engine.dialect.name == "postgresql":
        return {"now": now, "seconds": seconds}
    at = bound(engine, now) or execute(ASK_NOW_ON_SQLITE, {})[0][0]  # subtle: under the write lock, so no wait makes it old
    return {"now": at, "expires": utc_text(parse_time(at) + timedelta(seconds=seconds))}


def _told(engine: Engine, error: Exception, base: Any) -> BaseException:
    if is_busy(error):
        return StoreBusy()
    if is_full(error):
        return StoreFull()
    return DBAPIError.instance(None, None, error, base, dialect=engine.dialect)
