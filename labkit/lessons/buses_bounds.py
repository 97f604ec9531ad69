"""What waits for a subscriber that stands still while events go on, and what it is told when it moves again.

All of it is the library's bus on a database of its own, read by hand. Without a bound worth the name it is broken on purpose (`NO_BOUND`).

Not handled here: who else has to wait (see `buses`).
"""

from __future__ import annotations

from labkit.database import open_engine
from labkit.events import LOST, Event, EventBus
from labkit.faults.chart_table import Table, bad, good, table
from labkit.lessons.buses import unstarted
from labkit.lessons.queues import open_queue
from labkit.plural import counted
from labkit.queue import TaskQueue
from labkit.tables import create_tables

BOUND, NO_BOUND = 3, 1_000_000
BURST = 8
TYPE = "task.cancelled"


def open_bus() -> tuple[TaskQueue, EventBus]:
    """A queue and a bus on one database, without threads: whoever has them calls what would run there."""
    engine = open_engine("sqlite://")
    create_tables(engine)
    return open_queue(engine=engine, ids="t"), EventBus(engine, spawn=unstarted)


def happen(queue: TaskQueue, bus: EventBus, count: int) -> None:
    """So many tasks end, and the bus reads it."""
    for _ in range(count):
        queue.cancel(queue.submit("deploy shop"))
    bus.read_once()


def stands_still(bound: int, bursts: int = 1) -> list[str]:
    """What a subscriber hears that stood still for so many bursts of events, and then moves."""
    queue, bus = open_bus()
    got: list[str] = []
    subscription = bus.subscribe(TYPE, lambda event: got.append(said(event)), bound=bound)
    for _ in range(bursts):
        happen(queue, bus, BURST)
    got.append(f"{subscription!r}")
    subscription.handle()
    return got


def said(event: Event) -> str:
    """An event in words."""
    return f"{event.payload['count']} lost" if event.type == LOST else event.task_id


def waits(bound: int, bursts: int) -> int:
    """How many events wait for a subscriber that stood still for so many bursts."""
    return len(stands_still(bound, bursts)) - 1 - (bursts * BURST > bound)


def bounds(*bursts: int) -> Table:
    """How many events wait, by how long somebody stands still."""
    heads = [counted(BURST * number, "event") for number in bursts]
    rows = [
        ["no bound", *((bad if waits(NO_BOUND, number) > BOUND else good)(waits(NO_BOUND, number)) for number in bursts)],
        [f"a bound of {BOUND}", *(good(waits(BOUND, number)) for number in bursts)],
    ]
    return table(["waiting for one handler", *heads], rows)
