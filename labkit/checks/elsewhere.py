"""Each process of an answer has a number of its own, its own time of day and its own day, as a process that comes after a crash has.

The processes of a check share one interpreter, and follow each other within milliseconds. A key made of the process's number or of today's date would look
steady here and nowhere else. So while a process runs, `os.getpid` and every way to read the machine's wall clock tell another number and a later day than in
the process before it. The first process sees what is there, and so does everybody when none runs.

Not handled here: the monotonic clock, other clocks by their number, the name of the machine, and hashes and identities (see `hashes`).
"""

from __future__ import annotations

import ctypes
import gc
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import date, datetime, timedelta
from functools import partial
from types import ModuleType
from typing import Any

LATER = timedelta(days=33, hours=7, minutes=11, seconds=13)  # another hour, day and month
PIDS = 101  # between one process and the next
_number = 0  # of the process that runs; also for the threads that it starts
_ready = False


@contextmanager
def elsewhere(number: int) -> Iterator[None]:
    """While this lasts, what runs here is the process with this number; 0 is the first."""
    global _number
    _make_ready()
    before, _number = _number, number
    try:
        yield
    finally:
        _number = before


def later() -> timedelta:
    """How much later it is for the process that runs."""
    return LATER * _number


def _make_ready() -> None:
    """Let those functions ask which process runs, once and for good: an answer may take one by `from time import time`."""
    global _ready
    if _ready:
        return
    _ready = True
    for module, name in ((os, "getpid"), (os, "getppid"), (threading, "get_native_id")):
        _wrap(module, name, lambda found: found + PIDS * _number)
    _wrap(time, "time", lambda found: found + later().total_seconds())
    _wrap(time, "time_ns", lambda found: found + int(later().total_seconds()) * 10**9)
    for name in ("localtime", "gmtime", "ctime"):
        _ask(name, lambda real, seconds=None: real(time.time() if seconds is None else seconds))
    _ask("strftime", lambda real, form, when=None: real(form, time.localtime() if when is None else when))
    _ask("asctime", lambda real, when=None: real(time.localtime() if when is None else when))
    for name in ("now", "utcnow"):
        _shift(datetime, name)  # `today` asks `time.time`


def _wrap(module: ModuleType, name: str, change: Callable[[Any], Any]) -> None:
    """Let a function of a module give what `change` makes of what it found."""
    real = getattr(module, name)
    setattr(module, name, lambda: change(real()))


def _ask(name: str, ask: Callable[..., Any]) -> None:
    """Let a function of `time` be asked by `ask`, which is given the real one first."""
    setattr(time, name, partial(ask, getattr(time, name)))


def _shift(kind: type[date], name: str) -> None:
    """Let a class method of Python's own give a later time. Where the class cannot be changed, it stays."""
    real: Any = vars(kind)[name]

    def shifted(cls: type, *given: Any, **named: Any) -> Any:
        return real.__get__(None, cls)(*given, **named) + later()

    changed: Callable[..., Any] = shifted
    with suppress(Exception):
        # subtle: a class that is written in C takes no attribute; its dictionary does, and must be told to the cache of methods
        (inside,) = gc.get_referents(vars(kind))
        inside[name] = classmethod(changed)
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))
