"""Two and three claimers in every order: each task once, none lost, never two rows; and the broken claims found."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import Engine, insert

from labkit.faults import End, Scenario, interleave
from labkit.faults.process import Process
from labkit.lessons import claims
from labkit.queue import Lease, TaskQueue
from labkit.queue.claim import claim
from labkit.tables import tasks

DATABASES = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
Claim = Callable[[Engine, str, datetime], list[str]]


def reference(engine: Engine, worker: str, now: datetime) -> list[str]:
    task = claim(engine, worker, 60.0, now)
    return [] if task is None else [task.id]


def tasks_in(*ids: str) -> Callable[[Process], None]:
    def setup(process: Process) -> None:
        at = process.clock.now()
        rows = [{"id": i, "user_input": "x", "created_at": at, "available_at": at, "updated_at": at} for i in ids]
        with process.engine.begin() as connection:
            connection.execute(insert(tasks), rows)

    return setup


def claims_of(end: End) -> list[str]:
    return [task_id for outcome in end.outcomes for task_id in outcome.value or []]


def never_two_rows(end: End) -> str | None:
    many = [outcome for outcome in end.outcomes if len(outcome.value or []) > 1]
    return f"{many[0].process} took {many[0].value}" if many else None


def each_once(end: End) -> str | None:
    taken = claims_of(end)
    return f"claimed twice: {taken}" if len(taken) != len(set(taken)) else None


def nobody_fails(end: End) -> str | None:
    failed = [outcome for outcome in end.outcomes if outcome.how != "returned"]
    return str(failed[0]) if failed else end.deadlock or None


def none_lost(end: End) -> str | None:
    """Every task whose row says that it runs was handed to somebody, and the first ones were."""
    running = sorted(name for name, row in end.tasks.items() if row["state"] == "running")
    return None if running == sorted(set(claims_of(end))) else f"{running} run, {claims_of(end)} were handed out"


def scenario(made: Claim, workers: int, ids: tuple[str, ...]) -> Scenario:
    def body(number: int) -> Callable[[Process], Any]:
        return lambda process: made(process.engine, f"w{number}", process.clock.now())

    return Scenario(
        "claimers",
        [body(number) for number in range(1, workers + 1)],
        [never_two_rows, each_once, nobody_fails, none_lost],
        setup=tasks_in(*ids),
        goal=lambda end: bool(claims_of(end)),
    )


@pytest.mark.parametrize("database", DATABASES)
@pytest.mark.parametrize(
    ("workers", "ids"), [(2, ("a",)), (2, ("a", "b")), pytest.param(3, ("a", "b"), marks=pytest.mark.slow)]
)
def test_each_task_once(database: str, workers: int, ids: tuple[str, ...]) -> None:
    """In every order of two and three claimers within two preemptions each task goes to one of them, none is lost."""
    report = interleave(scenario(reference, workers, ids), database)
    assert "holds" == report.verdict, report


@pytest.mark.parametrize("database", DATABASES)
def test_all_that_is_due_is_taken(database: str) -> None:
    """Two claimers and two tasks: in every order both go home with one."""

    def both_taken(end: End) -> str | None:
        return None if ["a", "b"] == sorted(claims_of(end)) else f"taken: {claims_of(end)}"

    made = scenario(reference, 2, ("a", "b"))
    report = interleave(Scenario("both", made.run, [both_taken], setup=made.setup, goal=made.goal), database)
    assert "holds" == report.verdict, report


@pytest.mark.parametrize(
    ("broken", "where"), [("select_then_update", {"sqlite", "postgres"}), ("update_by_id", {"postgres"})]
)
@pytest.mark.postgres
def test_broken_claims_are_found(broken: str, where: set[str]) -> None:
    """SELECT-then-UPDATE doubles on both databases; an UPDATE by id alone on PostgreSQL, where SQLite hides the bug."""
    made = scenario(getattr(claims, broken), 2, ("a", "b"))
    found = {database for database in ("sqlite", "postgres") if interleave(made, database).verdict == "broken"}
    assert where == found


@pytest.mark.postgres
def test_limit_inside_in_takes_several(postgres: Engine) -> None:
    """`IN (SELECT ... LIMIT 1)` takes more than one row under a plan that stale statistics lead to; a CTE does not."""
    now = datetime.fromisoformat("2026-01-05T09:00:00+00:00")
    with postgres.begin() as connection:
        connection.execute(
            insert(tasks), [{"id": f"t{n:03}", "user_input": "x", "available_at": now} for n in range(20)]
        )
    assert len(claims.limit_inside_in(postgres, "w", now)) > 1


def test_no_lease_never_comes_back(engine: Engine) -> None:
    """Without a lease the task of a dead worker stays running for ever; with one it is claimed when the lease is over."""
    now = datetime.fromisoformat("2026-01-05T09:00:00+00:00")
    later = now.replace(year=2027)
    with engine.begin() as connection:
        connection.execute(insert(tasks), [{"id": i, "user_input": "x", "available_at": now} for i in "ab"])
    assert ["a"] == claims.no_lease(engine, "dead", now)
    assert "b" == getattr(claim(engine, "dead", 60.0, now), "id", None)
    assert [] == claims.no_lease(engine, "next", later)
    assert ["b"] == reference(engine, "next", later)
    assert [] == reference(engine, "next", later)


@pytest.mark.parametrize("database", DATABASES)
def test_zombie_and_successor(database: str) -> None:
    """A sleeps past its lease while B claims and completes: in every order one result counts, the other is refused."""

    def work(name: str, nap: float) -> Callable[[Process], Any]:
        def body(process: Process) -> list[str]:
            queue = TaskQueue(process.engine, lease_seconds=60.0, clock=process.clock, now=process.clock.now)
            process.clock.sleep(nap)
            task = queue.claim("one name")
            if task is None:
                return []
            process.clock.sleep(100.0)
            return [queue.complete(Lease.of(task), name).result or ""]

        return body

    def one_result(end: End) -> str | None:
        stored, said = end.tasks["a"]["result"], claims_of(end)
        ends = [row for row in end.rows["progress_log"] if row["terminal"]]
        fine = (
            said == [stored]
            and len(ends) == 1
            and all(o.how == "returned" or "StaleLease" in o.error["bases"] for o in end.outcomes)
        )
        return None if fine else f"stored {stored}, told {said}, {len(ends)} ends, {end.outcomes}"

    made = Scenario(
        "zombie",
        [work("A", 0.0), work("B", 70.0)],
        [one_result],
        setup=tasks_in("a"),
        goal=lambda end: end.tasks["a"]["attempt"] == 2,
    )
    report = interleave(made, database)
    assert "holds" == report.verdict, report


@pytest.mark.parametrize("database", DATABASES)
def test_cancel_against_completion(database: str) -> None:
    """Of a cancel and a completion that race exactly one wins, with one terminal event."""

    def complete(process: Process) -> str:
        queue = TaskQueue(process.engine, clock=process.clock, now=process.clock.now)
        task = queue.claim("w1")
        return queue.complete(Lease.of(task), "done").state if task else "nothing"

    def cancel(process: Process) -> str:
        return TaskQueue(process.engine, clock=process.clock, now=process.clock.now).cancel("a").state

    def one_end(end: End) -> str | None:
        state = end.tasks["a"]["state"]
        ends = [row["status"] for row in end.rows["progress_log"] if row["terminal"]]
        winners = [o.value for o in end.outcomes if o.how == "returned" and o.value != "nothing"]
        expected = ["completed" if state == "completed" else "error"]
        return None if (winners, ends) == ([state], expected) else f"{state}, {winners}, {ends}, {end.deadlock}"

    made = Scenario(
        "cancel",
        [complete, cancel],
        [one_end],
        setup=tasks_in("a"),
        goal=lambda end: end.tasks["a"]["state"] == "cancelled",
    )
    report = interleave(made, database)
    assert "holds" == report.verdict, report
