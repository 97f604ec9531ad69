"""Real processes, quickly: a warm parent that has everything imported forks a child for each job.

The parent is a process of its own without threads and without connections, so that a fork of it is sound; it is not the notebook's kernel and not the test
runner. A child reports in JSON lines over a pipe and may be killed at any time: what it reported before is there, its exit is told truthfully, and what it
had started dies with it. The parent leaves when its caller does, children and all. Where there is no fork, each job gets a new interpreter, which
is slower and otherwise the same.

Not handled here: one child (see `child`), what a child and its parent do (see `nursery_parent`), and limits on what a child may use (see `checks.host`).
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import labkit
from labkit.errors import LabkitError
from labkit.faults import nursery_parent
from labkit.faults.child import Child
from labkit.faults.pipe import SelectedPipe, ThreadedPipe
from labkit.ids import random_ids

Report = Callable[[dict[str, Any]], None]
Entrance = tuple[str, dict[str, Any]]
Room = Callable[[str], AbstractContextManager[tuple[str, Path]]]
_new_seal = random_ids()
CAN_FORK = hasattr(os, "fork") and hasattr(socket, "send_fds")
# subtle: by its path and without its folder, so that a child loads what its job needs and no more
PROGRAM = [sys.executable, "-P", nursery_parent.__file__]
HASH_SEED = "4714"  # a set has the same order wherever an answer is run: one in which no parts of a deployment come right by chance


class NurseryDied(LabkitError):
    """The parent of the children was ended from outside."""


class Nursery:
    """Starts jobs `module:function`, called as function(report, **arguments) in a child of its own.

    `preload` are modules, or functions `module:function`, that the parent imports and calls before the first job. With `reuse` a child whose job
    has ended well does another one: faster, for jobs that leave nothing behind.

    An `entrance` is (module:function, arguments): the parent calls it when all is loaded, to go where its children are to live (see the box of the
    grader), and what it returns is called in each child before its job. With `sealed` a line on a child's pipe counts only if the job itself reported it: each
    begins with a word that is told to nobody else. `room` says where the worlds of the jobs are, as `checks.run.room` does; None: anywhere.
    """

    def __init__(
        self, preload: Sequence[str] = (), *, reuse: bool = False, entrance: Entrance = ("", {}), sealed: bool = False, room: Room | None = None
    ) -> None:
        self.preload, self.reuse, self.entrance, self.sealed, self.room = tuple(preload), reuse, entrance, sealed, room
        self._parent: subprocess.Popen[bytes] | Lent | None = None
        self._wire: socket.socket | None = None
        self._answers: Any = None
        self._exits: dict[int, int] = {}
        self._mutex = threading.RLock()
        self._stopped = False

    def start(self, target: str, *, doomed: bool = False, **arguments: Any) -> Child:
        """Start a job. The arguments must be plain data. A `doomed` one will not end well, so no child that could be used again is spent on it."""
        seal = _new_seal() if self.sealed else ""
        job = json.dumps({"target": target, "arguments": arguments, "seal": seal}).encode()
        with self._mutex:
            return self._fork(job, seal, doomed) if CAN_FORK else self._spawn(job, seal)

    def _fork(self, job: bytes, seal: str, doomed: bool) -> Child:
        wire = self._ready()
        read_end, write_end = os.pipe()
        try:
            socket.send_fds(wire, [len(job).to_bytes(8, "big") + bytes([doomed])], [write_end])
            wire.sendall(job)
            while "exit" in (answer := self._answer()):
                self._exits[answer["pid"]] = answer["exit"]
        except BaseException as error:
            os.close(read_end)
            if isinstance(error, OSError):
                raise NurseryDied from error
            raise
        finally:
            os.close(write_end)
        return Child(answer["pid"], SelectedPipe(read_end), lambda: self._exit_of(answer["pid"]), seal)

    def _answer(self) -> dict[str, Any]:
        line = self._answers.readline()
        if not line:
            raise NurseryDied
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _exit_of(self, pid: int) -> int:
        with self._mutex:
            while pid not in self._exits:
                answer = self._answer()
                self._exits[answer["pid"]] = answer["exit"]
            return self._exits.pop(pid)

    def _spawn(self, job: bytes, seal: str) -> Child:
        if self.entrance[0]:
            raise NurseryDied("without fork there is no parent that could go in somewhere")
        started = subprocess.Popen(
            [*PROGRAM, "--once"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(),
            start_new_session=True,
        )
        assert started.stdin is not None
        assert started.stdout is not None
        with contextlib.suppress(BrokenPipeError), started.stdin:
            started.stdin.write(job)
        return Child(started.pid, ThreadedPipe(started.stdout), started.wait, seal)

    def _ready(self) -> socket.socket:
        if self._stopped:
            raise NurseryDied("it was stopped")
        if self._wire is None or self._parent is None or self._parent.poll() is not None:
            self.close()
            ours, theirs = socket.socketpair()
            with theirs:
                fd = theirs.fileno()
                command = [*PROGRAM, str(fd), "--reuse" if self.reuse else "--once-each", json.dumps(self.entrance), *self.preload]
                self._parent = subprocess.Popen(
                    command, pass_fds=[fd], stdin=subprocess.DEVNULL, env=environment(), start_new_session=True
                )
            self._wire, self._answers = ours, ours.makefile("rb")
            atexit.register(self.close)
            if self._stopped:  # subtle: whoever stops it has not seen this wire, or hangs up as well
                _hang_up(ours)
        return self._wire

    def adopt(self, wire: socket.socket) -> None:
        """Use a parent that somebody else has started, and that sits at the other end of this wire."""
        with self._mutex:
            self.close()
            self._wire, self._answers, self._parent = wire, wire.makefile("rb"), Lent(wire)
            atexit.register(self.close)

    def warm(self) -> None:
        """Start the parent now, so that the first job finds it ready."""
        if CAN_FORK:
            with self._mutex:
                self._ready()

    def stop(self) -> None:
        """End all children at once, whoever waits for them, and start no more: each caller gets `NurseryDied`. From any thread; `close` it afterwards."""
        self._stopped = True
        wire = self._wire  # subtle: without the lock, which is held by whoever waits
        if wire is not None:
            _hang_up(wire)

    def close(self) -> None:
        """End the parent, and whatever child is still running."""
        with self._mutex:
            atexit.unregister(self.close)
            if self._wire is not None:
                self._answers.close()
                self._wire.close()
            if self._parent is not None:
                self._parent.wait()
            self._wire = self._parent = self._answers = None
            self._exits.clear()


def _hang_up(wire: socket.socket) -> None:
    with contextlib.suppress(OSError):
        wire.shutdown(socket.SHUT_RDWR)


class Lent:
    """A parent that is no process of ours: it lives as long as its wire does."""

    def __init__(self, wire: socket.socket) -> None:
        self._wire = wire

    def poll(self) -> int | None:
        with contextlib.suppress(OSError):
            if not select.select([self._wire], [], [], 0)[0] or self._wire.recv(1, socket.MSG_PEEK):
                return None
        return 0

    def wait(self) -> int:
        return 0


def environment() -> dict[str, str]:
    """A child finds the modules that we find."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(module_path()), "PYTHONHASHSEED": HASH_SEED}


def module_path() -> list[str]:
    """Where a new Python finds what we find: the folders of `sys.path`, and that of labkit, which a checkout may have made known by an import hook alone."""
    ours = Path(labkit.__file__).resolve().parent.parent
    return list(dict.fromkeys([*(path or os.getcwd() for path in sys.path), str(ours)]))
