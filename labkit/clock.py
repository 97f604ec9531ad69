"""Time as an input: whoever needs the time is handed a `Clock`.

`SystemClock` is the machine's. `VirtualClock` stands still until somebody sleeps, so ten minutes take no time and every run
shows the same instants. This is the only module of labkit that may read the machine's clock.

Not handled here: deadlines (see `deadline`), and who moves next when several actors sleep (see `faults.baton`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol, runtime_checkable

STORY_BEGINS = datetime(2026, 1, 9, 17, 0, tzinfo=UTC)  # a Friday, five in the afternoon


@runtime_checkable
class Clock(Protocol):
    """What labkit asks of a clock: an instant for people, seconds for measuring, and a way to wait."""

    def now(self) -> datetime:
        """The wall clock as an aware UTC instant. It may be stepped, so never measure with it."""

    def monotonic(self) -> float:
        """Seconds since some start. Never steps; means nothing to another process."""

    def sleep(self, seconds: float) -> None:
        """Wait for `seconds`; zero or less returns at once."""

    async def asleep(self, seconds: float) -> None:
        """The same for async code."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds))

    async def asleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))

    def __repr__(self) -> str:
        return "<SystemClock>"


class VirtualClock:
    """A clock that moves only when somebody sleeps on it: the same instants in every run, and no waiting.

    `elapsed` is in seconds since the start, `step` is how far the wall clock was stepped away from it.
    `moved` is called after every change, for whoever has things to do at an instant.
    """

    def __init__(self, start: datetime = STORY_BEGINS, *, moved: Callable[[], None] = lambda: None) -> None:
        self.start = start
        self.elapsed = 0.0
        self.step = 0.0
        self.moved = moved

    def now(self) -> datetime:
        return self.start + timedelta(seconds=self.elapsed + self.step)

    def monotonic(self) -> float:
        return self.elapsed

    def sleep(self, seconds: float) -> None:
        self.elapsed += max(0.0, seconds)
        self.moved()

    async def asleep(self, seconds: float) -> None:
        self.sleep(seconds)
        await asyncio.sleep(0)

    def jump(self, seconds: float) -> None:
        """Step the wall clock, as an administrator or NTP does; `monotonic` does not notice."""
        self.step += seconds
        self.moved()

    def __repr__(self) -> str:
        return f"<VirtualClock +{self.elapsed:g}s>"
