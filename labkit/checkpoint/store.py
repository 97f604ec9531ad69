"""Checkpoints in a database, SQLite or PostgreSQL: one INSERT, one commit; their order is a number, never the time.

A save takes the number after the newest in the statement that writes it. Told its parent (`expected`) it goes through only
while that is still the newest; whoever comes second gets `StaleCheckpoint` and has changed nothing. A save may prune what it
makes superfluous in the same commit: a crash leaves both or neither, and the newest is never among what goes. What is damaged
is given back as not intact, never left out, so nobody takes it for a first start.

Not handled here: which checkpoints are worth keeping (see `manager`). Whoever deletes the newest one by hand gives its number
to the next save on SQLite, and a writer that still waits with it as its parent cannot tell them apart. The number and the time are the
database's and stand outside the checksum: a time that is still a time is believed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import EllipsisType
from typing import Any

from sqlalchemy import Engine, text

from labkit.checkpoint.data import Checkpoint, checksum_of, decode, encode
from labkit.commit import bound, one_commit
from labkit.database import parse_time, reading, shown
from labkit.errors import StaleCheckpoint, StoreBusy
from labkit.statement import for_both, in_dialect
from labkit.store.contract import plain_key, plain_text

TRIES = 100  # of a save without a parent, each lost to another that went through
LARGEST_COUNT = 2**31 - 1
UNKNOWN = datetime(1970, 1, 1, tzinfo=UTC)  # the time of a checkpoint whose time is damaged too

_NEWEST = "coalesce((SELECT seq FROM checkpoints WHERE task_id = :id ORDER BY seq DESC LIMIT 1), 0)"
_IF_NEWEST = "CAST(:parent AS bigint) IS NULL OR newest.seq = CAST(:parent AS bigint)"
_COLUMNS = "INSERT INTO checkpoints (task_id, seq, data, checksum, created_at)"
_ROW = "CAST(:data AS text), CAST(:checksum AS text), {own_now}"
# subtle: SQLite's write lock makes this one act; on PostgreSQL the statement may see a newest one that is long gone, with its number free again
_ON_SQLITE = f"""{_COLUMNS} SELECT :id, newest.seq + 1, {_ROW}
FROM (SELECT {_NEWEST} AS seq) AS newest WHERE {_IF_NEWEST} RETURNING seq"""
# subtle: so there its writers take turns at one row, and whoever finds it changed since the statement began has saved nothing
_SAVED = f"""newest AS (SELECT {_NEWEST} AS seq), head AS (
  INSERT INTO checkpoint_heads AS h (task_id, seq) SELECT CAST(:id AS text), newest.seq + 1 FROM newest WHERE {_IF_NEWEST}
  ON CONFLICT (task_id) DO UPDATE SET seq = greatest(h.seq + 1, excluded.seq)
  WHERE h.seq = (SELECT seq FROM checkpoint_heads WHERE task_id = :id) RETURNING seq),
saved AS ({_COLUMNS} SELECT CAST(:id AS text), head.seq, {_ROW} FROM head RETURNING seq)"""
_SUPERFLUOUS = """DELETE FROM checkpoints WHERE task_id = :id AND (created_at < :before OR seq <= (
  SELECT seq FROM checkpoints WHERE task_id = :id ORDER BY seq DESC LIMIT 1 OFFSET :kept{less}))"""
_NOT_NEWEST = "AND seq < (SELECT seq FROM checkpoints WHERE task_id = :id ORDER BY seq DESC LIMIT 1)"

APPEND = {
    "sqlite": in_dialect("sqlite", _ON_SQLITE),
    "postgresql": in_dialect("postgresql", f"{{with_more}}{_SAVED} SELECT seq FROM saved"),
}
PRUNE = for_both(f"{_SUPERFLUOUS.format(less='')} {_NOT_NEWEST} RETURNING seq")
# subtle: its DELETE sees the rows as they were before its INSERT: all are older than the newest, and one less of them stays
_GONE = f"{_SUPERFLUOUS.format(less=' - 1')} AND EXISTS (SELECT 1 FROM saved)"
_APPEND_AND_PRUNE = in_dialect(
    "postgresql", f"{{with_more}}{_SAVED}, gone AS ({_GONE}) SELECT seq FROM saved"
)
# subtle: as bytes where a damaged text can hold anything, or the driver would refuse to read any of them
_LOAD = {
    "sqlite": "SELECT seq, CAST(data AS BLOB) AS data, CAST(checksum AS BLOB) AS checksum, "
    "CAST(created_at AS BLOB) AS created_at FROM checkpoints WHERE task_id = :id ORDER BY seq",
    "postgresql": "SELECT seq, data, checksum, created_at FROM checkpoints WHERE task_id = :id ORDER BY seq",
}
LOAD = {dialect: text(sql) for dialect, sql in _LOAD.items()}
NEWEST = {dialect: text(f"{sql} DESC LIMIT 1") for dialect, sql in _LOAD.items()}
DELETE_ONE = for_both("DELETE FROM checkpoints WHERE task_id = :id AND seq = :seq RETURNING seq")

Parent = int | None | EllipsisType


class CheckpointStore:
    """Checkpoints in the table `labkit.tables.checkpoints`. Times are the database's own, unless `now` gives them."""

    def __init__(self, engine: Engine, *, now: Callable[[], datetime] | None = None) -> None:
        self._engine, self._now = engine, now

    def append(self, task_id: str, data: Mapping[str, Any], *, expected: Parent = ...) -> int:
        """Save and return the number: after whatever is newest, or only after `expected` (None or 0: there is none yet).

        `StaleCheckpoint` when another was saved after the expected parent; `UnstorableValue`, and for more than 1 MiB
        `ValueTooLarge`, which no retry can mend. Nothing was saved then.
        """
        return self._save(self._values(task_id, data, expected), expected)

    def append_and_prune(
        self, task_id: str, data: Mapping[str, Any], *, max_count: int, before: datetime, expected: Parent = ...
    ) -> int:
        """The same, and in the same commit all go but the newest `max_count`, and those from earlier than `before`."""
        return self._save(self._values(task_id, data, expected) | self._limits(max_count, before), expected)

    def load(self, task_id: str) -> list[Checkpoint]:
        """All checkpoints of a task, oldest first, damaged ones too."""
        task_id = plain_text("task_id", task_id)
        with reading(self._engine) as connection:
            rows = connection.execute(LOAD[self._engine.dialect.name], {"id": task_id}).all()
        return [_checkpoint(task_id, row) for row in rows]

    def newest(self, task_id: str) -> Checkpoint | None:
        """The one with the highest number, damaged or not; None when there is none."""
        task_id = plain_text("task_id", task_id)
        with reading(self._engine) as connection:
            row = connection.execute(NEWEST[self._engine.dialect.name], {"id": task_id}).first()
        return None if row is None else _checkpoint(task_id, row)

    def delete(self, task_id: str, seq: int) -> bool:
        """Delete one; whether it was there."""
        return bool(self._run(DELETE_ONE, {"id": plain_text("task_id", task_id), "seq": seq}))

    def prune(self, task_id: str, *, max_count: int, before: datetime) -> int:
        """One DELETE: all but the newest `max_count`, and those from earlier than `before`; the newest stays. How many went."""
        return len(self._run(PRUNE, {"id": plain_text("task_id", task_id)} | self._limits(max_count, before)))

    def _values(self, task_id: str, data: Mapping[str, Any], expected: Parent) -> dict[str, Any]:
        task_id = plain_key("task_id", task_id)
        written = encode(data)
        now = bound(self._engine, self._now()) if self._now else None
        parent = None if expected is ... else expected or 0
        return {"id": task_id, "data": written, "checksum": checksum_of(task_id, written), "now": now, "parent": parent}

    def _limits(self, max_count: int, before: datetime) -> dict[str, Any]:
        return {"before": bound(self._engine, before), "kept": min(max(max_count, 1), LARGEST_COUNT)}

    def _save(self, values: dict[str, Any], expected: Parent) -> int:
        for _ in range(TRIES if expected is ... else 1):
            if found := self._write(values):
                return int(found[0][0])
        if expected is ...:
            raise StoreBusy(f"others saved {TRIES} checkpoints of task {values['id']} in the meantime")
        raise StaleCheckpoint(
            f"checkpoint {expected or 0} of task {values['id']} is not the newest: load and apply again"
        )

    def _write(self, values: dict[str, Any]) -> list[tuple[Any, ...]]:
        """The number of the new checkpoint, or nothing when it could not be saved."""
        if "kept" not in values:
            return self._run(APPEND, values)
        if self._engine.dialect.name == "postgresql":
            return self._run({"postgresql": _APPEND_AND_PRUNE}, values)
        with one_commit(self._engine) as execute:
            if found := execute(APPEND["sqlite"], values):
                execute(PRUNE["sqlite"], values)
        return found

    def _run(self, statement: Mapping[str, str], values: dict[str, Any]) -> list[tuple[Any, ...]]:
        """One statement, one commit."""
        with one_commit(self._engine) as execute:
            return execute(statement[self._engine.dialect.name], values)

    def __repr__(self) -> str:
        return f"<CheckpointStore {shown(self._engine)}>"


def _checkpoint(task_id: str, row: Any) -> Checkpoint:
    data, created_at = decode(task_id, row.data, row.checksum), _time(row.created_at)
    intact = data is not None and created_at is not None
    return Checkpoint(task_id, row.seq, created_at or UNKNOWN, data if intact and data is not None else {}, intact)


def _time(value: bytes | datetime) -> datetime | None:
    try:
        return parse_time(value.decode() if isinstance(value, bytes) else value)
    except (ValueError, OverflowError):
        return None
