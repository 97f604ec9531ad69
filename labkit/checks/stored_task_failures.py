"""Work that fails in every way: each way is a case of its own, and so is each that fails when somebody else has written the task.

What came out of a call is noted beside what is stored right after it. In one case two tasks fail in turn, for one's failure must leave nothing to the next.

Not handled here: errors that a call to the outside world meets, and crashes (see `stored_task_rules`).
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from labkit.checks.common import SWALLOWS, TOLD, an_exit, bodies, of_its_own, same_task
from labkit.checks.exercise import Case, Finding, Seen
from labkit.checks.rows import brief, stored
from labkit.errors import InvalidTransition, LabkitError, StaleTask, TaskNotFound
from labkit.faults.fault import Crash
from labkit.faults.outcome import plain
from labkit.faults.process import Process
from labkit.task import Task, TaskState

LONG = "\n".join(["the certificate for the shop was refused:", *(f"registrar {number:03} says that its name is not in the zone yet" for number in range(200))])
LOST = "the text of the error is lost"
CUT = f"{LOST}: only its beginning is stored"
MEANWHILE: dict[str, dict[str, Any]] = {  # what somebody else writes while the work fails
    "cancelled": {"state": TaskState.CANCELLED},
    "taken over": {"state": TaskState.RUNNING, "worker_id": "w9"},
}


@dataclass(frozen=True)
class Way:
    """One way to fail: the error that the work raises, and what somebody else writes into the task meanwhile."""

    error: type[BaseException]
    text: str = ""  # empty: the error has no arguments
    meanwhile: str = ""

    @property
    def kind(self) -> str:
        return self.error.__name__

    @property
    def task_id(self) -> str:
        return f"job {self.meanwhile or self.kind}"

    def make(self) -> BaseException:
        if not issubclass(self.error, Exception):
            return an_exit(self.error)
        return self.error(self.text) if self.text else self.error()


IN_TURN = (Way(KeyError, "no such container"), Way(RuntimeError, LONG))
ALONE = (
    Way(ZeroDivisionError),
    Way(StaleTask, "another deployment of the shop came first"),
    Way(InvalidTransition, "the shop cannot go from new to closed"),
    Way(TaskNotFound, "the shop has no such job"),
)
OF_THE_STORE = ("StaleTask", "InvalidTransition", "TaskNotFound")
ERRORS = {"work_raises_in_turn": IN_TURN, **{f"work_raises_{way.kind}": (way,) for way in ALONE}}
EXITS = {
    f"work_raises_{kind.__name__}": (Way(kind, TOLD),) for kind in (CancelledError, GeneratorExit, BaseExceptionGroup)
}
BEATEN = {
    f"work_fails_when_{meanwhile.replace(' ', '_')}": (Way(ValueError, "no space left", meanwhile),)
    for meanwhile in MEANWHILE
}


def failures(function: str) -> tuple[Case, ...]:
    """A case for each way to fail."""
    return tuple(
        Case(name, bodies(function, partial(_fail, ways)), partial(_set_up, ways), databases=("sqlite",))
        for name, ways in {**ERRORS, **EXITS, **BEATEN}.items()
    )


def _set_up(ways: tuple[Way, ...], process: Process) -> None:
    for way in ways:
        process.store.save(Task(way.task_id, "fail"))


def _fail(ways: tuple[Way, ...], function: Any, process: Process) -> list[dict[str, Any]]:
    return [_try(way, function, process) for way in ways]


def _try(way: Way, function: Any, process: Process) -> dict[str, Any]:
    store, error, asked = process.store, way.make(), []

    def work(user_input: str, idempotency_key: str) -> str:
        asked.append(idempotency_key)
        if way.meanwhile and len(asked) == 1:
            store.save(replace(store.get(way.task_id) or Task(way.task_id, "fail"), **MEANWHILE[way.meanwhile]))
        raise error

    said: dict[str, Any] = {"kind": way.kind, "text": way.text, "meanwhile": way.meanwhile}
    said |= _how(lambda: function(store, way.task_id, work), error) | {"asked": len(asked)}
    now = stored(process)[way.task_id]
    said["handed_back"] = "returned" in said and same_task(said.pop("returned"), now) is None
    return said | {"state": now["state"], "error": now["error"], "worker_id": now["worker_id"]}


def _how(call: Callable[[], Any], error: BaseException) -> dict[str, Any]:
    try:
        returned = call()
    except Crash:
        raise
    except BaseException as came:  # whatever came out of this one, the next is tried
        told = {"came": type(came).__name__, "same": came is error, "library": isinstance(came, LabkitError)}
        return told | {"told": of_its_own(came, error)}
    return {"came": "", "same": False, "library": False, "returned": plain(returned)}


def _asked(seen: Seen) -> list[dict[str, Any]]:
    """What came of each call that called the work."""
    told = seen.end.last.value if seen.kind == "end" and seen.end.last.how == "returned" else []
    return [one for one in told if one["asked"]]


def asked_to_fail(seen: Seen, facts: dict[str, Any]) -> bool:
    """Whether the answer called the work that fails."""
    return bool(_asked(seen))


def any_failure(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """Every Exception is a failure: stored with its text, and handed on as the object that it is."""
    for one in _asked(seen):
        kind = one["kind"]
        if one["state"] != "failed":
            why = "only some kinds of errors are stored as failures"
            if not one["came"]:
                why = "an error of the work is taken for one of the store" if kind in OF_THE_STORE else "the error of the work is swallowed"
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
        lost = _why_lost(one["text"], one["error"] or "")
        if lost:
            return Finding(f"the work raised {kind} with the text {brief(one['text'])}, stored is {brief(one['error'])}", lost)
    return None


def _why_lost(text: str, stored: str) -> str:
    """Why a text does not stand in what is stored of an error, as it is or as Python writes it; "" where it does."""
    if text in stored or repr(text)[1:-1] in stored:
        return ""
    return CUT if stored and text.startswith(stored) else LOST


def any_exit(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """A cancellation and a closed generator are no failures of the work."""
    for one in _asked(seen):
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
    for one in _asked(seen):
        there = f"the work failed after its task was {one['meanwhile']} by somebody else"
        wanted = MEANWHILE[one["meanwhile"]]
        if one["state"] != wanted["state"] or one["worker_id"] != wanted.get("worker_id", one["worker_id"]):
            return Finding(f"{there}, and the task is {one['state']}", "a failure is written over somebody else's change")
        if not one["came"] and not one["handed_back"]:
            return Finding(f"{there}, and the call returned another task", "the error of the work is swallowed")
        if one["came"] and not one["same"] and not one["library"]:
            return Finding(f"{there}, and {one['came']} came out", "another error comes out than the one that the work raised")
    return None
