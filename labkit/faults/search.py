"""Whole schedules drawn by Hypothesis, and the smallest one that breaks something.

Where a sweep takes one kind of fault at a time, the search mixes them: crashes, time-outs, delays, in any process, at any crossing. A schedule is drawn as a
whole before the run, as a short list, so that Hypothesis can shrink it to the fewest faults. The same call draws the same schedules.

Not handled here: proof. A search that finds nothing has tried what it says it tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from labkit.faults.fault import ANSWERS, KINDS, Fault, fits
from labkit.faults.report import InvariantBroken
from labkit.faults.runner import Runner
from labkit.faults.scenario import End
from labkit.faults.schedule import Injection, Schedule
from labkit.faults.trace import Line

FAULTS = ("crash", "timeout", "delay(30)", "interrupt")


def schedules(
    processes: int, crossings: int, faults: Sequence[str], at_most: int, actors: int = 1, places: Sequence[Line] = ()
) -> Any:
    """A Hypothesis strategy of schedules: up to `at_most` faults in the first `processes` processes, and an order for several actors.

    A fault that is an answer is drawn only at requests that can be answered so, as far as the `places` tell that the undisturbed run crossed.
    """
    from hypothesis import strategies as st

    drawn = [Fault.parse(fault) for fault in faults]
    asked = {kind: _requests(kind, places) for kind in {fault.kind for fault in drawn} & ANSWERS.keys()}

    def place(process: int, number: int, side: str, fault: Fault) -> Injection:
        sides, numbers = KINDS[fault.kind][0], asked.get(fault.kind)
        at = side if side in sides else sides[0]
        if numbers:
            return Injection(process, numbers[(number - 1) % len(numbers)], at, fault, "http")
        return Injection(process, number, at, fault)

    one = st.builds(
        place,
        st.integers(1, processes),
        st.integers(1, crossings),
        st.sampled_from(("before", "after")),
        st.sampled_from(drawn),
    )
    several = st.lists(one, max_size=at_most, unique_by=lambda i: (i.process, i.boundary, i.number, i.side)).map(tuple)
    turns = (
        st.lists(st.tuples(st.integers(1, actors), st.integers(1, 12)), max_size=6).map(tuple)
        if actors > 1
        else st.just(())
    )
    return st.builds(Schedule, several, turns)


def _requests(kind: str, places: Sequence[Line]) -> list[int]:
    """Which of its requests, counted from 1, some process of the run can be answered so."""
    nth: Counter[str] = Counter()
    found = set()
    for line in places:
        if line.boundary == "http" and line.side == "before":
            nth[line.process] += 1
            if fits(kind, "http", KINDS[kind][0][0], request=line.label):
                found.add(nth[line.process])
    return sorted(found)


def search_runs(
    runner: Runner,
    *,
    examples: int = 200,
    faults: Sequence[str] = FAULTS,
    at_most: int = 3,
    seen: Callable[[End], None] = lambda end: None,
) -> tuple[int, End | None]:
    """Try `examples` schedules, and tell `seen` of the end of each. Returns (how many ran, the end of the smallest that broke an invariant or None)."""
    import hypothesis
    from hypothesis import HealthCheck, Phase, given, settings

    _, generations = runner.run(Schedule())
    places = [place for generation in generations for place in generation.places()]
    crossings = max([place.number for place in places] + [1])
    actors = len(runner.scenario.bodies)
    strategy = schedules(actors + at_most, crossings, faults, at_most, actors, places)
    ran, worst = 0, None

    @settings(
        max_examples=examples, derandomize=True, database=None, deadline=None, phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck), verbosity=hypothesis.Verbosity.quiet, report_multiple_bugs=False,
    )  # fmt: skip
    @given(strategy)
    def attempt(schedule: Schedule) -> None:
        nonlocal ran, worst
        ran += 1
        found, _ = runner.run(schedule)
        seen(found)
        if runner.scenario.why_broken(found):
            worst = found
            raise InvariantBroken(found.token)

    with suppress(InvariantBroken):
        attempt()
    return ran, worst
