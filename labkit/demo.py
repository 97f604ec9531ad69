"""`labkit demo`: a deployment is really killed, a new process takes over, and what happened is read from the ledger.

Each process is a child of its own and dies by SIGKILL at the place that was asked for: both sides of each of its calls are counted, from 1. The verdict
comes from what is left when all have ended, the cloud's ledger and the stored task, never from the program's own words. The ten minutes are virtual, and
the same arguments print the same bytes.

Not handled here: the deployment itself (see `deployment`), and how it looks (see `demo_text`).
"""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from labkit.demo_text import tell
from labkit.deployment import STEPS, StepLog, deployment, metadata, naive_deployment
from labkit.errors import UsageError
from labkit.execution import resume_task
from labkit.faults.fault import Fault
from labkit.faults.kill import Killer
from labkit.faults.nursery import Nursery
from labkit.faults.process import Outcome, Process
from labkit.faults.runner import Generation, Runner
from labkit.faults.scenario import Body, End, Scenario
from labkit.faults.schedule import Injection, Schedule
from labkit.faults.trace import Line
from labkit.faults.world import Photograph, World
from labkit.tables import create_tables
from labkit.task import Task, TaskState

APP, TASK = "shop", "deploy-shop"
REBOOT = 60.0  # virtual seconds until somebody starts a new process
DEFAULT_SEED = 955  # kills right after an effect, in minute eight
NURSERY = Nursery(["labkit.demo", "labkit.faults.warming:warm"], reuse=True)


def prepare(process: Process) -> None:
    """Somebody asks for the deployment."""
    create_tables(process.engine, metadata)
    process.store.save(Task(id=TASK, user_input=APP))


def durably(process: Process) -> str:
    """What each process runs, the first one and those that take over."""
    work = deployment(process.cloud, process.clock, StepLog(process.engine))
    return resume_task(process.store, TASK, work).state.value


def naively(process: Process) -> str:
    """The same without durable steps and without keys."""
    return resume_task(process.store, TASK, naive_deployment(process.cloud, process.clock)).state.value


@dataclass(frozen=True)
class Life:
    """One process, from the outside.

    `place` is where it was to be killed, number `killed_at` of `places`; None, and 0 of 0, for one that may end by itself. The rest is what the
    world showed when it had ended.
    """

    outcome: Outcome
    place: Line | None
    killed_at: int
    places: int
    began: float  # virtual seconds
    ended: float
    effects: int
    recorded: tuple[str, ...]  # steps that the log says are done
    state: str  # of the stored task


@dataclass(frozen=True)
class Story:
    """All processes of one deployment and what was left of it."""

    naive: bool
    lives: tuple[Life, ...]
    end: End

    @property
    def wrong(self) -> list[str]:
        """What is wrong, one sentence each; nothing when all is well."""
        state = self.end.tasks.get(TASK, {}).get("state", "gone")
        unrecorded = [] if self.naive else [step.name for step in STEPS if step.name not in recorded(self.end.rows)]
        found = [str(life.outcome) for life in self.lives[:-1] if life.outcome.how != "crashed"]
        found = [f"a process that was to be killed {how}" for how in found]
        found += self._off_plan()
        found += [f"lost: the task is {state}, not completed"] if state != TaskState.COMPLETED else []
        found += [f"lost: no record says that these are done: {', '.join(unrecorded)}"] if unrecorded else []
        return found

    def _off_plan(self) -> list[str]:
        """Where the ledger is not what was planned."""
        planned = Counter(f"{step.effect} {APP}" for step in STEPS)
        happened = Counter(f"{effect.name} {effect.target}" for effect in self.end.effects if effect.changed)
        off = {"lost": planned - happened, "doubled": happened - planned}
        return [f"{word}: {', '.join(calls).replace(f' {APP}', '')}" for word, calls in off.items() if calls]


def recorded(rows: dict[str, list[dict[str, object]]]) -> tuple[str, ...]:
    """The steps that are recorded as done."""
    return tuple(str(row["step"]) for row in rows.get("step_log", []) if row["event"] == "done")


class Stage:
    """A world in which one deployment is tried; each process in it is a real one."""

    def __init__(self, world: World, *, naive: bool = False) -> None:
        body: Body = naively if naive else durably
        self.naive, self.world = naive, world
        self._runner = Runner(Scenario("naive" if naive else "deployment", body, setup=prepare), world)
        self._killer = Killer(self._runner, NURSERY)

    @cached_property
    def places(self) -> list[Line]:
        """Every place in which p1 can die, in order."""
        return self._rehearse(1, self._runner.start)

    def _rehearse(self, number: int, start: Photograph) -> list[Line]:
        """The places of a process that goes on from `start`; the world is put back."""
        rehearsal = self._runner.once(start, number, (self._runner.scenario.restarted,))
        self.world.put_back(start)
        return rehearsal.places()

    def play(self, kill_at: Sequence[int]) -> Story:
        """Kill p1 at the first of these places, p2 at the second, ...; the process after the last kill runs to its end."""
        places = self.places
        self.world.put_back(self._runner.start)
        lives: list[Life] = []
        for number, kill in enumerate(kill_at, start=1):
            if number > 1:
                places = self._rehearse(number, self.world.photograph())
            if not 1 <= kill <= len(places):
                raise UsageError(f"p{number} has no place {kill} to die in, only 1 to {len(places)}")
            lives.append(self._live(number, places[kill - 1], kill, len(places)))
            self.world.clock.sleep(REBOOT)
        lives.append(self._live(len(lives) + 1))
        end = self._runner.end(Schedule(), [Generation([life.outcome for life in lives])])
        return Story(self.naive, tuple(lives), end)

    def _live(self, number: int, place: Line | None = None, kill: int = 0, places: int = 0) -> Life:
        began = self.world.clock.elapsed
        faults = (Injection(number, place.number, place.side, Fault("crash")),) if place else ()
        outcome = self._killer.process(number, faults)
        ended, rows = self.world.clock.elapsed, self.world.rows()
        state = next((str(row["state"]) for row in rows["tasks"]), "gone")
        return Life(outcome, place, kill, places, began, ended, len(self.world.ledger.entries()), recorded(rows), state)


def main(kill_at: int | Sequence[int] | None = None, seed: int | None = None, naive: bool = False) -> int:
    """Play one deployment and print it. Returns 0 when nothing was lost or doubled, else 1; `UsageError` for a place that is none."""
    with World("sqlite", durable=True) as world:
        stage = Stage(world, naive=naive)
        places = [kill_at] if isinstance(kill_at, int) else list(kill_at or ())
        rng = random.Random(DEFAULT_SEED if seed is None else seed)  # an input of the run, not a secret
        story = stage.play(places or [rng.randint(1, len(stage.places))])
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    print(tell(story, colour=colour))
    return 1 if story.wrong else 0
