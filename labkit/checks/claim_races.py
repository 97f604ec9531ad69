"""What must be true when several workers claim at once, and when one dies in the middle, for `claim` and `lease`.

A run is judged by its end: the rows as they are stored, and what each call returned or raised.

Not handled here: one worker after the other (see `claim_rules`).
"""

from __future__ import annotations

from typing import Any

from labkit.checks.claim_order import SEVERAL, id_of
from labkit.checks.claim_rules import DELETES, NEVER_STORED, wanted
from labkit.checks.common import after_crash, crashed
from labkit.checks.exercise import Finding, Property, Seen
from labkit.checks.rows import Row, changed
from labkit.faults.outcome import Outcome

Facts = dict[str, Any]

LOOKS_FIRST = "looks first and takes later: in between another worker takes the same row"
NOT_MINE = "does not look whether its own UPDATE has changed a row"
NO_LOCK = "no row lock: on PostgreSQL who waited for the row takes it all the same"
SEVERAL_BY_PLAN = "IN (SELECT ... LIMIT 1): the subquery may run again for each row, and takes several"
GIVES_UP = "gives up when another worker was faster, although tasks are left"
WAITS = "keeps its transaction open after it has returned, so that others wait for it"
HALF = "takes a row in more than one transaction: a crash in between leaves half of it"
LOCKED = "reads first and writes later in one transaction: SQLite refuses that when another writes, and the error leaks"
UNDOES = "undoes a cancel: what takes the row does not ask whether it is still pending"
ONE_ID = "two tasks get one id"
ERRORS = {
    "DeadlockDetected": "deadlock: two workers wait for each other's rows, and the error leaks",
    "SerializationFailure": "a serialization failure leaks, though another try would work",
    "LockNotAvailable": "NOWAIT is an error that leaks instead of the next row",
    "is locked": LOCKED,
    "database table": LOCKED,
    "tasks_pkey": ONE_ID,
    "failed: tasks.id\n": ONE_ID,
    "UniqueViolation": "another's row with the same key is an error that leaks",
    "UNIQUE constraint": "another's row with the same key is an error that leaks",
}


def why_error(error: dict[str, Any]) -> str:
    """What an error of an answer is called."""
    return next((why for text, why in ERRORS.items() if text in str(error["message"])), "fails on its own")


def on_postgres(seen: Seen) -> bool:
    return "/postgres:" in seen.end.token


def holders(seen: Seen, facts: Facts) -> dict[str, list[Outcome]]:
    """To whom each task was handed out."""
    found: dict[str, list[Outcome]] = {}
    for outcome in seen.end.outcomes:
        name = id_of(outcome.value, facts)
        if name is not None:
            found.setdefault(name, []).append(outcome)
    return found


def stored(seen: Seen, name: str, facts: Facts) -> Row:
    """A row at the end; one that is gone has nothing in its columns."""
    return seen.end.tasks.get(name) or dict.fromkeys(facts["rows"].get(name, ()), None)


def taken(seen: Seen, facts: Facts) -> dict[str, Row]:
    """The rows that are others than before."""
    rows = {name: stored(seen, name, facts) for name in facts["rows"]}
    return {name: row for name, row in rows.items() if changed(facts["rows"][name], row)}


def no_error(seen: Seen, facts: Facts) -> Finding | None:
    failed = [o for o in seen.end.outcomes if o.how == "raised" and "Exception" in o.error["bases"]]
    if seen.kind != "end" or not failed:
        return None
    return Finding(f"{len(seen.end.outcomes)} at once: {failed[0].process} {failed[0]}", why_error(failed[0].error))


def _one_row(seen: Seen, facts: Facts) -> Finding | None:
    workers = [row["worker_id"] for name, row in taken(seen, facts).items() if name in seen.end.tasks]
    many = [worker for worker in workers if workers.count(worker) > 1]
    if not many:
        return None
    names = ", ".join(name for name, row in taken(seen, facts).items() if row["worker_id"] == many[0])
    by_plan = on_postgres(seen)
    return Finding(f"one call took {names}", SEVERAL_BY_PLAN if by_plan else SEVERAL)


def _once(seen: Seen, facts: Facts) -> Finding | None:
    for name, outcomes in holders(seen, facts).items():
        if len(outcomes) > 1:
            both = " and ".join(outcome.process for outcome in outcomes)
            once = stored(seen, name, facts)["attempt"] == facts["rows"][name]["attempt"] + 1
            why = NO_LOCK if on_postgres(seen) else NOT_MINE if once else LOOKS_FIRST
            return Finding(f"{both} were both given {name!r}", why)
    return None


def _none_lost(seen: Seen, facts: Facts) -> Finding | None:
    """What was handed out is stored as taken by that worker, and what is stored as taken was handed out."""
    given = holders(seen, facts)
    raised = any(outcome.how == "raised" for outcome in seen.end.outcomes)
    lost = [name for name in taken(seen, facts) if name not in given]
    if lost and not raised:
        return Finding(f"{lost[0]!r} was taken, and no call returned it", "a taken task is handed out to nobody")
    for name, (first, *more) in given.items():
        row, must = stored(seen, name, facts), wanted(facts["rows"][name], f"worker {first.process}", facts)
        odd = [column for column, value in must.items() if row[column] != value]
        if odd and not more:
            why = "another worker writes over a row that was taken" if name in taken(seen, facts) else NEVER_STORED
            return Finding(f"{first.process} was given {name!r}, and {odd[0]} of it is {row[odd[0]]!r}", why)
    return None


def _left(seen: Seen, facts: Facts) -> list[str]:
    """What nobody took."""
    return [name for name in facts["rows"] if name not in taken(seen, facts)]


def _home_empty(seen: Seen, facts: Facts) -> Finding | None:
    empty = [o for o in seen.end.outcomes if o.how == "returned" and o.value is None]
    if empty and _left(seen, facts):
        return Finding(f"{empty[0].process} was told that nothing is due, and {_left(seen, facts)[0]!r} is", GIVES_UP)
    return None


def _best(seen: Seen, facts: Facts) -> Finding | None:
    """Nobody was given a task while a better one was left."""
    rank = {name: -row["priority"] for name, row in facts["rows"].items()}
    for name in holders(seen, facts):
        better = [left for left in _left(seen, facts) if rank[left] < rank[name]]
        if better:
            return Finding(
                f"{name!r} was handed out, {better[0]!r} is more urgent and is left", "not the best one first"
            )
    return None


def _does_not_wait(seen: Seen, facts: Facts) -> Finding | None:
    late = [note for note in seen.end.notes if note.label == "claimed" and note.time > 0]
    locked = [o for o in seen.end.outcomes if o.how == "raised" and "locked" in o.error["message"]]
    if late or locked:
        who = late[0].process if late else locked[0].process
        return Finding(f"{who} had to wait while another worker was at work on its task", WAITS)
    return None


def handed_out(seen: Seen, facts: Facts) -> bool:
    return seen.kind == "end" and bool(holders(seen, facts))


def _several_served(seen: Seen, facts: Facts) -> bool:
    return len(holders(seen, facts)) > 1


def _whole(seen: Seen, facts: Facts) -> Finding | None:
    """Every row is as it was, or taken with all that belongs to it."""
    for name, row in taken(seen, facts).items():
        before = facts["rows"][name]
        if name not in seen.end.tasks:
            return Finding(f"a crash left no {name!r}", DELETES)
        must = wanted(before, str(row["worker_id"]), facts)
        odd = [column for column, value in must.items() if row[column] != value]
        if odd or not str(row["worker_id"]).startswith("worker p"):
            column = odd[0] if odd else "worker_id"
            return Finding(f"a crash left {name!r} half taken: {column} is {row[column]!r}", HALF)
    return None


def _recovers(seen: Seen, facts: Facts) -> Finding | None:
    """After a crash the next worker gets a task as long as one is left."""
    if not after_crash(seen, facts):
        return None
    last = seen.end.last
    if last.how == "raised":
        return Finding(f"after a crash the next call {last}", "a crash leaves what the next call stumbles over")
    return _none_after_crash(seen, facts)


def _none_after_crash(seen: Seen, facts: Facts) -> Finding | None:
    last = seen.end.last
    if last.how == "returned" and last.value is None and _left(seen, facts):
        return Finding(f"after a crash the next call returned None, and {_left(seen, facts)[0]!r} is due", GIVES_UP)
    return None


def cancelled_stays(seen: Seen, facts: Facts) -> Finding | None:
    """Who asked while the best task was cancelled gets it or the next one, and a cancelled one stays cancelled."""
    claims, cancels = seen.end.outcomes
    if claims.how != "returned" or cancels.how != "returned":
        return no_error(seen, facts)
    given, state = id_of(claims.value, facts), stored(seen, "a", facts)["state"]
    if cancels.value and (given == "a" or state != "cancelled"):
        return Finding(f"'a' was cancelled; {claims.process} was given {given!r}, and 'a' is {state}", UNDOES)
    if given is None:
        return Finding(f"'a' was cancelled; {claims.process} was told that nothing is due, and 'b' is", GIVES_UP)
    return None


def race_properties(races: tuple[str, ...], crashes: str) -> tuple[Property, ...]:
    """What is asked of several workers at once, and of one that dies."""
    some = (*races, "at_work")
    plans = (*some, "another_plan")
    return (
        Property(
            "whole after a crash",
            "a crash leaves a row as it was, or taken as one whole",
            _whole,
            (crashes,),
            crashed,
            unless=("takes the row", "takes only what is due"),
        ),
        Property(
            "lets others work",
            "nobody waits for a worker that is at its task",
            _does_not_wait,
            ("at_work",),
            _several_served,
        ),
        Property("one row by one call", "one call takes one row, whatever the plan", _one_row, plans, handed_out),
        Property("each task once", "in every order each task goes to one worker", _once, some, handed_out),
        Property(
            "none lost",
            "a task that was taken was handed out, and stays with its worker",
            _none_lost,
            races,
            handed_out,
            unless=("takes the row",),
        ),
        Property("nobody waits for nothing", "None only when every due task is taken", _home_empty, some, handed_out),
        Property("best first, at once too", "no task is left while a lesser one is taken", _best, races, handed_out),
        Property(
            "no error leaks",
            "locked, refused or deadlocked: the caller does not hear of it",
            no_error,
            races,
            handed_out,
        ),
        Property(
            "goes on after a crash", "after a crash the next worker is served", _recovers, (crashes,), after_crash
        ),
    )
