"""One child that does a job: what it reports, for how long one listens, and how it ended.

It speaks in JSON lines over a pipe and may be killed at any time: what it reported before is there, and its exit is told truthfully. Silence is measured in the
time that a machine gives the child: one that wants to go on and is given no processor is not silent.

Not handled here: where children come from (see `nursery`).
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

from labkit.clock import SystemClock
from labkit.faults.pipe import SelectedPipe, ThreadedPipe

SIGKILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # elsewhere SIGTERM ends a process just as hard
SIGXCPU = getattr(signal, "SIGXCPU", 24)  # ends a process that has used up its processor time
PATIENT = 3  # times the seconds of a stall for a child that is given no processor
LONGEST = 1 << 26  # bytes of one report


class Overtime(TimeoutError):
    """A child that spoke all the time had its time. That says nothing about it: the machine may be busy."""


class Child:
    """A running job. Iterate over `reports(...)`, then ask `wait()`: a negative number is the signal that ended it."""

    def __init__(self, pid: int, pipe: SelectedPipe | ThreadedPipe, reap: Callable[[], int], seal: str = "") -> None:
        self.pid, self._pipe, self._reap, self._seal = pid, pipe, reap, seal
        self._heard = 0
        self.exit_status: int | None = None

    def reports(self, stall: float, total: float) -> Iterator[dict[str, Any]]:
        """Yield what the child reports until it ends.

        Raises `TimeoutError` after `stall` real seconds of silence, `Overtime` after `total` in all, `ValueError` for what is no JSON of a report.
        """
        clock = SystemClock()
        give_up = clock.monotonic() + total
        begun: list[bytes] = []  # parts of a line that is not at its end
        while True:
            left = give_up - clock.monotonic()
            part = self._wait(stall, left)
            if part is None:
                late = clock.monotonic() >= give_up
                raise Overtime("the child had its time") if late else TimeoutError("the child is silent")
            if not part:
                return
            *whole, rest = part.split(b"\n")
            for line in whole:
                yield _read(self._unsealed(b"".join([*begun, line])))
                begun.clear()
            begun.append(rest)
            if sum(map(len, begun)) > LONGEST:
                raise ValueError("a line without an end")

    def _unsealed(self, line: bytes) -> bytes:
        """What a line says. Raises `ValueError` where it is not the next one of whoever was given the seal."""
        seal = f"{self._seal}{self._heard} ".encode() if self._seal else b""
        if not line.startswith(seal):
            raise ValueError("a line without its seal")
        self._heard += 1
        return line[len(seal) :]

    def _wait(self, stall: float, left: float) -> bytes | None:
        """The next part, None after `stall` seconds or `left`. A child that wants to go on and is given no processor is not silent: it has thrice the time."""
        half, before = stall / 2, None
        for number in range(2 * PATIENT):
            if number >= 2 and not starved(before, processor_time(self.pid), half):
                return None
            before = processor_time(self.pid) if number else None
            part = self._pipe.read(min(half, left)) if left > 0 else None
            if part is not None:
                return part
            left -= half
        return None

    def kill(self) -> None:
        """SIGKILL to the child and whatever it started."""
        if self.exit_status is not None:
            return
        for kill in (getattr(os, "killpg", os.kill), os.kill):  # before its first step a child has no group of its own
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(self.pid, SIGKILL)

    def wait(self) -> int:
        """The exit status, once the child has ended."""
        if self.exit_status is None:
            status = self._reap()
            self.exit_status = -SIGKILL if os.name == "nt" and status == SIGKILL else status
        self._pipe.close()
        return self.exit_status

    def __repr__(self) -> str:
        return f"<Child {self.pid} {'running' if self.exit_status is None else self.exit_status}>"


def processor_time(pid: int) -> tuple[str, float] | None:
    """The state of a process and the seconds of processor time that it has had, where the system tells (Linux)."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            told = file.read().rpartition(b")")[2].split()
        return told[0].decode(), (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return None


def starved(before: tuple[str, float] | None, now: tuple[str, float] | None, seconds: float) -> bool:
    """Whether a process that is ready to run has had less than half of the processor for so long."""
    return before is not None and now is not None and now[0] in "RD" and now[1] - before[1] < seconds / 2


def _read(line: bytes) -> Any:
    """One report, whatever JSON it is. Raises `ValueError`, and nothing else, for what is none."""
    try:
        return json.loads(line)
    except RecursionError:
        raise ValueError("a line that is nested too deeply") from None
