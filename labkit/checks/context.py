"""The exercise `context`: as much of a state as fits into a number of bytes, the most needed first.

Pure functions cross no boundary, so there is nothing to crash at: each case is a few calls, with the slice that a right answer gives written down
in `context_cases`. Each call has a fresh answer, but where it is asked what one leaves for the next.

Not handled here: tokens, which are the model's own count of the same text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from labkit.checks import context_bytes as sizes
from labkit.checks import context_cases as cases
from labkit.checks import context_rules as rules
from labkit.checks.agent_values import differing, each, leaving, told
from labkit.checks.common import body, ends, exits_rule, outcome_of
from labkit.checks.context_cases import Row
from labkit.checks.drawn import context as drawn
from labkit.checks.exercise import Case, Exercise, Property
from labkit.faults.process import Process

NAME = "select_context"


def _select(select: Callable[..., Any], row: Row, process: Process) -> dict[str, Any]:
    state = row.state.model_copy(deep=True)
    process.note("state", f"{row.says}, {row.max_bytes} bytes allowed")
    before = told(state)
    ended = outcome_of(lambda: told(select(state, row.step, row.max_bytes)))
    process.note("gives", rules.in_short(ended))
    return {"ended": ended, "changed": differing(before, told(state))}


def _leave(select: Any, process: Process) -> Any:
    return leaving(lambda state: select(state, cases.STEP, 1_000))


def _case(name: str, rows: Sequence[Row], *, afresh: bool = True) -> Case:
    return Case(name, each(NAME, _select, rows, afresh=afresh), facts={"rows": rows})


ROWS: dict[str, Sequence[Row]] = {
    "roomy": cases.ROOMY,
    "steps": cases.STEPPED,
    "skips": cases.SKIPS,
    "newest": cases.NEWEST,
    "first": cases.FIRST,
    "ordered": cases.ORDERED,
    "exact": cases.EXACT,
    "sizes": sizes.SIZES,
    "sent": sizes.SENT,
    "wholes": sizes.WHOLES,
    "too_small": sizes.SMALL,
    "many": cases.MANY,
}


def _same(name: str, claim: str, *names: str) -> Property:
    """These cases give the slices that are written down."""
    return Property(name, claim, rules.wanted_of_each, names, rules.chose)


EXERCISE = Exercise(
    id="context",
    title="What the model is shown",
    chapter=11,
    origin="C",
    minutes=25,
    difficulty=3,
    points=8,
    essential=("skips, does not stop", "the most needed first", "counts what is sent"),
    signatures={NAME: ("state", "current_step", "max_bytes")},
    shown=("skips:none",),
    cases=(
        *(_case(name, rows) for name, rows in ROWS.items()),
        _case("several", (*cases.ROOMY, *cases.TWINS, *cases.NEWEST, *cases.ROOMY), afresh=False),
        Case("exits", body(NAME, _leave)),
    ),
    drawn=lambda rng: [_case(name, rows) for name, rows in drawn.rows(rng).items()],
    properties=(
        _same("takes what fits", "with room enough all of this step is in", "roomy"),
        _same("artifacts of this step", "those of the current step, and no others", "steps"),
        _same("skips, does not stop", "what does not fit is left out, smaller ones after it are not", "skips"),
        _same("the newest facts", "facts are taken from the newest to the oldest", "newest"),
        _same("the most needed first", "artifacts, then facts, then questions", "first"),
        _same("in the state's order", "facts may also stand newest first", "ordered"),
        _same("an exact fit fits", "and a byte less does not", "exact"),
        _same("not the artifact's own bytes", "what an artifact describes stays where it is", "sizes"),
        _same("counts what is sent", "bytes of the slice as JSON in UTF-8, escapes and all", "sent"),
        _same("counts whole items", "keys, sources, types and numbers too", "wholes"),
        _same("goal and step first", "BudgetTooSmall when they alone do not fit", "too_small"),
        _same("long lists too", "hundreds of facts and questions", "many"),
        Property("leaves the state alone", "the state is what it was", rules.unchanged, tuple(ROWS), rules.chose),
        Property(
            "starts afresh",
            "calls do not see each other",
            rules.each_afresh,
            ("several",),
            rules.chose,
            unless=("takes what fits", "the newest facts"),
        ),
        exits_rule("exits"),
        ends(),
    ),
    hints=(
        "What exactly must not be longer than `max_bytes`: the values, the items, or all that is sent? Write a slice with one fact by hand as JSON, "
        "and count what is there besides the value.",
        "The surest way to know how long a slice is: build it and measure it, `len(slice.model_dump_json().encode())`. Start with goal and step "
        "alone. Then take the candidates one by one, in the order of need, and keep each that still fits.",
        "`fits(artifacts, facts, questions)` builds a `ContextSlice` of the three lists and compares. Raise `BudgetTooSmall` unless `fits([], [], [])`. "
        "Then three loops: artifacts whose `step == current_step`, `reversed(state.known_facts)`, questions; append where it fits, and never `break`.",
    ),
)
