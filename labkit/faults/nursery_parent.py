"""The other side of a nursery: the warm parent that forks, and the child that does one job.

The parent has one thread and no connections. It hears two things: a job on its wire, for which it forks a child and tells its process id, and the end of a
child, which it reaps and tells. When the wire is closed it kills its children and leaves. A child leaves without any of the parent's clean-up.

Not handled here: the caller's side (see `nursery`).
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
import sys
import traceback
from collections.abc import Sequence
from typing import Any


def serve(wire: socket.socket) -> None:
    """Fork a child for each job that arrives, until the other side hangs up."""
    heard, ring = os.pipe()
    os.set_blocking(heard, False)
    os.set_blocking(ring, False)
    signal.set_wakeup_fd(ring, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    gc.collect()
    gc.freeze()  # subtle: a collection in a child would touch, and so copy, every page that it shares with us
    children: set[int] = set()
    with contextlib.suppress(ConnectionError):
        while True:
            ready, _, _ = select.select([wire.fileno(), heard], [], [])
            if heard in ready:
                os.read(heard, 1 << 12)
                _reap(wire, children)
            if wire.fileno() in ready and not _take_job(wire, children):
                break
    for child in children:
        _kill_group(child)


def _take_job(wire: socket.socket, children: set[int]) -> bool:
    head, fds, _, _ = socket.recv_fds(wire, 8, 1)
    if len(head) < 8:
        return False
    job = _receive(wire, int.from_bytes(head, "big"))
    pid = os.fork()
    if pid == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        wire.close()
        os.setsid()
        do(job, fds[0])
    os.close(fds[0])
    children.add(pid)
    _tell(wire, {"pid": pid})
    return True


def _receive(wire: socket.socket, length: int) -> bytes:
    parts = b""
    while len(parts) < length and (part := wire.recv(min(1 << 16, length - len(parts)))):
        parts += part
    return parts


def _reap(wire: socket.socket, children: set[int]) -> None:
    for child in list(children):
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            children.remove(child)
            _kill_group(child)  # what it had started
            _tell(wire, {"pid": child, "exit": os.waitstatus_to_exitcode(status)})


def _kill_group(child: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)


def _tell(wire: socket.socket, answer: dict[str, int]) -> None:
    wire.sendall(json.dumps(answer).encode() + b"\n")


def do(job: bytes, pipe: int) -> None:
    """The child: do the job, report, and leave."""
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
        _named(asked["target"])(report, **asked["arguments"])
    except BrokenPipeError:
        os._exit(1)
    except BaseException:
        with contextlib.suppress(BrokenPipeError):
            report({"failed": traceback.format_exc()[-4000:]})
        os._exit(1)
    os._exit(0)


def _named(target: str) -> Any:
    module, _, name = target.partition(":")
    found: Any = importlib.import_module(module)
    return getattr(found, name) if name else lambda: None


def main(arguments: Sequence[str]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever asked, who then hangs up
    if arguments[0] == "--once":
        do(sys.stdin.buffer.read(), os.dup(1))
    for target in arguments[1:]:
        _named(target)()
    serve(socket.socket(fileno=int(arguments[0])))
