"""Live readers: each event once and in order to all, from wherever they begin, and nothing left behind by those who go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from typing import Any

import pytest
from sqlalchemy import Engine, insert
from sqlalchemy.event import listen

from labkit.clock import VirtualClock
from labkit.ids import counted_ids
from labkit.progress import live
from labkit.progress.live import LiveLog
from labkit.progress.update import ProgressUpdate
from labkit.queue import Lease, TaskQueue
from labkit.tables import progress_log

Entry = tuple[int, ProgressUpdate]


class Told:
    """One task, and what it tells."""

    def __init__(self, engine: Engine) -> None:
        self.queue = TaskQueue(engine, new_id=counted_ids("t"))
        self.id = self.queue.submit("deploy shop")
        self.lease = self.claim()

    def claim(self) -> Lease:
        task = self.queue.claim("w1")
        assert task is not None
        return Lease.of(task)

    def step(self, number: int) -> None:
        self.queue.progress.append(ProgressUpdate(task_id=self.id, step=number, status="thinking"), self.lease)

    def end(self) -> None:
        self.queue.complete(self.lease, "up")


def run(scene: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(scene(), 60))


async def settle() -> None:
    """Let everybody go as far as they can, threads included."""
    for _ in range(20):
        await asyncio.to_thread(lambda: None)
        await asyncio.sleep(0)


async def until(true: Callable[[], object]) -> None:
    """Go on when this is so; `run` gives up after a minute."""
    while not true():
        await asyncio.to_thread(lambda: None)


async def finish(log: LiveLog, *readings: asyncio.Task[None]) -> None:
    """Let the reader read until all of these have ended: before a gap of positions, as PostgreSQL leaves them, it looks more than once."""
    while not all(reading.done() for reading in readings):
        await log.read_once()
    await asyncio.gather(*readings)


def collect(entries: AsyncGenerator[Entry], into: list[str]) -> asyncio.Task[None]:
    """Read to the end in the background."""

    async def read() -> None:
        async with aclosing(entries) as heard:
            async for _, update in heard:
                into.append(f"{update.status} {update.step}")

    return asyncio.create_task(read())


def test_what_was_told_then_what_comes(engine: Engine) -> None:
    """A subscriber hears what is in the log, then what is new, and ends after the terminal event."""
    told = Told(engine)
    told.step(1)

    async def scene() -> None:
        log, heard = LiveLog(engine), list[str]()
        await log.read_once()
        reading = collect(log.subscribe(told.id), heard)
        await until(lambda: heard == ["thinking 1"])
        told.step(2)
        told.end()
        await finish(log, reading)
        assert ["thinking 1", "thinking 2", "completed 2"] == heard
        assert 0 == log.watched

    run(scene)


def test_what_comes_costs_its_readers_nothing(engine: Engine) -> None:
    """An event that comes is read from the database once, for all: no subscriber looks there again."""
    told, reads = Told(engine), list[str]()

    async def scene() -> None:
        log, heard = LiveLog(engine), [list[str]() for _ in range(5)]
        await log.read_once()
        readings = [collect(log.subscribe(told.id), one) for one in heard]
        listen(engine, "before_cursor_execute", lambda c, cur, sql, *rest: reads.append(sql))
        for step in (1, 2, 3):
            told.step(step)
            reads.clear()
            while not all(len(one) == step for one in heard):
                reads.append("a look")
                await log.read_once()
                await settle()
            looks = reads.count("a look")
            if step > 1:  # nobody is still on the way in
                assert len(reads) - looks <= 4 * looks, reads  # what the one reader asks, on either database
        told.end()
        await finish(log, *readings)

    run(scene)


def test_each_hears_all(engine: Engine) -> None:
    """Any number of subscribers, from whatever position and moment, also one who came before there was a reader."""
    told = Told(engine)

    async def scene() -> None:
        log = LiveLog(engine)
        heard: list[list[str]] = [[], [], []]
        readings = [collect(log.subscribe(told.id), heard[0])]
        await settle()
        told.step(1)
        await log.read_once()
        readings.append(collect(log.subscribe(told.id), heard[1]))
        await settle()
        first = told.queue.progress.after(told.id)[0][0]
        readings.append(collect(log.subscribe(told.id, first), heard[2]))
        told.step(2)
        await log.read_once()
        told.end()
        await finish(log, *readings)
        whole = ["thinking 1", "thinking 2", "completed 2"]
        assert [whole, whole, whole[1:]] == heard

    run(scene)


def test_who_comes_late(engine: Engine) -> None:
    """After the end there is the whole story, or nothing for who has its last event, and the stream is over."""
    told = Told(engine)
    told.step(1)
    told.end()
    last = told.queue.progress.after(told.id)[-1][0]

    async def scene() -> None:
        log = LiveLog(engine)
        for after, wanted in [(0, ["thinking 1", "completed 1"]), (last - 1, ["completed 1"]), (last, []), (2**62, [])]:
            heard = list[str]()
            await collect(log.subscribe(told.id, after), heard)
            assert wanted == heard

    run(scene)


def test_an_id_from_the_future(engine: Engine) -> None:
    """Who claims to have seen more than there is hears the end all the same, as an end."""
    told = Told(engine)

    async def scene() -> None:
        log, heard = LiveLog(engine), list[str]()
        await log.read_once()
        reading = collect(log.subscribe(told.id, 2**62), heard)
        await settle()
        told.end()
        for _ in range(3):  # on PostgreSQL a gap before the first event is waited for
            await finish(log, reading)
        assert [] == heard

    run(scene)


def test_a_new_run(engine: Engine) -> None:
    """The end of an earlier run ends nobody who reads the new one."""
    told = Told(engine)
    told.queue.fail(told.lease, "the disk is full")
    failed = told.queue.progress.after(told.id)[-1][0]
    told.queue.redrive(told.id)
    told.lease = told.claim()

    async def scene() -> None:
        log, heard = LiveLog(engine), list[str]()
        reading = collect(log.subscribe(told.id, failed), heard)
        await settle()
        await log.read_once()
        await settle()
        told.step(1)
        told.end()
        await finish(log, reading)
        assert ["thinking 1", "completed 1"] == heard

    run(scene)


def test_who_is_slow_reads_the_log(sqlite: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """What subscribers share is bounded; who falls behind it misses nothing and keeps nobody waiting."""
    monkeypatch.setattr(live, "KEPT", 3)
    told = Told(sqlite)

    async def scene() -> None:
        log = LiveLog(sqlite)
        await log.read_once()
        slow = log.subscribe(told.id)
        told.step(1)
        await log.read_once()
        assert 1 == (await anext(slow))[1].step
        quick = list[str]()
        reading = collect(log.subscribe(told.id), quick)
        for number in range(2, 12):
            told.step(number)
            await log.read_once()
            await settle()
        told.end()
        await finish(log, reading)
        left = [update.step async for _, update in slow]
        assert [*range(2, 12), 11] == left
        assert 12 == len(quick)

    run(scene)


@pytest.mark.parametrize("heard", [0, 1, 2])
def test_who_goes_leaves_nothing(sqlite: Engine, heard: int) -> None:
    """Closed before the first event, between two, or cancelled while it waits: the subscription is gone."""
    told = Told(sqlite)
    told.step(1)

    async def scene() -> None:
        log = LiveLog(sqlite)
        await log.read_once()
        entries = log.subscribe(told.id)
        for _ in range(min(heard, 1)):
            await anext(entries)
        if heard == 2:
            waiting = asyncio.ensure_future(anext(entries))
            await until(lambda: log.watched == 1)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        await entries.aclose()
        assert (0, {}) == (log.watched, log._channels)

    run(scene)


def test_silence_is_told(sqlite: Engine) -> None:
    """While nothing happens a listener is told so every ten seconds of the clock, and no position goes up by it."""
    told = Told(sqlite)
    told.step(1)

    async def scene() -> None:
        clock = VirtualClock()
        log = LiveLog(sqlite, clock, beat_seconds=10)
        reader = asyncio.create_task(log.run())
        heard = []
        async with aclosing(log.listen(told.id)) as entries:
            async for entry in entries:
                heard.append(None if entry is None else entry[1].step)
                if len(heard) == 4:
                    break
        reader.cancel()
        await asyncio.gather(reader, return_exceptions=True)
        assert [1, None, None, None] == heard
        assert clock.monotonic() >= 30

    run(scene)


def test_an_outage_loses_nothing(sqlite: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """While the database cannot be read nobody hears anything; what was told meanwhile is heard afterwards."""
    told = Told(sqlite)

    async def scene() -> None:
        log, heard = LiveLog(sqlite), list[str]()
        await log.read_once()
        reading = collect(log.subscribe(told.id), heard)
        await settle()
        assert log._follower is not None
        with monkeypatch.context() as broken:
            broken.setattr(log._follower, "read", lambda: 1 / 0)
            told.step(1)
            assert 0 == await log.read_once()
        told.end()
        await finish(log, reading)
        assert ["thinking 1", "completed 1"] == heard

    run(scene)
    assert "cannot read the progress log" in caplog.text


def test_the_process_stops(sqlite: Engine) -> None:
    """When the log is closed every subscription ends where it is, and one that comes then ends after what is there."""
    told = Told(sqlite)
    told.step(1)

    async def scene() -> None:
        log, heard, late = LiveLog(sqlite), list[str](), list[str]()
        await log.read_once()
        reading = collect(log.subscribe(told.id), heard)
        await until(lambda: heard)
        log.close()
        await reading
        await collect(log.subscribe(told.id), late)
        assert ["thinking 1"] == heard == late
        assert 0 == log.watched

    run(scene)


@pytest.mark.postgres
def test_what_becomes_visible_later(postgres: Engine) -> None:
    """An event that took its position before the reader began, and was committed after, is heard."""
    told = Told(postgres)

    async def scene() -> None:
        log, heard = LiveLog(postgres), list[str]()
        with postgres.connect() as other, other.begin():
            other.execute(insert(progress_log).values(task_id=told.id, step=1, status="thinking"))
            queue = TaskQueue(postgres, new_id=counted_ids("u"))
            queue.cancel(queue.submit("another"))
            await log.read_once()
            reading = collect(log.subscribe(told.id), heard)
            await settle()
            assert [] == heard
        await log.read_once()
        await until(lambda: heard == ["thinking 1"])
        told.end()
        await log.read_once()
        await finish(log, reading)
        assert ["thinking 1", "completed 1"] == heard

    run(scene)
