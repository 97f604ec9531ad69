"""Runs a scenario under one schedule, the same way every time.

A process that crashes (or hangs, and is killed) is followed by a restarted one with fresh objects, until one ends. `once` runs a single
generation from a photographed state, which is what the engines need; `replay` runs a whole schedule from the start and returns its trace.

Not handled here: which schedules to run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from labkit.clock import STORY_BEGINS
from labkit.database import parse_time
from labkit.faults.baton import Actor, Baton
from labkit.faults.gate import Alone, Gate
from labkit.faults.process import Outcome, Process, plain, run_body
from labkit.faults.scenario import Body, Call, End, Scenario
from labkit.faults.schedule import Injection, Schedule, Token
from labkit.faults.trace import Line, Trace, rename_ids
from labkit.faults.world import Photograph, World
from labkit.store import JsonFileStore
from labkit.task import TaskState

MOST_RESTARTS = 25
Choose = Callable[[Sequence[Actor], "Actor | None"], Actor]


@dataclass
class Generation:
    """What the processes that ran at the same time did: one, or several actors."""

    outcomes: list[Outcome] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    struck: list[Injection] = field(default_factory=list)
    moved: list[Injection] = field(default_factory=list)
    deadlock: str = ""

    @property
    def needs_restart(self) -> bool:
        """Whether somebody died, hung or was interrupted, so that a new process must take over."""
        return any(o.how in ("crashed", "hung") or (o.how == "raised" and "Exception" not in o.error["bases"]) for o in self.outcomes)

    def places(self) -> list[Line]:
        """All crossings, as places where a fault can sit."""
        return [line for line in self.lines if line.kind == "cross"]


class Runner:
    """One scenario in one world. `database` is memory, sqlite or postgres (then `url` names an empty database)."""

    def __init__(self, scenario: Scenario, world: World) -> None:
        self.scenario, self.world = scenario, world
        self._set_the_scene()
        self.start = world.photograph()

    def _set_the_scene(self) -> None:
        gate = Gate("p0", (), [], self.world.clock, Alone(self.world.clock), later=self.world.send_late)
        process = Process(self.world, gate, store=self.scenario.store)
        try:
            self.scenario.setup(process)
        finally:
            process.end()

    def once(self, start: Photograph, first: int, bodies: Sequence[Body], faults: Sequence[Injection] = (), choose: Choose | None = None) -> Generation:
        """Put the world back to `start` and run one generation of processes, named from p`first` on."""
        self.world.put_back(start)
        return self.generation(first, bodies, faults, choose)

    def generation(self, first: int, bodies: Sequence[Body], faults: Sequence[Injection] = (), choose: Choose | None = None) -> Generation:
        """The same from the world as it is now."""
        made = Generation()
        world = self.world
        server: Any = world.database if len(bodies) > 1 and world.kind == "postgres" else None
        stage = Baton(world.clock, choose, server)
        gates: list[Gate] = []
        outcomes: list[Outcome | None] = [None] * len(bodies)

        def add(index: int, body: Body) -> None:
            number = first + index
            name = f"p{number}"

            def play(actor: Actor) -> None:
                mine = [i for i in faults if i.process == number]
                gate = Gate(name, mine, made.lines, world.clock, actor, later=world.send_late)  # type: ignore[arg-type]  # leave() never returns
                gates.append(gate)
                gate.tell("start", "restarted" if number > len(self.scenario.bodies) else "runs")
                process = Process(world, gate, store=self.scenario.store, locks=actor)
                outcomes[index] = run_body(process, body)
                process.end()
                self._tell_end(gate, outcomes[index])

            actors.append(stage.add(play))

        actors: list[Actor] = []
        for index, body in enumerate(bodies):
            add(index, body)
        stage.run()
        for index, actor in enumerate(actors):
            made.outcomes.append(outcomes[index] or self._left(first + index, actor, made.lines))
        made.struck = [i for gate in gates for i in gate.struck]
        made.moved = [i for gate in gates for i in gate.moved]
        made.deadlock = stage.deadlock
        return made

    def _tell_end(self, gate: Gate, outcome: Outcome | None) -> None:
        if outcome is not None:
            text = str(outcome)
            gate.tell("end", outcome.how, "" if text == outcome.how else text)

    def _left(self, number: int, actor: Actor, lines: list[Line]) -> Outcome:
        """The outcome of a process whose code never came back."""
        how = actor.left or "hung"
        lines.append(Line("end", f"p{number}", self.world.clock.elapsed, label=how))
        return Outcome(f"p{number}", how)

    def end(self, schedule: Schedule, generations: Sequence[Generation]) -> End:
        """What the world shows now, after late requests have arrived."""
        self.world.deliver()
        outcomes = tuple(o for g in generations for o in g.outcomes)
        struck = {i for g in generations for i in g.struck}
        return End(
            token=str(self.token(schedule)),
            outcomes=outcomes,
            effects=tuple(self.world.ledger.entries()),
            tasks=self._tasks(),
            files={name: content.decode("utf-8", "backslashreplace") for name, content in self.world.files().items()},
            rows={name: rows for name, rows in plain_rows(self.world.rows()).items() if name != "tasks"},
            calls=tuple(_call(line) for g in generations for line in g.places() if line.side == "before" and line.boundary != "sql"),
            seconds=self.world.clock.elapsed,
            unreached=tuple(str(i) for i in schedule.injections if i not in struck),
            moved=tuple(str(i) for g in generations for i in g.moved),
            notes=tuple(Call(x.process, "note", x.label, x.time, x.text) for g in generations for x in g.lines if x.kind == "note"),
            deadlock="; ".join(g.deadlock for g in generations if g.deadlock),
        )

    def _tasks(self) -> dict[str, dict[str, Any]]:
        if self.scenario.store != "json":
            return {row["id"]: row for row in plain_rows(self.world.rows()).get("tasks", [])}
        path = self.world.files_folder / "tasks.json"
        if not path.exists():
            return {}
        store = JsonFileStore(path, self.world.clock)
        return {task.id: plain(task) for state in TaskState for task in store.list_by_state(state)}

    def token(self, schedule: Schedule) -> Token:
        return Token(self.scenario.name, self.world.kind, schedule)

    def replay(self, schedule: Schedule, choose: Choose | None = None) -> tuple[End, Trace]:
        """Run a whole schedule from the start. Two replays of one schedule give equal traces, to the byte."""
        bodies, first = self.scenario.bodies, 1
        generations = [self.once(self.start, first, bodies, schedule.injections, choose or follow(schedule.order))]
        while generations[-1].needs_restart and len(generations) <= MOST_RESTARTS:
            first += len(bodies)
            bodies = (self.scenario.restarted,)
            generations.append(self.generation(first, bodies, schedule.injections))
        end = self.end(schedule, generations)
        lines = tuple(rename_ids(line for g in generations for line in g.lines))
        return end, Trace(end.token, lines).with_broken(self.scenario.why_broken(end))


def follow(order: Sequence[tuple[int, int]]) -> Choose:
    """Who moves next according to an order; where it says nothing, the current actor goes on."""
    moves = [actor for actor, times in order for _ in range(times)]
    taken = iter(moves)

    def choose(ready: Sequence[Actor], current: Actor | None) -> Actor:
        wanted = next(taken, None)
        chosen = [actor for actor in ready if actor.number == wanted]
        return chosen[0] if chosen else current if current in ready and current is not None else ready[0]

    return choose


def _call(line: Line) -> Call:
    return Call(line.process, line.boundary, line.label, line.time, line.fault)


def plain_rows(rows: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Rows as plain data, the same for both databases: times as ISO text in UTC."""
    return {name: [{column: _plain_value(column, value) for column, value in row.items()} for row in found] for name, found in rows.items()}


def _plain_value(column: str, value: Any) -> Any:
    if column.endswith("_at") and value is not None:
        return parse_time(value).astimezone(STORY_BEGINS.tzinfo).isoformat()
    return plain(value)
