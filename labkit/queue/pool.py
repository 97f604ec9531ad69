"""Several workers in one process, a thread each, that start, wake and stop together.

Stopping is graceful: no worker takes another task, each finishes its own. Whoever cannot wait that long calls `let_go`:
the tasks under way go back to the queue at once, and what their handlers still write is fenced off. A process that is
killed instead leaves running tasks behind, which other workers take when the leases end.

Not handled here: more than one process (see `process`). Python's threads share one core for pure computing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any

from sqlalchemy.exc import DBAPIError

from labkit.errors import UsageError
from labkit.ids import IdSource, random_ids
from labkit.queue.notify import listen
from labkit.queue.queue import TaskQueue
from labkit.queue.threads import Spawn, Wakeup, thread
from labkit.queue.worker import Worker

FEW = 4  # so many workers can keep a connection each in a pool of the usual size
LISTEN_AGAIN = 5.0  # seconds until a broken connection for wake-ups is opened again


class WorkerPool:
    """`workers` workers on the tasks of `queue`; `options` go to each `Worker`. Use it in a `with`, or start and stop."""

    def __init__(
        self,
        queue: TaskQueue,
        handler: Any,
        *,
        workers: int = 1,
        new_id: IdSource | None = None,
        spawn: Spawn = thread,
        **options: Any,
    ) -> None:
        self.queue, self._spawn = queue, spawn
        name = (new_id or random_ids())()
        self._wakeups = [Wakeup() for _ in range(workers)]
        self.workers = [
            Worker(queue, handler, f"{name}-{number}", **{"pause": wakeup, "keep_connection": workers <= FEW, **options})
            for number, wakeup in enumerate(self._wakeups, 1)
        ]
        self.broken: UsageError | None = None  # why a worker could not begin; the others go on until somebody stops them
        self._threads: list[threading.Thread] = []
        self._stopping = threading.Event()

    def start(self) -> None:
        """Start the threads, or none: where one cannot be started, the others are stopped and `UsageError` says so."""
        try:
            self._spawn("labkit listener", self._listen)
            for worker in self.workers:
                self._threads.append(self._spawn(f"labkit worker {worker.name}", partial(self._run, worker)))
        except UsageError:
            self.stop()
            self.join()
            raise

    def _run(self, worker: Worker) -> None:
        try:
            worker.run()
        except UsageError as error:  # its heartbeat has no thread; what a handler raises does not come here
            self.broken = error

    def stop(self) -> None:
        """Ask all to stop; returns at once. May be called from a signal handler, and twice."""
        self._stopping.set()
        for worker in self.workers:
            worker.stop()
        self.wake()

    def wake(self) -> None:
        """Let idle workers look at once."""
        for wakeup in self._wakeups:
            wakeup.wake()

    def join(self, timeout: float | None = None) -> bool:
        """Wait up to `timeout` seconds for all workers to end; whether they have."""
        clock = self.queue.clock
        until = None if timeout is None else clock.monotonic() + timeout
        for started in self._threads:
            started.join(None if until is None else max(0.0, until - clock.monotonic()))
        return not any(started.is_alive() for started in self._threads)

    def let_go(self) -> int:
        """Release the tasks under way, and return how many."""
        return sum(worker.let_go() is not None for worker in self.workers)

    def _listen(self) -> None:
        self._until_stopped(lambda: listen(self.queue.engine, self.wake, self._stopping.is_set))

    def _until_stopped(self, act: Callable[[], None]) -> None:
        base: type[Exception] = self.queue.engine.dialect.loaded_dbapi.Error
        while not self._stopping.is_set():
            try:
                act()
                return
            except (base, DBAPIError):
                self._stopping.wait(LISTEN_AGAIN)  # polling goes on meanwhile

    def __enter__(self) -> WorkerPool:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self.join()

    def __repr__(self) -> str:
        return f"<WorkerPool {len(self.workers)} workers, {sum(worker.done for worker in self.workers)} done>"
