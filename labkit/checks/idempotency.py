"""The exercise `idempotency`: execute a task so that its effect happens once, whatever dies and whoever else tries.

What must hold is read off the world: the ledger, the task as it is stored, what the call returned or raised.

Not handled here: a key that must be remembered after a task has failed for good (see `queue`).
"""

from __future__ import annotations

from typing import Any

from labkit.checks.common import bodies, body, crash_rule, ends, raised, same_task, with_task
from labkit.checks.exercise import SQL, Case, Exercise, Finding, Property, Seen, WrongTurn
from labkit.checks.stored_task import EFFECT, call_once, cancel_from_outside, do_work, work_properties
from labkit.faults.process import Process

NAME = "execute_task_if_not_done"


def _twice(execute: Any, process: Process) -> Any:
    return [execute(process.store, "t1", do_work(process)), execute(process.store, "t1", do_work(process))]


def _second_call(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    works = [note for note in seen.end.notes if note.label == "work"]
    if len(works) > 1:
        return Finding(f"a second call on a completed task called work again ({len(works)} calls)", "does not look at the state before it works")
    why = same_task(seen.end.last.value[1], seen.end.tasks.get("t1")) if seen.end.last.how == "returned" else f"the second call {seen.end.last}"
    return Finding(why, "a finished task is not handed back") if why else None


def _one_end(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """Two callers: the effect once, one of them ends the task, the other hears that it was too late."""
    stored = seen.end.tasks.get("t1")
    if seen.end.count(EFFECT) != 1:
        return Finding(f"two callers at once: {EFFECT} happened {seen.end.count(EFFECT)} times", "two callers do the work under different keys")
    if stored is None or stored["state"] != "completed":
        return Finding(f"two callers at once left the task {stored and stored['state']}", "the loser of a race spoils the winner's end")
    for outcome in seen.end.outcomes:
        if raised(outcome, "StaleTask"):
            continue
        why = same_task(outcome.value, stored) if outcome.how == "returned" else str(outcome)
        if why:
            return Finding(f"two callers at once: {outcome.process} {why}", "the loser of a race writes or fails instead of accepting that it lost")
    if all(outcome.how == "raised" for outcome in seen.end.outcomes):
        return Finding("two callers at once: nobody was told that the task is done", "the winner of a race is told it lost")
    return None


def _cancel_stands(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """Somebody cancels in the middle: whichever end came first stays."""
    stored = seen.end.tasks["t1"]
    ours, theirs = seen.end.outcomes
    cancelled = theirs.how == "returned"
    if cancelled != (stored["state"] == "cancelled"):
        return Finding(f"the task was cancelled and is now {stored['state']}", "writes over a task that somebody else ended")
    if not (ours.how == "returned" or raised(ours, "StaleTask")):
        return Finding(f"the task was cancelled while it ran, and the caller {ours}", "a lost race is no StaleTask")
    why = same_task(ours.value, stored) if ours.how == "returned" else None
    return Finding(f"the task was cancelled while it ran: {why}", "returns what it wished, not what is stored") if why else None


EXERCISE = Exercise(
    id="idempotency",
    title="Execute a task once, whatever dies",
    chapter=11,
    origin="C",
    minutes=20,
    difficulty=2,
    points=10,
    signatures={NAME: ("store", "task_id", "work")},
    cases=(
        Case("fresh", body(NAME, call_once), with_task(), "sweep", databases=SQL),
        Case("left_running", body(NAME, call_once), with_task("running"), "sweep", databases=SQL),
        Case("left_failed", body(NAME, call_once), with_task("failed", error="old"), databases=SQL),
        Case("falsy_result", body(NAME, lambda f, p: f(p.store, "t1", do_work(p, result=""))), with_task(), databases=SQL, facts={"result": ""}),
        Case("twice", body(NAME, _twice), with_task(), databases=SQL),
        Case("unknown", body(NAME, lambda f, p: f(p.store, "nobody", do_work(p))), databases=SQL),
        Case("completed", body(NAME, call_once), with_task("completed", result="done before"), databases=SQL),
        Case("cancelled", body(NAME, call_once), with_task("cancelled"), databases=SQL),
        Case("work_fails", body(NAME, call_once), with_task(), schedules=tuple(
            f"p1@cloud1.before+error({name})" for name in ("ValueError", "TransientError", "TerminalError", "TimeoutError")), databases=SQL),
        Case("two_callers", bodies(NAME, call_once, call_once), with_task(), "interleave", databases=SQL),
        Case("cancelled_meanwhile", bodies(NAME, call_once, cancel_from_outside), with_task(), "interleave", databases=SQL, preemptions=1),
    ),
    properties=(
        *work_properties(),
        Property("second call does nothing", "a second call hands the stored task back", _second_call, ("twice",)),
        Property("two callers, one end", "two callers at once: one effect, one end, the other is told", _one_end, ("two_callers",)),
        Property("a cancel stands", "a task that was cancelled meanwhile stays cancelled", _cancel_stands, ("cancelled_meanwhile",)),
        crash_rule("fresh", "left_running"),
        ends(),
    ),
    hints=(
        "What does a process that starts after a crash know? Only what the store and the cloud know. Which of the two can tell it that the work was done?",
        "Load the task. Unknown, completed and cancelled are quick. For all others: save running, call work with the task id as key, save the end. "
        "Nothing else is needed for the crash: the key makes a second call of work harmless.",
        "Keep what `save` returns: it carries the next version. With the version that you read, a second caller's write makes yours a `StaleTask`: let it go through. "
        "Catch `Exception` around `work` only, save failed with its text, and raise it again.",
    ),
    wrong_turns=(
        WrongTurn("check, then act", "`if not done: do it` without a key: the crash between the effect and the record does it twice."),
        WrongTurn("a fresh key for every try", "a key made with uuid4 inside the call is another key after the restart: the cloud cannot know that it is the same work."),
        WrongTurn("write again when beaten", "catching StaleTask and saving anyway takes the end away from the one who was there first."),
    ),
    real_systems="Stripe keeps answers by Idempotency-Key; Temporal names activities so that a retry is known; procrastinate and River use a unique key at submit.",
)
