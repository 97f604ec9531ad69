"""The exercise `backoff`: how long to wait, so that those who failed together do not come back together.

Waits are random: each case is many draws from generators with fixed seeds, over windows from half a second to a day and attempts up to a
billion. `backoff_rules` judges their distribution, never a single value.

Not handled here: sleeping and trying again (see `retry`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any, NoReturn

from labkit.checks import backoff_rules as rules
from labkit.checks.common import body, ends, exits_rule, outcome_of, try_exits
from labkit.checks.drawn import backoff as drawn
from labkit.checks.drawn.backoff import Window
from labkit.checks.exercise import Case, Exercise, Property
from labkit.faults.process import Process

NAME = "backoff_delay"
DRAWS, TASKS = 1000, 200
GROWING: tuple[Window, ...] = tuple((attempt, 0.5, 30.0) for attempt in range(8))
NEAR: tuple[Window, ...] = (*GROWING, (0, 3.0, 100.0), (2, 3.0, 100.0), (6, 3.0, 100.0), (0, 2.0, 1.5))
TINY: tuple[Window, ...] = tuple((attempt, 0.001, 10.0) for attempt in (6, 3, 0))
LATER: tuple[Window, ...] = (*((attempt, 0.001, 1e9) for attempt in range(8, 30)), (36, 0.001, 1e12))  # no cap in sight
FAILURES = (30, 40, 62, 63, 64, 100, 1000, 1023, 1024, 1100, 5000, 10**6, 10**9)
FAR: tuple[Window, ...] = tuple((attempt, 0.001, 86400.0) for attempt in FAILURES)  # from a millisecond to a day
TOP, FLOORS = 30.0, (1.0, 10.0, 120.0, 100_000.0, 0.0)
Floored = tuple[tuple[float, Window], ...]
FLOORED: Floored = (
    (0.2, (0, 1.0, 30.0)),
    (2.0, (3, 1.0, 30.0)),
    (0.5, (2, 0.5, 100.0)),
    (40.0, (9, 0.25, 90.0)),
    (5.0, (1024, 1.0, 30.0)),
    (3.0, (10**6, 0.001, 30.0)),
)


def _windows(windows: tuple[Window, ...], draws: int) -> Callable[[Any, Process], Any]:
    """Many draws from each window."""

    def draw(backoff: Any, process: Process) -> Any:
        def from_one(attempt: int, base: float, cap: float) -> list[Any]:
            rng = random.Random(f"{attempt} {base} {cap}")
            return [backoff(attempt, base=base, cap=cap, rng=rng) for _ in range(draws)]

        return [from_one(*window) for window in windows]

    return draw


def _no_time(backoff: Any, process: Process) -> Any:
    """What becomes of a cap that leaves no time at all."""
    return outcome_of(partial(backoff, 3, base=1.0, cap=0.0, rng=random.Random("no time")))


def _floors(backoff: Any, process: Process) -> Any:
    rng = random.Random("floor")

    def above(floor: float) -> list[Any]:
        return [backoff(6, base=1.0, cap=TOP, rng=rng, retry_after=floor) for _ in range(DRAWS)]

    return [_noted(process, floor, above(floor)) for floor in FLOORS]


def _noted(process: Process, floor: float, waits: list[Any]) -> list[Any]:
    """The same waits, written into the record for whoever looks at the run."""
    process.note(f"retry_after={floor:g}:", rules.in_short(waits))
    return waits


def _floored(floored: Floored, backoff: Any, process: Process) -> Any:
    """A floor under many windows, also where the power would be out of range."""

    def above(floor: float, attempt: int, base: float, cap: float) -> list[Any]:
        rng = random.Random(f"{floor} {attempt} {base} {cap}")
        return [backoff(attempt, base=base, cap=cap, rng=rng, retry_after=floor) for _ in range(DRAWS // 2)]

    return [_noted(process, floor, above(floor, *window)) for floor, window in floored]


def _seeds(backoff: Any, process: Process, *, seed: int = 7, base: float = 1.0, cap: float = 60.0, **floor: float) -> Any:
    """The same seed twice, then another one."""

    def row(seed: int) -> list[Any]:
        rng = random.Random(seed)
        waits = [backoff(attempt, base=base, cap=cap, rng=rng, **floor) for attempt in range(8)]
        process.note(f"seed {seed}:", rules.one_by_one(waits))
        return waits

    return [row(seed), row(seed), row(seed + 1)]


def _crowd(backoff: Any, process: Process) -> Any:
    """Tasks that failed together for the sixth time, each with a generator of its own."""
    return [backoff(5, base=1.0, cap=30.0, rng=random.Random(f"task {n}")) for n in range(TASKS)]


def _negative(attempts: Sequence[int], backoff: Any, process: Process) -> Any:
    def refused(attempt: int, **floor: float) -> list[Any]:
        return [attempt, outcome_of(partial(backoff, attempt, base=1.0, cap=30.0, rng=random.Random(0), **floor))]

    one, other = attempts
    return [refused(one), refused(other), refused(one, retry_after=5.0), refused(other, retry_after=0.0)]


class _Leaving(random.Random):
    """A generator out of which nothing but an exit comes."""

    leave: Callable[..., NoReturn]

    def random(self) -> float:
        self.leave()

    def getrandbits(self, k: int, /) -> int:
        self.leave()


def _leave(backoff: Any, process: Process) -> Any:
    def with_rng(leave: Callable[..., NoReturn]) -> Any:
        rng = _Leaving(0)
        rng.leave = leave
        return backoff(3, base=1.0, cap=30.0, rng=rng)

    return try_exits(with_rng)


def _in_windows(name: str, windows: tuple[Window, ...], draws: int) -> Case:
    return Case(name, body(NAME, _windows(windows, draws)), facts={"windows": windows})


def _above_floors(floored: Floored) -> Case:
    facts = {"floors": [floor for floor, _ in floored], "tops": [rules.top_of(*window) for _, window in floored]}
    return Case("floors_under_windows", body(NAME, partial(_floored, floored)), facts=facts)


def _drawn(rng: Random) -> tuple[Case, ...]:
    base, cap = rng.choice(drawn.BASES), rng.choice(drawn.CAPS)
    return (
        _in_windows("windows", drawn.windows(rng), DRAWS // 5),
        _above_floors(drawn.floors(rng)),
        Case("seeds", body(NAME, partial(_seeds, seed=rng.randrange(100, 1000), base=base, cap=cap))),
        Case("negative", body(NAME, partial(_negative, drawn.negative(rng)))),
        _in_windows("a_billion_failures", drawn.far(rng), DRAWS // 10),
    )


EXERCISE = Exercise(
    id="backoff",
    title="Do not come back all at once",
    chapter=11,
    origin="+",
    minutes=15,
    difficulty=2,
    points=6,
    essential=("full jitter", "a crowd spreads out", "retry_after is a floor"),
    signatures={NAME: ("attempt", "*base", "*cap", "*rng", "*retry_after")},
    cases=(
        _in_windows("windows", NEAR, DRAWS),
        _in_windows("later_windows", (*TINY, *LATER), DRAWS // 5),
        Case("seeds", body(NAME, _seeds)),
        Case("seeds_above_a_floor", body(NAME, partial(_seeds, retry_after=0.5))),
        Case("crowd", body(NAME, _crowd)),
        Case("floors", body(NAME, _floors), facts={"floors": FLOORS, "tops": [TOP] * len(FLOORS)}),
        _above_floors(FLOORED),
        Case("negative", body(NAME, partial(_negative, (-1, -7)))),
        Case("no_time", body(NAME, _no_time)),
        Case("exits", body(NAME, _leave)),
        _in_windows("a_billion_failures", FAR, DRAWS // 10),
    ),
    drawn=_drawn,
    properties=(
        Property(
            "full jitter",
            "the wait is drawn evenly from [0, min(cap, base * 2**attempt)]",
            rules.full_jitter,
            ("windows", "later_windows"),
            rules.drew,
        ),
        Property(
            "finite for ever",
            "after a billion failures the wait is still finite, and up to the cap",
            rules.full_jitter,
            ("a_billion_failures",),
        ),
        Property(
            "drawn from rng",
            "the same seed gives the same waits, another seed gives others",
            rules.same_seed,
            ("seeds",),
        ),
        Property(
            "a crowd spreads out", "200 tasks that failed together do not come back together", rules.spread, ("crowd",)
        ),
        Property(
            "retry_after is a floor",
            "nobody comes back sooner, whatever the cap, and the jitter stays",
            rules.keeps_floor,
            ("floors", "floors_under_windows"),
        ),
        Property(
            "drawn from rng above a floor",
            "the same seed and floor give the same waits, another seed gives others",
            rules.same_seed,
            ("seeds_above_a_floor",),
        ),
        Property(
            "refuses a negative attempt",
            "a negative attempt is a ValueError",
            rules.negative,
            ("negative",),
            needs="full jitter",
        ),
        Property(
            "a cap of zero is a cap", "with cap=0 nobody waits", rules.no_time, ("no_time",), rules.answered, needs="full jitter"
        ),
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
)
