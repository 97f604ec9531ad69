"""What a host says, read with suspicion: the answer shares its process and may write on its pipe.

Whatever has not the shape of a host's word is a `ValueError`. So one who judges by it may trust every type.

Not handled here: an answer that makes up a word in the right shape (see the box of the grader).
"""

from __future__ import annotations

from typing import Any

from labkit.checks.exercise import Exercise, Seen
from labkit.errors import UsageError
from labkit.faults.scenario import End
from labkit.faults.schedule import Token
from labkit.faults.trace import Trace

KINDS = ("end", "left", "interrupted")
ENDINGS = ("returned", "raised", "crashed", "hung", "endless")
COUNTS = ("crash_points", "states", "kills", "runs", "orders", "preemptions", "actors")
ODD = (LookupError, TypeError, ValueError, AttributeError, StopIteration, UsageError)  # from what has another shape


class NoHost(ValueError):
    """No host says this."""


def word(said: Any) -> dict[str, Any]:
    """What was said, if it is a word of a host. What it tells of a run is read by `seen`."""
    match said:
        case (
            {"seen": _, "case": _, "end": _}
            | {"loaded": str()}
            | {"finished": str(), "output": str()}
            | {"forbidden": str()}
            | {"unusable": str()}
            | {"broke": str()}
            | {"failed": str()}
            | {"trace": str(), "ends": list()}
        ):
            return dict(said)
        case {"case": str(), "database": str()} if isinstance(said.get("output", ""), str):
            return dict(said)
        case {"covered": str()} if _counted(dict(said)):
            return dict(said)
    raise NoHost("no word of a host")


def _counted(said: dict[str, Any]) -> bool:
    numbers = [said.get(name, 0) for name in COUNTS]
    return all(type(one) is int and one >= 0 for one in numbers) and isinstance(said.get("capped", ""), str)


def seen(asked: Exercise, case: Any, kind: Any, end: Any) -> Seen:
    """One run as the host told it."""
    if case not in [one.name for one in asked.cases] or kind not in KINDS:
        raise NoHost("no run of this exercise")
    try:
        made = End.from_data(end)
        Token.parse(made.token)
        fine = bool(made.outcomes) and all(_an_outcome(vars(one)) for one in made.outcomes)
    except ODD as error:
        raise NoHost("no end of a run") from error
    if not fine:
        raise NoHost("no outcome of a process")
    return Seen(case, kind, made)


def _an_outcome(fields: dict[str, Any]) -> bool:
    error = fields["error"]
    told = {"type", "bases", "message", "cause"} <= error.keys() if fields["how"] == "raised" else error == {}
    return isinstance(fields["process"], str) and fields["how"] in ENDINGS and told


def trace(said: dict[str, Any]) -> Trace:
    """The trace of a replay."""
    try:
        return Trace.from_jsonl(said["trace"])
    except ODD as error:
        raise NoHost("no trace of a run") from error


def ends(asked: Exercise, case: str, said: dict[str, Any]) -> list[Seen]:
    """The runs that a replay tells of."""
    try:
        pairs = [(kind, end) for kind, end in said["ends"]]
    except ODD as error:
        raise NoHost("no ends of a run") from error
    return [seen(asked, case, kind, end) for kind, end in pairs]
