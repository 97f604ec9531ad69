"""What the tests of checkpoints share: the least store that a manager needs, and looking at what is stored."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import Engine, func, select

from labkit.checkpoint import Checkpoint, CheckpointManager, CheckpointStore
from labkit.checkpoint.data import checksum_of, decode, encode
from labkit.clock import Clock
from labkit.errors import CheckpointNotFound
from labkit.faults.process import Process
from labkit.tables import artifacts, checkpoints

DAY = timedelta(days=1)


class PlainStore:
    """Checkpoints in memory, with `append`, `load` and `delete` and nothing else."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self.kept = clock, dict[tuple[str, int], Checkpoint]()

    def append(self, task_id: str, data: Mapping[str, Any]) -> int:
        seq = max([s for t, s in self.kept if t == task_id], default=0) + 1
        text = encode(data)
        read = decode(task_id, text, checksum_of(task_id, text))
        assert read is not None
        self.kept[task_id, seq] = Checkpoint(task_id, seq, self._clock.now(), read, True)
        return seq

    def load(self, task_id: str) -> list[Checkpoint]:
        return [self.kept[key] for key in sorted(self.kept) if key[0] == task_id]

    def delete(self, task_id: str, seq: int) -> None:
        del self.kept[task_id, seq]


class OnlyThree:
    """A store in the database of which a manager sees no more than the three methods of a plain one."""

    def __init__(self, store: CheckpointStore) -> None:
        self.append, self.load, self.delete = store.append, store.load, store.delete


def manager_of(store: Any, clock: Clock, **options: Any) -> CheckpointManager:
    return CheckpointManager(store, clock, **{"strategy": "every_step", "max_age": DAY, "max_count": 3, **options})


def of_process(process: Process, max_count: int = 1) -> CheckpointManager:
    """The manager that each process of a scenario makes for itself."""
    return manager_of(CheckpointStore(process.engine), process.clock, max_count=max_count)


def known(manager: CheckpointManager, task_id: str = "t1") -> dict[str, Any]:
    """What the newest checkpoint says has been done."""
    try:
        done: dict[str, Any] = manager.validate_and_resume(task_id).data["extra"]["done"]
    except CheckpointNotFound:
        return {}
    return done


def seqs(store: Any, task_id: str = "t1") -> list[int]:
    return [checkpoint.seq for checkpoint in store.load(task_id)]


def bytes_stored(engine: Engine) -> int:
    """Bytes of all checkpoints and artifacts in the database."""
    with engine.connect() as connection:
        texts = connection.scalar(select(func.sum(func.length(checkpoints.c.data)))) or 0
        contents = connection.scalar(select(func.sum(func.length(artifacts.c.content)))) or 0
    return int(texts) + int(contents)
