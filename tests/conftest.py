"""Fixtures for all tests. PostgreSQL is not optional here: without one these tests fail, they do not skip."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from sqlalchemy import Engine
from xdist.scheduler import LoadScopeScheduling

from labkit.clock import VirtualClock
from labkit.database import open_engine
from labkit.postgres import fresh_database
from labkit.tables import create_tables, metadata

# the same examples in every run, on a machine of any speed; said here since Hypothesis would load a profile of its own where CI is set
settings.register_profile("labkit", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("labkit")

SPREAD = {  # what takes long, one test after the other, and shares nothing that is dear
    "tests/agent/test_crashes.py",
    "tests/checks/test_fidelity.py",
    "tests/checks/test_host.py",
    "tests/checks/test_kill.py",
    "tests/checks/test_mutants.py",
    "tests/classroom/test_ended.py",
    "tests/queue/test_model.py",
    "tests/queue/test_processes.py",
    "tests/saga/test_simulated.py",
    "tests/test_cli.py",
    "tests/test_right_answers.py",
    "tests/test_wrong_answers.py",
}


STEP = 13  # one in so many of the tests that are marked `sampled`; odd, so that of pairs (one for each database) both are met


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--whole", action="store_true", help="all tests that are `sampled`, as `make soak` runs them, and not one in thirteen")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of long lists of one kind the usual run takes each thirteenth, always the same ones; the summary counts what is left to `make soak`."""
    if config.getoption("--whole"):
        return
    place, left_out = Counter[str](), list[pytest.Item]()
    for item in items:
        if item.get_closest_marker("sampled") is not None:
            kind = item.nodeid.partition("[")[0]
            if place[kind] % STEP:
                left_out.append(item)
            place[kind] += 1
    config.hook.pytest_deselected(items=left_out)
    gone = set(map(id, left_out))
    items[:] = [item for item in items if id(item) not in gone]


class Sharing(LoadScopeScheduling):
    """The tests of a file share a worker, as do the cells of a notebook; long files are shared out test by test, wherever there is room."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return nodeid if file in SPREAD else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Sharing:
    return Sharing(config, log)


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A new empty folder with a short name: a server's socket lies in it, and the address of one has room for a hundred bytes."""
    with TemporaryDirectory(prefix="lk-") as place:
        yield Path(place)


@pytest.fixture
def clock() -> VirtualClock:
    """A clock that stands still until somebody sleeps."""
    return VirtualClock()


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The URL of a database of this test run's own."""
    with fresh_database() as database:
        yield database.url


@pytest.fixture(scope="session")
def postgres_engine(postgres_url: str) -> Iterator[Engine]:
    """An engine on it, with the tables; the rows of other tests may be there, see `postgres`."""
    engine = open_engine(postgres_url)
    create_tables(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def postgres(postgres_engine: Engine) -> Engine:
    """PostgreSQL with empty tables."""
    with postgres_engine.begin() as connection:
        for table in reversed(metadata.sorted_tables):
            connection.execute(table.delete())
    return postgres_engine


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Engine]:
    """A new SQLite file with empty tables."""
    engine = open_engine(f"sqlite:///{tmp_path}/tasks.db")
    create_tables(engine)
    yield engine
    engine.dispose()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def engine(request: pytest.FixtureRequest) -> Engine:
    """Either database, with empty tables."""
    chosen: Engine = request.getfixturevalue(request.param)
    return chosen
