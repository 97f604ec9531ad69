"""A process that works on the queue until it is told to stop: `labkit worker`, on as many machines as wanted.

SIGTERM (or Ctrl-C) stops it gracefully: no further task is taken, those under way are finished, and what is not finished
within the grace period goes back to the queue at once. After SIGKILL, or when the machine is gone, other processes take
its tasks when their leases end. The handlers are named as `module:name`, found from the current folder too.

Not handled here: starting again when it dies. That is the work of a supervisor such as systemd.
"""

from __future__ import annotations

import importlib
import logging
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any

from labkit.errors import UsageError
from labkit.opening import open_named
from labkit.plural import counted
from labkit.queue.job import Handler, handler_of
from labkit.queue.pool import WorkerPool
from labkit.queue.queue import TaskQueue

CONNECTIONS = 3  # of each worker: its own, its heartbeat's, and one to look why it lost a lease
SHORTEST_LEASE = 0.1  # seconds


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
        return handler_of(found)
    except KeyboardInterrupt:
        raise
    except (AttributeError, UsageError) as error:
        raise UsageError(f"--app {app}: {error}") from error
    except Exception as error:  # whatever the module does while it is imported
        raise UsageError(f"--app {app}: {type(error).__name__}: {error}") from error
    except BaseException as error:
        raise UsageError(f"--app {app}: the module ends the process while it is imported ({type(error).__name__}: {error})") from error


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
    log_to_stderr()  # subtle: after the app was imported, which may want it otherwise
    queue = _open(database_url, workers, lease_seconds)
    pool = WorkerPool(queue, handler, workers=workers, keep_connection=True)
    with _signals() as told:
        pool.start()
        say(f"working: {counted(workers, 'worker')}, lease {lease_seconds:g} s")
        _wait(told, pool)
        pool.stop()
        say("stopping: no further task is taken")
        if not pool.join(grace_seconds):
            say(f"gave {counted(pool.let_go(), 'task')} back")
    say(f"stopped: {_account(pool)}")
    if pool.broken is not None:
        raise pool.broken
    return 1 if any(worker.busy for worker in pool.workers) else 0


def _account(pool: WorkerPool) -> str:
    counts = ("done", "failed", "lost", "cancelled", "busy")
    done, failed, lost, cancelled, left = (sum(getattr(worker, what) for worker in pool.workers) for what in counts)
    said = [f"{done} done", f"{counted(failed, 'attempt')} failed", f"{lost} lost to others"]
    said += [f"{cancelled} cancelled under {'a worker' if cancelled == 1 else 'workers'}"] if cancelled else []
    return ", ".join(said + ([f"{left} left to their leases"] if left else []))


def log_to_stderr() -> None:
    """Show what workers have to tell, a line each, unless the app has set up its logging."""
    logging.getLogger("labkit.worker").setLevel(logging.INFO)
    logging.basicConfig(format="%(message)s")


def _open(database_url: str, workers: int, lease_seconds: float) -> TaskQueue:
    if workers < 1 or not SHORTEST_LEASE <= lease_seconds < float("inf"):
        raise UsageError(f"a process needs at least one worker and a lease of at least {SHORTEST_LEASE} s")
    # subtle: a beat that waits for a connection could come after the lease
    engine = open_named(database_url, pool_size=CONNECTIONS * workers + 2)
    return TaskQueue(engine, lease_seconds=lease_seconds)


def _wait(told: SimpleQueue[int], pool: WorkerPool) -> None:
    while pool.broken is None:
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
