"""A process that works on the queue until it is told to stop: `labkit worker`, on as many machines as wanted.

SIGTERM (or Ctrl-C) stops it gracefully: no further task is taken, those under way are finished, and what is not finished
within the grace period goes back to the queue at once. After SIGKILL, or when the machine is gone, other processes take
its tasks when their leases end. The handlers are named as `module:name`, found from the current folder too.

Not handled here: starting again when it dies. That is the work of a supervisor such as systemd.
"""

from __future__ import annotations

import importlib
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from labkit.database import open_engine
from labkit.errors import UsageError
from labkit.queue.job import Handler, handler_of
from labkit.queue.pool import WorkerPool
from labkit.queue.queue import TaskQueue
from labkit.tables import create_tables

CONNECT_SECONDS = 10  # until a server that does not answer counts as unreachable
CONNECTIONS = 3  # of each worker: its own, its heartbeat's, and one to look why it lost a lease


def load(app: str) -> Handler:
    """The handler `module:name`; `UsageError` says what is wrong with it."""
    module, colon, name = app.partition(":")
    if not (module and colon and name):
        raise UsageError(f"--app is module:handlers, not {app!r}")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except AttributeError as error:
        raise UsageError(f"--app {app}: {error}") from error
    except Exception as error:  # whatever the module does while it is imported
        raise UsageError(f"--app {app}: {type(error).__name__}: {error}") from error
    return handler_of(found)


def work(
    database_url: str,
    app: str,
    *,
    workers: int,
    lease_seconds: float,
    grace_seconds: float,
    say: Callable[[str], object] = lambda line: None,
) -> int:
    """Work until SIGTERM or Ctrl-C. 0 when every task was finished or given back, 1 when one is left to its lease.

    Runs in the main thread. `UsageError` for what cannot be used.
    """
    handler = load(app)
    queue = _open(database_url, workers, lease_seconds)
    pool = WorkerPool(queue, handler, workers=workers, keep_connection=True)
    with _signals() as told:
        pool.start()
        say(f"working: {workers} workers, lease {lease_seconds:g} s")
        _wait(told)
        pool.stop()
        say("stopping: no further task is taken")
        if not pool.join(grace_seconds):
            say(f"gave {pool.let_go()} tasks back")
    done, lost = sum(w.done for w in pool.workers), sum(w.lost for w in pool.workers)
    left = sum(w.busy for w in pool.workers)
    say(f"stopped: {done} done, {lost} lost to others" + (f", {left} left to their leases" if left else ""))
    return 1 if left else 0


def _open(database_url: str, workers: int, lease_seconds: float) -> TaskQueue:
    if workers < 1 or not 0 < lease_seconds < float("inf"):
        raise UsageError("a process needs at least one worker and a lease longer than nothing")
    try:
        url = make_url(database_url)
        options = _driver_options(url)
        # subtle: a beat that waits for a connection could come after the lease
        engine = open_engine(url, pool_size=CONNECTIONS * workers + 2, connect_args=options)
        create_tables(engine)
    except ArgumentError:
        raise UsageError("--database-url is no database URL, such as sqlite:///tasks.db") from None
    except (DBAPIError, ValueError, ImportError) as error:
        raise UsageError(f"--database-url: {str(error).splitlines()[0]}") from error
    return TaskQueue(engine, lease_seconds=lease_seconds)


def _driver_options(url: URL) -> dict[str, Any]:
    backend = url.get_backend_name()
    if backend not in ("sqlite", "postgresql", "postgres"):
        raise UsageError(f"--database-url names {backend}; it must be sqlite:///file or postgresql://...")
    if backend != "sqlite":
        return {"connect_timeout": CONNECT_SECONDS}
    if url.database in (None, "", ":memory:"):
        raise UsageError("--database-url names no file that several processes could share")
    return {}


def _wait(told: SimpleQueue[int]) -> None:
    while True:
        with suppress(Empty):
            told.get(timeout=1.0)  # subtle: with a time, since Windows looks for signals only in between
            return


@contextmanager
def _signals() -> Iterator[SimpleQueue[int]]:
    """What asks the process to stop. subtle: a queue that a signal may put into at any point, as no Event is."""
    told: SimpleQueue[int] = SimpleQueue()
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, lambda caught, _: told.put(caught)) for number in numbers]
    try:
        yield told
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
