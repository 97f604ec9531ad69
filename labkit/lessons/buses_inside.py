"""Two subscribers and one task: called by whoever does the work, or by the library's bus when its end is stored.

The mailer has a bug: it sends the mail, then asks the event for something that is not there. `inside` is broken on purpose.

Not handled here: subscribers that are slow (see `buses`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from types import MappingProxyType

from labkit.events import Event, EventBus
from labkit.faults import End, Process, Scenario
from labkit.ids import counted_ids
from labkit.lessons.buses import MAIL, MONITOR, unstarted
from labkit.lessons.queues import no_heartbeats
from labkit.queue import Job, TaskQueue, Worker
from labkit.queue.worker import worth_retrying
from labkit.retry import RetryPolicy

logging.getLogger("labkit.events").addHandler(logging.NullHandler())
ATTEMPTS = 2
TASK = "t-1"
Way = Callable[[Process, TaskQueue], None]


def mailer(process: Process, event: Event) -> None:
    """Sends the mail, and has a bug."""
    process.cloud.send_mail(event.task_id)
    process.note(MAIL, f"sent, and it cost {event.payload['total']}")


def monitor(process: Process, event: Event) -> None:
    """Notes what has come to an end."""
    process.note(MONITOR, f"{event.task_id} has ended")


def inside(process: Process, queue: TaskQueue) -> None:
    """The subscribers are called by the handler of the task, one after the other. Breaks as soon as one fails: so does the task."""

    def handler(job: Job) -> str:
        process.note("work", "shop is deployed")
        event = Event("task.completed", job.task.id, MappingProxyType({}))
        for subscriber in (mailer, monitor):
            subscriber(process, event)
        return "up"

    work(process, queue, handler)


def library(process: Process, queue: TaskQueue) -> None:
    """The library's bus: the end is stored first, and a subscriber that fails hurts nobody."""

    def handler(job: Job) -> str:
        process.note("work", "shop is deployed")
        return "up"

    bus = EventBus(process.engine, spawn=unstarted)
    heard = [bus.subscribe("task.completed", partial(subscriber, process)) for subscriber in (mailer, monitor)]
    work(process, queue, handler)
    bus.read_once()
    for subscription in heard:
        subscription.handle()


def work(process: Process, queue: TaskQueue, handler: Callable[[Job], str]) -> None:
    """A worker, until nothing is left to do."""
    policy = RetryPolicy(max_attempts=ATTEMPTS, base=10.0, cap=10.0, rng=process.random, retry_on=worth_retrying)
    worker = Worker(queue, handler, "w1", policy=policy, every=no_heartbeats)
    for _ in range(ATTEMPTS):
        worker.run_until_idle()
        process.clock.sleep(100.0)


def worked(way: Way) -> Scenario:
    """One task, and two who want to know."""
    return Scenario(way.__name__, partial(_run, way=way), [each_once], _submit)


def _queue(process: Process) -> TaskQueue:
    return TaskQueue(
        process.engine, clock=process.clock, now=process.clock.now, new_id=counted_ids("t"), max_attempts=ATTEMPTS
    )


def _submit(process: Process) -> None:
    _queue(process).submit("deploy shop")


def _run(process: Process, way: Way) -> str:
    queue = _queue(process)
    way(process, queue)
    return str(queue.get(TASK).state)


def each_once(end: End) -> str | None:
    """An invariant: the task is completed, there is one mail, and the monitor has heard of it."""
    mails, heard = end.count("send_mail"), sum(note.label == MONITOR for note in end.notes)
    told = f"{end.last.value}: {mails} mail{'s' * (mails != 1)}, and the monitor heard {heard or 'nothing'}"
    return None if (end.last.value, mails, heard) == ("completed", 1, 1) else told.replace("heard 1", "heard of it")
