"""Drawn cases of `idempotency` and `resume`: other ids, inputs, results and fields of a task that is found in a state that is drawn too.

One process dies before and after its effect, where the fixed cases have it die everywhere.

Not handled here: races, and the ways in which work can fail (the fixed cases have them).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from random import Random
from typing import Any

from labkit.checks.drawn.words import name, names, text
from labkit.checks.exercise import Case
from labkit.checks.stored_task import FAILURES, Story
from labkit.clock import STORY_BEGINS

DEATHS = ("none", "p1@cloud1.before+crash", "p1@cloud1.after+crash")


def cases(rng: Random, function: str, swept: Mapping[str, str]) -> tuple[Case, ...]:
    """`swept` gives for each state in which a task can be found the case that finds it so."""
    state = rng.choice([*swept])
    taken_over, ended, failing = names(rng, 3)
    error = rng.choice(FAILURES)
    return (
        Story(state, taken_over, text(rng), text(rng), _fields(rng, state)).case(swept[state], function, schedules=DEATHS),
        Story("completed", ended, text(rng), fields={"result": text(rng)}).case("completed", function),
        Story(id=failing, input=name(rng)).case("work_fails", function, schedules=(f"p1@cloud1.before+error({error})",)),
    )


def _fields(rng: Random, state: str) -> dict[str, Any]:
    """What else the task holds."""
    made = STORY_BEGINS - timedelta(days=rng.randrange(1, 400))
    fields: dict[str, Any] = {"priority": rng.randrange(-9, 10), "created_at": made, "available_at": made}
    if state in ("running", "failed"):
        fields |= {"attempt": rng.randrange(1, 9), "idempotency_key": names(rng, 1)[0]}
    return fields | ({"error": text(rng)} if state == "failed" else {})
