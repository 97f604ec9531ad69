"""The table of tasks and the way from a row to a Task."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import Engine, inspect, select, text
from sqlalchemy.exc import IntegrityError

from labkit.database import open_engine
from labkit.postgres import fresh_database
from labkit.tables import create_tables, task_from_row, tasks
from labkit.task import Task, TaskState
from tests.checkout import ROOT

COLUMNS = [
    "attempt", "available_at", "created_at", "error", "id", "idempotency_key", "lease_expires_at", "priority",
    "result", "state", "updated_at", "user_input", "version", "worker_id",
]  # fmt: skip


def test_columns() -> None:
    """The columns are those of the contract."""
    assert COLUMNS == sorted(column.name for column in tasks.c)


def test_defaults_of_the_server(engine: Engine) -> None:
    """A row needs nothing but id and user_input; the rest is the server's default or null."""
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO tasks (id, user_input) VALUES ('t1', 'deploy')"))
        task = task_from_row(connection.execute(select(tasks)).one())
    assert task.created_at is not None
    assert abs(task.created_at - datetime.now(UTC)) < timedelta(minutes=1)
    assert None not in (task.available_at, task.updated_at)
    expected = Task("t1", "deploy", created_at=task.created_at, available_at=task.available_at)
    assert (expected, TaskState) == (
        Task(**{**vars(task), "updated_at": None}),
        type(task.state),
    )


def test_one_row_per_key(engine: Engine) -> None:
    """An idempotency key is unique, many tasks may have none."""
    with engine.begin() as connection:
        connection.execute(tasks.insert(), [{"id": name, "user_input": "x"} for name in "ab"])
        connection.execute(tasks.insert().values(id="c", user_input="x", idempotency_key="k"))
    with pytest.raises(IntegrityError), engine.begin() as connection:
        connection.execute(tasks.insert().values(id="d", user_input="x", idempotency_key="k"))


def test_ids_sort_by_code_point(engine: Engine) -> None:
    """ "Then by id" means the same on both databases."""
    names = ["Z", "a", "a-b", "aB", "b", "ä", "\U0001f680"]
    with engine.begin() as connection:
        connection.execute(tasks.insert(), [{"id": name, "user_input": "x"} for name in reversed(names)])
        assert names == list(connection.execute(select(tasks.c.id).order_by(tasks.c.id)).scalars())


def test_task_from_any_row(engine: Engine) -> None:
    """Rows of raw SQL, of a subset of columns or of more, and plain mappings become the same Task."""
    with engine.begin() as connection:
        connection.execute(tasks.insert().values(id="t1", user_input="x", attempt=2))
        core = task_from_row(connection.execute(select(tasks, text("1 AS extra"))).one())
        raw = connection.execute(text("SELECT *, 1 AS extra FROM tasks")).one()
        few = connection.execute(text("SELECT id, user_input, state FROM tasks")).one()
    assert core == task_from_row(raw) == task_from_row(raw._mapping) == task_from_row(dict(raw._mapping))
    assert isinstance(raw._mapping, Mapping)
    assert Task("t1", "x") == task_from_row(few)


def test_times_of_a_row() -> None:
    """Times as text, in another zone or without one become aware UTC."""
    nine = datetime(2026, 1, 5, 9, tzinfo=UTC)
    for given in ("2026-01-05 09:00:00", "2026-01-05T11:00:00+02:00", nine.astimezone(timezone(timedelta(hours=2)))):
        read = task_from_row({"id": "t1", "user_input": "x", "created_at": given, "available_at": None}).created_at
        assert read is not None
        assert (nine, UTC) == (read, read.tzinfo)


def test_tables_created_at_once() -> None:
    """Many that create the tables of one new PostgreSQL database at the same moment do not meet."""
    with fresh_database() as database:
        engine = open_engine(database.url)
        start, errors = threading.Barrier(5), []

        def create() -> None:
            start.wait()
            try:
                create_tables(engine)
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=create) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert ([], True) == (errors, inspect(engine).has_table("tasks"))
        engine.dispose()


def test_all_tables_whatever_is_imported() -> None:
    """Whoever creates the tables creates all: importing what uses them adds none. In an interpreter of its own."""
    code = (
        "from labkit.tables import metadata; before = sorted(metadata.tables); import labkit.queue, labkit.saga, labkit.checkpoint;"
        "print(before == sorted(metadata.tables), *before)"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    names = "agent_states amendments artifacts checkpoint_heads checkpoints messages progress_log saga_log task_options tasks tool_results"
    assert f"True {names} webhook_deliveries" == run.stdout.strip()
