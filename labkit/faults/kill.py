"""The same crash points with real processes and a real SIGKILL.

Each process of the scenario is a child of its own, on a SQLite file or on PostgreSQL, with the ledger and the clock in files. A crash of the schedule
is a SIGKILL that the child gets exactly at that crossing: no `finally` runs, no buffer is flushed, the server finds a broken socket. What is left
must be what the raised crash of `sweep` leaves (see `fidelity`).

Not handled here: faults that need a world in one process (late arrivals), and several actors at the same time.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from signal import raise_signal
from typing import Any

import cloudpickle  # type: ignore[import-untyped]

from labkit.errors import LabkitError
from labkit.faults.child import SIGKILL, Child
from labkit.faults.gate import Alone, Gate
from labkit.faults.held import HeldLedger
from labkit.faults.nursery import Nursery, Report
from labkit.faults.process import Outcome, Process, run_body
from labkit.faults.runner import MOST_RESTARTS, Generation, Runner
from labkit.faults.scenario import End, Scenario
from labkit.faults.schedule import Injection, Schedule
from labkit.faults.world import World

STALL = 20.0  # real seconds without a word after which a child is given up
NURSERY = Nursery(["labkit.faults.kill", "labkit.faults.warming:warm"], reuse=True)


class ChildFailed(LabkitError):
    """A child of the kill engine broke for a reason that is not the scenario's."""


class Killer:
    """Runs the processes of one scenario as real ones. The runner's world must be `durable`, on sqlite or postgres.

    `job` is what a child does, as (module:function, arguments of its own): by default it gets the scenario, pickled, and plays it.
    """

    def __init__(
        self, runner: Runner, nursery: Nursery = NURSERY, job: tuple[str, dict[str, Any]] | None = None
    ) -> None:
        self.runner, self.world, self._nursery = runner, runner.world, nursery
        self._target, self._arguments = job or ("labkit.faults.kill:play", {"scenario": _pickled(runner.scenario)})

    def process(self, number: int, faults: tuple[Injection, ...] = (), *, body: int | None = 0) -> Outcome:
        """Run process p`number` in a child: body number `body` of the scenario, or the restarted one (None). Returns how it ended."""
        return self.generation(number, faults, body=body).outcomes[0]

    def generation(self, number: int, faults: tuple[Injection, ...] = (), *, body: int | None = 0) -> Generation:
        """The same with all that the child told."""
        where = self.where()
        places = [str(fault) for fault in faults if fault.process == number]
        it = {"where": where, "number": number, "faults": places, "body": body}
        child = self._nursery.start(self._target, doomed=bool(places), **it, **self._arguments)
        try:
            return self.listen(child, number)
        finally:
            self.world.catch_up()

    def where(self) -> dict[str, Any]:
        """How a child finds the world."""
        return {"kind": self.world.kind, "folder": str(self.world.folder), "url": self.world.database.url}

    def listen(self, child: Child, number: int) -> Generation:
        """Hear a child to its end."""
        said: dict[str, Any] = {}
        try:
            for report in child.reports(STALL, STALL):
                said = report
        except TimeoutError:
            child.kill()
        status = child.wait()
        self.world.locks.update(said.get("locks", ()))
        if "failed" in said:
            raise ChildFailed(str(said["failed"]))
        outcome = Outcome(**said["outcome"]) if said.get("outcome") else None
        if outcome is None:
            outcome = Outcome(f"p{number}", "crashed" if said and status == -SIGKILL else "hung")
        return told(said, outcome)

    def run(self, schedule: Schedule) -> End:
        """Run a whole schedule from the start, every process a real one."""
        self.world.put_back(self.runner.start)
        made = [self.generation(1, schedule.injections)]
        while made[-1].needs_restart and len(made) <= MOST_RESTARTS:
            made.append(self.generation(len(made) + 1, schedule.injections, body=None))
        return self.runner.end(schedule, made)


def crash_points(runner: Runner) -> list[Injection]:
    """A crash at each side of each crossing of the first process, run alone."""
    return list(runner.once(runner.start, 1, runner.scenario.bodies[:1]).injections(1, ("crash",)))


def kill_runs(runner: Runner, nursery: Nursery = NURSERY) -> Iterator[tuple[End, str]]:
    """Yield (end, token) of a run with a real SIGKILL at each crossing of the first process, restarted until it ends."""
    killer = Killer(runner, nursery)
    for injection in crash_points(runner):
        end = killer.run(Schedule((injection,)))
        yield end, end.token


def told(said: dict[str, Any], outcome: Outcome) -> Generation:
    """The last word of a child as a generation of one process."""
    return Generation(
        [outcome],
        [tuple(record) for record in said.get("record", [])],
        [Injection.parse(place) for place in said.get("struck", [])],
        [(Injection.parse(place), there) for place, there in said.get("moved", [])],
    )


def _held(world: World, path: str, tell: Callable[[], dict[str, Any]]) -> HeldLedger:
    """Have the world's ledger and clock where somebody else holds them."""
    world.ledger = ledger = HeldLedger(path, tell)
    world.clock.elapsed, world.clock.step = ledger.elapsed, ledger.step
    world.write_clock = lambda: ledger.move(world.clock.elapsed, world.clock.step)  # type: ignore[method-assign]
    return ledger


def _pickled(scenario: Scenario) -> str:
    return base64.b64encode(cloudpickle.dumps(scenario)).decode()


def play(report: Report, *, scenario: str, **it: Any) -> None:
    """In the child: `live` the pickled scenario."""
    live(report, cloudpickle.loads(base64.b64decode(scenario)), **it)


def live(
    report: Report, scenario: Scenario, *, where: dict[str, Any], number: int, faults: list[str], body: int | None
) -> None:
    """Join the world, run one process to its end, say how it ended. A crash tells what was and gets no further."""
    world = World(where["kind"], folder=Path(where["folder"]), url=where["url"], durable=True, attach=True)
    places = [Injection.parse(text) for text in faults]

    def so_far(struck: list[Injection]) -> dict[str, Any]:
        moved = [(str(injection), there) for injection, there in gate.moved]
        return {"record": gate.record, "struck": [str(injection) for injection in struck], "moved": moved, "locks": sorted(world.locks)}

    def tell(gate: Gate, outcome: Outcome | None = None) -> None:
        report(so_far(gate.struck) | ({"outcome": vars(outcome)} if outcome is not None else {}))

    def die(gate: Gate) -> None:
        tell(gate)
        if ledger is not None:
            ledger.wait_for_the_end()
        raise_signal(SIGKILL)

    ledger = _held(world, where["held"], lambda: so_far(places) if places else {}) if "held" in where else None
    gate = Gate(f"p{number}", places, [], world.clock, Alone(world.clock), later=world.send_late, die=die)
    gate.tell("start", "restarted" if body is None else "runs")
    played = scenario.restarted if body is None else scenario.bodies[body]
    outcome = run_body(Process(world, gate, store=scenario.store), played)
    gate.close()
    world.close()
    gate.tell("end", outcome.how, "" if str(outcome) == outcome.how else str(outcome))
    tell(gate, outcome)
