"""An actor: one process on a stage with others, as its gate and its connections see the stage.

At each crossing it lets others move, at each sleep it sleeps in virtual time, at each lock it waits until asking again is worth it. Its code runs as a
greenlet: all actors share one thread, and none moves before it is switched to. Code that starts threads of its own, or an event loop, cannot be switched
so; the run is given up and made again with actors that are threads (see `threaded`).

Not handled here: who moves next (see `baton`), and what a library keeps for each thread, such as a `threading.local` or who holds an `RLock`: actors share it.
"""

from __future__ import annotations

import asyncio
import select
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from greenlet import getcurrent, greenlet

from labkit.database import BUSY_SECONDS
from labkit.faults.fault import Crash
from labkit.faults.stage import LockWait

if TYPE_CHECKING:
    from labkit.faults.baton import Baton

READY, ASLEEP, LOCKED, BLOCKED, DONE = "ready", "asleep", "locked", "blocked", "done"
LOOK_AGAIN = 0.001  # real seconds until we ask the server whether a statement that is not back waits for a lock
LOOK_AT_ONE = 0.05  # the same while nobody else is there: it can only wait for itself, and hardly anybody does

_left_behind: list[greenlet] = []  # code that will never get further, kept so that nobody ever runs its `finally`


class Socket(Protocol):
    """A connection to a server, as the driver has it."""

    @property
    def socket(self) -> int: ...

    @property
    def backend_pid(self) -> int: ...


class Server(Protocol):
    """What the stage asks of a database whose statements block inside it."""

    def blockers(self, backend: int) -> set[int]: ...

    def cancel(self, backend: int) -> None: ...

    def settle(self) -> None: ...


class Actor(LockWait):
    """One process on the stage. `number` counts from 1; `left` says why it went although its code never ended."""

    def __init__(self, stage: Baton, number: int, body: Callable[[Actor], None]) -> None:
        self.stage, self.number, self.body = stage, number, body
        self.state = READY
        self.moved_at = 0  # which move of the stage its last one was
        self.until = 0.0  # when a sleeper wakes, or a waiter for a lock gives up
        self.left = ""
        self.asks: Socket | None = None  # where our statement runs inside the server right now
        self.victim = False
        self.beaten = False  # a lock was refused since our last move
        self.moves = 0
        self._goes_on_at = greenlet(self._play)  # the place in its code

    def move(self) -> None:
        """Called by the stage: go on until the baton is handed back, or to the end."""
        self.moves += 1
        self._goes_on_at.switch()

    def hand_back(self, state: str) -> None:
        """Give the baton up and return when it is ours again."""
        self.state = state
        if threading.get_ident() != self.stage.thread:
            self.starts_thread()  # it has started one behind our back
        self._goes_on_at = getcurrent()
        if asyncio._get_running_loop() is not None:
            asyncio._set_running_loop(None)  # subtle: this code never goes on, and must not leave its loop to the thread
            self.stage.needs_threads = True
        self.stage.hub.switch()
        self.state = READY

    def starts_thread(self) -> None:
        self.stage.needs_threads = True
        raise Crash("this run is made again")

    def _play(self) -> None:
        try:
            self.body(self)
        except Crash:
            pass
        except BaseException as error:
            self.stage.failure = error
        finally:
            self._end()

    def _end(self) -> None:
        self.state = DONE
        self.stage.crowd -= 1

    def abandon(self) -> None:
        """Never go on, and let nobody clean up."""
        if self.state != DONE:
            self._end()
            _left_behind.append(self._goes_on_at)

    # what a gate asks of its stage

    def turn(self) -> None:
        if self.stage.crowd > 1:
            if not self.beaten:
                return self.hand_back(READY)
            # subtle: whoever asks again and again for a lock must let its holder move, or the two would never end
            self.beaten = False
            self.retry()

    def sleep(self, seconds: float) -> None:
        if self.stage.crowd > 1:
            self.until = self.stage.clock.elapsed + max(0.0, seconds)
            self.hand_back(ASLEEP)
        else:
            self.stage.clock.sleep(seconds)

    def leave(self, how: str) -> NoReturn:
        if threading.get_ident() == self.stage.thread:
            self.left, self._goes_on_at = how, getcurrent()
            self.abandon()
            while True:
                self.stage.hub.switch()
        while True:  # a thread that the process left behind
            threading.Event().wait()

    # what a connection asks when it meets a lock

    def retry(self) -> bool:
        self.until = self.stage.clock.elapsed + BUSY_SECONDS
        self.hand_back(LOCKED)
        return self.until > self.stage.clock.elapsed

    def refused(self) -> None:
        self.beaten = True

    def ended(self) -> None:
        self.stage.unlock()

    # what a connection asks whose statements block inside a server

    def inside(self, socket: Socket, act: Callable[[], Any]) -> Any:
        if self.stage.server is None:
            return act()
        self.asks, self.victim = socket, False
        self.patience = LOOK_AGAIN if self.stage.crowd > 1 else LOOK_AT_ONE
        try:
            return act()
        finally:
            self.asks, self.patience = None, LockWait.patience

    def no_answer(self) -> None:
        while self.is_blocked() and not self.has_answer():
            self.hand_back(BLOCKED)

    def is_blocked(self) -> bool:
        """Whether our statement waits inside the server for another's lock."""
        server = self.stage.server
        return server is not None and self.asks is not None and bool(server.blockers(self.asks.backend_pid))

    def has_answer(self, patience: float = 0.0) -> bool:
        """Whether the server has said something, within so many real seconds."""
        return self.asks is not None and bool(select.select([self.asks.socket], [], [], patience)[0])
