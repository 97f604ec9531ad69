"""What people reported of systems that stream progress (FIELD_REPORTS): clients that wait for ever, and proxies that cut what is silent."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from datetime import timedelta
from itertools import pairwise

import pytest
from sqlalchemy import Engine

from labkit.agent.cloud_tools import disk_tools
from labkit.agent.loop import Agent
from labkit.agent.model import open_client
from labkit.agent.script import calls
from labkit.clock import VirtualClock
from labkit.cloud import Cloud, MemoryLedger
from labkit.errors import TerminalError
from labkit.lessons.streams_quiet import BEAT_SECONDS, TOOL_SECONDS, quiet
from labkit.progress.live import LiveLog
from labkit.queue import Job, TaskQueue, Worker
from labkit.server.sse import COMMENT, Decoder, encode, events
from tests.queue.helpers import Ticks

GOES_ON = {"completes": "completed", "is reclaimed and completes": "completed"}  # all else ends with an error


def end(how: str, queue: TaskQueue, clock: VirtualClock) -> None:
    """Let the task that was submitted end in this way."""

    def handle(job: Job) -> str:
        job.tell(1, "thinking")
        if how == "fails":
            raise TerminalError("no disk")
        if how == "passes its deadline":
            clock.sleep(500)
            job.check()
        if how == "is cancelled":
            queue.cancel(job.task.id)
            job.check()
        return "up"

    def on_and_on(messages: object) -> object:
        return calls(("check_disk", {"host": "web-1"}))

    handler = handle
    if how == "turns in circles":
        tools = disk_tools(Cloud(MemoryLedger(), clock))
        handler = Agent("ops", queue.engine, open_client(on_and_on, environ={}), tools, clock)  # type: ignore[assignment, arg-type]
    if "claim" in how:
        queue.claim("w0")  # and dies
        clock.sleep(queue.lease_seconds + 1)
    Worker(queue, handler, "w1", every=Ticks(clock)).run_until_idle()


@pytest.mark.parametrize(
    "how",
    ["completes", "fails", "is cancelled", "passes its deadline", "turns in circles", "is reclaimed and completes", "is claimed by the dead alone"],
)
def test_every_end_is_told_once(how: str, sqlite: Engine, clock: VirtualClock) -> None:
    """B36: whoever listens before the end, and whoever comes after it, hears one terminal event, the last one, and then the stream ends."""
    queue = TaskQueue(sqlite, clock=clock, now=clock.now)
    attempts = 1 if "alone" in how or "circles" in how else 3
    task_id = queue.submit("make room", max_attempts=attempts, deadline=None if "deadline" not in how else clock.now() + timedelta(seconds=400))

    async def hear(log: LiveLog, after: int = 0) -> list[str]:
        decoder, heard = Decoder(), list[str]()
        async with aclosing(events(log, task_id, after)) as parts:
            async for part in parts:
                heard += [json.loads(event.data)["status"] for event in decoder.feed(part)]
        return heard

    async def scene() -> None:
        log = LiveLog(sqlite, poll_seconds=0.01)
        reader, early = asyncio.create_task(log.run()), asyncio.create_task(hear(log))
        await asyncio.to_thread(end, how, queue, clock)
        told = [await early, await hear(log)]
        assert told[0] == told[1]
        assert [GOES_ON.get(how, "error")] == [status for status in told[0] if status in ("completed", "error")] == told[0][-1:]
        assert [] == await hear(log, 2**62)
        reader.cancel()
        await asyncio.gather(reader, return_exceptions=True)

    asyncio.run(asyncio.wait_for(scene(), 120))


def test_a_last_event_without_its_end(sqlite: Engine) -> None:
    """B36: the client's parser gives a final event whose blank line was lost, once."""
    queue = TaskQueue(sqlite)
    task_id = queue.cancel(queue.submit("x")).id
    decoder = Decoder()
    assert [] == list(decoder.feed(encode(*queue.progress.after(task_id)[0]).rstrip()))
    assert ["error"] == [json.loads(event.data)["status"] for event in [*decoder.end(), *decoder.end()]]


def test_five_silent_minutes() -> None:
    """B38: at least every fifteen seconds a comment comes, which uses up no id; behind the terminal event comes nothing."""
    one = quiet(BEAT_SECONDS)
    (connection,) = one.connections
    times = [at for at, _ in connection.came]
    assert TOOL_SECONDS == 300
    assert max(later - earlier for earlier, later in pairwise(times)) <= 15
    parts = [part for _, part in connection.came]
    assert {COMMENT} == {part for part in parts if not part.startswith(b"id:")}
    assert 20 <= parts.count(COMMENT)
    assert b'"completed"' in parts[-1]
    assert ["1", "2", "3"] == [part.split()[1].decode() for part in parts if part.startswith(b"id:")]
