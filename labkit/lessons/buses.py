"""Ways to tell subscribers what happened, each sound at first sight, and the library's bus, on one day with three events.

The mail server takes its time over the first mail, and the monitor wants to know at once. Threads are actors of the simulator here, so time is virtual
and every run is the same. `library` is the library's bus. Every other way is broken on purpose, under what its docstring says.

Not handled here: customers outside the house (see `webhooks`), and what waits in a queue (see `buses_bounds`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from labkit.events import COMPLETED, Event, EventBus, Subscription
from labkit.faults import End, Process, Scenario
from labkit.faults.scenario import Body
from labkit.ids import counted_ids
from labkit.queue import Lease, TaskQueue

EVENTS = ("t-1", "t-2", "t-3")
EVERY, SLOW, QUICK = 10.0, 60.0, 1.0  # seconds: between events, for the first mail, for each other
SOON, LOOK, DAY = 5.0, 1.0, 120.0  # seconds: what the monitor accepts, between looks of a thread, all of it
MAIL, MONITOR = "mail", "monitor"
Handler = Callable[[str], None]
Makes = Callable[[], list[Body]]


def handlers(process: Process) -> tuple[Handler, Handler]:
    """What the mailer and the monitor do with an event; both say so in the record of the run."""

    def mailer(task_id: str) -> None:
        process.clock.sleep(SLOW if task_id == EVENTS[0] else QUICK)
        process.note(MAIL, task_id)

    return mailer, lambda task_id: process.note(MONITOR, task_id)


def one_thread() -> list[Body]:
    """Whoever publishes calls all handlers, one after the other. Breaks as soon as one of them is slow: the next events wait, too."""

    def publisher(process: Process) -> None:
        for number, task_id in enumerate(EVENTS):
            _until(process, number * EVERY)
            for handler in handlers(process):
                handler(task_id)

    return [publisher]


def thread_per_event() -> list[Body]:
    """As in the chapter: a thread for each event and handler. Breaks as soon as one is slow: the next event overtakes it."""

    def thread(process: Process, number: int, which: int) -> None:
        _until(process, number * EVERY)
        handlers(process)[which](EVENTS[number])

    return [partial(thread, number=number, which=which) for number in range(len(EVENTS)) for which in range(2)]


def library() -> list[Body]:
    """The library's bus: one thread reads the log, and each subscriber has a queue and a thread."""
    called: dict[int, Handler] = {}
    heard: list[Subscription] = []

    def publisher(process: Process) -> None:
        queue = TaskQueue(process.engine, clock=process.clock, now=process.clock.now, new_id=counted_ids("t"))
        bus = EventBus(process.engine, spawn=unstarted)
        heard.extend(bus.subscribe(COMPLETED, partial(call, which)) for which in range(2))
        for number in range(len(EVENTS)):
            _until(process, number * EVERY)
            queue.submit("deploy shop")
            if task := queue.claim("w1"):
                queue.complete(Lease.of(task), "up")
            bus.read_once()

    def call(which: int, event: Event) -> None:
        called[which](event.task_id)

    def subscriber(process: Process, which: int) -> None:
        called[which] = handlers(process)[which]
        while process.world.clock.elapsed < DAY:
            for subscription in heard[which : which + 1]:
                subscription.handle()
            process.clock.sleep(LOOK)

    return [publisher, partial(subscriber, which=0), partial(subscriber, which=1)]


def unstarted(name: str, run: Callable[[], None]) -> threading.Thread:
    """A thread that nobody starts: what would run in it is called by hand."""
    return threading.Thread(target=run, name=name)


def _until(process: Process, second: float) -> None:
    left = second - process.world.clock.elapsed
    if left > 0:
        process.clock.sleep(left)


def day(makes: Makes) -> Scenario:
    """Three events in this way. Made anew for each run, since its threads share what they were made with."""
    return Scenario(makes.__name__, makes(), [monitor_hears_soon, mails_in_order])


def when(end: End, who: str) -> list[tuple[float, str]]:
    """When somebody had dealt with what, in seconds, in that order."""
    return [(note.time, note.fault) for note in end.notes if note.label == who]


def monitor_hears_soon(end: End) -> str | None:
    """An invariant: the monitor hears of each event, soon."""
    heard = {task_id: at for at, task_id in when(end, MONITOR)}
    late = max(heard.get(task_id, DAY) - number * EVERY for number, task_id in enumerate(EVENTS))
    return f"the monitor hears of an event {late:g} s late" if late > SOON else None


def mails_in_order(end: End) -> str | None:
    """An invariant: one mail for each event, in their order."""
    sent = [task_id for _, task_id in when(end, MAIL)]
    return None if sent == list(EVENTS) else f"the mails leave in the order {', '.join(sent)}"
