"""Several actors, of which exactly one moves: whoever holds the baton runs until its next crossing.

The order in which actors move is an input. An actor gives the baton up before each crossing; who gets it next is decided by a `choose` function that
an order, or a search over orders, supplies. A sleeping actor wakes when nobody else can move (the clock jumps). An actor that meets a lock waits until
some transaction has ended: on SQLite we see the refusal, on PostgreSQL the statement blocks inside the server and we ask `pg_blocking_pids`. When
nobody can move any more, that is a deadlock and is said so. Nothing here depends on how fast a machine is, but for one thing that is the server's own:
where two wait for one row, PostgreSQL decides which of them gets it first.

Ctrl-C is for whoever runs the stage: no actor's code can take it for an error of its own and go on.

Not handled here: which orders are worth trying (see `interleave`).
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from greenlet import getcurrent

from labkit.clock import VirtualClock
from labkit.faults.actor import ASLEEP, BLOCKED, LOCKED, LOOK_AGAIN, READY, Actor, Server
from labkit.faults.threaded import ThreadedActor, closed_door

__all__ = ["Actor", "Baton", "Choose", "NeedsThreads", "Server"]

Choose = Callable[[Sequence[Actor], Actor | None], Actor]


class NeedsThreads(Exception):
    """The code of an actor cannot be switched as a greenlet: the run must be made again, with threads."""


class Baton:
    """Runs actors to their ends, one moving at a time. `choose(ready, current)` says who moves next.

    Actors are threads if `threaded`, and in a notebook, which runs in an event loop of its own; else they are greenlets.
    """

    def __init__(
        self,
        clock: VirtualClock,
        choose: Choose | None = None,
        server: Server | None = None,
        *,
        threaded: bool = False,
    ) -> None:
        self.clock, self.server = clock, server
        self._choose = choose or _go_on
        self.actors: list[Actor] = []
        self.moves = 0
        self.crowd = 0  # actors that have not ended
        self.current: Actor | None = None
        self.deadlock = ""
        self.threaded = threaded or asyncio._get_running_loop() is not None
        self.needs_threads = False
        self.failure: BaseException | None = None  # of ours, not of an actor's code
        self.hub, self.thread = getcurrent(), threading.get_ident()  # where an actor that gives the baton up comes back to
        self.door = closed_door()  # the same for threads
        self._interrupted = False

    def add(self, body: Callable[[Actor], None]) -> Actor:
        actor = (ThreadedActor if self.threaded else Actor)(self, len(self.actors) + 1, body)
        self.actors.append(actor)
        return actor

    def run(self) -> None:
        """Let the actors move until each has ended or can never move again. Raises `NeedsThreads` when greenlets will not do."""
        self.crowd = len(self.actors)
        hooks = sys.get_asyncgen_hooks()
        try:
            with self._hearing_interrupts():
                while (chosen := self._next()) is not None:
                    self.current = chosen
                    self.moves = chosen.moved_at = self.moves + 1
                    chosen.move()
                    self._raise_what_came()
        except BaseException:
            for actor in self.actors:
                actor.abandon()
            sys.set_asyncgen_hooks(*hooks)  # an abandoned event loop may have left its own
            raise

    def _raise_what_came(self) -> None:
        if self._interrupted:
            raise KeyboardInterrupt
        if self.needs_threads:
            raise NeedsThreads
        if self.failure is not None:
            raise self.failure

    @contextmanager
    def _hearing_interrupts(self) -> Iterator[None]:
        """Ctrl-C ends the run, also where an actor's code swallows it."""
        ours = threading.current_thread() is threading.main_thread()
        if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return
        signal.signal(signal.SIGINT, self._interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _interrupt(self, *signalled: Any) -> None:
        self._interrupted = True
        raise KeyboardInterrupt

    def _next(self) -> Actor | None:
        while True:
            self._look_at_blocked()
            ready = [a for a in self.actors if a.state == READY]
            if ready:
                return self._choose(ready, self.current)
            if not self._wake_somebody():
                return None

    def unlock(self) -> None:
        for actor in self.actors:
            if actor.state == LOCKED:
                actor.state = READY

    def _wake_somebody(self) -> bool:
        """Nobody is ready: let time pass for a sleeper or a waiter, or call it a deadlock. False when all is over."""
        timed = [a for a in self.actors if a.state in (ASLEEP, LOCKED)]
        if timed:
            first = min(timed, key=lambda a: (a.until, a.number))
            self.clock.sleep(first.until - self.clock.elapsed)
            first.state = READY
            return True
        stuck = [a for a in self.actors if a.state == BLOCKED]
        if not stuck or self.server is None:
            return False
        circle = _circle(stuck, self.server)
        if not circle:
            return True
        names = " and ".join(f"p{a.number}" for a in circle)
        wait = "wait for each other" if len(circle) > 1 else "waits for what it holds itself"
        self.deadlock = f"{names} {wait}"
        self._give_up(max(circle, key=lambda a: a.moved_at), self.server)  # who closed the circle
        return True

    def _look_at_blocked(self) -> None:
        """After each move: whoever waited for a lock inside the server and has it now, comes back before anybody else moves."""
        # subtle: who comes back may have held up another who waits, so all are asked again until nobody comes
        while any(self._comes_back(actor) for actor in self.actors if actor.state == BLOCKED):
            pass

    def _comes_back(self, actor: Actor) -> bool:
        while not actor.has_answer():
            if actor.is_blocked():
                return False
            actor.has_answer(LOOK_AGAIN)
        actor.state = READY
        return True

    def _give_up(self, victim: Actor, server: Server) -> None:
        """Let the server refuse what an actor waits for."""
        victim.victim = True
        if victim.asks is not None:
            server.cancel(victim.asks.backend_pid)
        while not victim.has_answer(LOOK_AGAIN):
            pass
        victim.state = READY


def _circle(stuck: Sequence[Actor], server: Server) -> list[Actor]:
    """Of those who wait inside the server, those without whom nobody would be stuck: others only wait for one of them.

    None when somebody waits no longer: the server has moved on since it was asked.
    """
    at = {a.asks.backend_pid: a for a in stuck if a.asks is not None}
    held_up_by = {a: server.blockers(backend) for backend, a in at.items()}
    if not all(held_up_by.values()):
        return []
    waits_for = {a: [at[b] for b in blockers if b in at] for a, blockers in held_up_by.items()}
    for alone in (a for a, others in waits_for.items() if not others):
        return [alone]  # it waits for a connection that nobody moves while it waits: its own
    actor, way = stuck[0], []
    while actor not in way:
        way.append(actor)
        actor = min(waits_for[actor], key=lambda a: a.number)
    return sorted(way[way.index(actor) :], key=lambda a: a.number)


def _go_on(ready: Sequence[Actor], current: Actor | None) -> Actor:
    return current if current is not None and current in ready else ready[0]
