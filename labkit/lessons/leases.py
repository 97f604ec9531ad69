"""A worker sleeps past its lease, another takes its task, the sleeper wakes: one schedule, and four ways to ask "is it still mine?".

Each way is the WHERE of every write, and each has one condition more than the one before: `by_id`, `by_state`, `by_name`, `by_token`. The
first three are broken on purpose, under what their docstrings say. The outside world keeps the score (`doubled`). The claim is the library's.

Not handled here: workers that die, how long a lease should be, poison tasks (see `lease_lives`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, update

from labkit.database import writing
from labkit.errors import StoreBusy
from labkit.faults import End, Process, Scenario, Schedule, open_world
from labkit.faults.chart_table import Table, bad, good, table
from labkit.faults.runner import Runner
from labkit.faults.strip import Strip, strip
from labkit.lessons.story import APP
from labkit.queue.claim import claim
from labkit.queue.lease import Lease
from labkit.tables import tasks
from labkit.task import Task, TaskState

TASK = "deploy-shop"
HALF = 300.0  # seconds: fetching the image, and as much for trying it out
LEASE = 360.0
SUCCESSOR = (420.0, 300.0, 300.0)  # seconds that the second worker sleeps before each look
NAP = 600
SLEEPS = f"p1@clock1.after+pause({NAP})"  # the schedule: asleep when it has the image, before it asks for more time
LATER = f"p1@cloud1.before+pause({NAP})"  # the same nap a little later: it has just been told that the task is its own
TWO_NAMES, ONE_NAME = ("w1", "w2"), ("w", "w")
EACH = "a cell is one pause of ten minutes, on one side of a call of p1"

Fence = Callable[[Lease], tuple[ColumnElement[bool], ...]]


def by_id(lease: Lease) -> tuple[ColumnElement[bool], ...]:
    """The UPSERT of chapter 11. Breaks when a zombie wakes, whenever it does."""
    return (tasks.c.id == lease.task_id,)


def by_state(lease: Lease) -> tuple[ColumnElement[bool], ...]:
    """Breaks when the zombie wakes while its successor is at work: the task is running, only not for the zombie."""
    return *by_id(lease), tasks.c.state == TaskState.RUNNING.value


def by_name(lease: Lease) -> tuple[ColumnElement[bool], ...]:
    """Breaks when both have one name: a restarted pod, two threads of one host."""
    return *by_state(lease), tasks.c.worker_id == lease.worker_id


def by_token(lease: Lease) -> tuple[ColumnElement[bool], ...]:
    """Worker and attempt: each claim counts the attempt up, so no two ever have the same token."""
    return *by_name(lease), tasks.c.attempt == lease.attempt


def write(process: Process, lease: Lease, fence: Fence, **values: Any) -> bool:
    """One UPDATE under the fence; whether it changed the row."""
    with writing(process.engine) as connection:
        changed = connection.execute(update(tasks).where(*fence(lease)).values(**values))
    return changed.rowcount == 1


def deploy(process: Process, lease: Lease, fence: Fence, key: str | None, heed: bool) -> str:
    """One attempt: image, heartbeat, container, trial, completion, mail. Whoever heeds a refused write stops there."""
    process.clock.sleep(HALF)
    more_time = process.clock.now() + timedelta(seconds=LEASE)
    if not write(process, lease, fence, lease_expires_at=more_time) and heed:
        return "stopped at its heartbeat"
    process.cloud.deploy_container(APP, key=key)
    process.clock.sleep(HALF)
    done = {"state": "completed", "result": f"attempt {lease.attempt} is up"}
    if not write(process, lease, fence, **done) and heed:
        return "stopped at its completion"
    process.cloud.send_mail(APP)
    return "told the customer"


def look(process: Process, name: str) -> Lease | None:
    """The lease of a task that is due, or that a silent worker left. Who holds the lock for minutes is waited for next time."""
    try:
        task = claim(process.engine, name, LEASE, process.clock.now())
    except StoreBusy:
        return None
    return None if task is None else Lease.of(task)


def zombie(
    fence: Fence, names: tuple[str, str] = TWO_NAMES, *, key: str | None = None, heed: bool = True, name: str = ""
) -> Scenario:
    """p1 works on the task, p2 looks for work in the seventh minute and every five minutes after it."""

    def first(process: Process) -> str:
        lease = look(process, names[0])
        return "found nothing" if lease is None else deploy(process, lease, fence, key, heed)

    def second(process: Process) -> str:
        for wait in SUCCESSOR:
            process.clock.sleep(wait)
            lease = look(process, names[1])
            if lease is not None:
                return deploy(process, lease, fence, key, heed)
        return "found nothing"

    rules = [nothing_twice, holders_result]
    return Scenario(name or fence.__name__, [first, second], rules, setup=submitted, goal=taken_over)


def submitted(process: Process) -> None:
    process.store.save(Task(TASK, f"deploy {APP}"))


def counted(end: End) -> Counter[str]:
    """The ledger in short: how often each effect happened."""
    return Counter(effect.name for effect in end.effects if effect.changed)


def doubled(end: End) -> int:
    """The score: effects that happened more than once."""
    return sum(times > 1 for times in counted(end).values())


def nothing_twice(end: End) -> str | None:
    """An invariant: one container, one mail."""
    twice = [f"{name} {times} times" for name, times in counted(end).items() if times > 1]
    return ", ".join(twice) or None


def holders_result(end: End) -> str | None:
    """An invariant: a result is of the attempt to which the task belongs."""
    task = end.tasks[TASK]
    right = task["result"] in (None, f"attempt {task['attempt']} is up")
    return None if right else f"it belongs to attempt {task['attempt']}, and the result says: {task['result']}"


def taken_over(end: End) -> bool:
    """A goal: somebody else took the task."""
    return bool(end.tasks[TASK]["attempt"] == 2)


def ends(scenario: Scenario, *schedules: str) -> list[End]:
    """How the scenario ends under each schedule."""
    with open_world("sqlite") as world:
        runner = Runner(scenario, world)
        return [runner.run(Schedule.parse(schedule))[0] for schedule in schedules]


def ledgers(*fences: Fence) -> Table:
    """One schedule, a row for each way to complete: what the two heard, and what the outside world has."""
    rows = []
    for fence in fences:
        (end,) = ends(zombie(fence), SLEEPS)
        has = [(good if times == 1 else bad)(times) for _, times in sorted(counted(end).items())]
        result = str(end.tasks[TASK]["result"]).removesuffix(" is up")
        told = [str(outcome.value) for outcome in end.outcomes]
        rows.append([_said(fence), *told, *has, (bad if holders_result(end) else good)(result)])
    return table(["", "p1, the zombie", "p2, the holder", "containers", "mails", "result of"], rows)


def staircase(*fences: Fence) -> Table:
    """The score of each way when the two workers have two names and when they have one, and when nobody heeds a refusal."""
    cases: dict[str, dict[str, Any]] = {
        "two names": {},
        "one name": {"names": ONE_NAME},
        "refusals not read": {"heed": False},
    }
    rows = []
    for fence in fences:
        found = [ends(zombie(fence, **case), SLEEPS)[0] for case in cases.values()]
        rows.append([_said(fence), *((bad if doubled(end) else good)(doubled(end)) for end in found)])
    return table(["", *cases], rows, "Doubled effects")


def _said(fence: Fence) -> str:
    return fence.__name__.replace("_", " ")


def napping(*scenarios: Scenario) -> Strip:
    """A strip for each scenario: one pause at each place."""
    return strip(((scenario.name, naps(scenario)) for scenario in scenarios), each=EACH)


def naps(scenario: Scenario) -> list[tuple[str, str, str]]:
    """(token, verdict, why), as `faults.strip` draws them: the first worker sleeps once, at each side of each of its calls."""
    found = []
    with open_world("sqlite") as world:
        runner = Runner(scenario, world)
        calm = runner.replay(Schedule())[1]
        places = [line for line in calm.lines if line.kind == "cross" and line.process == "p1"]
        for line in places:
            end = runner.run(Schedule.parse(f"p1@{line.number}.{line.side}+pause({NAP})"))[0]
            why = ", ".join(why for _, why in scenario.why_broken(end))
            found.append((end.token, "broken" if why else "holds", why))
    return found
