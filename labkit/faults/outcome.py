"""How a process ended, in plain data, so that a judge elsewhere can read it and JSON can hold it.

Nothing in it depends on the machine (memory addresses are cut out), and nothing that a program put into its values or errors can break it.

Not handled here: running the process (see `process`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime
from dis import opname
from enum import Enum
from types import TracebackType
from typing import Any

from labkit.faults.trace import UUID

ANSWER = "<answer to "  # how the file name of an answer's code begins: it lies in no file
EXIT = "_sitebuiltins"  # where exit() and quit() stand
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
MARGIN = 10_000  # characters beyond those shown in which an address is cut out
DEEPEST = 12  # levels of a value, or causes of an error, that are told


@dataclass(frozen=True)
class Outcome:
    """How a process ended. `how` is returned, raised, crashed, hung or endless."""

    process: str
    how: str
    value: Any = None
    error: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        if self.how == "returned":
            return f"returned {_short(self.value)}"
        return f"raised {self.error['type']}: {self.error['message']}" if self.how == "raised" else self.how


def describe_error(error: BaseException, depth: int = DEEPEST) -> dict[str, Any]:
    """An error as plain data: type, all its base classes, message, its own attributes, and its cause in the same form.

    `line` is the line of the answer at which it was raised, where an answer had a part in it; `own` says of an exit that the answer began it.
    """
    cause, line = error.__cause__, line_of_answer(error.__traceback__)
    # subtle: an exit that came of another exit is what became of that one
    first = error.__context__ is None or isinstance(error.__context__, Exception)
    own = line and first and _begins_in_answer(error)
    return {
        "type": type(error).__name__,
        "bases": [base.__name__ for base in type(error).__mro__],
        "message": _text(str, error, 500),
        "data": {name: plain(value) for name, value in vars(error).items() if not name.startswith("_")},
        "cause": describe_error(cause, depth - 1) if cause is not None and depth > 0 else None,
        **({"line": line} if line else {}),
        **({"own": True} if own and not isinstance(error, Exception) else {}),
    }


def line_of_answer(traceback: TracebackType | None) -> int:
    """The line of the innermost call that stands in an answer; 0 where there is none."""
    line = 0
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename.startswith(ANSWER):
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line


def _begins_in_answer(error: BaseException) -> bool:
    frames: list[TracebackType] = []
    traceback = error.__traceback__
    while traceback is not None:
        frames.append(traceback)
        traceback = traceback.tb_next
    if frames and EXIT in frames[-1].tb_frame.f_code.co_filename:  # exit() and quit() are Python's own functions
        frames.pop()
    if not frames or not frames[-1].tb_frame.f_code.co_filename.startswith(ANSWER):
        return False
    # subtle: a cancellation is thrown into a coroutine, and begins where that waits; it is the coroutine's own only where it says `raise`
    return isinstance(error, (SystemExit, KeyboardInterrupt)) or _raises(frames[-1])


def _raises(traceback: TracebackType) -> bool:
    """Whether this frame was left by a `raise` of its own."""
    return opname[traceback.tb_frame.f_code.co_code[traceback.tb_lasti]] == "RAISE_VARARGS"


def without(text: str, data: Any) -> Any:
    """Plain data in which no string holds this text: a path of the machine is no part of how a process ended."""
    if isinstance(data, str):
        return data.replace(text, "")
    if isinstance(data, list):
        return [without(text, item) for item in data]
    return {name: without(text, item) for name, item in data.items()} if isinstance(data, dict) else data


def plain(value: Any, depth: int = DEEPEST) -> Any:
    """A value as plain data that JSON can hold; what it cannot hold becomes {"type": ..., "repr": ...}."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Enum):
        return plain(value.value, depth)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if depth > 0:
        if isinstance(value, (list, tuple)):
            return [plain(item, depth - 1) for item in value]
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return {key: plain(item, depth - 1) for key, item in value.items()}
        if is_dataclass(value) and not isinstance(value, type):
            inside = {f.name: plain(getattr(value, f.name, None), depth - 1) for f in fields(value)}
            above = [base.__name__ for base in type(value).__mro__[1:-1] if is_dataclass(base)]
            return {"type": type(value).__name__, **({"bases": above} if above else {}), **inside}
    return {"type": type(value).__name__, "repr": _text(repr, value, 200)}


def _text(say: Any, value: Any, most: int) -> str:
    """What `str` or `repr` says of a value, whatever its class does there."""
    try:
        # subtle: the pattern is looked for in what may be shown, not in all of fifty million characters
        return cut(ADDRESS.sub("", say(value)[: most + MARGIN]), most)
    except Exception:
        return f"<{type(value).__name__} that cannot be shown>"


def cut(text: str, most: int) -> str:
    """The beginning of a text. It ends before a random id rather than inside: half an id would be another text in each run."""
    if len(text) <= most:
        return text
    inside = (match.start() for match in UUID.finditer(text) if match.start() < most < match.end())
    return text[: next(inside, most)]


def _short(value: Any) -> str:
    is_task = isinstance(value, dict) and value.get("type") == "Task"
    text = repr(f"{value.get('id')} {value.get('state')}" if is_task else value)
    return text if len(text) <= 60 else cut(text, 57) + "..."


def forget_frames(error: BaseException) -> None:
    """Cut the tracebacks off: frames of a dead process would keep its cursors, and with them its locks, alive."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            one.__traceback__ = None
            waiting += [one.__cause__, one.__context__]
            if isinstance(one, BaseExceptionGroup):
                waiting += one.exceptions
