"""Two processes with one run: whoever lost the lease may finish what it was at, writes nothing twice, and is stopped by its next word."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from labkit.agent.script import Message, says
from labkit.errors import StaleLease
from labkit.faults import End, Process, Scenario, at_most_once, interleave
from labkit.queue import TaskQueue
from labkit.queue.job import Ask, Job
from labkit.task import Task
from tests.agent import worlds
from tests.agent.runs import Reply
from tests.agent.test_calls import deaf


def answers(messages: list[Message]) -> Message:
    """No effect, one word: the shortest run there is."""
    return says("clean")


def attempt(process: Process, reply: Reply, more: dict[str, Any], task: Callable[[TaskQueue], Task | None]) -> str:
    """An attempt as a worker makes it, with the lease that the task came with."""
    queue = TaskQueue(process.engine, clock=process.clock)
    claimed = task(queue)
    if claimed is None:
        return "nothing to do"
    agent = replace(worlds.agent_of(process, reply), **more)
    try:
        job = Job(queue, claimed)
        try:
            return str(queue.complete(job.lease, agent(job)).state)
        except Ask as asked:
            return str(queue.park(job.lease, str(asked)).state)
    except StaleLease:
        return "lost"


def both(reply: Reply, **tools: Callable[[Process], Any]) -> list[Callable[[Process], str]]:
    """Who has had the lease for too long, and who takes it over."""

    def more(process: Process) -> dict[str, Any]:
        return {name: make(process) for name, make in tools.items()}

    def still(queue: TaskQueue) -> Task:
        return replace(queue.get("t1"), worker_id="w1", attempt=1)

    return [
        lambda process: attempt(process, reply, more(process), still),
        lambda process: attempt(process, reply, more(process), lambda queue: queue.claim("w2")),
    ]


def overdue(process: Process) -> None:
    """The scene: a task whose holder is alive, and whose lease is over."""
    worlds.claimed(process)
    process.clock.sleep(61)


def one_goes_on(end: End) -> str | None:
    """An invariant: exactly one of the two brings the task to where it ends, the other is told so or finds nothing."""
    said = sorted(str(outcome.value or outcome.error) for outcome in end.outcomes)
    fine = said in (["completed", "lost"], ["completed", "nothing to do"], ["lost", "waiting"])
    return None if fine else f"{said}"


def taken_over(end: End) -> bool:
    """The goal: the successor completes what the other one began."""
    return [outcome.value for outcome in end.outcomes] == ["lost", "completed"] and len(end.rows["messages"]) > 1


INVARIANTS = [worlds.history_is_valid, worlds.one_terminal_event, one_goes_on, worlds.every_process_ends]


@pytest.mark.slow
@pytest.mark.postgres
def test_a_zombie_at_any_point() -> None:
    """Each order in which one is interrupted by the other: one conversation, one end; the holder never pays for what the zombie wrote."""
    made = Scenario("agent.zombie", both(answers), INVARIANTS, overdue, goal=taken_over)
    report = interleave(made, "postgres", preemptions=1)
    assert "holds" == report.verdict, report


@pytest.mark.slow
def test_a_zombie_with_a_tool_that_knows_no_keys() -> None:
    """In each such order it has its effect once at most, as long as nobody says yes to a second time."""
    holds = [at_most_once("clean_logs"), *INVARIANTS]
    asked = Scenario("agent.unkeyed_zombie", both(worlds.cleans_at_once, tools=deaf), holds, overdue, goal=lambda end: end.outcomes[1].value == "waiting")
    report = interleave(asked, "sqlite", preemptions=1)
    assert "holds" == report.verdict, report
