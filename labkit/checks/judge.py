"""The judge: plain data in, verdict out.

For each property the simplest run that breaks it is kept, with its token. A property that no run put to the test is `not_exercised`, and so is the
exercise then: silence is not success. The judge never runs the answer and never asks it anything.

Not handled here: how the runs came about (see `host`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from labkit.checks.exercise import Exercise, Finding, Property, Seen, seed_of
from labkit.checks.slips import OWN, OWN_ERROR, slip, with_place
from labkit.checks.texts import printable
from labkit.faults.report import BROKEN as BROKEN
from labkit.faults.report import HOLDS as HOLDS
from labkit.faults.report import NOT_EXERCISED as NOT_EXERCISED
from labkit.plural import counted

NOT_ATTEMPTED, UNUSABLE = "not_attempted", "unusable"
UNREADABLE = (LookupError, TypeError, ValueError, AttributeError)  # from a run that no property thought of
NOT_REACHED = "your code failed with an error of its own before this could be tested"
UNHEARD_OF = "leaves a world that nobody thought of"
TOO_SLOW = "too slow"
NOT_FAR_ENOUGH = "no run came far enough to test this"
FOLLOWS = "cannot be told while this is broken"
LEFT_OUT = "not tested yet, since something else is broken"
Worst = tuple[tuple[int, ...], Finding, str]  # how simple a run is that breaks a property (the least is the simplest), what it shows, its token


def never_ends(case: str, where: str) -> str:
    """What is said of an answer that was silent for too long."""
    look = f"when it was stopped it was {where}" if where else "look for a loop that nothing ends, or for a wait that nobody ends"
    return f"the answer never ends (case {case}): {look}"


@dataclass(frozen=True)
class Judged:
    """The verdict on one property. `token` replays the simplest run that breaks it."""

    name: str
    verdict: str
    message: str = ""
    token: str = ""
    diagnosis: str = ""
    claim: str = ""


@dataclass
class Jury:
    """Listens to the runs one by one and remembers, per property, the simplest that breaks it.

    `place` says where a line of the answer's source stands; without it no message names one.
    """

    exercise: Exercise
    place: Callable[[int], str] | None = None
    worst: dict[str, Worst] = field(default_factory=dict)
    exercised: set[str] = field(default_factory=set)
    slipped: dict[str, Worst] = field(default_factory=dict)  # errors of the answer's own that a property has nothing against
    cases: set[str] = field(default_factory=set)  # of which a run was heard
    heard: int = 0
    cut: str = ""  # why not everything was heard

    def hear(self, seen: Seen) -> None:
        """Hold one run against every property that looks at its case."""
        self.heard += 1
        self.cases.add(seen.case)
        facts, own = self.exercise.case(seen.case).facts, slip(seen, self.place)
        told = own is None or own.diagnosis == OWN_ERROR
        for prop in self.exercise.properties:
            if not prop.looks_at(seen.case):
                continue
            if own is None and _exercised(prop, seen, facts):
                self.exercised.add(prop.name)
            found = self._find(prop, seen, facts)
            if found is not None:
                message = with_place(found.message, seen, self.place) if self.place else found.message
                self._keep(prop.name, own or replace(found, message=message), seen.end.token)
                told = True
            elif own is not None and own.diagnosis == OWN_ERROR and prop.name != "ends":
                self.slipped.setdefault(prop.name, ((), own, seen.end.token))
        if own is not None and not told:  # no property thought of an answer that does this
            self._keep("ends", own, seen.end.token)

    def _find(self, prop: Property, seen: Seen, facts: dict[str, Any]) -> Finding | None:
        try:
            return prop.find(seen, facts)
        except UNREADABLE:  # a world that no property thought of
            return Finding(f"the run ended in a way that cannot be judged: {seen.end!r}"[:300], UNHEARD_OF)

    def stuck(self, case: str, token: str = "", where: str = "") -> None:
        """The answer was silent for too long in this case; `where` it was when it was stopped, where that is known."""
        self._keep("ends", Finding(never_ends(case, where), "never ends"), token)

    def slow(self, case: str, seconds: int, token: str = "") -> None:
        """The answer has used up its processor time in this case."""
        self._keep("ends", Finding(f"the answer used up {seconds} s of processor time, the last in case {case}", TOO_SLOW), token)

    def cut_short(self, why: str) -> None:
        """The check was stopped before its end, though the answer was never silent: what is not broken so far was not tested to its end."""
        self.cut = self.cut or f"{TOO_SLOW}: {why}, before all was tested; the answer waits in real time, or the machine is busy"

    def broke_off(self, case: str, why: str, token: str = "") -> None:
        """The process of the host ended in the middle of this case."""
        self._keep("ends", Finding(f"the run of case {case} broke off: {why}", "breaks the process it runs in"), token)

    def _keep(self, name: str, found: Finding, token: str) -> None:
        found = replace(found, message=(found.message.splitlines() or [""])[0][:400])
        schedule = token.partition(":")[2]
        # a run in which the answer's own code failed says the least about any property, and one that everybody can look up the most
        drawn = seed_of(token.partition("/")[0]) is not None
        simplicity = (found.diagnosis in OWN, drawn, schedule.count("+"), schedule.count("x"), len(schedule))
        if name not in self.worst or simplicity < self.worst[name][0]:
            self.worst[name] = (simplicity, found, token)

    @property
    def broken(self) -> bool:
        return bool(self.worst)

    def verdicts(self) -> list[Judged]:
        """One for each property. An error of the answer's own breaks the first that it reaches; the others were not tested.

        Where no property has anything against it, it breaks the first that nothing else was seen of.
        """
        told = {found.message for _, found, _ in self.worst.values()}
        alone = {name: one for name, one in self.slipped.items() if name not in self.exercised and one[1].message not in told}
        worst, slips = alone | self.worst, set[str]()
        return [self._verdict(prop, worst.get(prop.name), slips) for prop in self.exercise.properties]

    def _verdict(self, prop: Property, worst: Worst | None, slips: set[str]) -> Judged:
        deeper = next((name for name in prop.unless if name in self.worst), None)
        if worst is not None and deeper is not None:
            return Judged(prop.name, NOT_EXERCISED, f"{FOLLOWS}: {deeper}", claim=prop.claim)
        if worst is not None:
            _, found, token = worst
            if found.message in slips:
                return Judged(prop.name, NOT_EXERCISED, NOT_REACHED, claim=prop.claim)
            slips |= {found.message} if found.diagnosis in OWN else set()
            return Judged(prop.name, BROKEN, found.message, token, found.diagnosis, prop.claim)
        if self.cut:
            return Judged(prop.name, NOT_EXERCISED, self.cut, diagnosis=TOO_SLOW, claim=prop.claim)
        if prop.name in self.exercised and (not prop.needs or prop.needs in self.exercised):
            return Judged(prop.name, HOLDS, claim=prop.claim)
        return Judged(prop.name, NOT_EXERCISED, LEFT_OUT if self._left_out(prop) else NOT_FAR_ENOUGH, claim=prop.claim)

    def _left_out(self, prop: Property) -> bool:
        """Whether some case that could have shown this was not run at all, since something broke before it."""
        looked_at = [case for case in self.exercise.cases if prop.looks_at(case.name)]
        return self.broken and (any(case.costly for case in looked_at) or not any(case.name in self.cases for case in looked_at))


def _exercised(prop: Property, seen: Seen, facts: dict[str, Any]) -> bool:
    try:
        return prop.exercised(seen, facts)
    except UNREADABLE:
        return False


def overall(judged: Sequence[Judged]) -> str:
    """The verdict on the whole: broken if anything is, else not_exercised if anything is, else holds."""
    verdicts = {one.verdict for one in judged}
    return BROKEN if BROKEN in verdicts else NOT_EXERCISED if NOT_EXERCISED in verdicts or not verdicts else HOLDS


@dataclass
class Covered:
    """What the host's runs covered, added up over cases and databases."""

    crash_points: int = 0
    states: int = 0
    kills: int = 0
    runs: int = 0
    orders: int = 0
    preemptions: set[int] = field(default_factory=set)  # the bounds of the cases
    actors: set[int] = field(default_factory=set)  # how many at once, where they were alike
    capped: list[str] = field(default_factory=list)  # where a sweep stopped before it was complete
    closed: bool = True  # no order was left out

    def add(self, said: dict[str, Any]) -> None:
        for name in ("crash_points", "states", "kills", "runs", "orders"):
            setattr(self, name, getattr(self, name) + said.get(name, 0))
        self.preemptions |= {said["preemptions"]} if "preemptions" in said else set()
        if said.get("alike"):
            self.actors.add(said["actors"])
        self.closed = self.closed and said.get("closed", True)
        if said.get("capped", "") not in ("", *self.capped):
            self.capped.append(said["capped"])

    def line(self, databases: Iterable[str], broken: int) -> str:
        """The certificate: what was tried, whether all of it, and where."""
        how = f"capped at {' and '.join(self.capped)}" if self.capped else "closed"
        parts = []
        if self.crash_points:
            parts.append(f"{counted(self.crash_points, 'crash point')} x {counted(self.states, 'distinct state')}, {how}")
        elif self.capped:
            parts.append(how)
        if self.kills:
            parts.append(counted(self.kills, "real kill"))
        if self.orders:
            first = "" if self.closed else "the first "
            who = f" of {' and '.join(map(str, sorted(self.actors)))} workers (up to their names)" if self.actors else ""
            most = ("up to " if len(self.preemptions) > 1 else "") + counted(max(self.preemptions, default=0), "preemption")
            parts.append(f"{first}{counted(self.orders, 'order')}{who} within {most}")
        parts.append(counted(self.runs, "schedule"))
        where = ", ".join(databases)
        parts += [where] if where else []
        return "; ".join([*parts, f"{broken} broken" if broken else "none broken"])


@dataclass
class CheckReport:
    """All that a check found out, as plain data."""

    exercise: str
    verdict: str
    properties: list[Judged] = field(default_factory=list)
    certificate: str = ""
    schedules: int = 0
    databases: list[str] = field(default_factory=list)
    seconds: float = 0.0
    message: str = ""  # why there is no verdict on the properties, or what could not be exercised
    output: str = ""  # what the answer printed
    unrecorded: str = ""  # why the work folder could not remember that it was passed

    def to_data(self) -> dict[str, Any]:
        return asdict(self)

    def printable(self) -> CheckReport:
        """The same in texts that every terminal, file and notebook can take, whatever the answer wrote into them."""
        properties = [Judged(*map(printable, vars(one).values())) for one in self.properties]
        certificate, message, output = map(printable, (self.certificate, self.message, self.output))
        return replace(self, properties=properties, certificate=certificate, message=message, output=output)

    @property
    def first_broken(self) -> Judged | None:
        return next((one for one in self.properties if one.verdict == BROKEN), None)

    @property
    def many_broken(self) -> bool:
        """Whether more than one property is broken, so that mending the first may mend others."""
        return sum(one.verdict == BROKEN for one in self.properties) > 1
