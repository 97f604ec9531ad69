"""The gate between a process and the world: every call out passes here twice, and here faults strike.

`Gate.cross` records "before", does the act, records "after". A fault of the schedule that sits on one of the two is carried out: the process dies, the
caller gets an error, the answer is lost, time passes. Once a process is dead every further crossing raises `Crash` again and does nothing, so that no
`finally`, no `except BaseException` and no leaked thread of it reaches the world.

Not handled here: what exception a caller sees (see `fault.RAISES`), and what a connection does at its process's death (see `sql_gate`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Protocol, TypeVar

from labkit.clock import VirtualClock
from labkit.errors import UsageError
from labkit.faults.fault import Crash, Fault, exception_for
from labkit.faults.schedule import Injection, fingerprint
from labkit.faults.trace import Line

T = TypeVar("T")

MOST_CROSSINGS = 1_000  # a process that calls out more often than this never ends
MOST_SWALLOWED = 50  # crossings after death before we stop asking


class Stage(Protocol):
    """What the gate asks of whoever lets the actors move (see `baton`)."""

    def turn(self) -> None:
        """Another actor may move now."""

    def sleep(self, seconds: float) -> None:
        """Virtual time passes for this actor."""

    def leave(self, how: str) -> NoReturn:
        """This actor moves no more, whatever its code thinks: "hung" or "endless"."""


class Alone:
    """The stage of a process that has the world to itself."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock

    def turn(self) -> None:
        return None

    def sleep(self, seconds: float) -> None:
        self.clock.sleep(seconds)

    def leave(self, how: str) -> NoReturn:
        raise Crash(how)


class Gate:
    """The way out of one process. `process` is its name (p1), `faults` are those of the schedule that sit in this process.

    `lines` is the record; it is shared by all processes of a run. `later` takes (seconds, act) and lets the act happen then, without its caller.
    `die` is what a crash does: the default raises `Crash`, the kill engine's sends a real SIGKILL.
    """

    def __init__(
        self,
        process: str,
        faults: Sequence[Injection],
        lines: list[Line],
        clock: VirtualClock,
        stage: Stage,
        *,
        later: Callable[[float, Callable[[], object]], None],
        die: Callable[[], None] = lambda: None,
    ) -> None:
        self.process, self.lines, self.clock, self.stage = process, lines, clock, stage
        self.faults = {(i.boundary, i.number, i.side): i for i in faults}
        self.later, self._die = later, die
        self.dead = False
        self.swallowed = 0
        self.count = 0
        self.counts: dict[str, int] = {}
        self.struck: list[Injection] = []  # faults that happened
        self.moved: list[Injection] = []  # faults that struck, but something else stood there than when they were found
        self.at_death: list[Callable[[], None]] = []  # what the operating system closes for a dead process

    def cross(self, boundary: str, label: str, act: Callable[[], T], *, driver: str = "", torn: Callable[[int], Any] | None = None) -> T:
        """Do `act` across `boundary`, striking the faults that sit on either side. Returns what `act` returns.

        `driver` chooses the exceptions (sqlite, postgres; default the boundary itself), `torn(n)` writes only n bytes where that makes sense.
        """
        self._alive()
        self.stage.turn()
        self._alive()
        self.count += 1
        number = self.count
        self.counts[boundary] = self.counts.get(boundary, 0) + 1
        place = (number, boundary, self.counts[boundary], label)
        if number > MOST_CROSSINGS:
            self.stop("endless")
        fault = self._strike(place, "before")
        if fault is not None:
            self._before(fault, place, act, driver or boundary, torn)
        answer = act()
        fault = self._strike(place, "after")
        if fault is not None:
            self._after(fault, place, driver or boundary)
        return answer

    def tell(self, kind: str, label: str, text: str = "") -> None:
        """Write a line that is no crossing into the record."""
        self.lines.append(Line(kind, self.process, self.clock.elapsed, self.count, label=label, text=text))

    def _alive(self) -> None:
        if self.dead:
            self.swallowed += 1
            if self.swallowed > MOST_SWALLOWED:
                self.stage.leave("endless")
            raise Crash(f"{self.process} is dead")

    def _strike(self, place: tuple[int, str, int, str], side: str) -> Fault | None:
        """Record one side of a crossing, with the fault that sits there."""
        number, boundary, nth, label = place
        found = self.faults.get(("", number, side)) or self.faults.get((boundary, nth, side)) if self.faults else None
        fault = found.fault if found else None
        self.lines.append(Line("cross", self.process, self.clock.elapsed, number, side, boundary, label, str(fault) if fault else ""))
        if found is not None:
            self.struck.append(found)
            if found.stood_there and found.stood_there != fingerprint(boundary, label):
                self.moved.append(found)
        return fault

    def _before(
        self, fault: Fault, place: tuple[int, str, int, str], act: Callable[[], Any], driver: str, torn: Callable[[int], Any] | None
    ) -> None:
        seconds = fault.amount or 0.0
        match fault.kind:
            case "late":
                self.later(seconds, act)
            case "duplicate":
                act()  # delivered once here, and once more by the caller
                return
            case "hang":
                self.stop("hung")
            case "torn":
                if torn is None:
                    raise UsageError(f"torn cannot sit on a crossing of the boundary {place[1]!r}: only a file can be torn")
                torn(int(seconds))
                self.die()
        self._either(fault, place, driver)

    def _after(self, fault: Fault, place: tuple[int, str, int, str], driver: str) -> None:
        self._either(fault, place, driver)

    def _either(self, fault: Fault, place: tuple[int, str, int, str], driver: str) -> None:
        """What a fault does on either side."""
        match fault.kind:
            case "crash":
                self.die()
            case "interrupt":
                raise KeyboardInterrupt
            case "error" | "timeout" | "late":
                raise exception_for(driver, fault, place[3], place[0])
            case "delay" | "pause":
                self.stage.sleep(fault.amount or 0.0)
            case "clock_step":
                self.clock.jump(fault.amount or 0.0)

    def die(self) -> NoReturn:
        """The process is gone: everything that the operating system would close is closed, and nothing else happens."""
        self._die()
        self.close()
        raise Crash(f"{self.process} died")

    def close(self) -> None:
        """Let the process's end free what it held; from now on it is dead to the world."""
        self.dead = True
        for close in reversed(self.at_death):
            close()
        self.at_death.clear()

    def stop(self, how: str) -> NoReturn:
        """The process will never get further than this: take it off the stage."""
        self.close()
        self.stage.leave(how)
