"""Drawn cases of `deadline`: other times left, other numbers of steps, other results, another step that is late.

Not handled here: what a right answer makes of a plan (see `deadline_cases`).
"""

from __future__ import annotations

from random import Random

from labkit.checks.deadline_cases import case, plan
from labkit.checks.drawn.words import text
from labkit.checks.exercise import Case

USED = (45, 60, 90)  # seconds that are left in fixed cases


def cases(rng: Random) -> tuple[Case, ...]:
    seconds = [rng.randrange(2, 40) for _ in range(rng.randrange(2, 7))]
    results = [text(rng) for _ in seconds]
    late = rng.randrange(1, len(seconds))  # the step that ends too late
    spare = rng.randrange(1, seconds[late])
    return (
        case("in_time", plan(_unused(sum(seconds) + rng.randrange(1, 500)), *seconds, results=results)),
        case("late_in_the_middle", _with_first(sum(seconds[:late]) + spare, seconds, results)),
        case("exactly_full_then_more", _with_first(sum(seconds[:late]), seconds, results)),
    )


def _unused(left: int) -> int:
    return left + 1 if left in USED else left


def _with_first(left: int, seconds: list[int], results: list[str]) -> dict[str, object]:
    """The plan, with a first step that takes longer where the time that is left is that of a fixed case."""
    longer = _unused(left) - left
    return plan(left + longer, seconds[0] + longer, *seconds[1:], results=results)
