"""What a host says, read with suspicion: the answer shares its process and may write on its pipe.

Whatever has not the shape of a host's word is a `ValueError`. So one who judges by it may trust every type.

Not handled here: an answer that makes up a word in the right shape (see the box of the grader).
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from labkit.checks.exercise import Exercise, Seen
from labkit.checks.texts import printable
from labkit.errors import UsageError
from labkit.faults.scenario import Call, End
from labkit.faults.schedule import Token
from labkit.faults.trace import Line, Trace

KINDS = ("end", "left", "interrupted")
ENDINGS = ("returned", "raised", "crashed", "hung", "endless")
COUNTS = ("crash_points", "states", "kills", "runs", "orders", "preemptions", "actors")
FLAGS = ("alike", "closed")
MOST_COUNTED = 1 << 40
ODD = (LookupError, TypeError, ValueError, AttributeError, StopIteration, UsageError)  # from what has another shape


KINDS_OF = {
    "str": (str,),
    "int": (int,),
    "bool": (bool,),
    "float": (int, float),
}  # of a field, as its class says it


def _types(record: type) -> dict[str, tuple[type, ...]]:
    return {one.name: KINDS_OF[str(one.type)] for one in fields(record)}


LINE, RECORD = _types(Line), _types(Call)
EFFECT = {"name": (str,), "by": (str,), "changed": (bool,)}  # an answer may give a key or a target of any kind


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
            | {"so far": str()}
        ):
            return dict(said)
        case {"case": str(), "database": str()} if isinstance(said.get("output", ""), str):
            return dict(said)
        case {"covered": str()} if _counted(dict(said)):
            return dict(said)
    raise NoHost("no word of a host")


def _counted(said: dict[str, Any]) -> bool:
    numbers = [said.get(name, 0) for name in COUNTS]
    flags = [said.get(name, False) for name in FLAGS]
    counted = all(type(one) is int and 0 <= one <= MOST_COUNTED for one in numbers) and all(type(one) is bool for one in flags)
    return counted and isinstance(said.get("capped", ""), str) and (not said.get("alike") or "actors" in said)


def case(asked: Exercise, name: str) -> str:
    """The name of a case that the host begins."""
    if name not in [one.name for one in asked.cases]:
        raise NoHost("no case of this exercise")
    return name


def seen(asked: Exercise, case: Any, kind: Any, end: Any) -> Seen:
    """One run as the host told it."""
    if case not in [one.name for one in asked.cases] or kind not in KINDS:
        raise NoHost("no run of this exercise")
    try:
        made = End.from_data(end)
        Token.parse(made.token)
        fine = bool(made.outcomes) and all(_an_outcome(vars(one)) for one in made.outcomes) and _an_end(made)
    except ODD as error:
        raise NoHost("no end of a run") from error
    if not fine:
        raise NoHost("no outcome of a process")
    return Seen(case, kind, made)


def _an_outcome(fields: dict[str, Any]) -> bool:
    error = fields["error"]
    told = _an_error(error) if fields["how"] == "raised" else error == {}
    return isinstance(fields["process"], str) and fields["how"] in ENDINGS and told


def _an_error(error: dict[str, Any]) -> bool:
    """Whether this tells of an error, and of each that led to it."""
    texts = [error["type"], error["message"], *error["bases"]]
    fine = all(isinstance(text, str) for text in texts) and isinstance(error["data"], dict) and type(error.get("line", 1)) is int
    return fine and (error["cause"] is None or _an_error(error["cause"]))


def _an_end(made: End) -> bool:
    """Whether all that the properties read has the types that they expect."""
    records = [(one, RECORD) for one in (*made.calls, *made.notes)] + [(one, EFFECT) for one in made.effects]
    texts = [made.deadlock, *made.unreached, *made.moved, *made.files.values(), *made.tasks, *made.rows]
    return (
        all(type(getattr(one, name)) in kinds for one, types in records for name, kinds in types.items())
        and all(isinstance(text, str) for text in texts)
        and type(made.seconds) in (int, float)
        and all(isinstance(task, dict) for task in made.tasks.values())
        and all(isinstance(row, dict) for rows in made.rows.values() for row in rows)
    )


def trace(said: dict[str, Any]) -> Trace:
    """The trace of a replay, fit to be shown."""
    try:
        made = Trace.from_jsonl(said["trace"])
        lines = [Line(**{name: _shown(value) for name, value in vars(line).items()}) for line in made.lines]
        Token.parse(made.token)
    except ODD as error:
        raise NoHost("no trace of a run") from error
    if not all(type(getattr(line, name)) in kinds for line in lines for name, kinds in LINE.items()):
        raise NoHost("no line of a trace")
    return Trace(made.token, tuple(lines))


def _shown(value: Any) -> Any:
    return printable(value) if isinstance(value, str) else value


def ends(asked: Exercise, case: str, said: dict[str, Any]) -> list[Seen]:
    """The runs that a replay tells of."""
    try:
        pairs = [(kind, end) for kind, end in said["ends"]]
    except ODD as error:
        raise NoHost("no ends of a run") from error
    return [seen(asked, case, kind, end) for kind, end in pairs]
