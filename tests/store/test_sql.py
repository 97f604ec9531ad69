"""What only a database can get wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import Engine

from labkit.errors import StoreFull
from labkit.store import SqlStore
from labkit.task import Task, TaskState


def test_full_disk(sqlite: Engine) -> None:
    """A save for which SQLite has no room is StoreFull: nothing changed, and it goes through once there is room."""
    store = SqlStore(sqlite)
    saved = store.save(Task("t1", "x"))
    large = replace(saved, state=TaskState.RUNNING, result="x" * 100_000)
    with sqlite.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=1").scalar()  # not below what is there
    with pytest.raises(StoreFull):
        store.save(large)
    assert saved == store.get("t1")
    with sqlite.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=1000000").scalar()
    assert large.result == store.save(large).result
