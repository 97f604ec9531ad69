"""What a gate and a connection ask of whoever lets the actors move, and the simplest answers: nobody else is there.

Not handled here: several actors (see `actor` and `baton`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, Protocol

from labkit.clock import VirtualClock
from labkit.faults.fault import Crash


class Stage(Protocol):
    """What the gate asks of whoever lets the actors move (see `baton`)."""

    def turn(self) -> None:
        """Another actor may move now."""

    def sleep(self, seconds: float) -> None:
        """Virtual time passes for this actor."""

    def leave(self, how: str) -> NoReturn:
        """The code that calls this swallows its own death again and again: never let it go on."""


class Alone:
    """The stage of a process that has the world to itself."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock

    def turn(self) -> None:
        return None

    def sleep(self, seconds: float) -> None:
        self.clock.sleep(seconds)

    def leave(self, how: str) -> NoReturn:
        raise Crash(how)


class LockWait:
    """How a statement that meets a lock waits. `retry` returns True when it is worth asking again (see `baton`)."""

    victim = False  # the statement was cancelled to end a deadlock
    about_to = ""  # the statement that waits for its turn
    looked = False  # its code has looked at a file, which is no crossing
    patience = 0.1  # real seconds without an answer of the server, after which `no_answer` is called

    def retry(self) -> bool:
        return False

    def starts_thread(self) -> None:
        """The code of the process is about to start a thread."""

    def refused(self) -> None:
        """A statement was refused at once for a lock that another holds: asking again is worth it when a transaction has ended."""

    def ended(self) -> None:
        """A transaction ended: whoever waits for a lock may ask again."""

    def inside(self, socket: Any, act: Callable[[], Any]) -> Any:
        """Do an act that may block inside the server at the other end of this socket."""
        return act()

    def no_answer(self) -> None:
        """The server has been silent for a while: perhaps the statement waits for a lock."""
