"""A task that kills whoever takes it, and where its attempts are counted.

`limit_in_except` is broken on purpose: it asks for the limit where failures are caught, and a killed process catches nothing.
`limit_in_claim` is the library's worker. Workers come one after the other in virtual time, as a supervisor restarts them.

Not handled here: finding out why a task kills its worker. Its dead letter keeps the task for whoever looks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from labkit.faults.chart_table import Mark, Table, bad, good, table
from labkit.lessons.leases import LEASE
from labkit.lessons.queues import no_heartbeats, open_queue
from labkit.queue import Job, Lease, TaskQueue, Worker

MOST = 3  # attempts
NO_LIMIT = 1_000_000
# one worker, until nothing is due: (queue, handler, name)
Life = Callable[[TaskQueue, Callable[[Job], str], str], object]


def limit_in_except(queue: TaskQueue, handler: Callable[[Job], str], name: str) -> None:
    """The limit is asked where failures are caught. Breaks when the process is killed, which no `except` sees."""
    while (task := queue.claim(name)) is not None:
        try:
            queue.complete(Lease.of(task), handler(Job(queue, task)))
        except Exception as error:
            queue.fail(Lease.of(task), str(error), retry_in=0.0 if task.attempt < MOST else None)


def limit_in_claim(queue: TaskQueue, handler: Callable[[Job], str], name: str) -> None:
    """The library's worker: a task that had its attempts is not claimed again."""
    Worker(queue, handler, name, every=no_heartbeats).run_until_idle()


@dataclass
class Shift:
    """A queue, and what became of each worker that was started on it."""

    queue: TaskQueue
    told: list[Mark] = field(default_factory=list)


def shift(life: Life, workers: int = 6) -> Shift:
    """A poison task and `shop` behind it. Each worker starts when the lease of the one before is over."""
    made = Shift(open_queue(lease_seconds=LEASE, max_attempts=MOST if life is limit_in_claim else NO_LIMIT))
    for app in ("poison", "shop"):
        made.queue.submit(f"deploy {app}")
    for number in range(1, workers + 1):
        made.told.append(_one_life(made.queue, life, f"w{number}"))
        made.queue.clock.sleep(LEASE + 1)
    return made


def _one_life(queue: TaskQueue, life: Life, name: str) -> Mark:
    done: list[str] = []

    def handler(job: Job) -> str:
        if "poison" in job.user_input:
            raise SystemExit("out of memory")  # crash here: the operating system kills the process
        done.append(job.user_input)
        return "up"

    try:
        life(queue, handler, name)
    except SystemExit:
        return bad("dies of deploy poison")
    return good(", ".join(done) or "nothing to do")


def poisoned(*lives: Life) -> Table:
    """What became of each worker, and of the two tasks."""
    shifts = [shift(life) for life in lives]
    became = zip(*(one.told for one in shifts), strict=True)
    rows: list[list[object]] = [[f"w{number}", *told] for number, told in enumerate(became, 1)]
    for app, task_id in (("poison", "task-1"), ("shop", "task-2")):
        rows.append([app, *(one.queue.get(task_id).state for one in shifts)])
    return table(["", *(life.__name__.replace("_", " ") for life in lives)], rows)
