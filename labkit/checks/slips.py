"""Errors of an answer's own: which one a run ended with, and at which line of the answer.

A misspelt name or a call with the wrong arguments breaks whatever the run was for, and says nothing about it. It is told once, as what it is.

Not handled here: errors that the workload raises, and those of the exercise (a `ValueError` may be what was asked for).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from labkit.checks.exercise import Finding, Seen

SLIPS = frozenset({"NameError", "UnboundLocalError", "AttributeError", "FrozenInstanceError", "TypeError"})  # no workload raises any of these
OWN_ERROR = "raises an error of its own"
REFUSED = "an answer may not use"  # how what the limits refuse begins (see `limits`)
DOOMED = {
    "RecursionError": "calls itself without an end",
    "MemoryError": "uses up the memory that it may",
    "PermissionError": "starts a process, or ends another one",
}  # what an answer does that it may not do in any exercise, by the error that comes of it
LEAVES = "ends the process it runs in"  # by an exit that it raises itself, whatever kind that is
OWN = frozenset({OWN_ERROR, LEAVES, *DOOMED.values()})

Place = Callable[[int], str]


def slip(seen: Seen, place: Place | None) -> Finding | None:
    """What a run says in which the answer's own code failed, or None."""
    for error in _errors(_told(seen)):
        why = _why(error)
        if why:
            where = f" ({place(error['line'])})" if place and error.get("line") else ""
            text = f": {_first_line(error)}" if _first_line(error) else ""
            return Finding(f"your code raised {error['type']}{text}{where}", why)
    return None


def _why(error: dict[str, Any]) -> str:
    """What an error says about the answer that raised it; "" where it may be asked for."""
    kind, line = error["type"], error.get("line")
    if kind in SLIPS and line:
        return OWN_ERROR
    if error.get("own"):
        return LEAVES
    refused = kind != "PermissionError" or str(error["message"]).startswith(REFUSED)
    return DOOMED.get(kind, "") if refused else ""


def with_place(message: str, seen: Seen, place: Place) -> str:
    """The message, with the line of the answer behind an error that it tells of."""
    errors = [error for error in _errors(_told(seen)) if error.get("line")]
    for short in (False, True):
        for error in errors:
            said = f"raised {error['type']}" + ("" if short else f": {error['message']}")
            if said in message:
                return message.replace(said, f"{said.splitlines()[0]} ({place(error['line'])})", 1)
    return message


def _told(seen: Seen) -> list[Any]:
    return [data for outcome in seen.end.outcomes for data in (outcome.error, outcome.value)]


def _readable(data: dict[str, Any]) -> bool:
    """A value may look like an error and be none."""
    line = data.get("line", 1)
    return isinstance(data["type"], str) and isinstance(data["message"], str) and type(line) is int and line > 0


def _first_line(error: dict[str, Any]) -> str:
    return (str(error["message"]).splitlines() or [""])[0]


def _errors(data: Any) -> Iterator[dict[str, Any]]:
    """The errors in plain data, each before what led to it."""
    if isinstance(data, dict) and {"type", "bases", "message", "cause"} <= data.keys() and _readable(data):
        yield data
        yield from _errors(data["cause"])
    elif isinstance(data, (dict, list, tuple)):
        for inside in data.values() if isinstance(data, dict) else data:
            yield from _errors(inside)
