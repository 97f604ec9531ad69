"""The warm parent of all kernels of one call, as it is seen from outside of the box.

It is started in the box, and anew where the answers have ended it. Every call comes back in bounded time. What it says is a hint about which
kernel has ended, and no more is believed: no process is ever signalled by a number that came from inside.

Not handled here: talking to a kernel (see `kernel`), what happens inside (see `kernel_parent`), and systems without fork.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

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

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
        self._command, self._environment, self.folder = list(command), dict(environment), folder
        self._process: subprocess.Popen[bytes] | None = None
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
        if self._process is None:
            self._said, self._ready = b"", False
            self._process = subprocess.Popen(
                self._command,
                env=self._environment,
                cwd=self.folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                start_new_session=True,
            )

    def _wait_until_ready(self) -> None:
        give_up = CLOCK.monotonic() + START
        while not self._ready:
            left = give_up - CLOCK.monotonic()
            if self._process is None or left <= 0:
                self.close()
                raise NoKernel(f"the parent of the kernels does not start: {self._complaint()}")
            if select.select([self.descriptor], [], [], left)[0]:
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
        return self._process.stdout.fileno() if self._process is not None and self._process.stdout is not None else -1

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
        if self._process is None or self._process.stdin is None:
            return
        try:
            self._process.stdin.write(json.dumps({"what": what, "number": number, **more}).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            self.close()

    def interrupt(self, number: int) -> None:
        self._ask("interrupt", number)

    def kill(self, number: int) -> None:
        self._ask("kill", number)
        self._running.discard(number)

    def close(self) -> None:
        """End the parent and what it started."""
        process, self._process = self._process, None
        self._running.clear()
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(OSError):
            process.stdin.close()
        _until_it_hangs_up(process.stdout.fileno())
        # subtle: what is left goes by the group that we made, never by a number that was told from inside, and before that number is free again
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()


def _until_it_hangs_up(descriptor: int) -> None:
    """Wait for the end of what somebody says, but not for ever."""
    give_up = CLOCK.monotonic() + LEAVE
    while (left := give_up - CLOCK.monotonic()) > 0:
        if select.select([descriptor], [], [], left)[0] and not os.read(descriptor, LONGEST_LINE):
            return
