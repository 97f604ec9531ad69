"""Several actors, of which exactly one moves: whoever holds the baton runs until its next crossing.

Actors are threads, and the order in which they move is an input. An actor gives the baton up before each crossing; who gets it next is decided by a
`choose` function that an order, or a search over orders, supplies. A sleeping actor wakes when nobody else can move (the clock jumps). An
actor that meets a lock waits until some transaction has ended: on SQLite we see the refusal, on PostgreSQL the statement blocks inside the server
and we ask `pg_blocking_pids`. When nobody can move any more, that is a deadlock and is said so. Nothing here depends on how fast a machine is.

Not handled here: which orders are worth trying (see `interleave`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from labkit.clock import VirtualClock
from labkit.faults import threads
from labkit.faults.actor import ASLEEP, BLOCKED, DONE, LOCKED, READY, Actor, Server, closed_door
from labkit.faults.fault import Crash

__all__ = ["Actor", "Baton", "Choose", "Server"]

LOOK_AGAIN = 0.001  # real seconds until we ask the server whether a statement that is not back waits for a lock
LOOK_AT_ONE = 0.05  # the same while nobody else is there: it can only wait for itself, and hardly anybody does


Choose = Callable[[Sequence[Actor], Actor | None], Actor]


class Baton:
    """Runs actors to their ends, one moving at a time. `choose(ready, current)` says who moves next; whoever gives the baton up asks it."""

    def __init__(self, clock: VirtualClock, choose: Choose | None = None, server: Server | None = None) -> None:
        self.clock, self.server = clock, server
        self._choose = choose or _go_on
        self.actors: list[Actor] = []
        self.crowd = 0  # actors that have not ended
        self.current: Actor | None = None
        self._over = closed_door()
        self._mutex = threading.Lock()
        self.deadlock = ""
        self.failure: BaseException | None = None  # of ours, not of an actor's code

    def add(self, body: Callable[[Actor], None]) -> Actor:
        actor = Actor(self, len(self.actors) + 1, body)
        self.actors.append(actor)
        return actor

    def run(self) -> None:
        """Let the actors move until each has ended or can never move again."""
        self.crowd = len(self.actors)
        self._pass_on()
        if self.server is None:
            self._over.acquire()
        else:
            self._watch_server()
        if self.failure is not None:
            raise self.failure

    def _play(self, actor: Actor) -> None:
        actor.thread = threading.get_ident()
        try:
            actor.body(actor)
        except Crash:
            pass
        except BaseException as error:
            self.failure = error
        finally:
            self.finish(actor)

    def _pass_on(self, giver: Actor | None = None) -> bool:
        """Called by whoever holds the baton: give it to the next. True when that is the giver itself."""
        chosen = self._next()
        if chosen is None:
            self._over.release()
            return False
        self.current = chosen
        chosen.moves += 1
        if chosen is giver:
            return True
        if chosen.moves == 1:
            threads.start(lambda: self._play(chosen))
        else:
            chosen.go.release()
        return False

    def _next(self) -> Actor | None:
        while True:
            self._look_at_blocked()
            ready = [a for a in self.actors if a.state == READY]
            if ready:
                return self._choose(ready, self.current)
            if not self._wake_somebody():
                return None

    def hand_back(self, actor: Actor, state: str) -> None:
        """Called by the actor that holds the baton: give it up and wait to get it again."""
        actor.state = state
        if not self._pass_on(actor):
            actor.go.acquire()
        actor.state = READY

    def finish(self, actor: Actor) -> None:
        actor.state = DONE
        self.crowd -= 1
        self._pass_on()

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
        names = " and ".join(f"p{a.number}" for a in stuck)
        self.deadlock = f"{names} wait for each other" if len(stuck) > 1 else f"{names} waits for what it holds itself"
        self._give_up(stuck[-1])
        return True

    # statements that block inside a server

    def _watch_server(self) -> None:
        """Take the baton from an actor that is stuck inside the server, and pass it on for it, until all is over."""
        while not self._over.acquire(timeout=LOOK_AGAIN if self.crowd > 1 else LOOK_AT_ONE):
            actor = self.current
            if actor is not None and actor.state == READY and self._is_blocked(actor, asked := actor.asked):
                with self._mutex:
                    stuck = actor.backend is not None and actor.asked == asked
                    if stuck:
                        actor.state = BLOCKED
                if stuck:
                    self._pass_on()

    def _is_blocked(self, actor: Actor, asked: int) -> bool:
        backend = actor.backend
        return (
            backend is not None and self.server is not None and self.server.blockers(backend) and actor.asked == asked
        )

    def go_to_server(self, actor: Actor, backend: int) -> None:
        actor.asked += 1
        actor.backend = backend

    def back_from_server(self, actor: Actor) -> None:
        with self._mutex:
            was_blocked, actor.backend = actor.state == BLOCKED, None
            if was_blocked:
                actor.state = READY
        if was_blocked:
            actor.came_back.release()
            actor.go.acquire()

    def _look_at_blocked(self) -> None:
        """After each move: who waited for a lock inside the server and is free now, comes back before anybody else moves."""
        for actor in self.actors:
            while actor.state == BLOCKED and not self._is_blocked(actor, actor.asked):
                actor.came_back.acquire(timeout=LOOK_AGAIN)

    def _give_up(self, victim: Actor) -> None:
        """Let the server refuse what an actor waits for."""
        victim.victim = True
        if victim.backend is not None and self.server is not None:
            self.server.cancel(victim.backend)
        while victim.state == BLOCKED:
            victim.came_back.acquire(timeout=LOOK_AGAIN)


def _go_on(ready: Sequence[Actor], current: Actor | None) -> Actor:
    return current if current is not None and current in ready else ready[0]
