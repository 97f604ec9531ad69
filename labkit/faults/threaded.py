"""Actors that are threads, for code that starts threads of its own or runs an event loop.

The rules are those of all actors: one holds the baton, the others wait. But here whoever crosses a gate for a process gives the baton up for it, also a
thread that its code has started. It is slower, since the machine decides when a thread that got the baton wakes up; so it is only done where it must be.

Not handled here: two threads of one process that call out at the same time. Which of them comes first is luck.
"""

from __future__ import annotations

import threading
from typing import NoReturn

from labkit.faults.actor import DONE, READY, Actor

ACTOR = "labkit actor"  # the name of such a thread


class ThreadedActor(Actor):
    """An actor with a thread of its own."""

    _door: threading.Lock | None = None  # who waits at it has given the baton up

    def move(self) -> None:
        self.moves += 1
        if self._door is None:
            self._door = closed_door()
            threading.Thread(target=self._play, daemon=True, name=ACTOR).start()
        else:
            self._door.release()
        self.stage.door.acquire()

    def hand_back(self, state: str) -> None:
        self.state = state
        self.stage.door.release()
        if self._door is not None:
            self._door.acquire()
        self.state = READY

    def _end(self) -> None:
        super()._end()
        self.stage.door.release()

    def starts_thread(self) -> None:
        return None

    def abandon(self) -> None:
        if self.state != DONE:
            super()._end()

    def leave(self, how: str) -> NoReturn:
        self.left = how
        self._end()
        while True:  # this thread's code will never get further
            threading.Event().wait()


def closed_door() -> threading.Lock:
    """A lock as the cheapest way to wake one thread: acquire waits until somebody releases."""
    door = threading.Lock()
    door.acquire()
    return door
