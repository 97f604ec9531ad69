"""PostgreSQL as the database of a world: a database of its own on a server.

The `keeper` is no process: it reads the world and puts it back, each in one round trip, since a round trip costs as much as a statement. A photograph
is a script that the server itself wrote: it empties the tables, fills them again and sets the sequences. The world's clock is a sequence, which
every transaction sees at once, and functions that shadow `now()` and `clock_timestamp()` read it.

Not handled here: what crosses the gate (see `postgres_gate`), and a process that drops or alters a table of the scene.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

import psycopg
from sqlalchemy import Engine

from labkit.clock import SystemClock, VirtualClock
from labkit.faults.database_world import Rows, engine_of, prepare, schema
from labkit.faults.gate import Gate
from labkit.faults.postgres_gate import GatedPgConnection, Parking
from labkit.faults.postgres_tables import OTHERS, SEQUENCES, SHADOW_CLOCK, STAMP, TABLES, Table, referred_first
from labkit.faults.stage import LockWait

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# subtle: `sim` before `pg_catalog`, so that the clock's functions shadow the server's, in the defaults of new columns too
SESSION = "-c timezone=UTC -c synchronous_commit=off -c search_path=public,sim,pg_catalog"
POLL_SECONDS = 0.001
SETTLE_SECONDS = 10.0


@dataclass(frozen=True)
class Script:
    """A photograph: the text that brings it all back, and which tables there were."""

    text: str
    stamp: Any
    tables: frozenset[str]


class PostgresWorld:
    """A database of its own on a PostgreSQL server. `url` is that of an empty database that nobody else uses."""

    kind = "postgres"

    def __init__(self, clock: VirtualClock, url: str, *, attach: bool = False) -> None:
        self.clock, self.url = clock, url
        self._plain = url.replace("postgresql+psycopg://", "postgresql://")
        self._tables: list[Table] = []
        self._stamp: Any = None  # of the tables that are known
        self._told: int | None = None  # the instant that the database's clock was set to
        if not attach:
            self._drop(lambda table: True)  # whoever used this database before left nothing
            self._ask(SHADOW_CLOCK, *schema("postgres"), self._set_clock())

    @cached_property
    def _keeper(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self._plain, autocommit=True, prepare_threshold=None, options=SESSION)

    @cached_property
    def _parking(self) -> Parking:
        session = SESSION + " -c client_connection_check_interval=20"
        if "_keeper" in vars(self) and self._keeper.info.parameter_status("is_superuser") == "on":
            session += " -c deadlock_timeout=10min"  # subtle: the stage sees a deadlock first, however slow the machine
        return Parking(self._plain, options=session, prepare_threshold=None)

    def _connect(self) -> GatedPgConnection:
        made = self._parking.take()
        prepare(self.kind, made)
        return made

    def engine(self, gate: Gate, locks: LockWait) -> Engine:
        return engine_of(self.kind, self.url, self._connect, gate, locks)

    def _ask(self, *statements: str) -> list[tuple[list[str], list[Any]]]:
        """(column names, rows) of each statement, in one round trip."""
        cursor = self._keeper.execute(";".join(statements))
        answers: list[tuple[list[str], list[Any]]] = []
        while True:
            columns = cursor.description
            answers.append(([c.name for c in columns], cursor.fetchall()) if columns else ([], []))
            if not cursor.nextset():
                return answers

    def _ask_tables(self, form: Callable[[Table], str], *more: str) -> list[tuple[list[str], list[Any]]]:
        """The answers to a statement about each table, and to some more; when the tables have changed they are learned and asked again."""
        while True:
            try:
                (_, stamp), *answers = self._ask(STAMP, *map(form, self._tables), *more)
                if stamp == self._stamp:
                    return answers
            except psycopg.errors.UndefinedTable:  # one was dropped
                ((_, stamp),) = self._ask(STAMP)
            ((_, found),) = self._ask(TABLES)
            self._tables, self._stamp = referred_first([Table(*row) for row in found]), stamp

    def rows(self) -> Rows:
        answers = self._ask_tables(lambda table: f"SELECT * FROM {table.name} ORDER BY {table.order}")
        found = zip(self._tables, answers, strict=True)
        return {t.plain: [dict(zip(names, row, strict=True)) for row in rows] for t, (names, rows) in found}

    def surrogates(self) -> dict[str, tuple[str, ...]]:
        return {table.plain: tuple(table.numbered) for table in self._tables if table.numbered}

    def photograph(self) -> Script:
        *filled, (_, sequences) = self._ask_tables(Table.as_values, SEQUENCES)
        script = [f"DELETE FROM {table.name}" for table in reversed(self._tables)]
        for table, (_, [(values,)]) in zip(self._tables, filled, strict=True):
            if values:
                columns = ", ".join(table.columns)
                script.append(f"INSERT INTO {table.name} ({columns}) OVERRIDING SYSTEM VALUE VALUES {values}")
        names = frozenset(table.name for table in self._tables)
        return Script(";".join([*script, *(row[0] for row in sequences)]), self._stamp, names)

    def put_back(self, photograph: Script) -> None:
        (_, stamp), *_ = self._ask(STAMP, photograph.text, self._set_clock())
        if stamp != photograph.stamp:  # a process has made tables since
            self._drop(lambda table: table.name not in photograph.tables)

    def _drop(self, chosen: Callable[[Table], bool]) -> None:
        self._ask_tables(lambda table: "SELECT")
        self._ask(*(f"DROP TABLE {table.name} CASCADE" for table in self._tables if chosen(table)), "SELECT")

    def blockers(self, backend: int) -> set[int]:
        """The server processes of this world that hold a lock, or wait in line for it, before this one."""
        found = self._keeper.execute("SELECT pg_blocking_pids(%s)", (backend,)).fetchone()
        return set(self._parking.pids()).intersection(found[0] if found else ())

    def cancel(self, backend: int) -> None:
        """End the statement that this server process runs."""
        self._keeper.execute("SELECT pg_cancel_backend(%s)", (backend,))

    def settle(self) -> None:
        """Return when no server process of a dead client is left: until then it may hold locks."""
        clock = SystemClock()
        give_up = clock.monotonic() + SETTLE_SECONDS
        while self._keeper.execute(OTHERS, (self._parking.pids(),)).fetchone() != (0,):
            if clock.monotonic() > give_up:
                raise TimeoutError("a server process outlives its client")
            clock.sleep(POLL_SECONDS)

    def _set_clock(self) -> str:
        self._told = (self.clock.now() - EPOCH) // timedelta(microseconds=1)
        return f"SELECT setval('sim.clock', {self._told})"

    def moved(self) -> None:
        told, statement = self._told, self._set_clock()
        if told != self._told:
            self._ask(statement)

    def close(self) -> None:
        for name in ("_parking", "_keeper"):
            if name in vars(self):
                getattr(self, name).close()
