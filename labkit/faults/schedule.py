"""A failure as a short text: which fault sits on which crossing of which process, and who moves when.

    resume.pending/sqlite:p1@7.after+crash~5e1,p2@cloud1.before+error
    idempotency.two_callers/postgres:none;order=1x4.2x9

`p1@7` is the seventh call of process p1 over any boundary, `p1@cloud1` its first call over that one. `~5e1` is a fingerprint of what stood there when
the failure was found; replayed on changed code the schedule says that something else stands there instead of pretending. `order` says how many
moves each actor makes in turn. The text is a *token*: parse(format(s)) == s.

Not handled here: running it.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from functools import lru_cache

from labkit.errors import UsageError
from labkit.faults.fault import BOUNDARIES, KINDS, ONLY_AT, Fault
from labkit.faults.trace import UUID

MOST_PROCESSES, MOST_CALLS = 9_999, 999_999  # as many as a token has room for
WHERE = r"p([1-9]\d{0,3})@(" + "|".join(BOUNDARIES) + r")?([1-9]\d{0,5})\.(before|after)"
MARK = re.compile(r"[0-9a-f]{3}")
PLACE = re.compile(WHERE + r"\+([^~]+)(?:~([0-9a-f]{3}))?", re.ASCII)
MOVES = re.compile(r"([1-9])x([1-9]\d{0,5})", re.ASCII)
NAME = re.compile(r"[A-Za-z0-9_.-]+")
HEAD = re.compile(r"([A-Za-z0-9_.-]+)/([a-z]+):(.*)", re.DOTALL)


@lru_cache(maxsize=4096)
def fingerprint(boundary: str, label: str) -> str:
    """Three hex digits that stand for what a call was, for the eye and for the replay."""
    return hashlib.sha256(f"{boundary} {UUID.sub('id', label)}".encode()).hexdigest()[:3]


def check_name(name: str) -> None:
    """Return when a scenario can have this name in a token, raise `UsageError` when it cannot."""
    if not NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot be the name of a scenario: letters, digits, _ . - only")


@dataclass(frozen=True)
class Injection:
    """One fault on one side of one crossing. `boundary` "" counts all calls of the process, else only those over that boundary."""

    process: int
    number: int
    side: str
    fault: Fault
    boundary: str = ""
    stood_there: str = ""

    def __post_init__(self) -> None:
        if self.side not in KINDS[self.fault.kind][0]:
            raise UsageError(f"{self.fault} cannot sit on the {self.side} side of a crossing")
        if self.boundary and self.boundary not in ONLY_AT.get(self.fault.kind, BOUNDARIES):
            raise UsageError(f"{self.fault} cannot happen at the boundary {self.boundary!r}")
        if not (1 <= self.process <= MOST_PROCESSES and 1 <= self.number <= MOST_CALLS):
            raise UsageError(f"p{self.process}@{self.number}: processes and calls are counted from 1")
        if self.stood_there and not MARK.fullmatch(self.stood_there):
            raise UsageError(f"{self.stood_there!r} is no fingerprint of three hex digits")

    def __str__(self) -> str:
        mark = f"~{self.stood_there}" if self.stood_there else ""
        return f"p{self.process}@{self.boundary}{self.number}.{self.side}+{self.fault}{mark}"

    @classmethod
    def parse(cls, text: str) -> Injection:
        match = PLACE.fullmatch(text)
        if not match:
            raise UsageError(f"{text[:60]!r} is not a place of a fault, such as p1@7.after+crash")
        process, boundary, number, side, fault, mark = match.groups()
        return cls(int(process), int(number), side, Fault.parse(fault), boundary or "", mark or "")


@dataclass(frozen=True)
class Schedule:
    """Faults, and for several actors the order of moves as (actor counted from 1, moves)."""

    injections: tuple[Injection, ...] = ()
    order: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        if any(not 1 <= actor <= 9 or not 1 <= moves <= MOST_CALLS for actor, moves in self.order):
            raise UsageError(f"{self.order} is no order of moves: up to nine actors, each with one move or more")
        places = [(i.process, i.boundary, i.number, i.side) for i in self.injections]
        if len(set(places)) < len(places):
            raise UsageError(f"two faults sit on one place of {str(self)[:200]}")

    def __str__(self) -> str:
        faults = ",".join(map(str, self.injections)) or "none"
        order = ";order=" + ".".join(f"{actor}x{moves}" for actor, moves in self.order) if self.order else ""
        return faults + order

    @classmethod
    def parse(cls, text: str) -> Schedule:
        """The inverse of `str`. Raises `UsageError` with the reason."""
        faults, _, order = text.partition(";order=")
        places = [] if faults == "none" else faults.split(",")
        return cls(tuple(Injection.parse(place) for place in places), _parse_order(order))

    def plus(self, *more: Injection) -> Schedule:
        return replace(self, injections=self.injections + more)

    def for_process(self, number: int) -> tuple[Injection, ...]:
        return tuple(i for i in self.injections if i.process == number)


def _parse_order(text: str) -> tuple[tuple[int, int], ...]:
    if not text:
        return ()
    parts = [MOVES.fullmatch(part) for part in text.split(".")]
    if None in parts:
        raise UsageError(f"{text[:60]!r} is not an order of moves, such as 1x4.2x9")
    return tuple((int(part.group(1)), int(part.group(2))) for part in parts if part)


@dataclass(frozen=True)
class Token:
    """A schedule with the name of its scenario and the database it ran on: all that a replay needs besides the code."""

    scenario: str
    database: str
    schedule: Schedule

    def __post_init__(self) -> None:
        check_name(self.scenario)

    def __str__(self) -> str:
        return f"{self.scenario}/{self.database}:{self.schedule}"

    @classmethod
    def parse(cls, text: str) -> Token:
        """The inverse of `str`. Raises `UsageError` with the reason."""
        match = HEAD.fullmatch(text.strip())
        if not match:
            raise UsageError(f"{text[:60]!r} is not a token, such as resume.pending/sqlite:p1@7.after+crash")
        scenario, database, rest = match.groups()
        return cls(scenario, database, Schedule.parse(rest))
