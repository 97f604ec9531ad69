"""SQLite as the database of a world: in memory, shared by the processes, or in a file in WAL mode.

The `keeper` is no process: it holds a memory database alive, reads the world and puts it back. A photograph is the rows of the tables that hold any; a
whole copy, tables and all, is made once for each set of tables, and each time where rows are not all. A process's connection asks the world's clock for
the time, and waits for no lock by itself: whoever meets one waits on the stage (see `baton`).

Not handled here: what crosses the gate (see `sql_gate`).
"""

from __future__ import annotations

import itertools
import re
import sqlite3
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from labkit.clock import VirtualClock
from labkit.faults.database_world import Rows, engine_of, prepare, schema
from labkit.faults.escape import allowed
from labkit.faults.gate import Gate
from labkit.faults.sql_gate import GatedConnection
from labkit.faults.stage import LockWait

numbers = itertools.count(1)


@dataclass(frozen=True)
class Table:
    """What the keeper does with a table: `read` in order of the primary key, `scan` in the order in which the rows lie."""

    name: str
    columns: list[str]
    read: str
    scan: str
    empty: str
    fill: str


@dataclass
class Scheme:
    """The tables of the database at some time. `whole` is a copy of the database from a time when it had them."""

    tables: list[Table]
    plain: bool  # the rows are all there is to a photograph
    holding: str  # which tables hold rows: one question instead of one for each, and most hold none
    whole: sqlite3.Connection | None = None


@dataclass(frozen=True)
class Copy:
    """A photograph: the rows of each table, or where they are not enough the whole database."""

    scheme: Scheme
    whole: sqlite3.Connection
    rows: list[list[tuple[Any, ...]]] | None


class SqliteWorld:
    """SQLite, in memory (`folder` None) or in a file of `folder`."""

    def __init__(self, clock: VirtualClock, folder: Path | None = None, *, attach: bool = False) -> None:
        self.clock = clock
        self.kind = "memory" if folder is None else "sqlite"
        in_memory = f"file:labkit-{next(numbers)}?mode=memory&cache=shared"
        self._place = in_memory if folder is None else str(folder / "world.sqlite")
        self._options: dict[str, Any] = {"uri": folder is None, "isolation_level": None, "check_same_thread": False}
        self.url = f"sqlite:///{self._place}" + ("&uri=true" if folder is None else "")
        if not attach:
            for statement in schema("sqlite"):
                self._keeper.execute(statement)
        self._parked: list[sqlite3.Connection] = []
        self._schemes: dict[Any, Scheme] = {}
        self._version: Any = None  # of the tables, when they were last looked at
        self._scheme = Scheme([], True, "")  # as it was then

    @cached_property
    def _keeper(self) -> sqlite3.Connection:
        with allowed():
            keeper: sqlite3.Connection = sqlite3.connect(self._place, **self._options)
        if self.kind == "sqlite":
            keeper.execute("PRAGMA journal_mode=WAL")
        keeper.execute("PRAGMA synchronous=OFF")
        return keeper

    def engine(self, gate: Gate, locks: LockWait) -> Engine:
        return engine_of(self.kind, self.url, self._connect, gate, locks)

    def _connect(self) -> GatedConnection:
        if self._parked:
            return GatedConnection(self._parked.pop(), self._park)
        with allowed():
            made = sqlite3.connect(self._place, timeout=0, **self._options)
        # the database's clock is the world's (see `database.db_now`)
        made.create_function("strftime", -1, self._strftime)
        gated = GatedConnection(made, self._park)
        prepare(self.kind, gated)
        return gated

    def _park(self, raw: sqlite3.Connection, as_new: bool) -> None:
        """Keep a raw connection for the next process, unless something of the last one is left in it."""
        if as_new:
            self._parked.append(raw)
        else:
            raw.close()

    def _strftime(self, form: str, *when: str) -> str | None:
        if when not in ((), ("now",)):
            return None
        now = self.clock.now()
        parts = form.replace("%f", f"%S.{now.microsecond // 1000:03d}").replace("%s", str(int(now.timestamp())))
        return now.strftime(parts)

    def photograph(self) -> Copy:
        scheme = self._tables_now()
        if not scheme.plain:
            return Copy(scheme, self._whole(), None)
        scheme.whole = scheme.whole or self._whole()
        return Copy(scheme, scheme.whole, self._rows_of(scheme, [table.scan for table in scheme.tables]))

    def _whole(self) -> sqlite3.Connection:
        with allowed():
            whole = sqlite3.connect(":memory:", check_same_thread=False)
        self._keeper.backup(whole)
        return whole

    def put_back(self, photograph: Copy) -> None:
        # subtle: row by row where that is enough, since a whole copy makes every connection learn the tables again
        if photograph.rows is None or self._tables_now() is not photograph.scheme:
            photograph.whole.backup(self._keeper)
        if photograph.rows is None:
            return
        self._keeper.execute("BEGIN IMMEDIATE")
        scheme = photograph.scheme
        for table, rows, holds in zip(scheme.tables, photograph.rows, self._holding(scheme), strict=True):
            if holds:
                self._keeper.execute(table.empty)
            if rows:
                self._keeper.executemany(table.fill, rows)
        self._keeper.execute("COMMIT")

    def rows(self) -> Rows:
        scheme = self._tables_now()
        found = zip(scheme.tables, self._rows_of(scheme, [table.read for table in scheme.tables]), strict=True)
        return {
            table.name: [dict(zip(table.columns, row, strict=True)) for row in rows]
            for table, rows in found
            if table.name != "sqlite_sequence"
        }

    def _rows_of(self, scheme: Scheme, queries: list[str]) -> list[list[tuple[Any, ...]]]:
        """The answers to a query of each table; a table without rows is not asked."""
        ask = self._keeper.execute
        return [ask(query).fetchall() if holds else [] for query, holds in zip(queries, self._holding(scheme), strict=True)]

    def _holding(self, scheme: Scheme) -> tuple[bool, ...]:
        """Of each table, whether it holds rows."""
        holding: tuple[bool, ...] = self._keeper.execute(scheme.holding).fetchone()
        return holding[1:]

    def _tables_now(self) -> Scheme:
        ask = self._keeper.execute
        version = ask("PRAGMA schema_version").fetchone() + ask("PRAGMA user_version").fetchone()
        if version != self._version:
            objects = ask("SELECT type, name, sql FROM sqlite_master ORDER BY name, type").fetchall()
            key = (version[1], *objects)
            if key not in self._schemes:
                self._schemes[key] = self._learned(objects)
            self._version, self._scheme = version, self._schemes[key]
        return self._scheme

    def _learned(self, objects: list[tuple[str, str, str | None]]) -> Scheme:
        names = [name for kind, name, _ in objects if kind == "table" and not name.startswith("sqlite_stat")]
        # what acts by itself on a row, or computes one, cannot be filled in row by row
        odd = re.compile(r"\b(?:TRIGGER|VIRTUAL|GENERATED|AS\s*\()", re.IGNORECASE)
        plain = not any(odd.search(sql or "") for _, _, sql in objects)
        # subtle: SQLite itself writes into `sqlite_sequence` when another table is filled
        asked = ["1" if name == "sqlite_sequence" else f'EXISTS (SELECT 1 FROM "{name}")' for name in names]
        return Scheme([self._table(name) for name in names], plain, ", ".join(["SELECT 0", *asked]))

    def _table(self, name: str) -> Table:
        columns = self._keeper.execute(f'PRAGMA table_info("{name}")').fetchall()
        keyed = sorted((c for c in columns if c[5]), key=lambda c: c[5])
        order = ", ".join(f'"{c[1]}"' for c in keyed or columns)
        return Table(
            name,
            [c[1] for c in columns],
            read=f'SELECT * FROM "{name}" ORDER BY {order}',
            scan=f'SELECT * FROM "{name}"',
            empty=f'DELETE FROM "{name}"',
            fill=f'INSERT INTO "{name}" VALUES ({", ".join("?" * len(columns))})',
        )

    def surrogates(self) -> dict[str, tuple[str, ...]]:
        return {}  # SQLite's numbers are part of the transaction: the same run gives the same ones

    def moved(self) -> None:
        return None

    def close(self) -> None:
        for raw in self._parked:
            raw.close()
        if "_keeper" in vars(self):
            self._keeper.close()
