"""The library's queue, set up for a lesson: in virtual time, on a small SQLite, with ids that are the same in every run.

A lease is longer than a deployment here, so a worker needs no heartbeats and there are no threads. `Stored` is what
the Friday evening asks of a queue, answered by the real one.

Not handled here: why there are leases and heartbeats (a lesson of their own).
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Engine

from labkit.clock import Clock, VirtualClock
from labkit.database import open_engine
from labkit.ids import counted_ids
from labkit.queue import Lease, TaskQueue
from labkit.tables import MAX_ATTEMPTS, create_tables

LEASE = 900.0  # seconds; a deployment takes 600


def open_queue(
    clock: Clock | None = None,
    *,
    engine: Engine | None = None,
    max_pending: int | None = None,
    max_attempts: int = MAX_ATTEMPTS,
    lease_seconds: float = LEASE,
    retry_after: float = 1.0,
    ids: str = "task",
) -> TaskQueue:
    """A queue in virtual time; without an `engine` in a database of its own. Ids are `ids`-1, `ids`-2, ..."""
    if engine is None:
        engine = open_engine("sqlite://")
        create_tables(engine)
    clock = clock or VirtualClock()
    return TaskQueue(
        engine, max_pending=max_pending, max_attempts=max_attempts, lease_seconds=lease_seconds, retry_after=retry_after,
        clock=clock, new_id=counted_ids(ids), now=clock.now,
    )  # fmt: skip


def no_heartbeats(seconds: float, act: Callable[[], object]) -> Callable[[], object]:
    """An `Every` for a `Worker` whose leases are long enough."""
    return lambda: None


class Stored:
    """Deployments by number in the real queue. What is urgent comes in by a door with a wider bound."""

    def __init__(self, clock: Clock, bound: int | None, reserve: int, retry_after: float, priority: int) -> None:
        wider = None if bound is None else bound + reserve
        self.routine = open_queue(clock, max_pending=bound, retry_after=retry_after)
        self.urgent = open_queue(
            clock, engine=self.routine.engine, max_pending=wider, retry_after=retry_after, ids="urgent"
        )
        self._priority = priority
        self._held: dict[int, Lease] = {}

    def submit(self, number: int, urgent: bool) -> None:
        if urgent:
            self.urgent.submit(str(number), priority=self._priority)
        else:
            self.routine.submit(str(number))

    def claim(self) -> int | None:
        task = self.routine.claim("one of the pool")
        if task is None:
            return None
        self._held[int(task.user_input)] = Lease.of(task)
        return int(task.user_input)

    def complete(self, number: int) -> None:
        self.routine.complete(self._held.pop(number), "deployed")
