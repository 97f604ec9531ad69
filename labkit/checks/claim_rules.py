"""What must be true when one worker after the other claims, for `claim` and `lease`: which row, when, and what becomes of it.

Not handled here: several workers at once, and crashes (see `claim_races`).
"""

from __future__ import annotations

from typing import Any

from labkit.checks.claim_order import came, given_out, id_of, in_order, leaves_none, told_of
from labkit.checks.exercise import Finding, Property, Seen
from labkit.checks.rows import CUT_TIME, Row, changed, is_cut
from labkit.database import parse_time
from labkit.plural import counted

NEVER_STORED = "hands out what it has not stored: the transaction is not committed, or the row is not changed"

DELETES = "deletes the row that it hands out"
GONE = "deletes rows that it does not hand out"
AGAIN = "hands a worker the task that it has already, instead of another"
OTHER_CLOCK = "asks another clock than the `now` that is given"

Facts = dict[str, Any]


def wanted(before: Row, worker: str, facts: Facts) -> Row:
    """What must be stored of a row that this worker took."""
    lease = {"lease_expires_at": facts["expires"]} if "expires" in facts else {}
    taken = {"state": "running", "worker_id": worker, "attempt": before["attempt"] + 1, "updated_at": facts["now"]}
    return lease | taken


def _handed_out(seen: Seen, facts: Facts) -> bool:
    return seen.kind == "end" and bool(given_out(seen, facts))


def _does_something(seen: Seen, facts: Facts) -> Finding | None:
    first = told_of(seen)[0] if told_of(seen) else {}
    if first.get("value", "") is None and all(_as_it_was(seen, n, facts) for n in facts["order"]):
        due = counted(len(came(seen, facts)), "task was", "tasks were")
        return Finding(f"{due} due, and the call returned None", "does nothing")
    return None


def _as_it_was(seen: Seen, name: str, facts: Facts) -> bool:
    """Whether nobody touched a row; one that did not come in is as it was."""
    return not changed(facts["rows"][name], seen.end.tasks.get(name, {"state": GONE})) or name not in came(seen, facts)


def _fails(seen: Seen, facts: Facts) -> Finding | None:
    for one in told_of(seen):
        if "error" in one:
            said = f"raised {one['error']['type']}: {one['error']['message']}"
            empty = len(given_out(seen, facts)) >= len(came(seen, facts))
            return Finding(f"a worker asked, and the call {said}", EMPTY_FAILS if empty else "fails on its own")
    return None


EMPTY_FAILS = "an empty queue is an error instead of None"


def _row_changes(seen: Seen, facts: Facts) -> Finding | None:
    given = given_out(seen, facts)
    for name, worker in dict(given).items():
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
    twice = [one for number, one in enumerate(given) if one in given[:number]]
    return Finding(f"{twice[0][1]} asked twice, and was handed {twice[0][0]!r} twice", AGAIN) if twice else None


def _why_not(before: Row, now: Row, must: Row) -> tuple[str, str] | None:
    """What is wrong with a row that was taken, and how one calls it."""
    for column, value in must.items():
        if now[column] != value:
            why = CUT_TIME if column in TIMES and is_cut(now[column], value) else WRONG_COLUMN[column]
            return f"{column} is {now[column]!r}, not {value!r}", why
    others = [name for name in changed(before, now) if name not in must]
    return (f"{others[0]} was changed to {now[others[0]]!r}", "changes more than a claim should") if others else None


TIMES = ("updated_at", "lease_expires_at")
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
            return Finding(f"the task {name!r} is gone", GONE)
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
        no_lease = "expires" in facts and before["lease_expires_at"] is None
        return "takes a running task that has no lease" if no_lease else "takes a task that another worker has"
    return f"takes a {before['state']} task: the state is not looked at"


def _handed_back(seen: Seen, facts: Facts) -> Finding | None:
    for one in told_of(seen):
        value = one.get("value")
        if value is None:
            continue
        name = id_of(value, facts)
        if name is None:
            return Finding(f"the call returned {value!r}", f"does not hand back a {facts['gives']}")
        now = seen.end.tasks.get(name)
        differs = [
            (had, column) for had, column in facts["fields"] if now is not None and _differs(value[had], now[column])
        ]
        if differs and now is not None:
            had, column = differs[0]
            why = STALE if value[had] == facts["rows"][name].get(column) else f"hands back another {had} than is stored"
            return Finding(f"{name!r} was handed back with {had} {value[had]!r}; stored is {now[column]!r}", why)
    return None


def _differs(had: Any, stored: Any) -> bool:
    """Whether a field is another than is stored. Times are held against each other as instants, in whatever form they come."""
    try:
        return had != stored and parse_time(had) != parse_time(stored)
    except (TypeError, ValueError, AttributeError):
        return True


STALE = "hands back the task as it was before it was taken"


def _gives_back(seen: Seen, facts: Facts) -> Finding | None:
    out = int([note for note in seen.end.notes if note.label == "connections"][-1].fault)
    if out > len(told_of(seen)) // 2:
        return Finding(f"after {len(told_of(seen))} calls {out} connections are in use: the pool runs dry", KEEPS)
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


HANDS_OUT, DUE_ONLY = "hands tasks out", "takes only what is due"


def properties(full: tuple[str, ...], empty: tuple[str, ...]) -> tuple[Property, ...]:
    """What is asked of one worker after the other. `full` are the cases with tasks to take, `empty` those without."""
    some = _handed_out
    return (
        Property(HANDS_OUT, "a due task is handed out", _does_something, full, some),
        Property("does not fail", "the call raises nothing", _fails, full, some),
        Property(DUE_ONLY, "all other rows stay as they are", _takes_due, full, some),
        Property(
            "takes the row", "the row is running under the worker, with its attempt counted", _row_changes, full, some
        ),
        Property("leaves none behind", "every due task is handed out in the end", leaves_none, full, some),
        Property("best first", "highest priority first, then oldest, then by id", in_order, full, some),
        Property("hands it back", "the call returns what it took, as it is stored", _handed_back, full, some),
        Property("gives its connection back", "no call keeps a connection", _gives_back, full, some),
        Property(
            "None when nothing is due",
            "nothing due is None and changes nothing",
            _none,
            empty,
            needs=HANDS_OUT,
            unless=(DUE_ONLY,),
        ),
    )
