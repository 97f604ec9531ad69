"""One evening with everything in it: orders in a queue, workers that are real processes, and places in the work that kill whoever gets there.

A place is an effect, such as `charge ann-03`. Whoever has it first dies by SIGKILL when it stands in the cloud's ledger and nobody has recorded it:
the worst moment there is. So an evening dies in the same places however the machine deals out its time. What the workers do, and what a system of them
guarantees, is that of `labkit.invariants`; one system is added, which lacks the log of its sagas, and one that lacks the keys as well. So are the rules
that must hold, of each order by itself; one is added: a shop is there whole, or not at all.

Not handled here: who starts the workers, and starts them again (see `capstone_evening`), and what is left in the end (see `capstone_left`).
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from sqlalchemy import Engine

from labkit.clock import Clock, SystemClock
from labkit.cloud import CHANGES, Cloud, Effect, FileLedger, resources
from labkit.database import open_engine
from labkit.errors import SagaFailed, TerminalError
from labkit.faults import Process, Scenario
from labkit.faults.child import SIGKILL
from labkit.faults.nursery import Report
from labkit.faults.scenario import Body
from labkit.invariants import Story, System, Trace, systems
from labkit.invariants.rules import RULES, Rule
from labkit.invariants.stories import Mishap
from labkit.invariants.work import STEPS, Hands, RunSaga
from labkit.queue import Worker
from labkit.saga import SagaLog, SagaStep
from labkit.saga.step import do_key, undo_key

SHOPS, KIOSKS, PAYMENTS = (tuple(f"{what}-{n:02}" for n in range(1, many + 1)) for what, many in (("shop", 30), ("kiosk", 8), ("ann", 10)))
ORDERS = (*(f"deploy {app}" for app in (*SHOPS, *KIOSKS)), *(f"charge {who}" for who in PAYMENTS))
ROOM = len(STEPS) - 1  # things that a kiosk has room for: one less than a deployment needs
PLACES, SEED = 24, 9  # in which somebody dies in an evening, and where
MANY = 100  # attempts: in this evening no task is to blame for its worker's death
POLL, LIMIT = 0.05, 120.0  # seconds from one look for work to the next; and after which a worker goes home whatever happens
STEP_OF = {call: (step, kind) for step, calls in STEPS.items() for call, kind in zip(calls, ("done", "undone"), strict=True)}
HALF = "half a shop"
HURRY, CLOSED = "hurry", "closed"  # files in the evening's folder: nobody takes a breath any more; everybody goes home


def effects_of(order: str) -> list[str]:
    """What an order does in the cloud when nothing is wrong with the system, in order."""
    what, whom = order.split()
    if what == "charge":
        return [f"charge {whom}", f"send_mail {whom}"]
    made = [f"{make} {whom}" for make, _ in STEPS.values()]
    if not whom.startswith("kiosk"):
        return made
    return made[:ROOM] + [f"{undo} {whom}" for _, undo in reversed(list(STEPS.values())[:ROOM])]


def places(seed: int = SEED, count: int = PLACES) -> tuple[str, ...]:
    """The effects after which somebody dies: drawn from all of an evening, the same ones for the same seed."""
    rng = random.Random(f"evening {seed}")  # an input of the run, not a secret
    return tuple(rng.sample([effect for order in ORDERS for effect in effects_of(order)], count))


class SmallPlan(Cloud):
    """A far side on which a kiosk has room for so many things. The next one is refused, until one of them has gone."""

    def perform(self, name: str, target: str, key: str | None) -> str:
        known = key is not None and any(effect.key == key for effect in self.effects())
        if target.startswith("kiosk") and CHANGES[name][1] > 0 and not known:
            there = resources([effect for effect in self.effects() if effect.target == target])
            if there.total() >= ROOM:
                raise TerminalError(f"{name} {target} refused: a kiosk has room for {ROOM}")
        return super().perform(name, target, key)


class Deadly(FileLedger):
    """A ledger with lines that are the last ones of whoever writes them first."""

    def __init__(self, path: Path, deadly: Collection[str]) -> None:
        super().__init__(path)
        self._deadly = deadly

    def append(self, effect: Effect) -> None:
        what = effect.name, effect.target
        dies = " ".join(what) in self._deadly and all((old.name, old.target) != what for old in self.entries())
        super().append(effect)
        if dies:
            os.kill(os.getpid(), SIGKILL)  # crash here: the effect is there, and nobody will ever say that it was done


def without_log(steps: Sequence[SagaStep], log: SagaLog) -> None:
    """A saga that undoes in reverse, and what it has done is a list of this process. Breaks when that dies in its undo: the next one goes forward."""
    done: list[SagaStep] = []
    for step in steps:
        try:
            step.execute(do_key(log.saga_id, step.name))
        except Exception as error:
            if step.fails(error):
                _undo(done, log.saga_id)
                raise SagaFailed(step=step.name) from error
            raise
        done.append(step)


def _undo(done: Sequence[SagaStep], saga_id: str) -> None:
    for step in reversed(done):
        if step.compensate is not None:
            step.compensate(undo_key(saga_id, step.name))


NO_LOG = System("no_log", "the saga's log", HALF, run_saga=without_log)
BARE = System("bare", "keys, and the saga's log", "doubled effect", run_saga=without_log, key=lambda job, what: None)
SYSTEMS = {system.name: system for system in (*systems(), NO_LOG, BARE)}


def half_a_shop(trace: Trace) -> str | None:
    """A deployment is there whole when it is completed, and otherwise not at all. Not asked for: an undo that fails for good."""
    for task in trace.tasks.values():
        there = _things(trace, task.id)
        promised = set(STEPS) if task.state == "completed" else set()
        if task.user_input.startswith("deploy") and there != promised:
            missing = [step for step in STEPS if step in promised - there]
            said = f"there is no {', '.join(missing)}" if missing else f"there is {', '.join(step for step in STEPS if step in there)}"
            return f"{task.user_input.split()[1]} {'has' if task.state == 'failed' else 'is'} {task.state}, and {said}"
    return None


def _things(trace: Trace, task_id: str) -> set[str]:
    """The steps of a deployment of which something is there."""
    there: Counter[str] = Counter()
    for event in trace.events:
        if (event.kind, event.task_id) == ("effect", task_id) and event.name in STEP_OF:
            step, kind = STEP_OF[event.name]
            there[step] = there[step] + 1 if kind == "done" else max(0, there[step] - 1)
    return set(+there)


ALL_RULES: dict[str, Rule] = {**RULES, HALF: half_a_shop}


def falls(trace: Trace) -> dict[str, dict[str, str]]:
    """Kind -> the tasks for which this rule does not hold, each with one sentence."""
    found: dict[str, dict[str, str]] = {kind: {} for kind in ALL_RULES}
    for task in trace.tasks.values():
        alone = replace(trace, tasks={task.id: task}, events=tuple(event for event in trace.events if event.task_id == task.id))
        for kind, rule in ALL_RULES.items():
            if said := rule(alone):
                found[kind][task.id] = said
    return {kind: of for kind, of in found.items() if of}


class AtTheKiosk(Story):
    """A story of the simulator that is told on the far side with the small plan."""

    def scenario(self, system: System) -> Scenario:
        told = super().scenario(system)
        return replace(told, run=[_on_small_plan(body) for body in told.bodies], recover=_on_small_plan(told.restarted))


def _on_small_plan(body: Body) -> Body:
    def played(process: Process) -> Any:
        world = process.world
        process.cloud = SmallPlan(world.ledger, world.clock, by=process.gate.process, hook=process._call_cloud)
        return body(process)

    return played


DIES_UNDOING = AtTheKiosk(
    "kiosk", "a worker dies when its first undo has happened", ("deploy kiosk-02",), mishap=Mishap("crash", "effect", "delete_namespace")
)


def refused(error: Exception) -> bool:
    """Whether the cloud said no: only that turns a saga round, and neither a lease that was lost nor a database that is busy."""
    return isinstance(error, TerminalError)


def steadily(run_saga: RunSaga, steps: Sequence[SagaStep], log: SagaLog) -> None:
    """Run a saga on a machine on which anybody may be late."""
    run_saga([replace(step, fails=refused) for step in steps], log)


class Breath:
    """The clock of a worker's hands: what takes five seconds in the story takes `pace` seconds here, and nothing once it is time to hurry."""

    def __init__(self, folder: Path, pace: float, leave: Callable[[], object]) -> None:
        self._hurry, self._pace, self._leave, self._clock = folder / HURRY, pace, leave, SystemClock()

    def sleep(self, seconds: float) -> None:
        self._leave()
        if self._pace and not self._hurry.exists():
            self._clock.sleep(self._pace)


@dataclass(frozen=True)
class Machine:
    """What the hands of a worker ask of the process that they are in."""

    clock: Breath
    engine: Engine
    cloud: Cloud


def database(folder: Path) -> Engine:
    """The one database of an evening."""
    return open_engine(f"sqlite:///{folder / 'evening.db'}")


def ledger(folder: Path, deadly: Collection[str] = ()) -> FileLedger:
    """The cloud's ledger, in a file of its own."""
    return Deadly(folder / "ledger.jsonl", deadly)


def work(report: Report, *, folder: str, system: str, name: str, lease: float, pace: float, deadly: list[str]) -> None:
    """What each process of an evening does: claim, act, complete, until the evening is closed. Leaves when its parent does."""
    at, clock, chosen = Path(folder), SystemClock(), SYSTEMS[system]
    leave = partial(_leave, clock, os.getppid(), clock.monotonic() + LIMIT)
    queue = chosen.queue(database(at), lease_seconds=lease, max_attempts=MANY)
    queue.told = lambda event: None
    machine = Machine(Breath(at, pace, leave), queue.engine, SmallPlan(ledger(at, deadly), clock, by=name))
    hands = Hands(cast("Any", machine), partial(steadily, chosen.run_saga), chosen.key)

    def pause(seconds: float) -> None:
        leave()
        if (at / CLOSED).exists():
            worker.stop()
        else:
            clock.sleep(seconds)

    worker = Worker(queue, hands.work, name, pause=pause, poll_seconds=POLL)
    worker.run()


def _leave(clock: Clock, parent: int, until: float) -> None:
    """End the process when whoever started it is gone, or when it is late."""
    if os.getppid() != parent or clock.monotonic() > until:
        os._exit(1)
