"""Friday evening, computed: who asks when and who waits how long, for each way to take deployments on.

From five to ten o'clock somebody asks for a deployment every 90 seconds, and each takes ten minutes. Virtual time jumps
from one event to the next, so the whole evening takes a moment. A free worker takes what the queue's order gives it:
highest priority, then oldest. `Line` is that order in memory; `stored=True` asks the real queue on SQLite instead, and
a test holds one against the other, start by start.

Not handled here: workers that die and requests that get lost (see `accepting`), pictures (see `evening_charts`).
"""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Protocol

from labkit.clock import VirtualClock
from labkit.errors import QueueFull
from labkit.lessons.queues import Stored

COUNT, EVERY, WORK = 200, 90.0, 600.0  # deployments, seconds from one to the next, seconds for each
HOTFIX = 50  # its place among those who ask, counted from 0: it comes at 18:15
URGENT = 10  # a priority
PATIENCE = 24 * 3600.0  # seconds after which the client has gone


class Waiting(Protocol):
    """What the evening asks of a queue. Deployments go by their number."""

    def submit(self, number: int, urgent: bool) -> None: ...

    def claim(self) -> int | None: ...

    def complete(self, number: int) -> None: ...


class Line:
    """The queue's order in memory. `bound` is how many may wait (None: any number), `reserve` is for urgent ones alone."""

    def __init__(self, bound: int | None, reserve: int, retry_after: float) -> None:
        self.bound, self.reserve, self.retry_after = bound, reserve, retry_after
        self._waiting: list[tuple[int, int, int]] = []
        self._accepted = 0

    def submit(self, number: int, urgent: bool) -> None:
        if self.bound is not None and len(self._waiting) >= self.bound + self.reserve * urgent:
            raise QueueFull(retry_after=self.retry_after)
        self._accepted += 1
        heappush(self._waiting, (-URGENT * urgent, self._accepted, number))

    def claim(self) -> int | None:
        return heappop(self._waiting)[-1] if self._waiting else None

    def complete(self, number: int) -> None:
        return None


@dataclass(frozen=True)
class Evening:
    """When each deployment was asked for, accepted and begun, in seconds since five o'clock, and how often refused."""

    workers: int
    asked: tuple[float, ...]
    accepted: tuple[float, ...]
    began: tuple[float, ...]
    refusals: tuple[int, ...]

    @property
    def waits(self) -> list[float]:
        """From the first time that somebody asked until a worker began."""
        return [began - asked for began, asked in zip(self.began, self.asked, strict=True)]

    @property
    def in_line(self) -> list[float]:
        """From the acceptance until a worker began."""
        return [began - accepted for began, accepted in zip(self.began, self.accepted, strict=True)]

    @property
    def timed_out(self) -> int:
        """How many clients had gone when a worker came to them."""
        return sum(wait > PATIENCE for wait in self.waits)

    @property
    def over(self) -> float:
        """When the last deployment ended."""
        return max(self.began) + WORK

    def length(self, at: float) -> int:
        """How many were waiting in the queue then."""
        return sum(accepted <= at < began for accepted, began in zip(self.accepted, self.began, strict=True))

    @property
    def longest(self) -> int:
        """How many were waiting in the queue when it was longest."""
        return max(self.length(at) for at in self.accepted)

    def __repr__(self) -> str:
        return f"<Evening workers={self.workers} refusals={sum(self.refusals)} timed_out={self.timed_out}>"


def evening(
    workers: int = 1,
    *,
    urgent: Collection[int] = (),
    bound: int | None = None,
    reserve: int = 0,
    retry_after: float = WORK,
    stored: bool = False,
) -> Evening:
    """The evening under so many workers. `urgent` are the numbers of those who ask with priority.

    `workers=1` and nothing else is the synchronous handler. Who is refused comes back after `retry_after` to twice that.
    """
    clock = VirtualClock()
    doors = bound, reserve, retry_after
    waiting: Waiting = Stored(clock, *doors, URGENT) if stored else Line(*doors)
    return _Friday(clock, waiting, workers, frozenset(urgent)).run()


class _Friday:
    """The evening while it goes on."""

    def __init__(self, clock: VirtualClock, waiting: Waiting, workers: int, urgent: frozenset[int]) -> None:
        self.clock, self.waiting, self.workers, self.urgent = clock, waiting, workers, urgent
        self.coming = [(number * EVERY, number) for number in range(COUNT)]
        self.busy: list[tuple[float, int]] = []  # (until when, with which deployment)
        self.accepted, self.began, self.refusals = [0.0] * COUNT, [0.0] * COUNT, [0] * COUNT
        self.rng = random.Random("labkit friday evening")

    def run(self) -> Evening:
        asked = tuple(at for at, _ in self.coming)
        while self.coming or self.busy:
            self.clock.sleep(min(self.coming[:1] + self.busy[:1])[0] - self.clock.monotonic())
            self._end()
            while self.coming and self.coming[0][0] <= self.clock.monotonic():
                self._ask(heappop(self.coming)[1])
                self._begin()
        return Evening(self.workers, asked, tuple(self.accepted), tuple(self.began), tuple(self.refusals))

    def _end(self) -> None:
        while self.busy and self.busy[0][0] <= self.clock.monotonic():
            self.waiting.complete(heappop(self.busy)[1])
        self._begin()

    def _begin(self) -> None:
        while len(self.busy) < self.workers and (number := self.waiting.claim()) is not None:
            self.began[number] = self.clock.monotonic()
            heappush(self.busy, (self.clock.monotonic() + WORK, number))

    def _ask(self, number: int) -> None:
        try:
            self.waiting.submit(number, number in self.urgent)
        except QueueFull as full:
            self.refusals[number] += 1
            back = full.retry_after * (1 + self.rng.random())
            heappush(self.coming, (self.clock.monotonic() + back, number))
        else:
            self.accepted[number] = self.clock.monotonic()
