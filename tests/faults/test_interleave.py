"""Every order of a few actors: races are found on the database that has them, and only there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import text

from labkit.database import write_transaction
from labkit.errors import StaleTask
from labkit.faults import End, Process, Scenario, every_process_ends, interleave, replay
from labkit.task import Task
from tests.faults import scenarios

DATABASES = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
SELECT = "SELECT id FROM tasks WHERE state = 'pending' ORDER BY id LIMIT 1"
TAKE = "UPDATE tasks SET state = 'running' WHERE id = :id"


def three_tasks(process: Process) -> None:
    with process.engine.begin() as connection:
        connection.execute(text("INSERT INTO tasks (id, user_input) VALUES ('t1', 'x'), ('t2', 'x'), ('t3', 'x')"))


def claim_in_two_transactions(process: Process) -> str | None:
    with process.engine.begin() as connection:
        row = connection.execute(text(SELECT)).first()
    if row is not None:
        with process.engine.begin() as connection:
            connection.execute(text(TAKE), {"id": row.id})
    return row and row.id


def claim_in_one_transaction(process: Process) -> str | None:
    with process.engine.begin() as connection:
        row = connection.execute(text(SELECT)).first()
        if row is not None:
            connection.execute(text(TAKE), {"id": row.id})
    return row and row.id


def claim_with_the_write_lock(process: Process) -> str | None:
    """Right on SQLite (BEGIN IMMEDIATE), wrong on PostgreSQL."""
    with write_transaction(process.engine) as connection:
        row = connection.execute(text(SELECT)).first()
        if row is not None:
            connection.execute(text(TAKE), {"id": row.id})
    return row and row.id


def claim_with_a_row_lock(process: Process) -> str | None:
    """Right on PostgreSQL."""
    with process.engine.begin() as connection:
        row = connection.execute(text(f"{SELECT} FOR UPDATE SKIP LOCKED")).first()
        if row is not None:
            connection.execute(text(TAKE), {"id": row.id})
    return row and row.id


def claim_in_one_statement(process: Process) -> str | None:
    """Right on SQLite; on PostgreSQL two can wait for the same row and both take it."""
    with process.engine.begin() as connection:
        row = connection.execute(text(f"UPDATE tasks SET state = 'running' WHERE id = ({SELECT}) RETURNING id")).first()
    return row and row.id


def nobody_twice(end: End) -> str | None:
    """An invariant: no task was claimed by two."""
    claimed = [o.value for o in end.outcomes if o.value is not None]
    return f"{claimed[0]} was claimed twice" if len(claimed) != len(set(claimed)) else None


def claims(body: Any) -> Scenario:
    return Scenario("claims", (body, body), [nobody_twice], setup=three_tasks)


CASES = [
    ("sqlite", claim_in_two_transactions, "broken"),
    ("sqlite", claim_in_one_transaction, "holds"),  # a reader that wants to write is refused there
    ("sqlite", claim_with_the_write_lock, "holds"),
    ("sqlite", claim_in_one_statement, "holds"),
    ("postgres", claim_in_two_transactions, "broken"),
    ("postgres", claim_in_one_transaction, "broken"),
    ("postgres", claim_with_the_write_lock, "broken"),
    ("postgres", claim_with_a_row_lock, "holds"),
    ("postgres", claim_in_one_statement, "broken"),
]


@pytest.mark.postgres
@pytest.mark.parametrize(("database", "body", "verdict"), CASES, ids=[f"{d}-{b.__name__}" for d, b, _ in CASES])
def test_a_claim_is_right_where_it_is_right(database: str, body: Any, verdict: str) -> None:
    """Each way to claim is tried in all orders within two preemptions."""
    report = interleave(claims(body), database)
    assert verdict == report.verdict, report
    assert "all" in report.covered
    if verdict == "broken":
        assert "was claimed twice" in report.broken[0].why
        assert replay(claims(body), report.broken[0].token).broken == report.broken[0].why


@pytest.mark.parametrize("database", DATABASES)
def test_two_callers_of_one_task(database: str) -> None:
    """The library's own execution: one writes the end, the other is told, and the effect is there once."""

    def one_end(end: End) -> str | None:
        hows = sorted(o.how if o.how == "returned" else o.error["type"] for o in end.outcomes)
        return None if hows in (["returned", "returned"], [StaleTask.__name__, "returned"]) else str(hows)

    scenario = replace(
        scenarios.EXECUTE, run=(scenarios.execute, scenarios.execute), invariants=[*scenarios.DEPLOYED, one_end]
    )
    report = interleave(scenario, database)
    assert report.verdict == "holds", report


@pytest.mark.postgres
def test_a_deadlock_is_a_counterexample_with_both_names() -> None:
    """Rows locked in opposite orders: the report names who waits for whom, and the token replays it."""

    def crosswise(process: Process) -> None:
        ids = ["t1", "t2"] if process.name == "p1" else ["t2", "t1"]
        with process.engine.begin() as connection:
            for one in ids:
                connection.execute(text(TAKE), {"id": one})

    scenario = Scenario("crosswise", (crosswise, crosswise), [every_process_ends], setup=three_tasks)
    report = interleave(scenario, "postgres")
    assert report.verdict == "broken"
    assert report.broken[0].why == "p1 and p2 wait for each other"
    assert replay(scenario, report.broken[0].token).broken == "p1 and p2 wait for each other"


@pytest.mark.parametrize("database", DATABASES)
def test_each_order_is_tried_once_and_all_of_them_again(database: str) -> None:
    """The orders are the same in each call, no two are alike, and more preemptions are more orders."""
    counts = []
    for preemptions in (0, 1, 2, 2):
        report = interleave(claims(claim_in_two_transactions), database, preemptions=preemptions)
        counts.append(report.covered)
    orders = [int(covered.split(" orders")[0].split()[-1]) for covered in counts]
    assert orders[0] < orders[1] < orders[2] == orders[3]


def test_actors_that_never_take_turns_exercise_nothing() -> None:
    """Nothing was contested, so nothing was proved."""

    def nothing(process: Process) -> None:
        return None

    assert interleave(Scenario("nothing", (nothing, nothing)), "sqlite", preemptions=0).verdict == "not_exercised"


def test_three_actors() -> None:
    """Three at once are possible; a lost update among them is found."""

    def count(process: Process) -> None:
        task = process.store.get("t1")
        assert task is not None
        with process.engine.begin() as connection:
            connection.execute(text("UPDATE tasks SET priority = :p WHERE id = 't1'"), {"p": task.priority + 1})

    def all_counted(end: End) -> str | None:
        return None if end.tasks["t1"]["priority"] == 3 else f"{end.tasks['t1']['priority']} of 3 were counted"

    report = interleave(
        Scenario("count", (count,) * 3, [all_counted], setup=lambda p: p.store.save(Task("t1", "x"))), preemptions=1
    )
    assert report.verdict == "broken"
