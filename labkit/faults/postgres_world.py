"""PostgreSQL as the database of a world: a database of its own on a server.

The `keeper` is no process: it reads the world and puts it back, each in a round trip or two, since a round trip costs as much as a statement. What it
asks is prepared, and a table is read only when it holds rows, as few do. A photograph is a script that the server itself wrote: it empties the tables,
fills them again and sets the sequences. The world's clock is a sequence, which every transaction sees at once, and functions that shadow `now()` and
`clock_timestamp()` read it.

Not handled here: what crosses the gate (see `postgres_gate`), and a process that drops or alters a table of the scene.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import compress
from typing import Any

import psycopg
from sqlalchemy import Engine

from labkit.clock import SystemClock, VirtualClock
from labkit.faults.database_world import Rows, engine_of, prepare, schema
from labkit.faults.gate import Gate
from labkit.faults.postgres_gate import GatedPgConnection, Parking
from labkit.faults.postgres_tables import OTHERS, SHADOW_CLOCK, STAMP, TABLES, Table, prepared, referred_first
from labkit.faults.stage import LockWait

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# subtle: `sim` before `pg_catalog`, so that the clock's functions shadow the server's, in the defaults of new columns too
SESSION = "-c timezone=UTC -c synchronous_commit=off -c search_path=public,sim,pg_catalog"
POLL_SECONDS = 0.001
SETTLE_SECONDS = 10.0
# what a prepared statement says when a table was dropped or altered, or when nothing is prepared yet
STALE = (psycopg.errors.UndefinedTable, psycopg.errors.FeatureNotSupported, psycopg.errors.InvalidSqlStatementName)
Answer = tuple[list[str], list[Any]]  # column names, rows


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

    def _ask(self, *statements: str) -> list[Answer]:
        """The answer to each statement, in one round trip."""
        cursor = self._keeper.execute(";".join(statements))
        answers: list[Answer] = []
        while True:
            columns = cursor.description
            answers.append(([c.name for c in columns], cursor.fetchall()) if columns else ([], []))
            if not cursor.nextset():
                return answers

    def _ask_tables(self, form: Callable[[Table], str], *more: str) -> tuple[dict[str, Answer], list[Answer]]:
        """The answers to a statement about each table that holds rows, by its name, and to some more. When the tables have changed they are learned first."""
        while True:
            with suppress(*STALE):
                (_, stamp), (_, [(holding,)]), *answers = self._ask("EXECUTE stamp", "EXECUTE holding", *more)
                if stamp == self._stamp:
                    held = list(compress(self._tables, holding))
                    told = self._ask(*map(form, held)) if held else []
                    return dict(zip([table.plain for table in held], told, strict=True)), answers
            self._learn()

    def _learn(self) -> None:
        (_, self._stamp), (_, found) = self._ask(STAMP, TABLES)
        self._tables = referred_first([Table(*row) for row in found])
        self._ask(*prepared(self._tables))

    def rows(self) -> Rows:
        held, _ = self._ask_tables(lambda table: table.read)
        found = {name: [dict(zip(names, row, strict=True)) for row in rows] for name, (names, rows) in held.items()}
        return {table.plain: found.get(table.plain, []) for table in self._tables}

    def surrogates(self) -> dict[str, tuple[str, ...]]:
        return {table.plain: tuple(table.numbered) for table in self._tables if table.numbered}

    def photograph(self) -> Script:
        held, [(_, sequences)] = self._ask_tables(lambda table: table.as_values, "EXECUTE sequences")
        script = [table.empty for table in reversed(self._tables)]
        for table in self._tables:
            if table.plain in held:
                (_, [(values,)]), columns = held[table.plain], ", ".join(table.columns)
                script.append(f"INSERT INTO {table.name} ({columns}) OVERRIDING SYSTEM VALUE VALUES {values}")
        names = frozenset(table.name for table in self._tables)
        return Script(";".join([*script, *(row[0] for row in sequences)]), self._stamp, names)

    def put_back(self, photograph: Script) -> None:
        script = ("EXECUTE stamp", photograph.text, self._set_clock())
        if self._keeper.execute(";".join(script)).fetchall() != photograph.stamp:  # a process has made tables since
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
            self._keeper.execute(statement)

    def close(self) -> None:
        for name in ("_parking", "_keeper"):
            if name in vars(self):
                getattr(self, name).close()
