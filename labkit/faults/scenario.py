"""A scenario: how the world starts, what runs in it, what a restarted process runs, and what must hold at the end.

A scenario is plain functions over a `Process`; fifteen lines are enough for one of your own. What must hold is said over an `End`: plain data about the
world after everything has ended. An invariant returns None when all is fine, else one sentence.

Not handled here: which faults strike it (see `sweep`, `interleave`, `search`, `kill`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from labkit.cloud import Effect, resources
from labkit.errors import UsageError
from labkit.faults.process import Outcome, Process
from labkit.faults.schedule import check_name

Body = Callable[[Process], Any]
RECORDS = ("outcomes", "effects", "calls", "notes")  # the fields of an end that hold objects


@dataclass(frozen=True)
class Call:
    """One call out of a process, as it was asked for. `fault` is what sat on it, "" for nothing. `time` is in virtual seconds."""

    process: str
    boundary: str
    label: str
    time: float
    fault: str = ""


@dataclass(frozen=True)
class End:
    """What the world shows when everything has ended. Plain data: it goes to JSON and back.

    `tasks` are the tasks by id as they are stored, `calls` all calls but SQL of the processes of the last run, `seconds` the virtual time
    that passed. `notes` is what the processes told the record (see `Process.note`). `unreached` and `moved` are the places of faults that were
    not reached, or where something else stood.
    """

    token: str
    outcomes: tuple[Outcome, ...]
    effects: tuple[Effect, ...] = ()
    tasks: dict[str, dict[str, Any]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    calls: tuple[Call, ...] = ()
    seconds: float = 0.0
    unreached: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    deadlock: str = ""
    notes: tuple[Call, ...] = ()

    def to_data(self) -> dict[str, Any]:
        """As plain data for JSON. What is inside is shared with this end, not copied."""
        many = {name: tuple({**vars(one)} for one in getattr(self, name)) for name in RECORDS}
        return {**vars(self), **many}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> End:
        """The inverse of `to_data`."""
        made = {
            "outcomes": tuple(Outcome(**o) for o in data["outcomes"]),
            "effects": tuple(Effect(**e) for e in data["effects"]),
            "calls": tuple(Call(**c) for c in data["calls"]),
            "notes": tuple(Call(**c) for c in data["notes"]),
            "unreached": tuple(data["unreached"]),
            "moved": tuple(data["moved"]),
        }
        return cls(**{**data, **made})

    def count(self, name: str, target: str | None = None) -> int:
        """How many effects of this name changed something."""
        return sum(e.name == name and e.changed and target in (None, e.target) for e in self.effects)

    @property
    def resources(self) -> Counter[str]:
        """What exists in the cloud: {"container shop": 1, ...}."""
        return resources(self.effects)

    @property
    def last(self) -> Outcome:
        """How the last process ended."""
        return self.outcomes[-1]

    @property
    def sleeps(self) -> tuple[float, ...]:
        """How long was slept, in order."""
        return tuple(float(c.label.split()[1]) for c in self.calls if c.boundary == "clock")

    def __repr__(self) -> str:
        return f"<End {self.token}: {', '.join(map(str, self.outcomes))}; {dict(self.resources)}>"


Invariant = Callable[[End], "str | None"]


@dataclass(frozen=True)
class Scenario:
    """What is run and what must hold.

    `run` is what a process does, or one function for each of several that run at once. `recover` is what a restarted process does
    (default: the same; with several, the first). `setup` sets the scene in a process of its own, in which no fault strikes. `goal` must be reached in at least
    one run, or nothing was exercised. `store` is what `process.store` is: sql, json or memory.
    """

    name: str
    run: Body | Sequence[Body]
    invariants: Sequence[Invariant] = ()
    setup: Body = lambda process: None
    recover: Body | None = None
    goal: Callable[[End], bool] | None = None
    store: str = "sql"

    def __post_init__(self) -> None:
        check_name(self.name)

    @property
    def bodies(self) -> tuple[Body, ...]:
        return (self.run,) if callable(self.run) else tuple(self.run)

    @property
    def restarted(self) -> Body:
        return self.recover or self.bodies[0]

    def reached_by(self, end: End) -> bool:
        """Whether this end reached the goal; a scenario without one asks for nothing."""
        return self.goal is None or bool(self.goal(end))

    def why_broken(self, end: End) -> list[tuple[str, str]]:
        """(name of the invariant, why) for each that does not hold."""
        found = [(_name_of(invariant), invariant(end)) for invariant in self.invariants]
        return [(name, why) for name, why in found if why]

    def __repr__(self) -> str:
        return f"<Scenario {self.name}: {len(self.bodies)} at once, {len(self.invariants)} invariants>"


def _name_of(invariant: Invariant) -> str:
    """What an invariant is called: also a partial or an object that can be called has a name to be told by."""
    inside = getattr(invariant, "func", invariant)
    return str(getattr(inside, "__name__", type(inside).__name__))


def alone(scenario: Scenario) -> None:
    """Return when the scenario runs one process, raise `UsageError` when it runs several at once."""
    if len(scenario.bodies) > 1:
        raise UsageError(f"{scenario.name} has several actors: use interleave")


def at_most_once(name: str, target: str | None = None) -> Invariant:
    """An invariant: this effect happened at most once."""

    def invariant(end: End) -> str | None:
        times = end.count(name, target)
        return f"{name} happened {times} times" if times > 1 else None

    invariant.__name__ = f"at most one {name}"
    return invariant


def exactly_once(name: str, target: str | None = None) -> Invariant:
    """An invariant: this effect happened, and only once."""

    def invariant(end: End) -> str | None:
        times = end.count(name, target)
        return None if times == 1 else f"{name} happened {times} times, not once"

    invariant.__name__ = f"exactly one {name}"
    return invariant


def every_process_ends(end: End) -> str | None:
    """An invariant: no process hangs, and none goes on for ever."""
    stuck = [o for o in end.outcomes if o.how in ("hung", "endless")]
    return f"{stuck[0].process} never ends" if stuck else end.deadlock or None
