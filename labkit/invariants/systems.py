"""Seven systems that do the same work on the library's queue, sagas and progress: a sound one, and six from each of which one guarantee was taken away.

    no_lease     a claim lasts for ever             a task is lost when its worker dies
    no_key       calls carry no key                 an effect is doubled when a task is done again
    no_fence     whoever was late writes as well    a zombie writes
    no_reverse   undo goes from the first step on   steps are undone in the wrong order
    told_after   the end is told after the commit   a crash in between, and nobody is ever told
    told_before  the end is told before the commit  a crash in between, and it is told twice

As long as nothing goes wrong all of them are alike.

Not handled here: what goes wrong (see `stories`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import func, insert, select

from labkit.database import write_transaction
from labkit.errors import StaleLease
from labkit.invariants.events import TraceEvent
from labkit.invariants.undo_forward import undo_forward
from labkit.invariants.work import Keyed, RunSaga
from labkit.progress.log import append_end
from labkit.queue import Job, Lease, TaskQueue
from labkit.queue.change import change, moment, named
from labkit.queue.lease import held
from labkit.saga import run_saga
from labkit.tables import progress_log
from labkit.task import Task, TaskState

LEASE_SECONDS = 60.0
FOR_EVER = 1e7
COMPLETED = {"state": TaskState.COMPLETED.value, "lease_expires_at": None}


class Queue(TaskQueue):
    """The library's queue. Whoever is refused tells the record, since the world shows nothing of it."""

    told: Callable[[TraceEvent], None]

    @contextmanager
    def _fenced(self, lease: Lease) -> Iterator[None]:
        try:
            yield
        except StaleLease:
            self.told(TraceEvent("refused", lease.task_id, lease.worker_id, lease.attempt))
            raise

    def complete(self, held: Lease, result: str) -> Task:
        with self._fenced(held):
            return super().complete(held, result)

    def complete_and_claim(self, held: Lease, result: str) -> tuple[Task, Task | None]:
        with self._fenced(held):
            return super().complete_and_claim(held, result)

    def fail(self, held: Lease, error: str, *, retry_in: float | None = None) -> Task:
        with self._fenced(held):
            return super().fail(held, error, retry_in=retry_in)


class OneByOne(Queue):
    """A queue that completes in a way of its own, and claims the next task afterwards."""

    def complete_and_claim(self, held: Lease, result: str) -> tuple[Task, Task | None]:
        return self.complete(held, result), self.claim(held.worker_id)


class NoFence(OneByOne):
    """Completes by the id alone, whoever holds the task."""

    def complete(self, held: Lease, result: str) -> Task:
        with write_transaction(self.engine) as connection:
            task = change(connection, moment(connection, None), {**COMPLETED, "result": result}, named(held.task_id))
            assert task is not None
            told = select(func.count()).where(progress_log.c.task_id == task.id, progress_log.c.terminal)
            if not connection.scalar(told):
                append_end(connection, task.id)
        return task


class ToldAfter(OneByOne):
    """Tells the end in a commit of its own, after that of the state."""

    def complete(self, held: Lease, result: str) -> Task:
        task = _only_complete(self, held, result)
        # crash here: the task has ended, and nobody will ever say so
        with write_transaction(self.engine) as connection:
            append_end(connection, held.task_id)
        return task


class ToldBefore(OneByOne):
    """Tells the end in a commit of its own, before that of the state."""

    def complete(self, held: Lease, result: str) -> Task:
        told = progress_log.c.task_id == held.task_id, progress_log.c.terminal
        with write_transaction(self.engine) as connection:
            runs = connection.scalar(select(func.count()).where(*told)) or 0
            end = {"task_id": held.task_id, "run": runs + 1, "attempt": held.attempt, "step": 1, "status": "completed", "terminal": True}
            connection.execute(insert(progress_log), end)
        # crash here: everybody was told, and the task is not at its end
        return _only_complete(self, held, result)


def _only_complete(queue: Queue, lease: Lease, result: str) -> Task:
    with write_transaction(queue.engine) as connection:
        task = change(connection, moment(connection, None), {**COMPLETED, "result": result}, *held(lease))
    if task is None:
        queue.told(TraceEvent("refused", lease.task_id, lease.worker_id, lease.attempt))
        raise StaleLease(f"{lease} was fenced off")
    return task


def by_task(job: Job, what: str) -> str:
    """A key that is the same in each attempt."""
    return f"{job.key}:{what}"


@dataclass(frozen=True)
class System:
    """`lacks` says what was taken away ("" for nothing), `breaks` which kind of broken run comes of it."""

    name: str
    lacks: str = ""
    breaks: str = ""
    queue: type[Queue] = Queue
    lease_seconds: float = LEASE_SECONDS
    run_saga: RunSaga = run_saga
    key: Keyed = by_task

    def __repr__(self) -> str:
        return f"<System {self.name}>"


SOUND = System("sound")
BROKEN = (
    System("no_lease", "a claim that ends", "lost task", lease_seconds=FOR_EVER),
    System("no_key", "a key with each call", "doubled effect", key=lambda job, what: None),
    System("no_fence", "a fence before each write", "zombie write", NoFence),
    System("no_reverse", "undo in reverse", "wrong undo order", run_saga=undo_forward),
    System("told_after", "the end told with the state", "missing end", ToldAfter),
    System("told_before", "the end told with the state", "doubled end", ToldBefore),
)


def systems() -> tuple[System, ...]:
    """The sound one first."""
    return (SOUND, *BROKEN)
