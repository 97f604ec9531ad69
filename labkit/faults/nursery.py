"""Real processes, quickly: a warm parent that has everything imported forks a child for each job.

The parent is a process of its own without threads and without connections, so that a fork of it is sound; it is not the notebook's kernel and not the test
runner. A child reports in JSON lines over a pipe and may be killed at any time: what it reported before is there, its exit is told truthfully. Where there is
no fork, each job gets a new interpreter, which is slower and otherwise the same.

Not handled here: limits on what a child may use (see `checks.host`).
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from labkit.clock import SystemClock

Report = Callable[[dict[str, Any]], None]
CAN_FORK = hasattr(os, "fork") and hasattr(socket, "send_fds")
PROGRAM = [sys.executable, "-c", "import sys; from labkit.faults.nursery import main; main(sys.argv[1:])"]
SIGKILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # elsewhere SIGTERM ends a process just as hard


class Child:
    """A running job. Iterate over `reports(...)`, then ask `exit_status`: a negative number is the signal that ended it."""

    def __init__(self, pid: int, pipe: int, reap: Callable[[float | None], int | None]) -> None:
        self.pid, self._pipe, self._reap = pid, pipe, reap
        self.exit_status: int | None = None
        self._rest = b""

    def reports(self, stall: float, total: float) -> Iterator[dict[str, Any]]:
        """Yield what the child reports until it ends. Raises `TimeoutError` after `stall` real seconds of silence or `total` in all."""
        clock = SystemClock()
        give_up = clock.monotonic() + total
        while True:
            *whole, self._rest = self._rest.split(b"\n")
            for line in whole:
                yield json.loads(line)
            patience = min(stall, give_up - clock.monotonic())
            if patience <= 0 or not select.select([self._pipe], [], [], patience)[0]:
                raise TimeoutError("the child is silent")
            part = os.read(self._pipe, 1 << 16)
            if not part:
                return
            self._rest += part

    def kill(self) -> None:
        """SIGKILL to the child and whatever it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, SIGKILL) if hasattr(os, "killpg") else os.kill(self.pid, SIGKILL)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(self.pid, SIGKILL)

    def wait(self) -> int:
        """The exit status, once the child has ended."""
        while self.exit_status is None:
            self.exit_status = self._reap(None)
        os.close(self._pipe) if self._pipe >= 0 else None
        self._pipe = -1
        return self.exit_status


class Nursery:
    """Starts jobs `module:function`, called as function(report, **arguments) in a child of its own. One at a time."""

    def __init__(self, preload: Sequence[str] = ()) -> None:
        self.preload = tuple(preload)
        self._parent: subprocess.Popen[bytes] | None = None
        self._wire: socket.socket | None = None

    def start(self, target: str, **arguments: Any) -> Child:
        """Start a job. The arguments must be plain data."""
        job = json.dumps({"target": target, "arguments": arguments}).encode()
        return self._fork(job) if CAN_FORK else self._spawn(job)

    def _fork(self, job: bytes) -> Child:
        wire = self._ready()
        read_end, write_end = os.pipe()
        try:
            socket.send_fds(wire, [len(job).to_bytes(8, "big")], [write_end])
            wire.sendall(job)
        finally:
            os.close(write_end)
        answers = wire.makefile("rb")
        pid = json.loads(answers.readline())["pid"]

        def reap(timeout: float | None) -> int | None:
            return int(json.loads(answers.readline())["exit"])

        return Child(pid, read_end, reap)

    def _spawn(self, job: bytes) -> Child:
        command = [*PROGRAM, "--once"]
        started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert started.stdin is not None and started.stdout is not None
        started.stdin.write(job)
        started.stdin.close()
        return Child(started.pid, os.dup(started.stdout.fileno()), started.wait)

    def _ready(self) -> socket.socket:
        if self._wire is None or self._parent is None or self._parent.poll() is not None:
            self.close()
            ours, theirs = socket.socketpair()
            command = [*PROGRAM, str(theirs.fileno()), *self.preload]
            self._parent = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, start_new_session=True)
            theirs.close()
            self._wire = ours
        return self._wire

    def warm(self) -> None:
        """Start the parent now, so that the first job finds it ready."""
        if CAN_FORK:
            self._ready()

    def close(self) -> None:
        if self._wire is not None:
            self._wire.close()
        if self._parent is not None:
            self._parent.wait()
        self._wire = self._parent = None


def _serve(wire: socket.socket) -> None:
    """The warm parent: fork a child for each job that arrives, until the other side hangs up."""
    while True:
        head, fds, _, _ = socket.recv_fds(wire, 8, 1)
        if len(head) < 8:
            return
        job = _receive(wire, int.from_bytes(head, "big"))
        gc.freeze()
        pid = os.fork()
        if pid == 0:
            wire.close()
            os.setsid()
            _do(job, fds[0])
        os.close(fds[0])
        wire.sendall(json.dumps({"pid": pid}).encode() + b"\n")
        _, status = os.waitpid(pid, 0)
        wire.sendall(json.dumps({"exit": os.waitstatus_to_exitcode(status)}).encode() + b"\n")


def _receive(wire: socket.socket, length: int) -> bytes:
    parts = b""
    while len(parts) < length and (part := wire.recv(min(1 << 16, length - len(parts)))):
        parts += part
    return parts


def _do(job: bytes, pipe: int) -> None:
    """The child: do the job, report, and leave without any of the parent's clean-up."""
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        if standard != pipe:
            os.dup2(null, standard)

    def report(data: dict[str, Any]) -> None:
        rest = memoryview(json.dumps(data).encode() + b"\n")
        while rest:
            rest = rest[os.write(pipe, rest) :]

    try:
        asked = json.loads(job)
        module, _, name = asked["target"].partition(":")
        getattr(importlib.import_module(module), name)(report, **asked["arguments"])
    except BrokenPipeError:
        os._exit(1)
    except BaseException:
        report({"failed": traceback.format_exc()[-4000:]})
        os._exit(1)
    os._exit(0)


def main(arguments: Sequence[str]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever asked, who then hangs up
    if arguments[0] == "--once":
        _do(sys.stdin.buffer.read(), os.dup(1))
    for module in arguments[1:]:
        importlib.import_module(module)
    _serve(socket.socket(fileno=int(arguments[0])))
