"""What must be true of heartbeat and complete: the fence, and what a worker that was away may still do.

Not handled here: claiming (see `claim_rules`, `claim_races`).
"""

from __future__ import annotations

from typing import Any

from labkit.checks.claim_races import why_error
from labkit.checks.common import after_crash, is_a
from labkit.checks.exercise import Finding, Seen
from labkit.checks.lease_stories import LATE, SECONDS
from labkit.checks.rows import Row, at, brief, changed

Facts = dict[str, Any]
Told = dict[str, Any]

NO_FENCE = "no fence: who lost the task writes all the same"
BY_NAME = "the fence is the worker's name alone: another attempt under the same name is taken for its own"
BY_ATTEMPT = "the fence is the attempt alone: another worker's is taken for its own"
BY_TOKEN = "the fence does not ask whether the task is still running"
LOOKS = "looks first and writes later: in between the task was given to somebody else"
OTHER_ERROR = "another error than StaleLease"
NO_END = "complete does not end the task"
EXPIRED_IS_LOST = "refuses a lease that is over although nobody took the task"


def _told(seen: Seen) -> list[Told]:
    value = seen.end.last.value
    return value if isinstance(value, list) else []


def _said(one: Told) -> str:
    if "error" in one:
        return f"raised {one['error']['type']}: {one['error']['message']}"
    value = one["value"]
    return f"returned a {value['type']}" if isinstance(value, dict) and "type" in value else f"returned {value!r}"


def _stale(one: Told) -> bool:
    return "StaleLease" in one.get("error", {}).get("bases", ())


def written(seen: Seen, facts: Facts) -> bool:
    """Whether a call of the answer changed the task."""
    rows, held = [one["rows"] for one in _told(seen)] or [seen.end.tasks], facts["lease"].task_id
    return seen.kind == "end" and any(changed(facts["rows"][held], row[held]) for row in rows)


def renews(seen: Seen, facts: Facts) -> Finding | None:
    if not _told(seen):
        return None  # see `ends`
    beat, held, ends = _told(seen)[0], facts["lease"], at(facts["renewed"]).isoformat()
    if "error" in beat:
        return Finding(f"the task is held, and heartbeat {_said(beat)}", "a heartbeat in time is refused")
    now, value = beat["rows"][held.task_id], beat["value"]
    found = changed(facts["rows"][held.task_id], now)
    if now["lease_expires_at"] != ends:
        unchanged = "lease_expires_at" not in found
        why = WRONG_END if not unchanged else NOT_SHORTER if ends < held.expires_at.isoformat() else NOT_MOVED
        return Finding(f"after a heartbeat the lease ends at {now['lease_expires_at']}, not at {ends}", why)
    others = set(found) - {"lease_expires_at", "updated_at"}
    others |= {n for n, r in beat["rows"].items() if n != held.task_id and changed(facts["rows"][n], r)}
    if others:
        return Finding(f"a heartbeat changed {', '.join(sorted(others))}", "a heartbeat changes more than the lease")
    wanted = {"task_id": held.task_id, "worker_id": held.worker_id, "attempt": held.attempt, "expires_at": ends}
    if not is_a(value, "Lease") or any(value[n] != v for n, v in wanted.items()):
        return Finding(f"heartbeat {_said(beat)}", "heartbeat does not return the renewed lease")
    return None


NOT_MOVED = "a heartbeat does not move the end of the lease"
NOT_SHORTER = "a heartbeat never makes a lease shorter: it ends lease_seconds after now, also where that is earlier"
WRONG_END = "the renewed lease does not end lease_seconds after now"


def keeps(seen: Seen, facts: Facts) -> Finding | None:
    """While it is renewed nobody gets it; when the renewed lease is over, another does."""
    if not _told(seen):
        return None
    _, early, at_end, after = _told(seen)
    for one in (early, at_end):
        if one.get("value", "") is not None:
            return Finding(f"the lease was renewed, and {one['call']} {_said(one)}", "takes a task whose lease holds")
    if not isinstance(after.get("value"), dict) or after["value"].get("task_id") != facts["lease"].task_id:
        return Finding(
            f"the renewed lease was over, and a claim {_said(after)}", "what was renewed once is never given up"
        )
    return None


def completes(seen: Seen, facts: Facts) -> Finding | None:
    if not _told(seen):
        return None
    done, held = _told(seen)[-1], facts["lease"].task_id
    if "error" in done:
        return (
            None if seen.like == "late" else Finding(f"the task is held, and complete {_said(done)}", "complete fails")
        )
    now = done["rows"][held]
    if now["state"] != "completed":
        return Finding(f"after complete the task is {now['state']}", NO_END)
    if now["result"] != facts["result"]:
        why = "the result is not stored as it was given" if now["result"] else "the result is not stored"
        why = why if facts["result"] else "a falsy result is taken for none"
        return Finding(f"the result was {brief(facts['result'])}, stored is {brief(now['result'])}", why)
    lost = set(changed(facts["rows"][held], now)) - {"state", "result", "updated_at", "lease_expires_at", "worker_id"}
    lost |= {n for n, r in done["rows"].items() if n != held and changed(facts["rows"][n], r)}
    return (
        Finding(f"complete changed {', '.join(sorted(lost))}", "complete changes more than its task") if lost else None
    )


def late(seen: Seen, facts: Facts) -> Finding | None:
    for one in _told(seen):
        if "error" in one:
            why = EXPIRED_IS_LOST if _stale(one) else "fails on its own"
            return Finding(f"the lease was over and nobody had claimed the task: {one['call']} {_said(one)}", why)
    renewed, ends = (_told(seen) or [{}])[0].get("rows", {}).get("t1", {}), at(LATE + SECONDS).isoformat()
    if renewed and renewed["lease_expires_at"] != ends:
        return Finding(
            f"the lease was over, heartbeat {_said(_told(seen)[0])}, and it ends at {renewed['lease_expires_at']}, not at {ends}",
            "a heartbeat does not move the end of a lease that is over",
        )
    return None


WHY_LOST = {
    "claimed by another": NO_FENCE,
    "claimed by another of the same name": BY_NAME,
    "another worker's all along": BY_ATTEMPT,
    "never there": "a task that is not there is no StaleLease",
}


def fences(seen: Seen, facts: Facts) -> Finding | None:
    before: dict[str, Row] = facts["rows"]
    wrote = None
    for one in _told(seen):
        call, _, why = one["call"].partition(", ")
        touched = [n for n, r in one["rows"].items() if changed(before[n], r)]
        before = one["rows"]
        if wrote is None and (touched or not _stale(one)):
            wrote = (call, why, touched, one)
    if wrote is None:
        return None
    call, why, touched, one = wrote
    said = f"and changed {touched[0]!r}" if touched else "and changed nothing"
    return Finding(f"the task was {why}: {call} {_said(one)} {said}", _why_through(seen, one, why, touched))


def _why_through(seen: Seen, one: Told, why: str, touched: list[str]) -> str:
    """What the first write that should have been refused says about the fence: which of the others were refused?"""
    if not touched and "error" in one:
        return OTHER_ERROR
    if not touched:
        return "a refused write is not told: it returns as if it had gone through"
    if _stale(one):
        return "raises StaleLease after it has written"
    through = {t["call"].partition(", ")[2] for t in _told(seen) if not _stale(t)}
    if "claimed by another" in through:
        return NO_FENCE
    return next((WHY_LOST[kind] for kind in WHY_LOST if kind in through), BY_TOKEN)


def zombie(seen: Seen, facts: Facts) -> Finding | None:
    """A claimed first and slept, B claimed after A's lease: B's result stays, and A hears of it."""
    first, second = seen.end.outcomes
    claimed = {note.process: note.fault for note in seen.end.notes if note.label == "claimed"}
    if claimed.get("p2") != "True":
        said = "" if second.how == "returned" else f" (p2 {second})"
        who, why = (
            ("another worker", NEVER_BACK) if seen.like == "zombie" else ("a worker of the same name", NOT_ITS_OWN)
        )
        return Finding(f"the lease was over, and the claim of {who} got nothing{said}", why)
    if claimed.get("p1") != "True":
        return Finding(f"a task was due, and the first worker {first}", "fails on its own")
    stored, told = seen.end.tasks["t1"], f"the zombie {first}; stored is {seen.end.tasks['t1']['result']!r}"
    if first.how != "raised" or "StaleLease" not in first.error["bases"]:
        by_name = BY_NAME if seen.like != "zombie" else NO_FENCE
        return Finding(told, OTHER_ERROR if first.how == "raised" else by_name)
    if second.how != "returned" or (stored["state"], stored["result"]) != ("completed", "by p2"):
        said = f"the successor {second}; the task is {stored['state']} with {stored['result']!r}"
        its_own = second.how == "returned" and stored["result"] == "by p2"
        return Finding(said, NO_END if its_own else "a zombie spoils its successor's work")
    return None


NOT_ITS_OWN = "a worker never gets back its own task whose lease is over"
NEVER_BACK = "a running task whose lease is over is never claimed again"


def no_error(seen: Seen, facts: Facts) -> Finding | None:
    for outcome in seen.end.outcomes:
        error = outcome.error or (outcome.value or {}).get("error")
        if error and "Exception" in error["bases"] and "StaleLease" not in error["bases"]:
            said = f"two at once: {outcome.process} raised {error['type']}: {error['message']}"
            return Finding(said, why_error(error))
    return None


def _through(value: Told) -> bool:
    """Whether a call did what it was asked for."""
    return "error" not in value and not (value["call"] == "claim" and value["value"] is None)


def one_wins(seen: Seen, facts: Facts) -> Finding | None:
    """Two that exclude each other: never both, never neither, and the row is the winner's."""
    if any(outcome.how != "returned" for outcome in seen.end.outcomes):
        return None  # see `no_error`
    first, second = (outcome.value for outcome in seen.end.outcomes)
    won = [value for value in (first, second) if _through(value)]
    stored, both = seen.end.tasks["t1"], f"{first['call']} {_said(first)}; {second['call']} {_said(second)}"
    if seen.like == "heartbeat_and_completion":
        fine = _through(second) and stored["state"] == "completed"
        return None if fine else Finding(f"{both}; the task is {stored['state']}", "a heartbeat spoils the completion")
    if len(won) == 2:
        ended = stored["state"] == "completed" or {first["call"], second["call"]} != {"complete"}
        return Finding(f"both went through: {both}; the task is {stored['state']}", LOOKS if ended else NO_END)
    if not won:
        return Finding(f"neither went through: {both}", "two that meet spoil each other's work")
    return _not_the_winners(won[0], stored, both)


def _not_the_winners(won: Told, stored: Row, both: str) -> Finding | None:
    state = "completed" if won["call"] == "complete" else "running"
    attempt = 4 if won["call"] == "claim" else 3
    if (stored["state"], stored["attempt"]) == (state, attempt):
        return None
    return Finding(f"{both}; the task is {stored['state']}, attempt {stored['attempt']}", LOOKS)


def comes_back(seen: Seen, facts: Facts) -> Finding | None:
    last, row = seen.end.last, seen.end.tasks["t1"]
    if not after_crash(seen, facts) or (last.how == "returned" and last.value == "nobody"):
        return None
    if last.how == "raised":
        return Finding(f"after a crash the next worker {last}", "a crash leaves what the next worker stumbles over")
    if (row["state"], row["result"]) != ("completed", "v1"):
        return Finding(
            f"a worker died, the next one came when the lease was over: the task is {row['state']}", NEVER_BACK
        )
    return None


def whole(seen: Seen, facts: Facts) -> Finding | None:
    row = seen.end.tasks["t1"]
    if row["state"] == "running" and not (row["lease_expires_at"] and row["worker_id"] and row["attempt"]):
        return Finding("a crash left the task running without a lease", "the lease is stored in a second transaction")
    if row["state"] == "completed" and row["result"] != "v1":
        return Finding(
            "a crash left the task completed without its result", "the result is stored in a second transaction"
        )
    if row["state"] == "pending" and changed(facts["rows"]["t1"], row):
        return Finding("a crash left the task pending with half of a claim", "takes a row in more than one transaction")
    return None
