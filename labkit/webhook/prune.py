"""Old deliveries go, and none that its receiver does not have.

What was received is kept for a while, so that one can look it up, and then superfluous: too old, or more than so many newer ones. A delivery that is
still to be made is never removed, however old it is, nor one that somebody is making, nor one that failed for good: that row is the only one who knows that
the receiver was never told. A failed one goes only where somebody names an age for it. Nothing that was removed is written again, since the note in the log
was cleared in the commit that wrote it. Each commit removes a few; a crash between two leaves the rest to the next call.

Not handled here: when to do it (see `deliver`), and the log itself, which keeps how each task ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine

from labkit.commit import one_commit, times
from labkit.statement import for_both

DAY_SECONDS = 86_400.0
_MOST = 500  # rows that go in one commit
_OLD = for_both(
    f"""{{with}}DELETE FROM webhook_deliveries WHERE id IN (
  SELECT id FROM webhook_deliveries WHERE state = :state AND updated_at < {{expires}} ORDER BY updated_at, id LIMIT {_MOST}) RETURNING id"""
)
_SURPLUS = for_both(
    f"""DELETE FROM webhook_deliveries WHERE id IN (
  SELECT id FROM webhook_deliveries WHERE state = 'delivered' AND (updated_at, id) <= (
    SELECT updated_at, id FROM webhook_deliveries WHERE state = 'delivered' ORDER BY updated_at DESC, id DESC LIMIT 1 OFFSET :kept)
  ORDER BY updated_at, id LIMIT {_MOST}) RETURNING id"""
)


@dataclass(frozen=True)
class Keep:
    """How long deliveries are kept once they have come to an end, in seconds, and how many that were received; None: for ever."""

    max_age: float | None = 30 * DAY_SECONDS
    max_count: int | None = 10_000
    failed_max_age: float | None = None

    def __post_init__(self) -> None:
        if any(limit is not None and limit < 0 for limit in vars(self).values()):
            raise ValueError("an age and a number of deliveries must not be negative")


def prune(engine: Engine, keep: Keep, now: datetime | None = None) -> int:
    """Remove what is superfluous, and return how many that were. One that is exactly as old as it may be stays. `StoreBusy`."""
    gone = _older(engine, "delivered", keep.max_age, now) + _older(engine, "failed", keep.failed_max_age, now)
    while keep.max_count is not None:
        with one_commit(engine) as execute:
            found = len(execute(_SURPLUS[engine.dialect.name], {"kept": keep.max_count}))
        gone += found
        if found < _MOST:
            break
    return gone


def _older(engine: Engine, state: str, max_age: float | None, now: datetime | None) -> int:
    gone = 0
    while max_age is not None:
        with one_commit(engine) as execute:
            instant = times(execute, engine, now, -max_age)
            found = len(execute(_OLD[engine.dialect.name], {"state": state} | instant))
        gone += found
        if found < _MOST:
            break
    return gone
