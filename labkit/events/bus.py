"""What happened to tasks, for whoever wants to know, in any process: each event once to each subscriber, in one order.

The bus reads the progress log, so it tells what any process did, from the moment it was made and only what was committed. A subscriber has a queue and a
thread of its own: a handler that is slow delays no other, and one that raises hurts nobody. The queue is bounded and nobody waits for
it. Who falls that far behind loses what comes until it has caught up, and is then told how many events it lost (`events.lost`). One that has
unsubscribed leaves nothing behind; a call of its handler that is under way is not interrupted.

Not handled here: events from before the bus was made (the log has them), and attempts that fail and are tried again: the log says how a task ended.
"""

from __future__ import annotations

import logging
import threading

from sqlalchemy import Engine, select

from labkit.database import in_one_line, reading, shown
from labkit.errors import UsageError
from labkit.events.event import ALL, TYPES, Event, events_of
from labkit.events.subscription import BOUND, Handler, Subscription
from labkit.progress import Follower, ProgressUpdate
from labkit.progress.ends import ends
from labkit.progress.follow import BACK, before
from labkit.queue.threads import Pause, Spawn, Wakeup, thread
from labkit.tables import progress_log
from labkit.task import Task

POLL_SECONDS = 0.2
_log = logging.getLogger("labkit.events")


class EventBus:
    """Events of the tasks in `engine`. `spawn` starts the threads: one reader, and one for each subscriber."""

    def __init__(self, engine: Engine, *, spawn: Spawn = thread, pause: Pause | None = None, poll_seconds: float = POLL_SECONDS) -> None:
        self._engine, self._spawn, self._poll_seconds = engine, spawn, poll_seconds
        self._wakeup = Wakeup()
        self._pause = pause or self._wakeup
        self._lock = threading.Lock()
        self._subscriptions: tuple[Subscription, ...] = ()
        self._stopping = False
        self._follower, self._before = _from_now(engine)
        self._read: list[tuple[int, ProgressUpdate]] = []  # read and not yet handed on

    @property
    def subscribers(self) -> int:
        return len(self._subscriptions)

    def subscribe(self, event_type: str, handler: Handler, *, bound: int = BOUND) -> Subscription:
        """Call `handler` with each event of this type ("*": any) that is read from now on. `UsageError` for a type that never comes."""
        if event_type not in TYPES | {ALL}:
            raise UsageError(f"no event has the type {event_type!r} (known: {', '.join(sorted(TYPES))}, or {ALL} for all)")
        made = Subscription(event_type, handler, max(1, bound), self.forget)
        with self._lock:
            self._subscriptions = (*self._subscriptions, made)
        try:
            self._spawn(f"labkit subscriber of {event_type}", made.run)
        except UsageError:  # there is no thread for it
            made.unsubscribe()
            raise
        return made

    def forget(self, gone: Subscription) -> None:
        with self._lock:
            self._subscriptions = tuple(kept for kept in self._subscriptions if kept is not gone)

    def start(self) -> None:
        """Start the reader."""
        self._spawn("labkit events", self._run)

    def stop(self) -> None:
        """End the reader and all subscriptions; what was not handled is dropped."""
        self._stopping = True
        self._wakeup.wake()
        for subscription in self._subscriptions:
            subscription.unsubscribe()

    def read_once(self) -> int:
        """Hand on what is new now, and return how many entries of the log that were."""
        self._read = self._read or self._follower.read()  # subtle: kept until they are handed on, whatever fails in between
        events = self._events(self._read)
        read, self._read = self._read, []
        for event in events:
            for subscription in self._subscriptions:
                subscription.offer(event)
        return len(read)

    def _run(self) -> None:
        while not self._stopping:
            try:
                read = self.read_once()
            except Exception as error:  # subtle: whatever the driver raises, there must be a reader when the database is back
                _log.warning("cannot read the progress log: %s", in_one_line(error))
                read = 0
            if not read and not self._stopping:
                self._pause(self._poll_seconds)

    def _events(self, read: list[tuple[int, ProgressUpdate]]) -> list[Event]:
        new = [(position, update) for position, update in read if position not in self._before]
        ended = [position for position, update in new if update.terminal]
        found: dict[int, Task] = {}
        if ended:
            with reading(self._engine) as connection:
                found = {end.position: end.task for end in ends(connection, progress_log.c.position.in_(ended))}
        return [event for position, update in new for event in events_of(update, found.get(position))]

    def __repr__(self) -> str:
        return f"<EventBus {shown(self._engine)}, {self.subscribers} subscribers>"


def _from_now(engine: Engine) -> tuple[Follower, frozenset[int]]:
    """A reader of what is not there yet, and the positions among which it may still appear that are there already."""
    newest = select(progress_log.c.position).order_by(progress_log.c.position.desc()).limit(BACK)
    with reading(engine) as connection:
        there = list(connection.scalars(newest))
    return Follower(engine, before(there[0] if there else None)), frozenset(there)
