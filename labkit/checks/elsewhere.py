"""The machine that an answer sees in a check: the same one each time, and another process after each crash.

Equal answers must leave equal words, whenever and wherever they are checked. So on the `settled` machine the wall clock shows a fixed day and goes on a
millisecond whenever somebody reads it, the process has a fixed number, and all that is drawn without a seed comes from one stream (see `luck`).

The processes of a check share one interpreter, and follow each other within milliseconds. A key made of the process's number or of today's date would look
steady here and nowhere else. So while a process runs, `os.getpid` and every way to read the wall clock tell another number and a later day than in the process
before it.

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
from datetime import UTC, date, datetime, timedelta
from functools import partial
from os import getpid
from types import ModuleType
from typing import Any

from labkit.checks.luck import begin_anew, drawn_from

LATER = timedelta(days=33, hours=7, minutes=11, seconds=13)  # another hour, day and month
PIDS = 101  # between one process and the next
PID = 40_961  # of the first process on the settled machine
DAY = datetime(2031, 5, 17, 4, 26, 53, tzinfo=UTC)  # there; a day on which nothing happens in any exercise
FIRST = round(DAY.timestamp()) * 10**9  # nanoseconds since 1970
READING = 1_000_000  # nanoseconds from one reading of the settled clock to the next
_number = 0  # of the process that runs; also for the threads that it starts
_settled: int | None = None  # nanoseconds of the settled clock; None: the clock is the machine's
_ready = False


@contextmanager
def settled(seed: str) -> Iterator[None]:
    """While this lasts the machine is the fixed one; two that are settled with equal seeds see the same."""
    global _settled
    _make_ready()
    _settled = FIRST
    try:
        with drawn_from(seed):
            yield
    finally:
        _settled = None


@contextmanager
def elsewhere(number: int) -> Iterator[None]:
    """While this lasts, what runs here is the process with this number; 0 is the first. On the settled machine each begins the same way in every run."""
    global _number, _settled
    _make_ready()
    before, _number = _number, number
    if _settled is not None:
        _settled = FIRST
        begin_anew(f"process {number}")
    try:
        yield
    finally:
        _number = before


def pass_time(seconds: float) -> None:
    """Let the settled clock go on, as by a sleep that took no time."""
    global _settled
    if _settled is not None:
        _settled += round(seconds * 10**9)


def _now(real: Callable[[], int]) -> int:
    """Nanoseconds since 1970, for the process that runs."""
    global _settled
    if _settled is not None:
        _settled += READING
    return (real() if _settled is None else _settled) + round(LATER.total_seconds()) * 10**9 * _number


def _make_ready() -> None:
    """Let those functions ask which process runs, once and for good: an answer may take one by `from time import time`."""
    global _ready
    if _ready:
        return
    _ready = True
    for module, name in ((os, "getpid"), (os, "getppid"), (threading, "get_native_id")):
        _wrap(module, name, lambda found: (found if _settled is None else PID) + PIDS * _number)
    kill, mine = os.kill, os.getpid
    os.kill = lambda pid, sign: kill(getpid() if pid == mine() else pid, sign)  # whoever ends itself ends itself
    now = partial(_now, time.time_ns)
    time.time_ns = now
    time.time = lambda: now() / 10**9
    for name in ("localtime", "gmtime", "ctime"):
        _ask(name, lambda real, seconds=None: real(time.time() if seconds is None else seconds))
    _ask("strftime", lambda real, form, when=None: real(form, time.localtime() if when is None else when))
    _ask("asctime", lambda real, when=None: real(time.localtime() if when is None else when))
    _change(datetime, "now", lambda cls, tz=None: cls.fromtimestamp(now() / 10**9, tz))  # `today` asks `time.time`
    _change(datetime, "utcnow", lambda cls: cls.fromtimestamp(now() / 10**9, UTC).replace(tzinfo=None))


def _wrap(module: ModuleType, name: str, change: Callable[[Any], Any]) -> None:
    """Let a function of a module give what `change` makes of what it found."""
    real = getattr(module, name)
    setattr(module, name, lambda: change(real()))


def _ask(name: str, ask: Callable[..., Any]) -> None:
    """Let a function of `time` be asked by `ask`, which is given the real one first."""
    setattr(time, name, partial(ask, getattr(time, name)))


def _change(kind: type[date], name: str, method: Callable[..., Any]) -> None:
    """Let a class method of Python's own be this one. Where the class cannot be changed, it stays."""
    with suppress(Exception):
        # subtle: a class that is written in C takes no attribute; its dictionary does, and must be told to the cache of methods
        (inside,) = gc.get_referents(vars(kind))
        inside[name] = classmethod(method)
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))
