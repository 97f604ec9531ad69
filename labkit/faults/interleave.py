"""Every order of a few actors, within a bound on how often one may be interrupted.

The actors of a scenario run at once; the engine runs it under one order after the other. A run is extended at each point where another actor could
have moved instead, as long as the order takes the baton away from a willing actor at most `preemptions` times. Two preemptions find nearly all
real races, and keep the number of orders small enough to try them all.

Not handled here: crashes on top of an order (a schedule can hold both; see `search`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from labkit.faults.baton import Actor
from labkit.faults.plural import counted
from labkit.faults.runner import Runner
from labkit.faults.scenario import End
from labkit.faults.schedule import Schedule

MOST_ORDERS = 5_000


@dataclass
class Orders:
    """What was tried."""

    runs: int = 0
    preemptions: int = 0
    closed: bool = True
    contested: int = 0  # runs in which an actor was interrupted and went on later

    def __str__(self) -> str:
        how = "all" if self.closed else "the first"
        return f"{how} {counted(self.runs, 'order')} within {counted(self.preemptions, 'preemption')}"


@dataclass
class _Guide:
    """Follows a prefix of choices, then lets the current actor go on, and notes who else could have moved."""

    prefix: tuple[int, ...]
    taken: list[int] = field(default_factory=list)
    others: list[tuple[int, ...]] = field(default_factory=list)
    willing: list[bool] = field(default_factory=list)  # the current actor could have gone on

    def __call__(self, ready: Sequence[Actor], current: Actor | None) -> Actor:
        numbers = [actor.number for actor in ready]
        step = len(self.taken)
        keep = current is not None and current.number in numbers
        default = current.number if keep and current is not None else numbers[0]
        wanted = self.prefix[step] if step < len(self.prefix) and self.prefix[step] in numbers else default
        self.taken.append(wanted)
        self.others.append(tuple(n for n in numbers if n != wanted))
        self.willing.append(keep)
        return ready[numbers.index(wanted)]

    def cost(self, step: int, chosen: int) -> int:
        """How many preemptions the order up to `step` has, when `chosen` moves there."""
        path = [*self.taken[:step], chosen]
        return sum(self.willing[i] and path[i] != path[i - 1] for i in range(1, len(path)))


def interleave_runs(
    runner: Runner, *, preemptions: int = 2, orders: Orders | None = None, most: int = MOST_ORDERS
) -> Iterator[tuple[End, str]]:
    """Yield (end, order as text) of the scenario under every order within the bound, fewest preemptions first where they fork late."""
    done = orders if orders is not None else Orders()
    done.preemptions = preemptions
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        if done.runs >= most:
            done.closed = False
            return
        guide = _Guide(waiting.pop())
        run = runner.once(runner.start, 1, runner.scenario.bodies, choose=guide)
        done.runs += 1
        schedule = Schedule(order=_as_order(guide.taken))
        done.contested += len(schedule.order) > len(set(guide.taken))
        yield runner.end(schedule, [run]), str(schedule)
        for step in range(len(guide.taken) - 1, len(guide.prefix) - 1, -1):
            for other in guide.others[step]:
                if guide.cost(step, other) <= preemptions:
                    waiting.append((*guide.taken[:step], other))


def _as_order(taken: Sequence[int]) -> tuple[tuple[int, int], ...]:
    return tuple((actor, len(list(moves))) for actor, moves in groupby(taken))
