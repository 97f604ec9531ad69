"""One handler and the events that wait for it: bounded, in order, and nobody waits for it.

Whoever offers an event never waits. A handler that falls behind by more than the bound loses what comes until it has caught up, and is then told how many
events it lost (`events.lost`), in the place where they would have stood. One that raises is logged and called again for the next event. What is no Exception
goes through and ends the subscription.

Not handled here: a handler that never returns. It keeps its own thread, and no other.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from types import MappingProxyType

from labkit.events.event import ALL, LOST, Event

BOUND = 1_000  # events that wait for one subscriber
_log = logging.getLogger("labkit.events")

Handler = Callable[[Event], object]


class Subscription:
    """One handler and the events that wait for it. `unsubscribe` may be called from anywhere, also from the handler."""

    def __init__(self, event_type: str, handler: Handler, bound: int, forget: Callable[[Subscription], object]) -> None:
        self.type, self._handler, self._bound, self._forget = event_type, handler, bound, forget
        self._waiting: deque[Event] = deque()
        self._lost = 0
        self._changed = threading.Condition()
        self.closed = False

    def offer(self, event: Event) -> None:
        """Queue an event if it is wanted and there is room. Never waits."""
        with self._changed:
            if self.closed or self.type not in (ALL, event.type):
                return
            if self._lost or len(self._waiting) >= self._bound:
                self._lost += 1  # subtle: also when there is room again, or it would not be told in the place of the gap
            else:
                self._waiting.append(event)
            self._changed.notify()

    def handle(self) -> int:
        """Call the handler with what waits, in this thread; how many calls that were."""
        calls = 0
        while (event := self._next()) is not None:
            calls += 1
            try:
                self._handler(event)
            except Exception as error:  # subtle: only its type, since its text may repeat the payload
                _log.warning("a handler of %s failed on task %s: %s", event.type, event.task_id, type(error).__name__)
        return calls

    def run(self) -> None:
        """Handle what comes until unsubscribed."""
        try:
            while not self.closed:
                self.handle()
                with self._changed:
                    self._changed.wait_for(lambda: self.closed or self._waiting or self._lost)
        finally:
            self.unsubscribe()

    def unsubscribe(self) -> None:
        """No further call begins. Twice is fine."""
        with self._changed:
            self.closed, self._lost = True, 0
            self._waiting.clear()
            self._changed.notify()
        self._forget(self)

    def _next(self) -> Event | None:
        with self._changed:
            if self._waiting:
                return self._waiting.popleft()
            lost, self._lost = self._lost, 0
        return Event(LOST, "", MappingProxyType({"count": lost})) if lost else None

    def __repr__(self) -> str:
        return f"<Subscription {self.type}, {len(self._waiting)} waiting{', closed' if self.closed else ''}>"
