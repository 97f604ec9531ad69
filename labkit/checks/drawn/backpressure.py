"""Drawn submits of `backpressure`: other inputs, keys and limits, and other rows that are there before.

Not handled here: submitters at once (the fixed cases have them), and submitting (see `backpressure`).
"""

from __future__ import annotations

from random import Random

from labkit.checks.drawn.words import name, names, text

STATES = ("running", "waiting", "completed", "failed", "cancelled")
Asked = tuple[str, int, str | None]  # (user_input, max_pending, key)
Found = tuple[str, str, float, str | None]  # (id, state, seconds after which it is due, key)


def accepted(rng: Random) -> list[Asked]:
    """There is room for all of them, and two have one input."""
    most, again = rng.randrange(10, 90), text(rng)
    return [(again, most, None), (text(rng), most, name(rng)), (again, most, None)]


def filling(rng: Random) -> tuple[list[Found], list[Asked]]:
    """As many wait as may, then there is room for one, then for three."""
    ids, pending = names(rng, 12), rng.randrange(2, 8)
    waiting = [(one, "pending", float(rng.randrange(-60, 9_000)), None) for one in ids[:pending]]
    others = [(one, rng.choice(STATES), -60.0, None) for one in ids[pending:]]
    asked: list[Asked] = [(text(rng), most, None) for most in (pending, pending + 1, pending + 1, pending + 4)]
    return rng.sample([*waiting, *others], len(ids)), asked


def known(rng: Random) -> tuple[str, list[Found], list[Asked]]:
    """A state, and a key of a task in it that comes again: there is room, the queue is full, and it takes nobody at all."""
    state, ids, keys = rng.choice(STATES), names(rng, 3), names(rng, 3)
    found = [(one, state if key == keys[0] else "pending", -60.0, key) for one, key in zip(ids, keys, strict=True)]
    return state, rng.sample(found, 3), [(text(rng), most, keys[0]) for most in (rng.randrange(10, 90), 1, 0)]
