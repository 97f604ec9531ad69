"""A trace is the same in every replay, to the byte, and goes to JSON lines and back."""

from __future__ import annotations

import uuid

import pytest
from sqlalchemy import text

from labkit.faults import Process, Scenario, Trace, open_world, run_once
from labkit.faults.runner import Runner
from labkit.faults.schedule import Schedule
from tests.faults import scenarios

KINDS = ["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
PLACES = [
    "none",
    "p1@4.after+crash",
    "p1@cloud1.before+late(30)",
    "p1@3.before+crash,p2@5.after+crash",
    "p1@cloud2.before+hang",
]


def random_ids(process: Process) -> object:
    one, other = str(uuid.uuid4()), uuid.uuid4().hex
    process.cloud.charge(one, key=other)
    process.cloud.refund(one, key=other + "!")
    with process.engine.begin() as connection:
        connection.execute(text("INSERT INTO tasks (id, user_input) VALUES (:id, 'x')"), {"id": one})
    process.clock.sleep(0.1 + 0.2)
    return object(), one


@pytest.mark.parametrize("database", KINDS)
@pytest.mark.parametrize("schedule", PLACES)
def test_two_runs_of_one_token_are_equal(database: str, schedule: str) -> None:
    """In one world one after the other, and in two worlds."""
    for scenario in (scenarios.SAGA, Scenario("ids", random_ids)):
        with open_world(database) as world:
            runner = Runner(scenario, world)
            first, second = (runner.replay(Schedule.parse(schedule))[1].to_jsonl() for _ in range(2))
        assert first == second == run_once(scenario, schedule, database).to_jsonl()


def test_random_ids_are_named_by_their_first_appearance() -> None:
    """The same id has the same name everywhere in a trace."""
    shown = str(run_once(Scenario("ids", random_ids)))
    assert "charge id-1" in shown
    assert "key=id-2" in shown
    assert "refund id-1" in shown
    assert "0x" not in shown


@pytest.mark.parametrize("schedule", PLACES)
def test_a_trace_comes_back_from_its_lines(schedule: str) -> None:
    """`from_jsonl(to_jsonl(t)) == t`."""
    trace = run_once(scenarios.SAGA_WITHOUT_KEYS, schedule)
    assert trace == Trace.from_jsonl(trace.to_jsonl())


def test_a_text_with_odd_line_ends_comes_back() -> None:
    """What an editor may take for the end of a line is none in JSON lines."""

    def body(process: Process) -> None:
        process.note("a\u2028b\x85c\x0bd\ne")
        raise ValueError("a\u2028b\x85c\re")

    trace = run_once(Scenario("odd", body))
    assert "\u2028" in str(trace)
    assert trace == Trace.from_jsonl(trace.to_jsonl())


def test_what_a_trace_shows() -> None:
    """Starts, both sides of crossings, the fault, the effect, how each process ended and what broke."""
    trace = run_once(scenarios.WITHOUT_KEY, "p1@cloud1.after+crash")
    kinds = [(line.kind, line.label) for line in trace.lines if line.kind != "cross"]
    assert kinds == [
        ("start", "runs"), ("effect", "deploy_container shop"), ("end", "crashed"),
        ("start", "restarted"), ("effect", "deploy_container shop"), ("end", "returned"), ("broken", "exactly one deploy_container"),
    ]  # fmt: skip
    assert ["crash"] == [line.fault for line in trace.lines if line.fault]
    assert trace.processes == ["p1", "p2"]
    assert trace.broken is not None
    assert "2 times" in trace.broken
