"""Deadlines: absolute, measured on the monotonic clock, never given anew."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from labkit.clock import VirtualClock
from labkit.deadline import Deadline, run_with_deadline
from labkit.errors import DeadlineExceeded


def steps(clock: VirtualClock, lengths: list[float], given: list[float]) -> list[Callable[[float], str]]:
    """Steps that note what they are given and take these seconds."""

    def step(seconds: float) -> Callable[[float], str]:
        def run(left: float) -> str:
            given.append(left)
            clock.sleep(seconds)
            return "" if seconds == 1 else f"took {seconds}"

        return run

    return [step(seconds) for seconds in lengths]


def run(clock: VirtualClock, lengths: list[float], seconds: float) -> tuple[list[str], list[float]]:
    given: list[float] = []
    return run_with_deadline(steps(clock, lengths, given), clock.now() + timedelta(seconds=seconds), clock), given


def test_all_in_time(clock: VirtualClock) -> None:
    """Each step gets what remains; a step that ends exactly at the deadline is in time; an empty result is a result."""
    assert (["", "took 3", "took 6"], [10.0, 9.0, 6.0]) == run(clock, [1, 3, 6], 10)


def test_late_step_does_not_count(clock: VirtualClock) -> None:
    """A step that ends after the deadline is not in `completed`, and nothing runs after it."""
    with pytest.raises(DeadlineExceeded) as caught:
        run(clock, [4, 7, 1], 10)
    assert ["took 4"] == caught.value.completed
    assert 11.0 == clock.monotonic()


def test_last_step_late(clock: VirtualClock) -> None:
    """That the late step is the last one changes nothing."""
    with pytest.raises(DeadlineExceeded) as caught:
        run(clock, [4, 7], 10)
    assert ["took 4"] == caught.value.completed


def test_nothing_remains(clock: VirtualClock) -> None:
    """Exactly at the deadline no further step begins."""
    with pytest.raises(DeadlineExceeded) as caught:
        run(clock, [4, 6, 0], 10)
    assert ["took 4", "took 6"] == caught.value.completed
    for late in (0, -5):
        with pytest.raises(DeadlineExceeded):
            run(clock, [1], late)


def test_no_steps(clock: VirtualClock) -> None:
    """No steps are done in time, even after the deadline."""
    assert ([], []) == run(clock, [], -1)


@pytest.mark.parametrize("jump", [-3600, 3600])
def test_stepped_wall_clock(clock: VirtualClock, jump: float) -> None:
    """A wall clock that is stepped during the run neither gives nor takes time."""
    given: list[float] = []
    work = steps(clock, [2, 2, 2], given)
    work.insert(1, lambda left: clock.jump(jump) or "jumped")  # type: ignore[func-returns-value]
    assert 4 == len(run_with_deadline(work, clock.now() + timedelta(seconds=6), clock))
    assert [6.0, 4.0, 2.0] == given


@pytest.mark.parametrize("error", [ValueError("mine"), KeyboardInterrupt()])
def test_errors_go_through(clock: VirtualClock, error: BaseException) -> None:
    """A step's own error, and a crash, goes through as it is."""

    def step(left: float) -> str:
        raise error

    with pytest.raises(type(error)) as caught:
        run_with_deadline([step], clock.now() + timedelta(seconds=1), clock)
    assert error is caught.value


def test_recovery_gets_what_is_left(clock: VirtualClock) -> None:
    """A run of 10 s that dies at 8 recovers with the same deadline and 2 s left; time spent queued counts."""
    at = Deadline.after(10, clock).at
    clock.sleep(8)
    recovered = Deadline(at, clock)
    assert (at, 2.0) == (recovered.at, recovered.remaining())


def test_step_gets_the_least(clock: VirtualClock) -> None:
    """A step gets min(its own, what remains), and nothing when nothing remains."""
    deadline = Deadline.after(10, clock)
    assert (3, 10.0, 10.0) == (deadline.for_step(3), deadline.for_step(30), deadline.for_step())
    clock.sleep(8)
    assert 2.0 == deadline.for_step(3)
    assert "2s left" in repr(deadline)
    clock.sleep(2)
    with pytest.raises(DeadlineExceeded):
        deadline.for_step(3)
