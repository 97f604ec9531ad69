"""What keeps a wild answer from taking the machine with it: a cap on what it prints, on memory, processor time and files, and no new processes.

Not handled here: real time. Whoever listens to the child ends it when it falls silent (see `listening`).
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import getpid  # subtle: by this name it stays what it is, whatever number an answer is told (see `elsewhere`)
from typing import Any

MEMORY = 2 << 30  # bytes
CPU = 60  # seconds: a check takes a tenth of it, and a busy machine makes them no more
GRACE = 5  # seconds
FILE = 256 << 20  # bytes
STARTS = frozenset(
    {
        "os.fork",
        "os.forkpty",
        "os.exec",
        "os.posix_spawn",
        "os.spawn",
        "os.system",
        "os.startfile",
        "pty.spawn",
        "subprocess.Popen",
        "ctypes.dlopen",  # behind it stands C's own fork
    }
)
MOST_OUTPUT = 10_000  # characters that an answer may print before we stop listening


class Capped(io.TextIOBase):
    """Keeps the first characters that are written to it."""

    def __init__(self, most: int) -> None:
        self._left, self._parts = most, list[str]()

    def write(self, text: str, /) -> int:
        if self._left > 0:
            self._parts.append(text[: self._left])
            self._left -= len(text)
        return len(text)

    def reconfigure(self, **how: Any) -> None:
        """Nothing: scripts ask a stream for an encoding, and here there is none."""

    def getvalue(self) -> str:
        return "".join(self._parts) + ("\n... (more was printed)" if self._left < 0 else "")


def limit_resources() -> None:
    """Keep a wild answer from taking the machine with it, where the platform can."""
    sys.addaudithook(_no_processes)
    try:
        import resource
    except ImportError:  # the wall clock of whoever listens is the limit then
        return
    set_limits(resource)


def set_limits(resource: Any) -> None:
    """Lower each limit that this platform has and lets us lower; macOS refuses one on the address space."""
    for name, most in (("RLIMIT_AS", MEMORY), ("RLIMIT_CPU", CPU), ("RLIMIT_FSIZE", FILE), ("RLIMIT_CORE", 0)):
        with suppress(AttributeError, ValueError, OSError):
            kind = getattr(resource, name)
            _, hard = resource.getrlimit(kind)
            soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
            # subtle: a process may go on after the signal of the soft limit on processor time, but not beyond the hard one
            resource.setrlimit(kind, (soft, most + GRACE if name == "RLIMIT_CPU" and soft == most else hard))


def _no_processes(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: an answer starts no process and kills none but its own. It cannot be taken off again."""
    if event in STARTS or (event in ("os.kill", "os.killpg") and arguments[0] != getpid()):
        raise PermissionError(f"an answer may not use {event}")


@contextmanager
def quiet(output: Capped) -> Iterator[None]:
    before = sys.stdout, sys.stderr
    sys.stdout = sys.stderr = output
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
