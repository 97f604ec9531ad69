"""What the exercises share: how a body calls the answer, and the properties that hold for every answer.

A crash, KeyboardInterrupt or any other BaseException that is not an Exception goes through an answer untouched. Every process ends. These
two are asked of every exercise, whatever else it asks.

Not handled here: what only one exercise asks.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn, TypeVar

from labkit.checks.elsewhere import elsewhere
from labkit.checks.exercise import Finding, Property, Seen
from labkit.checks.naps import naps_of
from labkit.checks.slips import LEAVES
from labkit.checks.whereabouts import ROUND
from labkit.faults.fault import Crash
from labkit.faults.process import Outcome, Process, describe_error, plain

Function = TypeVar("Function", bound=Callable[..., Any])

TOLD = "told to leave"
MADE_ANEW = "an exit is made anew: what it said, such as its code, is lost"
SWALLOWS = "catches BaseException: a crash or Ctrl-C is turned into something else"


def interrupted(seen: Seen, facts: dict[str, Any]) -> bool:
    """Whether somebody pressed Ctrl-C in the process that is the first of this run; one that went on after it is another."""
    first = seen.end.outcomes[0].process if seen.end.outcomes else ""
    return seen.kind == "interrupted" and not seen.end.unreached and f"{first}@" in seen.end.token


def crashed(seen: Seen, facts: dict[str, Any]) -> bool:
    """Whether this is what a crash left, before anybody went on."""
    return seen.kind == "left" and seen.end.last.how == "crashed"


def after_crash(seen: Seen, facts: dict[str, Any]) -> bool:
    """Whether this is the end of a run in which somebody went on after a crash."""
    return seen.kind == "end" and "+crash" in seen.end.token and not seen.end.unreached


def _untouched(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    if not interrupted(seen, facts):
        return None
    first = seen.end.outcomes[0]
    if first.how == "raised" and first.error["type"] == "KeyboardInterrupt":
        return None
    return Finding(
        f"somebody pressed Ctrl-C, and the process {first}: KeyboardInterrupt did not come through",
        SWALLOWS,
    )


def _ends(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    stuck = [o for o in seen.end.outcomes if o.how in ("endless", "hung")]
    if stuck:
        return Finding(f"{stuck[0].process} calls out again and again and never ends{_at(seen, stuck[0])}", "never ends")
    left = [o for o in seen.end.outcomes if o.how == "raised" and "Exception" not in o.error["bases"] and not o.error["message"].startswith(TOLD)]
    if left and "+interrupt" not in seen.end.token:  # nobody asked it to leave
        return Finding(f"{left[0].process} {left[0]}, which is no Exception and ends a process", LEAVES)
    return Finding(seen.end.deadlock, "deadlock") if seen.end.deadlock else None


def _at(seen: Seen, stuck: Outcome) -> str:
    """From where a process called out when it was stopped, as far as the run shows it."""
    return next((f" ({note.fault})" for note in seen.end.notes if note.label == ROUND and note.process == stuck.process), "")


def crash_rule(*cases: str) -> Property:
    """A crash or Ctrl-C goes through untouched."""
    return Property(
        "lets a crash through", "a crash or KeyboardInterrupt goes through untouched", _untouched, cases, interrupted
    )


class Killed(BaseException):
    """Some other way to end that is no Exception."""


EXITS = (KeyboardInterrupt, SystemExit, GeneratorExit, CancelledError, Killed, BaseExceptionGroup)


def of_its_own(came: BaseException, *handed: object) -> dict[str, Any] | None:
    """An error that came out of an answer, as data in which a slip of the answer is seen; None for one that the workload handed it."""
    return None if any(came is one for one in handed) else describe_error(came, 0)


def called(name: str) -> Callable[[Function], Function]:
    """A decorator: what Python says of a function names it as the exercise does, not as the check has made it."""

    def rename(function: Function) -> Function:
        function.__name__ = function.__qualname__ = name
        return function

    return rename


def outcome_of(call: Callable[[], Any]) -> dict[str, Any]:
    """How one of several calls in a body ended: {"value": ...} or {"error": ...}, as in an `Outcome`."""
    try:
        return {"value": plain(call())}
    except Crash:
        raise
    except BaseException as error:  # the body goes on with its next call, whatever came out of this one
        return {"error": describe_error(error)}


def an_exit(kind: type[BaseException]) -> BaseException:
    """A new error of this kind that says `TOLD`. A group of exits is no Exception either."""
    if issubclass(kind, BaseExceptionGroup):
        return kind(TOLD, [KeyboardInterrupt(TOLD)])
    return kind(TOLD)


def try_exits(
    call: Callable[[Callable[..., NoReturn]], Any], kinds: tuple[type[BaseException], ...] = EXITS
) -> list[list[Any]]:
    """Call with a function that raises each kind of BaseException in turn; for `exits_rule`.

    Gives [name of the kind, whether the function was called at all, how the call ended] for each.
    """
    return [_try_exit(call, kind) for kind in kinds]


def _try_exit(call: Callable[[Callable[..., NoReturn]], Any], kind: type[BaseException]) -> list[Any]:
    asked: list[bool] = []

    def leave(*_: Any) -> NoReturn:
        asked.append(True)
        raise an_exit(kind)

    ended = outcome_of(partial(call, leave))
    return [kind.__name__, bool(asked), ended]


def _exits(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    for kind, asked, ended in seen.end.last.value or ():
        error = ended.get("error", {})
        if asked and error.get("type") != kind:
            became = f"raised {error['type']}" if error else f"returned {ended['value']!r}"
            return Finding(f"{kind} was raised inside, and the call {became}", SWALLOWS)
        if asked and not error["message"].startswith(TOLD):
            return Finding(f"{kind} left the inside with {TOLD!r} and came out with {error['message']!r}", MADE_ANEW)
    return None


def exits_rule(case: str) -> Property:
    """KeyboardInterrupt, SystemExit, a cancellation and any other BaseException that is raised inside an answer goes
    through (see `try_exits`)."""
    return Property(
        "lets every exit through",
        "whatever is raised that is no Exception goes through untouched",
        _exits,
        (case,),
        lambda seen, facts: any(asked for _, asked, _ in seen.end.last.value or ()),
    )


def ends() -> Property:
    """No process goes on for ever."""
    return Property("ends", "every call ends", _ends)


def raised(outcome: Outcome, *types: str) -> bool:
    """Whether the process ended with one of these errors, or one derived from it."""
    return outcome.how == "raised" and any(name in outcome.error["bases"] for name in types)


def body(name: str, call: Callable[[Any, Process], Any]) -> Callable[[Any], list[Callable[[Process], Any]]]:
    """A `Case.build` with one body: `call(function, process)`, the function being the answer's `name`, fresh in each process.

    Time passes on the clock that the answer is given, and by no `time.sleep`. A process after a crash is another one, on another day (see `elsewhere`).
    """

    def play(answer: Any, process: Process) -> Any:
        with naps_of(process, passing=False), elsewhere(int(process.gate.process.removeprefix("p")) - 1):
            return call(answer.fresh()[name], process)

    return lambda answer: [partial(play, answer)]


def bodies(name: str, *calls: Callable[[Any, Process], Any]) -> Callable[[Any], list[Callable[[Process], Any]]]:
    """The same with several bodies that run at once."""

    def build(answer: Any) -> list[Callable[[Process], Any]]:
        return [_played(answer, name, call) for call in calls]

    return build


def _played(answer: Any, name: str, call: Callable[[Any, Process], Any]) -> Callable[[Process], Any]:
    return lambda process: call(answer.fresh()[name], process)


def is_a(value: Any, kind: str) -> bool:
    """Whether a value, as plain data, was of this dataclass or of one derived from it."""
    return isinstance(value, dict) and (value.get("type") == kind or kind in (value.get("bases") or ()))


def same_task(value: Any, stored: dict[str, Any] | None) -> str | None:
    """Why a returned value is not the stored task, or None."""
    if not is_a(value, "Task"):
        return f"it returned {value!r}, not the stored task"
    if stored is None:
        return "it returned a task that is not stored"
    differing = [name for name in ("id", "state", "result", "error", "version") if value[name] != stored[name]]
    return (
        f"the returned task has another {differing[0]} than the stored one ({value[differing[0]]!r}, not {stored[differing[0]]!r})"
        if differing
        else None
    )


def over_each(fact: str, off: Callable[[Any, Any], Finding | None]) -> Callable[[Seen, dict[str, Any]], Finding | None]:
    """For a property's `find`: the first of `facts[fact]` of which `off`, told what came of it, says why it is wrong."""

    def find(seen: Seen, facts: dict[str, Any]) -> Finding | None:
        last = seen.end.last
        if last.how == "endless":
            return None
        if last.how != "returned":
            return Finding(f"the run {last}", "an answer never comes")
        found = (off(one, came) for one, came in zip(facts[fact], last.value, strict=False))
        return next((one for one in found if one), None)

    return find
