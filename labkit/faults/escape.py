"""No way past the gate: a process that opens a SQLite database of its own is told so, instead of being believed.

What a process writes past its gate would survive its death unseen, and would not be put back for the next run: every verdict after it would be worth
nothing. So while a process runs, it may not open a SQLite database but through `process.engine`; `:memory:` is its own, it dies with it. This
hears of every connection, also of one made by `from sqlite3 import connect` long ago, since Python itself announces it (`sys.audit`). A thread that
its code is about to start is told to the process, and one that a dead process left behind dies without a word.

Not handled here: other drivers, files opened past the file port, and connections opened in a thread that the process started.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from labkit.errors import UsageError
from labkit.faults.fault import Crash

_process: ContextVar[Callable[[], object] | None] = ContextVar("process", default=None)  # whose code runs here: tells it of a thread
_open = ContextVar("open", default=False)  # the simulator itself is connecting
_listening = False
_start_thread = threading.Thread.start
_loud: list[Callable[[threading.ExceptHookArgs], object]] = []


@contextmanager
def inside_process(starts_thread: Callable[[], object] = lambda: None) -> Iterator[None]:
    """While this lasts, the code that runs here belongs to a process. `starts_thread` is called before it starts a thread."""
    global _listening
    if not _listening:
        sys.addaudithook(_hear)
        threading.Thread.start = _start  # type: ignore[assignment, method-assign]
        _listening = True
    if threading.excepthook is not _quietly:
        _loud.append(threading.excepthook)
        threading.excepthook = _quietly
    before = _process.set(starts_thread)
    try:
        yield
    finally:
        _process.reset(before)


@contextmanager
def allowed() -> Iterator[None]:
    """The simulator's own connections."""
    before = _open.set(True)
    try:
        yield
    finally:
        _open.reset(before)


def _quietly(error: threading.ExceptHookArgs) -> None:
    if not issubclass(error.exc_type, Crash):
        _loud[-1](error)


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "sqlite3.connect" or not _process.get() or _open.get():
        return
    if arguments[0] not in (":memory:", ""):
        raise UsageError(f"a process opens its database by its engine; {arguments[0]!r} would outlive it unseen")


def _start(thread: threading.Thread) -> None:
    tell = _process.get()
    if tell is not None:
        tell()
    _start_thread(thread)
