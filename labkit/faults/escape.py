"""No way past the gate: a process that opens a SQLite database of its own is told so, instead of being believed.

What a process writes past its gate would survive its death unseen, and would not be put back for the next run: every verdict after it would be worth
nothing. So while a process runs, its threads may not open a SQLite database but through `process.engine`; `:memory:` is theirs, it dies with them. This
hears of every connection, also of one made by `from sqlite3 import connect` long ago, since Python itself announces it (`sys.audit`).

Not handled here: other drivers, and files opened past the file port.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

from labkit.errors import UsageError

_inside: WeakSet[threading.Thread] = WeakSet()  # threads whose code belongs to a process
_pass = threading.local()
_listening = False


@contextmanager
def inside_process() -> Iterator[None]:
    """While this lasts, the current thread's code and the threads that it starts belong to a process."""
    global _listening
    if not _listening:
        sys.addaudithook(_hear)
        _listening = True
    thread = threading.current_thread()
    _inside.add(thread)
    try:
        yield
    finally:
        _inside.discard(thread)


@contextmanager
def allowed() -> Iterator[None]:
    """The simulator's own connections."""
    _pass.open = True
    try:
        yield
    finally:
        _pass.open = False


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "sqlite3.connect":
        if (
            threading.current_thread() in _inside
            and not getattr(_pass, "open", False)
            and arguments[0] not in (":memory:", "")
        ):
            raise UsageError(
                f"a process opens its database by its engine: {arguments[0]!r} would outlive the process unseen by the simulator"
            )
    elif event == "_thread.start_new_thread" and threading.current_thread() in _inside:
        thread = getattr(arguments[0], "__self__", None)
        if isinstance(thread, threading.Thread):
            _inside.add(thread)
