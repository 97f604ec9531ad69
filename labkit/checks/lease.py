"""The exercise `lease`: a worker that dies gives its task back by being silent, and one that only slept can no longer write.

The flagship schedule: A claims, sleeps past its lease, B claims and completes, A wakes. With two names and with one.

Not handled here: a task that kills every worker it meets (the library counts its attempts).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from random import Random
from typing import Any

from labkit.checks import lease_rules as rules
from labkit.checks import lease_stories as stories
from labkit.checks.claim_races import race_properties
from labkit.checks.claim_rules import properties
from labkit.checks.claims import LATECOMER, MICROSECOND, RACES, case, drain, nothing_due, shared_cases
from labkit.checks.common import after_crash, crash_rule, crashed, ends
from labkit.checks.drawn import claims as drawn
from labkit.checks.drawn.words import name, text
from labkit.checks.exercise import Case, Exercise, Property
from labkit.checks.rows import Row, as_facts, at, row
from labkit.queue.lease import Lease

FIELDS = [("worker_id", "worker_id"), ("attempt", "attempt"), ("expires_at", "lease_expires_at")]
GIVES = {"gives": "Lease", "id": "task_id", "fields": FIELDS, "expires": at(stories.LONG).isoformat()}
HELD: dict[str, Any] = {"worker_id": "w0", "attempt": 1}
ROWS = [  # not in the order in which they lie
    row("b", made=-7000.0, due=-90.0, priority=-3, attempt=12, worker_id="w0", error="old"),
    row("a", "running", made=-7000.0, priority=-3, lease=-1.0, **HELD),
    row("hotfix", "running", made=-8000.0, priority=9, lease=-3600.0, worker_id="w0", attempt=14),
    row("an old one", "running", made=-9999.0, priority=-3, lease=-MICROSECOND, idempotency_key="order 7", **HELD),
    row("just due", made=-20.0, due=0.0),
    row("in a moment", made=-9000.0, due=MICROSECOND, priority=9),
    row("without a lease", "running", made=-9000.0, priority=9, **HELD),
    row("over this moment", "running", made=-9000.0, priority=9, lease=0.0, **HELD),
    row("held", "running", made=-9000.0, priority=9, lease=30.0, **HELD),
    row("done", "completed", priority=9, lease=-60.0, result="v1", **HELD),
    row("failed", "failed", priority=9, lease=-60.0, error="no", **HELD),
    row("unwanted", "cancelled", priority=9, lease=-60.0, **HELD),
    row("asks somebody", "waiting", priority=9, lease=-60.0, **HELD),
]
ORDER = ["hotfix", "just due", "an old one", "a", "b", "just came"]  # each other way to order these gives another list
COMPLETED = ("completed", "completed_empty", "late")
ZOMBIES = ("zombie", "zombie_of_the_same_name")


def _best_first(rows: Sequence[Row], order: Sequence[str], over: Sequence[str], seconds: float = stories.LONG) -> Case:
    facts = {**GIVES, "expires": at(seconds).isoformat(), "order": order, "over": over, "rows": as_facts([*rows, LATECOMER])}
    return case("best_first", rows, partial(drain, partial(stories.ask, seconds=seconds), 2 * len(rows)), facts=facts)


def _drawn(rng: Random) -> tuple[Case, ...]:
    lease = Lease(name(rng), name(rng), rng.randrange(4, 30), at(5.0))
    return (
        _best_first(*drawn.leased(rng), rng.randrange(30, 900) + 0.5),
        stories.renewed(lease, rng.randrange(30, 900) + 0.5),
        stories.completed("completed", text(rng), lease),
    )


EXERCISE = Exercise(
    id="lease",
    title="A lease that fences off the dead",
    chapter=21,
    origin="+",
    minutes=40,
    difficulty=4,
    points=20,
    essential=("each task once", "fences", "stops the zombie"),
    signatures={
        "claim": ("engine", "worker_id", "now", "lease_seconds"),
        "heartbeat": ("engine", "lease", "now", "lease_seconds"),
        "complete": ("engine", "lease", "result", "now"),
    },
    shown=("zombie:none;order=1x9.2x9", "zombie_of_the_same_name:none;order=1x9.2x9"),
    cases=(
        _best_first(ROWS, ORDER, ["hotfix", "an old one", "a"]),
        nothing_due(
            stories.ask,
            row("held", "running", priority=9, lease=30.0, **HELD),
            row("over this moment", "running", priority=9, lease=0.0, **HELD),
            row("without a lease", "running", priority=9, **HELD),
        ),
        *shared_cases(
            stories.ask,
            lambda name, priority: (
                row(name, "running", lease=-9.0, priority=priority, **HELD)
                if name in "bd"
                else row(name, priority=priority)
            ),
            GIVES,
        ),
        *stories.alone(),
        *stories.at_once(),
    ),
    drawn=_drawn,
    properties=(
        *properties(("best_first",), ("nothing_due", "nothing_there")),
        *race_properties(RACES, "crashes"),
        Property("renews", "a heartbeat moves the end of the lease, and nothing else", rules.renews, stories.RENEWED),
        Property(
            "keeps others away", "who renews in time keeps the task", rules.keeps, stories.RENEWED, unless=("renews",)
        ),
        Property("completes", "complete stores the result and ends the task", rules.completes, COMPLETED),
        Property(
            "late is not lost",
            "a lease that is over holds until somebody takes it",
            rules.late,
            ("late",),
            rules.written,
        ),
        Property("fences", "who lost the task gets StaleLease and changes nothing", rules.fences, stories.NOT_MINE),
        Property(
            "stops the zombie",
            "who slept past the lease cannot write over its successor",
            rules.zombie,
            ZOMBIES,
            unless=("takes the row", "hands it back"),
        ),
        Property(
            "one of two",
            "of two writes that exclude each other one goes through",
            rules.one_wins,
            stories.DUELS,
            unless=("takes the row", "late is not lost", "fences"),
        ),
        Property(
            "no error leaks here",
            "whoever meets another hears StaleLease at most",
            rules.no_error,
            stories.DUELS,
            rules.written,
        ),
        Property(
            "whole at every step", "no crash leaves a task without lease or result", rules.whole, ("dies",), crashed
        ),
        Property(
            "comes back",
            "what a dead worker held is done in the end, by another",
            rules.comes_back,
            ("dies",),
            after_crash,
            unless=("takes the row", "hands it back", "renews", "stops the zombie"),
        ),
        crash_rule("crashes", "dies"),
        ends(),
    ),
    hints=(
        "What can a worker know that was away for an hour? Only what the row says now. Which columns of the row tell it that the task is still its own?",
        "Claim: pending and due, or running with `lease_expires_at < now`, one SELECT with a row lock inside one UPDATE. Heartbeat and complete: one UPDATE "
        "whose WHERE holds the id, running, the worker *and* the attempt. No row changed means StaleLease. The expiry is not asked there.",
        "`fence = (tasks.c.id == lease.task_id) & (tasks.c.state == 'running') & (tasks.c.worker_id == lease.worker_id) & (tasks.c.attempt == lease.attempt)`; "
        "then `if connection.execute(update(tasks).where(fence).values(...)).rowcount == 0: raise StaleLease()`. Two workers may share a name: "
        "only the attempt tells them apart.",
    ),
)
