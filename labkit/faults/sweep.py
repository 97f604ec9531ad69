"""Every crash point of a run, and every crash point of every recovery, until no new state appears.

The sweep runs the scenario once, then again with the fault at each side of each crossing. A crash leaves a durable state; from each *distinct* one a restarted
process is run, and crashed at each of its crossings in turn, and so on. When no new state appears the closure is complete: any number of crashes in a row
is covered. Programs whose states never end are capped, and the report says so.

Not handled here: several actors at once (see `interleave`), and judging (see `report`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from labkit.faults.fault import Fault, fits
from labkit.faults.runner import Generation, Runner
from labkit.faults.scenario import Body, End
from labkit.faults.schedule import Injection, Schedule, fingerprint
from labkit.faults.world import Photograph

MOST_RUNS = 2_000
MOST_CRASHES = 8
MOST_STUCK = 25  # runs whose code would not stop: each keeps a thread for ever


@dataclass(frozen=True)
class State:
    """A distinct durable state: how it was first reached, and what it is called."""

    key: str
    schedule: Schedule
    photograph: Photograph
    crashes: int


@dataclass
class Closure:
    """What a sweep covered. `reached` maps each place of a crash to the state it left."""

    crash_points: int = 0
    runs: int = 0
    states: dict[str, State] = field(default_factory=dict)
    closed: bool = True
    reached: list[tuple[str, str, str]] = field(
        default_factory=list
    )  # (state before, token of the crash, state it left)
    deepest: int = 0
    stuck: int = 0

    def __str__(self) -> str:
        how = "closed" if self.closed else f"capped at {self.runs} runs"
        return f"{self.crash_points} crash points, {len(self.states)} distinct states, {self.runs} runs, {how}"


def sweep_runs(
    runner: Runner,
    faults: Sequence[str] = ("crash",),
    closure: Closure | None = None,
    *,
    most_runs: int = MOST_RUNS,
    left: Callable[[End], None] = lambda end: None,
) -> Iterator[tuple[End, str]]:
    """Yield (end, key of the state it went on from) of each run that came to an end; fill `closure` with what was covered.

    `faults` strike in the first process; restarted ones only crash. `left` is told of each new state that a crash left, before anybody goes on from it.
    """
    done = closure if closure is not None else Closure()
    first = State(_first_key(runner), Schedule(), runner.start, 0)
    done.states[first.key] = first
    waiting = deque([first])
    while waiting:
        state = waiting.popleft()
        done.deepest = max(done.deepest, state.crashes)
        kinds = faults if state.crashes == 0 else ("crash",)
        for end, run in _sweep_state(runner, state, kinds, done, most_runs):
            if run is None or not _died(run[1]):
                yield end(), state.key


def _sweep_state(
    runner: Runner, state: State, faults: Sequence[str], done: Closure, waiting: deque[State], most_runs: int
) -> Iterator[tuple[End, str]]:
    """The run that goes on from a state, and the same run with each fault at each crossing."""
    scenario = runner.scenario
    number = 1 if state.crashes == 0 else len(scenario.bodies) + state.crashes
    bodies: tuple[Body, ...] = scenario.bodies if state.crashes == 0 else (scenario.restarted,)
    base = runner.once(state.photograph, number, bodies)
    done.runs += 1
    yield runner.end(state.schedule, [base]), state.key
    if any(outcome.how == "endless" for outcome in base.outcomes):
        done.closed = False  # a run without end has no last crossing
        return
    for injection in _places(base, number, faults):
        if done.runs >= most_runs or done.stuck >= MOST_STUCK:
            done.closed = False
            return
        schedule = state.schedule.plus(injection)
        run = runner.once(state.photograph, number, bodies, (injection,))
        done.runs += 1
        done.stuck += run.stuck
        if not _died(run):
            yield runner.end(schedule, [run]), state.key
        if run.needs_restart:
            left = _remember(runner, done, schedule, state, waiting)
            if injection.fault.kind == "crash":
                done.crash_points += 1
                done.reached.append((state.key, str(runner.token(schedule)), left))


def _places(base: Generation, process: int, faults: Sequence[str]) -> Iterator[Injection]:
    """Each of these faults at each place where it can sit."""
    kinds = [Fault.parse(text) for text in faults]
    for place in base.places():
        mark = fingerprint(place.boundary, place.label)
        for fault in kinds:
            if fits(fault.kind, place.boundary, place.side):
                yield Injection(process, place.number, place.side, fault, stood_there=mark)


def _died(run: Generation) -> bool:
    return any(outcome.how in ("crashed", "hung") for outcome in run.outcomes)


def _remember(runner: Runner, done: Closure, schedule: Schedule, state: State, waiting: deque[State]) -> str:
    """Note the state that the world is in now; one that is new waits for its own sweep. Returns its key."""
    key = runner.world.key()
    if key not in done.states and state.crashes < MOST_CRASHES:
        done.states[key] = State(key, schedule, runner.world.photograph(), state.crashes + 1)
        waiting.append(done.states[key])
    elif key not in done.states:
        done.closed = False
    return key


def _first_key(runner: Runner) -> str:
    """The state before anything ran. What restarts there is another program when the scenario has one for it, so it is another state then."""
    runner.world.put_back(runner.start)
    return runner.world.key() if runner.scenario.recover is None else f"first {runner.world.key()}"
