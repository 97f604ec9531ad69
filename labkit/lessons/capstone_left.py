"""What is left of an evening: the ledger of the cloud, order by order, and what falls when one guarantee is taken away.

What was done and undone is read from the ledger, whatever the workers said. Nobody here sees who wrote when, so a zombie is not looked for in an evening;
what an evening does not show, the stories of the simulator do. At the end of the module: what each guarantee costs.

Not handled here: the evening itself (see `capstone_evening`), and drawing it (see `capstone_map`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sqlalchemy import Engine, select

from labkit.clock import SystemClock
from labkit.cloud import CHANGES, Effect, Ledger, resources
from labkit.database import open_engine, reading
from labkit.faults.chart_table import Mark, Table, bad, good, table, unknown
from labkit.invariants import STORIES, System, Trace, TraceEvent, recorded, run
from labkit.invariants.rules import OVER
from labkit.invariants.systems import OneByOne
from labkit.invariants.work import STEPS
from labkit.lessons.capstone import ALL_RULES, STEP_OF, SYSTEMS, falls
from labkit.lessons.capstone_map import Cell, Column, drawn, printed
from labkit.plural import counted
from labkit.queue import Lease, TaskQueue, Worker
from labkit.queue.lease import held
from labkit.tables import create_tables, progress_log, task_from_row, tasks
from labkit.task import Task

UNSEEN = "zombie write"
STUCK = tuple(story for story in STORIES if any("stuck" in task for task in story.tasks))  # in which an undo fails for good
OWED = {"deploy": {STEP_OF[make][0]: 1 for make, _ in STEPS.values()}, "charge": {"payment": 1, "mail": 1}}


@dataclass(frozen=True, eq=False)
class Left:
    """The world after an evening or, when it is not `over`, by now. `struck` are tasks that somebody had in hand and was killed."""

    token: str
    tasks: tuple[Task, ...]
    effects: tuple[Effect, ...]
    told: tuple[tuple[str, str], ...]  # (task, status) of each progress event
    killed: int = 0
    deadly: tuple[str, ...] = ()
    struck: tuple[str, ...] = ()
    over: bool = True

    @classmethod
    def of(cls, token: str, engine: Engine, ledger: Ledger, killed: int, deadly: Collection[str] = (), **now: Any) -> Left:
        """Read it. The tasks come in the order in which they were submitted."""
        with reading(engine) as connection:
            rows = [task_from_row(row) for row in connection.execute(select(tasks))]
            said = select(progress_log.c.task_id, progress_log.c.status).order_by(progress_log.c.position)
            told = tuple((id, status) for id, status in connection.execute(said))
        with ledger.alone():  # nobody is in the middle of a line
            effects = tuple(ledger.entries())
        by_number = sorted(rows, key=lambda task: int(task.id.partition("-")[2]))
        return cls(token, tuple(by_number), effects, told, killed, tuple(deadly), **now)

    @cached_property
    def trace(self) -> Trace:
        """The same as its domain sees it, for the rules."""
        return Trace(self.token, (), {task.id: task for task in self.tasks}, tuple(self._events()))

    def _events(self) -> Iterator[TraceEvent]:
        yield from (TraceEvent("submitted", task.id) for task in self.tasks)
        of, seen = {task.user_input.split()[1]: task.id for task in self.tasks}, set()
        for effect in self.effects:
            task = of[effect.target]
            yield TraceEvent("effect", task, name=effect.name, key=effect.key or "")
            if effect.name in STEP_OF and (task, effect.name) not in seen:
                step, kind = STEP_OF[effect.name]
                yield TraceEvent(kind, task, name=step)
            seen.add((task, effect.name))
        yield from (TraceEvent("progress", task, name=status) for task, status in self.told)

    @cached_property
    def falls(self) -> dict[str, dict[str, str]]:
        """Kind -> the tasks for which that rule does not hold, each with one sentence."""
        return falls(self.trace)

    @property
    def difference(self) -> str:
        """What falls, in words."""
        return ", ".join(f"{kind} ({counted(len(of), 'order')})" for kind, of in self.falls.items()) or "none"

    def __str__(self) -> str:
        states = Counter("taken back" if task.state == "failed" else str(task.state) for task in self.tasks)
        ends = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
        return f"{len(self.tasks)} orders: {ends}. {counted(self.killed, 'process', 'processes')} killed. Difference: {self.difference}"

    def ledger(self) -> Table:
        """The final ledger: a row for each kind of thing, and whether what is there is what is owed."""
        changed = [effect for effect in self.effects if effect.changed]
        made = Counter(CHANGES[effect.name][0] for effect in changed if CHANGES[effect.name][1] > 0)
        gone = Counter(CHANGES[effect.name][0] for effect in changed if CHANGES[effect.name][1] < 0)
        there = Counter[str]()
        for thing, count in resources(self.effects).items():
            there[thing.split()[0]] += count
        owed = self._owed()
        rows = [[kind, made[kind], gone[kind], (good if there[kind] == owed[kind] else bad)(there[kind]), owed[kind]] for kind in (*STEPS, "mail")]
        return table(["", "made", "taken back", "there", "owed"], rows)

    def _owed(self) -> Counter[str]:
        """What was ordered, less the kiosks, which have no room."""
        owed: Counter[str] = Counter()
        for task in self.tasks:
            what, whom = task.user_input.split()
            owed.update({} if whom.startswith("kiosk") else OWED[what])
        return owed

    def of_order(self, whom: str) -> Table:
        """The lines of the ledger for one customer, by whose hand (the first process at it, the second, ...) and under which key."""
        lines = [effect for effect in self.effects if effect.target == whom]
        hands = list(dict.fromkeys(effect.by for effect in lines))
        died = [f"{effect.name} {whom}" in self.deadly and effect.name not in {old.name for old in lines[:at]} for at, effect in enumerate(lines)]
        rows = [
            [f"process {hands.index(effect.by) + 1}", effect.name, effect.key or "none", bad("killed here") if dead else ""]
            for effect, dead in zip(lines, died, strict=True)
        ]
        return table(["by", "effect", "key", ""], rows, f"The ledger of {whom}")

    def columns(self) -> list[Column]:
        """Each order as a column of the map."""
        why = {task: f"{kind}: {said}" for kind, of in reversed(self.falls.items()) for task, said in of.items()}
        by_target: dict[str, list[Effect]] = {}
        for effect in self.effects:
            by_target.setdefault(effect.target, []).append(effect)
        found = []
        for task in self.tasks:
            whom = task.user_input.split()[1]
            said = why.get(task.id, "") if task.state in OVER or self.over else ""
            found.append(Column(whom, str(task.state), tuple(self._cells(by_target.get(whom, []))), said, task.id in self.struck))
        return found

    def _cells(self, lines: Sequence[Effect]) -> Iterator[Cell]:
        seen: set[str] = set()
        for effect in lines:
            first = effect.name not in seen
            seen.add(effect.name)
            yield Cell(effect.name, CHANGES[effect.name][1] > 0, not first, first and f"{effect.name} {effect.target}" in self.deadly)

    def __repr__(self) -> str:
        return f"{self.token}\n{self}\n\n{printed(self.columns())}"

    def _repr_html_(self) -> str:
        return drawn(self.columns(), self.token, str(self))


@dataclass(frozen=True)
class Guarantee:
    """What was taken away, the system that lacks it, and the lesson that built it."""

    name: str
    system: str
    lesson: str


GUARANTEES = (
    Guarantee("a lease that ends", "no_lease", "21/03-leases"),
    Guarantee("a key with each call", "no_key", "11/01-task-state"),
    Guarantee("the saga's log", "no_log", "21/07-saga"),
    Guarantee("a fence before each write", "no_fence", "21/03-leases"),
    Guarantee("undo in reverse", "no_reverse", "21/07-saga"),
    Guarantee("the end told with the state", "told_after", "21/04-progress"),
    Guarantee("the end told with the state", "told_before", "21/04-progress"),
)


@dataclass(frozen=True)
class Shown:
    """What falls of a system: kind -> one sentence and the token of the run that shows it; `unseen` are kinds that nobody looked for."""

    falls: dict[str, tuple[str, str]]
    unseen: tuple[str, ...] = ()

    def cell(self, kind: str) -> Mark:
        return bad("falls") if kind in self.falls else unknown("not seen") if kind in self.unseen else good("holds")


def _in_stories(system: str) -> Shown:
    """Over the stories of the simulator in which every undo can succeed: the first one in which something falls shows it."""
    found: dict[str, tuple[str, str]] = {}
    for story in (one for one in STORIES if one not in STUCK):
        trace = recorded(system, story.name)
        for kind, of in falls(trace).items():
            found.setdefault(kind, (next(iter(of.values())), trace.token))
    return Shown(found)


def _in_evening(left: Left) -> Shown:
    return Shown({kind: (next(iter(of.values())), left.token) for kind, of in left.falls.items()}, (UNSEEN,))


def _shown(system: str, lefts: Sequence[Left]) -> Shown:
    """By the evening, where there was one of this system, else by the stories."""
    played = [left for left in lefts if left.token.startswith(f"{system}.evening")]
    return _in_evening(played[0]) if played else _in_stories(system)


def taken_away(*lefts: Left) -> Table:
    """Guarantee x rule: what falls when one of them is gone, by these evenings and, for the others, by the stories of the simulator."""
    shown = {"nothing": _shown("sound", lefts)} | {f"{one.name} ({one.system})": _shown(one.system, lefts) for one in GUARANTEES}
    rows = [[name, *(one.cell(kind) for kind in ALL_RULES)] for name, one in shown.items()]
    return table(["taken away", *ALL_RULES], rows)


def shown_by(*lefts: Left) -> str:
    """For each system the token of the run that shows what falls, and below it one sentence, of the rule that the fewest others break."""
    found = {one.system: _shown(one.system, lefts) for one in GUARANTEES}
    often = Counter(kind for one in found.values() for kind in one.falls)
    lines = []
    for one in found.values():
        kind = min(one.falls, key=lambda kind: often[kind])
        said, token = one.falls[kind]
        lines += [token, f"    {kind}: {said}"]
    return "\n".join(lines)


def _commits(system: System, story: str = "calm") -> int:
    """How often something was made durable while this story was played."""
    made = run(system, next(one for one in STORIES if one.name == story))
    return sum((line.kind, line.side, line.label) == ("cross", "before", "COMMIT") for line in made.lines)


def _beats() -> int:
    """How often a worker renews its lease in as long as a lease lasts."""
    asked: list[float] = []

    def every(seconds: float, beat: Callable[[], object]) -> Callable[[], None]:
        asked.append(seconds)
        return lambda: None

    engine = open_engine("sqlite://")
    create_tables(engine)
    queue = TaskQueue(engine)
    Worker(queue, lambda job: "", "w", every=every).run_until_idle()
    engine.dispose()
    return round(queue.lease_seconds / asked[0])


def _undos(system: str) -> int:
    return sum(event.kind == "effect" and STEP_OF[event.name][1] == "undone" for event in recorded(system, "taken_back").events)


def costs(left: Left) -> Table:
    """What each guarantee costs, counted: commits with it less those without it, and what comes besides. The keys are those of this evening."""
    sound, one_by_one = SYSTEMS["sound"], replace(SYSTEMS["sound"], queue=OneByOne)
    orders = len(recorded("sound", "calm").tasks)
    with_log = _commits(sound) - _commits(SYSTEMS["no_log"])
    told = (_commits(one_by_one) - _commits(SYSTEMS["told_after"])) // orders
    fence = len(held(Lease("", "", 0, SystemClock().now()))) - 1
    longest = max(len(effect.key or "") for effect in left.effects)
    cost = {
        "no_lease": (f"{_beats()} a lease", "for each worker, while it works"),
        "no_key": (_commits(sound) - _commits(SYSTEMS["no_key"]), f"at most {longest} characters with each call"),
        "no_log": (f"{with_log} a saga", f"of {len(STEPS)} steps"),
        "no_fence": (_commits(one_by_one) - _commits(SYSTEMS["no_fence"]), f"{fence} conditions more in an UPDATE"),
        "no_reverse": (0, f"{_undos('sound') - _undos('no_reverse')} undos more"),
        "told_after": (f"{told} a task", "one commit for both, where there were two"),
    }
    rows = [[one.name, one.lesson, *cost[one.system]] for one in GUARANTEES if one.system in cost]
    return table(["guarantee", "built in", "commits more", "besides"], rows)
