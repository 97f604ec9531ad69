"""The same crash points with real processes and a real SIGKILL.

Each process of the scenario is a child of its own, on a SQLite file or on PostgreSQL, with the ledger and the clock in files. A crash of the schedule is a SIGKILL
that the child gets exactly at that crossing: no `finally` runs, no buffer is flushed, the server finds a broken socket. What is left must be what the raised
crash of `sweep` leaves; that they are equal is tested for every crossing of every check.

Not handled here: faults that need a world in one process (late arrivals), and several actors at the same time.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from typing import Any

import cloudpickle  # type: ignore[import-untyped]

from labkit.errors import LabkitError
from labkit.faults.gate import Alone, Gate
from labkit.faults.nursery import SIGKILL, Child, Nursery, Report
from labkit.faults.process import Outcome, Process, run_body
from labkit.faults.runner import MOST_RESTARTS, Generation, Runner
from labkit.faults.scenario import End, Scenario
from labkit.faults.schedule import Injection, Schedule, fingerprint
from labkit.faults.world import World

STALL = 20.0  # real seconds without a word after which a child is given up
NURSERY = Nursery(["labkit.faults.kill"])


class ChildFailed(LabkitError):
    """A child of the kill engine broke for a reason that is not the scenario's."""


class Killer:
    """Runs the processes of one scenario as real ones. The runner's world must be `durable`, on sqlite or postgres."""

    def __init__(self, runner: Runner, nursery: Nursery = NURSERY) -> None:
        self.runner, self.world, self._nursery = runner, runner.world, nursery
        self._scenario = base64.b64encode(cloudpickle.dumps(runner.scenario)).decode()

    def process(self, number: int, faults: tuple[Injection, ...] = (), *, body: int | None = 0) -> Outcome:
        """Run process p`number` in a child: body number `body` of the scenario, or the restarted one (None). Returns how it ended."""
        where = {"kind": self.world.kind, "folder": str(self.world.folder), "url": self.world.database.url}
        places = [str(fault) for fault in faults if fault.process == number]
        child = self._nursery.start("labkit.faults.kill:play", scenario=self._scenario, where=where, number=number, faults=places, body=body)
        try:
            outcome = self._listen(child, number)
        finally:
            settle = getattr(self.world.database, "settle", None)
            if settle is not None:
                settle()
            self.world.catch_up()
        return outcome

    def _listen(self, child: Child, number: int) -> Outcome:
        said: dict[str, Any] = {}
        try:
            for report in child.reports(STALL, STALL):
                said = report
        except TimeoutError:
            child.kill()
            child.wait()
            return Outcome(f"p{number}", "hung")
        status = child.wait()
        if "failed" in said:
            raise ChildFailed(str(said["failed"]))
        return Outcome(**said) if said and status == 0 else Outcome(f"p{number}", "crashed" if status == -SIGKILL else "hung")

    def run(self, schedule: Schedule) -> End:
        """Run a whole schedule from the start, every process a real one."""
        self.world.put_back(self.runner.start)
        made = Generation()
        made.outcomes = [self.process(1, schedule.injections)]
        while made.outcomes[-1].how in ("crashed", "hung") and len(made.outcomes) <= MOST_RESTARTS:
            made.outcomes.append(self.process(len(made.outcomes) + 1, schedule.injections, body=None))
        made.struck = list(schedule.injections)
        return self.runner.end(schedule, [made])


def crash_points(runner: Runner) -> list[Injection]:
    """A crash at each side of each crossing of the first process, run alone."""
    base = runner.once(runner.start, 1, runner.scenario.bodies[:1])
    crash = Schedule.parse("p1@1.before+crash").injections[0].fault
    return [Injection(1, p.number, p.side, crash, stood_there=fingerprint(p.boundary, p.label)) for p in base.places()]


def kill_runs(runner: Runner, nursery: Nursery = NURSERY) -> Iterator[tuple[End, str]]:
    """Yield (end, token) of a run with a real SIGKILL at each crossing of the first process, restarted until it ends."""
    killer = Killer(runner, nursery)
    for injection in crash_points(runner):
        end = killer.run(Schedule((injection,)))
        yield end, end.token


def play(report: Report, *, scenario: str, where: dict[str, Any], number: int, faults: list[str], body: int | None) -> None:
    """In the child: join the world, run one process to its end, say how it ended. A crash never gets that far."""
    what: Scenario = cloudpickle.loads(base64.b64decode(scenario))  # noqa: S301  (our own parent's bytes)
    from pathlib import Path

    world = World(where["kind"], folder=Path(where["folder"]), url=where["url"], durable=True, attach=True)
    places = [Injection.parse(text) for text in faults]
    gate = Gate(f"p{number}", places, [], world.clock, Alone(world.clock), later=world.send_late, die=lambda: os.kill(os.getpid(), SIGKILL))
    process = Process(world, gate, store=what.store)
    outcome = run_body(process, what.bodies[body] if body is not None else what.restarted)
    process.end()
    report({"process": outcome.process, "how": outcome.how, "value": outcome.value, "error": outcome.error})
