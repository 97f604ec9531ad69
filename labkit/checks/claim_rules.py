"""What must be true when one worker after the other claims, for `claim` and `lease`: which row, when, and what becomes of it.

Not handled here: several workers at once, and crashes (see `claim_races`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labkit.checks.exercise import Finding, Property, Seen
from labkit.checks.rows import Row, changed

NEVER_STORED = "hands out what it has not stored: the transaction is not committed, or the row is not changed"

SEVERAL = "takes more than one row by one call"
DELETES = "deletes the row that it hands out"
OTHER_CLOCK = "asks another clock than the `now` that is given"

Facts = dict[str, Any]


def id_of(value: Any, facts: Facts) -> str | None:
    """Which task was handed out, or None if it was none."""
    return value.get(facts["id"]) if isinstance(value, dict) and value.get("type") == facts["gives"] else None


def wanted(before: Row, worker: str, facts: Facts) -> Row:
    """What must be stored of a row that this worker took."""
    lease = {"lease_expires_at": facts["expires"]} if "expires" in facts else {}
    taken = {"state": "running", "worker_id": worker, "attempt": before["attempt"] + 1, "updated_at": facts["now"]}
    return lease | taken


def _told(seen: Seen) -> list[dict[str, Any]]:
    return list(seen.end.last.value or ()) if seen.end.last.how == "returned" else []


def _given(seen: Seen, facts: Facts) -> list[tuple[str, str]]:
    """(id, worker) of what was handed out, in order."""
    found = [(id_of(one.get("value"), facts), one["worker"]) for one in _told(seen)]
    return [(name, worker) for name, worker in found if name is not None]


def _handed_out(seen: Seen, facts: Facts) -> bool:
    return seen.kind == "end" and bool(_given(seen, facts))


def _does_something(seen: Seen, facts: Facts) -> Finding | None:
    first = _told(seen)[0] if _told(seen) else {}
    if first.get("value", "") is None and all(not changed(facts["rows"][n], r) for n, r in seen.end.tasks.items()):
        return Finding(f"{len(facts['order'])} tasks were due, and the call returned None", "does nothing")
    return None


def _fails(seen: Seen, facts: Facts) -> Finding | None:
    for one in _told(seen):
        if "error" in one:
            said = f"raised {one['error']['type']}: {one['error']['message']}"
            empty = len(_given(seen, facts)) >= len(facts["order"])
            return Finding(f"a worker asked, and the call {said}", EMPTY_FAILS if empty else "fails on its own")
    return None


EMPTY_FAILS = "an empty queue is an error instead of None"


def _row_changes(seen: Seen, facts: Facts) -> Finding | None:
    for name, worker in dict(_given(seen, facts)).items():
        before, now = facts["rows"].get(name), seen.end.tasks.get(name)
        if before is None:
            return Finding(f"the task {name!r} was handed out, and there is none", "hands out a task that is not there")
        if now is None:
            return Finding(f"the task {name!r} was handed out, and is gone", DELETES)
        if not changed(before, now):
            return Finding(f"{name!r} was handed out to {worker}, and is stored as it was", NEVER_STORED)
        why = _why_not(before, now, wanted(before, worker, facts))
        if why:
            return Finding(f"{name!r} was handed out to {worker}: {why[0]}", why[1])
    return None


def _why_not(before: Row, now: Row, must: Row) -> tuple[str, str] | None:
    """What is wrong with a row that was taken, and how one calls it."""
    for column, value in must.items():
        if now[column] != value:
            return f"{column} is {now[column]!r}, not {value!r}", WRONG_COLUMN[column]
    others = [name for name in changed(before, now) if name not in must]
    return (f"{others[0]} was changed to {now[others[0]]!r}", "changes more than a claim should") if others else None


WRONG_COLUMN = {
    "state": "the row does not become running",
    "worker_id": "the row does not say which worker has it",
    "attempt": "the attempt is not counted up by one",
    "updated_at": "updated_at is not the `now` that was given",
    "lease_expires_at": "the lease does not end lease_seconds after now",
}


def _takes_due(seen: Seen, facts: Facts) -> Finding | None:
    """Nothing that may not be taken was touched."""
    for name, before in facts["rows"].items():
        now = seen.end.tasks.get(name)
        if name in facts["order"] or (now is not None and not changed(before, now)):
            continue
        if now is None:
            return Finding(f"the task {name!r} is gone", DELETES)
        return Finding(f"{name!r}, which was {before['state']}, was taken or changed", _why_taken(before, now, facts))
    return None


def _why_taken(before: Row, now: Row, facts: Facts) -> str:
    if before["state"] == "pending":
        asks_another = now["updated_at"] not in (facts["now"], before["updated_at"])
        return (
            OTHER_CLOCK
            if asks_another
            else "takes a task before its time: available_at is not looked at, or not against `now`"
        )
    if before["state"] == "running":
        return "takes a task that another worker has"
    return f"takes a {before['state']} task: the state is not looked at"


def _leaves_none(seen: Seen, facts: Facts) -> Finding | None:
    given = [name for name, _ in _given(seen, facts)]
    left = [name for name in facts["order"] if name not in given]
    told = [one for one in _told(seen) if one.get("value", "") is not None]
    if not left or not _told(seen) or len(told) > len(given):
        return None
    if changed(facts["rows"][left[0]], seen.end.tasks.get(left[0], {})):
        return Finding(f"{left[0]!r} was taken, and no call returned it", SEVERAL)
    return Finding(
        f"due, and never handed out: {', '.join(left)}", facts.get("left", {}).get(left[0], LEFT[len(left) > 1])
    )


LEFT = {
    False: "a task that is due at this very moment is left lying (< instead of <=)",
    True: "says None although tasks are due",
}


def _in_order(seen: Seen, facts: Facts) -> Finding | None:
    given = list(dict.fromkeys(name for name, _ in _given(seen, facts)))
    due = [name for name in given if name in facts["order"]]
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


def _handed_back(seen: Seen, facts: Facts) -> Finding | None:
    for one in _told(seen):
        value = one.get("value")
        if value is None:
            continue
        name = id_of(value, facts)
        if name is None:
            return Finding(f"the call returned {value!r}", f"does not hand back a {facts['gives']}")
        now = seen.end.tasks.get(name)
        differs = [(had, column) for had, column in facts["fields"] if now is not None and value[had] != now[column]]
        if differs and now is not None:
            had, column = differs[0]
            why = STALE if value[had] == facts["rows"][name].get(column) else f"hands back another {had} than is stored"
            return Finding(f"{name!r} was handed back with {had} {value[had]!r}; stored is {now[column]!r}", why)
    return None


STALE = "hands back the task as it was before it was taken"


def _gives_back(seen: Seen, facts: Facts) -> Finding | None:
    out = int([note for note in seen.end.notes if note.label == "connections"][-1].fault)
    if out > len(_told(seen)) // 2:
        return Finding(f"after {len(_told(seen))} calls {out} connections are in use: the pool runs dry", KEEPS)
    return None


KEEPS = "keeps its connections open"


def _none(seen: Seen, facts: Facts) -> Finding | None:
    last = seen.end.last
    if last.how == "returned" and last.value is None:
        return None
    why = EMPTY_FAILS if last.how == "raised" else "makes up a task" if not facts["rows"] else None
    if why is None:
        return _takes_due(seen, facts) or Finding(f"nothing was due, and the call {last}", "hands out what is not due")
    return Finding(f"nothing was due, and the call {last}", why)


HANDS_OUT = "hands tasks out"


def properties(full: tuple[str, ...], empty: tuple[str, ...]) -> tuple[Property, ...]:
    """What is asked of one worker after the other. `full` are the cases with tasks to take, `empty` those without."""
    some = _handed_out
    return (
        Property(HANDS_OUT, "a due task is handed out", _does_something, full, some),
        Property("does not fail", "the call raises nothing", _fails, full, some),
        Property("takes only what is due", "all other rows stay as they are", _takes_due, full, some),
        Property("takes the row", "the row is running under the worker, with its attempt counted", _row_changes, full, some),
        Property("leaves none behind", "every due task is handed out in the end", _leaves_none, full, some),
        Property("best first", "highest priority first, then oldest, then by id", _in_order, full, some),
        Property("hands it back", "the call returns what it took, as it is stored", _handed_back, full, some),
        Property("gives its connection back", "no call keeps a connection", _gives_back, full, some),
        Property("None when nothing is due", "nothing due is None and changes nothing", _none, empty, needs=HANDS_OUT),
    )
