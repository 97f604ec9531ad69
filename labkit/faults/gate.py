"""The gate between a process and the world: every call out passes here twice, and here faults strike.

`Gate.cross` records "before", does the act, records "after". A fault of the schedule that sits on one of the two is carried out: the process dies, the
caller gets an error, the answer is lost, time passes. Once a process is dead every further crossing raises `Crash` again and does nothing, so that no
`finally`, no `except BaseException` and no leaked thread of it reaches the world.

Not handled here: what exception a caller sees (see `fault.RAISES`), and what a connection does at its process's death (see `sql_gate`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar, cast

from labkit.clock import VirtualClock
from labkit.faults.fault import ANSWERS, UNASKED, Crash, Fault, exception_for, fits
from labkit.faults.record import Record
from labkit.faults.schedule import Injection, fingerprint
from labkit.faults.stage import Alone, Stage

__all__ = ["Alone", "Crossing", "Gate", "Stage"]

T = TypeVar("T")
Later = Callable[[float, Callable[[], object], str], None]  # (seconds, act, what it is)
Shape = Callable[[Fault, Any, str], Any]  # (fault, real answer or None, what it is) -> the answer that the fault makes of it; None: of this one it cannot

MOST_CROSSINGS = 1_000  # a process that calls out more often than this never ends
MOST_SWALLOWED = 50  # crossings after death before we stop asking


@dataclass(frozen=True, slots=True)
class Crossing:
    """A call on its way out. `driver` chooses the exceptions (sqlite, postgres; else the boundary), `torn(n)` does n bytes of it, `shape` spoils its answer."""

    number: int
    boundary: str
    nth: int  # among the calls over this boundary
    label: str
    driver: str
    act: Callable[[], Any]
    torn: Callable[[int], Any] | None
    shape: Shape | None


class Gate:
    """The way out of one process. `process` is its name (p1), `faults` are those of the schedule that sit in this process.

    `record` is shared by all processes of a run. `later` takes (seconds, act, label) and lets the act happen then, without its caller.
    `die` is what a crash does first: nothing, or in the kill engine a real SIGKILL. `how` is "" while the process lives.
    """

    def __init__(
        self,
        process: str,
        faults: Sequence[Injection],
        record: list[Record],
        clock: VirtualClock,
        stage: Stage,
        *,
        later: Later,
        die: Callable[[Gate], None] = lambda gate: None,
    ) -> None:
        self.process, self.record, self.clock, self.stage = process, record, clock, stage
        self.faults = {(i.boundary, i.number, i.side): i for i in faults}
        self._numbers = {i.number for i in faults}
        self.later, self._die = later, die
        self.dead = False
        self.how = ""  # crashed, hung or endless
        self.told_apart = False  # its code has asked for what no other process of the run has: its name, its randomness
        self.swallowed = 0
        self.count = 0
        self.counts: dict[str, int] = {}
        self.struck: list[Injection] = []  # faults that happened
        self.moved: list[
            tuple[Injection, str]
        ] = []  # faults where something else stands than when they were found, and what
        self.at_death: list[Callable[[], None]] = []  # what the operating system closes for a dead process

    def cross(
        self,
        boundary: str,
        label: str,
        act: Callable[[], T],
        *,
        driver: str = "",
        torn: Callable[[int], Any] | None = None,
        shape: Shape | None = None,
    ) -> T:
        """Do `act` across `boundary`, striking the faults that sit on either side. Returns what `act` returns."""
        if self.dead:
            self.refuse()
        self.stage.turn()
        if self.dead:
            self.refuse()
        self.count = number = self.count + 1
        self.counts[boundary] = nth = self.counts.get(boundary, 0) + 1
        if number > MOST_CROSSINGS:
            self.stop("endless")
        if number in self._numbers or nth in self._numbers:
            call = Crossing(number, boundary, nth, label, driver or boundary, act, torn, shape)
            return cast(T, self._cross_in_danger(call))
        write, process, clock = self.record.append, self.process, self.clock
        write(("cross", process, clock.elapsed, number, "before", boundary, label, "", ""))
        answer = act()
        write(("cross", process, clock.elapsed, number, "after", boundary, label, "", ""))
        return answer

    def _cross_in_danger(self, call: Crossing) -> Any:
        before = self._found(call, "before")
        if before is not None and before.kind in UNASKED:
            return self._shaped(before, call, None)
        if before is not None:
            self._before(before, call)
        answer = call.act()
        after = self._found(call, "after")
        for fault in (before, after):
            if fault is not None and fault.kind in ANSWERS:
                answer = self._shaped(fault, call, answer)
        if after is not None:
            self._strike(after, call)
        return answer

    def _shaped(self, fault: Fault, call: Crossing, answer: Any) -> Any:
        """The answer that a fault makes of the real one; where it can make none the real one stays, and that is told."""
        made = call.shape and call.shape(fault, answer, f"{call.label} (call {call.number}, injected)")
        if made is not None:
            return made
        found = next(i for i in reversed(self.struck) if i.fault is fault)
        self.struck.remove(found)
        self.moved.append((found, f"{call.boundary} {call.label}, with an answer that it cannot strike"))
        return answer

    def tell(self, kind: str, label: str, text: str = "") -> None:
        """Write a line that is no crossing into the record."""
        self.record.append((kind, self.process, self.clock.elapsed, self.count, "", "", label, "", text))

    def _found(self, call: Crossing, side: str) -> Fault | None:
        """Record one side of a crossing, with the fault that sits there."""
        found, other = self.faults.get(("", call.number, side)), self.faults.get((call.boundary, call.nth, side))
        if found is not None and other is not None:
            self.moved.append((other, f"{found} strikes there"))
        found = found or other
        asked = call.label if call.shape is not None else ""
        if found and not fits(found.fault.kind, call.boundary, side, whole=call.torn is None, request=asked):
            self.moved.append((found, f"{call.boundary} {call.label}"))
            found = None
        told = str(found.fault) if found else ""
        where = (call.number, side, call.boundary, call.label)
        self.record.append(("cross", self.process, self.clock.elapsed, *where, told, ""))
        if found is None:
            return None
        self.struck.append(found)
        if found.stood_there and found.stood_there != fingerprint(call.boundary, call.label):
            self.moved.append((found, f"{call.boundary} {call.label}"))
        return found.fault

    def _before(self, fault: Fault, call: Crossing) -> None:
        """What a fault does that can only come before."""
        match fault.kind:
            case "late":
                self.later(fault.amount or 0.0, call.act, call.label)
            case "duplicate":
                call.act()  # delivered once here, and once more by the caller
            case "hang":
                self.stop("hung")
            case "torn" if call.torn is not None:
                call.torn(int(fault.amount or 0))
                self.die()
        self._strike(fault, call)

    def _strike(self, fault: Fault, call: Crossing) -> None:
        """What a fault does on either side."""
        match fault.kind:
            case "crash":
                self.die()
            case "interrupt":
                raise KeyboardInterrupt
            case "error" | "timeout" | "late":
                raise exception_for(call.driver, fault, call.label, call.number)
            case "delay" | "pause":
                self.stage.sleep(fault.amount or 0.0)
            case "clock_step":
                self.clock.jump(fault.amount or 0.0)

    def refuse(self) -> NoReturn:
        """The process is dead, though its code goes on: tell it again, and stop it when it never listens."""
        self.swallowed += 1
        if self.swallowed > MOST_SWALLOWED:
            self.stage.leave(self.how)
        raise Crash(f"{self.process} is dead")

    def die(self) -> NoReturn:
        """The process is gone: everything that the operating system would close is closed, and nothing else happens."""
        self._die(self)
        self.stop("crashed")

    def stop(self, how: str) -> NoReturn:
        """The process is over, whatever its code thinks: `how` says why (crashed, hung, endless)."""
        self.how = self.how or how
        self.close()
        raise Crash(f"{self.process} {how}")

    def close(self) -> None:
        """Let the process's end free what it held; from now on it is dead to the world."""
        self.dead = True
        while self.at_death:
            self.at_death.pop()()
