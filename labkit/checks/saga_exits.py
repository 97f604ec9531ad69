"""Actions and undos that are told to leave: KeyboardInterrupt, SystemExit, a cancellation and any other end that is no Exception.

It goes through, and it is no failure of the step: whoever calls again goes on as if the process had died there.

Not handled here: Ctrl-C in the middle of a call out (the swept cases have it).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labkit.checks.common import EXITS, SWALLOWS, an_exit, called, of_its_own
from labkit.checks.exercise import Finding, Seen
from labkit.checks.saga_log import Log
from labkit.checks.saga_plans import written
from labkit.errors import SagaFailed, TerminalError
from labkit.faults.fault import Crash
from labkit.faults.process import Process
from labkit.saga.step import SagaStep

PLACES = ("action", "undo")


def play(run: Any, process: Process) -> list[dict[str, Any]]:
    """Each kind of exit in an action and in an undo, in a saga of its own; then the call that goes on."""
    return [_leave(run, place, kind, process) for place in PLACES for kind in EXITS]


def _leave(run: Any, place: str, kind: type[BaseException], process: Process) -> dict[str, Any]:
    name = f"{place} {kind.__name__}"
    told: list[BaseException] = []
    said: dict[str, Any] = {"place": place, "kind": kind.__name__}
    first = _call(lambda: run(_steps(name, place, kind, told, process), Log(process.engine, name)))
    said |= {"asked": bool(told), "came": "" if first is None else type(first).__name__, "after": len(told) - 1}
    said["own"] = None if first is None or not isinstance(first, Exception) else of_its_own(first, *told)
    said["log"] = written(process, name)
    second = _call(lambda: run(_steps(name, "", kind, [], process), Log(process.engine, name)))
    said["then"] = "" if second is None else "SagaFailed" if isinstance(second, SagaFailed) else type(second).__name__
    said["there"] = sorted(resource for resource in process.cloud.resources() if resource.endswith(f" {name}"))
    return said


def _call(call: Callable[[], Any]) -> BaseException | None:
    try:
        call()
    except Crash:
        raise
    except BaseException as error:  # whatever came out of this one, the next is tried
        return error
    return None


def _steps(
    app: str, place: str, kind: type[BaseException], told: list[BaseException], process: Process
) -> list[SagaStep]:
    """Three steps; the last one is told to leave, or fails and the undo of the one before it is. With no place nothing is told to leave.

    `told` gets the exit, and whatever is called after it.
    """
    cloud, fails = process.cloud, app.startswith("undo")

    def leave() -> None:
        told.append(an_exit(kind))
        raise told[0]

    def act(what: str, call: Callable[..., Any], leaves: bool = False, refuses: bool = False) -> Callable[[str], None]:
        @called(what)
        def made(key: str) -> None:
            if told:
                told.append(RuntimeError("it had been told to leave"))
            if leaves:
                leave()
            if refuses:
                raise TerminalError("there is no room for it")
            call(app, key=key)

        return made

    return [
        SagaStep("first", act("execute", cloud.issue_certificate), act("compensate", cloud.revoke_certificate)),
        SagaStep(
            "second", act("execute", cloud.create_dns_record), act("compensate", cloud.delete_dns_record, place == "undo")
        ),
        SagaStep(
            "third", act("execute", cloud.create_alert, place == "action", fails), act("compensate", cloud.delete_alert)
        ),
    ]


def exits(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """What is raised that is no Exception goes through, and the saga goes on where it was."""
    for one in seen.end.last.value or ():
        told = f"the {one['place']} raised {one['kind']}, which is no Exception"
        if not one["asked"]:
            continue
        if one["came"] != one["kind"]:
            return Finding(f"{told}, and {one['came'] or 'nothing'} came out", SWALLOWS)
        if one["after"]:
            return Finding(f"{told}, and the saga went on with the next one before it left", "goes on though it was told to leave")
        events = [event for event, _ in one["log"]]
        kept = ["alert", "certificate", "dns_record"] if one["place"] == "action" else []
        if one["then"] != ("" if kept else "SagaFailed") or [r.split()[0] for r in one["there"]] != kept:
            there = ", ".join(one["there"]) or "nothing"
            return Finding(
                f"{told}; the log then said {events[-1] if events else 'nothing'!r}, and after the next call there was {there}",
                "a cancellation is taken for a failure",
            )
    return None


def asked(seen: Seen, facts: dict[str, Any]) -> bool:
    """Whether each place was reached."""
    value = seen.end.last.value or ()
    return {one["place"] for one in value if one["asked"]} == set(PLACES)
