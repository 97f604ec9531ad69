"""Drawn plans of `saga`: other names, other numbers of steps, another step that fails, and undos that fail.

One process dies somewhere, where the fixed cases have it die everywhere.

Not handled here: playing a plan (see `saga_plans`).
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from labkit.checks.drawn.words import name, names
from labkit.checks.exercise import Case
from labkit.checks.saga_cases import DEFINITE, INDEFINITE, busy, case, final, late, lost
from labkit.checks.saga_plans import Plan, Step

DEATHS = ("p1@cloud1.after+crash", "p1@cloud2.before+crash", "p1@cloud3.after+crash")


def cases(rng: Random) -> tuple[Case, ...]:
    return (
        case("four_steps", _plan(rng, _steps(rng, rng.randrange(2, 5)))),
        case("step_3_fails", _failing(rng)),
        case("two_undos_fail", _stuck(rng)),
        case("dies", _plan(rng, [*_steps(rng, 1), lost(name(rng))]), schedules=(rng.choice(DEATHS),)),
    )


def _plan(rng: Random, steps: Sequence[Step]) -> Plan:
    saga, app = names(rng, 2)
    return Plan(tuple(steps), saga, app)


def _steps(rng: Random, count: int) -> list[Step]:
    return [Step(one, gives=rng.choice(("done", None, one))) for one in names(rng, count)]


def _failing(rng: Random) -> Plan:
    """Some step fails, or nobody can tell; the undo of each before it works at once or after an error in passing."""
    steps = [Step(one, undo_fails=rng.choice(((), (busy,), (late, busy)))) for one in names(rng, rng.randrange(2, 5))]
    place, unknown = rng.randrange(1, len(steps)), rng.random() < 0.5
    error = rng.choice([*(INDEFINITE if unknown else DEFINITE).values()])
    how: dict[str, Any] = {"landed": rng.random() < 0.5, "unknown": True} if unknown else {}
    steps[place] = Step(steps[place].name, error, **how)
    return _plan(rng, steps)


def _stuck(rng: Random) -> Plan:
    """The last step fails, and one of the undos before it or more fail for good."""
    steps, stuck = _steps(rng, rng.randrange(3, 5)), rng.randrange(8)
    for place in range(len(steps) - 1):
        if place == stuck % 2 or stuck >> place & 1:
            steps[place] = Step(steps[place].name, undo_fails=rng.choice(((final,), (busy, final), (busy, late))), for_good=True)
    return _plan(rng, [*steps[:-1], Step(steps[-1].name, final)])
