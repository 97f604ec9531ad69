"""Every crash point of a run, and every crash point of every recovery, until no new state appears.

The sweep runs the scenario once, then again with the fault at each side of each crossing. A crash leaves a durable state; from each *distinct* one a restarted
process is run, and crashed at each of its crossings in turn, and so on. When no new state appears the closure is complete: any number of crashes in a row
is covered. Programs whose states never end are capped, and the report says so. One that asks for its process's name or randomness may do something else
in each process: from then on a state is gone on from by every process that finds it, up to the cap.

Not handled here: several actors at once (see `interleave`), and judging (see `report`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from labkit.faults.runner import Generation, Runner
from labkit.faults.scenario import Body, End
from labkit.faults.schedule import Schedule
from labkit.faults.world import Photograph
from labkit.plural import counted

MOST_RUNS = 2_000
MOST_CRASHES = 8
MOST_STUCK = 25  # runs whose code would not stop: each keeps what it holds for ever


@dataclass(frozen=True)
class State:
    """A distinct durable state: how it was first reached, and what it is called."""

    key: str
    schedule: Schedule
    photograph: Photograph
    crashes: int


@dataclass
class Closure:
    """What a sweep covered. `reached` maps each place of a crash to the state it left; `capped` says where it stopped before it was complete."""

    crash_points: int = 0
    struck: int = 0  # runs in which the fault happened, whatever came of it
    runs: int = 0
    states: dict[str, State] = field(default_factory=dict)
    capped: str = ""
    reached: list[tuple[str, str, str]] = field(
        default_factory=list
    )  # (state before, token of the crash, state it left)
    deepest: int = 0
    stuck: int = 0

    @property
    def closed(self) -> bool:
        """No state is left from which nobody went on."""
        return not self.capped

    def __str__(self) -> str:
        places = counted(self.crash_points, "crash point") if self.crash_points else counted(self.struck, "fault")
        how = f"capped at {self.capped}" if self.capped else "closed"
        return f"{places}, {counted(len(self.states), 'distinct state')}, {counted(self.runs, 'run')}, {how}"


def sweep_runs(
    runner: Runner,
    faults: Sequence[str] = ("crash",),
    closure: Closure | None = None,
    *,
    most_runs: int = MOST_RUNS,
    most_crashes: int = MOST_CRASHES,
    left: Callable[[End], None] = lambda end: None,
) -> Iterator[tuple[End, str]]:
    """Yield (end, key of the state it went on from) of each run that came to an end; fill `closure` with what was covered.

    `faults` strike in the first process; restarted ones only crash. `left` is told of each new state that a crash left, before anybody goes on from it.
    """
    sweep = _Sweep(runner, closure if closure is not None else Closure(), (most_runs, most_crashes), left)
    first = sweep.first_state()
    while sweep.waiting:
        state = sweep.waiting.popleft()
        yield from sweep.go_on(state, faults if state is first else ("crash",))


class _Sweep:
    """One sweep under way: what is done, and which states still wait for somebody to go on from them."""

    def __init__(self, runner: Runner, done: Closure, most: tuple[int, int], left: Callable[[End], None]) -> None:
        self.runner, self.done, self.left = runner, done, left
        self.most_runs, self.most_crashes = most
        self.waiting: deque[State] = deque()
        self.told_apart = False  # the code has asked which process it is: who goes on from a state matters
        self.alike: dict[tuple[str, int], State] = {}  # until then: states that an earlier process had gone on from

    def first_state(self) -> State:
        """The state before anything ran. What restarts there is another program when the scenario has one for it, and then it is another state."""
        self.runner.world.put_back(self.runner.start)
        key = self.runner.world.key()
        mark = "" if self.runner.scenario.recover is None else "first "
        return self._new(State(mark + key, Schedule(), self.runner.start, 0))

    def go_on(self, state: State, faults: Sequence[str]) -> Iterator[tuple[End, str]]:
        """The run that goes on from a state, and the same run with each fault at each crossing."""
        runner, done = self.runner, self.done
        number, bodies = self._who(state)
        before = Generation(struck=list(state.schedule.injections))
        base = runner.once(state.photograph, number, bodies)
        done.runs += 1
        done.deepest = max(done.deepest, state.crashes)
        self._tell_apart(state, base)
        yield runner.end(state.schedule, [before, base]), state.key
        if any(outcome.how == "endless" for outcome in base.outcomes):
            done.capped = "a run without end"  # it has no last crossing
            return
        for injection in base.injections(number, faults):
            if done.runs >= self.most_runs or done.stuck >= MOST_STUCK:
                done.capped = (
                    f"{done.stuck} runs that would not stop" if done.stuck >= MOST_STUCK else f"{done.runs} runs"
                )
                return
            schedule = state.schedule.plus(injection)
            run = runner.once(state.photograph, number, bodies, (injection,))
            done.runs += 1
            done.struck += bool(run.struck)
            done.stuck += run.stuck
            self._tell_apart(state, run)
            if not _died(run):
                yield runner.end(schedule, [before, run]), state.key
            if run.needs_restart:
                self._remember(state, schedule, [before, run])

    def _who(self, state: State) -> tuple[int, tuple[Body, ...]]:
        scenario = self.runner.scenario
        if state.crashes == 0:
            return 1, scenario.bodies
        return len(scenario.bodies) + state.crashes, (scenario.restarted,)

    def _new(self, state: State) -> State:
        self.done.states[state.key] = state
        self.waiting.append(state)
        return state

    def _tell_apart(self, state: State, run: Generation) -> None:
        """From the first process on that asked which one it is, no state is taken for one that another process had gone on from."""
        first_alone = state.crashes == 0 and self.runner.scenario.recover is not None  # nobody else runs what it runs
        if self.told_apart or not run.told_apart or first_alone:
            return
        self.told_apart = True
        for (key, crashes), found in self.alike.items():
            self._wait_for(replace(found, key=_for_one(key, crashes)))
        self.done.reached = [
            (before, token, _for_one(key, n) if (key, n := self.done.states[before].crashes + 1) in self.alike else key)
            for before, token, key in self.done.reached
        ]
        self.alike.clear()

    def _remember(self, state: State, schedule: Schedule, generations: list[Generation]) -> None:
        """Note the state that the world is in now; one that is new waits for its own sweep."""
        key, crashes = self.runner.world.key(), state.crashes + 1
        known = self.done.states.get(key)
        again = known is not None and known.crashes != crashes  # it was left before, to a process with another name
        if again and self.told_apart:
            key = _for_one(key, crashes)
        if schedule.injections[-1].fault.kind == "crash":
            self.done.crash_points += 1
            self.done.reached.append((state.key, str(self.runner.token(schedule)), key))
        if again and not self.told_apart and (key, crashes) not in self.alike:
            self.alike[key, crashes] = State(key, schedule, self.runner.world.photograph(), crashes)
        if key in self.done.states:
            return
        if self._wait_for(State(key, schedule, self.runner.world.photograph(), crashes)):
            self.left(self.runner.end(schedule, generations))

    def _wait_for(self, state: State) -> bool:
        """Let a new state wait for its own sweep, unless too many crashes led to it."""
        if state.crashes > self.most_crashes:
            self.done.capped = f"{counted(self.most_crashes, 'crash', 'crashes')} in a row"
            return False
        self._new(state)
        return True


def _for_one(key: str, crashes: int) -> str:
    """The key of a state together with the process that goes on from it."""
    return f"{key} p{crashes + 1}"


def _died(run: Generation) -> bool:
    return any(outcome.how in ("crashed", "hung") for outcome in run.outcomes)
