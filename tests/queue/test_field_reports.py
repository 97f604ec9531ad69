"""Faults that other queues were reported for, where no other test would notice them here."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event, func, insert, select, text, update

from labkit.clock import VirtualClock
from labkit.database import open_engine
from labkit.errors import StoreBusy, StoreCorrupt, UnstorableValue
from labkit.faults import End, Scenario, interleave
from labkit.faults.process import Process
from labkit.files import DiskFiles
from labkit.lessons import claims
from labkit.queue import Job, Lease, TaskQueue, Worker
from labkit.retry import RetryPolicy
from labkit.store import JsonFileStore
from labkit.tables import tasks
from labkit.task import Task, TaskState
from tests.queue.helpers import Ticks, ends, taken, until
from tests.queue.test_claim import PLANS
from tests.queue.test_interleavings import DATABASES, claims_of, each_once, nobody_fails
from tests.queue.test_submit import rows, together

PAST = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


@pytest.mark.slow
def test_heartbeats_of_a_real_thread(engine: Engine) -> None:
    """A worker that is given no heartbeat of its own renews its lease from a thread, again and again, while it works."""
    queue, ends_seen = TaskQueue(engine, lease_seconds=1.0), set[object]()

    def handle(job: Job) -> str:
        until(lambda: ends_seen.add(queue.get(job.key).lease_expires_at) or len(ends_seen) == 3)  # type: ignore[func-returns-value]
        return "done"

    task_id = queue.submit("long")
    assert 1 == Worker(queue, handle, "w1").run_until_idle()
    assert ("done", 1) == (queue.get(task_id).result, queue.get(task_id).attempt)


@pytest.mark.parametrize("waiting", [0, 1])
@pytest.mark.parametrize("database", DATABASES)
def test_two_recoverers_of_one_lease(database: str, waiting: int) -> None:
    """Two workers that find the same dead lease: in every order one of them works on it, the other takes what else is due."""

    def open_queue(process: Process) -> TaskQueue:
        return TaskQueue(process.engine, clock=process.clock, now=process.clock.now)

    def setup(process: Process) -> None:
        at = process.clock.now()
        made = [{"id": i, "user_input": "x", "created_at": at, "available_at": at} for i in "ab"[: 1 + waiting]]
        with process.engine.begin() as connection:
            connection.execute(insert(tasks), made)
        open_queue(process).claim("dead")
        process.clock.sleep(61)

    def recover(process: Process) -> list[str]:
        task = open_queue(process).claim("one name")
        return [] if task is None else [task.id]

    def all_taken(end: End) -> str | None:
        attempts = [row["attempt"] for row in end.tasks.values()]
        fine = (sorted(claims_of(end)), attempts) == (["a", "b"][: 1 + waiting], [2, 1][: 1 + waiting])
        return None if fine else f"taken {claims_of(end)}, attempts {attempts}"

    made = Scenario("recoverers", [recover, recover], [each_once, nobody_fails, all_taken], setup=setup,
                    goal=lambda end: bool(claims_of(end)))  # fmt: skip
    report = interleave(made, database)
    assert "holds" == report.verdict, report


@pytest.mark.postgres
def test_recoverer_that_has_not_committed(postgres: Engine) -> None:
    """While another one is taking over a dead lease, or a pending task, nobody waits for it: the next task is given out."""
    hasty = TaskQueue(open_engine(postgres.url, connect_args={"options": "-c lock_timeout=1"}))
    dead, waiting, other = (hasty.submit("x", priority=priority) for priority in (3, 2, 1))
    taken(hasty, "dead")
    with postgres.begin() as connection:
        connection.execute(update(tasks).where(tasks.c.id == dead).values(lease_expires_at=PAST))
    with postgres.connect() as recoverer:
        mine = update(tasks).where(tasks.c.id.in_([dead, waiting])).values(state="running", worker_id="w1", attempt=2)
        recoverer.execute(mine.values(lease_expires_at=PAST.replace(year=2999)))
        assert other == taken(hasty, "w2").task_id
        assert hasty.claim("w2") is None
        recoverer.commit()
    assert hasty.claim("w2") is None
    hasty.engine.dispose()


@pytest.mark.postgres
def test_one_row_for_each_kind_of_claim(postgres_url: str, postgres: Engine) -> None:
    """Under the plan that runs a LIMIT again, taking over dead leases and completing-and-claiming get one row each too."""
    engine = open_engine(postgres_url, connect_args={"options": PLANS})
    over = {"state": "running", "attempt": 1, "worker_id": "dead", "lease_expires_at": PAST, "priority": 1}
    kinds = [("pending", {}), ("over", over)]
    with postgres.begin() as connection:
        for kind, more in kinds:
            made = [{"id": f"{kind}{n:03}", "user_input": "x", "available_at": PAST, **more} for n in range(500)]
            connection.execute(insert(tasks), made)
    queue = TaskQueue(engine)
    for _ in range(50):
        assert taken(queue).task_id.startswith("over")
    lease = taken(queue)
    for _ in range(50):
        _, following = queue.complete_and_claim(lease, "done")
        assert following is not None
        lease = Lease.of(following)
    with postgres.begin() as connection:
        connection.execute(tasks.delete().where(tasks.c.worker_id == "dead"))
    for _ in range(50):
        _, following = queue.complete_and_claim(lease, "done")
        assert following is not None
        assert following.id.startswith("pending")
        lease = Lease.of(following)
    with postgres.connect() as connection:
        counted = select(tasks.c.state, func.count().label("number")).group_by(tasks.c.state)
        assert {"running": 51, "completed": 100, "pending": 450} == {
            row.state: row.number for row in connection.execute(counted)
        }
    assert len(claims.limit_inside_in(engine, "w", PAST)) > 1  # the twin: this plan does run it again
    engine.dispose()


@pytest.mark.slow
def test_many_writers_of_one_file(sqlite: Engine) -> None:
    """Four that submit, claim, renew and complete on connections of their own: nobody ever hears that the database is busy."""

    def work(number: int) -> list[str]:
        queue, done = TaskQueue(open_engine(sqlite.url)), list[str]()
        for _ in range(40):
            queue.submit(f"of {number}")
            lease = queue.heartbeat(taken(queue, f"w{number}"))
            done.append(queue.complete(lease, "done").id)
        queue.engine.dispose()
        return done

    found = together(4, work)
    assert [] == [one for one in found if isinstance(one, Exception)]
    assert 160 == len({task_id for done in found for task_id in done}) == rows(sqlite)


@pytest.mark.postgres
def test_busy_on_postgres(postgres: Engine) -> None:
    """A lock on a row that is held for too long makes every call that needs it StoreBusy; nothing was changed."""
    hasty = TaskQueue(open_engine(postgres.url, connect_args={"options": "-c lock_timeout=1"}))
    task_id = hasty.submit("deploy", idempotency_key="k")
    held = taken(hasty)
    before = hasty.get(task_id)
    with postgres.connect() as writer:
        writer.execute(update(tasks).values(priority=7))
        for call in (
            lambda: hasty.heartbeat(held), lambda: hasty.complete(held, "r"), lambda: hasty.complete_and_claim(held, "r"),
            lambda: hasty.fail(held, "e"), lambda: hasty.release(held), lambda: hasty.park(held, "?"),
            lambda: hasty.cancel(task_id), lambda: hasty.set_priority(task_id, 1), lambda: Job(hasty, before).tell(1, "thinking"),
        ):  # fmt: skip
            with pytest.raises(StoreBusy):
                call()
        assert hasty.claim("w2") is None
        writer.rollback()
    assert before == hasty.get(task_id)
    hasty.engine.dispose()


READS: dict[str, Callable[[TaskQueue, str], object]] = {
    "get": lambda queue, task_id: queue.get(task_id),
    "wait": lambda queue, task_id: queue.wait(task_id, 0),
    "question": lambda queue, task_id: queue.question(task_id),
    "deadline": lambda queue, task_id: queue.deadline(task_id),
    "webhook_url": lambda queue, task_id: queue.webhook_url(task_id),
    "exists": lambda queue, task_id: queue.progress.exists(task_id),
    "after": lambda queue, task_id: queue.progress.after(task_id),
    "history": lambda queue, task_id: queue.progress.history(task_id),
}
WRITES: dict[str, Callable[[TaskQueue, str], object]] = {
    "cancel": lambda queue, task_id: queue.cancel(task_id),
    "set_priority": lambda queue, task_id: queue.set_priority(task_id, 1),
    "redrive": lambda queue, task_id: queue.redrive(task_id),
    "answer": lambda queue, task_id: queue.answer(task_id, "yes"),
}


@pytest.mark.postgres
def test_busy_reader(postgres: Engine) -> None:
    """Who only reads, and meets a table that somebody is rebuilding, hears StoreBusy as well."""
    hasty = TaskQueue(open_engine(postgres.url, connect_args={"options": "-c lock_timeout=1"}))
    task_id = hasty.submit("deploy")
    with postgres.connect() as builder:
        builder.execute(text("LOCK TABLE tasks, task_options, progress_log IN ACCESS EXCLUSIVE MODE"))
        for ask in READS.values():
            with pytest.raises(StoreBusy):
                ask(hasty, task_id)
        for look in (hasty.dead_letters, hasty.bury):
            with pytest.raises(StoreBusy):
                look()
    hasty.engine.dispose()


@pytest.mark.parametrize("max_pending", [None, 100])
def test_winner_of_a_key_rolls_back(engine: Engine, max_pending: int | None) -> None:
    """Five wait for the one who inserted their key first; he rolls back, and one of the five becomes the winner."""
    queue, found, out = TaskQueue(engine, max_pending=max_pending), list[Any](), list[object]()
    five = threading.Thread(target=lambda: found.extend(together(5, lambda n: queue.submit("x", idempotency_key="k"))))

    def note(*connection: object) -> None:
        out.append(connection)

    with engine.connect() as winner:
        winner.execute(insert(tasks).values(id="winner", user_input="x", idempotency_key="k"))
        event.listen(engine, "checkout", note)
        five.start()
        until(lambda: len(out) >= 5)
        event.remove(engine, "checkout", note)
        if engine.dialect.name == "postgresql":
            until(lambda: waiting_for_locks(engine) == 5)
        assert [] == found
        winner.rollback()
    five.join()
    assert ([found[0]] * 5, 1, "x") == (found, rows(engine), queue.get(found[0]).user_input)
    assert "winner" != found[0]


def waiting_for_locks(engine: Engine) -> int:
    asked = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    with engine.connect() as connection:
        return int(connection.execute(text(asked)).scalar_one())


def test_key_of_a_task_that_was_too_late(queue: TaskQueue, clock: VirtualClock) -> None:
    """Who asks again under the key of a task that missed its deadline, with a new deadline, gets it done by then."""
    task_id = queue.submit("deploy", idempotency_key="k", deadline=clock.now() + timedelta(seconds=10))
    clock.sleep(11)

    def handle(job: Job) -> str:
        job.check()
        return "done"

    worker = Worker(queue, handle, "w1", every=Ticks(clock))
    assert (0, TaskState.FAILED) == (worker.run_until_idle(), queue.get(task_id).state)
    later = clock.now() + timedelta(seconds=3600)
    assert task_id == queue.submit("deploy", idempotency_key="k", deadline=later)
    assert (1, "done", later) == (worker.run_until_idle(), queue.get(task_id).result, queue.deadline(task_id))


def test_any_floor_and_any_draw() -> None:
    """A drawn wait on top of what the other side asked for is a timedelta too, after any number of failures."""
    for seed in range(20):
        policy = RetryPolicy(cap=None, rng=random.Random(seed))
        for asked in (0.0, 90.0, 1e300, float("inf")):
            assert all(timedelta(seconds=policy.delay(n, asked)) >= timedelta(0) for n in (0, 45, 46, 1024, 10**9))


def test_no_retry_after_the_deadline(queue: TaskQueue, clock: VirtualClock) -> None:
    """A task whose next attempt would come after its deadline fails at once, with the error that it had."""
    task_id = queue.submit("deploy", deadline=clock.now() + timedelta(seconds=10))

    def handle(job: Job) -> str:
        clock.sleep(9)
        raise RuntimeError("disk full")

    policy = RetryPolicy(base=60.0, cap=60.0, retry_on=lambda error: True)
    Worker(queue, handle, "w1", every=Ticks(clock), policy=policy).run_until_idle()
    assert (TaskState.FAILED, "disk full") == (queue.get(task_id).state, queue.get(task_id).error)
    assert [("error", "disk full")] == ends(queue, task_id)


class PowerCut(BaseException):
    """The machine went off here."""


class UnsyncedFiles(DiskFiles):
    """A disk that loses at the power cut, in call number `at`, what no fsync forced down: the second half of a file."""

    def __init__(self, at: int) -> None:
        self.at, self.seen, self.unsynced = at, 0, set[Path]()

    def _call(self, call: Callable[[], None]) -> None:
        self._crossing()
        call()
        self._crossing()

    def _crossing(self) -> None:
        self.seen += 1
        if self.seen == self.at:
            self.lose()
            raise PowerCut

    def lose(self) -> None:
        for path in self.unsynced:
            data = path.read_bytes()
            path.write_bytes(data[: len(data) // 2])

    def write(self, path: Path, data: bytes) -> None:
        self._call(lambda: super(UnsyncedFiles, self).write(path, data) or self.unsynced.add(path))  # type: ignore[func-returns-value]

    def fsync(self, path: Path) -> None:
        self._call(lambda: super(UnsyncedFiles, self).fsync(path) or self.unsynced.discard(path))  # type: ignore[func-returns-value]

    def replace(self, src: Path, dst: Path) -> None:
        def rename() -> None:
            super(UnsyncedFiles, self).replace(src, dst)
            self.unsynced = {dst if path == src else path for path in self.unsynced}

        self._call(rename)

    @contextmanager
    def lock(self, path: Path, clock: Any, timeout: float) -> Iterator[None]:
        with super().lock(path, clock, timeout):
            yield


def save_until_cut(path: Path, clock: VirtualClock, files: UnsyncedFiles) -> bool:
    """Save a change; whether the power was cut meanwhile."""
    stored = JsonFileStore(path, clock).get("t1")
    assert stored is not None
    try:
        JsonFileStore(path, clock, files).save(replace(stored, state=TaskState.RUNNING))
    except PowerCut:
        return True
    return False


def test_power_cut_at_every_call_of_a_save(tmp_path: Path, clock: VirtualClock) -> None:
    """What was not forced to disk is lost at a power cut, yet the file is the one before the save or the one after it."""
    path, seen = tmp_path / "tasks.json", list[TaskState]()
    JsonFileStore(path, clock).save(Task("t1", "x"))
    whole, at = path.read_bytes(), 1
    while save_until_cut(path, clock, UnsyncedFiles(at)):
        read = JsonFileStore(path, clock).get("t1")
        assert read is not None
        seen.append(read.state)
        path.write_bytes(whole)
        at += 1
    assert [TaskState.PENDING] * 5 + [TaskState.RUNNING] * 3 == seen


def test_power_cut_is_felt(tmp_path: Path, clock: VirtualClock) -> None:
    """The twin: a disk that forgets every fsync leaves a file that is damaged, and said to be."""

    class Forgetful(UnsyncedFiles):
        def fsync(self, path: Path) -> None:
            self._call(lambda: None)

    path = tmp_path / "tasks.json"
    JsonFileStore(path, clock).save(Task("t1", "x"))
    assert save_until_cut(path, clock, Forgetful(6))
    with pytest.raises(StoreCorrupt):
        JsonFileStore(path, clock).get("t1")


@pytest.mark.parametrize("bad", ["a\x00b", "\ud800"])
def test_id_that_cannot_be_stored(queue: TaskQueue, bad: str) -> None:
    """An id that no store can hold is the same typed error on both databases, as in the stores, whatever is asked of it."""
    for ask in (READS | WRITES).values():
        with pytest.raises(UnstorableValue):
            ask(queue, bad)


def test_priority_that_cannot_be_stored(queue: TaskQueue) -> None:
    """A changed priority that a submit would refuse is refused in the same words, on both databases, and changes nothing."""
    task_id = queue.submit("deploy", priority=3)
    for wrong in (2**63, -(2**63) - 1, 1.5, True):
        with pytest.raises(UnstorableValue) as caught:
            queue.set_priority(task_id, wrong)  # type: ignore[arg-type]
        assert ("priority", 3) == (caught.value.path, queue.get(task_id).priority)


def test_attempts_that_cannot_be_stored(queue: TaskQueue) -> None:
    """A number of attempts that is none, or that no store can hold, is refused on both databases, and nothing is stored."""
    for wrong in (2**63, 1.5, True, float("inf"), float("nan")):
        with pytest.raises((UnstorableValue, ValueError)):
            queue.submit("deploy", max_attempts=wrong)  # type: ignore[arg-type]
        assert 0 == rows(queue.engine)


@pytest.mark.parametrize("attempts", [2**31, 2**53, sys.maxsize])
def test_attempts_without_end(queue: TaskQueue, clock: VirtualClock, attempts: int) -> None:
    """A task with as many attempts as can be stored is taken over, given back and failed like others, and is in nobody's way."""
    task_id, other = queue.submit("deploy", max_attempts=attempts, priority=1), queue.submit("other")
    queue.release(taken(queue))
    taken(queue, "dead")
    clock.sleep(61)
    assert [task_id, other] == [taken(queue, "w1").task_id, taken(queue, "w1").task_id]
    clock.sleep(61)
    assert [] == queue.bury()
    assert TaskState.PENDING == queue.fail(taken(queue), "error", retry_in=0).state


def test_deadline_that_cannot_be_stored(queue: TaskQueue) -> None:
    """A deadline that is no instant in UTC is refused by name on both databases, as `available_at` is; nothing is stored."""
    with pytest.raises(UnstorableValue) as caught:
        queue.submit("deploy", deadline=datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2))))
    assert ("deadline", 0) == (caught.value.path, rows(queue.engine))
