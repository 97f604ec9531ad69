"""A lifeline: whoever hangs on it ends as soon as it is cut, and when the process that holds it is gone, however that ended.

It is a pipe into which nothing is ever written. One end is held; the other one is handed to a child as its standard input, and comes to its end with the
holder.

Not handled here: what a child has started itself, which needs a line of its own.
"""

from __future__ import annotations

import os
import threading


class Lifeline:
    """`end` is what a child is given. Close it, or use it in a `with`: both cut it."""

    def __init__(self) -> None:
        self.end, self._held = os.pipe()
        self._mutex = threading.Lock()

    def cut(self) -> None:
        """End whoever hangs on it, now and from now on. From any thread, and twice is fine."""
        with self._mutex:
            held, self._held = self._held, -1
        if held >= 0:
            os.close(held)

    def close(self) -> None:
        self.cut()
        with self._mutex:
            end, self.end = self.end, -1
        if end >= 0:
            os.close(end)

    def __enter__(self) -> Lifeline:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Lifeline {'cut' if self._held < 0 else 'held'}>"


def hang_on() -> None:
    """In the child: end with the line that is this process's standard input, whatever else the process is at."""
    line = os.dup(0)  # subtle: pytest puts something else in place of standard input
    threading.Thread(target=_end_with, args=(line,), daemon=True, name="labkit lifeline").start()


def _end_with(line: int) -> None:
    os.read(line, 1)
    os._exit(1)
