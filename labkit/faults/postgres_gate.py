"""PostgreSQL as a boundary: the same as `sql_gate`, over connections that are parked between processes.

Opening a PostgreSQL connection costs more than a whole run, so the world keeps raw connections parked. A process that opens one gets a parked one,
a process that ends or dies gives it back: rolled back and with its session state discarded, which is what the server does for a broken socket.

Not handled here: death inside a running statement. A killed client's backend finishes its statement first, which only a real SIGKILL shows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
from psycopg.pq.abc import PGconn

from labkit.faults.fault import Crash
from labkit.faults.gate import Gate
from labkit.faults.sql_gate import LockWait, label_of

IDLE, ACTIVE = psycopg.pq.TransactionStatus.IDLE, psycopg.pq.TransactionStatus.ACTIVE


class GatedPgCursor(psycopg.Cursor[Any]):
    """A PostgreSQL cursor whose statements cross the gate."""

    def execute(self, query: Any, *args: Any, **options: Any) -> Any:
        text = query if isinstance(query, str) else str(query)
        return self.connection.through(label_of(text), lambda: super(GatedPgCursor, self).execute(query, *args, **options))  # type: ignore[attr-defined]

    def executemany(self, query: Any, *args: Any, **options: Any) -> Any:
        text = query if isinstance(query, str) else str(query)
        return self.connection.through(label_of(text), lambda: super(GatedPgCursor, self).executemany(query, *args, **options))  # type: ignore[attr-defined]

    def close(self) -> None:
        if not self.connection.dead:  # type: ignore[attr-defined]
            super().close()


class GatedPgConnection(psycopg.Connection[Any]):
    """A PostgreSQL connection bound to the gate of the process that holds it."""

    gate: Gate | None = None
    locks: LockWait = LockWait()
    dead = False
    parking: Parking | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.cursor_factory = GatedPgCursor
        self.prepare_threshold = None  # a parked socket forgets its prepared statements

    def arm(self, gate: Gate, locks: LockWait) -> None:
        """From now on this connection is the process's own."""
        self.gate, self.locks = gate, locks
        gate.at_death.append(self.die)

    def through(self, label: str, act: Callable[[], Any]) -> Any:
        if self.dead:
            raise Crash("its process is dead")
        if self.gate is None:
            return act()
        return self.gate.cross("sql", label, lambda: self.locks.inside(self.pgconn.backend_pid, act), driver="postgres")

    def cursor(self, *args: Any, **options: Any) -> Any:
        if self.dead:
            raise Crash("its process is dead")
        return super().cursor(*args, **options)

    def commit(self) -> None:
        if self.gate is None or (not self.dead and self.pgconn.transaction_status == IDLE):
            return super().commit()
        self.through("COMMIT", super().commit)

    def rollback(self) -> None:
        if not self.dead:
            super().rollback()

    def close(self) -> None:
        self.die()

    def die(self) -> None:
        """Give the socket back: nothing of this process's session stays on the server."""
        if self.dead:
            return
        self.dead = True
        if self.parking is None:
            super().close()
        else:
            self.parking.give_back(self.pgconn)

    def __del__(self) -> None:
        """Nothing: the socket is the parking's, not this object's."""


class Parking:
    """Open sockets that wait for their next process. Each process gets a connection object of its own over one of them."""

    def __init__(self, conninfo: str, **options: Any) -> None:
        self._conninfo, self._options = conninfo, options
        self._free: list[PGconn] = []
        self._all: list[PGconn] = []

    def take(self) -> GatedPgConnection:
        if self._free:
            made = GatedPgConnection(self._free.pop())
        else:
            made = GatedPgConnection.connect(self._conninfo, **self._options)
            self._all.append(made.pgconn)
        made.parking = self
        return made

    def give_back(self, socket: PGconn) -> None:
        if socket.status != psycopg.pq.ConnStatus.OK or socket.transaction_status == ACTIVE:
            socket.finish()  # in the middle of something: the server notices that nobody listens
            return
        if socket.transaction_status != IDLE:
            socket.exec_(b"ROLLBACK")
        socket.exec_(b"DISCARD ALL")
        self._free.append(socket)

    def pids(self) -> list[int]:
        """The server's processes for the open sockets."""
        return [socket.backend_pid for socket in self._all if socket.status == psycopg.pq.ConnStatus.OK]

    def close(self) -> None:
        for socket in self._all:
            socket.finish()
