"""Drawn windows, floors and attempts of `backoff`: other bases, other caps.

Not handled here: drawing waits from them (see `backoff`).
"""

from __future__ import annotations

from random import Random

Window = tuple[int, float, float]  # attempt, base, cap
BASES = (0.2, 0.3, 0.4, 0.6, 0.8, 1.25, 1.5, 2.5, 4.0)
CAPS = (7.0, 12.5, 45.0, 240.0, 3600.0)


def windows(rng: Random) -> tuple[Window, ...]:
    """Some that grow with the attempt, and some that the cap ends."""
    base, cap = rng.choice(BASES), rng.choice(CAPS)
    attempts = sorted(rng.sample(range(12), 3))
    return (*((attempt, base, cap) for attempt in attempts), (rng.randrange(12, 900), rng.choice(BASES), rng.choice(CAPS)))


def far(rng: Random) -> tuple[Window, ...]:
    """One after which the power would be out of range."""
    return ((rng.randrange(1_100, 10**8), rng.choice(BASES), rng.choice(CAPS)),)


def floors(rng: Random) -> tuple[tuple[float, Window], ...]:
    """A floor inside of its window, and one that lies beyond the cap."""
    low, high = ((rng.randrange(4, 12), rng.choice(BASES), rng.choice(CAPS)) for _ in range(2))
    return ((round(min(low[1] * 2.0 ** low[0], low[2]) * rng.uniform(0.1, 0.6), 2), low), (high[2] + rng.randrange(1, 50), high))


def negative(rng: Random) -> tuple[int, ...]:
    return tuple(-number for number in rng.sample(range(2, 7), 2))
