"""Retry: the calls, the waits, and what is never retried."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from labkit.clock import STORY_BEGINS, VirtualClock
from labkit.deadline import Deadline
from labkit.errors import CallTimeout, DeadlineExceeded, QueueFull, RetriesExhausted, TerminalError, TransientError
from labkit.retry import LONGEST_WAIT, RetryPolicy, backoff_delay, doubled, execute_with_retry, is_transient


class Recorder(VirtualClock):
    """A clock that notes each sleep."""

    def __init__(self) -> None:
        super().__init__()
        self.sleeps: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        super().sleep(seconds)


def failing(errors: list[BaseException], calls: list[int]) -> Callable[[], int]:
    """A call that raises these errors in turn, then returns 0."""

    def call() -> int:
        calls.append(len(calls))
        if errors:
            raise errors.pop(0)
        return 0

    return call


@pytest.mark.parametrize("attempts", [1, 2, 5])
def test_all_fail(attempts: int) -> None:
    """K attempts are k calls and k-1 waits of 1, 2, 4, ... seconds, then RetriesExhausted from the last error."""
    clock, calls = Recorder(), []
    errors = [ValueError(number) for number in range(attempts)]
    last = errors[-1]
    with pytest.raises(RetriesExhausted) as caught:
        execute_with_retry(failing([*errors], calls), attempts, clock)
    assert attempts == len(calls) == caught.value.attempts
    assert [2.0**number for number in range(attempts - 1)] == clock.sleeps
    assert last is caught.value.__cause__


def test_first_success_returns_at_once() -> None:
    """The first success is returned, falsy or not, and nothing is waited for after it."""
    clock, calls = Recorder(), []
    assert 0 == execute_with_retry(failing([ValueError()], calls), 5, clock)
    assert ([0, 1], [1.0]) == (calls, clock.sleeps)


def test_terminal_error_is_raised_as_it_is() -> None:
    """A TerminalError ends it at the first call."""
    clock, calls, error = Recorder(), [], TerminalError("no such model")
    for run in (execute_with_retry, lambda fn, n, clock: RetryPolicy(n).run(fn, clock)):
        with pytest.raises(TerminalError) as caught:
            run(failing([error], calls), 5, clock)
        assert error is caught.value
    assert ([0, 1], []) == (calls, clock.sleeps)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(), GeneratorExit(), BaseException("crash")])
def test_no_retry_of_a_crash(error: BaseException) -> None:
    """What is no Exception goes through untouched, after one call and no wait."""
    clock, calls = Recorder(), []
    for run in (execute_with_retry, lambda fn, n, clock: RetryPolicy(n, retry_on=lambda e: True).run(fn, clock)):
        with pytest.raises(type(error)) as caught:
            run(failing([error], calls), 5, clock)
        assert error is caught.value
    assert ([0, 1], []) == (calls, clock.sleeps)


def test_an_error_of_the_clock_is_no_error_of_the_call() -> None:
    """What the wait raises goes through and is not counted as an attempt."""

    class Broken(VirtualClock):
        def sleep(self, seconds: float) -> None:
            raise OSError("no clock")

    with pytest.raises(OSError, match="no clock"):
        execute_with_retry(failing([ValueError()], []), 5, Broken())


@pytest.mark.parametrize("attempts", [0, -1, 1.5, 3.0, math.inf, math.nan, "3", None])
def test_no_attempts(attempts: Any) -> None:
    """A number of attempts that is no int from 1 is a ValueError, and nothing is called."""
    calls: list[int] = []
    with pytest.raises(ValueError):
        execute_with_retry(failing([], calls), attempts, VirtualClock())
    with pytest.raises(ValueError):
        RetryPolicy(attempts)
    assert [] == calls


def test_delays_of_any_attempt() -> None:
    """The delay of any attempt is finite, at most the cap, never falling, and fits a timedelta."""
    attempts = [*range(10_000), 10**9]
    for policy in (RetryPolicy(cap=60), RetryPolicy(cap=None), RetryPolicy(base=1e-300, cap=5), RetryPolicy(base=0)):
        delays = [policy.delay(attempt) for attempt in attempts]
        assert sorted(delays) == delays
        assert all(0 <= delay <= (policy.cap or LONGEST_WAIT) for delay in delays)
        assert all(timedelta(seconds=delay) >= timedelta(0) for delay in delays)
    rng = random.Random(1)
    assert all(0 <= backoff_delay(attempt, base=1, cap=60, rng=rng) <= 60 for attempt in attempts)
    assert math.isfinite(backoff_delay(10**9, base=1, cap=math.inf, rng=rng))


def test_exponential_waits() -> None:
    """Without a generator the waits are base * 2**attempt up to the cap."""
    policy = RetryPolicy(base=0.5, cap=3)
    assert [0.5, 1, 2, 3, 3] == [policy.delay(attempt) for attempt in range(5)]


@pytest.mark.parametrize("wrong", [(-1, 1, 1), (0, -1, 1), (0, 1, -1), (0, math.nan, 1), (0, 1, math.nan)])
def test_negative_numbers(wrong: tuple[int, float, float]) -> None:
    """A negative attempt, base or cap is a ValueError, and so is one that is no number."""
    attempt, base, cap = wrong
    with pytest.raises(ValueError):
        backoff_delay(attempt, base=base, cap=cap, rng=random.Random(1))
    with pytest.raises(ValueError):
        doubled(attempt, base, cap)
    if attempt == 0:
        with pytest.raises(ValueError):
            RetryPolicy(base=base, cap=cap)


def test_full_jitter() -> None:
    """Draws are spread evenly over [0, min(cap, base * 2**attempt)]."""
    rng = random.Random(7)
    draws = [backoff_delay(3, base=1, cap=100, rng=rng) for _ in range(4000)]
    quarters = Counter(int(draw // 2) for draw in draws)
    assert {0, 1, 2, 3} == set(quarters)
    assert all(900 < count < 1100 for count in quarters.values())


def test_herd_does_not_return_together() -> None:
    """Of 200 tasks that fail together no second sees more than a tenth, also when all were told the same Retry-After."""
    for retry_after in (None, 30.0):
        rng = random.Random(3)
        times = [backoff_delay(6, base=1, cap=60, rng=rng, retry_after=retry_after) for _ in range(200)]
        assert max(Counter(map(int, times)).values()) <= 20
        assert min(times) >= (retry_after or 0)


def test_same_seed_same_delays() -> None:
    """The waits depend on nothing but the seed."""
    one, two = (RetryPolicy(rng=random.Random(5)) for _ in range(2))
    assert [one.delay(attempt) for attempt in range(50)] == [two.delay(attempt) for attempt in range(50)]


@pytest.mark.parametrize("rng", [None, random.Random(1)])
def test_retry_after_is_a_floor(rng: random.Random | None) -> None:
    """No wait is shorter than the other side asked for, also above the cap; nonsense is ignored."""
    policy = RetryPolicy(cap=2, rng=rng)
    assert policy.delay(0, retry_after=90) >= 90
    assert all(0 <= policy.delay(0, retry_after=odd) <= 2 for odd in (-5.0, 0.0, math.nan, math.inf, None))


def test_retry_after_of_the_error() -> None:
    """The floor is read from the error."""
    clock = Recorder()
    assert 0 == RetryPolicy().run(failing([QueueFull(retry_after=7)], []), clock)
    assert [7.0] == clock.sleeps


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        (120, 120),
        ("120", 120),
        (" 2.5 ", 2.5),
        (timedelta(minutes=2), 120),
        (STORY_BEGINS + timedelta(seconds=30), 30),
        ("Fri, 09 Jan 2026 17:00:30 GMT", 30),
        (STORY_BEGINS - timedelta(days=1), 1),
        (STORY_BEGINS.replace(tzinfo=None), 1),
        ("soon", 1),
        ("nan", 1),
        (10**400, 1),
        (object(), 1),
        (1e300, LONGEST_WAIT),
    ],
    ids=lambda value: ascii(value)[:20],
)
def test_retry_after_in_other_words(asked: Any, seconds: float) -> None:
    """The floor may be text, a span or an instant; nonsense is ignored, and never takes the place of the error."""
    waits: list[float] = []

    class Noting(VirtualClock):
        def sleep(self, seconds: float) -> None:
            waits.append(seconds)

    error = TransientError("busy", retry_after=asked)
    with pytest.raises(TransientError) as caught:
        RetryPolicy(2).run(failing([error, error], []), Noting())
    assert error is caught.value
    assert [seconds] == waits


def test_last_error_is_raised_as_it_is() -> None:
    """A policy that gives up raises the original error."""
    clock, errors = Recorder(), [TransientError(str(number)) for number in range(3)]
    last = errors[-1]
    with pytest.raises(TransientError) as caught:
        RetryPolicy(3).run(failing([*errors], []), clock)
    assert last is caught.value
    assert [1.0, 2.0] == clock.sleeps


def test_never_past_the_deadline() -> None:
    """A wait that would reach the deadline is not begun; the error is raised while there is time to tell it."""
    clock, calls = Recorder(), []
    deadline = Deadline.after(6, clock)
    with pytest.raises(TransientError):
        RetryPolicy(10).run(failing([TransientError() for _ in range(10)], calls), clock, deadline)
    assert (3, [1.0, 2.0]) == (len(calls), clock.sleeps)
    assert deadline.remaining() > 0


def test_no_first_call_after_the_deadline() -> None:
    """When the deadline has passed nothing is called."""
    clock, calls = Recorder(), []
    deadline = Deadline.after(0, clock)
    with pytest.raises(DeadlineExceeded):
        RetryPolicy().run(failing([], calls), clock, deadline)
    assert [] == calls


def test_transient_and_terminal() -> None:
    """By default only what may pass is tried again."""
    assert all(
        map(is_transient, (TransientError(), CallTimeout(), QueueFull(), TimeoutError(), ConnectionResetError()))
    )
    assert not any(map(is_transient, (TerminalError(), ValueError(), DeadlineExceeded(), OSError())))
