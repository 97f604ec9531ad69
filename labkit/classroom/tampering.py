"""Notices an answer that lays hands on the process it runs in, and stops it where Python lets us.

In a child that runs an answer, an audit hook sees who asks for frames, for all objects, for C, for a trace of everything, or opens the checks' files;
the modules of the checks and the simulator are reached through stand-ins that remember a stranger; and the functions and classes that the host works
with are compared, at the end, with what they were. What is found is remembered as a refusal, so that the host says it whoever catches the error.

Not handled here: an answer that reaches an object of the host by a way that Python does not tell of (an attribute such as `__globals__` of a function
that it was handed), changes that alone and puts it back. So this is a watchman and no wall: the wall is the box, and the witness holds what can be
held again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import get_ident
from types import FrameType, ModuleType
from typing import Any, NoReturn

from labkit.checks import imports
from labkit.faults.outcome import ANSWER

TAMPERS = "the answer lays hands on the process it runs in"
PRYING = frozenset(
    {
        "sys._getframe", "sys._current_frames", "sys._current_exceptions", "sys._getframemodulename", "sys.settrace", "sys.setprofile", "sys.addaudithook",
        "gc.get_objects", "gc.get_referrers", "gc.get_referents", "code.__new__", "object.__setattr__", "object.__delattr__", "sys.unraisablehook",
    }
)  # fmt: skip
PRIED = frozenset({"tb_frame", "gi_frame", "cr_frame", "ag_frame", "gi_code", "cr_code", "ag_code", "f_back", "__code__"})
Kept = tuple[str, Mapping[str, Any], str, Any]  # how it is told, where it stands, under which name, and what it is
SEEN = PRYING | {"object.__getattr__", "open"}
WHO_LOOKS = frozenset({"stack", "trace", "getouterframes", "getinnerframes", "currentframe"})  # of `inspect`, on behalf of whoever called it
OURS = ("labkit.checks", "labkit.faults", "labkit.classroom")
WATCHED = ("labkit.", "json")  # modules whose functions must stay what they are
PACKAGE = f"{imports.PACKAGE}{os.sep}"
PRIVATE = tuple(f"{PACKAGE}{name}{os.sep}" for name in ("checks", "faults", "classroom"))


_looking: set[int] = set()  # threads in which the hook is at work


def refuse(what: str) -> NoReturn:
    """Remember that the answer did this, and stop it."""
    why = f"{TAMPERS}: {what}"
    imports.refused.append(why)
    raise imports.Forbidden(why)


def watch() -> None:
    """From now on in this process and all that are forked from it; there is no way back."""
    before = list(_functions())
    imports.at_the_end.append(lambda: _compare(before))
    sys.addaudithook(_look)
    for name, module in list(sys.modules.items()):
        if name.startswith(OURS) and not isinstance(module, StandIn):
            sys.modules[name] = StandIn(module)
    for name in OURS:
        parent, _, last = name.rpartition(".")
        if name in sys.modules:
            setattr(sys.modules[parent], last, sys.modules[name])


def _look(event: str, arguments: tuple[Any, ...]) -> None:
    """The audit hook: in nearly every call it has nothing to say, and says so soon."""
    if (event not in SEEN and not event.startswith("ctypes.")) or get_ident() in _looking:
        return
    _looking.add(get_ident())  # subtle: who looks at frames is looked at, too
    try:
        _look_at(event, arguments)
    finally:
        _looking.discard(get_ident())


def _look_at(event: str, arguments: tuple[Any, ...]) -> None:
    if event in PRYING:
        if _asked_by_answer(sys._getframe(2)):
            refuse(f"it uses {event}")
    elif event == "object.__getattr__":
        if arguments[1] in PRIED and _asked_by_answer(sys._getframe(2)):
            refuse(f"it looks at {arguments[1]}")
    elif event.startswith("ctypes."):
        if _asked_by_answer(sys._getframe(2)):
            refuse(f"it uses {event}")
    elif event == "open" and isinstance(arguments[0], (str, bytes)):
        path = os.path.abspath(os.fsdecode(arguments[0]))
        if (path.startswith((*PRIVATE, "/proc/")) or path == "/proc") and _is_answers(sys._getframe(2), deep=True):
            refuse(f"it opens {Path(path).name}")


def _asked_by_answer(frame: FrameType) -> bool:
    return _is_answers(frame, deep=False)


def _is_answers(frame: FrameType | None, *, deep: bool) -> bool:
    """Whether the code that asks is an answer's; `deep`: or anything that an answer has called. Libraries look at frames for reasons of their own."""
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(ANSWER):
            return True
        if Path(name).name == "traceback.py":  # who logs an error reads nothing but what led to it
            return False
        behind = deep or name == "<string>" or (Path(name).name == "inspect.py" and frame.f_code.co_name in WHO_LOOKS)
        if not behind:
            return False
        frame = frame.f_back
    return False


class StandIn(ModuleType):
    """Stands in `sys.modules` for a module of ours. We find in it all that is there; a stranger is remembered, and changes nothing."""

    def __init__(self, module: ModuleType) -> None:
        super().__init__(module.__name__)
        keep = object.__setattr__
        keep(self, "_real", module)
        for name in ("__spec__", "__path__", "__package__", "__loader__"):
            if hasattr(module, name):
                keep(self, name, getattr(module, name))

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            _only_us(sys._getframe(1), self.__name__)
        return getattr(object.__getattribute__(self, "_real"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        _only_us(sys._getframe(1), self.__name__)
        setattr(object.__getattribute__(self, "_real"), name, value)


def _only_us(frame: FrameType | None, module: str) -> None:
    """Return for code of labkit's and for Python's own import; whatever else an answer has called is its tool."""
    if frame is None:
        return
    name = frame.f_code.co_filename
    if not name.startswith((PACKAGE, "<frozen ")) and _is_answers(frame, deep=True):
        refuse(f"it reaches into {module}")


def _functions() -> Iterator[Kept]:
    """What must stay what it is."""
    for name, module in sorted(sys.modules.items()):
        if name.startswith(WATCHED) and type(module) is ModuleType:
            yield from _functions_of(name, vars(module))


def _functions_of(module: str, names: dict[str, Any]) -> Iterator[Kept]:
    for name, value in list(names.items()):
        if callable(value) and not name.startswith("__"):
            yield f"{module}.{name}", names, name, value
        if isinstance(value, type) and value.__module__ == module:
            inside = vars(value)
            yield from ((f"{module}.{name}.{one}", inside, one, method) for one, method in inside.items() if callable(method) and not isinstance(method, type))


def _compare(before: list[Kept]) -> None:
    """Remember what is another object than it was."""
    changed = next((told for told, where, name, value in before if where.get(name) is not value), "")
    if changed:
        imports.refused.append(f"{TAMPERS}: {changed} is not what it was")
