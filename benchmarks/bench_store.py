"""A store's save against a raw commit on the same database, in one run.

Run: python benchmarks/bench_store.py
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from table import show, side_by_side

from labkit.clock import SystemClock
from labkit.database import open_engine
from labkit.store import JsonFileStore, SqlStore, StateStore
from labkit.tables import create_tables
from labkit.task import Task, TaskState

WRITES = 200


def saving(store: StateStore) -> Callable[[], object]:
    """WRITES saves of one running task."""
    task = [store.save(Task("t1", "shop", TaskState.RUNNING))]

    def act() -> None:
        for _ in range(WRITES):
            task[0] = store.save(replace(task[0], worker_id="w1"))

    return act


def raw_sqlite(path: Path) -> Callable[[], object]:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE t (id TEXT PRIMARY KEY, n INTEGER)")
    connection.execute("INSERT INTO t VALUES ('t1', 0)")

    def act() -> None:
        for _ in range(WRITES):
            connection.execute("BEGIN")
            connection.execute("UPDATE t SET n = n + 1 WHERE id = 't1'")
            connection.execute("COMMIT")

    return act


def raw_postgres(url: str) -> Callable[[], object]:
    import psycopg

    connection = psycopg.connect(url.replace("+psycopg", ""))
    connection.execute("CREATE TABLE t (id TEXT PRIMARY KEY, n INTEGER)")
    connection.execute("INSERT INTO t VALUES ('t1', 0)")
    connection.commit()

    def act() -> None:
        for _ in range(WRITES):
            connection.execute("UPDATE t SET n = n + 1 WHERE id = 't1'")
            connection.commit()

    return act


def main() -> None:
    from labkit.postgres import fresh_database

    with tempfile.TemporaryDirectory() as name, fresh_database() as fresh:
        folder = Path(name)
        sqlite, postgres = open_engine(f"sqlite:///{folder / 'store.sqlite'}"), open_engine(fresh.url)
        create_tables(sqlite)
        create_tables(postgres)
        raw = {"sqlite": raw_sqlite(folder / "raw.sqlite"), "postgres": raw_postgres(fresh.url)}
        ours = {"sqlite": saving(SqlStore(sqlite)), "postgres": saving(SqlStore(postgres))}
        json = saving(JsonFileStore(folder / "tasks.json", SystemClock()))
        times = side_by_side({**{f"raw {k}": v for k, v in raw.items()}, **{f"store {k}": v for k, v in ours.items()}, "store json": json})
        postgres.dispose()
    rows = [
        (name, f"{1000 * taken / WRITES:.2f} ms", f"{taken / times['raw ' + ('postgres' if 'postgres' in name else 'sqlite')]:.1f}")
        for name, taken in times.items()
    ]
    show("one durable write", rows, ("", "each", "against raw"))


if __name__ == "__main__":
    main()
