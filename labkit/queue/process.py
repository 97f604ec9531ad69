"""A process that works on the queue until it is told to stop: `labkit worker`, on as many machines as wanted.

SIGTERM (or Ctrl-C) stops it gracefully: no further task is taken, those under way are finished, and what is not finished
within the grace period goes back to the queue at once. After SIGKILL, or when the machine is gone, other processes take
its tasks when their leases end. The handlers are named as `module:name`, found from the current folder too.

Not handled here: starting again when it dies. That is the work of a supervisor such as systemd.
"""

from __future__ import annotations

import argparse
import importlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from labkit.database import open_engine
from labkit.errors import LabkitError, UsageError
from labkit.queue.job import Handler, handler_of
from labkit.queue.pool import WorkerPool
from labkit.queue.queue import LEASE_SECONDS, TaskQueue
from labkit.tables import create_tables

GRACE_SECONDS = 30.0


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
    except (ImportError, AttributeError) as error:
        raise UsageError(f"--app {app}: {error}") from error
    return handler_of(found)


def work(
    database_url: str,
    app: str,
    *,
    workers: int = 1,
    lease_seconds: float = LEASE_SECONDS,
    grace_seconds: float = GRACE_SECONDS,
    say: Callable[[str], object] = lambda line: None,
) -> int:
    """Work until SIGTERM or Ctrl-C; 0 when every task was finished or given back. Runs in the main thread."""
    handler = load(app)
    queue = _open(database_url, workers, lease_seconds)
    pool = WorkerPool(queue, handler, workers=workers)
    told = threading.Event()
    with _signals(told.set):
        pool.start()
        say(f"working: {workers} workers, lease {lease_seconds:g} s")
        told.wait()
        pool.stop()
        say("stopping: no further task is taken")
        if not pool.join(grace_seconds):
            say(f"gave {pool.let_go()} tasks back")
    done, lost = sum(w.done for w in pool.workers), sum(w.lost for w in pool.workers)
    say(f"stopped: {done} done, {lost} lost to others")
    return 0


def _open(database_url: str, workers: int, lease_seconds: float) -> TaskQueue:
    if workers < 1 or lease_seconds <= 0:
        raise UsageError("a process needs at least one worker and a lease longer than nothing")
    try:
        if make_url(database_url).database in (None, "", ":memory:"):
            raise UsageError(f"--database-url {database_url} names no database that several processes could share")
        # subtle: each worker has a connection for its task and one for its heartbeat, or a beat could wait for a task
        engine = open_engine(database_url, pool_size=2 * workers + 2)
        create_tables(engine)
    except (ArgumentError, DBAPIError, ValueError, ImportError) as error:
        raise UsageError(f"--database-url: {str(error).splitlines()[0]}") from error
    return TaskQueue(engine, lease_seconds=lease_seconds)


@contextmanager
def _signals(tell: Callable[[], object]) -> Iterator[None]:
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, lambda *_: tell()) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `labkit worker`."""
    parser.add_argument("--database-url", required=True, metavar="URL", help="sqlite:///tasks.db, postgresql://...")
    parser.add_argument("--app", required=True, metavar="MODULE:NAME", help="a function of a job, or a dict of them")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="threads, each with a task (default: 1)")
    parser.add_argument("--lease", type=float, default=LEASE_SECONDS, metavar="S", help=f"seconds ({LEASE_SECONDS:g})")
    parser.add_argument(
        "--grace", type=float, default=GRACE_SECONDS, metavar="S",
        help=f"seconds to finish in after SIGTERM ({GRACE_SECONDS:g})",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """What `labkit worker` does with its options."""
    return work(
        arguments.database_url, arguments.app, workers=arguments.workers, lease_seconds=arguments.lease,
        grace_seconds=arguments.grace, say=lambda line: print(line, flush=True),
    )  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """`python -m labkit.queue.process`: 0 after a graceful stop, 2 for what cannot be used."""
    parser = argparse.ArgumentParser(prog="labkit worker", description=str(__doc__).splitlines()[0], allow_abbrev=False)
    add_arguments(parser)
    try:
        return run(parser.parse_args(argv))
    except LabkitError as error:
        print(f"labkit: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
