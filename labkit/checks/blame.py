"""Whose fault it is when the host of a check breaks in the middle: the answer's, or our own.

An answer is to blame when it ends the process, uses up what it may (memory, files, what a run may show), or when the error comes out of its own code. Any
other error comes out of ours, and nobody is judged by it.

Not handled here: a process that is gone without a word (see `listening`).
"""

from __future__ import annotations

import errno
import sqlite3
from typing import Any

from labkit.errors import LabkitError
from labkit.faults.outcome import line_of_answer

USED_UP = frozenset({errno.EFBIG, errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT, errno.ENOMEM})
USED_UP_IN_SQLITE = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_NOMEM", "SQLITE_TOOBIG")


class TooMuch(LabkitError):
    """The answer returned or stored more than anybody can look at."""


def told(error: BaseException) -> dict[str, Any]:
    """The host's last word: {"broke": why} where the answer is to blame, {"failed": why} where we are."""
    name, text = type(error).__name__, " ".join(str(error).split())[:200]
    why = text if isinstance(error, TooMuch) else f"{name}: {text}" if text else name
    return {"broke" if _of_the_answer(error) else "failed": why}


def _of_the_answer(error: BaseException) -> bool:
    """Whether this error, or one that led to it, is the answer's doing."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        if not isinstance(one, Exception) or isinstance(one, (TooMuch, MemoryError, RecursionError)) or _used_up(one):
            return True
        if line_of_answer(one.__traceback__):
            return True
        one = one.__cause__ or one.__context__
    return False


def _used_up(error: Exception) -> bool:
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorname", "").startswith(USED_UP_IN_SQLITE)
    return isinstance(error, OSError) and error.errno in USED_UP
