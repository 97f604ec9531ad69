"""PostgreSQL as a boundary: the same as `sql_gate`, over connections that are parked between processes.

Opening a PostgreSQL connection costs more than a whole run, so the world keeps raw connections parked. A process that opens one gets a parked one,
a process that ends or dies gives it back: rolled back and with its session state discarded, which is what the server does for a broken socket. The
dead process's connection object is left with nothing in its hands, so that no late call reaches the socket, which is somebody else's by then.

Not handled here: death inside a running statement. A killed client's backend finishes its statement first, which only a real SIGKILL shows.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import psycopg
from psycopg.pq import ConnStatus, TransactionStatus
from psycopg.pq.abc import PGconn

from labkit.faults.bound import Bound
from labkit.faults.fault import Crash
from labkit.faults.statements import label_of

# subtle: in pieces and not as DISCARD ALL, which is refused beside other statements and would cost a second round trip
FORGET = (
    b"RESET SESSION AUTHORIZATION; RESET ALL; DEALLOCATE ALL; CLOSE ALL; UNLISTEN *; "
    b"SELECT pg_advisory_unlock_all(); DISCARD TEMP; DISCARD SEQUENCES"
)


class GatedPgCursor(psycopg.Cursor[Any]):
    """A PostgreSQL cursor whose statements cross the gate."""

    @property
    def _gated(self) -> GatedPgConnection:
        connection: Any = self.connection
        return connection  # type: ignore[no-any-return]

    def execute(self, query: Any, *args: Any, **options: Any) -> Any:
        label = label_of(query if isinstance(query, str) else str(query))
        return self._gated.through(label, lambda: super(GatedPgCursor, self).execute(query, *args, **options))

    def executemany(self, query: Any, *args: Any, **options: Any) -> Any:
        label = label_of(query if isinstance(query, str) else str(query))
        return self._gated.through(label, lambda: super(GatedPgCursor, self).executemany(query, *args, **options))

    def close(self) -> None:
        if not self._gated.dead:
            super().close()


class NoSocket:
    """What a dead process's connection holds: closed, and everything that one tries to do with it is refused."""

    status = ConnStatus.BAD
    transaction_status = TransactionStatus.UNKNOWN

    def __getattr__(self, name: str) -> Any:
        raise Crash("its process is dead")


class GatedPgConnection(Bound, psycopg.Connection[Any]):
    """A PostgreSQL connection bound to the gate of the process that holds it."""

    parking: Parking | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.cursor_factory = GatedPgCursor
        self.prepare_threshold = None  # a parked socket forgets its prepared statements

    def through(self, label: str, act: Callable[[], Any]) -> Any:
        if self.gate is None:
            self.check_alive()
            return act()
        return self.gate.cross("sql", label, lambda: self._inside(act), driver="postgres")

    def _inside(self, act: Callable[[], Any]) -> Any:
        try:
            return self.locks.inside(self.pgconn, act)
        except psycopg.errors.QueryCanceled as error:
            if not self.locks.victim:
                raise
            raise psycopg.errors.DeadlockDetected("deadlock detected (by the simulator)") from error
        except psycopg.errors.LockNotAvailable:  # NOWAIT
            self.beaten = True
            self.locks.refused()
            raise

    def wait(self, gen: Any, interval: float = 0.0, timeout: float | None = None) -> Any:
        """Wait for the server as the driver does, and tell whoever looks after locks when it is silent."""
        return super().wait(self._listened_to(gen), self.locks.patience, timeout)

    def _listened_to(self, gen: Any) -> Generator[Any, Any, Any]:
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready:
                    self.locks.no_answer()
                wanted = gen.send(ready)
        except StopIteration as end:
            return end.value

    def cursor(self, *args: Any, **options: Any) -> Any:
        self.check_alive()
        return super().cursor(*args, **options)

    def commit(self) -> None:
        if not self.dead and (self.gate is None or self.pgconn.transaction_status == TransactionStatus.IDLE):
            super().commit()
        else:
            self.through("COMMIT", super().commit)
            self.locks.ended()

    def rollback(self) -> None:
        if not self.dead:
            inside = self.pgconn.transaction_status != TransactionStatus.IDLE
            super().rollback()
            if inside:
                self.ended()

    def close(self) -> None:
        self.die()

    def die(self) -> None:
        """Give the socket back: nothing of this process's session stays on the server."""
        if self.dead:
            return
        self.dead = True
        socket, self.pgconn = self.pgconn, NoSocket()  # type: ignore[assignment]
        if self.parking is None:
            socket.finish()
        else:
            self.parking.give_back(socket)
        self.locks.ended()

    def __del__(self) -> None:  # type: ignore[override]
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
        """Close the session on this socket and keep the socket."""
        if socket.status != ConnStatus.OK or socket.transaction_status == TransactionStatus.ACTIVE:
            self._all.remove(socket)
            socket.finish()  # in the middle of something: the server notices that nobody listens
            return
        idle = socket.transaction_status == TransactionStatus.IDLE
        socket.exec_(FORGET if idle else b"ROLLBACK; " + FORGET)
        self._free.append(socket)

    def pids(self) -> list[int]:
        """The server's processes for the open sockets."""
        return [socket.backend_pid for socket in self._all if socket.status == ConnStatus.OK]

    def close(self) -> None:
        for socket in self._all:
            socket.finish()
        self._all.clear()
        self._free.clear()
