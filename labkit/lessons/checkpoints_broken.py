"""Chapter 11, advanced checkpoints: which checkpoint is the newest, what a damaged one is taken for, and what rotation throws away.

Three servers, without waiting. Each way is a function that goes on from what is stored; a broken one names in its docstring
what breaks it, and the sound one follows. What a crash may cost is one step, the one in which it struck.

Not handled here: whether one may go on from a checkpoint at all (see `checkpoints_validity`); large results (see `checkpoints_bytes`).
"""

from __future__ import annotations

import json
from collections.abc import Callable

from sqlalchemy import text

from labkit.checkpoint import Checkpoint, CheckpointManager, CheckpointStore
from labkit.database import writing
from labkit.errors import CheckpointCorrupt, CheckpointNotFound
from labkit.faults import End, Process, Scenario
from labkit.faults.scenario import Body
from labkit.lessons.checkpoints import DAY, KEPT, TASK, manager_of, where_it_stands
from labkit.lessons.story import APP
from labkit.task import Task, TaskState

SERVERS = 3
FILE = "checkpoint.json"
TOOLS = ("create_namespace", "deploy_container", "configure_route")
RUNNING = Task(TASK, f"roll out {APP}", TaskState.RUNNING)
Newest = Callable[[list[Checkpoint]], Checkpoint]
Load = Callable[[Process], int]
Save = Callable[[Process, int], None]


def rolls_out(load: Load, save: Save) -> Body:
    """Three servers, each under its key; a save after each. Returns where this process began."""

    def body(process: Process) -> int:
        begun = load(process)
        for number in range(begun + 1, SERVERS + 1):
            process.cloud.deploy_container(f"web-{number}", key=f"{TASK}:{number}")
            save(process, number)
        return begun

    return body


def a_crash_costs_a_step(end: End) -> str | None:
    """An invariant: what was done before is not done again, but for the step in which it died."""
    asked = [call.label for call in end.calls if call.boundary == "cloud"]
    again = len(asked) - len(set(asked))
    crashes = sum(outcome.how == "crashed" for outcome in end.outcomes)
    return f"{again} steps done again after {crashes} crash{'es' * (crashes != 1)}" if again > crashes else None


def row_saved(process: Process, done: int) -> None:
    """One more row for each save."""
    CheckpointStore(process.engine).append(TASK, vars(RUNNING) | {"extra": {"done": done}})


def by_time(found: list[Checkpoint]) -> Checkpoint:
    """The last by its time. Breaks when the clock was set back."""
    return max(found, key=lambda checkpoint: checkpoint.created_at)


def by_number(found: list[Checkpoint]) -> Checkpoint:
    """The last by its number, which the database gave out."""
    return max(found, key=lambda checkpoint: checkpoint.seq)


def newest(choose: Newest) -> Scenario:
    """Goes on from the newest one, whichever that is."""

    def load(process: Process) -> int:
        found = CheckpointStore(process.engine).load(TASK)
        return int(choose(found).data["extra"]["done"]) if found else 0

    return Scenario(f"newest.{choose.__name__}", rolls_out(load, row_saved), [a_crash_costs_a_step])


CLOCK_SET_BACK = "p1@cloud2.before+clock_step(-3600),p1@cloud3.before+crash"


def written_over(process: Process, done: int) -> None:
    """One file, written over at each save. A crash inside it leaves a part."""
    process.files.write(FILE, json.dumps({"done": done, "state": "running"}).encode())


def damaged_is_missing(process: Process) -> int:
    """What cannot be read is not there. Breaks on a torn write: it starts over, and writes over the rest."""
    try:
        return int(json.loads(process.files.read(FILE) or b"")["done"])
    except ValueError:
        return 0


def damaged_is_damaged(process: Process) -> int:
    """No file is a first start; a file that cannot be read is an error, and stays as it is."""
    found = process.files.read(FILE)
    if found is None:
        return 0
    try:
        return int(json.loads(found)["done"])
    except ValueError as error:
        raise CheckpointCorrupt(f"{FILE} is damaged, which is not missing") from error


def torn(load: Load) -> Scenario:
    """Checkpoints in a file that is written over."""
    return Scenario(f"torn.{load.__name__}", rolls_out(load, written_over), [a_crash_costs_a_step])


TORN = "p1@file3.before+torn(9)"


def chapters_cleanup(process: Process) -> None:
    """The chapter's `Cleanup`: old AND not among the newest. Breaks at once: what is fresh never goes, however much there is."""
    sql = """DELETE FROM checkpoints WHERE task_id = :id AND created_at < :before AND seq NOT IN (
      SELECT seq FROM checkpoints WHERE task_id = :id ORDER BY created_at DESC LIMIT :kept)"""
    before = (process.clock.now() - DAY).isoformat()
    with writing(process.engine) as connection:
        connection.execute(text(sql), {"id": TASK, "before": before, "kept": KEPT})


def saved_then_cleaned(process: Process, done: int) -> None:
    """A save, and the chapter's cleanup after it."""
    row_saved(process, done)
    chapters_cleanup(process)


def saved_and_pruned(process: Process, done: int) -> None:
    """The library's: old OR not among the newest goes with the save, in one commit; the newest by number stays."""
    manager_of(process).maybe_save(RUNNING, "every_step", extra={"done": done})


def rotation(save: Save) -> Scenario:
    """Saves that are followed by a rotation."""
    body = rolls_out(lambda process: where_it_stands(manager_of(process))[1], save)
    return Scenario(f"rotation.{save.__name__}", body, [few_are_kept])


def few_are_kept(end: End) -> str | None:
    """An invariant: at most two checkpoints are left."""
    left = len(end.rows.get("checkpoints", ()))
    return f"{left} are left, not {KEPT}" if left > KEPT else None


def names_its_own(done: dict[str, str], tool: str, answer: str) -> dict[str, str]:
    """A checkpoint says which tool has just run. Breaks when the older ones go: nobody knows of their tools."""
    return {tool: answer}


def names_all(done: dict[str, str], tool: str, answer: str) -> dict[str, str]:
    """A checkpoint says which tools have run so far: it needs no other."""
    return {**done, tool: answer}


def remembers(says: Callable[[dict[str, str], str, str], dict[str, str]]) -> Scenario:
    """Three tools; only the newest checkpoint is kept."""

    def body(process: Process) -> int:
        manager = CheckpointManager(
            CheckpointStore(process.engine), process.clock, strategy="every_step", max_age=DAY, max_count=1
        )
        done, ran = tools_that_ran(manager), 0
        for tool in TOOLS:
            if tool not in done:
                done = says(done, tool, getattr(process.cloud, tool)(APP, key=f"{TASK}:{tool}"))
                manager.maybe_save(RUNNING, "every_step", extra={"done": done})
                ran += 1
        return ran

    return Scenario(f"remembers.{says.__name__}", body, [a_crash_costs_a_step])


IN_THE_LAST_TOOL = "p1@cloud3.after+crash"


def tools_that_ran(manager: CheckpointManager) -> dict[str, str]:
    """What the newest checkpoint says."""
    try:
        return dict(manager.validate_and_resume(TASK).data["extra"]["done"])
    except CheckpointNotFound:
        return {}
