"""One order over all tasks: a reader leaves out no event, whoever commits first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine, insert, select

from labkit.faults import End, Scenario, interleave
from labkit.faults.process import Process
from labkit.progress import Follower, ProgressLog, ProgressUpdate
from labkit.tables import progress_log, tasks

DATABASES = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
DATABASE_NAMES = ("sqlite", "postgres")
Read = Callable[[Engine], Callable[[], list[int]]]


def two_tasks(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(insert(tasks), [{"id": i, "user_input": "x"} for i in "ab"])


def told(task_id: str) -> ProgressUpdate:
    return ProgressUpdate(task_id=task_id, step=1, status="thinking")


def follower(engine: Engine) -> Callable[[], list[int]]:
    reader = Follower(engine)
    return lambda: [position for position, _ in reader.read()]


def from_the_highest(engine: Engine) -> Callable[[], list[int]]:
    """The reader that looks right: goes on from the highest position that it has seen."""
    last = [0]

    def read() -> list[int]:
        position = progress_log.c.position
        with engine.connect() as connection:
            found = list(connection.scalars(select(position).where(position > last[0]).order_by(position)))
        last[0] = max([*last, *found])
        return found

    return read


def scenario(made: Read) -> Scenario:
    """Two tasks tell something while a reader reads twice."""

    def tell(task_id: str) -> Callable[[Process], Any]:
        return lambda process: ProgressLog(process.engine).append(told(task_id))

    def read(process: Process) -> list[int]:
        reader = made(process.engine)
        return [*reader(), *reader()]

    def nothing_left_out(end: End) -> str | None:
        read = next(outcome.value for outcome in end.outcomes if outcome.process == "p3") or []
        there = sorted(row["position"] for row in end.rows["progress_log"])
        return None if there[: len(read)] == read else f"read {read} of {there}"

    return Scenario(
        "followers",
        [tell("a"), tell("b"), read],
        [nothing_left_out],
        setup=lambda process: two_tasks(process.engine),
        goal=lambda end: any(outcome.process == "p3" and outcome.value for outcome in end.outcomes),
    )


@pytest.mark.slow
@pytest.mark.parametrize("database", DATABASES)
def test_nothing_is_left_out(database: str) -> None:
    """In every order of two writers and a reader what was read is the beginning of what is there."""
    report = interleave(scenario(follower), database, preemptions=1)
    assert "holds" == report.verdict, report


@pytest.mark.slow
@pytest.mark.postgres
def test_the_highest_is_not_enough() -> None:
    """The twin: going on from the highest position leaves events out on PostgreSQL, where SQLite hides the bug."""
    found = {database: interleave(scenario(from_the_highest), database, preemptions=1).verdict for database in DATABASE_NAMES}
    assert {"sqlite": "holds", "postgres": "broken"} == found


def test_reads_on(engine: Engine) -> None:
    """What was given is not given again; a new reader goes on from a position; all tasks come in one order."""
    two_tasks(engine)
    log, reader = ProgressLog(engine), Follower(engine, _before_all(engine))
    positions = [log.append(told(task_id)) for task_id in "abab"]
    read = [*reader.read(3), *reader.read(3)]
    assert (positions, list("abab"), []) == ([p for p, _ in read], [u.task_id for _, u in read], reader.read())
    assert [positions[-1]] == [p for p, _ in Follower(engine, positions[2]).read()]
    assert f"<Follower at {positions[-1]}>" == repr(reader)


def _before_all(engine: Engine) -> int:
    """The position before the next one: a sequence goes on where earlier tests left it."""
    return ProgressLog(engine).append(told("a"))


@pytest.mark.postgres
def test_a_gap_that_stays(postgres: Engine) -> None:
    """A position of a transaction that rolled back holds a reader up once, and only while it may still come."""
    two_tasks(postgres)
    log, reader = ProgressLog(postgres), Follower(postgres, _before_all(postgres))
    with postgres.connect() as slow:
        slow.execute(insert(progress_log).values(task_id="a", step=1, status="thinking"))
        position = log.append(told("b"))
        assert ([], []) == (reader.read(), reader.read())
        slow.rollback()
    assert [position] == [p for p, _ in reader.read()]


@pytest.mark.postgres
def test_a_gap_that_is_filled(postgres: Engine) -> None:
    """A position that commits later than a higher one comes before it."""
    two_tasks(postgres)
    log, reader = ProgressLog(postgres), Follower(postgres, _before_all(postgres))
    with postgres.connect() as slow:
        written = insert(progress_log).values(task_id="a", step=1, status="thinking").returning(progress_log.c.position)
        lower = slow.execute(written).scalar_one()
        higher = log.append(told("b"))
        assert [] == reader.read()
        slow.commit()
    assert [lower, higher] == [p for p, _ in reader.read()]
