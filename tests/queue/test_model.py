"""Hypothesis drives a queue and a simple model side by side; after each step they must agree, on three databases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from sqlalchemy import Engine, select

from labkit.clock import VirtualClock
from labkit.database import open_engine
from labkit.errors import InvalidTransition, QueueFull, StaleLease
from labkit.ids import counted_ids
from labkit.queue import Lease, TaskQueue
from labkit.tables import create_tables, metadata, progress_log, task_from_row, tasks
from labkit.task import Task

LEASE, ROOM = 60.0, 4
WORKERS = st.sampled_from(["w1", "w2"])
SECONDS = st.sampled_from([61.0, 30.0, 200.0])
# how much is drawn has room to spare: what is drawn depends on the constants of all modules that happen to be loaded
STEPS = settings(max_examples=100, stateful_step_count=40, derandomize=True, database=None, deadline=None,
                 suppress_health_check=list(HealthCheck))  # fmt: skip

# what must have happened somewhere, or the machine has shown nothing
REACHED = {"claimed pending", "claimed running", "refused", "completed", "failed", "cancelled", "parked", "answered"}


@dataclass
class Row:
    """What the model knows of a task."""

    id: str
    priority: int
    created: float
    due: float
    limit: int
    key: str | None = None
    state: str = "pending"
    attempt: int = 0
    counted: int = 0  # attempts of this run
    worker: str = ""
    until: float = 0.0
    ends: list[str] = field(default_factory=list)
    result: str | None = None


class QueueMachine(RuleBasedStateMachine):
    """Leases that workers hold are kept even when they are over: those are the zombies."""

    engine: ClassVar[Engine]
    seen: ClassVar[Counter[str]]

    def __init__(self) -> None:
        super().__init__()
        with self.engine.begin() as connection:
            for table in reversed(metadata.sorted_tables):
                connection.execute(table.delete())
        self.clock = VirtualClock()
        self.queue = TaskQueue(
            self.engine, max_pending=ROOM, lease_seconds=LEASE, clock=self.clock,
            now=self.clock.now, new_id=counted_ids("task"),
        )  # fmt: skip
        self.rows: dict[str, Row] = {}
        self.held: list[Lease] = []
        self.number = self.steps = 0

    # the model

    @property
    def at(self) -> float:
        return self.clock.elapsed + self.clock.step

    def best(self) -> Row | None:
        due = [r for r in self.rows.values() if (r.state == "pending" and r.due <= self.at)
               or (r.state == "running" and r.until < self.at and r.counted < r.limit)]  # fmt: skip
        return min(due, key=lambda r: (-r.priority, r.created, r.id), default=None)

    def holds(self, lease: Lease) -> Row | None:
        row = self.rows[lease.task_id]
        return row if (row.state, row.worker, row.attempt) == ("running", lease.worker_id, lease.attempt) else None

    def take(self, row: Row, worker: str) -> None:
        row.state, row.worker, row.until = "running", worker, self.at + LEASE
        row.attempt, row.counted = row.attempt + 1, row.counted + 1

    def end(self, row: Row, state: str) -> None:
        self.seen[state] += 1
        row.state = state
        row.ends.append("completed" if state == "completed" else "error")

    def bury(self) -> None:
        for row in self.rows.values():
            if row.state == "running" and row.until < self.at and row.counted >= row.limit:
                self.seen["buried"] += 1
                self.end(row, "failed")

    def requeue(self, row: Row) -> None:
        row.state, row.due, row.counted, row.worker = "pending", self.at, 0, ""

    def has_room(self) -> bool:
        return sum(row.state == "pending" for row in self.rows.values()) < ROOM

    # the steps

    @rule(priority=st.integers(0, 2), key=st.sampled_from([None, None, "k1", "k2"]), delay=st.sampled_from([0.0, 0.0, 100.0]),
          limit=st.sampled_from([1, 2]))  # fmt: skip
    def submit(self, priority: int, key: str | None, delay: float, limit: int) -> None:
        known = next((row for row in self.rows.values() if key and row.key == key), None)
        refused = not self.has_room() and (known is None or known.state == "failed")
        try:
            at = self.clock.now() + timedelta(seconds=delay)
            task_id = self.queue.submit(
                "x", priority=priority, idempotency_key=key, available_at=at, max_attempts=limit
            )
        except QueueFull:
            assert refused
            return
        assert not refused
        if known is None:
            self.rows[task_id] = Row(task_id, priority, self.at, self.at + delay, limit, key)
        else:
            assert known.id == task_id
            if known.state == "failed":
                self.requeue(known)
                known.priority, known.due = priority, self.at + delay

    @rule(worker=WORKERS)
    def claim(self, worker: str) -> None:
        self.answer()
        if not self.claimed(worker, self.queue.claim(worker)):
            self.bury()  # who finds nothing buries the dead

    def claimed(self, worker: str, task: Task | None) -> bool:
        expected = self.best()
        assert (expected and expected.id) == (task and task.id)
        if expected is None or task is None:
            return False
        self.seen[f"claimed {expected.state}"] += 1
        self.take(expected, worker)
        self.held.append(Lease.of(task))
        return True

    def fenced(self, number: int, act: Any) -> tuple[Row | None, Any]:
        lease = self.held[number % len(self.held)]
        row = self.holds(lease)
        if row is None:
            self.seen["refused"] += 1
            with pytest.raises(StaleLease):
                act(lease)
            return None, None
        return row, act(lease)

    def somebody_works(self) -> bool:
        return bool(self.held)

    def seldom(self) -> bool:
        """What would end or empty everything is allowed at each sixth step only."""
        return self.steps % 6 == 0

    @precondition(somebody_works)
    @rule(number=st.integers(0, 9))
    def heartbeat(self, number: int) -> None:
        row, renewed = self.fenced(number, self.queue.heartbeat)
        if row is not None:
            row.until = self.at + LEASE
            assert self.clock.now() + timedelta(seconds=LEASE) == renewed.expires_at

    @precondition(somebody_works)
    @rule(number=st.integers(0, 9), claim=st.booleans())
    def complete(self, number: int, claim: bool) -> None:
        self.number += 1
        act = self.queue.complete_and_claim if claim else self.queue.complete
        row, found = self.fenced(number, lambda lease: act(lease, f"r{self.number}"))
        if row is not None:
            row.result = f"r{self.number}"
            self.end(row, "completed")
            if claim:
                self.claimed(row.worker, found[1])

    @precondition(somebody_works)
    @rule(number=st.integers(0, 9), retry_in=st.sampled_from([None, 0.0, 30.0]))
    def fail(self, number: int, retry_in: float | None) -> None:
        row, _ = self.fenced(number, lambda lease: self.queue.fail(lease, "error", retry_in=retry_in))
        if row is not None and retry_in is not None and row.counted < row.limit:
            row.state, row.due = "pending", self.at + retry_in
        elif row is not None:
            self.end(row, "failed")

    @precondition(somebody_works)
    @rule(number=st.integers(0, 9))
    def release(self, number: int) -> None:
        """Release it, or park it for a person."""
        asks = number % 2 == 0
        row, _ = self.fenced(number, lambda lease: self.queue.park(lease, "?") if asks else self.queue.release(lease))
        if row is not None:
            self.seen["parked"] += asks
            row.state, row.counted = "waiting" if asks else "pending", row.counted - 1
            row.due = row.due if asks else self.at

    def answer(self) -> None:
        """People answer what was asked, which makes it claimable."""
        for row in self.rows.values():
            if row.state == "waiting":
                self.seen["answered"] += 1
                self.queue.answer(row.id, "!")
                row.state, row.due = "pending", self.at

    @precondition(seldom)
    @rule(number=st.integers(0, 9))
    def cancel(self, number: int) -> None:
        if self.rows:
            row = list(self.rows.values())[number % len(self.rows)]
            if row.state in ("completed", "failed"):
                with pytest.raises(InvalidTransition):
                    self.queue.cancel(row.id)
            else:
                assert "cancelled" == self.queue.cancel(row.id).state
                if row.state != "cancelled":
                    self.end(row, "cancelled")

    @precondition(lambda self: any(row.state == "failed" for row in self.rows.values()) or self.seldom())
    @rule(number=st.integers(0, 9))
    def redrive(self, number: int) -> None:
        if self.rows:
            failed_first = sorted(self.rows.values(), key=lambda row: row.state != "failed")
            row = failed_first[number % 2 % len(failed_first)]
            if row.state == "failed":
                self.queue.redrive(row.id)
                self.requeue(row)
            else:
                with pytest.raises(InvalidTransition):
                    self.queue.redrive(row.id)

    @precondition(lambda self: self.seldom() and self.somebody_works())
    @rule(number=st.integers(0, 9))
    def crash(self, number: int) -> None:
        """A worker dies: its lease is forgotten, its task is not."""
        del self.held[number % len(self.held)]

    @rule(seconds=SECONDS)
    def pause(self, seconds: float) -> None:
        self.clock.sleep(seconds)

    @precondition(seldom)
    @rule(seconds=st.sampled_from([-30.0, 30.0]))
    def jump(self, seconds: float) -> None:
        self.clock.jump(seconds)

    @precondition(seldom)
    @rule()
    def bury_the_dead(self) -> None:
        self.queue.bury()
        self.bury()

    @invariant()
    def agree(self) -> None:
        self.steps += 1
        with self.engine.connect() as connection:
            stored = {row.id: task_from_row(row) for row in connection.execute(select(tasks))}
            told = connection.execute(select(progress_log).order_by(progress_log.c.position)).all()
        assert self.rows.keys() == stored.keys()
        for row in self.rows.values():
            self.same(row, stored[row.id])
            assert row.ends == [event.status for event in told if event.task_id == row.id and event.terminal]

    def same(self, row: Row, task: Task) -> None:
        assert (row.state, row.attempt, row.result) == (task.state, task.attempt, task.result)
        assert (row.worker if row.state == "running" else None) == (task.worker_id if row.state == "running" else None)
        assert (row.state == "running") == (task.lease_expires_at is not None)


@contextmanager
def _engine(kind: str) -> Iterator[Engine]:
    with TemporaryDirectory() as folder:
        where = {"memory": "sqlite://", "sqlite": f"sqlite:///{Path(folder) / 'tasks.db'}"}
        engine = open_engine(where[kind])
        create_tables(engine)
        yield engine
        engine.dispose()


def check(engine: Engine, machine: type[QueueMachine] = QueueMachine, steps: settings = STEPS) -> Counter[str]:
    """Run it, and return what was reached."""
    seen: Counter[str] = Counter()
    made = type(machine.__name__, (machine,), {"engine": engine, "seen": seen})
    run_state_machine_as_test(made, settings=steps)
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_model_on_sqlite(kind: str) -> None:
    """Whatever is done in whatever order, the queue does what the model does. In memory and in a file."""
    with _engine(kind) as engine:
        assert REACHED <= {*check(engine)}


@pytest.mark.slow
@pytest.mark.postgres
def test_model_on_postgres(postgres: Engine) -> None:
    """The same on PostgreSQL."""
    assert REACHED <= {*check(postgres)}


class Unfenced(QueueMachine):
    """A planted bug: the model believes that a zombie may write."""

    def holds(self, lease: Lease) -> Row | None:
        row = self.rows[lease.task_id]
        return row if row.state == "running" else None


@pytest.mark.slow
def test_the_model_can_fail() -> None:
    """The twin: with the fence taken out of the model, the machine finds the difference."""
    steps = settings(STEPS, phases=[Phase.generate], report_multiple_bugs=False)  # to find it is enough
    with _engine("memory") as engine, pytest.raises((StaleLease, AssertionError)):
        check(engine, Unfenced, steps)
