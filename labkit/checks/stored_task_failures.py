"""Work that fails in every way: each kind of error on a task of its own, and errors that come when somebody else has written the task.

What came out of each call is noted beside what is stored right after it, so that one run shows them all.

Not handled here: errors that a call to the outside world meets, and crashes (see `stored_task_rules`).
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from labkit.checks.common import SWALLOWS, of_its_own, same_task
from labkit.checks.exercise import Finding, Seen
from labkit.errors import InvalidTransition, LabkitError, StaleTask, TaskNotFound
from labkit.faults.fault import Crash
from labkit.faults.outcome import plain
from labkit.faults.process import Process
from labkit.task import Task, TaskState

LONG = "the certificate for the shop was refused by the third of four registrars: its name is not in the zone yet"
ERRORS: tuple[Callable[[], Exception], ...] = (
    lambda: KeyError("no such container"),
    lambda: RuntimeError(LONG),
    lambda: ZeroDivisionError(),
    lambda: StaleTask("another deployment of the shop came first"),
    lambda: InvalidTransition("the shop cannot go from new to closed"),
    lambda: TaskNotFound("the shop has no such job"),
)
EXITS: tuple[type[BaseException], ...] = (CancelledError, GeneratorExit)
MEANWHILE: dict[str, dict[str, Any]] = {  # what somebody else writes while the work fails
    "cancelled": {"state": TaskState.CANCELLED},
    "taken over": {"state": TaskState.RUNNING, "worker_id": "w9"},
}


def failing_work(function: Any, process: Process) -> list[dict[str, Any]]:
    """Call the answer once for each way to fail."""
    told = [_try(function, process, make()) for make in ERRORS]
    told += [_try(function, process, kind("told to leave")) for kind in EXITS]
    return told + [_try(function, process, ValueError("no space left"), meanwhile) for meanwhile in MEANWHILE]


def _try(function: Any, process: Process, error: BaseException, meanwhile: str = "") -> dict[str, Any]:
    store, asked, kind = process.store, [], type(error).__name__
    task = store.save(Task(f"job {meanwhile or kind}", "fail"))

    def work(user_input: str, idempotency_key: str) -> str:
        asked.append(idempotency_key)
        if meanwhile and len(asked) == 1:
            store.save(replace(store.get(task.id) or task, **MEANWHILE[meanwhile]))
        raise error

    said: dict[str, Any] = {"kind": kind, "text": str(error.args[0]) if error.args else "", "meanwhile": meanwhile}
    said |= _how(lambda: function(store, task.id, work), error) | {"asked": len(asked)}
    stored = store.get(task.id) or task
    said["handed_back"] = "returned" in said and same_task(said.pop("returned"), plain(stored)) is None
    return said | {"state": str(stored.state), "error": stored.error, "worker_id": stored.worker_id}


def _how(call: Callable[[], Any], error: BaseException) -> dict[str, Any]:
    try:
        returned = call()
    except Crash:
        raise
    except BaseException as came:  # whatever came out of this one, the next is tried
        told = {"came": type(came).__name__, "same": came is error, "library": isinstance(came, LabkitError)}
        return told | {"told": of_its_own(came, error)}
    return {"came": "", "same": False, "library": False, "returned": plain(returned)}


def _all(seen: Seen, kinds: set[str], meanwhile: bool) -> list[dict[str, Any]]:
    told = seen.end.last.value if seen.kind == "end" and seen.end.last.how == "returned" else []
    return [one for one in told if one["asked"] and bool(one["meanwhile"]) == meanwhile and one["kind"] in kinds]


def asked_to_fail(seen: Seen, facts: dict[str, Any]) -> bool:
    """Whether the answer called the work that fails."""
    return seen.kind == "end" and seen.end.last.how == "returned" and any(one["asked"] for one in seen.end.last.value)


def any_failure(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """Every Exception is a failure: stored with its text, and handed on as the object that it is."""
    for one in _all(seen, {type(make()).__name__ for make in ERRORS}, False):
        kind = one["kind"]
        if one["state"] != "failed":
            why = "only some kinds of errors are stored as failures"
            if not one["came"]:
                why = "an error of the work is taken for one of the store"
            elif not one["text"] and not one["same"]:
                why = "takes for granted that an error has arguments"
            return Finding(f"the work raised {kind}, and the task is {one['state']}", why)
        # subtle: a StaleTask may look like a lost race, whose loser may hand the stored task back
        if not one["came"] and not (kind == "StaleTask" and one["handed_back"]):
            return Finding(f"the work raised {kind}, and the call returned", "the error of the work is swallowed")
        if one["came"] and not one["same"]:
            other = f"{'another' if one['came'] == kind else 'a'} {one['came']}"
            return Finding(
                f"the work raised {kind}, and {other} came out", "another error comes out than the one that the work raised"
            )
        if one["text"] not in (one["error"] or ""):
            return Finding(
                f"the work raised {kind}({one['text']!r}), stored is {one['error']!r}", "the text of the error is lost"
            )
    return None


def any_exit(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """A cancellation and a closed generator are no failures of the work."""
    for one in _all(seen, {kind.__name__ for kind in EXITS}, False):
        if one["came"] != one["kind"]:
            return Finding(
                f"the work raised {one['kind']}, which is no Exception, and {one['came'] or 'nothing'} came out", SWALLOWS
            )
        if one["state"] not in ("running", "pending"):
            return Finding(
                f"the work raised {one['kind']}, which is no Exception, and the task is {one['state']}",
                "a cancellation is stored as the end of the task",
            )
    return None


def beaten_failure(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """The work fails, and somebody else was faster: theirs stays, and the caller gets an error or what is stored."""
    for one in _all(seen, {"ValueError"}, True):
        there = f"the work failed after its task was {one['meanwhile']} by somebody else"
        wanted = MEANWHILE[one["meanwhile"]]
        if one["state"] != wanted["state"] or one["worker_id"] != wanted.get("worker_id", one["worker_id"]):
            return Finding(f"{there}, and the task is {one['state']}", "a failure is written over somebody else's change")
        if not one["came"] and not one["handed_back"]:
            return Finding(f"{there}, and the call returned another task", "the error of the work is swallowed")
        if one["came"] and not one["same"] and not one["library"]:
            return Finding(f"{there}, and {one['came']} came out", "another error comes out than the one that the work raised")
    return None
