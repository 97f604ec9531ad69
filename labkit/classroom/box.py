"""A box for foreign code: a clean folder, an empty environment, limits, and as much of a wall as the machine gives.

There are three levels. `process` is a process of its own with limits; `user` runs it as a user who owns nothing; `namespace` shows it a disk with
nothing of the grader's on it, no network and no other process. Each holds what those before it hold. What was asked for and cannot be had is an
error, never a lower level, and `promises` says in one sentence what a level is worth. Each thread that uses a box has walls, a user and a warm parent
of its own, so that two learners never meet.

Not handled here: a full disk (only each file has a limit), and holes of the system's kernel.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from labkit.classroom import rights
from labkit.classroom.lifeline import Lifeline
from labkit.classroom.walls import LEVELS, NAMESPACE, PROCESS, USER, IsolationUnavailable, Walls
from labkit.classroom.warm_kernels import WarmKernels
from labkit.errors import UsageError
from labkit.faults.nursery import CAN_FORK, Nursery, NurseryDied
from labkit.material import own_exercises

__all__ = ["LEVELS", "Box", "IsolationUnavailable", "promises", "strongest", "why_not"]

PROMISES = {
    PROCESS: "answers ran as the grader's own user, each in a process with limits on memory, time, files and new processes: "
    "they could read what the grader may read, and what tampers with the process it runs in is noticed, not prevented",
    USER: "answers ran as a user of their own who owns nothing but a temporary folder: they could change no file and signal no process of the grader's, "
    "but read what everybody on this machine may read",
    NAMESPACE: "answers ran in namespaces of their own: no other submission, test, solution or file of the grader's was visible, nothing but a "
    "temporary folder could be written to, there was no network and no other process; what shares the memory of the answer could still be looked at",
}


def promises(level: str) -> str:
    """What a level is worth, in one sentence for the report."""
    return PROMISES[level]


@cache
def strongest() -> str:
    """The highest level that this machine gives us."""
    return next(level for level in reversed(LEVELS) if not why_not(level))


@cache
def why_not(level: str) -> str:
    """Why a level cannot be had here; "" where it can. Found out by going in, in a process that is spent on it."""
    if level == PROCESS:
        return ""
    if not CAN_FORK:
        return "this system has no fork"
    if level == USER:
        return "" if os.getuid() == 0 else "only root can run answers as another user"
    if sys.platform != "linux":
        return "namespaces are Linux's"
    if not rights.known_machine():
        return f"new processes cannot be refused on a {os.uname().machine}"
    with Walls(level, 0, ()) as walls:
        return walls.probe()


class Box:
    """`Box(level)`, "" for the strongest there is; `private` are folders that nobody inside may see, wherever they lie. Close it, or use it in a `with`."""

    def __init__(self, level: str = "", *, private: Sequence[Path] = ()) -> None:
        self.level = level or strongest()
        if self.level not in LEVELS:
            raise UsageError(f"there is no isolation {level!r}; there are {', '.join(LEVELS)}")
        if why := why_not(self.level):
            raise IsolationUnavailable(f"isolation {self.level} cannot be had here: {why}; ask for another one, or run where it can")
        self.private = tuple(private)
        self._mine, self._all, self._mutex = threading.local(), list[Walls](), threading.Lock()
        self.stopped, self.lifeline = False, Lifeline()
        self._kernels = WarmKernels(self.lifeline)

    @property
    def walls(self) -> Walls:
        """Those of this thread."""
        if not hasattr(self._mine, "walls"):
            with self._mutex:
                if self.stopped:
                    raise NurseryDied("the box was stopped")
                self._mine.walls = Walls(self.level, len(self._all), self.private)
                self._all.append(self._mine.walls)
        found: Walls = self._mine.walls
        return found

    @property
    def nursery(self) -> Nursery:
        """The warm parent inside."""
        return self.walls.nursery

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """A clean folder for programs run by `wrap`."""
        with self.walls.folder() as made:
            yield made

    def wrap(self, command: Sequence[str]) -> list[str]:
        """The command that runs this one in the box, in the folder that this thread asked for last."""
        return self.walls.wrap(command)

    @contextmanager
    def kernels(self, environment: Mapping[str, str]) -> Iterator[socket.socket | None]:
        """A parent of kernels in the box, in the folder that this thread asked for last, by the wire to it; None where it could not be sent there."""
        with self._kernels.sent(self.walls.how(), environment) as wire:
            yield wire

    @property
    def environment(self) -> dict[str, str]:
        """What a program in the box has for an environment."""
        home = str(self.walls.here[-1]) if self.walls.here else "."
        path = os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"])
        return {"PATH": path, "LANG": "C.UTF-8", "HOME": home, "TMPDIR": home, **own_exercises()}

    def stop(self) -> None:
        """End at once all that runs inside, whoever waits for it, and run nothing more. From any thread; `close` it when nobody uses it any more."""
        with self._mutex:
            self.stopped = True
            self.lifeline.cut()
            self._kernels.stop()
            for walls in self._all:
                walls.nursery.stop()

    def close(self) -> None:
        """End all that is left inside, and remove it."""
        with self._mutex:
            for walls in self._all:
                with suppress(OSError):
                    walls.__exit__()
            self._all.clear()
        self._kernels.close()
        self.lifeline.close()
        self._mine = threading.local()

    def __enter__(self) -> Box:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Box {self.level}>"
