"""The database of a world: it outlives processes, can be photographed, and can be put back to any photograph.

Three kinds: `memory` (SQLite in memory, shared by the processes: the fastest, one actor at a time), `sqlite` (a file in WAL mode, real locks) and
`postgres`. All processes share one engine's compiled statements; connections they do not share: each process opens its own, bound to its gate.

Not handled here: waiting for a lock (see `baton`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol

from sqlalchemy import URL, Engine, Pool, create_mock_engine, make_url
from sqlalchemy.pool import ConnectionPoolEntry

from labkit import tables
from labkit.clock import VirtualClock
from labkit.database import open_engine
from labkit.errors import UsageError
from labkit.faults.gate import Gate
from labkit.faults.stage import LockWait

KINDS = ("memory", "sqlite", "postgres")
Rows = dict[str, list[dict[str, Any]]]
Connect = Callable[[], Any]  # makes a connection that is prepared and has no gate yet

# a URL of each kind, for what does not depend on which database it is
ANY_URL = {
    "memory": "sqlite:///file:labkit?mode=memory&cache=shared&uri=true",
    "sqlite": "sqlite:///labkit.sqlite",
    "postgres": "postgresql+psycopg://",
}


def check_kind(kind: str) -> str:
    """The kind, if there is such a database; else `UsageError`."""
    if kind not in KINDS:
        raise UsageError(f"no such database: {kind!r} (known: {', '.join(KINDS)})")
    return kind


class DatabaseWorld(Protocol):
    """What a world asks of its database."""

    kind: str
    url: str

    def engine(self, gate: Gate, locks: LockWait) -> Engine:
        """An engine for one process: its connections cross `gate` and die with it."""

    def photograph(self) -> Any:
        """All that is durable, in a form that `put_back` takes."""

    def put_back(self, photograph: Any) -> None: ...

    def rows(self) -> Rows:
        """All rows of all tables, in order of their primary key."""

    def surrogates(self) -> dict[str, tuple[str, ...]]:
        """Table -> columns that the database numbers by itself: their order means something, their values do not."""

    def moved(self) -> None:
        """The clock moved: tell the database's clock."""

    def close(self) -> None: ...


class ProcessPool(Pool):
    """The connections of one process: each is kept until the process ends, and there is no limit to wait at."""

    _free: list[ConnectionPoolEntry]

    def of_process(self, connect: Any) -> ProcessPool:
        """A pool of another process, quickly: this is done for each of them."""
        made = object.__new__(ProcessPool)
        made.__dict__.update(self.__dict__)
        made.__dict__.pop("dispatch", None)  # listeners are the process's own
        made._invoke_creator = connect
        made._free = []
        return made

    def _do_get(self) -> ConnectionPoolEntry:
        return self._free.pop() if self._free else self._create_connection()

    def _do_return_conn(self, record: ConnectionPoolEntry) -> None:
        self._free.append(record)

    def recreate(self) -> ProcessPool:
        return self.of_process(self._invoke_creator)

    def dispose(self) -> None:
        while self._free:
            self._free.pop().close()

    def status(self) -> str:
        return f"{len(self._free)} connections that are not in use"


@lru_cache(maxsize=len(KINDS))
def shared_engine(kind: str) -> tuple[Engine, ProcessPool]:
    """The engine whose dialect and compiled statements all processes share, and a pool to make theirs from. Neither connects itself."""
    engine = open_engine(ANY_URL[kind], hide_parameters=False)  # all that is in a simulated world may be read
    return engine, ProcessPool(lambda: None, dialect=engine.dialect)  # type: ignore[arg-type]


@lru_cache(maxsize=len(KINDS))
def listeners(kind: str) -> tuple[Any, ...]:
    """The events of the shared engine that somebody listens to, so that nobody need look through all of them for each process."""
    dispatch: Any = shared_engine(kind)[0].dispatch
    return tuple(heard for heard in dispatch._event_descriptors if heard.listeners)


def prepare(kind: str, connection: Any) -> None:
    """What the library does to a new connection. It has no gate yet, so none of this is a crossing."""
    shared_engine(kind)[0].pool.dispatch.connect(connection, SimpleNamespace(driver_connection=connection))


def engine_of(kind: str, url: str, connect: Connect, gate: Gate, locks: LockWait) -> Engine:
    """An engine of one process: the shared one with connections and listeners of its own."""
    shared, pool = shared_engine(kind)

    def connect_for_process(record: Any) -> Any:
        if gate.dead:
            gate.refuse()
        made = connect()
        made.arm(gate, locks)
        return made

    engine = object.__new__(Engine)
    engine.__dict__.update(shared.__dict__)
    engine.__dict__.pop("dispatch", None)
    for heard in listeners(kind):
        getattr(engine.dispatch, heard.name).for_modify(engine.dispatch)._update(heard, only_propagate=False)
    engine.url, engine.pool = parsed(url), pool.of_process(connect_for_process)
    return engine


@lru_cache(maxsize=64)
def parsed(url: str) -> URL:
    return make_url(url)


@lru_cache(maxsize=2)
def schema(kind: str) -> tuple[str, ...]:
    """The statements that make labkit's tables."""
    made: list[str] = []
    dialect = shared_engine(kind)[0].dialect
    mock = create_mock_engine(ANY_URL[kind], lambda sql, *_, **__: made.append(str(sql.compile(dialect=dialect))))
    tables.metadata.create_all(mock, checkfirst=False)
    return tuple(made)


def open_database(
    kind: str, clock: VirtualClock, folder: Path, *, url: str = "", attach: bool = False
) -> DatabaseWorld:
    """A database world of this kind; `attach` takes one that exists, for a process that is a real one."""
    if kind == "postgres":
        from labkit.faults.postgres_world import PostgresWorld

        return PostgresWorld(clock, url, attach=attach)
    from labkit.faults.sqlite_world import SqliteWorld

    return SqliteWorld(clock, None if kind == "memory" else folder, attach=attach)
