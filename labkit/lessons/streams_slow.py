"""One reader that is slow, and where what it has not taken yet is kept meanwhile: four designs, counted.

A task tells a hundred things, and the reader has taken ten of them by then. `position` is the library's design, the others are broken on
purpose.

Not handled here: a reader that takes nothing at all; the stream gives it up after a while (see `labkit.server.sse`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from labkit.faults import End, Process, Scenario, run_once
from labkit.faults.chart_table import Table, bad, good, table
from labkit.lessons.streams import Work, work
from labkit.progress.follow import Follower
from labkit.progress.update import ProgressUpdate

EVENTS, SLOW, BOUND = 100, 10, 20  # told, told for each that the slow reader takes, entries that may be held


@dataclass
class Count:
    """What became of the slow reader: the most that was held for it, how many it had in the end, and for how many the worker waited."""

    held: int = 0
    had: int = 0
    waited: int = 0

    def __str__(self) -> str:
        return f"held {self.held}, had {self.had}, the worker waited {self.waited} times"


Design = Callable[[Work, Count], None]


def _told(now: Work, number: int) -> None:
    update = ProgressUpdate(task_id=now.task_id, step=number, status="thinking", time=now.clock.now())
    now.log.append(update, now.lease)


def queue_each(now: Work, count: Count) -> None:
    """A queue for each reader. Breaks with one that is slow: it grows without a bound."""
    waiting = deque[int]()
    for number in range(EVENTS):
        waiting.append(number)
        count.held = max(count.held, len(waiting))
        if number % SLOW == 0:
            waiting.popleft()
            count.had += 1
    count.had += len(waiting)


def drops(now: Work, count: Count) -> None:
    """The same with a bound, and what is too much is dropped. Breaks with a slow reader: it has holes."""
    waiting = deque[int](maxlen=BOUND)
    for number in range(EVENTS):
        waiting.append(number)
        count.held = max(count.held, len(waiting))
        if number % SLOW == 0:
            waiting.popleft()
            count.had += 1
    count.had += len(waiting)


def waits(now: Work, count: Count) -> None:
    """The same with a bound, and the worker waits for room. Breaks with a slow reader: its page decides how fast the task runs."""
    waiting = deque[int]()
    for number in range(EVENTS):
        if len(waiting) == BOUND:
            waiting.popleft()
            count.had, count.waited = count.had + 1, count.waited + 1
        waiting.append(number)
        count.held = max(count.held, len(waiting))
    count.had += len(waiting)


def position(now: Work, count: Count) -> None:
    """The library's: a reader has a position, and reads on in the log when it can, a few at a time."""
    reader = Follower(now.queue.engine)
    for number in range(EVENTS):
        _told(now, number)
        if number % SLOW == 0:
            count.had += len(reader.read(most=1))
    while entries := reader.read(most=BOUND):
        count.held, count.had = max(count.held, len(entries)), count.had + len(entries)


def slow(design: Design) -> Scenario:
    """A slow reader under this design."""
    return Scenario(f"slow.{design.__name__}", partial(_run, design=design), [slow_reader_costs_nobody])


def _run(process: Process, design: Design) -> str:
    count = Count()
    design(work(process), count)
    return str(count)


def slow_reader_costs_nobody(end: End) -> str | None:
    """An invariant: little is held, nothing is lost and nobody waits."""
    told = str(end.last.value)
    held, had, waited = (int(word) for word in told.replace(",", "").split() if word.isdigit())
    if held > BOUND:
        return f"{held} events are held for one reader"
    if had < EVENTS:
        return f"it never has {EVENTS - had} of {EVENTS} events"
    return f"the worker waits for it {waited} times" if waited else None


def slow_readers() -> Table:
    """The four designs, run now."""
    rows = []
    for design in (queue_each, drops, waits, position):
        why = run_once(slow(design)).broken
        rows.append(
            [design.__name__.replace("_", " "), bad(why) if why else good(f"at most {BOUND} are held, all come")]
        )
    return table(["", f"a reader that takes one of {SLOW}"], rows)
