"""`time.sleep` in an answer lets the world's time pass instead of the machine's, and others move meanwhile.

An answer that waits a little before it tries again is a right answer, and must not make a check of some hundred orders slow. It sleeps as a
process sleeps: through its gate. Where waiting is what is asked for, the exercise hands out a clock, and `time.sleep` returns at once: no time passes.
Everybody else's `time.sleep` is what it always was.

Not handled here: other ways to wait.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from labkit.checks.elsewhere import pass_time
from labkit.faults.process import Process

_whose: ContextVar[tuple[Process, bool] | None] = ContextVar("whose", default=None)  # and whether its naps take time
_asleep = time.sleep


def _sleep(seconds: float, /) -> None:
    found = _whose.get()
    if found is None:
        _asleep(seconds)
    elif seconds < 0:
        raise ValueError("sleep length must be non-negative")
    else:
        process, passing = found
        pass_time(seconds)
        if passing:
            process.clock.sleep(float(seconds))


@contextmanager
def naps_of(process: Process, *, passing: bool = True) -> Iterator[None]:
    """While this lasts, `time.sleep` in the code that runs here is the process's; not `passing`, it takes no time."""
    time.sleep = _sleep  # type: ignore[assignment]  # subtle: for good, since a source that is executed anew takes it by `from time import sleep`
    before = _whose.set((process, passing))
    try:
        yield
    finally:
        _whose.reset(before)
