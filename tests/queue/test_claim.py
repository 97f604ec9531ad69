"""Claiming: the order, what is due, the length of a lease, one row at a time, and who was first."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from sqlalchemy import Engine, func, insert, select, text

from labkit.clock import VirtualClock
from labkit.database import open_engine
from labkit.errors import StoreBusy, UnstorableValue
from labkit.queue import Lease, TaskQueue
from labkit.queue.claim import claim
from labkit.tables import create_tables, tasks
from labkit.task import TaskState
from tests.queue.helpers import ends, taken

PLANS = "-c enable_hashjoin=off -c enable_mergejoin=off -c enable_hashagg=off -c enable_sort=off -c enable_material=off"


def test_order(queue: TaskQueue, clock: VirtualClock) -> None:
    """Highest priority first, then the oldest, then by id; then nothing."""
    with queue.engine.begin() as connection:
        for name, priority, age in [("b", 0, 9), ("z", 5, 1), ("c", 0, 9), ("a", 0, 1), ("y", 5, 1), ("x", -1, 99)]:
            at = clock.now() - timedelta(seconds=age)
            row = {"id": name, "user_input": "x", "priority": priority, "created_at": at, "available_at": at}
            connection.execute(insert(tasks).values(row))
    claimed = [queue.claim("w1") for _ in range(7)]
    assert ["y", "z", "b", "c", "a", "x", None] == [task and task.id for task in claimed]


def test_what_a_claim_writes(queue: TaskQueue, clock: VirtualClock) -> None:
    """A claimed row is running under its worker, with the attempt counted, a lease from now on, and a new version."""
    task_id = queue.submit("deploy")
    clock.sleep(5)
    before, task = queue.get(task_id), queue.claim("w1")
    assert task is not None
    assert (TaskState.RUNNING, "w1", 1, before.version + 1) == (task.state, task.worker_id, task.attempt, task.version)
    assert (clock.now(), clock.now() + timedelta(seconds=60)) == (task.updated_at, task.lease_expires_at)
    assert task == queue.get(task_id)


def test_times_of_the_database(engine: Engine) -> None:
    """Without a given time a lease is counted on the database's clock."""
    queue = TaskQueue(engine, lease_seconds=2.5)
    queue.submit("deploy")
    task = queue.claim("w1")
    assert task is not None
    assert task.lease_expires_at is not None
    assert task.updated_at is not None
    assert timedelta(seconds=2.5) == task.lease_expires_at - task.updated_at
    assert queue.claim("w2") is None
    renewed = queue.heartbeat(Lease.of(task))
    assert renewed.expires_at >= task.lease_expires_at


def test_not_before_its_time(queue: TaskQueue, clock: VirtualClock) -> None:
    """A task scheduled two leases ahead stays pending until then, and is then claimed once."""
    task_id = queue.submit("later", available_at=clock.now() + timedelta(seconds=120))
    for _ in range(120):
        assert queue.claim("w1") is None
        clock.sleep(1)
    lease = taken(queue)
    assert (task_id, 1) == (lease.task_id, lease.attempt)
    for _ in range(12):  # works for four leases, renewing
        clock.sleep(20)
        lease = queue.heartbeat(lease)
        assert queue.claim("w2") is None
    queue.complete(lease, "done")
    assert [("completed", "")] == ends(queue, task_id)


def test_delay_of_a_submit(queue: TaskQueue, clock: VirtualClock) -> None:
    """`delay` is counted from now."""
    queue.submit("later", delay=10)
    assert queue.claim("w1") is None
    clock.sleep(10)
    assert queue.claim("w1") is not None


def test_expired_lease_is_claimable(queue: TaskQueue, clock: VirtualClock) -> None:
    """At its last instant a lease holds, after it the task goes to the next worker with the next attempt."""
    queue.submit("deploy")
    first = taken(queue)
    clock.sleep(60)
    assert queue.claim("w2") is None
    clock.sleep(0.001)
    second = taken(queue, "w2")
    assert (first.task_id, "w2", 2) == (second.task_id, second.worker_id, second.attempt)


def test_expired_and_pending_share_one_order(queue: TaskQueue, clock: VirtualClock) -> None:
    """An expired task and a pending one are claimed in the order of priority and age, whichever it is."""
    low = queue.submit("low", priority=1)
    taken(queue, "dead")
    high, lower = queue.submit("high", priority=2), queue.submit("lower", priority=0)
    clock.sleep(61)
    assert [high, low, lower] == [taken(queue).task_id for _ in range(3)]


def test_same_name_after_a_restart(queue: TaskQueue, clock: VirtualClock) -> None:
    """A restarted process under the same name does not keep the old lease alive, and there is no registry to lose."""
    queue.submit("old")
    old = taken(queue, "pod-1")
    queue.submit("new")
    clock.sleep(30)
    new = taken(queue, "pod-1")
    clock.sleep(40)
    queue.heartbeat(new)
    again = taken(queue, "pod-1")
    assert (old.task_id, 2) == (again.task_id, again.attempt)


def test_unstorable_worker(queue: TaskQueue) -> None:
    """A worker's name that no store can hold is refused."""
    with pytest.raises(UnstorableValue) as caught:
        queue.claim("w\x00")
    assert "worker_id" == caught.value.path


@pytest.mark.postgres
def test_never_two_rows_on_any_plan(postgres_url: str, postgres: Engine) -> None:
    """1,000 pending and 200 claims under the plan that lets a LIMIT in a subquery run again: one row each."""
    with postgres.begin() as connection:
        connection.execute(insert(tasks), [{"id": f"t{n:04}", "user_input": "x"} for n in range(1000)])
    engine = open_engine(postgres_url, connect_args={"options": PLANS})
    claimed = [claim(engine, "w", 60.0) for _ in range(200)]
    with engine.begin() as connection:
        running = connection.scalar(select(func.count()).select_from(tasks).where(tasks.c.state == "running"))
    engine.dispose()
    assert 200 == running == len({task.id for task in claimed if task})


def test_two_threads_between_look_and_take(engine: Engine) -> None:
    """Twenty threads that start together on one task: one claim, nineteen get nothing, nobody an error."""
    queue = TaskQueue(engine)
    task_id = queue.submit("deploy")
    barrier, found = threading.Barrier(20), list[str]()

    def run(number: int) -> None:
        barrier.wait()
        task = queue.claim(f"w{number}")
        found.append(task.id if task else "")

    threads = [threading.Thread(target=run, args=(n,)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [""] * 19 + [task_id] == sorted(found)


def test_busy_is_said(sqlite: Engine) -> None:
    """A writer that holds the lock too long makes every call a retryable StoreBusy; nothing was changed."""
    hasty = TaskQueue(open_engine(sqlite.url, connect_args={"timeout": 0}))
    task_id = hasty.submit("deploy")
    held = taken(hasty)
    before = hasty.get(task_id)
    with sqlite.connect() as writer:
        writer.exec_driver_sql("UPDATE tasks SET priority = 7")
        for call in (
            lambda: hasty.submit("x"), lambda: hasty.claim("w2"), lambda: hasty.heartbeat(held),
            lambda: hasty.complete(held, "r"), lambda: hasty.fail(held, "e"), lambda: hasty.cancel(task_id),
            lambda: hasty.release(held), lambda: hasty.park(held, "?"), lambda: hasty.complete_and_claim(held, "r"),
        ):  # fmt: skip
            with pytest.raises(StoreBusy):
                call()
        writer.rollback()
    assert before == hasty.get(task_id)
    hasty.engine.dispose()


def test_writer_delays(sqlite: Engine) -> None:
    """A writer that lets go in time only delays a submit, a claim and a completion."""
    queue = TaskQueue(sqlite)
    entered, results = threading.Event(), list[object]()

    def work() -> None:
        entered.set()
        queue.submit("deploy")
        results.append(queue.complete(taken(queue), "done").state)

    with sqlite.connect() as writer:
        writer.exec_driver_sql("UPDATE tasks SET priority = 7")
        thread = threading.Thread(target=work)
        thread.start()
        entered.wait()
        thread.join(0.3)  # it waits for the lock meanwhile
        assert [] == results
        writer.rollback()
    thread.join()
    assert [TaskState.COMPLETED] == results


def test_rows_of_others(engine: Engine, clock: VirtualClock) -> None:
    """Tasks that somebody inserted by hand, without options, are claimed, completed and buried like all others."""
    queue = TaskQueue(engine, clock=clock, now=clock.now)
    with engine.begin() as connection:
        connection.execute(
            text("INSERT INTO tasks (id, user_input, available_at) VALUES ('t1', 'x', :at)").bindparams(),
            {"at": clock.now()},
        )
    for attempt in (1, 2, 3):
        assert attempt == taken(queue).attempt
        clock.sleep(61)
    assert queue.claim("w1") is None
    assert [("error", "lease expired x3")] == ends(queue, "t1")


def test_tables_twice(engine: Engine) -> None:
    """Creating the tables again changes nothing."""
    create_tables(engine)
