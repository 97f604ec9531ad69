"""Work on tasks one after the other, each under a lease that is renewed four times within its length.

A task that is done is completed, and in the same commit the next one is claimed. One whose handler raised is retried
after a drawn delay until its attempts are used up; a `TerminalError` ends it at once. A handler whose lease was lost or
whose task was cancelled writes nothing any more, has not failed, and is counted (`lost`, `cancelled`). A crash, and any
other BaseException, goes through untouched: the lease ends by itself and another worker takes the task. An outage of
the database stops no worker.

Not handled here: threads (see `threads`, `pool`), and a handler that hangs while its worker is alive: give it a deadline.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeVar

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as NoFreeConnection

from labkit.commit import keeping
from labkit.database import in_one_line, shown
from labkit.errors import (
    DeadlineExceeded,
    StaleLease,
    StoreBusy,
    StoreFull,
    TaskCancelled,
    TerminalError,
    TransientError,
    UnstorableValue,
)
from labkit.queue.job import Ask, GiveBack, Job, handler_of
from labkit.queue.lease import Lease
from labkit.queue.place import place
from labkit.queue.queue import TaskQueue
from labkit.queue.threads import Every, Pause, in_thread
from labkit.retry import RetryPolicy
from labkit.store.contract import error_text
from labkit.task import Task

T = TypeVar("T")
BEATS = 4  # heartbeats within one lease: two in a row may fail, and the third still comes well before it ends
POLL_SECONDS = 0.5
_OUTAGE = (StoreBusy, StoreFull, DBAPIError, NoFreeConnection)
_log = logging.getLogger("labkit.worker")


def worth_retrying(error: Exception) -> bool:
    """Whether another attempt may end otherwise: what cannot be stored cannot, and nothing does after the deadline."""
    return not isinstance(error, TerminalError | UnstorableValue | DeadlineExceeded)


class Worker:
    """Works on the tasks of `queue`. `handler` is a function of a `Job`, or a dict of them by the task's first word.

    `policy` says how long a failed task waits; `every` calls the heartbeat, `pause` waits when nothing is due. Two or three
    connections are in use at most, one of them all the time with `keep_connection`, which makes each task cheaper.
    """

    def __init__(
        self,
        queue: TaskQueue,
        handler: Any,
        name: str,
        *,
        policy: RetryPolicy | None = None,
        every: Every = in_thread,
        pause: Pause | None = None,
        poll_seconds: float = POLL_SECONDS,
        keep_connection: bool = True,
    ) -> None:
        self.queue, self.name, self.handler = queue, name, handler_of(handler)
        rng = random.Random(f"labkit {name}")  # subtle: by name, so that workers differ and runs do not
        self.policy = policy or RetryPolicy(rng=rng, retry_on=worth_retrying)
        self._every, self._pause, self._poll_seconds = every, pause or queue.clock.sleep, poll_seconds
        self._keep = keep_connection
        self._insist = RetryPolicy(max_attempts=5, base=0.1, cap=1.0, rng=rng, retry_on=_is_outage)
        self._job: Job | None = None
        self.stopping = False
        self.done = self.failed = self.lost = self.cancelled = 0

    def run(self) -> None:
        """Work until `stop()`; the task under way is finished first, unless its handler gives it back."""
        self._loop(idle=lambda: self._pause(self._poll_seconds))

    def run_until_idle(self) -> int:
        """Work until nothing is due, and return how many tasks were completed."""
        before = self.done
        self._loop(idle=None)
        return self.done - before

    def stop(self) -> None:
        """Ask it to stop, from any thread or from a signal handler."""
        self.stopping = True

    @property
    def busy(self) -> bool:
        """Whether it holds a task."""
        job = self._job
        return job is not None and not job.lost

    def beat(self) -> None:
        """Renew the lease of the task under way, and bury tasks that nobody can claim. Raises no Exception."""
        job = self._job
        try:
            if job is not None:
                job.lease = self.queue.heartbeat(job.lease)
            self.queue.bury()
        except StaleLease as error:
            if job is not None:
                job.lose(error)
        except _OUTAGE as error:
            self._warn("could not renew its lease", error)

    def let_go(self) -> Lease | None:
        """Release the task under way, from another thread: for a process that can wait no longer for its handler."""
        job = self._job
        if job is None or self._settle(job, lambda: self.queue.release(job.lease)) is None:
            return None
        job.lose(StaleLease(f"worker {self.name} let go of task {job.task.id}"))
        return job.lease

    def _loop(self, idle: Callable[[], object] | None) -> None:
        quiet = self._every(self.queue.lease_seconds / BEATS, self.beat)
        try:
            with keeping(self.queue.engine) if self._keep else nullcontext():
                self._work_on(idle)
        finally:
            quiet()

    def _work_on(self, idle: Callable[[], object] | None) -> None:
        task: Task | None = None
        while not (self.stopping and task is None):
            if task is None and (task := self._claim()) is None:
                if idle is None:
                    return
                idle()
            else:
                task = self._work(task)

    def _claim(self) -> Task | None:
        try:
            return self.queue.claim(self.name)
        except _OUTAGE as error:
            self._warn("could not claim", error)
            return None

    def _warn(self, what: str, error: Exception) -> None:
        where = shown(self.queue.engine)
        _log.warning("worker %s %s: %s (%s)", self.name, what, in_one_line(error), where, extra={"worker": self.name})

    def _work(self, task: Task) -> Task | None:
        """Do one task; returns the next one if it was claimed along with the completion."""
        job = self._job = Job(self.queue, task, lambda: self.stopping)
        try:
            if self.stopping:
                raise GiveBack
            result = self.handler(job)
        except GiveBack:
            self._settle(job, lambda: self.queue.release(job.lease))
        except Ask as asked:
            self._park(job, str(asked))
        except Exception as error:  # subtle: not BaseException, a crash must leave the task running
            self._fail(job, error)
        else:
            # crash here: the effect is done and the record is lost; the next attempt has the same key
            return self._complete(job, result)
        finally:
            self._job = None
        return None

    def _complete(self, job: Job, result: str) -> Task | None:
        def finish() -> tuple[Task, Task | None]:
            if self.stopping:
                return self.queue.complete(job.lease, result), None
            return self.queue.complete_and_claim(job.lease, result)

        try:
            finished = self._settle(job, finish)
        except UnstorableValue as error:
            self._fail(job, error)
            return None
        self.done += finished is not None
        return None if finished is None else finished[1]

    def _park(self, job: Job, question: str) -> None:
        try:
            self._settle(job, lambda: self.queue.park(job.lease, question))
        except UnstorableValue as error:
            self._fail(job, error)

    def _fail(self, job: Job, error: Exception) -> None:
        told = error_text(error)
        ended = self._settle(job, lambda: self.queue.fail(job.lease, told, retry_in=self._retry_in(job, error)))
        self.failed += ended is not None
        if job.lost and isinstance(error, StaleLease):
            return  # it heard that the task is not its own any more, which is no failure
        said = in_one_line(error) if isinstance(error, SQLAlchemyError) else (told.splitlines() or [""])[0]
        at = f" ({where})" if (where := place(error)) else ""
        _log.info("task %s: attempt %d failed: %s: %s%s", job.task.id, job.task.attempt, type(error).__name__, said, at, extra=self._fields(job))

    def _fields(self, job: Job) -> dict[str, object]:
        """What a log line says for machines."""
        return {"task": job.task.id, "worker": self.name, "attempt": job.task.attempt}

    def _retry_in(self, job: Job, error: Exception) -> float | None:
        """Seconds until another attempt; None if none is of use, or if it would come after the deadline."""
        if not self.policy.retry_on(error):
            return None
        asked = error.retry_after if isinstance(error, TransientError) else None
        wait = self.policy.delay(max(0, job.task.attempt - 1), asked)
        late = job.deadline is not None and job.deadline.remaining() <= wait
        return None if late else wait

    def _settle(self, job: Job, act: Callable[[], T]) -> T | None:
        """Write how a task ended, trying again in an outage; None if this worker has no say in it any more."""
        try:
            return self._insist.run(act, self.queue.clock)
        except TaskCancelled as error:
            job.lose(error)
            self.cancelled += 1
            _log.info("task %s: attempt %d was cancelled under the worker", job.task.id, job.task.attempt, extra=self._fields(job))
        except StaleLease as error:
            job.lose(error)
            self.lost += 1
            _log.warning("%s", error, extra=self._fields(job))
        except _OUTAGE as error:
            _log.error("task %s stays leased, its end could not be stored: %s", job.task.id, in_one_line(error))
        return None

    def __repr__(self) -> str:
        cancelled = f" cancelled={self.cancelled}" if self.cancelled else ""
        return f"<Worker {self.name} done={self.done} failed={self.failed} lost={self.lost}{cancelled}>"


def _is_outage(error: Exception) -> bool:
    return isinstance(error, _OUTAGE)
