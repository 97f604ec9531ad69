"""What must be true when one submits after the other: who is accepted, who is refused, and who is known already.

Not handled here: several at once, and crashes (see `backpressure_races`).
"""

from __future__ import annotations

from math import inf
from typing import Any

from labkit.checks.claim_races import why_error
from labkit.checks.exercise import Finding, Seen
from labkit.checks.rows import CUT_TIME, Row, at, brief, changed, is_cut

Facts = dict[str, Any]
Told = dict[str, Any]

BEFORE = -10_800.0  # seconds: one submits earlier than the database's own time, which nobody should have asked
NOW = at(BEFORE)
DAY = 86_400.0
TOO_MANY = "accepts one too many: the limit itself counts as room"
STATES_COUNT = "counts tasks that are no longer pending"
NEEDLESS = "refuses although there is room"
KEY_MAKES_ANOTHER = "a known key makes another task"
KEY_LATE = "asks for the limit before it asks for the key"
KEEPS = "keeps its connections open"
OTHER_ERROR = "full is another error than QueueFull"
UNTOLD = "a refusal is not told"
FORGETS = "a known key is forgotten when it is old"
OTHER_KEY = "takes a key for another one: the case, each character and the end of a key count"
CACHED = "remembers how many were pending: what others do meanwhile is not counted"
EVICTS = "throws a waiting task out to make room, instead of saying no"
OTHER_CLOCK = "asks another clock than the `now` that is given"
NOT_PENDING = "the task is not stored as pending"


def _told(seen: Seen) -> list[Told]:
    return list(seen.end.last.value or ()) if seen.end.last.how == "returned" else []


def _said(one: Told) -> str:
    if "error" in one:
        return f"raised {one['error']['type']}: {one['error']['message']}"
    return "returned an id" if isinstance(one["value"], str) else f"returned {one['value']!r}"


def is_full(error: dict[str, Any]) -> bool:
    return "QueueFull" in error.get("bases", ())


def _new(before: dict[str, Row], one: Told) -> list[str]:
    return [name for name in one["rows"] if name not in before]


def _steps(seen: Seen, facts: Facts) -> list[tuple[dict[str, Row], Told]]:
    """Each call with the rows before it."""
    rows, steps = facts["rows"], []
    for one in _told(seen):
        rows = one.get("before") or rows
        steps.append((rows, one))
        rows = one["rows"]
    return steps


def stored_some(seen: Seen, facts: Facts) -> bool:
    return any(_new(before, one) for before, one in _steps(seen, facts))


def refused_some(seen: Seen, facts: Facts) -> bool:
    return any(is_full(one.get("error", {})) for one in _told(seen))


def knew_some(seen: Seen, facts: Facts) -> bool:
    """Whether a key that was known gave its task's id."""
    return any(one.get("value") == _old(before, one) is not None for before, one in _steps(seen, facts))


def accepts(seen: Seen, facts: Facts) -> Finding | None:
    for before, one in _steps(seen, facts):
        if "error" in one:
            return Finding(
                f"the queue is nearly empty, and submit {_said(one)}",
                NEEDLESS if is_full(one["error"]) else why_error(one["error"]),
            )
        new = _new(before, one)
        if not new:
            return Finding(
                f"submit {_said(one)}, and nothing is stored", "does nothing" if one["value"] is None else NOT_STORED
            )
        if one["value"] != new[0]:
            return Finding(
                f"submit {_said(one)}, and not that of the task it stored", "does not return the id of the task"
            )
    return None


NOT_STORED = "returns an id of a task that is not stored: the transaction is not committed"


def stores(seen: Seen, facts: Facts) -> Finding | None:
    for before, one in _steps(seen, facts):
        for name in _new(before, one):
            why = why_not(one["rows"][name], one["asked"])
            if why:
                return Finding(f"the new task has {why[0]} {brief(one['rows'][name][why[0]])}", why[1])
        touched = [n for n, r in before.items() if n not in one["rows"] or changed(r, one["rows"][n])]
        if touched:
            why_touched = EVICTS if _evicted(before, one) else "changes another task than the new one"
            return Finding(f"a submit changed {touched[0]!r}", why_touched)
    return None


def _evicted(before: dict[str, Row], one: Told) -> bool:
    """Whether somebody who waited waits no longer."""
    waited = [name for name, row in before.items() if row["state"] == "pending"]
    return any(one["rows"].get(name, {}).get("state") != "pending" for name in waited)


def why_not(row: Row, asked: list[Any]) -> tuple[str, str] | None:
    """The column that is wrong in a new row, and how one calls that."""
    text, _, key = asked
    wanted = {
        "state": ("pending", NOT_PENDING),
        "user_input": (text, "the input is not stored as it was given"),
        "idempotency_key": (key, f"the key is not stored{' as it was given' if row['idempotency_key'] else ''}"),
        "created_at": (NOW.isoformat(), CUT_TIME if is_cut(row["created_at"], NOW.isoformat()) else OTHER_CLOCK),
        "worker_id": (None, "a new task belongs to nobody"),
        "attempt": (0, "a new task has had no attempt"),
        "result": (None, "a new task has no result"),
        "error": (None, "a new task has no error"),
    }
    for column, (value, why) in wanted.items():
        if row[column] != value:
            return column, why
    late = row["available_at"] > NOW.isoformat()
    return ("available_at", "the task is not due when it is submitted") if late else None


def own(seen: Seen, facts: Facts) -> Finding | None:
    ids = [one["value"] for one in _told(seen) if one.get("value") in list(one["rows"])]
    if len(set(ids)) < len(ids):
        return Finding("two submits without a key got one id", "the input is taken for a key")
    return None


def counts(seen: Seen, facts: Facts) -> Finding | None:
    """Some are pending of the many that are stored: there is room for one more, and for another when the limit grows."""
    over: list[tuple[int, int, str]] = []
    for before, one in _steps(seen, facts):
        pending, most = sum(row["state"] == "pending" for row in before.values()), one["asked"][1]
        if pending < most and "error" in one:
            needless = CACHED if "before" in one else STATES_COUNT
            why = needless if is_full(one["error"]) else why_error(one["error"])
            return Finding(
                f"{pending} of {len(before)} tasks are pending, the limit is {most}, and submit {_said(one)}", why
            )
        if pending >= most and _new(before, one):
            over.append((pending, most, EVICTS if _evicted(before, one) else CACHED if "before" in one else ""))
    if not over:
        return None
    no_limit, not_due = over[-1][1] == 1, any(pending > most for pending, most, _ in over)
    why = over[0][2] or (NO_LIMIT if no_limit else NOT_DUE if not_due else TOO_MANY)
    return Finding(f"{over[0][0]} tasks were pending, the limit is {over[0][1]}, and one more was accepted", why)


NO_LIMIT = "the limit is not looked at"
NOT_DUE = "tasks that are pending but not yet due are not counted"


def says_no(seen: Seen, facts: Facts) -> Finding | None:
    for before, one in _steps(seen, facts):
        _, most, key = one["asked"]
        known = any(row["idempotency_key"] == key for row in before.values() if key is not None)
        if known or sum(row["state"] == "pending" for row in before.values()) < most:
            continue
        if _new(before, one):
            late = "says that it is full, and has stored the task" if "error" in one else TOO_MANY
            why = EVICTS if _evicted(before, one) else late
            return Finding(f"the queue was full, submit {_said(one)}, and a task was stored", why)
        if "error" not in one or not is_full(one["error"]):
            why = OTHER_ERROR if "error" in one else UNTOLD
            return Finding(f"the queue was full, and submit {_said(one)}", why)
    return None


def says_when(seen: Seen, facts: Facts) -> Finding | None:
    for one in _told(seen):
        after = one.get("error", {}).get("data", {}).get("retry_after", 1.0)
        if "error" in one and is_full(one["error"]) and not (isinstance(after, (int, float)) and 0 < after < inf):
            return Finding(f"QueueFull with retry_after {after!r}", NO_TIME)
    return None


NO_TIME = "does not say when to come again (retry_after > 0, and not infinite)"


def zero(seen: Seen, facts: Facts) -> Finding | None:
    for before, one in _steps(seen, facts):
        if _new(before, one):
            return Finding(f"max_pending is 0, and submit {_said(one)}", "max_pending 0 is taken for no limit")
    return None


def _old(before: dict[str, Row], one: Told) -> str | None:
    """The id of the task that has this key already."""
    key = one["asked"][2]
    return next((name for name, row in before.items() if key is not None and row["idempotency_key"] == key), None)


def knows(seen: Seen, facts: Facts) -> Finding | None:
    for before, one in _steps(seen, facts):
        name = _old(before, one)
        full = sum(row["state"] == "pending" for row in before.values()) >= one["asked"][1]
        if full and "error" in one:
            continue
        if name is None:
            found = _not_its_own(before, one)
            if found:
                return found
            continue
        if one.get("value") != name or _new(before, one) or changed(before[name], one["rows"].get(name, {})):
            state = before[name]["state"]
            why = KEY_MAKES_ANOTHER if _new(before, one) else KEY_ERROR if "error" in one else KEY_WRONG
            old = before[name]["created_at"] < at(BEFORE - DAY).isoformat()
            why = FORGETS if old and why != KEY_WRONG else NO_KEY if one["asked"][2] == "" else why
            return Finding(f"the key of a {state} task came again, and submit {_said(one)}", why)
    return None


def _not_its_own(before: dict[str, Row], one: Told) -> Finding | None:
    """A key that is like one that is known, and is another: it makes a task. The input says in which way it is like it."""
    like, new = one["asked"][0], _new(before, one)
    if "error" in one:
        return Finding(f"a new key came ({like}), and submit {_said(one)}", why_error(one["error"]))
    if one["value"] not in new:
        return Finding(f"a new key came ({like}), and submit {_said(one)}: no new task's", OTHER_KEY)
    return None


NO_KEY = "the empty key is taken for none: it is a key like any other, and None is none"
KEY_ERROR = "a known key is an error instead of an id"
KEY_WRONG = "a known key gives something else than its task's id, or changes that task"


def key_first(seen: Seen, facts: Facts) -> Finding | None:
    for before, one in _steps(seen, facts):
        if _old(before, one) is not None and "error" in one and is_full(one["error"]):
            return Finding(f"the queue is full, a known key came again, and submit {_said(one)}", KEY_LATE)
    return None


def gives_back(seen: Seen, facts: Facts) -> Finding | None:
    out = int([note for note in seen.end.notes if note.label == "connections"][-1].fault)
    return Finding(f"after {len(_told(seen))} calls {out} connections are in use", KEEPS) if out > 2 else None
