"""The queue as one object: what a server, a worker and a notebook hold.

Every method is one transaction of its own and may be called from any thread or process; what each guarantees stands in
its module. Times are the database's own, so machines whose clocks differ agree on when a lease ends; tests and lessons
may give a time of their own (`now=clock.now`).

Not handled here: working on the tasks (see `worker`), and creating the tables (`labkit.tables.create_tables`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from sqlalchemy import Engine, select

from labkit.clock import Clock, SystemClock
from labkit.database import db_now, reading, shown
from labkit.errors import StaleLease
from labkit.ids import IdSource, random_ids
from labkit.progress.log import ProgressLog
from labkit.queue import amend, batch, claim, complete, control, dead, lease, park, submit, wait
from labkit.queue.lease import Lease
from labkit.queue.park import Question
from labkit.store.contract import plain_text
from labkit.tables import MAX_ATTEMPTS, task_options
from labkit.task import Task

LEASE_SECONDS = 60.0
MAX_PENDING = 10_000


class TaskQueue:
    """Tasks in the tables of `engine`. Bounded: at most `max_pending` are pending (None: no limit)."""

    def __init__(
        self,
        engine: Engine,
        *,
        max_pending: int | None = MAX_PENDING,
        max_attempts: int = MAX_ATTEMPTS,
        lease_seconds: float = LEASE_SECONDS,
        retry_after: float = 1.0,
        clock: Clock | None = None,
        new_id: IdSource | None = None,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        self.engine, self.lease_seconds, self.max_attempts = engine, lease_seconds, max_attempts
        self.clock: Clock = clock or SystemClock()
        self.bounds = submit.Bounds(max_pending, retry_after)
        self.progress = ProgressLog(engine)
        self._new_id = new_id or random_ids()
        self._now: Callable[[], datetime | None] = now or (lambda: None)

    def submit(
        self,
        user_input: str,
        *,
        priority: int = 0,
        idempotency_key: str | None = None,
        webhook_url: str | None = None,
        available_at: datetime | None = None,
        delay: float = 0.0,
        max_attempts: int | None = None,
        deadline: datetime | None = None,
    ) -> str:
        """The id of the task, at once. Due at `available_at`, or `delay` seconds from now; after `deadline` it is no longer
        worth doing, whoever does it then and however often it was begun. Errors: see `submit`."""
        if delay and available_at is None:
            available_at = self._time() + timedelta(seconds=delay)
        attempts = self.max_attempts if max_attempts is None else max_attempts
        request = submit.Request(user_input, priority, available_at, idempotency_key, webhook_url, attempts, deadline)
        return submit.submit(self.engine, request, self.bounds, self._new_id, self._now())

    def get(self, task_id: str) -> Task:
        """The task as it is stored; `TaskNotFound`."""
        return wait.look(self.engine, task_id)

    def newest(self, limit: int = 100) -> list[Task]:
        """The tasks that were submitted last, newest first."""
        return wait.newest(self.engine, limit)

    def wait(self, task_id: str, timeout: float | None = None) -> Task:
        """The ended task (completed, failed or cancelled); `TaskNotFound`, `WaitTimeout`."""
        return wait.wait(self.engine, task_id, timeout, self.clock)

    def claim(self, worker_id: str) -> Task | None:
        """The most urgent due task, now leased to this worker, or None. Whoever finds nothing buries the dead."""
        task = claim.claim(self.engine, worker_id, self.lease_seconds, self._now())
        if task is None:
            self.bury()
        return task

    def claim_many(self, worker_id: str, limit: int = 10) -> list[Task]:
        """Up to `limit` tasks in one commit, the most urgent first, each with a lease of its own."""
        found = batch.claim_many(self.engine, worker_id, limit, self.lease_seconds, self._now())
        if not found:
            self.bury()
        return found

    def heartbeat(self, held: Lease) -> Lease:
        """The renewed lease; `StaleLease` when it was lost."""
        return lease.heartbeat(self.engine, held, self.lease_seconds, self._now())

    def complete(self, held: Lease, result: str) -> Task:
        """End the task with a result; `StaleLease`, `UnstorableValue`."""
        return complete.complete(self.engine, held, result, self._now())

    def complete_and_claim(self, held: Lease, result: str) -> tuple[Task, Task | None]:
        """The same, and the next task for the same worker, in one commit."""
        return complete.complete_and_claim(self.engine, held, result, self.lease_seconds, self._now())

    def complete_many(self, results: Iterable[tuple[Lease, str]]) -> list[Task | StaleLease]:
        """End each with its result, all in one commit: the tasks in this order, a `StaleLease` where one was lost."""
        return batch.complete_many(self.engine, results, self._now())

    def fail(self, held: Lease, error: str, *, retry_in: float | None = None) -> Task:
        """End the attempt: pending again in `retry_in` seconds if there is an attempt left, else a dead letter."""
        return lease.fail(self.engine, held, error, retry_in=retry_in, now=self._now())

    def release(self, held: Lease, *, delay: float = 0.0) -> Task:
        """Give the task back unfinished; the attempt does not count."""
        return lease.release(self.engine, held, delay=delay, now=self._now())

    def park(self, held: Lease, question: str) -> Task:
        """Let the task wait for a person's answer; nobody holds it meanwhile, and the attempt does not count."""
        return park.park(self.engine, held, question, self._now())

    def answer(self, task_id: str, text: str, to: str | None = None) -> Task:
        """Answer a waiting task, which is pending again then; `TaskNotFound`, `InvalidTransition` if it does not wait (for this)."""
        return park.answer(self.engine, task_id, text, to, self._now())

    def question(self, task_id: str) -> Question:
        """What the task asked last, and what it was told."""
        return park.question(self.engine, task_id)

    def amend(self, task_id: str, text: str, number: int | None = None) -> int:
        """Tell whoever works on it, now or later, something more; `TaskNotFound`, `InvalidTransition` when it has ended.

        As amendment `number` it is added once, however often it is sent.
        """
        return amend.amend(self.engine, plain_text("id", task_id), text, number)

    def amendments(self, task_id: str) -> list[str]:
        """What was added to the task, oldest first."""
        return amend.read(self.engine, plain_text("id", task_id))

    def cancel(self, task_id: str, reason: str = "") -> Task:
        """Cancel it now, whoever works on it; `TaskNotFound`, `InvalidTransition` when it has ended otherwise."""
        return control.cancel(self.engine, task_id, reason, self._now())

    def set_priority(self, task_id: str, priority: int) -> Task:
        """Change the priority of a task that has not ended; `TaskNotFound`, `InvalidTransition`."""
        return control.set_priority(self.engine, task_id, priority, self._now())

    def bury(self) -> list[Task]:
        """Fail those whose last lease is over; workers do it from time to time."""
        return dead.bury(self.engine, self._now())

    def dead_letters(self, limit: int = 100) -> list[Task]:
        """The failed tasks, oldest failure first."""
        return dead.dead_letters(self.engine, limit)

    def redrive(self, task: Task | str) -> Task:
        """Queue a failed task again as a new run; `StaleTask`, `InvalidTransition`, `TaskNotFound`."""
        return dead.redrive(self.engine, task, self._now())

    def webhook_url(self, task_id: str) -> str | None:
        """Where the end of this task is to be told, if anywhere."""
        asked = select(task_options.c.webhook_url).where(task_options.c.task_id == plain_text("id", task_id))
        with reading(self.engine) as connection:
            return connection.scalar(asked)

    def deadline(self, task_id: str) -> datetime | None:
        """When this task is no longer worth doing, if ever: as it was submitted, whatever has happened since."""
        asked = select(task_options.c.deadline).where(task_options.c.task_id == plain_text("id", task_id))
        with reading(self.engine) as connection:
            return connection.scalar(asked)

    def _time(self) -> datetime:
        given = self._now()
        with reading(self.engine) as connection:
            return given or connection.execute(select(db_now())).scalar_one()

    def __repr__(self) -> str:
        bound = "unbounded" if self.bounds.max_pending is None else f"at most {self.bounds.max_pending} pending"
        return f"<TaskQueue {shown(self.engine)}, {bound}>"
