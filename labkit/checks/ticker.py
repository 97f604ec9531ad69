"""How far long work is, in one line of a terminal that is gone when the work is done.

Nothing is shown in the first moment, and nothing at all where nobody looks: in a pipe, a file or a notebook. A line never wraps, so that it can be erased.

Not handled here: what the line says (see `listening`).
"""

from __future__ import annotations

import shutil
from typing import TextIO

from labkit.clock import Clock, SystemClock

A_MOMENT, EVERY = 1.0, 0.1  # seconds before the first line, and between two


class Ticker:
    """Call it with whatever can say how far things are; leave it as a context to erase the line."""

    def __init__(self, stream: TextIO, clock: Clock | None = None) -> None:
        self._stream, self._clock = stream, clock or SystemClock()
        self._next = self._clock.monotonic() + A_MOMENT if stream.isatty() else float("inf")
        self._width = 0  # of the line that stands there

    def __call__(self, said: object) -> None:
        now = self._clock.monotonic()
        if now >= self._next:
            self._next = now + EVERY
            self._show(str(said)[: shutil.get_terminal_size().columns - 1])

    def _show(self, line: str) -> None:
        self._stream.write("\r" + line.ljust(self._width))
        self._stream.flush()
        self._width = len(line)

    def __enter__(self) -> Ticker:
        return self

    def __exit__(self, *error: object) -> None:
        if self._width:
            self._show("")
            self._stream.write("\r")
            self._stream.flush()
