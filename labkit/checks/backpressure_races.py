"""What must be true of submits when several come at once, and when one dies in the middle.

Not handled here: one after the other (see `backpressure_rules`).
"""

from __future__ import annotations

from labkit.checks.backpressure_rules import KEY_LATE, KEY_MAKES_ANOTHER, NEEDLESS, NOT_STORED, Facts, is_full, why_not
from labkit.checks.claim_races import on_postgres, why_error
from labkit.checks.common import after_crash
from labkit.checks.exercise import Finding, Seen
from labkit.faults.outcome import Outcome

COUNTS_FIRST = "counts first and inserts later: in between others insert too"
NO_LOCK = "counts without a lock: on PostgreSQL another's task is not seen before it is committed"
HALF = "stores a task in more than one transaction: a crash in between leaves half of it"
WAITS = "keeps its transaction open after it has returned, so that others wait for it"


def accepted(seen: Seen, facts: Facts) -> bool:
    """Whether a new task was stored."""
    return seen.kind == "end" and len(seen.end.tasks) > len(facts["rows"])


def both_accepted(seen: Seen, facts: Facts) -> bool:
    return len(seen.end.tasks) >= len(facts["rows"]) + len(seen.end.outcomes)


def does_not_wait(seen: Seen, facts: Facts) -> Finding | None:
    late = [note for note in seen.end.notes if note.label == "submitted" and note.time > 0]
    locked = [o for o in seen.end.outcomes if o.how == "raised" and "locked" in o.error["message"]]
    who = late[0].process if late else locked[0].process if locked else ""
    return Finding(f"{who} had to wait for one who had submitted already", WAITS) if who else None


def _refused(outcome: Outcome) -> bool:
    return outcome.how == "raised" and is_full(outcome.error)


def never_too_many(seen: Seen, facts: Facts) -> Finding | None:
    pending = sum(row["state"] == "pending" for row in seen.end.tasks.values())
    if seen.like == "two_with_room" or pending <= facts["most"]:
        return None
    why = NO_LOCK if on_postgres(seen) else COUNTS_FIRST
    return Finding(
        f"{len(seen.end.outcomes)} submitted at once: {pending} are pending, the limit is {facts['most']}", why
    )


def uses_room(seen: Seen, facts: Facts) -> Finding | None:
    taken = len(seen.end.tasks) - len(facts["rows"])
    refused = [outcome for outcome in seen.end.outcomes if _refused(outcome)]
    if refused and taken < facts["room"]:
        return Finding(
            f"there was room for {facts['room']}, {taken} were accepted, and {refused[0].process} was refused", NEEDLESS
        )
    ids = [o.value for o in seen.end.outcomes if o.how == "returned"]
    lost = [name for name in ids if name not in seen.end.tasks]
    if lost or len(set(map(str, ids))) < len(ids):
        return Finding(f"{len(ids)} were accepted, and {len(lost)} of these are not stored", "an accepted task is lost")
    return None


def no_error(seen: Seen, facts: Facts) -> Finding | None:
    failed = [o for o in seen.end.outcomes if o.how == "raised" and not _refused(o) and "Exception" in o.error["bases"]]
    if not failed:
        return None
    said = f"{len(seen.end.outcomes)} submitted at once: {failed[0].process} {failed[0]}"
    return Finding(said, why_error(failed[0].error))


def one_key(seen: Seen, facts: Facts) -> Finding | None:
    refused = [o for o in seen.end.outcomes if _refused(o)]
    if refused:
        return Finding(f"two submitted under one key: {refused[0].process} {refused[0]}", KEY_LATE)
    found = no_error(seen, facts)
    if found is not None:
        return found
    ids = {str(o.value) for o in seen.end.outcomes}
    if len(seen.end.tasks) != 1:
        return Finding(f"two submitted under one key: {len(seen.end.tasks)} tasks are stored", KEY_MAKES_ANOTHER)
    if ids != set(seen.end.tasks):
        return Finding(
            "two submitted under one key, and one got another id than the stored task's",
            "the loser gets an id of a task that is not stored",
        )
    return None


def whole(seen: Seen, facts: Facts) -> Finding | None:
    for name, row in seen.end.tasks.items():
        why = None if name in facts["rows"] else why_not(row, ["shop", 2, "order 7"])
        if why:
            return Finding(f"a crash left a task with {why[0]} {row[why[0]]!r}", HALF)
    return None


def once(seen: Seen, facts: Facts) -> Finding | None:
    new, last = [name for name in seen.end.tasks if name not in facts["rows"]], seen.end.last
    if len(new) > 1:
        return Finding(f"asked again after a crash, {len(new)} tasks are stored", KEY_MAKES_ANOTHER)
    if not after_crash(seen, facts):
        return None
    if last.how == "raised":
        why = KEY_LATE if _refused(last) else why_error(last.error)
        return Finding(f"asked again after a crash, submit {last}", why)
    return None if [last.value] == new else Finding("submit returned another id than the stored task's", NOT_STORED)
