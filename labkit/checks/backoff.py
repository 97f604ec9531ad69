"""The exercise `backoff`: how long to wait, so that those who failed together do not come back together.

Waits are random, so they are judged by their distribution: many draws, from generators with fixed seeds, against the even one (the largest
distance between the two distribution functions, after Kolmogorov and Smirnov). Any way to draw passes, and the verdict is the same every time.

Not handled here: sleeping and trying again (see `retry`).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from math import isfinite
from typing import Any, NoReturn

from labkit.checks.common import body, ends, exits_rule, outcome_of, try_exits
from labkit.checks.exercise import Case, Exercise, Finding, Property, Seen, WrongTurn
from labkit.faults.process import Process

NAME = "backoff_delay"
DRAWS, TASKS = 1000, 200
FARTHEST = 0.085  # a thousand even draws come farther from even than this once in a million seeds, and ours are fixed
SLACK = 1 + 1e-9  # rounding of floats
WINDOWS = (*((n, 0.5, 30.0) for n in range(8)), (0, 3.0, 100.0), (2, 3.0, 100.0), (6, 3.0, 100.0), (0, 2.0, 1.5))  # (attempt, base, cap)
FAR = (30, 40, 62, 63, 64, 100, 1000, 1023, 1024, 1100, 5000, 10**6, 10**9)
FLOORS = (1.0, 10.0, 120.0, 0.0)


def _drawn(backoff: Any, rng: random.Random, draws: int, attempt: int, base: float, cap: float, **more: Any) -> list[Any]:
    return [backoff(attempt, base=base, cap=cap, rng=rng, **more) for _ in range(draws)]


def _windows(backoff: Any, process: Process) -> Any:
    return [_drawn(backoff, random.Random(f"window {window}"), DRAWS, *window) for window in WINDOWS]


def _far(backoff: Any, process: Process) -> Any:
    """A long outage: the waits begin at a millisecond and end at a day, and the power is soon more than a float can hold."""
    rng = random.Random("far")
    return [_drawn(backoff, rng, DRAWS // 10, attempt, 0.001, 86400.0) for attempt in FAR]


def _floors(backoff: Any, process: Process) -> Any:
    rng = random.Random("floor")
    return [_drawn(backoff, rng, DRAWS, 6, 1.0, 30.0, retry_after=floor) for floor in FLOORS]


def _seeds(backoff: Any, process: Process) -> Any:
    """The same seed twice, then another one."""

    def row(seed: int) -> list[Any]:
        rng = random.Random(seed)
        return [backoff(attempt, base=1.0, cap=60.0, rng=rng) for attempt in range(8)]

    return [row(7), row(7), row(8)]


def _crowd(backoff: Any, process: Process) -> Any:
    """Tasks that failed together for the sixth time, each with a generator of its own."""
    return [backoff(5, base=1.0, cap=30.0, rng=random.Random(f"task {n}")) for n in range(TASKS)]


def _negative(backoff: Any, process: Process) -> Any:
    return [[n, outcome_of(partial(backoff, n, base=1.0, cap=30.0, rng=random.Random(0)))] for n in (-1, -7)]


class _Leaving(random.Random):
    """A generator out of which nothing but an exit comes."""

    leave: Callable[..., NoReturn]
    asked = False

    def random(self) -> float:
        self.asked = True
        self.leave()

    def getrandbits(self, k: int, /) -> int:
        self.asked = True
        self.leave()


def _leave(backoff: Any, process: Process) -> Any:
    def with_rng(leave: Callable[..., NoReturn]) -> Any:
        rng = _Leaving(0)
        rng.leave = leave
        backoff(3, base=1.0, cap=30.0, rng=rng)
        return None if rng.asked else leave()  # who never drew had nothing to swallow

    return try_exits(with_rng)


def distance(sample: Sequence[float], low: float, high: float) -> float:
    """How far a sample is from even on [low, high]: 0 for not at all, 1 for elsewhere."""
    count, width = len(sample), high - low
    even = [(x - low) / width for x in sorted(sample)]
    return max((max(abs(e - n / count), abs(e - (n + 1) / count)) for n, e in enumerate(even)), default=1.0)


def _no_numbers(waits: Sequence[Any]) -> Finding | None:
    odd = [w for w in waits if not isinstance(w, int | float) or isinstance(w, bool) or not isfinite(w)]
    return Finding(f"a wait must be a finite number of seconds, and it was {odd[0]!r}", "returns no finite number") if odd else None


def _raised(seen: Seen) -> Finding | None:
    last = seen.end.last
    if last.how == "returned":
        return None
    over = last.how == "raised" and last.error["type"] == "OverflowError"
    return Finding(f"the call {last}", "the power is taken before the cap: it overflows" if over else "fails where it should return a wait")


def _uneven(waits: Sequence[float], attempt: int, base: float, cap: float) -> Finding | None:
    """What is wrong with the draws of one window, or None."""
    high, low, top = max(waits), min(waits), min(cap, base * 2.0 ** min(attempt, 1000))
    where = f"attempt {attempt}, base {base:g}, cap {cap:g}: waits from {low:.3g} to {high:.3g} s, not evenly from 0 to {top:g} s"
    if high == 0:
        return Finding(where, "never waits")
    if high > top * SLACK:
        return Finding(where, "the cap is ignored" if high > cap * SLACK else "waits longer than base * 2**attempt")
    if low == high:
        return Finding(where, "no jitter: all who failed together come back together" if low == top else "the same wait each time: the draw is not from rng")
    if distance(waits, 0.0, top) < FARTHEST * (DRAWS / len(waits)) ** 0.5:
        return None
    if low > top / 20:
        return Finding(where, "equal jitter: only a part of the wait is drawn" if low > top / 3 else "a part of the wait is fixed")
    if sum(wait == high for wait in waits) > len(waits) / 20:
        return Finding(where, "the draw is capped, not the window: many wait for exactly the cap")
    return Finding(where, "waits less than base * 2**attempt allows" if high < top * 0.9 else "the waits are not drawn evenly")


def _even(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    found = _raised(seen)
    if found is None:
        for window, waits in zip(WINDOWS, seen.end.last.value, strict=True):
            found = found or _no_numbers(waits) or _uneven(waits, *window)
    return found


def _finite(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """After many failures the window is the cap."""
    found = _raised(seen)
    for attempt, waits in zip(FAR, seen.end.last.value or (), strict=False):
        found = found or _no_numbers(waits) or _uneven(waits, attempt, 0.001, 86400.0)
    return found


def _keeps_floor(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    found, top = _raised(seen), 30.0
    for floor, waits in zip(FLOORS, seen.end.last.value or (), strict=False):
        found = found or _no_numbers(waits) or _below_or_bunched(waits, floor, top)
    return found


def _below_or_bunched(waits: Sequence[float], floor: float, top: float) -> Finding | None:
    """A floor may be the least wait or be added to it. Either way what is drawn stays even."""
    low, high = min(waits), max(waits)
    where = f"retry_after={floor:g}, window 0 to {top:g} s: waits from {low:.3g} to {high:.3g} s"
    if low * SLACK < floor:
        what = "the cap beats what the other side asked for" if low >= min(floor, top) / SLACK else "comes back sooner than the other side asked for"
        return Finding(where, what)
    if high > (floor + top) * SLACK:
        return Finding(where, "waits longer than the floor and the window together")
    above = [wait for wait in waits if wait > floor * SLACK]
    if floor >= top or (len(above) > len(waits) * (0.85 - floor / top) and min(distance(above, floor, end) for end in (top, floor + top)) < 2 * FARTHEST):
        return None
    return Finding(where, "the jitter is lost where retry_after is given")


def _same_seed(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    found = _raised(seen)
    if found:
        return found
    first, again, other = seen.end.last.value
    if first != again:
        return Finding("two generators with one seed gave different waits", "draws from a generator of its own, not from rng")
    return Finding("two seeds gave the same waits", "rng is not used, or its seed is set anew") if first == other else None


def _spread(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    found = _raised(seen) or _no_numbers(seen.end.last.value)
    if found:
        return found
    second, most = Counter(int(wait) for wait in seen.end.last.value).most_common(1)[0]
    if most <= TASKS / 8:
        return None
    return Finding(f"of {TASKS} tasks that failed together {most} come back in second {second}", "tasks that failed together come back together")


def _refused(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    odd = [n for n, ended in seen.end.last.value or [] if "ValueError" not in ended.get("error", {}).get("bases", [])]
    return Finding(f"attempt={odd[0]} is no ValueError", "a negative attempt is not refused") if odd else _raised(seen)


EXERCISE = Exercise(
    id="backoff",
    title="Do not come back all at once",
    chapter=11,
    origin="+",
    minutes=15,
    difficulty=2,
    points=6,
    signatures={NAME: ("attempt", "*base", "*cap", "*rng", "*retry_after")},
    cases=(
        Case("windows", body(NAME, _windows)),
        Case("seeds", body(NAME, _seeds)),
        Case("crowd", body(NAME, _crowd)),
        Case("floors", body(NAME, _floors)),
        Case("negative", body(NAME, _negative)),
        Case("exits", body(NAME, _leave)),
        Case("a_billion_failures", body(NAME, _far)),
    ),
    properties=(
        Property("full jitter", "the wait is drawn evenly from [0, min(cap, base * 2**attempt)]", _even, ("windows",)),
        Property("finite for ever", "after a billion failures the wait is still finite, and up to the cap", _finite, ("a_billion_failures",)),
        Property("drawn from rng", "the same seed gives the same waits, another seed gives others", _same_seed, ("seeds",)),
        Property("a crowd spreads out", "200 tasks that failed together do not come back together", _spread, ("crowd",)),
        Property("retry_after is a floor", "nobody comes back sooner, whatever the cap, and the jitter stays", _keeps_floor, ("floors",)),
        Property("refuses a negative attempt", "a negative attempt is a ValueError", _refused, ("negative",)),
        exits_rule("exits"),
        ends(),
    ),
    hints=(
        "Two hundred tasks fail in the same second. Write down when each comes back if everybody waits 2**attempt seconds. What would spread them most?",
        "First the window, `min(cap, base * 2**attempt)`, then one even draw from it: `rng.uniform(0, window)`. The floor comes last, so that nothing can "
        "take it away. And try attempt=2000 before the check does.",
        "Refuse a negative attempt. `2.0 ** 1024` is an OverflowError, so clamp the exponent before you take the power: `base * 2.0 ** min(attempt, 1000)`; "
        "then the cap, then the draw, then `max(retry_after, draw)` or `retry_after + draw` when it is given.",
    ),
    wrong_turns=(
        WrongTurn("no jitter", "waits that only double move the whole crowd together: the service meets the same peak again, a little later."),
        WrongTurn("cap after the power", "`min(cap, 2.0 ** n)` fails at n = 1024: the poller that survived a long outage dies of its own patience."),
        WrongTurn("cap over the floor", "`min(cap, max(retry_after, draw))` comes back before the other side wants to see you, and is refused again."),
        WrongTurn("a seed of one's own", "a generator seeded inside gives every process the same waits: jitter that is no jitter."),
    ),
    real_systems="tenacity's wait_random_exponential draws evenly below a doubling window, as here.\n"
    "Celery's retry_jitter does the same for its automatic retries.\n"
    "urllib3's Retry takes the server's Retry-After before its own backoff.",
)
