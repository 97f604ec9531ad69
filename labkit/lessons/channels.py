"""Chapter 21's TaskQueue on channels, and who hears the result: from it, and from the library's queue.

The chapter keeps for each task a channel with room for one result, and waiting takes the result out of it. So the
result goes to whoever is first, and to nobody after that; the channel itself stays for ever. A channel that is full
keeps whoever submits standing. The queue of a table is asked as often as one likes: the result stays on the row.

Not handled here: what a reboot leaves of a channel (see `accepting`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from labkit.clock import Clock
from labkit.errors import WaitTimeout
from labkit.faults import End, Process, Scenario, Trace, every_process_ends, run_once
from labkit.faults.chart_table import Mark, Table, bad, good, table
from labkit.faults.paint import seconds
from labkit.lessons.evening import WORK
from labkit.lessons.queues import open_queue
from labkit.queue import Lease
from labkit.queue.wait import wait

LOOK = 30.0  # seconds between two looks of somebody who waits; a real channel wakes him at once
TIMEOUT = 1200.0  # seconds that somebody waits


class Channels:
    """The chapter's listing in Python: `room` tasks fit into the channel, and one result into each task's own."""

    def __init__(self, room: int = 100) -> None:
        self.room = room
        self.tasks: deque[str] = deque()
        self.results: dict[str, deque[str]] = {}

    def submit(self, clock: Clock) -> str:
        task_id = f"task-{len(self.results) + 1}"
        self.results[task_id] = deque()
        while len(self.tasks) >= self.room:
            clock.sleep(LOOK)  # the channel is full: the request hangs here
        self.tasks.append(task_id)
        return task_id

    def wait(self, clock: Clock, task_id: str, timeout: float) -> str:
        until = clock.monotonic() + timeout
        while not self.results[task_id]:
            if clock.monotonic() >= until:
                raise WaitTimeout(f"{task_id} has not ended in {timeout:g} s")
            clock.sleep(LOOK)
        return self.results[task_id].popleft()  # taken out: whoever comes next finds nothing

    def work(self, clock: Clock) -> None:
        task_id = self.tasks.popleft()
        clock.sleep(WORK)
        self.results[task_id].append("deployed")


class Rows:
    """The same calls on the library's queue."""

    def __init__(self, process: Process) -> None:
        self.queue = open_queue(process.clock, engine=process.engine)

    def submit(self, clock: Clock) -> str:
        return self.queue.submit("deploy shop")

    def wait(self, clock: Clock, task_id: str, timeout: float) -> str:
        return str(wait(self.queue.engine, task_id, timeout, clock, lambda _: clock.sleep(LOOK)).result)

    def work(self, clock: Clock) -> None:
        task = self.queue.claim("w1")
        assert task is not None
        clock.sleep(WORK)
        self.queue.complete(Lease.of(task), "deployed")


Queue = Channels | Rows
LISTENERS = ("who asked", "the worker", "a second tab", "comes after the end")


def listeners(queue_of: Callable[[Process], Queue], name: str) -> Scenario:
    """One deployment, a worker, and three who wait for the result: at once, after a minute, after a quarter of an hour."""

    def asks(process: Process) -> str:
        queue = queue_of(process)
        return queue.wait(process.clock, queue.submit(process.clock), TIMEOUT)

    def works(process: Process) -> None:
        process.clock.sleep(1.0)
        queue_of(process).work(process.clock)

    def comes_at(second: float) -> Callable[[Process], str]:
        def listens(process: Process) -> str:
            process.clock.sleep(second)
            return queue_of(process).wait(process.clock, "task-1", TIMEOUT)

        return listens

    return Scenario(name, [asks, works, comes_at(60.0), comes_at(900.0)], [everybody_hears])


def everybody_hears(end: End) -> str | None:
    """An invariant: nobody waits in vain."""
    deaf = [outcome.process for outcome in end.outcomes if outcome.how != "returned"]
    return f"{' and '.join(deaf)} waited in vain" if deaf else None


def on_a_channel() -> Scenario:
    """The channels are one object in the memory of one server, of which the lanes are threads."""
    channels = Channels()
    return listeners(lambda process: channels, "on_a_channel")


def on_a_row() -> Scenario:
    return listeners(Rows, "on_a_row")


def who_hears() -> Table:
    """What each of those who wait hears, and when: run now."""
    traces = [run_once(on_a_channel()), run_once(on_a_row())]
    rows = [[who, *(_heard(trace, f"p{number}") for trace in traces)] for number, who in enumerate(LISTENERS, 1)]
    return table(["", "from a channel", "from a row"], [row for row in rows if row[0] != "the worker"])


def _heard(trace: Trace, process: str) -> Mark:
    end = next(line for line in trace.lines if line.kind == "end" and line.process == process)
    at = seconds(round(end.time / 60) * 60)
    return good(f"deployed, at {at}") if end.label == "returned" else bad(f"nothing, gives up at {at}")


def fills_a_channel(process: Process) -> None:
    """Three submit where two find room, and no worker comes. Breaks always: the third request hangs."""
    channels = Channels(room=2)
    for _ in range(3):
        channels.submit(process.clock)


full_channel = Scenario("full_channel", fills_a_channel, [every_process_ends])
