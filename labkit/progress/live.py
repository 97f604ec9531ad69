"""What tasks tell, as it happens, for any number of readers: one reader of the database for a whole process, and each event in order to all.

A subscriber gets what is in the log behind `after`, then what comes, each event once and in order, and ends after the terminal one. The last events
of a task are shared by its subscribers; whoever falls behind them reads the log again, at its own pace, so a slow reader costs nobody
anything, and memory is bounded by the tasks that are watched. Silence is told too, every few seconds, for those who must keep a connection awake.
Nothing of a subscriber is left when it goes.

Not handled here: the form in which events are sent (see `server.sse`), and a database that is away: readers wait until it is back.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing

from sqlalchemy import Engine, func, select

from labkit.clock import Clock, SystemClock
from labkit.database import in_one_line, reading
from labkit.progress.follow import Follower, before
from labkit.progress.log import ProgressLog
from labkit.progress.update import ProgressUpdate
from labkit.tables import progress_log

Entry = tuple[int, ProgressUpdate]
KEPT = 200  # events of a task that its subscribers share
POLL_SECONDS = 0.2
NEWS, SILENCE, END, TOLD = "news", "silence", "end", "told"
BEAT_SECONDS = 10.0  # of silence; proxies cut after thirty or sixty
_log = logging.getLogger("labkit.progress")


class _Channel:
    """The newest events of one task that is watched. All behind `start` are here, or were pushed out."""

    def __init__(self, start: int) -> None:
        self.start, self.watchers = start, 0
        self.events: deque[Entry] = deque()
        self.changed: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def add(self, entry: Entry) -> None:
        self.events.append(entry)
        if len(self.events) > KEPT:
            self.start = self.events.popleft()[0]
        self.wake(NEWS)

    def wake(self, why: str) -> None:
        changed, self.changed = self.changed, asyncio.get_running_loop().create_future()
        changed.set_result(why)


class LiveLog(ProgressLog):
    """A progress log with subscribers. `run()` is its one reader: start it in the event loop that subscribers run in."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock | None = None,
        *,
        poll_seconds: float = POLL_SECONDS,
        beat_seconds: float = BEAT_SECONDS,
    ) -> None:
        super().__init__(engine)
        self._clock: Clock = clock or SystemClock()
        self._poll_seconds, self._beat_seconds = poll_seconds, beat_seconds
        self._channels: dict[str, _Channel] = {}
        self._follower: Follower | None = None
        self._closed = False

    @property
    def watched(self) -> int:
        """How many subscribers there are."""
        return sum(channel.watchers for channel in self._channels.values())

    async def run(self) -> None:
        """Read the log and hand on what is new, until cancelled."""
        beat = self._clock.monotonic()
        while True:
            if not await self.read_once():
                await self._clock.asleep(self._poll_seconds)
            if self._clock.monotonic() - beat >= self._beat_seconds:
                beat = self._clock.monotonic()
                for channel in list(self._channels.values()):
                    channel.wake(SILENCE)

    def close(self) -> None:
        """End all subscriptions, in the middle: who wants to hear more comes again elsewhere, with the last position."""
        self._closed = True
        for channel in list(self._channels.values()):
            channel.wake(END)

    async def read_once(self) -> int:
        """Hand on what is new now; how many events there were. An outage is logged, and nothing is lost by it."""
        try:
            if self._follower is None:
                self._follower = await asyncio.to_thread(self._from_now)
                for channel in self._channels.values():
                    channel.start = self._follower.position
            entries = await asyncio.to_thread(self._follower.read)
        except Exception as error:  # subtle: whatever the driver raises, readers must not be left without a reader
            _log.warning("cannot read the progress log: %s", in_one_line(error))
            return 0
        for position, update in entries:
            watched = self._channels.get(update.task_id)
            if watched is not None:
                watched.add((position, update))
        return len(entries)

    async def subscribe(self, task_id: str, after: int = 0) -> AsyncGenerator[Entry]:
        """The events behind position `after`, with their positions, to the terminal one; none when that is not behind it."""
        async with aclosing(self.listen(task_id, after)) as heard:
            async for entry in heard:
                if entry is not None:
                    yield entry

    async def listen(self, task_id: str, after: int = 0) -> AsyncGenerator[Entry | None]:
        """The same, with None now and then while nothing happens."""
        channel = self._join(task_id)
        try:
            why, changed = NEWS, channel.changed  # subtle: taken before looking, so no event falls between
            entries = await asyncio.to_thread(self.after, task_id, after)  # what is there, however far the reader has come
            while True:
                for entry in entries:
                    after = entry[0]
                    yield entry
                    if entry[1].terminal:
                        return
                if entries:
                    why = TOLD  # subtle: so nothing at or before `after` is an end, and nobody need look
                else:
                    if why == NEWS and await asyncio.to_thread(self._ended_before, task_id, after):
                        return
                    why = END if self._closed else await asyncio.shield(changed)
                    if why == END:
                        return
                    if why == SILENCE:
                        yield None
                changed = channel.changed
                entries = await self._behind(channel, task_id, after)
        finally:
            self._leave(task_id, channel)

    def _join(self, task_id: str) -> _Channel:
        start = self._follower.position if self._follower else 1 << 62  # nobody reads yet: look into the database
        channel = self._channels.setdefault(task_id, _Channel(start))
        channel.watchers += 1
        return channel

    def _leave(self, task_id: str, channel: _Channel) -> None:
        channel.watchers -= 1
        if not channel.watchers:
            del self._channels[task_id]

    async def _behind(self, channel: _Channel, task_id: str, after: int) -> list[Entry]:
        """The events behind `after`: those that are shared, or all from the log where these do not reach back so far."""
        if after >= channel.start:
            return [entry for entry in channel.events if entry[0] > after]
        return await asyncio.to_thread(self.after, task_id, after)

    def _ended_before(self, task_id: str, after: int) -> bool:
        """Whether the newest run has ended at or before this position."""
        told = self.after(task_id, 0)
        return bool(told) and told[-1][1].terminal and told[-1][0] <= after

    def _from_now(self) -> Follower:
        with reading(self._engine) as connection:
            newest = connection.scalar(select(func.max(progress_log.c.position)))
        return Follower(self._engine, before(newest))
