"""What people add to a task while it is on its way: kept in order, never after its end, and read again by whoever takes over."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine

from labkit.errors import InvalidTransition, TaskNotFound, UnstorableValue, UsageError
from labkit.faults import End, Process, Scenario, interleave
from labkit.queue import Job, TaskQueue
from labkit.queue.lease import Lease
from tests.queue.helpers import taken

DATABASES = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


def test_what_is_added_is_read(engine: Engine) -> None:
    """In its order, by the one who works on it now and by the one after."""
    queue = TaskQueue(engine)
    task_id = queue.submit("deploy shop")
    assert 1 == queue.amend(task_id, "in Oslo")
    lease = taken(queue)
    assert ["in Oslo"] == Job(queue, queue.get(task_id)).amendments()
    assert 2 == queue.amend(task_id, "and a cache ☕")
    queue.release(lease)
    taken(queue, "w2")
    assert ["in Oslo", "and a cache ☕"] == Job(queue, queue.get(task_id)).amendments()


def test_what_is_refused(engine: Engine) -> None:
    """Nothing is added to what has ended, to what is not there, or in words that no database holds."""
    queue = TaskQueue(engine)
    task_id = queue.submit("deploy shop")
    with pytest.raises(UnstorableValue):
        queue.amend(task_id, "a\x00b")
    queue.complete(taken(queue), "up")
    with pytest.raises(InvalidTransition, match="has ended"):
        queue.amend(task_id, "too late")
    with pytest.raises(TaskNotFound):
        queue.amend("none", "x")
    assert [] == queue.amendments(task_id)


def _adds(text: str) -> object:
    return lambda process: TaskQueue(process.engine).amend("t1", text)


def _completes(process: Process) -> str:
    queue = TaskQueue(process.engine)
    return str(queue.complete(Lease.of(queue.get("t1")), "up").state)


def _claimed(process: Process) -> None:
    queue = TaskQueue(process.engine, new_id=lambda: "t1")
    queue.submit("deploy shop")
    queue.claim("w1")


def _each_is_kept(end: End) -> str | None:
    """Whoever was told that it was kept stands in the table, under a number of its own; nothing is kept for a task that had ended."""
    kept = [row["seq"] for row in end.rows.get("amendments", ())]
    said = sorted(outcome.value for outcome in end.outcomes if isinstance(outcome.value, int))
    return None if sorted(kept) == said == list(range(1, len(said) + 1)) else f"kept {kept}, said {said}"


@pytest.mark.parametrize("database", DATABASES)
def test_two_at_once_and_an_end(database: str) -> None:
    """Two add and the worker completes, in every order: each one that was taken is there, under its own number."""
    scenario = Scenario("amend", [_adds("a"), _adds("b"), _completes], [_each_is_kept], _claimed)  # type: ignore[list-item]
    report = interleave(scenario, database, preemptions=1).or_raise()
    assert "holds" == report.verdict


def test_said_twice(engine: Engine) -> None:
    """Sent again under its number it stands there once, also after the end; another one under a number that is taken, or too high, is refused."""
    queue = TaskQueue(engine)
    task_id = queue.submit("deploy shop")
    assert [1, 1, 2, 2] == [queue.amend(task_id, text, number) for text, number in (("a", 1), ("a", 1), ("b", 2), ("b", 2))]
    for text, number in (("c", 1), ("a", 2), ("d", 4), ("d", 5)):
        with pytest.raises(InvalidTransition, match="number 3"):
            queue.amend(task_id, text, number)
    with pytest.raises(UsageError):
        queue.amend(task_id, "a", 0)
    with pytest.raises(UnstorableValue):
        queue.amend(task_id, "a", 10**30)
    assert 3 == queue.amend(task_id, "b")
    queue.cancel(task_id)
    assert 1 == queue.amend(task_id, "a", 1)
    with pytest.raises(InvalidTransition, match="has ended"):
        queue.amend(task_id, "e", 4)
    assert ["a", "b", "b"] == queue.amendments(task_id)
