"""Tasks in one JSON file: each save replaces the whole file atomically, under a lock that other processes see too.

A crash anywhere in a save leaves the file before it or the file after it: the new bytes go to a second file, are
forced to disk, and only then take the name. The file carries a checksum. One that is cut, edited or empty is
`StoreCorrupt`: it is copied aside and stays where it is, so no later save can take it for a first start and write
over it. A hand edit that puts the checksum right is still refused where no save could have written it. On a full disk
a save is `StoreFull` and the file is the one before it.

Not handled here: many tasks (every save writes them all), and two files that must change together; that takes a
database.
"""

from __future__ import annotations

import errno
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from labkit.clock import Clock
from labkit.errors import StoreCorrupt, StoreFull, UnstorableValue
from labkit.files import DiskFiles, Files
from labkit.store.contract import StepRunner, key_taken, log_written, plain_task, plain_text, storable, written
from labkit.tables import task_from_row
from labkit.task import Task, TaskState

LOCK_SECONDS = 5.0
_NO_ROOM = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


class JsonFileStore(StepRunner):
    """Tasks in the file `path`; no file means no tasks yet. `path.lock` and `path.new` beside it are ours too."""

    def __init__(self, path: str | Path, clock: Clock, files: Files | None = None) -> None:
        self._path = Path(path)
        self._new = self._path.with_name(self._path.name + ".new")
        self._lock = self._path.with_name(self._path.name + ".lock")
        self._clock = clock
        self._files = files or DiskFiles()

    def get(self, id: str) -> Task | None:
        return self._load().get(plain_text("id", id))

    def save(self, task: Task) -> Task:
        task = storable(task)
        with self._files.lock(self._lock, self._clock, LOCK_SECONDS):
            tasks = self._load()
            after = written(task, tasks.get(task.id), self._clock.now())
            key = after.idempotency_key
            if key is not None and any(t.idempotency_key == key and t.id != after.id for t in tasks.values()):
                raise key_taken(after)
            self._dump(tasks | {after.id: after})
        return log_written(after)

    def list_by_state(self, state: TaskState) -> list[Task]:
        chosen = [task for task in self._load().values() if task.state == TaskState(state)]
        return sorted(chosen, key=lambda task: (task.created_at, task.id))

    def _load(self) -> dict[str, Task]:
        data = self._files.read(self._path)
        if data is None:
            return {}
        try:
            return _checked([task_from_row(row) for row in _decode(data)])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, UnstorableValue) as error:
            raise self._set_aside(data, error) from error

    def _dump(self, tasks: dict[str, Task]) -> None:
        data = _encode([asdict(task) for task in tasks.values()])
        try:
            with self._gone_on_error(self._new):
                self._files.write(self._new, data)
                self._files.fsync(self._new)  # subtle: without it the name can reach the disk before the bytes do
                self._files.replace(self._new, self._path)  # crash here: the old file or the new one, never a part
        except OSError as error:
            if error.errno in _NO_ROOM:
                raise StoreFull(f"there is no room for {len(data)} bytes in {self._new}") from error
            raise
        self._files.fsync(self._path.parent)

    def _set_aside(self, data: bytes, why: Exception) -> StoreCorrupt:
        damage = f"{self._path} is damaged ({type(why).__name__}: {why})"
        kept = self._path.with_name(f"{self._path.name}.corrupt-{hashlib.sha256(data).hexdigest()[:8]}")
        try:
            if self._files.read(kept) != data:
                with self._gone_on_error(kept):
                    self._files.write(kept, data)
        except OSError as error:
            return StoreCorrupt(f"{damage}; it stays as it is, but no copy could be kept: {error}")
        return StoreCorrupt(f"{damage}; its {len(data)} bytes are kept in {kept}", kept_at=str(kept))

    @contextmanager
    def _gone_on_error(self, part: Path) -> Iterator[None]:
        try:
            yield
        except OSError:
            with suppress(OSError):
                self._files.remove(part)  # it would only take room on a disk that has none
            raise

    def __repr__(self) -> str:
        return f"<JsonFileStore {self._path}>"


def _checked(tasks: list[Task]) -> dict[str, Task]:
    """The tasks by id, if a save can have written them; else `UnstorableValue` or ValueError with what is wrong."""
    for task in map(plain_task, tasks):
        if None in (task.created_at, task.available_at, task.updated_at):
            raise ValueError(f"task {task.id} lacks a time")
    keys = [task.idempotency_key for task in tasks if task.idempotency_key is not None]
    for name, values in (("id", [task.id for task in tasks]), ("idempotency_key", keys)):
        if len(set(values)) < len(values):
            raise ValueError(f"two tasks have one {name}: {max(values, key=values.count)!r}")
    return {task.id: task for task in tasks}


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
