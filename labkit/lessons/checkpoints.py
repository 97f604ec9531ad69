"""Chapter 11, advanced checkpoints: a run of forty steps, and the moments at which it may save.

`roll_out` brings `shop` to forty servers, 15 seconds each: the ten minutes of the story. What has just happened is a trigger,
and a keeper saves when the trigger is its own. `keeper_of` makes one for each strategy of the chapter, and for the two extremes
that are none: after every token, and at the end alone.

Not handled here: what it costs (see `checkpoints_cost`), and all that can go wrong (see `checkpoints_broken`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Protocol

from labkit.checkpoint import Checkpoint, CheckpointManager, CheckpointStore, task_from_data
from labkit.checkpoint.manager import STRATEGIES, Store
from labkit.errors import CheckpointNotFound
from labkit.faults import End, Process, Scenario
from labkit.lessons.story import APP
from labkit.task import Task, TaskState

TASK = "roll-out-shop"
STEPS, AN_ITERATION = 40, 4  # servers, and servers in an iteration of the loop
TOKENS = 100  # words of the model before a step
STEP_SECONDS = 15.0
DAY = timedelta(days=1)
KEPT = 2  # checkpoints


class Keeper(Protocol):
    """What a run asks of whoever keeps its checkpoints."""

    def maybe_save(self, task: Task, trigger: str, *, extra: dict[str, Any]) -> bool: ...
    def validate_and_resume(self, task_id: str) -> Checkpoint: ...


@dataclass(frozen=True)
class Extreme:
    """A keeper that saves at a trigger of its own, which is no strategy; and at the end, as all do."""

    manager: CheckpointManager
    when: str

    def maybe_save(self, task: Task, trigger: str, *, extra: dict[str, Any]) -> bool:
        told = "every_step" if trigger == self.when else "on_state_change"
        return self.manager.maybe_save(task, told, extra=extra)

    def validate_and_resume(self, task_id: str) -> Checkpoint:
        return self.manager.validate_and_resume(task_id)


def manager_of(process: Process, strategy: str = "every_step", *, store: Store | None = None) -> CheckpointManager:
    """The library's manager, made anew by each process. It keeps two, and goes on from what is at most a day old."""
    store = store or CheckpointStore(process.engine)
    return CheckpointManager(store, process.clock, strategy=strategy, max_age=DAY, max_count=KEPT)


def keeper_of(process: Process, when: str, *, store: Store | None = None) -> Keeper:
    """A keeper for a strategy of the chapter, for `every_token` or for `at_the_end`."""
    if when in STRATEGIES:
        return manager_of(process, when, store=store)
    return Extreme(manager_of(process, store=store), when)


def roll_out(process: Process, keeper: Keeper, steps: int = STEPS) -> int:
    """Forty servers, one after the other. What has just happened is told to the keeper, which may save."""
    task, done = where_it_stands(keeper)
    while done < steps:
        think(keeper, task, done)
        process.clock.sleep(STEP_SECONDS)
        process.cloud.deploy_container(f"web-{done + 1}", key=f"{TASK}:{done + 1}")
        done += 1
        for trigger in happened(done, steps):
            keeper.maybe_save(task, trigger, extra={"done": done})
    if task.state != TaskState.COMPLETED:
        keeper.maybe_save(replace(task, state=TaskState.COMPLETED), "on_state_change", extra={"done": done})
    return done


def where_it_stands(keeper: Keeper) -> tuple[Task, int]:
    """The task, and how many servers are done, as the newest checkpoint says; without one, the beginning."""
    try:
        found = keeper.validate_and_resume(TASK)
    except CheckpointNotFound:
        return Task(TASK, f"roll out {APP}", TaskState.RUNNING), 0
    return task_from_data(found.data), int(found.data["extra"]["done"])


def think(keeper: Keeper, task: Task, done: int) -> None:
    """The model says what to do next, word by word."""
    if isinstance(keeper, Extreme) and keeper.when == "every_token":
        for words in range(1, TOKENS + 1):
            keeper.maybe_save(task, "every_token", extra={"done": done, "said": "word " * words})


def happened(done: int, steps: int) -> Iterator[str]:
    """A step; with each fourth one an iteration; half way the state changed, since somebody had to approve."""
    yield "every_step"
    if done % AN_ITERATION == 0:
        yield "every_iteration"
    if done == steps // 2:
        yield "on_state_change"


def rolling_out(when: str, steps: int = STEPS) -> Scenario:
    """The run under a strategy, started again after a crash."""
    return Scenario(when, lambda process: roll_out(process, keeper_of(process, when), steps), [each_server_once])


def each_server_once(end: End) -> str | None:
    """An invariant: no server has two containers."""
    twice = sorted(name for name, count in end.resources.items() if count > 1)
    return f"{twice[0]} twice" if twice else None
