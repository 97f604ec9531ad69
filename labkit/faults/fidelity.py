"""Whether a raised crash leaves what a real SIGKILL leaves: the two side by side, at every crossing.

The sweep raises an exception where a machine would die, because that is a thousand times faster. This is what makes that believable: at each side of each
crossing of a scenario's first process the durable state after the raised crash is compared with the state after a real SIGKILL of a real
process at the same crossing, to the last column. Files are also torn: a write that got n bytes far.

Not handled here: death inside a running statement. There the two do differ (see `postgres_gate`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from labkit.faults.engines import open_world
from labkit.faults.kill import NURSERY, Killer
from labkit.faults.nursery import Nursery
from labkit.faults.runner import Runner
from labkit.faults.scenario import Scenario, alone
from labkit.faults.schedule import Injection
from labkit.faults.world import World

TORN = (0, 1, 20)  # bytes


@dataclass
class Fidelity:
    """How many places were compared, and the tokens of those where the states differ."""

    compared: int = 0
    differences: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.compared - len(self.differences)} of {self.compared} crash points leave the same state"


def fidelity(scenario: Scenario, database: str = "sqlite", *, nursery: Nursery = NURSERY) -> Fidelity:
    """Compare the raised and the real death at every crash point of the scenario's process. Raises `UsageError` for several actors."""
    with open_world(database, durable=True) as world:
        return fidelity_in(world, scenario, nursery)


def fidelity_in(world: World, scenario: Scenario, nursery: Nursery = NURSERY) -> Fidelity:
    """The same in a world that is there, `durable` and empty."""
    alone(scenario)
    found = Fidelity()
    runner = Runner(scenario, world)
    killer = Killer(runner, nursery)
    for injection in death_points(runner):
        raised = runner.once(runner.start, 1, scenario.bodies[:1], (injection,))
        after_raised = world.key(exact=True)
        world.put_back(runner.start)
        killed = killer.generation(1, (injection,))
        alike = world.key(exact=True) == after_raised and killed.outcomes == raised.outcomes
        found.compared += 1
        if not (alike and raised.struck == killed.struck == [injection]):
            found.differences.append(str(injection))
    return found


def death_points(runner: Runner) -> list[Injection]:
    """A crash at each side of each crossing of the first process, and torn writes of its files."""
    base = runner.once(runner.start, 1, runner.scenario.bodies[:1])
    return [*base.injections(1, ("crash",)), *base.injections(1, [f"torn({n})" for n in TORN])]
