"""The exercise `resume`: take a task over from whoever left it, in whatever state, and bring it to its end.

Every state that a task can be found in is tried, a crash sits at every crossing of the take-over, and again at every crossing of the take-over's take-over.

Not handled here: finding out that its owner is dead (see `lease`).
"""

from __future__ import annotations

from typing import Any

from labkit.checks.common import crashed
from labkit.checks.drawn import stored_task as drawn
from labkit.checks.exercise import Case, Exercise, Finding, Property, Seen
from labkit.checks.stored_task import LEASED, LONG_ID, LONG_RESULT, OLD, Story, races, shared_cases
from labkit.checks.stored_task_rules import work_properties

NAME = "resume_task"
SWEPT = ("pending", "running", "waiting", "failed")
ENDED = (*SWEPT, "pending_undisturbed", "running_undisturbed", "waiting_undisturbed", "failed_silently", "falsy_result")

pending = Story()
running = Story(
    "running",
    LONG_ID,
    "  a café with a bar ",
    LONG_RESULT,
    {**OLD, **LEASED, "attempt": 12, "priority": 5, "idempotency_key": "order 7"},
)
waiting = Story("waiting", "t3", "")
failed = Story("failed", "t4", "wiki", "v4 is up", {**OLD, "error": "the disk was full", "result": "v3 was up", "attempt": 7})
failed_silently = Story("failed", "t13", "lamp")


def _error_cleared(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """Whoever dies between pending and running leaves a pending task, and that one has no error."""
    stored = seen.end.tasks.get(facts["id"])
    if seen.kind == "left" and stored and stored["state"] == "pending" and stored["error"] is not None:
        return Finding(
            f"the task is pending again and still says {stored['error']!r}",
            "back to pending without clearing the error",
        )
    return None


def _cases() -> tuple[Case, ...]:
    return (
        pending.case("pending", NAME, engine="sweep", faults=("crash",), databases=("sqlite",)),
        running.case("running", NAME, engine="sweep", faults=("crash",), databases=("sqlite",)),
        waiting.case("waiting", NAME, engine="sweep", faults=("crash",), databases=("sqlite",)),
        failed.case("failed", NAME, engine="sweep"),  # passes through pending and running, with their crash points
        pending.case("pending_undisturbed", NAME),
        running.case("running_undisturbed", NAME, databases=("postgres",)),
        waiting.case("waiting_undisturbed", NAME, databases=("postgres",)),
        failed_silently.case("failed_silently", NAME, databases=("sqlite",)),
        *shared_cases(NAME),
        *races(running, NAME),
    )


EXERCISE = Exercise(
    id="resume",
    title="Take over what a dead process left",
    chapter=11,
    origin="C",
    minutes=20,
    difficulty=2,
    points=10,
    essential=("effect once", "work is asked rightly", "ends completed", "finished stays"),
    signatures={NAME: ("store", "task_id", "work")},
    shown=("running_undisturbed:none", "failed:p1@cloud1.after+crash"),
    cases=_cases(),
    drawn=lambda rng: drawn.cases(rng, NAME, {state: state for state in SWEPT}),
    properties=(
        *work_properties(SWEPT, ENDED),
        Property(
            "the error is cleared",
            "a failed task that is pending again has no error",
            _error_cleared,
            ("failed",),
            crashed,
        ),
    ),
    hints=(
        "Write down the six states. For each: may the task be run, and through which state does it get to running?",
        "Only completed and cancelled are over. A running task may have nobody who runs it: its process is dead, and nobody else will come. "
        "The work's key is the task id, so it does no harm if the dead process had done it already.",
        "`failed`: save pending with `error=None`, keep what `save` returns, then go on as for pending. All others: save running, work, save the end. "
        "Catch `Exception` around `work` only; a crash must leave the task as it is, for the next one to find.",
    ),
)
