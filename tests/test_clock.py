"""The clocks: the machine's, and the one that stands still."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from labkit.clock import Clock, SystemClock, VirtualClock
from labkit.ids import counted_ids, random_ids


@pytest.mark.parametrize("clock", [SystemClock(), VirtualClock()])
def test_contract(clock: Clock) -> None:
    """Either clock tells aware UTC and never runs backwards; a sleep of nothing returns at once."""
    assert isinstance(clock, Clock)
    before, start = clock.now(), clock.monotonic()
    for nothing in (0, -5):
        clock.sleep(nothing)
        asyncio.run(clock.asleep(nothing))
    assert UTC == before.tzinfo
    assert clock.now() >= before
    assert clock.monotonic() >= start
    assert "\n" not in repr(clock)


def test_system_clock_sleeps() -> None:
    """The machine's clock really waits."""
    clock = SystemClock()
    start = clock.monotonic()
    clock.sleep(0.002)
    asyncio.run(clock.asleep(0.002))
    assert clock.monotonic() - start >= 0.004


def test_virtual_clock_moves_by_sleeping() -> None:
    """Ten virtual minutes take no time and end at the exact instant."""
    start = datetime(2026, 1, 5, 9, tzinfo=UTC)
    clock = VirtualClock(start)
    clock.sleep(300)
    asyncio.run(clock.asleep(300))
    assert (start + timedelta(minutes=10), 600.0) == (clock.now(), clock.monotonic())


def test_jump_moves_the_wall_clock_only() -> None:
    """A stepped wall clock is not noticed by `monotonic`."""
    clock = VirtualClock()
    before = clock.now()
    clock.jump(-3600)
    assert (before - timedelta(hours=1), 0.0) == (clock.now(), clock.monotonic())


def test_moved_is_told() -> None:
    """Whoever has things to do at an instant is told of every move."""
    moves: list[float] = []
    clock = VirtualClock(moved=lambda: moves.append(clock.monotonic()))
    clock.sleep(2)
    clock.jump(5)
    assert [2.0, 2.0] == moves


def test_ids() -> None:
    """Random ids differ, counted ids are the same in every run."""
    fresh, counted = random_ids(), counted_ids("task")
    assert 100 == len({fresh() for _ in range(100)})
    assert ["task-1", "task-2"] == [counted(), counted()]
