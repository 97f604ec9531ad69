"""What a lease is for, how long it should be, and who is told that it was lost.

`claim_for_good` and a handler that never asks are broken on purpose; beside each stands the library's own way. All of it
goes on in virtual time, and a heartbeat comes when the lesson says so instead of from a thread.

Not handled here: a worker that comes back to life (see `leases`), and tasks that kill their worker (see `poison`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy import select, update

from labkit.database import writing
from labkit.faults import End, Process, Scenario
from labkit.faults.chart_table import Table, bad, good, table
from labkit.faults.paint import seconds
from labkit.lessons.leases import LEASE, NAP, TASK, by_token, deploy, look, submitted
from labkit.lessons.queues import no_heartbeats, open_queue
from labkit.queue import Job, Lease, TaskQueue, Worker
from labkit.tables import tasks
from labkit.task import TaskState

Take = Callable[[Process], Lease | None]
LENGTHS = ((60, 60), (60, 30), (60, 15), (10, 2.5), (3600, 900))  # seconds: a lease, and from heartbeat to heartbeat
STALLS = (1, 10, 40, 600)  # seconds
MINUTE, STEPS, STALLED_AFTER = 60.0, 10, 3


def claim_for_good(process: Process) -> Lease | None:
    """Common error 2, the GOOD listing, on one machine: only what is pending is claimed. Breaks on a crash: nobody comes back."""
    with writing(process.engine) as connection:
        waiting = select(tasks.c.id).where(tasks.c.state == TaskState.PENDING.value).limit(1).scalar_subquery()
        taken = {"state": TaskState.RUNNING.value, "worker_id": "w", "attempt": tasks.c.attempt + 1}
        changed = update(tasks).where(tasks.c.id == waiting).values(**taken)
        row = connection.execute(changed.returning(tasks.c.attempt)).first()
    return None if row is None else Lease(TASK, "w", row.attempt, process.clock.now())


def claim_for_a_while(process: Process) -> Lease | None:
    """The library's claim: what is pending, and what is running under a lease that is over."""
    return look(process, "w")


def dies(take: Take) -> Scenario:
    """A worker that may die anywhere. The next one looks when a lease would be over, and once more the next morning."""

    def work(process: Process) -> str:
        lease = take(process)
        return "found nothing" if lease is None else deploy(process, lease, by_token, TASK, heed=True)

    def again(process: Process) -> str:
        told = "found nothing"
        for wait in (LEASE + 1, 16 * 3600.0):
            process.clock.sleep(wait)
            told = work(process) if told == "found nothing" else told
        return told

    return Scenario(take.__name__, work, [comes_to_an_end], setup=submitted, recover=again)


def comes_to_an_end(end: End) -> str | None:
    """An invariant: the task does not run for ever."""
    state = end.tasks[TASK]["state"]
    return None if state == TaskState.COMPLETED else f"{state} for ever"


def kept(lease: float, every: float, stall: float) -> bool:
    """Whether a live worker that stalls when its next heartbeat is due still has its task when the stall is over."""
    queue = open_queue(lease_seconds=lease)
    queue.submit("deploy shop")
    queue.claim("w1")
    queue.clock.sleep(every + stall)
    return queue.claim("w2") is None


def margins() -> Table:
    """Leases and heartbeats under stalls of a live worker, and how long the task of a dead one waits."""
    rows = []
    for lease, every in LENGTHS:
        found = [good("kept") if kept(lease, every, stall) else bad("lost") for stall in STALLS]
        waits = next(wait for wait in (lease - 1, lease, lease + 1) if not kept(lease, 0, wait)) - 1
        rows.append([seconds(lease), seconds(every), *found, seconds(waits)])
    stalls = [f"{'stall ' * (stall == STALLS[0])}of {seconds(stall)}" for stall in STALLS]
    return table(["lease", "heartbeat every", *stalls, "it dies: the task waits"], rows)


def asks(job: Job) -> None:
    """Before each step: is it still mine?"""
    job.check()


def never_asks(job: Job) -> None:
    """Goes on whatever the heartbeat was told."""


def in_steps(ask: Callable[[Job], None]) -> tuple[int, Worker, TaskQueue]:
    """Ten steps of a minute; after the third the worker is away, and another does the task. Returns the steps that it did."""
    queue, done = open_queue(lease_seconds=LEASE), []
    queue.submit("deploy shop")

    def away() -> None:
        queue.clock.sleep(NAP)
        Worker(queue, lambda job: "by its successor", "w2", every=no_heartbeats).run_until_idle()

    def handler(job: Job) -> str:
        for step in range(1, STEPS + 1):
            ask(job)
            queue.clock.sleep(MINUTE)
            done.append(step)
            if step == STALLED_AFTER:
                away()
            worker.beat()
        return "by the zombie"

    worker = Worker(queue, handler, "w1", every=no_heartbeats)
    worker.run_until_idle()
    return len(done), worker, queue


def told_to_stop() -> Table:
    """What the zombie still did, by whether its handler asks."""
    rows = []
    for ask in (never_asks, asks):
        with said_by_workers() as said:
            steps, _, queue = in_steps(ask)
        wasted = steps - STALLED_AFTER
        result = queue.get("task-1").result
        rows.append([ask.__name__.replace("_", " "), (bad if wasted else good)(wasted), result, "; ".join(said)])
    return table(["the handler", "steps after the loss", "the result", "the log of the worker"], rows)


@contextmanager
def said_by_workers() -> Iterator[list[str]]:
    """The warnings of workers meanwhile, which go nowhere else."""
    said: list[str] = []
    log, into = logging.getLogger("labkit.worker"), logging.Handler(logging.WARNING)
    into.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    log.addHandler(into)
    before, log.propagate = log.propagate, False
    try:
        yield said
    finally:
        log.propagate = before
        log.removeHandler(into)
