"""The scene of `checkpoint`: checkpoints as rows, some old, some damaged, and the store through which an answer sees them.

Rows are written past the store, so that numbers have gaps and times lie as somebody's clock left them. All ages are as of
the moment of the calls, which come `NAP` after the managers were made: who asked the time then has the wrong one. What is
damaged comes as not intact, with data that can be read (`changed`) or with none (`torn`). A time may come on the clock of another place.

Not handled here: what must come of it (see `checkpoint_stories` and the rules).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import Any

from sqlalchemy import insert

from labkit.checkpoint import Checkpoint, CheckpointStore
from labkit.checkpoint.data import checksum_of, encode
from labkit.clock import STORY_BEGINS
from labkit.faults.process import Process
from labkit.faults.runner import plain_rows
from labkit.faults.scenario import End
from labkit.tables import checkpoints
from labkit.task import Task, TaskState

NAP = 600.0
NOW = STORY_BEGINS + timedelta(seconds=NAP)
HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Row:
    """A checkpoint that is there when the answer comes: its number, its age in seconds, and the task's state in it.

    `written` is the age of the task's last write, where it is another one; `east` are the hours by which the clock of its time is ahead of UTC.
    """

    seq: int
    age: float
    state: str = "running"
    damage: str = ""  # torn: nothing in it can be read; changed: it can be read, and is not what was written
    written: float | None = None
    east: int = 0

    @property
    def made(self) -> datetime:
        return NOW - timedelta(seconds=self.age)

    def data(self, task_id: str) -> dict[str, Any]:
        """What can be read of it."""
        task = Task(task_id, f"do {task_id}", TaskState(self.state), worker_id="w1", attempt=1, version=self.seq)
        if self.written is not None:
            task = replace(task, updated_at=NOW - timedelta(seconds=self.written))
        found: dict[str, Any] = json.loads(encode(vars(task)))
        return {} if self.damage == "torn" else found

    def stored(self, task_id: str) -> dict[str, Any]:
        written = encode(replace(self, damage="").data(task_id))
        text = written[: len(written) // 2] if self.damage == "torn" else written
        checksum = checksum_of(task_id, f"{written} " if self.damage == "changed" else written)
        return {"task_id": task_id, "seq": self.seq, "data": text, "checksum": checksum, "created_at": self.made}


Scene = Mapping[str, Iterable[Row]]  # the rows of each task, by its id


class Shelf:
    """The `store` that an answer is given: append, load and delete, and nothing else."""

    def __init__(self, process: Process, scene: Scene) -> None:
        self._store = CheckpointStore(process.engine)
        self._rows = {(task_id, row.seq): row for task_id, rows in scene.items() for row in rows}

    def append(self, task_id: str, data: dict[str, Any]) -> int:
        return self._store.append(task_id, data)

    def load(self, task_id: str) -> list[Checkpoint]:
        return [self._as_read(one) for one in self._store.load(task_id)]

    def delete(self, task_id: str, seq: int) -> None:
        self._store.delete(task_id, seq)

    def _as_read(self, one: Checkpoint) -> Checkpoint:
        row = self._rows.get((one.task_id, one.seq))
        if row is None:
            return one
        there = one.created_at.astimezone(timezone(timedelta(hours=row.east))) if row.east else one.created_at
        return replace(one, created_at=there, data=one.data if one.intact else row.data(one.task_id))


def scene(rows_of: Scene) -> Callable[[Process], None]:
    """A setup that stores these rows."""

    def setup(process: Process) -> None:
        rows = [row.stored(task_id) for task_id, rows in rows_of.items() for row in rows]
        if rows:
            with process.engine.begin() as connection:
                connection.execute(insert(checkpoints), rows)

    return setup


def as_kept(rows_of: Scene) -> dict[str, list[dict[str, Any]]]:
    """The rows of each task in the form in which `kept` shows them."""
    made = {task_id: [row.stored(task_id) for row in rows] for task_id, rows in rows_of.items()}
    return {
        t: [{**row, "created_at": row["created_at"].isoformat()} for row in rows] for t, rows in made.items() if rows
    }


def kept(end: End) -> dict[str, list[dict[str, Any]]]:
    """The checkpoints of each task as they lie there at the end, in order of their numbers."""
    return _by_task(end.rows.get("checkpoints", []))


def numbers(process: Process, task_id: str) -> list[int]:
    """The numbers of a task's checkpoints as they are now, read past the gate: nothing can happen in between."""
    found = _by_task(plain_rows({"checkpoints": process.world.rows()["checkpoints"]}).get("checkpoints", []))
    return [row["seq"] for row in found.get(task_id, [])]


def _by_task(rows: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: (row["task_id"], row["seq"])):
        found.setdefault(row["task_id"], []).append(row)
    return found
