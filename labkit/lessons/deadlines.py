"""Chapter 11, step 4 and common error 3: an agent that asks a slow model, and seven ideas of when to give up.

The story's run asks the model eight times and a question takes a minute; the user waits five minutes, counted from the
moment the task was accepted. A way is a function of a process. `unlimited`, `reset_on_restart`, `by_the_wall_clock`,
`whole_limit_for_each_step` and `waits_for_the_deadline` are broken on purpose; `in_time`, `hands_down` and
`waits_for_the_lease` are the same with the smallest difference.

Not handled here: steps that have effects and are tried again (see `retries`), and renewing a lease (see `queue`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from labkit.clock import VirtualClock
from labkit.deadline import Deadline, run_with_deadline
from labkit.errors import CallTimeout, DeadlineExceeded, TaskNotFound
from labkit.faults import End, Process, Scenario, run_once
from labkit.faults.chart_table import Table, bad, good, table
from labkit.faults.paint import seconds
from labkit.faults.scenario import Body
from labkit.faults.trace import Trace
from labkit.lessons.story import APP
from labkit.task import Task, TaskState

TASK = "deploy-shop"
LIMIT = 300.0  # seconds that the user waits
QUESTIONS, THINKS = 8, 60.0  # the work of the run, and the seconds that one question takes
STEP_LIMIT = 120.0  # seconds that a step may take by its own rule
LEASE = 30.0


def accept(process: Process) -> None:
    """The user asks; the store notes when, once and for all."""
    process.store.save(Task(TASK, f"deploy {APP}"))


def read(process: Process) -> Task:
    task = process.store.get(TASK)
    if task is None:
        raise TaskNotFound(f"there is no task {TASK!r}")
    return task


def due(process: Process) -> datetime:
    """The instant after which nobody wants the answer: five minutes after the task came."""
    accepted = read(process).created_at
    assert accepted is not None  # a store fills it in
    return accepted + timedelta(seconds=LIMIT)


def ask(process: Process, thinks: float = THINKS, timeout: float | None = None) -> str:
    """One question to the model. With a timeout it ends by then, and `CallTimeout` says that no answer came."""

    def answer() -> str:
        process.gate.stage.sleep(thinks if timeout is None else min(thinks, timeout))
        if timeout is not None and timeout < thinks:
            raise CallTimeout(f"no answer within {timeout:g} s")
        return "go on"

    return process.gate.cross("http", "ask the model", answer)


def work(process: Process, deadline: Deadline) -> str:
    """The run: before each question it looks whether anything is left."""
    for _ in range(QUESTIONS):
        deadline.for_step()
        ask(process)
    return "deployed"


def unlimited(process: Process) -> str:
    """Common error 3, the BAD listing. Breaks when one answer never comes."""
    for _ in range(QUESTIONS):
        ask(process)
    return "deployed"


def reset_on_restart(process: Process) -> str:
    """Step 4: five minutes from the start of this process. Breaks on a crash: five new ones."""
    deadline = Deadline.after(LIMIT, process.clock)
    return work(process, deadline)


def in_time(process: Process) -> str:
    """Five minutes from the moment that the store wrote down."""
    deadline = Deadline(due(process), process.clock)
    return work(process, deadline)


def by_the_wall_clock(process: Process) -> str:
    """The right instant, held against the wall clock. Breaks when somebody sets that clock."""
    at = due(process)
    for _ in range(QUESTIONS):
        if process.clock.now() >= at:
            raise DeadlineExceeded()
        ask(process)
    return "deployed"


def whole_limit_for_each_step(process: Process, thinks: float = 110.0) -> str:
    """A limit for the run and one for each step, side by side. Breaks on the last step: it starts in time and ends late."""
    deadline = Deadline(due(process), process.clock)
    for _ in range(QUESTIONS):
        deadline.for_step()
        ask(process, thinks, timeout=STEP_LIMIT)
    return "deployed"


def hands_down(process: Process, thinks: float = 110.0) -> str:
    """Each step gets its own limit or what is left, whichever is less."""
    deadline = Deadline(due(process), process.clock)
    for _ in range(QUESTIONS):
        ask(process, thinks, timeout=deadline.for_step(STEP_LIMIT))
    return "deployed"


def three_questions(process: Process) -> str:
    """A short run under a lease: after each question it says "I am alive" for another half minute."""
    deadline = Deadline(due(process), process.clock)
    for _ in range(3):
        deadline.for_step()
        alive = process.clock.now() + timedelta(seconds=THINKS + LEASE)
        process.store.save(replace(read(process), state=TaskState.RUNNING, lease_expires_at=alive))
        ask(process)
    return "deployed"


def sleep_until(process: Process, at: datetime) -> None:
    process.clock.sleep((at - process.clock.now()).total_seconds())


def waits_for_the_deadline(process: Process) -> str:
    """A second worker that takes over when the deadline has passed. Breaks always: then it is too late."""
    sleep_until(process, due(process))
    return three_questions(process)


def waits_for_the_lease(process: Process) -> str:
    """A second worker that takes over when the first one has been silent for too long."""
    expires = read(process).lease_expires_at
    if expires is not None:
        sleep_until(process, expires)
    return three_questions(process)


def next_morning(process: Process) -> str:
    """Nobody restarts what merely hangs. On Saturday at nine somebody looks."""
    process.clock.sleep(16 * 3600.0)
    return str(read(process).state)


def ends_by_the_deadline(end: End) -> str | None:
    """An invariant: the user hears something within five minutes."""
    stuck = [outcome.process for outcome in end.outcomes if outcome.how in ("hung", "endless")]
    if stuck:
        return f"{stuck[0]} hangs, and the user hears nothing"
    return f"the user heard after {seconds(end.seconds)}" if end.seconds > LIMIT else None


def gives_up_no_sooner(end: End) -> str | None:
    """An invariant: nobody says "too late" while there is time."""
    given_up = end.last.how == "raised" and "DeadlineExceeded" in end.last.error["bases"]
    left = LIMIT - end.seconds
    return f"given up with {seconds(left)} left" if given_up and left > 0 else None


def answers(end: End) -> str | None:
    """An invariant: the work gets done."""
    return None if end.last.how == "returned" else f"no answer: {end.last.error.get('type', end.last.how)}"


def gets_done(end: End) -> bool:
    """A goal: some run is not killed by its deadline but ends with one."""
    return "DeadlineExceeded" in end.last.error.get("bases", [])


def run(way: Body, name: str = "") -> Scenario:
    """The run under a way to give up: not too late, and not too soon."""
    rules = [ends_by_the_deadline, gives_up_no_sooner]
    return Scenario(name or way.__name__, way, rules, setup=accept, goal=gets_done)


no_deadline = Scenario("no_deadline", unlimited, [ends_by_the_deadline], setup=accept, recover=next_morning)
deadline_as_lease = Scenario(
    "deadline_as_lease", three_questions, [answers, ends_by_the_deadline], setup=accept, recover=waits_for_the_deadline
)
lease = Scenario("lease", three_questions, [answers, ends_by_the_deadline], setup=accept, recover=waits_for_the_lease)


def crashes(times: int) -> str:
    """The schedule in which the first processes each die after their fourth question."""
    return ",".join(f"p{number}@http4.after+crash" for number in range(1, times + 1)) or "none"


def ends_after(trace: Trace) -> float:
    """Seconds from the acceptance to the end of the run."""
    return trace.lines[-1].time


def restarted(*ways: Body, most: int = 3) -> Table:
    """When the run ends, by how often it was restarted."""
    rows = []
    for times in range(most + 1):
        found = [ends_after(run_once(run(way), crashes(times))) for way in ways]
        rows.append([times, *((good if end <= LIMIT else bad)(seconds(end)) for end in found)])
    return table(["restarts", *(way.__name__ for way in ways)], rows, caption="The run ends after")


SET = "a cell is one change of the wall clock: ten minutes back, then forward, after each question"


def stepped(way: Body) -> list[tuple[str, str, str]]:
    """(token, verdict, why), as `faults.strip` draws them: the wall clock set back and forward after each question."""
    asked = sum(line.boundary == "http" and line.side == "after" for line in run_once(run(way)).lines)
    traces = [
        run_once(run(way), f"p1@http{number}.after+clock_step({by})")
        for by in (-600, 600)
        for number in range(1, asked + 1)
    ]
    return [(trace.token, "broken" if trace.broken else "holds", trace.broken or "") for trace in traces]


def handed_down(thinks: float = 110.0) -> Table:
    """What each step of `hands_down` may take: its own limit, what remains, and the lesser of the two."""
    clock = VirtualClock()
    deadline = Deadline.after(LIMIT, clock)
    rows = []
    while deadline.remaining() > 0:
        left, given = deadline.remaining(), deadline.for_step(STEP_LIMIT)
        clock.sleep(min(thinks, given))
        rows.append([seconds(LIMIT - left), seconds(STEP_LIMIT), seconds(left), seconds(given)])
    return table(["the step begins at", "its own limit", "left of the run", "it may take"], rows)


def on_the_dot(last: float) -> str:
    """What the library's `run_with_deadline` makes of steps of 60, 120 and `last` seconds in a run of 300."""
    clock = VirtualClock()

    def step(takes: float) -> Callable[[float], str]:
        def take(left: float) -> str:
            clock.sleep(takes)
            return f"{takes:g} s"

        return take

    at = Deadline.after(LIMIT, clock).at
    try:
        return f"in time: {run_with_deadline([step(60), step(120), step(last)], at, clock)}"
    except DeadlineExceeded as late:
        return f"too late; done by then: {late.completed}"
