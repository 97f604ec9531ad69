"""The log of a saga in a database: a commit for each append, and one writer at a time without any lock.

Each entry has a number, and a writer numbers from what it has read: two processes that run the same saga write the same
number, the primary key lets one of them through, and the other gets `StaleSaga` with nothing written. So an instance
reads once and then knows its entries. What is appended together is one statement: a crash leaves all of it or nothing.

Not handled here: what a second process does in the outside world before its append is refused. Its action carries the
same key as ours, so the world answers both alike; an action that lands after our undo stays (see `undo`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from sqlalchemy import Engine, select
from sqlalchemy.exc import IntegrityError

from labkit.commit import one_commit
from labkit.database import parse_time, reading, shown
from labkit.errors import StaleSaga
from labkit.statement import in_dialect
from labkit.store.contract import plain_key, plain_text
from labkit.tables import saga_log

_COLUMNS = saga_log.c.seq, saga_log.c.event, saga_log.c.step, saga_log.c.error, saga_log.c.time
_NAMES = ("event", "step", "error")


@dataclass(frozen=True)
class SagaRecord:
    """One entry: its number from 1, what happened to which step, the text of the error, and when (the database's time)."""

    seq: int
    event: str
    step: str
    error: str
    time: datetime

    def __repr__(self) -> str:
        return f"<SagaRecord {self.seq} {self.event} {self.step}>"


@lru_cache(maxsize=32)
def _insert(dialect: str, count: int) -> str:
    """The statement that appends so many entries and returns their times."""
    rows = (f"(:id, :seq{n}, :event{n}, :step{n}, :error{n})" for n in range(count))
    columns = f"saga_id, seq, {', '.join(_NAMES)}"
    return in_dialect(dialect, f"INSERT INTO saga_log ({columns}) VALUES {', '.join(rows)} RETURNING seq, time")


def _plain(event: str, step: str = "", error: str = "") -> tuple[str, str, str]:
    return plain_text("event", event), plain_text("step", step), plain_text("error", error)


class SagaLog:
    """The entries of one saga. `UnstorableValue` for an id or a text that no store can hold."""

    def __init__(self, engine: Engine, saga_id: str) -> None:
        self._engine, self.saga_id = engine, plain_key("saga_id", saga_id)
        self._known: list[SagaRecord] | None = None

    def entries(self) -> list[tuple[str, str]]:
        """(event, step) of each entry, oldest first, as this instance knows them: a new instance reads them anew."""
        return [(record.event, record.step) for record in self._records()]

    def records(self) -> list[SagaRecord]:
        """The same with number, error and time."""
        return list(self._records())

    def append(self, event: str, step: str = "", error: str = "") -> None:
        """Append one entry. `StaleSaga` if somebody else has written since this instance read, `StoreBusy`."""
        self.append_all([(event, step, error)])

    def append_all(self, entries: Sequence[tuple[str, str, str]]) -> None:
        """Append (event, step, error) of each in one commit, or nothing of it; see `append`."""
        rows = [_plain(*entry) for entry in entries]
        if rows:
            known, self._known = self._records(), None  # subtle: whatever stops us here, the next call reads anew
            times = self._write(len(known) + 1, rows)
            known += [SagaRecord(seq, *row, time) for (seq, time), row in zip(times, rows, strict=True)]
            self._known = known

    def _write(self, first: int, rows: Sequence[tuple[str, str, str]]) -> list[tuple[int, datetime]]:
        values: dict[str, object] = {"id": self.saga_id}
        for n, row in enumerate(rows):
            values |= {f"seq{n}": first + n, **{f"{name}{n}": text for name, text in zip(_NAMES, row, strict=True)}}
        try:
            with one_commit(self._engine) as execute:
                found = execute(_insert(self._engine.dialect.name, len(rows)), values)
        except IntegrityError as error:
            raise StaleSaga(f"somebody else has written entry {first} of saga {self.saga_id}") from error
        return sorted((seq, parse_time(time)) for seq, time in found)  # subtle: RETURNING promises no order

    def _records(self) -> list[SagaRecord]:
        if self._known is None:
            query = select(*_COLUMNS).where(saga_log.c.saga_id == self.saga_id).order_by(saga_log.c.seq)
            with reading(self._engine) as connection:
                self._known = [SagaRecord(*row) for row in connection.execute(query)]
        return self._known

    def __repr__(self) -> str:
        return f"<SagaLog {self.saga_id} {shown(self._engine)}>"
