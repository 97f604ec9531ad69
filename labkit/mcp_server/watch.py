"""Tells subscribers that a state has changed, whoever changed it: this server, another process or another machine.

The versions of what somebody subscribed to are read again and again on our clock, and a version that is another one than before is
told. The first reading is done before a subscription is confirmed: whoever subscribes and then reads misses no change.
Several changes between two looks are told once, and now and then one is told that the subscriber has read already.

Not handled here: what changed. Whoever is told reads the state again.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourcesListChanged, ResourceUpdated, ServerEvent

from labkit.clock import Clock
from labkit.database import in_one_line

LIST = ""  # watched as the number of states there are
MOST = 1_000  # addresses watched at once
_log = logging.getLogger("labkit.mcp")

Versions = Mapping[str, Any]
Read = Callable[[list[str]], Awaitable[Versions]]
Tell = Callable[[str], Awaitable[None]]


class Watch:
    """Who waits for which address. `read` gives the versions of addresses; `bus` carries what is told."""

    def __init__(self, read: Read, clock: Clock, every: float) -> None:
        self._read, self._clock, self._every = read, clock, every
        self._seen: dict[str, Any] = {}
        self._waiting: Counter[str] = Counter()
        self.bus = InMemorySubscriptionBus()

    def room(self, uris: Iterable[str]) -> bool:
        """Whether these can be watched too."""
        return len(self._waiting.keys() | set(uris)) <= MOST

    @asynccontextmanager
    async def watching(self, uris: Iterable[str]) -> AsyncIterator[None]:
        """Changes after this has begun are told."""
        mine = set(uris)
        self._waiting.update(mine)
        try:
            found = await self._read([uri for uri in mine if uri not in self._seen])
            for uri, version in found.items():
                self._seen.setdefault(uri, version)  # subtle: another may have begun meanwhile, on an older version
            yield
        finally:
            self._waiting.subtract(mine)
            for uri in [uri for uri in mine if not self._waiting[uri]]:
                del self._waiting[uri]
                self._seen.pop(uri, None)

    async def relay(self, uri: str, tell: Tell) -> None:
        """Call `tell` after each change until cancelled, as often as it comes back, and once for those meanwhile."""
        put, taken = anyio.create_memory_object_stream[ServerEvent](1)

        def wake(event: ServerEvent) -> None:
            if isinstance(event, ResourceUpdated) and event.uri == uri and not put.statistics().current_buffer_used:
                put.send_nowait(event)

        leave = self.bus.subscribe(wake)
        try:
            async for _ in taken:
                await tell(uri)
        finally:
            leave()
            put.close()
            taken.close()

    async def run(self) -> None:
        """Look until cancelled. A database that does not answer is asked again, and complained of once."""
        failed = False
        while True:
            await self._clock.asleep(self._every)
            try:
                await self._look()
                failed = False
            except Exception as error:  # whatever stops one look, the next may see
                if not failed:
                    _log.warning("cannot look for changes now: %s: %s", type(error).__name__, in_one_line(error))
                failed = True

    async def _look(self) -> None:
        if not self._seen:
            return
        for uri, version in (await self._read(list(self._seen))).items():
            if uri in self._seen and self._seen[uri] != version:
                self._seen[uri] = version
                await self.bus.publish(ResourcesListChanged() if uri == LIST else ResourceUpdated(uri))
