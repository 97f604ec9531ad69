"""The log in which an answer to `saga` writes: durable when `append` returns, and nothing but `saga_id`, `append` and `entries`.

One entry is one statement that commits by itself, so a process has one place to die in it. Nobody but the answer writes here.

Not handled here: two processes with one saga (the library's log fences them).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Engine

from labkit.statement import in_dialect

ENTRIES = "SELECT event, step FROM saga_log WHERE saga_id = :id ORDER BY seq"
ROW = "(:id, :seq{n}, :event{n}, :step{n})"


class Log:
    """The log of one saga as an answer sees it. Each entry is a commit; what is there is read once, like the library's log does."""

    def __init__(self, engine: Engine, saga_id: str) -> None:
        self.saga_id, self._engine = saga_id, engine
        self._known: list[tuple[str, str]] | None = None

    def append(self, event: str, step: str = "") -> None:
        self._append([(event, step)])

    def entries(self) -> list[tuple[str, str]]:
        return list(self._read())

    def _read(self) -> list[tuple[str, str]]:
        if self._known is None:
            rows = self._run(ENTRIES, {"id": self.saga_id})
            self._known = [(event, step) for event, step in rows]
        return self._known

    def _append(self, entries: Sequence[tuple[str, str]]) -> None:
        known, self._known = self._read(), None  # subtle: whatever stops us here, what is there is read anew
        values: dict[str, Any] = {"id": self.saga_id}
        for n, (event, step) in enumerate(entries):
            values |= {f"seq{n}": len(known) + n + 1, f"event{n}": event, f"step{n}": step}
        rows = ", ".join(ROW.format(n=n) for n in range(len(entries)))
        self._run(f"INSERT INTO saga_log (saga_id, seq, event, step) VALUES {rows}", values)
        self._known = [*known, *entries]

    def _run(self, statement: str, values: dict[str, Any]) -> Sequence[Any]:
        return at_once(self._engine, statement, values)

    def __repr__(self) -> str:
        return f"<SagaLog {self.saga_id}>"


def at_once(engine: Engine, statement: str, values: dict[str, Any]) -> Sequence[Any]:
    """One statement that commits by itself: one crossing. Returns its rows."""
    pooled = engine.raw_connection()
    driver: Any = pooled.driver_connection
    postgres = engine.dialect.name == "postgresql"
    cursor = pooled.cursor()
    try:
        if postgres:
            driver.autocommit = True
        cursor.execute(in_dialect(engine.dialect.name, statement), values)
        return cursor.fetchall() if cursor.description else ()
    finally:
        cursor.close()
        if postgres and pooled.is_valid:
            driver.autocommit = False
        pooled.close()
