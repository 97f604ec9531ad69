"""Chapter 11, steps 1, 2 and 5: five ways to deploy once, each sound at first sight, and four troubles that tell them apart.

A way is a function of a process. A trouble makes a scenario of it: `clicked_twice`, `crashed`, `at_once`, `cancelled`. Only
`with_key_and_version` survives all four; every other one breaks under the trouble that its docstring names.

Not handled here: an outside world that knows no keys, and handing a dead worker's task on (see `queue`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sqlalchemy import update

from labkit.errors import TaskNotFound
from labkit.faults import End, Process, Scenario, interleave, run_once, sweep
from labkit.faults.chart_table import Mark, Table, judged, table, unknown
from labkit.faults.scenario import Body
from labkit.lessons.story import APP, one_container
from labkit.tables import tasks
from labkit.task import FINAL, Task, TaskState

TASK = "deploy-shop"


def read(process: Process) -> Task:
    """The task of the story, as it is stored now."""
    task = process.store.get(TASK)
    if task is None:
        raise TaskNotFound(f"there is no task {TASK!r}")
    return task


def save_blindly(process: Process, task: Task, **changes: Any) -> Task:
    """Write whatever was there before: the chapter's UPSERT (`saveTask` and `PgStateStore.Save`)."""
    new = replace(task, **changes)
    values = {"state": new.state, "result": new.result}
    with process.engine.begin() as connection:
        connection.execute(update(tasks).where(tasks.c.id == new.id).values(values))
    return new


def save(process: Process, task: Task, **changes: Any) -> Task:
    """Compare-and-set: write only if nobody wrote since `task` was read, else `StaleTask`."""
    return process.store.save(replace(task, **changes))


def no_check(process: Process) -> None:
    """Common error 1, the BAD listing: act. Breaks when it is called twice."""
    process.cloud.deploy_container(APP)


def checked(process: Process) -> None:
    """Step 2 with the save of step 5: look, act, write down. Breaks on a crash between the last two, and with two callers."""
    task = read(process)
    if task.state in FINAL:
        return
    task = save_blindly(process, task, state=TaskState.RUNNING)
    result = process.cloud.deploy_container(APP)
    save_blindly(process, task, state=TaskState.COMPLETED, result=result)


def refuses_running(process: Process) -> None:
    """Step 2 that leaves a running task to whoever runs it. Breaks on a crash: nobody ever finishes."""
    task = read(process)
    if task.state in FINAL or task.state == TaskState.RUNNING:
        return
    task = save(process, task, state=TaskState.RUNNING)
    result = process.cloud.deploy_container(APP)
    save(process, task, state=TaskState.COMPLETED, result=result)


def with_key(process: Process) -> None:
    """Step 2, and the task id goes along as idempotency key. Breaks when somebody else writes meanwhile."""
    task = read(process)
    if task.state in FINAL:
        return
    task = save_blindly(process, task, state=TaskState.RUNNING)
    result = process.cloud.deploy_container(APP, key=task.id)
    save_blindly(process, task, state=TaskState.COMPLETED, result=result)


def with_key_and_version(process: Process) -> None:
    """Key for the outside world, compare-and-set for the record."""
    task = read(process)
    if task.state in FINAL:
        return
    task = save(process, task, state=TaskState.RUNNING)
    result = process.cloud.deploy_container(APP, key=task.id)
    save(process, task, state=TaskState.COMPLETED, result=result)


def cancel(process: Process) -> str:
    """Somebody presses Cancel and is told what became of it."""
    task = read(process)
    if task.state == TaskState.COMPLETED:
        return "too late"
    save(process, task, state=TaskState.CANCELLED)
    return "cancelled"


def cancel_stays(end: End) -> str | None:
    """An invariant: whoever was told "cancelled" finds the task cancelled."""
    told = any(outcome.value == "cancelled" for outcome in end.outcomes)
    state = end.tasks[TASK]["state"]
    return f"told cancelled, and it is {state}" if told and state != TaskState.CANCELLED else None


def ends_completed(end: End) -> str | None:
    """An invariant: the task is completed in the end."""
    state = end.tasks[TASK]["state"]
    return None if state == TaskState.COMPLETED else f"{state} for ever"


def task_is_there(process: Process) -> None:
    process.store.save(Task(TASK, f"deploy {APP}"))


def _named(trouble: str, way: Body) -> str:
    """The name of a scenario, so that a token says which way met which trouble."""
    return f"{trouble}.{way.__name__}"


def clicked_twice(way: Body, name: str = "") -> Scenario:
    """One caller, and then a second one."""

    def both(process: Process) -> None:
        way(process)
        way(process)

    return Scenario(name or _named("clicked_twice", way), both, [one_container], setup=task_is_there)


def crashed(way: Body, name: str = "") -> Scenario:
    """One caller that may die anywhere, and is started again."""
    keeps_record = [ends_completed] if way is not no_check else []
    return Scenario(name or _named("crashed", way), way, [*keeps_record, one_container], setup=task_is_there)


def at_once(way: Body, name: str = "") -> Scenario:
    """Two callers at the same time."""
    return Scenario(name or _named("at_once", way), [way, way], [one_container], setup=task_is_there)


def cancelled(way: Body, name: str = "") -> Scenario:
    """One caller, and meanwhile somebody presses Cancel."""
    return Scenario(name or _named("cancelled", way), [way, cancel], [cancel_stays], setup=task_is_there)


def write_if_missing(process: Process) -> str:
    """Common error 1, the GOOD listing: stat, then write. Breaks when the write is cut short, and with two callers."""
    if process.files.exists("shop.conf"):
        return "it is there"
    process.files.write("shop.conf", b"replicas: 3\n")
    return "written"


def file_is_whole(end: End) -> str | None:
    """An invariant: the file holds all that should be in it."""
    found = end.files.get("shop.conf", "")
    return None if found == "replicas: 3\n" else f"shop.conf holds {found!r}"


def one_writer(end: End) -> str | None:
    """An invariant: at most one caller is told that it wrote the file."""
    writers = sum(outcome.value == "written" for outcome in end.outcomes)
    return f"{writers} callers were told that they wrote it" if writers > 1 else None


torn_file = Scenario("torn_file", write_if_missing, [file_is_whole])
two_writers = Scenario("two_writers", [write_if_missing, write_if_missing], [one_writer])

WAYS: tuple[tuple[str, Body], ...] = (
    ("just act", no_check),
    ("check the state", checked),
    ("leave a running task alone", refuses_running),
    ("check, and give a key", with_key),
    ("check, key, compare-and-set", with_key_and_version),
)
TROUBLES: tuple[tuple[str, Callable[[Body], Scenario]], ...] = (
    ("clicked twice", clicked_twice),
    ("crash anywhere", crashed),
    ("two at once", at_once),
    ("cancelled meanwhile", cancelled),
)


def tried(way: Body, trouble: Callable[[Body], Scenario]) -> Mark:
    """One way under one trouble, run now: every crash point of one caller, every order of two."""
    if way is no_check and trouble is cancelled:
        return unknown("keeps no record")
    scenario = trouble(way)
    if trouble is clicked_twice:
        why = run_once(scenario).broken
    else:
        report = interleave(scenario, preemptions=1) if len(scenario.bodies) > 1 else sweep(scenario)
        why = report.broken[0].why if report.broken else None
    return judged(why)


def compared() -> Table:
    """Every way under every trouble."""
    rows = [[label, *(tried(way, trouble) for _, trouble in TROUBLES)] for label, way in WAYS]
    return table(["", *(name for name, _ in TROUBLES)], rows)
