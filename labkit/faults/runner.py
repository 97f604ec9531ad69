"""Runs a scenario under one schedule, the same way every time.

A process that crashes (or hangs, and is killed) is followed by a restarted one with fresh objects, until one ends. `once` runs a single
generation from a photographed state, which is what the engines need; `run` runs a whole schedule from the start, and `replay` shows it as a trace.

Not handled here: which schedules to run (see `sweep`, `interleave`, `search`), and what an end shows (see `ending`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from labkit.faults.baton import Actor, Baton, Choose, NeedsThreads
from labkit.faults.ending import end_of, plain_rows
from labkit.faults.fault import Fault, fits
from labkit.faults.gate import Alone, Gate
from labkit.faults.outcome import Outcome
from labkit.faults.process import Process, run_body
from labkit.faults.record import Record, lines_of, renamed
from labkit.faults.scenario import Body, End, Scenario
from labkit.faults.schedule import Injection, Schedule, Token, fingerprint
from labkit.faults.trace import Line, Trace
from labkit.faults.world import Photograph, World

__all__ = ["Choose", "Generation", "Runner", "follow", "plain_rows"]

MOST_RESTARTS = 25
UNREACHED, MOVED = "crossing not reached", "something else stands there"  # notes on places of faults


@dataclass
class Generation:
    """What the processes that ran at the same time did: one, or several actors."""

    outcomes: list[Outcome] = field(default_factory=list)
    record: list[Record] = field(default_factory=list)
    struck: list[Injection] = field(default_factory=list)
    moved: list[tuple[Injection, str]] = field(default_factory=list)  # and what stands there now
    deadlock: str = ""
    stuck: int = 0  # actors whose code never came back
    told_apart: bool = False  # somebody's code asked for what no other process has

    @property
    def needs_restart(self) -> bool:
        """Whether somebody died, hung or was interrupted, so that a new process must take over."""
        return any(
            o.how in ("crashed", "hung") or (o.how == "raised" and "Exception" not in o.error["bases"])
            for o in self.outcomes
        )

    @property
    def lines(self) -> list[Line]:
        """What happened, line by line."""
        return lines_of(self.record)

    def places(self) -> list[Line]:
        """All crossings, as places where a fault can sit."""
        return lines_of(record for record in self.record if record[0] == "cross")

    def injections(self, process: int, faults: Sequence[str]) -> Iterator[Injection]:
        """Each of these faults at each place where it can sit, in a process of this number."""
        kinds = [Fault.parse(text) for text in faults]
        for place in self.places():
            mark = fingerprint(place.boundary, place.label)
            for fault in kinds:
                whole = not place.label.startswith("write ")
                if fits(fault.kind, place.boundary, place.side, whole=whole, request=place.label):
                    yield Injection(process, place.number, place.side, fault, stood_there=mark)


class Runner:
    """One scenario in one world."""

    def __init__(self, scenario: Scenario, world: World) -> None:
        self.scenario, self.world = scenario, world
        self._threaded = False  # its code has been seen to need threads
        self._set_the_scene()
        self.start = world.photograph()

    def _set_the_scene(self) -> None:
        gate = Gate("p0", (), [], self.world.clock, Alone(self.world.clock), later=self.world.send_late)
        process = Process(self.world, gate, store=self.scenario.store)
        try:
            self.scenario.setup(process)
        finally:
            process.end()

    def once(
        self,
        start: Photograph,
        first: int,
        bodies: Sequence[Body],
        faults: Sequence[Injection] = (),
        begin: Callable[[], Choose | None] = lambda: None,
    ) -> Generation:
        """Put the world back to `start` and run one generation of processes, named from p`first` on.

        `begin` makes what says who moves next; it is called again when the code turns out to need threads.
        """
        self.world.put_back(start)
        try:
            return self._play(first, bodies, faults, begin())
        except NeedsThreads:
            self._threaded = True
            return self.once(start, first, bodies, faults, begin)

    def generation(self, first: int, bodies: Sequence[Body], faults: Sequence[Injection] = ()) -> Generation:
        """The same from the world as it is now."""
        return self.once(self.world.photograph(), first, bodies, faults)

    def _play(
        self, first: int, bodies: Sequence[Body], faults: Sequence[Injection], choose: Choose | None
    ) -> Generation:
        made = Generation()
        stage = Baton(self.world.clock, choose, self.world.server, threaded=self._threaded)
        outcomes: dict[int, Outcome] = {}
        gates: list[Gate] = []

        def play(number: int, body: Body, actor: Actor) -> None:
            mine = [i for i in faults if i.process == number]
            gate = Gate(f"p{number}", mine, made.record, self.world.clock, actor, later=self.world.send_late)
            gates.append(gate)
            gate.tell("start", "restarted" if number > len(self.scenario.bodies) else "runs")
            process = Process(self.world, gate, store=self.scenario.store, locks=actor)
            outcomes[number] = outcome = run_body(process, body)
            process.end()
            gate.tell("end", outcome.how, "" if str(outcome) == outcome.how else str(outcome))

        actors = [stage.add(partial(play, first + index, body)) for index, body in enumerate(bodies)]
        try:
            stage.run()
        except BaseException:
            for gate in gates:  # who has not ended never will
                gate.close()
            raise
        for number, actor in enumerate(actors, first):
            made.outcomes.append(outcomes.get(number) or self._left(number, actor, made))
        made.struck = [i for gate in gates for i in gate.struck]
        made.moved = [i for gate in gates for i in gate.moved]
        made.told_apart = any(gate.told_apart for gate in gates)
        made.deadlock = stage.deadlock
        made.stuck = sum(bool(actor.left) for actor in actors)
        return made

    def _left(self, number: int, actor: Actor, made: Generation) -> Outcome:
        """The outcome of a process whose code never came back."""
        how = actor.left or "hung"
        made.record.append(("end", f"p{number}", self.world.clock.elapsed, 0, "", "", how, "", ""))
        return Outcome(f"p{number}", how)

    def end(self, schedule: Schedule, generations: Sequence[Generation]) -> End:
        """What the world shows now, after late requests have arrived."""
        return end_of(self.world, self.scenario, self.token(schedule), generations)

    def token(self, schedule: Schedule) -> Token:
        return Token(self.scenario.name, self.world.kind, schedule)

    def run(self, schedule: Schedule) -> tuple[End, list[Generation]]:
        """Run a whole schedule from the start."""
        bodies, first = self.scenario.bodies, 1
        generations = [self.once(self.start, first, bodies, schedule.injections, partial(follow, schedule.order))]
        try:
            while generations[-1].needs_restart and len(generations) <= MOST_RESTARTS:
                first += len(bodies)
                bodies = (self.scenario.restarted,)
                self.world.deliver(self.world.clock.elapsed)  # what is due now comes before the restart
                generations.append(self._play(first, bodies, schedule.injections, None))
        except NeedsThreads:  # all of it is made again: that is rare, and a photograph before each restart costs more
            self._threaded = True
            return self.run(schedule)
        return self.end(schedule, generations), generations

    def replay(self, schedule: Schedule) -> tuple[End, Trace]:
        """The same, shown. Two replays of one schedule give equal traces, to the byte."""
        end, generations = self.run(schedule)
        lines = list(renamed(record for g in generations for record in g.record))
        notes = [Line("note", time=end.seconds, label=UNREACHED, text=place) for place in end.unreached]
        notes += [Line("note", time=end.seconds, label=MOVED, text=it) for it in end.moved]
        return end, Trace(end.token, tuple(lines + notes)).with_broken(self.scenario.why_broken(end))


def follow(order: Sequence[tuple[int, int]]) -> Choose:
    """Who moves next according to an order; where it says nothing, the current actor goes on."""
    taken = iter([actor for actor, times in order for _ in range(times)])

    def choose(ready: Sequence[Actor], current: Actor | None) -> Actor:
        wanted = next(taken, None)
        chosen = [actor for actor in ready if actor.number == wanted]
        return chosen[0] if chosen else current if current in ready and current is not None else ready[0]

    return choose
