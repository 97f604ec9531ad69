"""A parent of kernels for each learner without a start of Python: forked from one that is warm, before it goes into the box.

The warm one lives outside of all boxes, and no answer ever meets it. What it forks goes into the box of one learner, serves that learner's kernels over a
wire, and is killed, with all that it has started, when they are done.

Not handled here: the kernels (see `kernel_parent`), and a parent that the answers have killed (see `kernels`).
"""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from labkit.classroom.lifeline import Lifeline
from labkit.faults.folder import own_folder
from labkit.faults.nursery import Nursery

SECONDS = 30.0  # for a fork to come to the door
FIRST_FREE = 3


class WarmKernels:
    """Sends parents of kernels into boxes, until the lifeline is cut. Close it."""

    def __init__(self, lifeline: Lifeline) -> None:
        self._lifeline = lifeline
        self._nursery = Nursery(["labkit.classroom.warm_kernels:load"])

    @contextmanager
    def sent(self, how: Mapping[str, Any], environment: Mapping[str, str]) -> Iterator[socket.socket | None]:
        """A parent that has gone into a box as `entrance.go_in` is told `how`, by the wire to it; None where it did not come to the door."""
        with own_folder() as folder, socket.socket(socket.AF_UNIX) as door:
            place = str(folder / "door")
            door.bind(place)
            door.listen(1)
            child = self._nursery.start("labkit.classroom.warm_kernels:go", door=place, how=dict(how), environment=dict(environment))
            wire = self._come(door)
            try:
                yield wire
            finally:
                if wire is not None:
                    wire.close()
                child.kill()
                child.wait()

    def _come(self, door: socket.socket) -> socket.socket | None:
        ready, _, _ = select.select([door.fileno(), self._lifeline.end], [], [], SECONDS)
        return door.accept()[0] if door.fileno() in ready else None

    def stop(self) -> None:
        """End at once whatever was sent, from any thread."""
        self._nursery.stop()

    def close(self) -> None:
        self._nursery.close()


def load() -> None:
    """In the warm parent: have everything ready."""
    from labkit.checks import registry
    from labkit.classroom import kernel_parent

    kernel_parent.load([exercise.preload for exercise in registry.every() if exercise.preload])


def go(report: object, *, door: str, how: dict[str, Any], environment: dict[str, str]) -> None:
    """In the fork: take up the wire, go into the box and serve kernels until the other side hangs up."""
    from labkit.classroom import entrance, kernel_parent

    wire = socket.socket(socket.AF_UNIX)
    wire.connect(door)
    for standard in (0, 1):
        os.dup2(wire.fileno(), standard)
    wire.close()
    os.closerange(FIRST_FREE, os.sysconf("SC_OPEN_MAX"))  # of the grader nothing is left but this wire
    entrance.set_environment(environment)
    os._exit(entrance.go_in(kernel_parent.Kernels().serve, **how))
