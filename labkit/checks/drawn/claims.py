"""Drawn rows of `claim` and `lease`: other ids, priorities, ages and states, and the order in which those that can be taken are to be handed out.

Not handled here: workers at once (the fixed cases have them), and calling the answer (see `claims`).
"""

from __future__ import annotations

from random import Random
from typing import Any

from labkit.checks.claims import LATECOMER
from labkit.checks.drawn.words import name, names
from labkit.checks.rows import Row, row

OTHERS = ("completed", "failed", "cancelled", "waiting", "running")
Rows = tuple[list[Row], list[str]]  # in the order in which they lie, and the ids of those to take, the best first


def rows(rng: Random) -> Rows:
    """Rows of which some are due; two of them are equally urgent, and two of these equally old."""
    ids = iter(names(rng, 12))
    urgent, made = rng.randrange(1, 9), -float(rng.randrange(100, 9_000))
    due = [_waiting(rng, next(ids), urgent, made), _waiting(rng, next(ids), urgent, made), _waiting(rng, next(ids), urgent)]
    due += [_waiting(rng, next(ids), rng.randrange(-2, 10)) for _ in range(rng.randrange(1, 4))]
    later = row(next(ids), due=float(rng.randrange(1, 9_000)), priority=99)
    others = [row(next(ids), state, priority=99, worker_id="w0", attempt=1) for state in rng.sample(OTHERS, 3)]
    return _shuffled(rng, [*due, later, *others]), in_order([*due, LATECOMER])


def leased(rng: Random) -> tuple[list[Row], list[str], list[str]]:
    """The same where some are running whose lease is over, and the ids of those."""
    found, _ = rows(rng)
    over = [_held(rng, one, -float(rng.randrange(1, 5_000))) for one in names(rng, rng.randrange(1, 4))]
    held = _held(rng, name(rng), float(rng.randrange(1, 5_000)))
    to_take = [one for one in found if one["state"] == "pending" and one["priority"] < 99]
    return _shuffled(rng, [*found, *over, held]), in_order([*to_take, *over, LATECOMER]), [one["id"] for one in over]


def _waiting(rng: Random, task_id: str, priority: int, made: float | None = None) -> Row:
    made = -float(rng.randrange(100, 9_000)) if made is None else made
    return row(task_id, made=made, due=-float(rng.randrange(90)), priority=priority, attempt=rng.randrange(3))


def _held(rng: Random, task_id: str, lease: float) -> Row:
    how: dict[str, Any] = {"worker_id": name(rng), "attempt": rng.randrange(1, 9), "priority": rng.randrange(-2, 10)}
    return row(task_id, "running", made=-float(rng.randrange(100, 9_000)), lease=lease, **how)


def _shuffled(rng: Random, found: list[Row]) -> list[Row]:
    return rng.sample(found, len(found))


def in_order(found: list[Row]) -> list[str]:
    """Highest priority first, then oldest, then by id."""
    return [one["id"] for one in sorted(found, key=lambda one: (-one["priority"], one["created_at"], one["id"]))]
