"""huey's SQLite storage with fsync: a pop is one commit and there is no acknowledgement, so a crash loses the job."""

from __future__ import annotations

from huey.storage import SqliteStorage
from worker import play


def fill(path: str, count: int) -> None:
    storage = SqliteStorage(filename=path, fsync=True)
    for _ in range(count):
        storage.enqueue(b"x")


def work(path: str, name: str, most: int) -> None:
    storage = SqliteStorage(filename=path, fsync=True)
    while storage.dequeue() is not None:
        pass


play(fill, work)
