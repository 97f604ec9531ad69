"""Submitting: keys, the bound, what cannot be stored, and what a crash or a race leaves."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, func, insert, select

from labkit.clock import VirtualClock
from labkit.database import write_transaction
from labkit.errors import QueueFull, UnstorableValue
from labkit.faults import End, Scenario, interleave, sweep
from labkit.faults.process import Process
from labkit.ids import counted_ids
from labkit.queue import TaskQueue
from labkit.tables import task_options, tasks
from labkit.task import TaskState
from tests.queue.helpers import ends, taken


def together(count: int, act: Callable[[int], Any]) -> list[Any]:
    """What each of `count` threads that start together returns or raises."""
    barrier, found = threading.Barrier(count), list[Any]()

    def run(number: int) -> None:
        barrier.wait()
        try:
            found.append(act(number))
        except Exception as error:
            found.append(error)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def rows(engine: Engine) -> int:
    with engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(tasks)).scalar_one()


def test_what_is_stored(queue: TaskQueue, clock: VirtualClock) -> None:
    """The task as asked for, due now, with its options beside it."""
    task_id = queue.submit("deploy shop", priority=3, idempotency_key="k", webhook_url="https://example.org/hook")
    task = queue.get(task_id)
    assert ("deploy shop", TaskState.PENDING, 3, "k", 0) == (
        task.user_input,
        task.state,
        task.priority,
        task.idempotency_key,
        task.attempt,
    )
    assert clock.now() == task.created_at == task.available_at == task.updated_at
    assert "https://example.org/hook" == queue.webhook_url(task_id)
    assert queue.webhook_url(queue.submit("other")) is None


def test_ids_are_injected(engine: Engine) -> None:
    """The ids come from the given source."""
    queue = TaskQueue(engine, new_id=counted_ids("task"))
    assert ["task-1", "task-2"] == [queue.submit("a"), queue.submit("b")]


def test_full(engine: Engine) -> None:
    """The bound is exact; who is refused hears when to come again, and nothing of the task is stored."""
    queue = TaskQueue(engine, max_pending=2, retry_after=2.5)
    ids = [queue.submit("a"), queue.submit("b")]
    with pytest.raises(QueueFull) as caught:
        queue.submit("c", idempotency_key="c")
    assert (2.5, 2) == (caught.value.retry_after, rows(engine))
    assert taken(queue).task_id in ids  # running tasks need no room
    assert queue.submit("c", idempotency_key="c") not in ids


def test_zero_is_always_full(engine: Engine) -> None:
    """A queue for nothing refuses everything, one without a bound refuses nothing."""
    with pytest.raises(QueueFull):
        TaskQueue(engine, max_pending=0).submit("a")
    TaskQueue(engine, max_pending=None).submit("a")


def test_known_key_when_full(engine: Engine) -> None:
    """An accepted key gives its id whatever the state of its task, also when the queue is full."""
    queue = TaskQueue(engine, max_pending=1)
    task_id = queue.submit("deploy", idempotency_key="k")
    assert task_id == queue.submit("deploy", idempotency_key="k")
    lease = taken(queue)
    queue.submit("fills the queue")
    assert task_id == queue.submit("deploy", idempotency_key="k")
    queue.complete(lease, "done")
    assert task_id == queue.submit("deploy", idempotency_key="k")
    assert ("done", 2) == (queue.wait(task_id, 0).result, rows(engine))


def test_known_key_of_a_cancelled_task(queue: TaskQueue) -> None:
    """A cancelled task keeps its key: who cancelled it does not want it to come back by a retry."""
    task_id = queue.submit("deploy", idempotency_key="k")
    queue.cancel(task_id)
    assert (task_id, TaskState.CANCELLED) == (queue.submit("deploy", idempotency_key="k"), queue.get(task_id).state)


def test_barrier_at_the_limit(engine: Engine) -> None:
    """Ten submitters that start together on room for three: three accepted, seven QueueFull, three rows."""
    queue = TaskQueue(engine, max_pending=3)
    found = together(10, lambda n: queue.submit(f"task {n}"))
    assert (3, 7, 3) == (
        sum(isinstance(one, str) for one in found), sum(isinstance(one, QueueFull) for one in found), rows(engine),
    )  # fmt: skip


@pytest.mark.parametrize("max_pending", [None, 100])
def test_one_key_twenty_threads(engine: Engine, max_pending: int | None) -> None:
    """Twenty threads with one key: one row, twenty equal ids, no exception."""
    queue = TaskQueue(engine, max_pending=max_pending)
    found = together(20, lambda n: queue.submit("deploy", idempotency_key="k"))
    assert ({queue.submit("deploy", idempotency_key="k")}, 1) == (set(found), rows(engine))


def test_winner_rolls_back(postgres: Engine) -> None:
    """The first to insert a key rolls back while others wait for it: another one becomes the winner."""
    queue = TaskQueue(postgres, max_pending=None)
    found: list[Any] = []
    with postgres.connect() as winner:
        winner.execute(insert(tasks).values(id="winner", user_input="x", idempotency_key="k"))
        waiters = threading.Thread(
            target=lambda: found.extend(together(5, lambda n: queue.submit("x", idempotency_key="k")))
        )
        waiters.start()
        waiters.join(0.3)  # they wait for the winner to commit or not
        winner.rollback()
    waiters.join()
    assert (1, 1) == (len(set(found)), rows(postgres))
    assert "winner" not in found


def test_key_of_a_failed_task(queue: TaskQueue, clock: VirtualClock) -> None:
    """The key of a failed task queues a new run of the same task: same id, all attempts, the old error in its history."""
    task_id = queue.submit("deploy", idempotency_key="k", max_attempts=2)
    queue.fail(taken(queue), "one", retry_in=0)
    queue.fail(taken(queue), "two", retry_in=0)
    clock.sleep(5)
    assert task_id == queue.submit("deploy", idempotency_key="k")
    again = queue.get(task_id)
    assert (TaskState.PENDING, None, clock.now()) == (again.state, again.error, again.available_at)
    assert task_id == queue.submit("deploy", idempotency_key="k")  # a second time it is only known
    queue.fail(taken(queue), "three", retry_in=0)
    queue.complete(taken(queue), "done")
    assert [("error", "two"), ("completed", "")] == ends(queue, task_id)
    assert (task_id, "done") == (queue.submit("deploy", idempotency_key="k"), queue.wait(task_id, 0).result)


def test_key_of_a_failed_task_with_another_request(queue: TaskQueue, engine: Engine, clock: VirtualClock) -> None:
    """The new run is all that is asked for now, and nothing of what was asked before; a task that has not failed stays as it was asked for."""
    task_id = queue.submit("transfer 10", priority=1, idempotency_key="k", webhook_url="https://old.example/")

    def stands() -> tuple[Any, ...]:
        with engine.connect() as connection:
            url = connection.scalar(select(task_options.c.webhook_url).where(task_options.c.task_id == task_id))
        task = queue.get(task_id)
        return task.user_input, task.priority, task.available_at - clock.now(), url

    asked = {"priority": 9, "idempotency_key": "k", "webhook_url": "https://new.example/", "delay": 7.0}
    assert task_id == queue.submit("transfer 999", **asked)
    assert ("transfer 10", 1, timedelta(0), "https://old.example/") == stands()
    queue.fail(taken(queue), "no")
    assert task_id == queue.submit("transfer 999", **asked)
    assert ("transfer 999", 9, timedelta(seconds=7), "https://new.example/") == stands()


def test_key_of_a_failed_task_by_many(engine: Engine) -> None:
    """Twenty threads that submit the key of a failed task start one new run."""
    queue = TaskQueue(engine)
    task_id = queue.submit("deploy", idempotency_key="k")
    failed = queue.fail(taken(queue), "no")
    assert [task_id] * 20 == together(20, lambda n: queue.submit("deploy", idempotency_key="k"))
    assert (TaskState.PENDING, failed.version + 1) == (queue.get(task_id).state, queue.get(task_id).version)


def test_key_of_a_failed_task_when_full(engine: Engine) -> None:
    """A new run needs room like a new task: when the queue is full it is refused, not forgotten."""
    queue = TaskQueue(engine, max_pending=1)
    task_id = queue.submit("deploy", idempotency_key="k")
    queue.fail(taken(queue), "no")
    queue.submit("fills the queue")
    with pytest.raises(QueueFull):
        queue.submit("deploy", idempotency_key="k")
    assert TaskState.FAILED == queue.get(task_id).state


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("user_input", {"user_input": "a\x00b"}),
        ("user_input", {"user_input": "\ud800"}),
        ("user_input", {"user_input": b"x"}),
        ("idempotency_key", {"user_input": "x", "idempotency_key": "\x00"}),
        ("webhook_url", {"user_input": "x", "webhook_url": "\x00"}),
        ("priority", {"user_input": "x", "priority": 2**63}),
        ("priority", {"user_input": "x", "priority": True}),
    ],
)
def test_unstorable(queue: TaskQueue, path: str, values: dict[str, Any]) -> None:
    """What a store cannot hold is refused with its path, and nothing is stored."""
    with pytest.raises(UnstorableValue) as caught:
        queue.submit(**values)
    assert (path, 0) == (caught.value.path, rows(queue.engine))


def test_no_attempts(queue: TaskQueue) -> None:
    """A task needs at least one attempt."""
    with pytest.raises(ValueError):
        queue.submit("x", max_attempts=0)


@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_every_order_at_the_limit(database: str) -> None:
    """Two submitters at the last free place, one of them with a key, in every order: one accepted, one refused."""

    def body(process: Process) -> str:
        queue = TaskQueue(process.engine, max_pending=1, now=process.clock.now, new_id=counted_ids(process.name))
        try:
            return queue.submit(process.name, idempotency_key=process.name if process.name == "p1" else None)
        except QueueFull:
            return "full"

    def one_accepted(end: End) -> str | None:
        said = sorted(str(outcome.value) for outcome in end.outcomes)
        return None if said[0] == "full" and said[1:] == list(end.tasks) else f"{said}, stored {list(end.tasks)}"

    report = interleave(Scenario("limit", [body, body], [one_accepted], goal=lambda end: bool(end.tasks)), database)
    assert "holds" == report.verdict, report


def test_crash_anywhere_in_submit() -> None:
    """A crash at any crossing and a second try under the same key leave one whole task."""

    def body(process: Process) -> str:
        queue = TaskQueue(process.engine, now=process.clock.now, new_id=counted_ids(process.name))
        return queue.submit("deploy", idempotency_key="k")

    def one_whole_task(end: End) -> str | None:
        options = [row["task_id"] for row in end.rows.get("task_options", [])]
        return None if list(end.tasks) == options == [end.last.value] else f"{end.tasks}, {options}, {end.last}"

    report = sweep(Scenario("submit", body, [one_whole_task], goal=lambda end: bool(end.tasks)))
    assert "holds" == report.verdict, report


def test_options_share_the_transaction(queue: TaskQueue) -> None:
    """Each submitted task has its row of options."""
    ids = {queue.submit("a"), queue.submit("b")}
    with write_transaction(queue.engine) as connection:
        assert ids == set(connection.scalars(select(task_options.c.task_id)))
