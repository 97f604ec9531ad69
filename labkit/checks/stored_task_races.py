"""What must be true when a process is told to leave in the middle of the work, and when two are at one task at once.

Not handled here: one process that comes to its end (see `stored_task_rules`).
"""

from __future__ import annotations

from typing import Any

from labkit.checks.common import MADE_ANEW, SWALLOWS, TOLD, Killed, interrupted, raised, same_task
from labkit.checks.exercise import Finding, Seen
from labkit.faults.process import Outcome

EFFECT = "deploy_container"
BOOKS_A_CRASH = "a crash or Ctrl-C is stored as a failure of the work"
LEAVING = ("work_exits", "work_is_killed")


def no_failure(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """After Ctrl-C the task may stand anywhere on its way, but not at a failure that was no failure."""
    stored = seen.end.tasks.get(facts["id"])
    if not interrupted(seen, facts) or not stored or stored["state"] != "failed" or stored["version"] == 1:
        return None
    return Finding("somebody pressed Ctrl-C, and the task was stored as failed", BOOKS_A_CRASH)


def told(seen: Seen, facts: dict[str, Any]) -> bool:
    return any(note.label == "told to leave" for note in seen.end.notes)


def leaves(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """What is no Exception comes through, and leaves the task as it is for the next process."""
    wanted, first = "SystemExit" if seen.like == "work_exits" else Killed.__name__, seen.end.outcomes[0]
    left = next((note.fault for note in seen.end.notes if note.label == "left"), "")
    if not told(seen, facts):
        return None
    if not raised(first, wanted):
        return Finding(f"the work raised {wanted}, which is no Exception, and the process {first}", SWALLOWS)
    if first.error["message"] != TOLD:
        return Finding(f"{wanted} left the work with {TOLD!r} and came out with {first.error['message']!r}", MADE_ANEW)
    if left not in ("running", facts["start"]):
        return Finding(
            f"the process had to leave in the middle of the work, and the task was left {left}", BOOKS_A_CRASH
        )
    return None


def one_end(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """Two callers: the effect once, one of them ends the task, the other hears that it was too late."""
    stored = seen.end.tasks.get(facts["id"])
    if seen.end.count(EFFECT) != 1:
        why = "two callers do the work under different keys" if seen.end.effects else "the work is never done"
        if None in [effect.key for effect in seen.end.effects]:
            why = "two callers do the work without a key"
        return Finding(f"two callers at once: {EFFECT} happened {seen.end.count(EFFECT)} times", why)
    if stored is None or stored["state"] != "completed":
        return Finding(
            f"two callers at once left the task {stored and stored['state']}", _why_not_ended(seen)
        )
    for outcome in seen.end.outcomes:
        differs = _why_not_told(outcome)
        if differs:
            return Finding(f"two callers at once: {outcome.process}: {differs}", _why_loser(outcome))
    if all(outcome.how == "raised" for outcome in seen.end.outcomes):
        return Finding(
            "two callers at once: nobody was told that the task is done", "the winner of a race is told it lost"
        )
    return None


def _why_not_ended(seen: Seen) -> str:
    """Somebody lost a race, or nobody was at its end."""
    lost = any(outcome.how == "raised" for outcome in seen.end.outcomes)
    return "the loser of a race spoils the winner's end" if lost else "the end of the work is not stored"


def _why_loser(outcome: Outcome) -> str:
    wrote = outcome.how == "returned" or raised(outcome, "InvalidTransition")
    return "the loser of a race goes on as if it had won" if wrote else "the loser of a race hears another error than StaleTask"


def _why_not_told(outcome: Outcome) -> str | None:
    """Why this is neither `StaleTask` nor the task as it was stored when the call returned."""
    if outcome.how == "returned":
        return same_task(outcome.value["returned"], outcome.value["stored"])
    return None if raised(outcome, "StaleTask") else f"the call {outcome}"


def cancel_stands(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """Somebody cancels in the middle: whichever end came first stays."""
    stored = seen.end.tasks[facts["id"]]
    ours, theirs = seen.end.outcomes
    cancelled = theirs.how == "returned"
    if cancelled != (stored["state"] == "cancelled"):
        return Finding(
            f"the task was cancelled and is now {stored['state']}", "writes over a task that somebody else ended"
        )
    why = _why_not_told(ours)
    return (
        Finding(
            f"the task was cancelled while it ran: {why}", _why_loser(ours)
        )
        if why
        else None
    )
