"""Chapter 11, step 5 and the section on databases: four ways to keep tasks as one writes them first, each with its hole.

All have `get`, `save` and `execute_step`, like the library's stores. None compares versions: the last writer wins.
`Forgetful` writes a file that nobody reads; `InPlace` reads it but writes over it; `Replaced` writes beside it and
renames; `Upsert` is the chapter's table with ON CONFLICT DO UPDATE. `execute_step` holds the lock while the step runs,
as the chapter's FOR UPDATE does.

Not handled here: the cure, which is `labkit.store`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select
from sqlalchemy.dialects import postgresql, sqlite

from labkit.database import write_transaction
from labkit.errors import TaskNotFound
from labkit.faults import Process
from labkit.tables import task_from_row, tasks
from labkit.task import Task

FILE = Path("tasks.json")
LOCK_SECONDS = 5.0
Step = Callable[[Task], Task]


def encoded(kept: dict[str, Task]) -> bytes:
    return json.dumps([asdict(task) for task in kept.values()], default=str).encode()


def decoded(data: bytes | None) -> dict[str, Task]:
    return {task.id: task for task in map(task_from_row, json.loads(data or b"[]"))}


class Forgetful:
    """Step 5 to the letter: a map in memory, and a file. Breaks on any restart."""

    def __init__(self, process: Process) -> None:
        self._files = process.files
        self._tasks: dict[str, Task] = {}

    def get(self, task_id: str) -> Task | None:
        return self._tasks.get(task_id)

    def save(self, task: Task) -> Task:
        self._tasks[task.id] = task
        self._files.write(FILE, encoded(self._tasks))
        return task

    def execute_step(self, task_id: str, step: Step) -> Task:
        return self.save(step(_found(self.get(task_id))))


class InPlace:
    """Step 5 with the file read back. Breaks when a write is cut short: the old bytes are gone, the new ones not there."""

    def __init__(self, process: Process) -> None:
        self._files, self._clock = process.files, process.clock

    def get(self, task_id: str) -> Task | None:
        return decoded(self._files.read(FILE)).get(task_id)

    def save(self, task: Task) -> Task:
        with self._lock():
            return self._put(task)

    def execute_step(self, task_id: str, step: Step) -> Task:
        with self._lock():
            return self._put(step(_found(self.get(task_id))))

    def _put(self, task: Task) -> Task:
        self._write(encoded(decoded(self._files.read(FILE)) | {task.id: task}))
        return task

    def _write(self, data: bytes) -> None:
        self._files.write(FILE, data)  # crash here: half a file

    @contextmanager
    def _lock(self) -> Iterator[None]:
        with self._files.lock(FILE.with_suffix(".lock"), self._clock, LOCK_SECONDS):
            yield


class Replaced(InPlace):
    """The same, written beside and renamed. Breaks when two had read before either wrote."""

    def _write(self, data: bytes) -> None:
        self._files.write(FILE.with_suffix(".new"), data)
        self._files.fsync(FILE.with_suffix(".new"))
        self._files.replace(FILE.with_suffix(".new"), FILE)  # crash here: the old file or the new one


class Upsert:
    """The chapter's PgStateStore. Breaks when two had read before either wrote, and when a step takes long."""

    def __init__(self, process: Process) -> None:
        self._engine = process.engine

    def get(self, task_id: str) -> Task | None:
        with self._engine.connect() as connection:
            row = connection.execute(select(tasks).where(tasks.c.id == task_id)).first()
        return None if row is None else task_from_row(row)

    def save(self, task: Task) -> Task:
        with self._engine.begin() as connection:
            _upsert(connection, task)
        return task

    def execute_step(self, task_id: str, step: Step) -> Task:
        with write_transaction(self._engine) as connection:
            query = select(tasks).where(tasks.c.id == task_id).with_for_update()
            row = connection.execute(query).first()
            # subtle: the row is locked all the while
            after = step(_found(None if row is None else task_from_row(row)))
            _upsert(connection, after)
        return after


def _upsert(connection: Connection, task: Task) -> None:
    new: dict[str, Any] = {"state": task.state.value, "result": task.result, "error": task.error}
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    row = insert(tasks).values(id=task.id, user_input=task.user_input, **new)
    connection.execute(row.on_conflict_do_update(index_elements=["id"], set_=new))


def _found(task: Task | None) -> Task:
    if task is None:
        raise TaskNotFound()
    return task
