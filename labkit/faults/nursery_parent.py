"""The other side of a nursery: the warm parent that forks, and the children that do jobs.

The parent has one thread and no connections. It keeps a child in reserve, so that a job finds one that is ready, hands it the job with the pipe to report
through, and forks the next one meanwhile. It reaps what has ended and tells its caller. When its wire is closed it kills its children and leaves; when the
parent is killed its children see that and leave too. A child leaves without any of the parent's clean-up. With `--reuse` a child whose job has
ended well does another one. With an entrance (see `Nursery`) the parent goes in after all that it loads, and each child settles there before its job.

Not handled here: the caller's side (see `nursery`).
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import itertools
import json
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any


class Parent:
    """The children by process id, each with a wire of its own. Those that wait for a job: `fresh` ones had none yet, `veterans` did well."""

    def __init__(self, wire: socket.socket, *, reuse: bool = False, settle: Callable[[], object] | None = None) -> None:
        self.wire, self.reuse, self.settle = wire, reuse, settle
        self.children: dict[int, socket.socket] = {}
        self.fresh: list[int] = []
        self.veterans: list[int] = []
        self.lost: set[int] = set()  # killed while they waited

    def serve(self) -> None:
        """Hand out jobs until the other side hangs up."""
        heard = _bell()
        gc.collect()
        gc.freeze()  # subtle: a collection in a child would touch, and so copy, every page that it shares with us
        with contextlib.suppress(ConnectionError):
            while True:
                if not self.fresh:
                    self._fork()
                busy = {self.children[pid].fileno(): pid for pid in self._busy()} if self.reuse else {}
                ready, _, _ = select.select([self.wire.fileno(), heard, *busy], [], [])
                for wire in busy.keys() & set(ready):
                    self._hear(busy[wire])
                if heard in ready:
                    os.read(heard, 1 << 12)
                    self._reap()
                if self.wire.fileno() in ready and not self._take_job():
                    break
        for child in self.children:
            _kill_group(child)

    def _busy(self) -> set[int]:
        return self.children.keys() - {*self.fresh, *self.veterans} - self.lost

    def _take_job(self) -> bool:
        head, fds, _, _ = socket.recv_fds(self.wire, 9, 1)
        if len(head) < 9:
            return False
        job = _receive(self.wire, int.from_bytes(head[:8], "big"))
        while True:
            if not self.fresh:
                self._fork(fds[0])
            doomed = head[8] == 1  # no use to spend a veteran on it
            pid = self.veterans.pop() if self.veterans and not doomed else self.fresh.pop()
            try:
                socket.send_fds(self.children[pid], [head], fds)
                self.children[pid].sendall(job)
                break
            except ConnectionError:
                self.lost.add(pid)
        os.close(fds[0])
        self._tell({"pid": pid})
        return True

    def _fork(self, *not_for_it: int) -> None:
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for wire in (self.wire, ours, *self.children.values()):
                wire.close()
            for descriptor in not_for_it:  # subtle: a pipe that it kept open would never come to its end
                os.close(descriptor)
            os.setsid()
            live(theirs, reuse=self.reuse, settle=self.settle)
        theirs.close()
        self.children[pid] = ours
        self.fresh.append(pid)

    def _hear(self, pid: int) -> None:
        """A child's job has ended and it is free again; or it has died, which the bell tells."""
        with contextlib.suppress(ConnectionError):
            if self.children[pid].recv(1):
                self.veterans.append(pid)
                self._tell({"pid": pid, "exit": 0})
                return
        self._reap()

    def _reap(self) -> None:
        for child in list(self.children):
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                _kill_group(child)  # what it had started
                if child in self._busy():
                    self._tell({"pid": child, "exit": os.waitstatus_to_exitcode(status)})
                self.children.pop(child).close()
                self.fresh = [one for one in self.fresh if one != child]
                self.veterans = [one for one in self.veterans if one != child]
                self.lost.discard(child)

    def _tell(self, answer: dict[str, int]) -> None:
        self.wire.sendall(json.dumps(answer).encode() + b"\n")


def _bell() -> int:
    """A descriptor that can be read when a child has ended."""
    heard, ring = os.pipe()
    os.set_blocking(heard, False)
    os.set_blocking(ring, False)
    signal.set_wakeup_fd(ring, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    return heard


def _receive(wire: socket.socket, length: int) -> bytes:
    parts = b""
    while len(parts) < length and (part := wire.recv(min(1 << 16, length - len(parts)))):
        parts += part
    return parts


def _kill_group(child: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)


def live(wire: socket.socket, *, reuse: bool, settle: Callable[[], object] | None = None) -> None:
    """A child: wait for a job, settle, do it, and leave or wait for another."""
    while True:
        head, fds, _, _ = socket.recv_fds(wire, 9, 1)
        if len(head) < 9:
            os._exit(0)
        job = _receive(wire, int.from_bytes(head[:8], "big"))
        if settle is not None:
            settle()
        status = do(job, fds[0])
        if status or not reuse:
            os._exit(status)
        os.close(fds[0])
        wire.sendall(b"+")


def do(job: bytes, pipe: int) -> int:
    """Do a job and report. Returns the exit status."""
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        if standard != pipe:
            os.dup2(null, standard)
    os.close(null)

    asked = json.loads(job)
    seals = (f"{asked['seal']}{number} " for number in itertools.count()) if asked["seal"] else itertools.repeat("")

    def report(data: dict[str, Any]) -> None:
        rest = memoryview(f"{next(seals)}{json.dumps(data)}\n".encode())
        while rest:
            rest = rest[os.write(pipe, rest) :]

    try:
        _named(asked["target"])(report, **asked["arguments"])
    except BrokenPipeError:
        return 1
    except BaseException:
        with contextlib.suppress(BrokenPipeError):
            report({"failed": traceback.format_exc()[-4000:]})
        return 1
    return 0


def _named(target: str) -> Any:
    module, _, name = target.partition(":")
    found: Any = importlib.import_module(module)
    return getattr(found, name) if name else lambda: None


def main(arguments: Sequence[str]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever asked, who then hangs up
    if arguments[0] == "--once":
        os._exit(do(sys.stdin.buffer.read(), os.dup(1)))
    wire, kind, entrance, *preload = arguments
    for target in preload:
        _named(target)()
    where, how = json.loads(entrance)
    settle = _named(where)(**how) if where else None
    Parent(socket.socket(fileno=int(wire)), reuse=kind == "--reuse", settle=settle).serve()


if __name__ == "__main__":
    main(sys.argv[1:])
