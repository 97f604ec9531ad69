"""No way past the gate."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from sqlite3 import connect as connected_long_ago
from typing import Any

import pytest

from labkit.database import open_engine
from labkit.faults import Process, Scenario
from labkit.faults.outcome import Outcome
from labkit.faults.runner import Runner
from labkit.faults.world import World


def outcome(body: Any) -> Outcome:
    with World() as world:
        runner = Runner(Scenario("escape", body), world)
        return runner.once(runner.start, 1, [body]).outcomes[0]


@pytest.mark.parametrize("connect", [lambda path: sqlite3.connect(path), connected_long_ago, sqlite3.Connection])
def test_a_database_of_its_own_is_refused(tmp_path: Path, connect: Any) -> None:
    """However a process opens it, it is told to use its engine, and nothing is there afterwards."""
    told = outcome(lambda process: connect(str(tmp_path / "own.sqlite")))
    assert ("raised", "UsageError") == (told.how, told.error["type"])
    assert "by its engine" in told.error["message"]
    assert list(tmp_path.iterdir()) == []


def test_an_engine_of_its_own_is_refused(tmp_path: Path) -> None:
    """SQLAlchemy is no way around either."""

    def body(process: Process) -> None:
        with open_engine(f"sqlite:///{tmp_path}/own.sqlite").connect():
            pass

    assert "UsageError" in outcome(body).error["bases"]


def test_memory_is_its_own() -> None:
    """A database in the process's memory dies with it and is nobody's business."""
    assert outcome(lambda process: sqlite3.connect(":memory:").execute("SELECT 1").fetchone()).value == [1]


def test_nobody_else_is_disturbed(tmp_path: Path) -> None:
    """Before, beside and after a process everybody opens what he likes."""
    opened: list[int] = []

    def beside(go: threading.Event) -> None:
        go.wait(10)
        opened.append(sqlite3.connect(tmp_path / "beside.sqlite").execute("SELECT 1").fetchone()[0])

    go = threading.Event()
    thread = threading.Thread(target=beside, args=[go])
    thread.start()

    def body(process: Process) -> None:
        go.set()
        thread.join(10)

    assert outcome(body).how == "returned"
    assert opened == [1]
    assert sqlite3.connect(tmp_path / "after.sqlite").execute("SELECT 1").fetchone() == (1,)
