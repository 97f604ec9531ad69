"""The database of a world: it outlives processes, can be photographed, and can be put back to any photograph.

Three kinds: `memory` (SQLite in memory, shared by the processes: the fastest, one actor at a time), `sqlite` (a file in WAL mode, real locks) and
`postgres`. Engines are kept over runs for their compiled statements; connections are not: each process opens its own, bound to its gate.

Not handled here: waiting for a lock (see `baton`).
"""

from __future__ import annotations

import itertools
import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import Engine, create_engine, event

from labkit import tables
from labkit.clock import VirtualClock
from labkit.database import open_engine
from labkit.errors import UsageError
from labkit.faults.gate import Gate
from labkit.faults.sql_gate import GatedConnection, LockWait

KINDS = ("memory", "sqlite", "postgres")
Rows = dict[str, list[dict[str, Any]]]
numbers = itertools.count(1)


class DatabaseWorld(Protocol):
    """What a world asks of its database."""

    kind: str
    url: str

    def engine(self, gate: Gate, locks: LockWait) -> Engine:
        """An engine for one process: its connections cross `gate` and die with it."""

    def release(self, engine: Engine) -> None:
        """The process of this engine has ended."""

    def photograph(self) -> Any:
        """All that is durable, in a form that `put_back` takes."""

    def put_back(self, photograph: Any) -> None: ...

    def rows(self) -> Rows:
        """All rows of all tables, in order of their primary key."""

    def moved(self) -> None:
        """The clock moved: tell the database's clock."""

    def close(self) -> None: ...


class Engines:
    """Engines kept for reuse: one for each process that is alive at the same time."""

    def __init__(self, make: Callable[[], Engine], connect: Callable[[Any], Any]) -> None:
        self._make, self._connect = make, connect
        self._free: list[Engine] = []
        self._holders: dict[Engine, tuple[Gate, LockWait]] = {}

    def take(self, gate: Gate, locks: LockWait) -> Engine:
        engine = self._free.pop() if self._free else self._new()
        self._holders[engine] = (gate, locks)
        return engine

    def release(self, engine: Engine) -> None:
        engine.dispose()
        self._holders.pop(engine, None)
        self._free.append(engine)

    def _new(self) -> Engine:
        engine = self._make()
        event.listen(engine, "do_connect", lambda dialect, record, args, options: self._connect((args, options)))
        event.listen(engine, "connect", lambda connection, record: self._arm(engine, connection))
        return engine

    def _arm(self, engine: Engine, connection: Any) -> None:
        if engine in self._holders:
            connection.arm(*self._holders[engine])

    def close(self) -> None:
        for engine in [*self._free, *self._holders]:
            engine.dispose()


class SqliteWorld:
    """SQLite, in memory (`folder` None) or in a file of `folder`."""

    def __init__(self, clock: VirtualClock, folder: Path | None = None, *, attach: bool = False) -> None:
        self.clock = clock
        self.kind = "memory" if folder is None else "sqlite"
        place = f"file:labkit-{os.getpid()}-{next(numbers)}?mode=memory&cache=shared&uri=true" if folder is None else str(folder / "world.sqlite")
        self.url = f"sqlite:///{place}"
        self._engines = Engines(lambda: open_engine(self.url), self._connect)
        # the keeper is no process: it holds the memory database alive, and reads and sets the world
        self._keeper = sqlite3.connect(place.replace("&uri=true", ""), uri=folder is None, isolation_level=None, check_same_thread=False)
        self._keeper.row_factory = sqlite3.Row
        if folder is not None:
            self._keeper.execute("PRAGMA journal_mode=WAL")
        self._keeper.execute("PRAGMA synchronous=OFF")
        if not attach:
            plain = create_engine("sqlite://", creator=lambda: sqlite3.connect(place.replace("&uri=true", ""), uri=folder is None))
            tables.metadata.create_all(plain)
            plain.dispose()

    def _connect(self, arguments: Any) -> GatedConnection:
        args, options = arguments
        # subtle: SQLite's own waiting would take real time; whoever meets a lock waits on the stage instead (see `baton`)
        made = sqlite3.connect(*args, **{**options, "timeout": 0, "factory": GatedConnection, "check_same_thread": False})
        # the database's clock is the world's (see `database.db_now`)
        made.create_function("strftime", -1, self._strftime)
        return made

    def _strftime(self, form: str, *when: str) -> str | None:
        if when not in ((), ("now",)):
            return None
        now = self.clock.now()
        return now.strftime(form.replace("%f", "%S." + f"{now.microsecond // 1000:03d}").replace("%s", str(int(now.timestamp()))))

    def engine(self, gate: Gate, locks: LockWait) -> Engine:
        return self._engines.take(gate, locks)

    def release(self, engine: Engine) -> None:
        self._engines.release(engine)

    def photograph(self) -> sqlite3.Connection:
        copy = sqlite3.connect(":memory:", check_same_thread=False)
        self._keeper.backup(copy)
        return copy

    def put_back(self, photograph: sqlite3.Connection) -> None:
        photograph.backup(self._keeper)

    def rows(self) -> Rows:
        names = [row[0] for row in self._keeper.execute("SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite_%' ORDER BY name")]
        return {name: [dict(row) for row in self._keeper.execute(f'SELECT * FROM "{name}" ORDER BY 1')] for name in names}

    def moved(self) -> None:
        return None

    def close(self) -> None:
        self._engines.close()
        self._keeper.close()


class PostgresWorld:
    """A database of its own on a PostgreSQL server. `url` is that of an empty database that nobody else uses."""

    kind = "postgres"

    def __init__(self, clock: VirtualClock, url: str, *, attach: bool = False) -> None:
        import psycopg
        from psycopg.rows import dict_row

        from labkit.faults.postgres_gate import Parking

        self.clock, self.url = clock, url
        plain = url.replace("postgresql+psycopg://", "postgresql://")
        session = "-c timezone=UTC -c synchronous_commit=off -c search_path=public,sim,pg_catalog"
        self._parking = Parking(plain, options=session, prepare_threshold=None)
        self._engines = Engines(lambda: open_engine(url), lambda arguments: self._parking.take())
        self._keeper = psycopg.connect(plain, autocommit=True, row_factory=dict_row, options="-c timezone=UTC -c synchronous_commit=off")
        self._names: list[str] = []
        if not attach:
            self._keeper.execute(_SHADOW_CLOCK)
            engine = open_engine(url)
            tables.metadata.create_all(engine)
            engine.dispose()
            self.put_back({})  # whoever used this database before left nothing
        self.moved()

    def engine(self, gate: Gate, locks: LockWait) -> Engine:
        return self._engines.take(gate, locks)

    def release(self, engine: Engine) -> None:
        self._engines.release(engine)

    def _tables(self) -> list[str]:
        found = self._keeper.execute("SELECT tablename FROM pg_tables WHERE schemaname='public' ORDER BY 1").fetchall()
        return [row["tablename"] for row in found]

    def photograph(self) -> Rows:
        return self.rows()

    def put_back(self, photograph: Rows) -> None:
        from psycopg import sql

        with self._keeper.transaction(), self._keeper.cursor() as cursor:
            for name in self._tables():
                cursor.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(name)))
                for row in photograph.get(name, []):
                    columns = sql.SQL(", ").join(map(sql.Identifier, row))
                    places = sql.SQL(", ").join(sql.Placeholder() * len(row))
                    insert = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(sql.Identifier(name), columns, places)
                    cursor.execute(insert, list(row.values()))

    def rows(self) -> Rows:
        return {name: list(self._keeper.execute(f'SELECT * FROM "{name}" ORDER BY 1').fetchall()) for name in self._tables()}

    def blockers(self, backend: int) -> bool:
        """Whether this server process waits for a lock that another one holds."""
        found = self._keeper.execute("SELECT cardinality(pg_blocking_pids(%s)) > 0 AS blocked", (backend,)).fetchone()
        return bool(found and found["blocked"])

    def cancel(self, backend: int) -> None:
        """End the statement that this server process runs."""
        self._keeper.execute("SELECT pg_cancel_backend(%s)", (backend,))

    def settle(self) -> None:
        """Return when no server process of a dead client is left."""
        while True:
            left = self._keeper.execute(_OTHERS, (self._parking_pids(),)).fetchone()
            if not left or not left["others"]:
                return

    def _parking_pids(self) -> list[int]:
        return self._parking.pids()

    def moved(self) -> None:
        self._keeper.execute("UPDATE sim.clock SET now = %s", (self.clock.now(),))

    def close(self) -> None:
        self._engines.close()
        self._parking.close()
        self._keeper.close()


_SHADOW_CLOCK = """
CREATE SCHEMA IF NOT EXISTS sim;
CREATE TABLE IF NOT EXISTS sim.clock (now timestamptz NOT NULL);
INSERT INTO sim.clock SELECT pg_catalog.now() WHERE NOT EXISTS (SELECT 1 FROM sim.clock);
CREATE OR REPLACE FUNCTION sim.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT now FROM sim.clock';
CREATE OR REPLACE FUNCTION sim.now() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT now FROM sim.clock';
"""

_OTHERS = """
SELECT count(*) AS others FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND NOT pid = ANY(%s)
"""


def open_database(kind: str, clock: VirtualClock, folder: Path, *, url: str = "", attach: bool = False) -> DatabaseWorld:
    """A database world of this kind; `attach` takes one that exists, for a process that is a real one. Raises `UsageError`."""
    if kind == "memory":
        return SqliteWorld(clock)
    if kind == "sqlite":
        return SqliteWorld(clock, folder, attach=attach)
    if kind == "postgres":
        return PostgresWorld(clock, url, attach=attach)
    raise UsageError(f"no such database: {json.dumps(kind)} (known: {', '.join(KINDS)})")
