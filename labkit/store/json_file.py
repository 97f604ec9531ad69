"""Tasks in one JSON file: each save replaces the whole file atomically, under a lock that other processes see too.

A crash anywhere in a save leaves the file before it or the file after it: the new bytes go to a second file, are
forced to disk, and only then take the name. The file carries a checksum. One that is cut, edited or empty is
`StoreCorrupt`: it is copied aside and stays where it is, so no later save can take it for a first start and write
over it.

Not handled here: many tasks (every save writes them all), and two files that must change together; that takes a
database.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from labkit.clock import Clock
from labkit.errors import StoreCorrupt
from labkit.files import DiskFiles, Files
from labkit.store.contract import StepRunner, key_taken, log_written, plain_text, storable, written
from labkit.tables import task_from_row
from labkit.task import Task, TaskState

LOCK_SECONDS = 5.0


class JsonFileStore(StepRunner):
    """Tasks in the file `path`; no file means no tasks yet. `path.lock` and `path.new` beside it are ours too."""

    def __init__(self, path: str | Path, clock: Clock, files: Files | None = None) -> None:
        self._path = Path(path)
        self._new = self._path.with_name(self._path.name + ".new")
        self._lock = self._path.with_name(self._path.name + ".lock")
        self._clock = clock
        self._files = files or DiskFiles()

    def get(self, task_id: str, /) -> Task | None:
        return self._load().get(plain_text("id", task_id))

    def save(self, task: Task, /) -> Task:
        task = storable(task)
        with self._files.lock(self._lock, self._clock, LOCK_SECONDS):
            tasks = self._load()
            after = written(task, tasks.get(task.id), self._clock.now())
            key = after.idempotency_key
            if key is not None and any(t.idempotency_key == key and t.id != after.id for t in tasks.values()):
                raise key_taken(after)
            self._dump(tasks | {after.id: after})
        return log_written(after)

    def list_by_state(self, state: TaskState, /) -> list[Task]:
        chosen = [task for task in self._load().values() if task.state == TaskState(state)]
        return sorted(chosen, key=lambda task: (task.created_at, task.id))

    def _load(self) -> dict[str, Task]:
        data = self._files.read(self._path)
        if data is None:
            return {}
        try:
            return {task.id: task for task in map(task_from_row, _decode(data))}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise self._set_aside(data) from error

    def _dump(self, tasks: dict[str, Task]) -> None:
        data = _encode([asdict(task) for task in tasks.values()])
        self._files.write(self._new, data)
        self._files.fsync(self._new)  # subtle: without it the name can reach the disk before the bytes do
        self._files.replace(self._new, self._path)  # crash here: the old file or the new one, never a part
        self._files.fsync(self._path.parent)

    def _set_aside(self, data: bytes) -> StoreCorrupt:
        kept = self._path.with_name(f"{self._path.name}.corrupt-{hashlib.sha256(data).hexdigest()[:8]}")
        if self._files.read(kept) != data:
            self._files.write(kept, data)
        return StoreCorrupt(f"{self._path} is damaged; its {len(data)} bytes are kept in {kept}", kept_at=str(kept))

    def __repr__(self) -> str:
        return f"<JsonFileStore {self._path}>"


def _encode(rows: list[dict[str, Any]]) -> bytes:
    body = json.dumps(rows, ensure_ascii=False, default=str, allow_nan=False)
    return f'{{"sha256": "{_checksum(body)}", "tasks": {body}}}'.encode()


def _decode(data: bytes) -> list[dict[str, Any]]:
    document = json.loads(data.decode(), parse_constant=_refuse)
    body = json.dumps(document["tasks"], ensure_ascii=False)
    if document["sha256"] != _checksum(body):
        raise ValueError("the checksum does not belong to the tasks")
    rows: list[dict[str, Any]] = document["tasks"]
    return rows


def _checksum(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")
