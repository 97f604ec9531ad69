"""A silent tool of five minutes, and a proxy that cuts what is silent for a minute: played with the library's stream in virtual time.

`quiet` counts connections, comments and ids with heartbeats and without them.

Not handled here: a proxy that collects what it is sent (see the headers in `labkit.server.sse`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from labkit.clock import VirtualClock
from labkit.database import open_engine
from labkit.faults.chart_table import Table, bad, good, table
from labkit.lessons.queues import open_queue
from labkit.lessons.streams import Work
from labkit.progress.live import BEAT_SECONDS, LiveLog
from labkit.server.sse import COMMENT, Decoder, events, last_event_id
from labkit.tables import create_tables

TOOL_SECONDS, PROXY_SECONDS, BACK_SECONDS, POLL, ALL = 300, 60, 5, 5, 330
NEVER = 10.0**9


class PatientClock(VirtualClock):
    """Time goes on when everybody has gone as far as they can, threads included."""

    async def asleep(self, seconds: float) -> None:
        for _ in range(10):
            await asyncio.to_thread(lambda: None)
            await asyncio.sleep(0)
        self.sleep(seconds)


@dataclass
class Connection:
    """One connection through the proxy: when it was opened, and what came through it, when."""

    opened: float
    came: list[tuple[float, bytes]] = field(default_factory=list)

    @property
    def silent_since(self) -> float:
        return self.came[-1][0] if self.came else self.opened


@dataclass
class Quiet:
    """The stream as a page has it: connections, and the reader that outlives them."""

    beat_seconds: float
    clock: PatientClock = field(default_factory=PatientClock)
    connections: list[Connection] = field(default_factory=list)
    page: Decoder = field(default_factory=Decoder)
    shown: list[str] = field(default_factory=list)

    @property
    def comments(self) -> int:
        return sum(part == COMMENT for one in self.connections for _, part in one.came)

    async def play(self) -> None:
        """The tool begins, is silent, and comes back; the page follows to the end."""
        with TemporaryDirectory() as folder:
            engine = open_engine(f"sqlite:///{Path(folder) / 'quiet.db'}")
            try:
                create_tables(engine)
                await self._follow(Work(open_queue(self.clock, engine=engine, lease_seconds=1_000), self.clock))
            finally:
                engine.dispose()

    async def _follow(self, work: Work) -> None:
        live = LiveLog(work.queue.engine, self.clock, poll_seconds=POLL, beat_seconds=self.beat_seconds)
        work.tell(4)
        await live.read_once()
        reader, back = asyncio.create_task(live.run()), 0.0
        while self.shown[-1:] != ["end"] and self.clock.elapsed < ALL:
            if self.clock.elapsed >= back:
                await self._connect(live, work)
                back = self.clock.elapsed + BACK_SECONDS
            await asyncio.sleep(0)
        reader.cancel()
        with suppress(asyncio.CancelledError):
            await reader

    async def _connect(self, live: LiveLog, work: Work) -> None:
        """Until the proxy cuts it, or until the end."""
        one = Connection(self.clock.elapsed)
        self.connections.append(one)
        pump = asyncio.create_task(self._pump(one, live, work.task_id))
        while not pump.done() and self.clock.elapsed - one.silent_since < PROXY_SECONDS:
            await asyncio.sleep(0)
            if self.clock.elapsed >= TOOL_SECONDS and not work.log.after(work.task_id)[1:]:
                work.tell(5)
                work.end()
        pump.cancel()
        with suppress(asyncio.CancelledError):
            await pump

    async def _pump(self, one: Connection, live: LiveLog, task_id: str) -> None:
        async with aclosing(events(live, task_id, last_event_id(self.page.last_id))) as parts:
            async for part in parts:
                one.came.append((self.clock.elapsed, part))
                self.shown += ["end" if '"completed"' in event.data else "step" for event in self.page.feed(part)]


def played(main: Coroutine[Any, Any, None]) -> None:
    """Run this in a loop of its own, wherever one is."""

    async def in_order() -> None:
        # subtle: with more threads a slow read could be overtaken by those that the clock waits for, on a busy machine
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        await main

    with ThreadPoolExecutor(1) as one:
        one.submit(asyncio.run, in_order()).result()


def quiet(beat_seconds: float) -> Quiet:
    """The five minutes with a comment after so many seconds of silence."""
    played((made := Quiet(beat_seconds)).play())
    return made


def silences() -> Table:
    """The same five minutes without heartbeats and with them."""
    rows = []
    for name, beat in (("no heartbeat", NEVER), (f"one each {BEAT_SECONDS:g} s of silence", BEAT_SECONDS)):
        one = quiet(beat)
        cuts = len(one.connections) - 1
        rows.append([name, (bad if cuts else good)(cuts), str(one.comments), " ".join(one.shown)])
    return table(["", "cut by the proxy", "comments", "the page had"], rows)
