"""The exercise `idempotency`: execute a task so that its effect happens once, whatever dies and whoever else tries.

What must hold is read off the world: the ledger, the task as it is stored, what the call returned or raised.

Not handled here: a key that must be remembered after a task has failed for good (see `queue`).
"""

from __future__ import annotations

from typing import Any

from labkit.checks.common import same_task
from labkit.checks.drawn import stored_task as drawn
from labkit.checks.exercise import Case, Exercise, Finding, Property, Seen
from labkit.checks.stored_task import LEASED, LONG_ID, LONG_RESULT, OLD, Story, races, shared_cases
from labkit.checks.stored_task_rules import work_properties
from labkit.faults.process import Process

NAME = "execute_task_if_not_done"


SWEPT = ("fresh",)
ENDED = (*SWEPT, "fresh_undisturbed", "left_running", "left_waiting", "left_failed", "falsy_result")

fresh = Story()
left_running = Story(
    "running",
    LONG_ID,
    "  a café with a bar ",
    LONG_RESULT,
    {**OLD, **LEASED, "attempt": 12, "priority": 5, "idempotency_key": "order 7"},
)
left_waiting = Story("waiting", "t3", "")
left_failed = Story("failed", "t4", "wiki", "v4 is up", {"error": "old", "result": "v3 was up", "attempt": 7})


def _twice(execute: Any, process: Process) -> Any:
    return [fresh.call(execute, process), fresh.call(execute, process)]


def _second_call(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    works = [note for note in seen.end.notes if note.label == "work"]
    if len(works) > 1:
        return Finding(
            f"a second call on a completed task called work again ({len(works)} calls)",
            "a completed task is worked on again",
        )
    last, stored = seen.end.last, seen.end.tasks.get(facts["id"])
    why = same_task(last.value[1], stored) if last.how == "returned" else f"one of the calls {last}"
    return Finding(f"a second call on a completed task: {why}", "a finished task is not handed back") if why else None


def _cases() -> tuple[Case, ...]:
    return (
        fresh.case("fresh", NAME, engine="sweep"),
        fresh.case("fresh_undisturbed", NAME, databases=("sqlite",)),
        left_running.case("left_running", NAME),
        left_waiting.case("left_waiting", NAME),
        left_failed.case("left_failed", NAME),
        fresh.case("twice", NAME, _twice),
        *shared_cases(NAME),
        *races(fresh, NAME),
    )


EXERCISE = Exercise(
    id="idempotency",
    title="Execute a task once, whatever dies",
    chapter=11,
    origin="C",
    minutes=20,
    difficulty=2,
    points=10,
    essential=("effect once", "work is asked rightly", "ends completed", "two callers, one end", "second call does nothing"),
    signatures={NAME: ("store", "task_id", "work")},
    cases=_cases(),
    drawn=lambda rng: drawn.cases(rng, NAME, {"pending": "fresh", "running": "left_running", "waiting": "left_waiting", "failed": "left_failed"}),
    properties=(
        *work_properties(SWEPT, ENDED),
        Property("second call does nothing", "a second call hands the stored task back", _second_call, ("twice",)),
    ),
    hints=(
        "What does a process that starts after a crash know? Only what the store and the cloud know. Which of the two can tell it that the work was done?",
        "Load the task. Unknown, completed and cancelled are quick. For all others: save running, call work with the task id as key, save the end. "
        "Nothing else is needed for the crash: the key makes a second call of work harmless.",
        "Keep what `save` returns: it carries the next version. With the version that you read, a second caller's write "
        "makes yours a `StaleTask`: let it go through. Catch `Exception` around `work` only, save failed with its text, and raise it again.",
    ),
)
