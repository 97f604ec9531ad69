"""The exercise `claim`: hand the most urgent task that is due to one worker, whoever else asks at the same time.

Two workers ask at once in every order within two preemptions, three within one, on both databases, for more tasks than they are and for fewer.

Not handled here: what a dead worker held (see `lease`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from random import Random
from typing import Any

from labkit.checks.claim_races import cancelled_stays, handed_out, race_properties
from labkit.checks.claim_rules import properties
from labkit.checks.claims import (
    LATECOMER,
    MICROSECOND,
    RACES,
    caller,
    cancels,
    case,
    drain,
    nothing_due,
    once,
    shared_cases,
)
from labkit.checks.common import crash_rule, ends
from labkit.checks.drawn import claims as drawn
from labkit.checks.exercise import Case, Exercise, Property
from labkit.checks.rows import NOW, Row, as_facts, row
from labkit.faults.process import Process
from labkit.task import Task

FIELDS = [(field.name, field.name) for field in fields(Task) if field.name != "version"]
GIVES = {"gives": "Task", "id": "id", "fields": FIELDS}
ROWS = [  # not in the order in which they lie
    row("b", made=-7000.0),
    row("Z", made=-7000.0, due=-30.0),
    row("a scheduled one", made=-9000.0, due=-45.0),
    row("hotfix", made=-10.0, due=0.0, priority=9, idempotency_key="order 7"),
    row("in a moment", made=-9000.0, due=MICROSECOND, priority=9),
    row("given back", made=-8000.0, priority=-3, attempt=12, worker_id=caller(5), error="old", user_input="café ☕"),
    row("taken", "running", priority=9, worker_id="w0", attempt=1),
    row("done", "completed", priority=9, worker_id="w0", attempt=1, result="v1"),
    row("failed", "failed", priority=9, worker_id="w0", attempt=3, error="no"),
    row("unwanted", "cancelled", priority=9),
    row("asks somebody", "waiting", priority=9, worker_id="w0", attempt=1),
]
# each other way to order these gives another list
ORDER = ["hotfix", "a scheduled one", "Z", "b", "given back", "just came"]


def _ask(claim: Any, process: Process, worker: str) -> Any:
    return claim(process.engine, worker, NOW)


def _best_first(rows: Sequence[Row], order: Sequence[str]) -> Case:
    facts = {**GIVES, "order": order, "rows": as_facts([*rows, LATECOMER])}
    return case("best_first", rows, partial(drain, _ask, 2 * len(rows)), facts=facts)


def _drawn(rng: Random) -> tuple[Case, ...]:
    return (_best_first(*drawn.rows(rng)),)


EXERCISE = Exercise(
    id="claim",
    title="One task, one worker",
    chapter=21,
    origin="C",
    minutes=30,
    difficulty=3,
    points=15,
    essential=("takes the row", "each task once", "none lost"),
    signatures={"claim": ("engine", "worker_id", "now")},
    shown=("two_workers_three_tasks:none;order=1x2.2x9", "two_workers_three_tasks:none;order=1x3.2x9"),
    cases=(
        _best_first(ROWS, ORDER),
        nothing_due(_ask, row("taken", "running", priority=9, worker_id="w0", attempt=1)),
        *shared_cases(_ask, lambda name, priority: row(name, priority=priority), GIVES),
        case(
            "cancelled_meanwhile",
            [row("b"), row("a", priority=9)],
            partial(once, _ask),
            partial(cancels, "a"),
            engine="interleave",
            preemptions=1,
            databases=("sqlite",),  # elsewhere one may claim under a lock of one's own, which no cancel asks for
            facts=GIVES,
        ),
    ),
    drawn=_drawn,
    properties=(
        *properties(("best_first",), ("nothing_due", "nothing_there")),
        *race_properties(RACES, "crashes"),
        Property(
            "leaves a cancelled task alone",
            "a task that is cancelled meanwhile is not taken",
            cancelled_stays,
            ("cancelled_meanwhile",),
            handed_out,
        ),
        crash_rule("crashes"),
        ends(),
    ),
    hints=(
        "Two workers look at the same moment. What do both of them see, and what does each of them do next? Looking and taking must be one act.",
        "One UPDATE whose WHERE holds the SELECT of the best id. That is one act on SQLite; on PostgreSQL the inner SELECT also needs a row lock that others "
        "skip: `.with_for_update(skip_locked=True)`, which SQLAlchemy leaves out on SQLite. RETURNING gives the row that was taken.",
        "`best = select(tasks.c.id).where(state is pending, available_at <= now).order_by(priority desc, created_at, id)"
        ".limit(1).with_for_update(skip_locked=True)`; then, in `engine.begin()`, `update(tasks)"
        ".where(tasks.c.id == best.scalar_subquery()).values(...).returning(*tasks.c)`, with `tasks.c.attempt + 1`. No row: None. Else `task_from_row(row)`.",
    ),
)
