"""Every order of a few actors, within a bound on how often one may be interrupted.

The actors of a scenario run at once; the engine runs it under one order after the other. A run is extended at each point where another actor could
have moved instead, as long as the order takes the baton away from a willing actor at most `preemptions` times. Two preemptions find nearly all
real races, and keep the number of orders small enough to try them all. Two kinds of orders are left out, as each equals one that is tried: those in which
an actor is interrupted before a move that touches nothing, and, where the actors are alike, those that only give them other names.

A search over all orders is fair: an actor that goes round and round waiting for another lets the others move after a while.

Not handled here: crashes on top of an order (a schedule can hold both; see `search`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from labkit.faults.baton import Actor
from labkit.faults.runner import Runner
from labkit.faults.scenario import End
from labkit.faults.schedule import Schedule
from labkit.plural import counted

MOST_ORDERS = 5_000
PATIENCE = 30  # moves in a row, after which somebody else moves


@dataclass
class Orders:
    """What was tried."""

    runs: int = 0
    preemptions: int = 0
    closed: bool = True
    contested: int = 0  # runs in which an actor was interrupted and went on later, or that stand for such a run
    alike: bool = False

    def __str__(self) -> str:
        how = "all" if self.closed else "the first"
        names = ", up to the actors' names" if self.alike else ""
        return f"{how} {counted(self.runs, 'order')} within {counted(self.preemptions, 'preemption')}{names}"


@dataclass
class _Guide:
    """Follows a prefix of choices, then lets the current actor go on, and notes who else could have moved."""

    prefix: tuple[int, ...]
    alike: bool = False
    taken: list[int] = field(default_factory=list)
    others: list[tuple[int, ...]] = field(default_factory=list)
    willing: list[bool] = field(default_factory=list)  # the current actor could have gone on
    in_a_row: int = 0
    spared: bool = False  # an interruption was left out, since this order equals it

    def begin(self) -> _Guide:
        """Follow the prefix from its start, with nothing noted yet."""
        self.taken, self.others, self.willing = [], [], []
        self.in_a_row, self.spared = 0, False
        return self

    def __call__(self, ready: Sequence[Actor], current: Actor | None) -> Actor:
        offered = self._offered(ready, current)
        numbers = [actor.number for actor in offered]
        step = len(self.taken)
        keep = current is not None and current.number in numbers
        default = current.number if keep and current is not None else min(numbers, key=self._last_move)
        wanted = self.prefix[step] if step < len(self.prefix) and self.prefix[step] in numbers else default
        self.in_a_row = self.in_a_row + 1 if self.taken and self.taken[-1] == wanted else 1
        self.taken.append(wanted)
        idle = keep and current is not None and _is_idle(current)
        others = tuple(n for n in numbers if n != wanted)
        self.spared = self.spared or bool(idle and others)
        self.others.append(() if idle else others)
        self.willing.append(keep)
        return offered[numbers.index(wanted)]

    def _last_move(self, number: int) -> tuple[int, int]:
        """When an actor moved last, and its number: who has waited longest comes first."""
        return max((step for step, actor in enumerate(self.taken) if actor == number), default=-1), number

    def _offered(self, ready: Sequence[Actor], current: Actor | None) -> list[Actor]:
        """Who may move: of actors that are alike the next to start, and nobody who has had the baton for too long."""
        new = [actor for actor in ready if actor.moves == 0]
        offered = [actor for actor in ready if not self.alike or actor.moves or actor is new[0]]
        others = [actor for actor in offered if actor is not current]
        return others if others and self.in_a_row >= PATIENCE else offered

    def cost(self, step: int, chosen: int) -> int:
        """How many preemptions the order up to `step` has, when `chosen` moves there."""
        path = [*self.taken[:step], chosen]
        return sum(self.willing[i] and path[i] != path[i - 1] for i in range(1, len(path)))


def interleave_runs(
    runner: Runner,
    *,
    preemptions: int = 2,
    orders: Orders | None = None,
    most: int = MOST_ORDERS,
    alike: bool = False,
) -> Iterator[tuple[End, str]]:
    """Yield (end, order as text) of the scenario under every order within the bound, fewest preemptions first where they fork late.

    `alike` says that the actors differ in nothing but their names.
    """
    done = orders if orders is not None else Orders()
    done.preemptions, done.alike = preemptions, alike
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        if done.runs >= most:
            done.closed = False
            return
        guide = _Guide(waiting.pop(), alike)
        run = runner.once(runner.start, 1, runner.scenario.bodies, begin=guide.begin)
        done.runs += 1
        schedule = Schedule(order=_as_order(guide.taken))
        done.contested += guide.spared or len(schedule.order) > len(set(guide.taken))
        yield runner.end(schedule, [run]), str(schedule)
        for step in range(len(guide.taken) - 1, len(guide.prefix) - 1, -1):
            for other in guide.others[step]:
                if guide.cost(step, other) <= preemptions:
                    waiting.append((*guide.taken[:step], other))


def _is_idle(actor: Actor) -> bool:
    """Whether its next move touches nothing: it has only started and looked at nothing, or begins a transaction that holds no lock yet.

    To interrupt it before that is the same as to start another first, or to interrupt it right after.
    """
    return (actor.moves == 1 and not actor.looked) or actor.about_to == "BEGIN"


def _as_order(taken: Sequence[int]) -> tuple[tuple[int, int], ...]:
    return tuple((actor, len(list(moves))) for actor, moves in groupby(taken))
