"""Which tasks were handed out, in which order, and whether none was left: for one worker after the other, in `claim` and `lease`.

Not handled here: what became of a row that was handed out (see `claim_rules`).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from labkit.checks.claims import LATECOMER
from labkit.checks.common import is_a
from labkit.checks.exercise import Finding, Seen
from labkit.checks.rows import Row, changed

Facts = dict[str, Any]

SEVERAL = "takes more than one row by one call"
ONE_EACH = "a worker that has a task gets no other"
OWN_NO_MORE = "a worker does not get back what it had before"
SAYS_NONE = "says None although tasks are due"


def id_of(value: Any, facts: Facts) -> str | None:
    """Which task was handed out, or None if it was none."""
    return value.get(facts["id"]) if is_a(value, facts["gives"]) else None


def told_of(seen: Seen) -> list[dict[str, Any]]:
    return list(seen.end.last.value or ()) if seen.end.last.how == "returned" else []


def given_out(seen: Seen, facts: Facts) -> list[tuple[str, str]]:
    """(id, worker) of what was handed out, in order."""
    found = [(id_of(one.get("value"), facts), one["worker"]) for one in told_of(seen)]
    return [(name, worker) for name, worker in found if name is not None]


def came(seen: Seen, facts: Facts) -> list[str]:
    """The tasks that were to be handed out; what comes in meanwhile may not have come so far."""
    return [name for name in facts["order"] if name != LATECOMER["id"] or name in seen.end.tasks]


def leaves_none(seen: Seen, facts: Facts) -> Finding | None:
    too_early = _none_too_early(seen, facts)
    if too_early:
        return too_early
    names = [name for name, _ in given_out(seen, facts)]
    left = [name for name in came(seen, facts) if name not in names]
    told = [one for one in told_of(seen) if one.get("value", "") is not None]
    if not left or not told_of(seen) or len(told) > len(names):
        return None
    if changed(facts["rows"][left[0]], seen.end.tasks.get(left[0], {})):
        return Finding(f"{left[0]!r} was taken, and no call returned it", SEVERAL)
    return Finding(f"due, and never handed out: {', '.join(left)}", _why_left(seen, left, facts))


def _none_too_early(seen: Seen, facts: Facts) -> Finding | None:
    """None for one worker, and a task for the next that asks."""
    for one, after in pairwise(told_of(seen)):
        name = id_of(after.get("value"), facts)
        if one.get("value", "") is None and name is not None:
            had = [worker for _, worker in given_out(seen, facts)]
            own = facts["rows"].get(name, {}).get("worker_id") == one["worker"]
            why = OWN_NO_MORE if own else ONE_EACH if one["worker"] in had else SAYS_NONE
            return Finding(f"{one['worker']} was told that nothing is due, and the next to ask was given {name!r}", why)
    return None


def _why_left(seen: Seen, left: list[str], facts: Facts) -> str:
    """What the tasks that were left have in common."""
    rows, taken = [facts["rows"][name] for name in left], {name for name, _ in given_out(seen, facts)}
    if all(row["state"] == "pending" and row["available_at"] == facts["now"] for row in rows):
        return "a task that is due at this very moment is left lying (< instead of <=)"
    if all(row["state"] == "running" for row in rows) and not taken & set(facts.get("over", ())):
        return "a running task whose lease is over is never claimed again"
    if left == [LATECOMER["id"]]:
        return "does not look again: a task that came meanwhile is never handed out"
    return SAYS_NONE if len(left) > 1 else f"leaves a due task lying: {UNASKED}"


UNASKED = "something else is asked than its state and its time"


def in_order(seen: Seen, facts: Facts) -> Finding | None:
    names = list(dict.fromkeys(name for name, _ in given_out(seen, facts)))
    due = [name for name in names if name in facts["order"]]
    right = [name for name in facts["order"] if name in due]
    if due == right:
        return None
    rows = facts["rows"]
    known = [why for why, key in ORDERS.items() if sorted(right, key=lambda n: key(rows[n])) == due]
    tie = next((a, b) for a, b in zip(due, right, strict=True) if a != b)
    same = all(rows[tie[0]][c] == rows[tie[1]][c] for c in ("priority", "created_at"))
    why = TIES if same else known[0] if known else "hands the tasks out in another order"
    return Finding(f"handed out in the order {', '.join(due)}; right is {', '.join(right)}", why)


TIES = "ties are not broken by the id"
ORDERS: dict[str, Callable[[Row], Any]] = {
    "the priority is not looked at": lambda r: (r["created_at"], r["id"]),
    "the lowest priority comes first": lambda r: (r["priority"], r["created_at"], r["id"]),
    "orders by available_at instead of created_at": lambda r: (-r["priority"], r["available_at"], r["id"]),
    "created_at is not looked at": lambda r: (-r["priority"], r["id"]),
}
