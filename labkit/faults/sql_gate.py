"""SQL as a boundary: connections that a process opens are bound to its gate, and die with it.

The simulator substitutes the driver's connection below SQLAlchemy's pool. Each statement and each commit crosses the gate; rollback and close do not (at a
death the server does both by itself). A connection is armed only when SQLAlchemy has finished setting it up, so what the library does to open
a connection is no crossing. A process holds a `GatedConnection` over a raw one. At its death the cursors are closed and the transaction is rolled
back, as a server does when the socket breaks; the raw connection goes back to the world, and the gated one is left with nothing: later calls
to rollback and close do nothing, all else raises again.

Not handled here: the same for PostgreSQL (see `postgres_gate`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

from labkit.faults.bound import Bound
from labkit.faults.statements import SESSION, label_of


class GatedCursor:
    """A SQLite cursor whose statements cross the gate."""

    def __init__(self, connection: GatedConnection, raw: sqlite3.Cursor) -> None:
        self.connection, self._raw = connection, raw

    def execute(self, sql: str, parameters: Any = (), /) -> GatedCursor:
        self.connection.through(label_of(sql), lambda: self._raw.execute(sql, parameters))
        return self

    def executemany(self, sql: str, parameters: Any, /) -> GatedCursor:
        rows = list(parameters)
        self.connection.through(label_of(sql), lambda: self._raw.executemany(sql, rows))
        return self

    def executescript(self, sql: str, /) -> GatedCursor:
        self.connection.touched = True  # who knows what is in it
        self.connection.through(label_of(sql), lambda: self._raw.executescript(sql))
        return self

    def fetchone(self) -> Any:
        self.connection.check_alive()
        return self._raw.fetchone()

    def fetchall(self) -> Any:
        self.connection.check_alive()
        return self._raw.fetchall()

    def fetchmany(self, size: int | None = None) -> Any:
        self.connection.check_alive()
        return self._raw.fetchmany(self._raw.arraysize if size is None else size)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self.connection.check_alive()
        return next(self._raw)

    @property
    def description(self) -> Any:
        return self._raw.description

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)

    def close(self) -> None:
        self.connection.cursors.discard(self._raw)
        self._raw.close()


class GatedConnection(Bound):
    """A SQLite connection bound to the gate of the process that opened it. `give_back` takes the raw one, and whether another may use it."""

    def __init__(self, raw: sqlite3.Connection, give_back: Callable[[sqlite3.Connection, bool], None]) -> None:
        self._raw, self._give_back = raw, give_back
        self.touched = False  # something of this process's is left in the raw connection
        self.fresh = True  # nothing was read in this transaction: where SQLite itself would wait for a lock
        self.cursors: set[sqlite3.Cursor] = set()

    def through(self, label: str, act: Callable[[], Any]) -> Any:
        if self.gate is None:
            return act()
        self.locks.about_to = label
        try:
            return self.gate.cross("sql", label, lambda: self._patiently(act, label), driver="sqlite")
        finally:
            self.locks.about_to = ""

    def _patiently(self, act: Callable[[], Any], label: str) -> Any:
        inside = self._raw.in_transaction
        while True:
            waits_here = self.fresh
            try:
                answer = act()
            except sqlite3.OperationalError as error:
                # subtle: SQLite waits only at the first statement of a transaction and at COMMIT; a read that wants to write is refused at once
                if waits_here and "locked" in str(error) and self.locks.retry():
                    continue
                if error.sqlite_errorcode == sqlite3.SQLITE_BUSY and not waits_here:
                    self.beaten = True
                    self.locks.refused()
                raise
            else:
                self.touched = self.touched or label.startswith(SESSION)
                self.fresh = label.startswith("BEGIN") or not self._raw.in_transaction
                if inside and not self._raw.in_transaction:
                    self.locks.ended()
                return answer

    def cursor(self) -> GatedCursor:
        self.check_alive()
        raw = self._raw.cursor()
        self.cursors.add(raw)
        return GatedCursor(self, raw)

    def execute(self, sql: str, parameters: Any = (), /) -> GatedCursor:
        return self.cursor().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Any, /) -> GatedCursor:
        return self.cursor().executemany(sql, parameters)

    def executescript(self, sql: str, /) -> GatedCursor:
        return self.cursor().executescript(sql)

    def commit(self) -> None:
        if not self.dead and (self.gate is None or not self._raw.in_transaction):
            self._raw.commit()
        else:
            self.fresh = True
            self.through("COMMIT", self._raw.commit)

    def rollback(self) -> None:
        if not self.dead:
            inside = self._raw.in_transaction
            self._raw.rollback()
            self.fresh = True
            if inside:
                self.ended()

    def close(self) -> None:
        self.die()

    def __enter__(self) -> GatedConnection:
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if kind is None:
            self.commit()
        else:
            self.rollback()

    @property
    def isolation_level(self) -> Any:
        return self._raw.isolation_level

    @isolation_level.setter
    def isolation_level(self, level: Any) -> None:
        self.check_alive()
        self.touched = self.touched or level != self._raw.isolation_level
        self._raw.isolation_level = level

    def __getattr__(self, name: str) -> Any:
        """Functions, collations and whatever else a connection has."""
        self.check_alive()
        self.touched = self.touched or (self.gate is not None and name != "in_transaction")
        return getattr(self._raw, name)

    def die(self) -> None:
        """What the operating system does to a connection of a killed process."""
        if self.dead:
            return
        self.dead = True
        for cursor in self.cursors:
            cursor.close()  # subtle: an open cursor keeps its lock
        self.cursors.clear()
        self._raw.rollback()
        self._give_back(self._raw, not self.touched)
        self._raw = _NO_DATABASE
        self.locks.ended()


_NO_DATABASE: Any = None  # what a dead process's connection holds
