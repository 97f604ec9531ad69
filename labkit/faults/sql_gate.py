"""SQL as a boundary: connections that a process opens are bound to its gate, and die with it.

The simulator substitutes the driver's connection through SQLAlchemy's `do_connect` event. Each statement and each commit crosses the gate;
rollback and close do not (at a death the server does both by itself). A connection is armed only when SQLAlchemy has finished setting it
up, so what the library does to open a connection is no crossing. At the death of its process the cursors are closed, the transaction is
rolled back and the connection is closed, as a server does when the socket breaks; later calls to rollback and close do nothing.

Not handled here: PostgreSQL connections kept open between processes to save time (see `postgres_gate`).
"""

from __future__ import annotations

import re
import sqlite3
import weakref
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from labkit.faults.fault import Crash
from labkit.faults.gate import Gate

TABLE = re.compile(
    r"\b(?:FROM|INTO|UPDATE|JOIN|TABLE)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?(?:ONLY\s+)?\"?([A-Za-z_][\w.]*)", re.IGNORECASE
)


@lru_cache(maxsize=1024)
def label_of(statement: str) -> str:
    """What a statement is, in two or three words: UPDATE tasks, BEGIN IMMEDIATE."""
    words = statement.split(None, 2)
    verb = words[0].upper().rstrip(";") if words else ""
    if verb in ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "PRAGMA", "SET"):
        return " ".join(word.upper() for word in words[:2])
    table = TABLE.search(statement)
    return f"{verb} {table.group(1).lower()}" if table else verb


class LockWait:
    """How a statement that meets a lock waits. `retry` returns True when it is worth asking again (see `baton`)."""

    victim = False  # the statement was cancelled to end a deadlock

    def retry(self) -> bool:
        return False

    def ended(self) -> None:
        """A transaction ended: whoever waits for a lock may ask again."""

    def inside(self, backend: int, act: Callable[[], Any]) -> Any:
        """Do an act that may block inside the database; `backend` is the server's process for this connection."""
        return act()


class GatedCursor(sqlite3.Cursor):
    """A SQLite cursor whose statements cross the gate."""

    connection: GatedConnection  # type: ignore[assignment,unused-ignore]  # made by it

    def execute(self, sql: str, parameters: Any = (), /) -> GatedCursor:
        self.connection.through(label_of(sql), lambda: super(GatedCursor, self).execute(sql, parameters))
        return self

    def executemany(self, sql: str, parameters: Any, /) -> GatedCursor:
        rows = list(parameters)
        self.connection.through(label_of(sql), lambda: super(GatedCursor, self).executemany(sql, rows))
        return self

    def executescript(self, sql: str, /) -> GatedCursor:
        self.connection.through(label_of(sql), lambda: super(GatedCursor, self).executescript(sql))
        return self

    def fetchone(self) -> Any:
        self.connection.check_alive()
        return super().fetchone()

    def fetchall(self) -> Any:
        self.connection.check_alive()
        return super().fetchall()

    def fetchmany(self, size: int | None = None) -> Any:
        self.connection.check_alive()
        return super().fetchmany(self.arraysize if size is None else size)

    def __next__(self) -> Any:
        self.connection.check_alive()
        return super().__next__()

    def close(self) -> None:
        if not self.connection.dead:
            super().close()


class GatedConnection(sqlite3.Connection):
    """A SQLite connection bound to the gate of the process that opened it."""

    gate: Gate | None = None
    locks: LockWait = LockWait()
    dead = False
    closed = False
    fresh = True  # nothing was read in this transaction: where SQLite itself would wait for a lock

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.cursors: weakref.WeakSet[GatedCursor] = weakref.WeakSet()

    def arm(self, gate: Gate, locks: LockWait) -> None:
        """From now on this connection is the process's own."""
        self.gate, self.locks = gate, locks
        gate.at_death.append(self.die)
        if gate.dead:  # a process that died while it connected
            self.die()

    def check_alive(self) -> None:
        if self.dead:
            raise Crash("its process is dead")

    def through(self, label: str, act: Callable[[], Any]) -> Any:
        if self.gate is None:
            return act()
        return self.gate.cross("sql", label, lambda: self._patiently(act, label), driver="sqlite")

    def _patiently(self, act: Callable[[], Any], label: str) -> Any:
        inside = self.in_transaction
        while True:
            waits_here = self.fresh
            try:
                answer = act()
            except sqlite3.OperationalError as error:
                # subtle: SQLite waits only at the first statement of a transaction and at COMMIT; a read that wants to write is refused at once
                if not (waits_here and "locked" in str(error) and self.locks.retry()):
                    raise
            else:
                self.fresh = label.startswith("BEGIN") or not self.in_transaction
                if inside and not self.in_transaction:
                    self.locks.ended()
                return answer

    def cursor(self, factory: Any = GatedCursor) -> Any:
        self.check_alive()
        made = super().cursor(factory)
        self.cursors.add(made)
        return made

    def execute(self, sql: str, parameters: Any = (), /) -> Any:
        return self.cursor().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Any, /) -> Any:
        return self.cursor().executemany(sql, parameters)

    def executescript(self, sql: str, /) -> Any:
        return self.cursor().executescript(sql)

    def commit(self) -> None:
        if not self.dead and (self.gate is None or not self.in_transaction):
            super().commit()
        else:
            self.fresh = True
            self.through("COMMIT", super().commit)

    def rollback(self) -> None:
        if not self.dead:
            super().rollback()
            self.fresh = True
            self.locks.ended()

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            super().close()
            self.locks.ended()

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> Any:
        # subtle: sqlite3's own __exit__ commits in C and would pass the gate by
        if kind is None:
            self.commit()
        else:
            self.rollback()
        return False

    def die(self) -> None:
        """What the operating system does to a connection of a killed process."""
        self.dead = True
        if not self.closed:
            for cursor in list(self.cursors):
                sqlite3.Cursor.close(cursor)  # subtle: an open cursor keeps its lock after the connection was closed
            super().rollback()
            self.close()
