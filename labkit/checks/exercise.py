"""What an exercise is: a signature, cases to run it in, properties that must hold, and words for whoever is stuck.

Three parts that need not share a process. The *workload* is the cases, as data. The *host* runs them with the answer in a child.
The *judge* holds what the host saw (`Seen`, plain data) against the properties. A property says what it claims, what would break it,
and when it was exercised at all.

Cases that are *drawn* have inputs that nobody could know: they come from a seed, and stand beside the fixed ones, each like one of these.

Not handled here: any single exercise (one module each).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from labkit.errors import UsageError
from labkit.faults.scenario import Body, End, Scenario

SQL = ("sqlite", "postgres")
DRAWN = re.compile(r"(.+)-drawn-(\d{1,18})", re.ASCII)  # the name of a case that was drawn: the case that it is like, and the seed
MOST_SEED = 10**18 - 1


@dataclass(frozen=True)
class Finding:
    """Why a property is broken by one run. `diagnosis` names the misconception, in a few words that a student can look up."""

    message: str
    diagnosis: str


@dataclass(frozen=True)
class Case:
    """One way to run an answer.

    `build(answer)` gives the bodies that run at once and what a restarted process runs; `answer` gives the learner's names, fresh in each process.
    `engine` is once (each of `schedules`), sweep (each of `faults` at every crossing, then the closure) or interleave (every order of the bodies).
    `alike` says that the bodies differ in their process's name only. `databases` empty means that no database is involved; `on_file` wants a file
    of SQLite also where one process alone would do with memory. `costly` is left out for an answer that broke before it. Not `left`: what a crash
    of a schedule leaves before anybody goes on tells nothing here, and costs no run. `facts` is what the judge must know.
    """

    name: str
    build: Callable[[Answer], Sequence[Body]]
    setup: Body = lambda process: None
    engine: str = "once"
    schedules: tuple[str, ...] = ("none",)
    faults: tuple[str, ...] = ("crash", "interrupt")
    preemptions: int = 2
    alike: bool = False
    databases: tuple[str, ...] = ()
    on_file: bool = False
    costly: bool = False
    left: bool = True
    facts: dict[str, Any] = field(default_factory=dict)

    def scenario(self, exercise: str, answer: Answer) -> Scenario:
        bodies = tuple(self.build(answer))
        return Scenario(f"{exercise}.{self.name}", bodies if len(bodies) > 1 else bodies[0], setup=self.setup)


def like(case: str) -> str:
    """The fixed case that a drawn one is like, by their names; of a fixed one its own name."""
    drawn = DRAWN.fullmatch(case)
    return drawn.group(1) if drawn else case


def seed_of(case: str) -> int | None:
    """The seed that a case was drawn from, by its name; None for a fixed one."""
    drawn = DRAWN.fullmatch(case)
    return int(drawn.group(2)) if drawn else None


class Answer:
    """The learner's names. Each process executes the source anew, so that nothing survives in a global. Made by `answer.load`."""

    def __init__(self, execute: Callable[[], dict[str, Any]]) -> None:
        self._execute = execute

    def fresh(self) -> dict[str, Any]:
        """The names of the answer, as a new process sees them."""
        return self._execute()


@dataclass(frozen=True)
class Seen:
    """One run that the host saw: its case, its end, and the kind of run.

    `end` is the end of everything, `left` what a crash left before anybody went on, `interrupted` what Ctrl-C led to.
    """

    case: str
    kind: str
    end: End

    @property
    def like(self) -> str:
        """The fixed case that this one is like, or is."""
        return like(self.case)


@dataclass(frozen=True)
class Property:
    """Something that must hold.

    `find` looks at one run; `exercised` says whether a run put it to the test (default: any that came to its end). An answer that never put the property
    `needs` to the test shows nothing here either: who never hands out a task also hands out none when nothing is due. What is found here says nothing
    new where one of `unless` is broken, and is not told: an attempt that is never counted is missing after a crash too.
    """

    name: str
    claim: str
    find: Callable[[Seen, dict[str, Any]], Finding | None]
    cases: tuple[str, ...] = ()  # empty: all
    exercised: Callable[[Seen, dict[str, Any]], bool] = lambda seen, facts: seen.kind == "end"
    needs: str = ""
    unless: tuple[str, ...] = ()

    def looks_at(self, case: str) -> bool:
        return not self.cases or like(case) in self.cases


@dataclass(frozen=True)
class Exercise:
    """An exercise. `signatures` maps each required name to its parameters, `methods` each `class.method` to its own.

    `hints` go from a nudge to nearly there. `drawn(rng)` gives cases with other inputs, each under the name of the fixed case that it is like.
    """

    id: str
    title: str
    chapter: int
    origin: str  # C: from the chapters, +: beyond them
    minutes: int
    difficulty: int  # 1 to 5
    points: int
    signatures: dict[str, Sequence[str]]
    cases: tuple[Case, ...]
    properties: tuple[Property, ...]
    hints: tuple[str, ...]
    methods: dict[str, Sequence[str]] = field(default_factory=dict)
    essential: tuple[str, ...] = ()  # properties that are what it is about: they earn half of its points
    asynchronous: bool = False  # its functions are `async def`
    needs: tuple[str, ...] = ()  # packages beyond those that labkit always has
    preload: str = ""  # module:function that loads what takes long; a warm parent calls it before it forks
    drawn: Callable[[Random], Sequence[Case]] = lambda rng: ()
    shown: tuple[str, ...] = ()  # schedules as `case:schedule` that `show` draws; empty: the first case, undisturbed and crashed once

    def seeded(self, seed: int) -> Exercise:
        """The same with the cases that are drawn from this seed as well; who draws again draws the same. Raises `UsageError` for what is no seed."""
        if type(seed) is not int or not 0 <= seed <= MOST_SEED:
            raise UsageError(f"a seed is a whole number from 0 to {MOST_SEED}, not {seed!r}")
        drawn = self.drawn(Random(f"{seed}/{self.id}"))
        return replace(self, cases=(*self.cases, *(replace(case, name=f"{case.name}-drawn-{seed}") for case in drawn)))

    def to_show(self) -> list[tuple[str, str]]:
        """(case, schedule) of the runs that `show` draws."""
        if self.shown:
            return [(case, schedule) for case, _, schedule in (text.partition(":") for text in self.shown)]
        first = self.cases[0]
        return [(first.name, "none"), *([(first.name, "p1@cloud1.after+crash")] if first.engine == "sweep" else [])]

    def hint(self, level: int) -> str:
        """One hint: 1 is a nudge, the last one is nearly there. Raises `UsageError` for a level that is none."""
        if not isinstance(level, int) or not 1 <= level <= len(self.hints):
            raise UsageError(f"{self.id} has the hints 1 to {len(self.hints)}, not {level!r}")
        return self.hints[level - 1]

    def case(self, name: str) -> Case:
        return next(case for case in self.cases if case.name == name)

    def cases_on(self, database: str) -> tuple[Case, ...]:
        """The cases that belong to this database; "" for those that need none. Single runs come first, costly cases last.

        So what is wrong anyway is found in milliseconds, and shown in a run that no fault disturbs.
        """
        found = [c for c in self.cases if ((database in c.databases) if database else not c.databases)]
        return tuple(sorted(found, key=lambda case: (case.costly, case.engine != "once")))

    @property
    def databases(self) -> tuple[str, ...]:
        return tuple(d for d in SQL if any(d in case.databases for case in self.cases))

    def __repr__(self) -> str:
        return f"<Exercise {self.id}: {len(self.cases)} cases, {len(self.properties)} properties>"
