"""SQLite's own answer to a torn write: its log, cut after any number of bytes, gives an older state and never a broken one.

Each commit appends pages with checksums to a write-ahead log beside the database. Whoever opens the file reads the log up
to the last commit that is whole. Here the log of a real file is really cut, and the file really opened.

Not handled here: what PostgreSQL does (the same in principle), and a disk that keeps later bytes without earlier ones.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

from labkit.clock import STORY_BEGINS
from labkit.database import open_engine
from labkit.faults.chart_table import Table, table
from labkit.lessons.story import APP
from labkit.store import SqlStore
from labkit.tables import create_tables
from labkit.task import Task, TaskState

EVERY = 256  # bytes from one cut to the next


def cut_everywhere() -> Counter[str]:
    """Save a task three times, cut the log at many places, open each. Counts what is found in the file."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        log = _three_commits(place / "tasks.db", place / "kept")
        cuts = [*range(0, len(log), EVERY), len(log)]
        return Counter(_opened(place / "kept", place / f"cut-{size}", log[:size]) for size in cuts)


def cuts() -> Table:
    """The same as a table."""
    return table(["what is in the file", "cuts"], cut_everywhere().items(), caption="SQLite, its log cut short")


def _three_commits(database: Path, kept: Path) -> bytes:
    """Write the file and its log, and keep both as they are before anybody tidies up. Returns the log."""
    engine = open_engine(f"sqlite:///{database}")
    create_tables(engine)
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    store = SqlStore(engine)
    task = Task("deploy-shop", f"deploy {APP}", created_at=STORY_BEGINS, available_at=STORY_BEGINS)
    for state in (TaskState.PENDING, TaskState.RUNNING, TaskState.COMPLETED):
        task = store.save(replace(task, state=state))
    shutil.copyfile(database, kept)
    log = database.with_name(f"{database.name}-wal").read_bytes()
    engine.dispose()
    return log


def _opened(kept: Path, copy: Path, log: bytes) -> str:
    shutil.copyfile(kept, copy)
    copy.with_name(f"{copy.name}-wal").write_bytes(log)
    connection = sqlite3.connect(copy)
    try:
        row = connection.execute("SELECT state FROM tasks").fetchone()
    except sqlite3.DatabaseError as error:
        return f"unreadable: {error}"
    finally:
        connection.close()
    return str(row[0]) if row else "no task yet"
