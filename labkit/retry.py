"""Try again without making it worse: at most so many calls, waits that double and spread, never a wait for nothing.

No wait follows the last call, none goes past the deadline, and none is shorter than the other side asked for. Tasks
that failed together come back spread out when a random generator is given. Errors that will never work are raised at
once; a crash or a KeyboardInterrupt is no error and goes through untouched.

Not handled here: doing the thing twice. An error that is not `definite` may have had its effect, so what is retried
carries an idempotency key (see `execution`), or must be harmless when repeated.
"""

from __future__ import annotations

import logging
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from labkit.clock import Clock
from labkit.deadline import Deadline
from labkit.errors import RetriesExhausted, TerminalError, TransientError

T = TypeVar("T")
LONGEST_WAIT = 2.0**46  # seconds; what `timedelta` can still hold
_LARGEST_EXPONENT = 1023  # subtle: clamped before the power, since 2.0**1024 is an OverflowError and no large number
_log = logging.getLogger("labkit.retry")


def is_transient(error: Exception) -> bool:
    """Whether the same call may work later: `TransientError`, and what the network raises when it does not answer."""
    return isinstance(error, TransientError | TimeoutError | ConnectionError) and not isinstance(error, TerminalError)


def doubled(attempt: int, base: float, cap: float | None) -> float:
    """`base * 2**attempt` seconds, `attempt` from 0, at most `cap`: finite for any attempt."""
    if not (attempt >= 0 and base >= 0 and (cap is None or cap >= 0)):  # subtle: so that nan is refused too
        raise ValueError(f"attempt, base and cap must be numbers from 0: {attempt}, {base}, {cap}")
    longest = LONGEST_WAIT if cap is None else min(cap, LONGEST_WAIT)
    return min(longest, float(base) * 2.0 ** min(attempt, _LARGEST_EXPONENT))


def backoff_delay(
    attempt: int, *, base: float, cap: float, rng: random.Random, retry_after: float | None = None
) -> float:
    """Full jitter: seconds drawn evenly from [0, min(cap, base * 2**attempt)], on top of what the other side asked for.

    subtle: the floor is added and not maximised, or all that were told the same floor would come back in the same
    instant.
    """
    return min(LONGEST_WAIT, seconds_asked(retry_after) + rng.uniform(0.0, doubled(attempt, base, cap)))


def seconds_asked(retry_after: Any, now: datetime | None = None) -> float:
    """What the other side asked for, in seconds from 0: a number, a number as text, a timedelta; nonsense is 0.

    An instant, also as the date of HTTP, counts from `now` (aware); without `now` it is 0 too.
    """
    try:
        if now is not None and (at := _instant(retry_after)) is not None:
            retry_after = at - now
        seconds = retry_after.total_seconds() if isinstance(retry_after, timedelta) else float(retry_after)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return min(LONGEST_WAIT, max(0.0, seconds)) if math.isfinite(seconds) else 0.0


def _instant(value: object) -> datetime | None:
    if isinstance(value, str) and value.strip()[:1].isalpha():  # "Fri, 09 Jan 2026 17:00:30 GMT"
        return parsedate_to_datetime(value)
    return value if isinstance(value, datetime) else None


def _check_attempts(max_attempts: int) -> None:
    if not isinstance(max_attempts, int) or max_attempts < 1:  # subtle: 1.5 would never be reached
        raise ValueError(f"max_attempts must be an int of at least 1, not {max_attempts!r}")


@dataclass(frozen=True)
class RetryPolicy:
    """When to try again and how long to wait (seconds). With `rng` the waits are drawn, without they only double."""

    max_attempts: int = 3
    base: float = 1.0
    cap: float | None = 60.0
    rng: random.Random | None = None
    retry_on: Callable[[Exception], bool] = is_transient

    def __post_init__(self) -> None:
        _check_attempts(self.max_attempts)
        doubled(0, self.base, self.cap)

    def delay(self, attempt: int, retry_after: float | None = None) -> float:
        """Seconds to wait after failure number `attempt`, counted from 0."""
        if self.rng is None:
            return max(seconds_asked(retry_after), doubled(attempt, self.base, self.cap))
        cap = LONGEST_WAIT if self.cap is None else self.cap
        return backoff_delay(attempt, base=self.base, cap=cap, rng=self.rng, retry_after=retry_after)

    def run(self, fn: Callable[[], T], clock: Clock, deadline: Deadline | None = None) -> T:
        """The first success of `fn`, else its last error as it is; `DeadlineExceeded` if there is no time to begin."""
        if deadline is not None:
            deadline.for_step()
        attempt = 0
        while True:
            try:
                return fn()
            except Exception as error:
                attempt += 1
                if attempt == self.max_attempts or not self.retry_on(error):
                    raise
                wait = self.delay(attempt - 1, seconds_asked(getattr(error, "retry_after", None), clock.now()))
                if deadline is not None and wait >= deadline.remaining():
                    raise
                _log.info("attempt %d failed, the next in %.3g s: %r", attempt, wait, error, extra={"attempt": attempt})
            clock.sleep(wait)


def execute_with_retry(fn: Callable[[], T], max_attempts: int, clock: Clock) -> T:
    """The first success within `max_attempts` calls 1, 2, 4, 8, ... s apart; `RetriesExhausted` from the last error.

    Every error is tried again but `TerminalError`, which is raised as it is.
    """
    _check_attempts(max_attempts)
    attempt = 0
    while True:
        try:
            return fn()
        except TerminalError:
            raise
        except Exception as error:
            if attempt + 1 == max_attempts:
                raise RetriesExhausted(attempts=max_attempts) from error
        clock.sleep(doubled(attempt, base=1.0, cap=None))
        attempt += 1
