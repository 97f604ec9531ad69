"""What an engine found, in one object: a verdict, what was covered, and the smallest counterexample.

Verdicts: `holds`; `broken`, with the fewest crashes that break an invariant, its token and its trace; `not_exercised` when no fault ever struck or
the goal of the scenario was never reached, so that a program which does nothing is never praised.

Not handled here: which misconception it was (see `checks`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from labkit.errors import LabkitError
from labkit.faults.scenario import End, Scenario
from labkit.faults.sweep import Closure
from labkit.faults.trace import Trace

HOLDS, BROKEN, NOT_EXERCISED = "holds", "broken", "not_exercised"


class InvariantBroken(LabkitError):
    """A run broke an invariant."""


@dataclass(frozen=True)
class Counterexample:
    """One run that broke one invariant."""

    token: str
    invariant: str
    why: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.why}  [{self.token}]"


@dataclass
class Report:
    """The verdict on a scenario. `covered` is what the engine tried, in words; `trace` is that of the first counterexample."""

    scenario: Scenario
    verdict: str
    covered: str
    broken: list[Counterexample] = field(default_factory=list)
    trace: Trace | None = None
    closure: Closure | None = None
    verdicts: dict[str, str | None] = field(default_factory=dict)  # state key -> why it ends badly, or None

    def __str__(self) -> str:
        head = f"{self.scenario.name}: {self.verdict} ({self.covered})"
        return head if not self.broken else f"{head}\n  {self.broken[0]}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from html import escape

        from labkit.faults.picture import svg

        drawn = svg(self.trace) if self.trace is not None else ""
        return f"<p><b>{escape(self.verdict)}</b> {escape(self.scenario.name)}: {escape(self.covered)}</p>{drawn}"

    def strip(self) -> list[tuple[str, str, str]]:
        """(token, verdict, why) for each crash point of the first process, in order: what a strip draws."""
        rows: list[tuple[str, str, str]] = []
        if self.closure is None:
            return rows
        first = next(iter(self.closure.states))
        for before, token, left in self.closure.reached:
            if before == first:
                rows.append((token, *self._verdict_on(left)))
        return rows

    def _verdict_on(self, state: str) -> tuple[str, str]:
        """(verdict, why) of a state that a crash left."""
        if state not in self.verdicts:
            return NOT_EXERCISED, "the sweep was capped before anybody went on from here"
        why = self.verdicts[state]
        return (BROKEN, why) if why else (HOLDS, "")

    def or_raise(self) -> Report:
        """Return the report when it holds, raise `InvariantBroken` when it does not: for use in a test."""
        if self.verdict != HOLDS:
            raise InvariantBroken(str(self))
        return self


def judge(
    scenario: Scenario, ends: Iterable[tuple[End, str]]
) -> tuple[list[Counterexample], bool, dict[str, str | None]]:
    """Hold every end against the invariants. Returns (counterexamples, was the goal reached, state key -> why it ends badly)."""
    broken: list[Counterexample] = []
    reached = False
    verdicts: dict[str, str | None] = {}
    for end, state in ends:
        reached = reached or scenario.reached_by(end)
        found = scenario.why_broken(end)
        verdicts.setdefault(state, found[0][1] if found else None)
        broken += [Counterexample(end.token, name, why) for name, why in found]
    return broken, reached, verdicts


def simplest(broken: list[Counterexample]) -> list[Counterexample]:
    """Fewest faults first, then fewest turns of several actors, then the order in which they were found."""
    return sorted(broken, key=lambda c: (c.token.count("+"), c.token.count("x")))
