"""The warm parent of all kernels of one call, as it is seen from outside of the box.

It is started in the box, or has come there from one that was warm already (see `warm_kernels`), and is started anew where the answers have ended it. Every call
comes back in bounded time. What it says is a hint about which kernel has ended, and no more is believed: no process is ever signalled by a number that
came from inside.

Not handled here: talking to a kernel (see `kernel`), what happens inside (see `kernel_parent`), and systems without fork.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from labkit.clock import SystemClock
from labkit.errors import LabkitError
from labkit.ids import random_ids

START = 60.0  # seconds until a parent has loaded what it needs
LEAVE = 2.0  # seconds to end its kernels and leave
LONGEST_PATH = 100  # bytes that a socket in a folder may have for a name
LONGEST_LINE = 1 << 16
PORTS = ("shell", "iopub", "stdin", "control", "hb")
CLOCK = SystemClock()
_new_key = random_ids()


class NoKernel(LabkitError):
    """No kernel could be started."""


class Kernels:
    """The warm parent of all kernels of one call, started in the box; a new one where the answers have killed it."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], folder: Path, come: socket.socket | None = None) -> None:
        self._command, self._environment, self.folder = list(command), dict(environment), folder
        self._parent: _Started | _Come | None = _Come(come) if come is not None else None
        self._ours = come is None  # whether one was started by us
        self._running: set[int] = set()
        self._said = b""
        self._ready = False
        self._number = 0
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115  # it lives as long as we do

    def start(self, preload: Sequence[str]) -> tuple[int, dict[str, Any]]:
        """Start a kernel; returns its number and its address. Raises `NoKernel`."""
        self.warm()
        self._wait_until_ready()
        self._number += 1
        address = self._address(self._number)
        self._running.add(self._number)
        self._ask(
            "start",
            self._number,
            folder=str(self.folder / str(self._number)),
            connection=address,
            preload=list(preload),
        )
        return self._number, address

    def _address(self, number: int) -> dict[str, Any]:
        path = str(self.folder / f"{number}.socket")
        ports = {f"{name}_port": place for place, name in enumerate(PORTS, 1)}
        if len(os.fsencode(path)) + 2 > LONGEST_PATH:
            raise NoKernel(f"the folder {self.folder} has too long a name to hold a socket")
        return {"transport": "ipc", "ip": path, "key": _new_key(), "signature_scheme": "hmac-sha256", **ports}

    def warm(self) -> None:
        """Start the parent where there is none, without waiting for it."""
        if self._parent is None:
            self._said, self._ready, self._ours = b"", False, True
            self._parent = _Started(self._command, self._environment, self.folder, self._complaints)

    def _wait_until_ready(self) -> None:
        give_up = CLOCK.monotonic() + START
        while not self._ready:
            left = give_up - CLOCK.monotonic()
            if self._parent is None and not self._ours:
                self.warm()  # the one that was sent did not get in; ours can say why
            elif self._parent is None or left <= 0:
                self.close()
                raise NoKernel(f"the parent of the kernels does not start: {self._complaint()}")
            elif select.select([self.descriptor], [], [], left)[0]:
                self.hear()

    def _complaint(self) -> str:
        """The last line that the parent, or the way into the box, left."""
        self._complaints.seek(0)
        lines = self._complaints.read(LONGEST_LINE).decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it says nothing"

    @property
    def started(self) -> bool:
        """Whether there has been a kernel: then whatever goes wrong may be the answers' doing."""
        return self._number > 0

    @property
    def descriptor(self) -> int:
        """Can be read when there is something to `hear`; -1 where nobody speaks."""
        return self._parent.heard if self._parent is not None else -1

    def hear(self) -> None:
        """Take in what the parent says. One that says nonsense, or nothing any more, is given up, and its kernels with it."""
        part = os.read(self.descriptor, LONGEST_LINE)
        *lines, self._said = (self._said + part).split(b"\n")
        try:
            for line in lines:
                said = json.loads(line)
                self._ready = self._ready or said.get("ready") is True
                self._running.discard(said.get("ended"))
        except (ValueError, RecursionError, AttributeError, TypeError):
            part = b""
        if not part or len(self._said) > LONGEST_LINE:
            self.close()

    def runs(self, number: int) -> bool:
        return number in self._running

    def _ask(self, what: str, number: int, **more: Any) -> None:
        if self._parent is None:
            return
        try:
            self._parent.tell(json.dumps({"what": what, "number": number, **more}).encode() + b"\n")
        except OSError:
            self.close()

    def interrupt(self, number: int) -> None:
        self._ask("interrupt", number)

    def kill(self, number: int) -> None:
        self._ask("kill", number)
        self._running.discard(number)

    def close(self) -> None:
        """End the parent and what it started."""
        parent, self._parent = self._parent, None
        self._running.clear()
        if parent is not None:
            parent.close()


class _Started:
    """A parent that we have started by a command."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], folder: Path, complaints: IO[bytes]) -> None:
        # subtle: a group of its own, by which it ends with all that is left of it
        options: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": complaints, "start_new_session": True}
        self._process = subprocess.Popen(command, env=environment, cwd=folder, **options)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._asked, self._heard = self._process.stdin, self._process.stdout
        self.heard = self._heard.fileno()

    def tell(self, line: bytes) -> None:
        self._asked.write(line)
        self._asked.flush()

    def close(self) -> None:
        with suppress(OSError):
            self._asked.close()
        _until_it_hangs_up(self.heard)
        # subtle: by the group that we made, never by a number that was told from inside, and before that number is free again
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._heard.close()


class _Come:
    """A parent that was sent here; it is at the other end of this wire, and whoever sent it ends it for good."""

    def __init__(self, wire: socket.socket) -> None:
        self._wire, self.heard = wire, wire.fileno()

    def tell(self, line: bytes) -> None:
        self._wire.sendall(line)

    def close(self) -> None:
        with suppress(OSError):
            self._wire.shutdown(socket.SHUT_WR)
        _until_it_hangs_up(self.heard)
        self._wire.close()


def _until_it_hangs_up(descriptor: int) -> None:
    """Wait for the end of what somebody says, but not for ever."""
    give_up = CLOCK.monotonic() + LEAVE
    while (left := give_up - CLOCK.monotonic()) > 0:
        if select.select([descriptor], [], [], left)[0] and not os.read(descriptor, LONGEST_LINE):
            return
