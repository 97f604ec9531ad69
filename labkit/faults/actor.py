"""An actor: one process on a stage with others, as its gate and its connections see the stage.

At each crossing it lets others move, at each sleep it sleeps in virtual time, at each lock it waits until asking again is worth it.

Not handled here: who moves next (see `baton`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from labkit.database import BUSY_SECONDS
from labkit.faults.stage import LockWait

if TYPE_CHECKING:
    from labkit.faults.baton import Baton

READY, ASLEEP, LOCKED, BLOCKED, DONE = "ready", "asleep", "locked", "blocked", "done"


class Server(Protocol):
    """What the stage asks of a database whose statements block inside it."""

    def blockers(self, backend: int) -> bool: ...

    def cancel(self, backend: int) -> None: ...

    def settle(self) -> None: ...


class Actor(LockWait):
    """One process on the stage. `number` counts from 1; `left` says why it went although its code never ended."""

    def __init__(self, stage: Baton, number: int, body: Callable[[Actor], None]) -> None:
        self.stage, self.number, self.body = stage, number, body
        self.state = READY
        self.until = 0.0  # when a sleeper wakes, or a waiter for a lock gives up
        self.left = ""
        self.go = closed_door()
        self.came_back = threading.Semaphore(0)
        self.backend: int | None = None  # the server process inside which our statement runs right now
        self.asked = 0  # statements
        self.victim = False
        self.beaten = False  # a lock was refused since our last move
        self.thread = 0
        self.moves = 0

    # what a gate asks of its stage

    def turn(self) -> None:
        if self.stage.crowd > 1:
            if not self.beaten:
                return self.stage.hand_back(self, READY)
            # subtle: whoever asks again and again for a lock must let its holder move, or the two would never end
            self.beaten = False
            self.retry()

    def sleep(self, seconds: float) -> None:
        if self.stage.crowd > 1:
            self.until = self.stage.clock.elapsed + max(0.0, seconds)
            self.stage.hand_back(self, ASLEEP)
        else:
            self.stage.clock.sleep(seconds)

    def leave(self, how: str) -> NoReturn:
        if threading.get_ident() == self.thread:  # else it is a thread that the process left behind
            self.left = how
            self.stage.finish(self)
        while True:  # this thread's code will never get further
            threading.Event().wait()

    # what a connection asks when it meets a lock

    def retry(self) -> bool:
        stage = self.stage
        self.until = stage.clock.elapsed + BUSY_SECONDS
        stage.hand_back(self, LOCKED)
        return self.until > stage.clock.elapsed

    def refused(self) -> None:
        self.beaten = True

    def ended(self) -> None:
        self.stage.unlock()

    def inside(self, backend: int, act: Callable[[], Any]) -> Any:
        if self.stage.server is None:
            return act()
        self.stage.go_to_server(self, backend)
        try:
            return act()
        finally:
            self.stage.back_from_server(self)


def closed_door() -> threading.Lock:
    """A lock as the cheapest way to wake one thread: acquire waits until somebody releases."""
    door = threading.Lock()
    door.acquire()
    return door
