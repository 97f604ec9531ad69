"""Chapter 11, step 6: what a restarted process does with a task that it finds, and four ideas of it that sound right.

The story's deployment takes ten minutes: eight to build, then the container, two to warm up, then the route. A way is a
function of a process that runs or resumes it. `starts_over`, `leaves_running_alone`, `writes_first` and
`behind_a_lock_file` are broken on purpose; `resumes` is the library's.

Not handled here: two processes that resume one task at the same time (see `queue` for leases).
"""

from __future__ import annotations

from dataclasses import replace

from labkit.errors import TaskNotFound
from labkit.execution import Work, resume_task
from labkit.faults import End, Process, Scenario, Schedule, exactly_once, open_world
from labkit.faults.chart_table import Table, table
from labkit.faults.runner import Runner
from labkit.faults.scenario import Body
from labkit.lessons.story import APP
from labkit.task import Task, TaskState

TASK = "deploy-shop"
BUILD, WARM_UP = 480.0, 120.0  # seconds: at minute eight the container, at minute ten the route
LOCK = "recovery.pid"
SLOWLY, AT_ONCE = f"deploy {APP}", f"deploy {APP} at once"


def read(process: Process) -> Task:
    task = process.store.get(TASK)
    if task is None:
        raise TaskNotFound(f"there is no task {TASK!r}")
    return task


def save(process: Process, task: Task, state: TaskState, result: str | None = None) -> Task:
    return process.store.save(replace(task, state=state, result=result))


def deploy(process: Process, user_input: str, key: str | None = None) -> str:
    """Ten minutes of work with two effects, or the same at once; a key of its own for each."""
    build, warm_up = (0.0, 0.0) if user_input == AT_ONCE else (BUILD, WARM_UP)
    pause(process, build)
    process.cloud.deploy_container(APP, key=key and f"{key}:container")
    pause(process, warm_up)
    process.cloud.configure_route(APP, key=key and f"{key}:route")
    return "deployed"


def pause(process: Process, length: float) -> None:
    if length:
        process.clock.sleep(length)


def work_of(process: Process) -> Work:
    """The deployment as `resume_task` wants it."""
    return lambda user_input, key: deploy(process, user_input, key)


def starts_over(process: Process) -> str:
    """Step 6 on top of step 2: what is not completed is run. Breaks at minute eight."""
    task = read(process)
    if task.state == TaskState.COMPLETED:
        return "nothing to do"
    if task.state == TaskState.FAILED:
        task = save(process, task, TaskState.PENDING)
    task = save(process, task, TaskState.RUNNING)
    result = deploy(process, task.user_input)
    return str(save(process, task, TaskState.COMPLETED, result).state)


def leaves_running_alone(process: Process) -> str:
    """A running task is somebody's. Breaks on any crash: that somebody is dead."""
    task = read(process)
    if task.state in (TaskState.COMPLETED, TaskState.RUNNING):
        return "nothing to do"
    task = save(process, task, TaskState.RUNNING)
    result = deploy(process, task.user_input, task.id)
    return str(save(process, task, TaskState.COMPLETED, result).state)


def writes_first(process: Process) -> str:
    """Done twice is worse than not done. Breaks on a crash: written, and never done."""
    task = read(process)
    if task.state == TaskState.COMPLETED:
        return "nothing to do"
    task = save(process, task, TaskState.RUNNING)
    task = save(process, task, TaskState.COMPLETED, "deployed")
    deploy(process, task.user_input)
    return str(task.state)


def resumes(process: Process) -> str:
    """The library's: run again what is not final, under the same key."""
    return str(resume_task(process.store, TASK, work_of(process)).state)


def behind_a_lock_file(process: Process) -> str:
    """Keeps other recoveries out with a file. Breaks when the recovery dies: the file stays."""
    if process.files.exists(LOCK):
        return "somebody is recovering"
    process.files.write(LOCK, b"p")
    state = resumes(process)
    process.files.remove(LOCK)
    return state


def asks(user_input: str) -> Body:
    """A setup: the task is stored before anything else happens."""

    def setup(process: Process) -> None:
        process.store.save(Task(TASK, user_input))

    return setup


def ends_completed(end: End) -> str | None:
    """An invariant: the task is completed when the last process has ended."""
    state = end.tasks[TASK]["state"]
    return None if state == TaskState.COMPLETED else f"the task is {state} for ever"


def is_completed(end: End) -> bool:
    """A goal: some run gets to the end."""
    return bool(end.tasks[TASK]["state"] == TaskState.COMPLETED)


RULES = [exactly_once("deploy_container"), exactly_once("configure_route"), ends_completed]


def slowly(way: Body) -> Scenario:
    """The ten minutes of the story under a way to run and resume it."""
    return Scenario(way.__name__, way, RULES, asks(SLOWLY), goal=is_completed)


def deployment(way: Body, recover: Body | None = None) -> Scenario:
    """The same without the waiting: when something happened is part of a state, and would only multiply the states."""
    return Scenario((recover or way).__name__, way, RULES, asks(AT_ONCE), recover, is_completed)


recovers_behind_a_lock_file = deployment(resumes, behind_a_lock_file)


def what_resume_does() -> Table:
    """What `resume_task` makes of a task in each state: run now, in a world of its own."""
    rows: list[list[object]] = [["unknown", "TaskNotFound", "no", ""]]
    for state in TaskState:
        with open_world("memory") as world:
            end = Runner(Scenario("found", found_in(state)), world).replay(Schedule())[0]
        worked = "yes" if end.effects else "no"
        rows.append([state, end.last.value, worked, end.tasks[TASK]["version"] - 1])
    return table(["found", "afterwards", "work is called", "writes"], rows)


def found_in(state: TaskState) -> Body:
    """A process that finds a task in this state and resumes it; returns the state afterwards."""

    def body(process: Process) -> str:
        error = "no space left" if state == TaskState.FAILED else None
        process.store.save(Task(TASK, f"deploy {APP}", state, error=error))
        return str(resume_task(process.store, TASK, work_of(process)).state)

    return body
