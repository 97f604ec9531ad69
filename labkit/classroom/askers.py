"""Who asks: whether the code behind an audit event is an answer's, a library's, or ours.

A library looks at frames for reasons of its own and is let alone. It is a mere tool where what is asked for does not stand in its code (somebody
handed it the function), where it shows frames to whoever called it, or where it is no file of a library at all.

Not handled here: what comes of it (see `tampering`), and code that claims another's file name by a way that raises no event.
"""

from __future__ import annotations

import inspect
import linecache
import logging
import os
import sys
import tokenize
import traceback
from types import FrameType
from typing import Any

from labkit.checks import imports
from labkit.faults.outcome import ANSWER

PACKAGE = f"{imports.PACKAGE}{os.sep}"
_PLACES = {os.path.dirname(os.__file__), *(place for place in sys.path if os.path.isabs(place))}
LIBRARY = (PACKAGE, "<frozen ", *(f"{os.path.abspath(place)}{os.sep}" for place in sorted(_PLACES)))
SOURCE_LINES = frozenset({linecache.__file__, tokenize.__file__, inspect.__file__})
# they look on behalf of whoever called them
WHO_LOOKS = frozenset({"stack", "trace", "getouterframes", "getinnerframes", "currentframe", "walk_stack", "walk_tb"})
SUMMARISES = frozenset({"extract", "_extract_from_extended_frame_gen"})  # of `traceback`: it shows lines and no frame
ON_BEHALF = frozenset({"bdb.py", "trace.py", "profile.py"})  # they show frames to whoever called them


def is_answers(frame: FrameType | None, name: str = "", *, deep: bool = False) -> bool:
    """Whether the code that asks is an answer's; `deep`: or anything that an answer has called. `name` is what is asked for.

    A thread in which there is nothing of ours was started by an answer.
    """
    ours = False
    while frame is not None:
        file, function = frame.f_code.co_filename, frame.f_code.co_name
        if file.startswith(ANSWER):
            return True
        if file == traceback.__file__ and name and _only_tells(frame, name):
            return False
        on = _looks_for_another(file, function)
        if not (deep or on or _is_a_tool(frame, file, name)):
            return False
        name = "currentframe" if on and function == "<lambda>" else function if on else name
        ours = ours or file.startswith(PACKAGE)
        frame = frame.f_back
    return not ours


def _only_tells(frame: FrameType, name: str) -> bool:
    """Whether this function of `traceback` reads no more than what led to an error: who logs one does that."""
    if frame.f_code.co_name in WHO_LOOKS or frame.f_locals.get("capture_locals"):
        return False
    return name in frame.f_code.co_names or frame.f_code.co_name in SUMMARISES


def _looks_for_another(file: str, function: str) -> bool:
    return file.startswith(LIBRARY) and not file.startswith(PACKAGE) and (function in WHO_LOOKS or (file == logging.__file__ and function == "<lambda>"))


def _is_a_tool(frame: FrameType, file: str, name: str) -> bool:
    if not file.startswith(LIBRARY) or os.path.basename(file) in ON_BEHALF:
        return True
    if file == traceback.__file__ and frame.f_locals.get("capture_locals"):
        return True
    return bool(name) and not file.startswith(PACKAGE) and name not in frame.f_code.co_names


def is_ours(frame: FrameType | None) -> bool:
    """Whether it is code of labkit's or Python's own import; whatever else an answer has called is its tool."""
    return frame is None or frame.f_code.co_filename.startswith((PACKAGE, "<frozen ")) or not is_answers(frame, deep=True)


def for_source_lines(frame: FrameType | None) -> bool:
    """Whether a module of Python's asks that only looks for lines to show."""
    while frame is not None and frame.f_code.co_filename.startswith("<frozen "):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename in SOURCE_LINES


def stack_of(frame: FrameType | None) -> list[Any]:
    """What `inspect.stack` tells, without the frames: which functions have called, and where."""
    told = []
    while frame is not None:
        told.append(inspect.FrameInfo(None, frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name, None, None))  # type: ignore[arg-type]
        frame = frame.f_back
    return told
