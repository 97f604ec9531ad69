"""A deadline: an instant set once, after which the work is no longer worth doing.

The instant is stored with the task and is never set again: a process that recovers gets what is left, not the whole
time anew. Time spent queued counts, since whoever waits for the answer has been waiting. Within a process what is
left is measured on the monotonic clock, so a stepped wall clock neither gives nor takes time.

Not handled here: whether the worker is still alive. That is a lease (see `queue`), a different thing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from labkit.clock import Clock
from labkit.errors import DeadlineExceeded


class Deadline:
    """The instant `at` (aware), measured from now on by the monotonic clock."""

    def __init__(self, at: datetime, clock: Clock) -> None:
        self.at = at
        self._clock = clock
        self._end = clock.monotonic() + (at - clock.now()).total_seconds()

    @classmethod
    def after(cls, seconds: float, clock: Clock) -> Deadline:
        """The deadline that ends `seconds` from now. Store its `at`: a restart makes `Deadline(at, clock)` of it."""
        return cls(clock.now() + timedelta(seconds=seconds), clock)

    def remaining(self) -> float:
        """Seconds that are left; below zero when it has passed."""
        return self._end - self._clock.monotonic()

    def for_step(self, own: float | None = None) -> float:
        """Seconds that a step may take: its own limit, at most what remains; `DeadlineExceeded` if nothing does."""
        left = self.remaining()
        if left <= 0:
            raise DeadlineExceeded()
        return left if own is None else min(own, left)

    def __repr__(self) -> str:
        return f"<Deadline {self.at.isoformat(' ')} {self.remaining():g}s left>"


def run_with_deadline(steps: Sequence[Callable[[float], str]], deadline: datetime, clock: Clock) -> list[str]:
    """The results of all steps, each given the seconds that remain; `DeadlineExceeded` (`completed`) at their end.

    A step that ends exactly at the deadline is in time; a later one is not, and its result does not count.
    """
    limit = Deadline(deadline, clock)
    completed: list[str] = []
    for step in steps:
        if (left := limit.remaining()) <= 0:
            raise DeadlineExceeded(completed=completed)
        result = step(left)
        if limit.remaining() < 0:
            raise DeadlineExceeded(completed=completed)
        completed.append(result)
    return completed
