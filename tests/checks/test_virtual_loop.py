"""An event loop on the world's time: sleeps that take none, threads that are waited for, and answers that never end."""

import asyncio
import threading

import anyio.to_thread
import pytest

from labkit.checks.virtual_loop import Endless, Stuck, VirtualLoop
from labkit.clock import VirtualClock


@pytest.fixture
def loop():
    return VirtualLoop(VirtualClock())


def test_a_sleep_takes_the_clocks_time(loop):
    """A sleep of an hour is an hour of the clock, and the shorter of two sleeps ends first."""

    async def main():
        done = []

        async def nap(seconds):
            await asyncio.sleep(seconds)
            done.append((seconds, loop.clock.elapsed))

        await asyncio.gather(nap(3_600), nap(60))
        return done

    assert [(60, 60.0), (3_600, 3_600.0)] == loop.play(main())


@pytest.mark.parametrize("ask", [asyncio.to_thread, anyio.to_thread.run_sync])
def test_time_waits_for_a_thread(ask):
    """A time limit does not strike while a thread works, however often."""

    async def main():
        async with asyncio.timeout(5):
            return await ask(sum, [1, 2])

    for _ in range(100):
        clock = VirtualClock()
        assert (3, 0.0) == (VirtualLoop(clock).play(main()), clock.elapsed)


def test_time_waits_for_a_plain_thread(loop):
    """The same with a thread that nobody knows of, and that is looked after again and again."""

    async def main():
        made = []
        thread = threading.Thread(target=lambda: made.append(sum(range(100_000))))
        thread.start()
        while not made:
            await asyncio.sleep(0.001)
        return made

    assert [sum(range(100_000))] == loop.play(main())


def test_a_thread_that_is_held_back_stops_nothing(loop):
    """While the check holds a thread, time passes for the others."""
    go_on = threading.Event()

    def held():
        loop.held.add(threading.get_ident())
        go_on.wait()

    async def main():
        asked = asyncio.ensure_future(asyncio.to_thread(held))
        await asyncio.sleep(60)
        loop.held.clear()
        go_on.set()
        await asked
        return loop.time()

    assert 60.0 == loop.play(main())


def test_rest_comes_before_time_passes(loop):
    """Whoever waits for rest goes on when all others wait, and no timer has struck."""

    async def main():
        told = []
        sleeping = asyncio.ensure_future(asyncio.sleep(10))
        turning = asyncio.ensure_future(turn(told))
        await loop.rest()
        found = list(told), sleeping.done(), loop.time()
        await asyncio.gather(sleeping, turning)
        return found

    async def turn(told):
        for number in range(3):
            await asyncio.sleep(0)
            told.append(number)

    assert ([0, 1, 2], False, 0.0) == loop.play(main())


def test_nothing_left_to_wait_for_is_stuck(loop):
    """Who waits for what nobody will ever do is stuck, and is told at once."""

    async def main():
        await asyncio.Event().wait()

    with pytest.raises(Stuck):
        loop.play(main())


def test_round_and_round_is_endless(loop):
    """Who turns and turns at one instant is endless, also one that cannot be cancelled."""

    async def main():
        while True:
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                continue

    with pytest.raises(Endless):
        loop.play(main())


def test_a_whole_night_is_endless(loop):
    """Who waits again and again, for hours of the clock, is endless, too."""

    async def main():
        while True:
            await asyncio.sleep(30)

    with pytest.raises(Endless):
        loop.play(main())


def test_what_is_left_is_ended(loop):
    """Tasks and generators that are left are told to end before the loop closes."""
    ended = []

    async def forever():
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("task")

    async def numbers():
        try:
            yield 1
        finally:
            ended.append("generator")

    async def main():
        kept = numbers()
        await anext(kept)
        loop.left = asyncio.ensure_future(forever()), kept
        await asyncio.sleep(0)

    loop.play(main())
    assert ["task", "generator"] == ended
    assert loop.is_closed()
