"""Batches: the order, the limit, a lease for each row, and what crashes, zombies and other claimers do to a batch."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, insert, select, update

from labkit.clock import VirtualClock
from labkit.database import open_engine
from labkit.errors import StaleLease, StoreBusy, TaskCancelled, UnstorableValue
from labkit.faults import End, Scenario, interleave, sweep
from labkit.faults.process import Process
from labkit.queue import Lease, TaskQueue
from labkit.queue.batch import claim_many
from labkit.tables import task_options, tasks
from labkit.task import Task, TaskState
from tests.queue.helpers import ends, taken

DATABASES = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


def leases(queue: TaskQueue, worker: str = "w1", limit: int = 10) -> list[Lease]:
    return [Lease.of(task) for task in queue.claim_many(worker, limit)]


def names(found: list[Task]) -> list[str]:
    return [task.user_input for task in found]


def submitted(queue: TaskQueue, *wanted: str) -> list[str]:
    return [queue.submit(name) for name in wanted]


def test_order(queue: TaskQueue, clock: VirtualClock) -> None:
    """Two batches together hand out what single claims would: highest priority first, then the oldest, then by id."""
    with queue.engine.begin() as connection:
        for name, priority, age in [("b", 0, 9), ("z", 5, 1), ("c", 0, 9), ("a", 0, 1), ("y", 5, 1), ("x", -1, 99)]:
            at = clock.now() - timedelta(seconds=age)
            row = {"id": name, "user_input": "x", "priority": priority, "created_at": at, "available_at": at}
            connection.execute(insert(tasks).values(row))
    claimed = [[task.id for task in queue.claim_many("w1", 4)] for _ in range(3)]
    assert [["y", "z", "b", "c"], ["a", "x"], []] == claimed


def test_each_has_its_own_lease(queue: TaskQueue, clock: VirtualClock) -> None:
    """Each row of a batch is as after a claim of its own: attempt, worker, lease and version are on the row."""
    again = queue.submit("again", priority=1)
    queue.release(taken(queue))
    submitted(queue, "new")
    batch = queue.claim_many("w1")
    assert [("again", 2), ("new", 1)] == [(task.user_input, task.attempt) for task in batch]
    assert again == batch[0].id
    for task in batch:
        assert (TaskState.RUNNING, "w1") == (task.state, task.worker_id)
        assert (clock.now(), clock.now() + timedelta(seconds=60)) == (task.updated_at, task.lease_expires_at)
        assert task == queue.get(task.id)
        assert "done" == queue.complete(queue.heartbeat(Lease.of(task)), "done").result


def test_times_of_the_database(engine: Engine) -> None:
    """Without a given time the leases of a batch end by the database's clock, and a completion is dated by it."""
    queue = TaskQueue(engine, lease_seconds=2.5)
    submitted(queue, "a", "b")
    batch = queue.claim_many("w1")
    for task in batch:
        assert task.updated_at is not None
        assert task.lease_expires_at == task.updated_at + timedelta(seconds=2.5)
    for task, before in zip(queue.complete_many([(Lease.of(task), "r") for task in batch]), batch, strict=True):
        assert isinstance(task, Task)
        assert before.updated_at is not None
        assert task.updated_at is not None
        assert before.updated_at <= task.updated_at


def test_only_what_is_due(queue: TaskQueue, clock: VirtualClock) -> None:
    """A batch leaves what is not due, what others hold, and what has ended."""
    submitted(queue, "done", "held")
    queue.complete(taken(queue), "r")
    taken(queue, "other")
    queue.submit("later", delay=30)
    assert [] == queue.claim_many("w1")
    submitted(queue, "due")
    assert ["due"] == names(queue.claim_many("w1"))
    clock.sleep(30)
    assert ["later"] == names(queue.claim_many("w1"))


def test_expired_and_pending_share_one_order(queue: TaskQueue, clock: VirtualClock) -> None:
    """Where leases are over, a batch takes expired and pending tasks in one order, and stays within its limit."""
    for name, priority in (("low", 1), ("lowest", 0)):
        queue.submit(name, priority=priority)
    assert 2 == len(queue.claim_many("dead"))
    for name, priority in (("high", 4), ("middle", 2), ("last", -1)):
        queue.submit(name, priority=priority)
    clock.sleep(61)
    found = [queue.claim_many("w1", 3), queue.claim_many("w1", 3)]
    assert [["high", "middle", "low"], ["lowest", "last"]] == [names(batch) for batch in found]
    assert [1, 1, 2, 2, 1] == [task.attempt for batch in found for task in batch]


def test_no_attempt_left(queue: TaskQueue, clock: VirtualClock) -> None:
    """A task whose last lease is over is in no batch; whoever finds nothing buries it."""
    (task_id,) = submitted(queue, "poison")
    for _ in range(3):
        assert [task_id] == [lease.task_id for lease in leases(queue)]
        clock.sleep(61)
    submitted(queue, "fine")
    assert ["fine"] == names(queue.claim_many("w1"))
    assert [] == queue.claim_many("w1")
    assert [("error", "lease expired x3")] == ends(queue, task_id)


@pytest.mark.parametrize("limit", [0, -1])
def test_no_limit_below_one(queue: TaskQueue, limit: int) -> None:
    """A batch of less than one is refused, and takes nothing."""
    submitted(queue, "a")
    with pytest.raises(ValueError):
        queue.claim_many("w1", limit)
    assert queue.claim("w1") is not None


def test_unstorable_worker(queue: TaskQueue) -> None:
    """A worker's name that no store can hold is refused."""
    with pytest.raises(UnstorableValue) as caught:
        queue.claim_many("w\x00")
    assert "worker_id" == caught.value.path


def test_completed_together(queue: TaskQueue) -> None:
    """Each task of a batch has its own result and one terminal event; the answers stand in the given order."""
    submitted(queue, "a", "b", "c")
    held = leases(queue)[::-1]
    told = queue.complete_many((lease, f"r{number}") for number, lease in enumerate(held))
    assert told == [queue.get(lease.task_id) for lease in held]
    assert [("r0", None), ("r1", None), ("r2", None)] == [
        (t.result, t.lease_expires_at) for t in told if isinstance(t, Task)
    ]
    assert [[("completed", "")]] * 3 == [ends(queue, lease.task_id) for lease in held]
    assert [] == queue.complete_many([])


def test_stale_one_does_not_lose_the_others(queue: TaskQueue, clock: VirtualClock) -> None:
    """Of a batch in which one was cancelled and one taken over, the others are completed and those two are told."""
    submitted(queue, "a", "b", "c", "d")
    held = leases(queue)
    queue.cancel(held[1].task_id)
    clock.sleep(50)
    for lease in (held[0], held[3]):
        queue.heartbeat(lease)
    clock.sleep(11)
    other = taken(queue, "w2")
    assert held[2].task_id == other.task_id
    before = queue.get(other.task_id)
    told = queue.complete_many([(lease, "done") for lease in held])
    assert [Task, TaskCancelled, StaleLease, Task] == [type(one) for one in told]
    assert [["completed"], ["error"], [], ["completed"]] == [
        [s for s, _ in ends(queue, lease.task_id)] for lease in held
    ]
    assert before == queue.get(other.task_id)
    assert "by the other" == queue.complete(other, "by the other").result


def test_one_lease_twice(queue: TaskQueue) -> None:
    """Of two results for one lease the first counts, the second is told that it came too late."""
    submitted(queue, "a")
    (lease,) = leases(queue)
    first, second = queue.complete_many([(lease, "first"), (lease, "second")])
    assert isinstance(second, StaleLease)
    assert first == queue.get(lease.task_id)
    assert ("first", [("completed", "")]) == (queue.get(lease.task_id).result, ends(queue, lease.task_id))


def test_unstorable_result(queue: TaskQueue) -> None:
    """One result that no store can hold is refused before anything is written."""
    submitted(queue, "a", "b")
    held = leases(queue)
    with pytest.raises(UnstorableValue):
        queue.complete_many([(held[0], "fine"), (held[1], "\x00")])
    assert [TaskState.RUNNING] * 2 == [queue.get(lease.task_id).state for lease in held]


def test_steps_of_the_log_go_on(queue: TaskQueue) -> None:
    """The terminal events of a batch count on from what each task told, also in a second run."""
    (failed,) = submitted(queue, "a")
    queue.fail(taken(queue), "no")
    queue.redrive(failed)
    submitted(queue, "b")
    queue.complete_many([(lease, "done") for lease in leases(queue)])
    assert [("error", "no"), ("completed", "")] == ends(queue, failed)
    assert 1 == len(queue.progress.after(failed))


def test_busy_is_said(sqlite: Engine) -> None:
    """A writer that holds the lock too long makes both calls a retryable StoreBusy; nothing was changed."""
    hasty = TaskQueue(open_engine(sqlite.url, connect_args={"timeout": 0}))
    submitted(hasty, "a", "b", "c")
    held = leases(hasty, limit=2)
    with sqlite.connect() as writer:
        writer.exec_driver_sql("UPDATE tasks SET priority = 7")
        with pytest.raises(StoreBusy):
            hasty.claim_many("w2")
        with pytest.raises(StoreBusy):
            hasty.complete_many([(lease, "done") for lease in held])
        writer.rollback()
    assert ["running", "running", "pending"] == [str(hasty.get(row).state) for row in ids_of(sqlite)]
    hasty.engine.dispose()


def ids_of(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return list(connection.scalars(select(tasks.c.id).order_by(tasks.c.created_at, tasks.c.id)))


# --- in every order, and crashed everywhere


def queue_of(process: Process) -> TaskQueue:
    return TaskQueue(process.engine, lease_seconds=60.0, clock=process.clock, now=process.clock.now)


def tasks_in(*ids: str) -> Callable[[Process], None]:
    def setup(process: Process) -> None:
        at = process.clock.now()
        rows = [{"id": i, "user_input": i, "created_at": at, "available_at": at, "updated_at": at} for i in ids]
        with process.engine.begin() as connection:
            connection.execute(insert(tasks), rows)
            connection.execute(insert(task_options), [{"task_id": i, "max_attempts": 2} for i in ids])

    return setup


def reference(process: Process, worker: str) -> list[str]:
    return [task.id for task in claim_many(process.engine, worker, 2, 60.0, process.clock.now())]


def select_then_update(process: Process, worker: str) -> list[str]:
    with process.engine.begin() as connection:
        due = select(tasks.c.id).where(tasks.c.state == "pending").order_by(tasks.c.id).limit(2)
        found = list(connection.scalars(due))
    with process.engine.begin() as connection:
        connection.execute(update(tasks).where(tasks.c.id.in_(found)).values(state="running", worker_id=worker))
    return found


def never_two_owners(end: End) -> str | None:
    owners: dict[str, Any] = {}
    for number, outcome in enumerate(end.outcomes, 1):
        if outcome.how != "returned":
            return str(outcome)
        if len(outcome.value) > 2:
            return f"w{number} took {outcome.value}"
        if twice := owners.keys() & set(outcome.value):
            return f"claimed twice: {twice}"
        owners |= dict.fromkeys(outcome.value, f"w{number}")
    running = {name: row["worker_id"] for name, row in end.tasks.items() if row["state"] == "running"}
    return end.deadlock or (None if running == owners else f"handed out {owners}, stored {running}")


def claimers(made: Callable[[Process, str], list[str]], *ids: str) -> Scenario:
    return Scenario(
        "batches",
        [lambda process: made(process, "w1"), lambda process: made(process, "w2")],
        [never_two_owners],
        setup=tasks_in(*ids),
        goal=lambda end: sum(row["state"] == "running" for row in end.tasks.values()) >= 2,
    )


@pytest.mark.parametrize("database", DATABASES)
@pytest.mark.parametrize("ids", [("a", "b"), ("a", "b", "c")])
def test_never_two_owners(database: str, ids: tuple[str, ...]) -> None:
    """Two claimers of two tasks each, in every order: no task has two owners, nobody gets a third, none is lost."""
    report = interleave(claimers(reference, *ids), database)
    assert "holds" == report.verdict, report


@pytest.mark.parametrize("database", DATABASES)
def test_two_owners_are_found(database: str) -> None:
    """A batch that is selected and then updated has two owners in some order."""
    assert "broken" == interleave(claimers(select_then_update, "a", "b", "c"), database).verdict


@pytest.mark.parametrize("database", DATABASES)
def test_zombie_batch_and_successor(database: str) -> None:
    """Two batches of the same tasks, completed in opposite orders: in every order each task has one result and one end."""

    def work(nap: float, reverse: bool) -> Callable[[Process], Any]:
        def body(process: Process) -> list[str]:
            queue = queue_of(process)
            process.clock.sleep(nap)
            held = [Lease.of(task) for task in queue.claim_many("one name")][:: -1 if reverse else 1]
            process.clock.sleep(100.0)
            told = queue.complete_many([(lease, process.name) for lease in held])
            return [task.id for task in told if isinstance(task, Task)]

        return body

    def one_result(end: End) -> str | None:
        said = sorted(task_id for outcome in end.outcomes for task_id in outcome.value or [])
        closed = sorted(row["task_id"] for row in end.rows["progress_log"] if row["terminal"])
        fine = ["a", "b"] == said == closed and all(outcome.how == "returned" for outcome in end.outcomes)
        return None if fine else f"told {said}, ends of {closed}, {end.outcomes} {end.deadlock}"

    made = Scenario(
        "zombies", [work(0.0, False), work(70.0, True)], [one_result], setup=tasks_in("a", "b"),
        goal=lambda end: all(row["attempt"] == 2 for row in end.tasks.values()),
    )  # fmt: skip
    report = interleave(made, database)
    assert "holds" == report.verdict, report


BATCH = 2


def work_off(process: Process, batches_at_once: int = 1) -> None:
    """Claim a batch, mail for each task, complete the batch; a planted bug keeps the completions of several batches."""
    queue, kept = queue_of(process), list[tuple[Lease, str]]()
    while batch := queue.claim_many("w1", BATCH):
        for task in batch:
            process.cloud.send_mail(task.user_input, key=task.id)
            kept.append((Lease.of(task), "sent"))
        if len(kept) >= BATCH * batches_at_once:
            queue.complete_many(kept)
            kept.clear()
    queue.complete_many(kept)


def crashed(
    batches_at_once: int, recover: Callable[[Process], None], invariant: Callable[[End], str | None]
) -> Scenario:
    return Scenario(
        "batch", lambda process: work_off(process, batches_at_once), [invariant],
        setup=tasks_in("a", "b", "c"), recover=recover, goal=lambda end: end.count("send_mail") == 3,
    )  # fmt: skip


def ends_in(end: End) -> list[str]:
    return sorted(row["task_id"] for row in end.rows.get("progress_log", []) if row["terminal"])


def one_batch_in_flight(end: End) -> str | None:
    """What is done and not recorded will be done again: it is running, and no more than a batch. What is recorded is whole."""
    states = {name: row["state"] for name, row in end.tasks.items()}
    running, completed = ({name for name in states if states[name] == state} for state in ("running", "completed"))
    again = {effect.target for effect in end.effects} - completed
    fine = again <= running and len(running) <= BATCH and sorted(completed) == ends_in(end)
    return None if fine else f"{again} will be done again; {states}, ends of {ends_in(end)}"


@pytest.mark.parametrize("database", ["memory", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_crash_redoes_what_is_in_flight(database: str) -> None:
    """After a crash at any crossing one batch is in flight at most, and all that was recorded is completed with its event."""
    report = sweep(crashed(1, lambda process: None, one_batch_in_flight), database)
    assert "holds" == report.verdict, report


def test_late_completions_are_found() -> None:
    """Who keeps the completions of several batches has more in flight than one."""
    assert "broken" == sweep(crashed(2, lambda process: None, one_batch_in_flight)).verdict


@pytest.mark.slow
def test_crashes_in_a_row() -> None:
    """Crashes at every crossing of every recovery: each task is completed once, or buried after the two attempts that it has."""

    def again(process: Process) -> None:
        process.clock.sleep(61.0)
        work_off(process)

    def all_ended(end: End) -> str | None:
        rows = end.tasks.values()
        ended = [row["state"] == "completed" or (row["state"], row["attempt"]) == ("failed", 2) for row in rows]
        return None if ends_in(end) == ["a", "b", "c"] and all(ended) else f"{end.tasks}, ends of {ends_in(end)}"

    report = sweep(crashed(1, again, all_ended))
    assert "holds" == report.verdict, report
