"""The threads of the queue, in one place: whoever wants no threads hands in something else.

A worker asks for two things: that its heartbeat is called every so many seconds while it works (`Every`), and a way to
wait until there may be something to do (`Pause`). Here both are made of real threads and real time. A test hands in
ones that hang on its clock, and then owns every thread there is.

Not handled here: what is called. A heartbeat must not raise, or there would be no further one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from labkit.errors import UsageError

Stop = Callable[[], object]
Every = Callable[[float, Callable[[], object]], Stop]  # (seconds, act) -> what ends it
Pause = Callable[[float], object]  # waits up to so many seconds
Spawn = Callable[[str, Callable[[], None]], threading.Thread]


def in_thread(seconds: float, act: Callable[[], object]) -> Stop:
    """Call `act` every `seconds` in a thread of its own, the first time after `seconds`, until stopped."""
    stopped = threading.Event()

    def beat() -> None:
        while not stopped.wait(seconds):
            act()

    thread("labkit heartbeat", beat)
    return stopped.set


def thread(name: str, run: Callable[[], None]) -> threading.Thread:
    """A started thread that does not keep the process alive. `UsageError` where the machine gives no more."""
    started = threading.Thread(target=run, name=name, daemon=True)
    try:
        started.start()
    except RuntimeError as error:
        raise UsageError(f"{name} cannot have a thread ({error}): take fewer workers") from error
    return started


class Wakeup:
    """Waiting that can be cut short. A wake that comes before the wait is not lost: that wait returns at once."""

    def __init__(self) -> None:
        self._woken = threading.Event()

    def __call__(self, seconds: float) -> None:
        self._woken.wait(seconds)
        self._woken.clear()

    def wake(self) -> None:
        self._woken.set()
