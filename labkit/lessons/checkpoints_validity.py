"""Chapter 11, validation before a resume: a snapshot is right about its day, and the world goes on.

On Friday the agent looks at a disk, and is parked; somebody else cleans the logs at night; the agent goes on from what it saw.
And a task that was completed on Friday is asked for again on Monday. `without_looking` and `age_first` are broken on purpose,
and so is `chapters_maybe_save`, which leaves out the end.

Not handled here: a world that changes within a minute. Only looking again helps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from labkit.checkpoint import Checkpoint, CheckpointStore
from labkit.errors import CheckpointExpired, CheckpointNotFound, CheckpointNotResumable
from labkit.faults import End, Process, Scenario, Schedule, at_most_once, open_world
from labkit.faults.chart_table import Table, bad, good, table
from labkit.faults.runner import Runner
from labkit.faults.scenario import Body
from labkit.lessons.checkpoints import DAY, TASK, manager_of
from labkit.lessons.story import APP, one_container
from labkit.task import Task, TaskState

HOST = "web-1"
WEEKEND = timedelta(days=3)
RUNNING = Task(TASK, "keep web-1 clean", TaskState.RUNNING)
Validate = Callable[[Process], Checkpoint]
MaybeSave = Callable[[Process, Task, str], None]


def without_looking(process: Process) -> Checkpoint:
    """The newest, whatever it is. Breaks when the world has changed since."""
    found = CheckpointStore(process.engine).newest(TASK)
    if found is None:
        raise CheckpointNotFound(f"task {TASK!r} has no checkpoint")
    return found


def age_first(process: Process) -> Checkpoint:
    """The chapter's `ValidateAndResume`: age, then state. Breaks on an old task that is completed: it is started over."""
    found = without_looking(process)
    if process.clock.now() - found.created_at > DAY:
        raise CheckpointExpired(f"checkpoint {found.seq} is older than a day")
    if found.data["state"] not in ("completed", "running", "failed"):
        raise CheckpointNotResumable(f"it is {found.data['state']}")
    return found


def state_first(process: Process) -> Checkpoint:
    """The library's `validate_and_resume`: state, then age."""
    return manager_of(process).validate_and_resume(TASK)


def yesterday(validate: Validate) -> Scenario:
    """What the agent saw before the night, and what it does with that in the morning."""

    def night(process: Process) -> None:
        seen = process.cloud.check_disk(HOST)
        manager_of(process).maybe_save(RUNNING, "every_step", extra={"seen": seen})
        process.cloud.clean_logs(HOST, key="somebody else")
        process.clock.sleep(2 * DAY.total_seconds())

    def agent(process: Process) -> str:
        night(process)
        seen = seen_or_looked(process, validate)
        if seen.startswith("95%"):
            process.cloud.clean_logs(HOST, key=TASK)
        return seen[:3]

    return Scenario(f"yesterday.{validate.__name__}", agent, [at_most_once("clean_logs")])


def seen_or_looked(process: Process, validate: Validate) -> str:
    """What the snapshot says of the disk; the disk itself is asked when the snapshot is too old."""
    try:
        return str(validate(process).data["extra"]["seen"])
    except CheckpointExpired:
        return process.cloud.check_disk(HOST)


def monday(validate: Validate) -> Scenario:
    """Completed on Friday, and asked for again after the weekend. Who finds nothing to go on from begins a new run."""

    def friday(process: Process) -> None:
        process.cloud.deploy_container(APP, key="run-1")
        manager_of(process).maybe_save(replace(RUNNING, state=TaskState.COMPLETED), "every_step")
        process.clock.sleep(WEEKEND.total_seconds())

    def asked(process: Process) -> str:
        friday(process)
        try:
            return str(validate(process).data["state"])
        except (CheckpointExpired, CheckpointNotFound):
            process.cloud.deploy_container(APP, key="run-2")
            return "started over"

    return Scenario(f"monday.{validate.__name__}", asked, [one_container])


def chapters_maybe_save(process: Process, task: Task, trigger: str) -> None:
    """The chapter's `MaybeSave`: the trigger is the strategy, or nothing. Breaks at the end, which is no step."""
    if trigger == "every_step":
        CheckpointStore(process.engine).append(task.id, vars(task))


def labkits_maybe_save(process: Process, task: Task, trigger: str) -> None:
    """The library's: a task that has ended is saved at any trigger."""
    manager_of(process).maybe_save(task, trigger)


def the_end(maybe_save: MaybeSave) -> Scenario:
    """A step, and the end; then somebody looks how it ended."""

    def body(process: Process) -> str:
        process.cloud.deploy_container(APP, key=TASK)
        maybe_save(process, RUNNING, "every_step")
        maybe_save(process, replace(RUNNING, state=TaskState.COMPLETED), "on_state_change")
        return str(without_looking(process).data["state"])

    return Scenario(f"the_end.{maybe_save.__name__}", body, [ends_completed])


def ends_completed(end: End) -> str | None:
    """An invariant: whoever returned has left a completed task."""
    return None if end.last.value in ("completed", None) else f"{end.last.value} for ever"


def answers() -> Table:
    """What is said of a checkpoint in each state: when it is fresh, and after a weekend in the chapter's order and in the library's."""
    rows = []
    for state in (TaskState.COMPLETED, TaskState.CANCELLED, TaskState.PENDING, TaskState.RUNNING):
        fresh = _told(state_first, state, timedelta(0))
        wrong, right = (_told(validate, state, WEEKEND) for validate in (age_first, state_first))
        rows.append([state, fresh, good(wrong) if wrong == right else bad(wrong), good(right)])
    return table(["found", "fresh", "3 days old: age first", "3 days old: state first"], rows)


def _told(validate: Validate, state: TaskState, age: timedelta) -> str:
    """What one validation says of a checkpoint in this state that is so old."""

    def body(process: Process) -> str:
        CheckpointStore(process.engine).append(TASK, vars(replace(RUNNING, state=state)))
        process.clock.sleep(age.total_seconds())
        try:
            validate(process)
        except (CheckpointExpired, CheckpointNotResumable) as error:
            return type(error).__name__
        return "goes on" if state != TaskState.COMPLETED else "is returned"

    return str(played(body).last.value)


def played(body: Body) -> End:
    """One process alone, in a world of its own."""
    with open_world("memory") as world:
        return Runner(Scenario("played", body), world).replay(Schedule())[0]
