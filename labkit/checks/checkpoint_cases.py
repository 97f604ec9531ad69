"""The cases of `checkpoint`: a manager saves, resumes and cleans up, alone, in turn, and while its process dies.

What is returned is told beside what lay there before and after, so that a count can be held against what really went.

Not handled here: what lies there (see `checkpoint_stories`), and what must hold (see the rules).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from random import Random
from typing import Any

from labkit.checkpoint import Checkpoint
from labkit.checks.checkpoint_shelf import HOUR, NAP, NOW, Row, Scene, Shelf, as_kept, numbers, scene
from labkit.checks.checkpoint_stories import BYSTANDERS, CLEANUPS, LASTING, RESUMES, Cleanup, Resume
from labkit.checks.common import body, outcome_of, try_exits
from labkit.checks.drawn import checkpoint as drawn
from labkit.checks.exercise import SQL, Case
from labkit.clock import STORY_BEGINS
from labkit.errors import CheckpointNotFound, StoreBusy
from labkit.faults.outcome import plain
from labkit.faults.process import Process
from labkit.task import Task, TaskState

NAME = "CheckpointManager"
MOST_REFUSALS = 20
TRIGGERS = ("every_step", "every_iteration", "on_state_change")
LONG = timedelta(days=30)
DYING = {"t1": (Row(3, 9000.0), Row(5, 900.0), Row(8, 800.0), Row(9, 700.0, "waiting"))}
WHOLE = (
    Task("bare", ""),
    Task(
        "Order 2026/077 Café B",
        "  a café with a bar ",
        TaskState.WAITING,
        "",
        "no answer yet",
        5,
        STORY_BEGINS - timedelta(days=1, microseconds=7),
        "w1",
        7,
        STORY_BEGINS + timedelta(hours=3, microseconds=1),
        "order 7",
        STORY_BEGINS - timedelta(days=2),
        STORY_BEGINS - timedelta(seconds=1),
        12,
    ),
)
HERE = (Row(2, 900.0), Row(3, 800.0), Row(7, 700.0))

Made = Callable[..., Any]  # of a manager


def made(manager: Made, store: Any, process: Process, **limits: Any) -> Any:
    options = {"strategy": "every_step", "max_age": HOUR, "max_count": 10, **limits}
    return manager(store, process.clock, **options)


def _again(text: str) -> str:
    """An equal text that is another object: whoever asks with `is` is found out."""
    return "".join(list(text))


def wanted_saves() -> Iterator[tuple[str, str, str, bool]]:
    """(strategy, trigger, state, whether it is to be saved): each state that goes on, and each that has ended."""
    for strategy in TRIGGERS:
        for trigger in TRIGGERS:
            yield strategy, trigger, "running", strategy == trigger
            yield from ((strategy, trigger, s, False) for s in ("pending", "waiting") if strategy != trigger)
        others = [trigger for trigger in TRIGGERS if trigger != strategy]
        yield from ((strategy, others[place % 2], state, True) for place, state in enumerate(LASTING))
    yield from (("on_state_change", "on_state_change", state, True) for state in ("pending", "waiting", "completed"))
    yield from (("every_iteration", "every_step", state, True) for state in LASTING)


SAVES = [(f"save {place}", *said) for place, said in enumerate(wanted_saves(), 1)]


def _saves(manager: Made, process: Process) -> Any:
    managers = {
        s: made(manager, Shelf(process, {}), process, strategy=_again(s), max_age=LONG, max_count=99) for s in TRIGGERS
    }
    return [_save(managers[s], Task(name, "save", TaskState(state)), t) for name, s, t, state, _ in SAVES]


def _save(manager: Any, task: Task, trigger: str) -> dict[str, Any]:
    before = plain(task)
    ended = outcome_of(lambda: manager.maybe_save(task, _again(trigger)))
    return {"id": task.id, "changed": before != plain(task)} | ended


def _whole(tasks: Sequence[Task], manager: Made, process: Process) -> Any:
    keeper = made(manager, Shelf(process, {task.id: HERE for task in tasks}), process, max_age=LONG, max_count=99)
    process.clock.sleep(NAP)
    return [_save(keeper, task, "every_step") for task in tasks]


def _resumes(stories: Sequence[Resume], manager: Made, process: Process) -> Any:
    shelf = Shelf(process, {story.id: story.rows for story in stories})
    managers = {age: made(manager, shelf, process, max_age=age) for age in {s.max_age: 0 for s in stories}}
    process.clock.sleep(NAP)
    return [{"id": story.id} | outcome_of(partial(_resume, managers[story.max_age], story.id)) for story in stories]


def _resume(manager: Any, task_id: str) -> Any:
    return manager.validate_and_resume(task_id)


def _cleans(stories: Sequence[Cleanup], manager: Made, process: Process) -> Any:
    """One manager for all tasks with the same limits: they hold for each task by itself."""
    shelf = Shelf(process, {story.id: story.rows for story in stories})
    limits = {(s.max_count, s.max_age): 0 for s in stories}
    managers = {(n, age): made(manager, shelf, process, max_count=n, max_age=age) for n, age in limits}
    process.clock.sleep(NAP)
    return [{"id": s.id} | outcome_of(partial(managers[s.max_count, s.max_age].cleanup, s.id)) for s in stories]


def _in_turn(manager: Made, process: Process) -> Any:
    """Two tasks and two managers over one store, and somebody else who saves in between; then a task that ends more than once."""
    shelf = Shelf(process, {})
    one, two = (made(manager, shelf, process, max_count=2) for _ in range(2))
    said: list[dict[str, Any]] = []

    def say(call: str, does: Callable[[], Any], task_id: str = "a") -> None:
        before = numbers(process, task_id)
        said.append({"call": call, "before": before, **outcome_of(does), "after": numbers(process, task_id)})

    for step in range(1, 5):
        say("save", partial(one.maybe_save, Task("a", "step", TaskState.RUNNING, attempt=step), "every_step"))
    say("save", partial(one.maybe_save, Task("b", "step", TaskState.RUNNING), "every_step"), "b")
    say("cleanup", partial(one.cleanup, "a"))
    for step in range(3):
        shelf.append("a", vars(Task("a", f"somebody else {step}", TaskState.WAITING)))
    say("resume", partial(one.validate_and_resume, "a"))
    say("cleanup", partial(one.cleanup, "a"))
    say("save", partial(two.maybe_save, Task("a", "step", TaskState.RUNNING, attempt=9), "every_step"))
    say("resume", partial(one.validate_and_resume, "a"))
    say("cleanup", partial(two.cleanup, "a"))
    say("cleanup", partial(one.cleanup, "b"), "b")
    for attempt, end in enumerate((TaskState.FAILED, TaskState.FAILED, TaskState.COMPLETED), 1):
        say("end", partial(one.maybe_save, Task("c", "step", end, attempt=attempt), "on_state_change"), "c")
        say("resume", partial(one.validate_and_resume, "c"), "c")
    return said


def _cleanup_dies(manager: Made, process: Process) -> Any:
    keeper = made(manager, Shelf(process, DYING), process, max_count=2)
    before = numbers(process, "t1")
    count = keeper.cleanup("t1")
    return {"count": count, "before": before, "after": numbers(process, "t1")}


def _run_dies(manager: Made, process: Process) -> Any:
    """A short life: go on from the newest checkpoint, save, end, and clean up."""
    keeper = made(manager, Shelf(process, {}), process, strategy="on_state_change", max_count=1)
    try:
        state = keeper.validate_and_resume("t1").data["state"]
    except CheckpointNotFound:
        state = ""
    task = Task("t1", "shop", TaskState.RUNNING, worker_id="w1", attempt=1)
    if not state:
        keeper.maybe_save(task, "on_state_change")
        process.note("saved", "running")
    if state != "completed":
        keeper.maybe_save(replace(task, state=TaskState.COMPLETED, result="v1"), "every_step")
        process.note("saved", "completed")
    return keeper.cleanup("t1")


class Refusing:
    """A store that raises in one of its three calls."""

    def __init__(self, where: str, leave: Callable[..., object]) -> None:
        self._where, self._leave = where, leave

    def _ask(self, call: str) -> None:
        if call == self._where:
            self._leave()

    def append(self, task_id: str, data: dict[str, Any]) -> int:
        self._ask("append")
        return 4

    def load(self, task_id: str) -> list[Checkpoint]:
        self._ask("load")
        return [Checkpoint(task_id, n, NOW - HOUR, {"id": task_id, "state": "running"}, True) for n in (1, 2, 3)]

    def delete(self, task_id: str, seq: int) -> None:
        self._ask("delete")


CALLS: dict[str, Callable[[Any], Any]] = {
    "append": lambda keeper: keeper.maybe_save(Task("t1", "save"), "every_step"),
    "load": lambda keeper: keeper.validate_and_resume("t1"),
    "delete": lambda keeper: keeper.cleanup("t1"),
}


def _refused(manager: Made, process: Process, where: str, leave: Callable[..., object]) -> Any:
    return CALLS[where](made(manager, Refusing(where, leave), process, max_count=1, max_age=LONG))


def _told_to_leave(manager: Made, process: Process) -> Any:
    return [tried for where in CALLS for tried in try_exits(partial(_refused, manager, process, where))]


def _busy(manager: Made, process: Process) -> Any:
    """The store is busy for so long that only who never gives up sees it again."""
    said = []
    for where in CALLS:
        asked: list[str] = []

        def leave(where: str = where, asked: list[str] = asked) -> None:
            asked.append(where)
            if len(asked) <= MOST_REFUSALS:
                raise StoreBusy("the database is locked")

        said.append(
            {"call": where} | outcome_of(partial(_refused, manager, process, where, leave)) | {"asked": len(asked)}
        )
    return said


def _case(name: str, call: Callable[[Made, Process], Any], rows: Scene, **options: Any) -> Case:
    options = {"databases": ("sqlite",), **options}
    facts = {"rows": as_kept(rows), **options.pop("facts", {})}
    return Case(name, body(NAME, call), scene(rows), facts=facts, **options)


def _in_full(tasks: Sequence[Task]) -> Case:
    return _case("whole", partial(_whole, tasks), {**{task.id: HERE for task in tasks}, **BYSTANDERS}, facts={"tasks": tasks})


def _resumed(groups: Mapping[str, Sequence[Resume]]) -> Case:
    stories = [story for group in groups.values() for story in group]
    rows = {**{story.id: story.rows for story in stories}, **BYSTANDERS}
    return _case("resumes", partial(_resumes, stories), rows, facts={"resumes": groups})


def _cleaned(stories: Sequence[Cleanup]) -> Case:
    rows = {**{story.id: story.rows for story in stories}, **BYSTANDERS}
    return _case("cleans", partial(_cleans, stories), rows, facts={"cleanups": stories})


def drawn_cases(rng: Random) -> tuple[Case, ...]:
    return (_in_full(drawn.tasks(rng)), _resumed(drawn.resumes(rng)), _cleaned(drawn.cleanups(rng)))


def cases() -> tuple[Case, ...]:
    return (
        _case("run_dies", _run_dies, BYSTANDERS, engine="sweep"),
        _case("saves", _saves, BYSTANDERS),
        _in_full(WHOLE),
        _resumed(RESUMES),
        _cleaned(CLEANUPS),
        _case("in_turn", _in_turn, BYSTANDERS, databases=SQL),
        _case("cleanup_dies", _cleanup_dies, {**DYING, **BYSTANDERS}, engine="sweep"),
        _case("told_to_leave", _told_to_leave, {}),
        _case("busy", _busy, {}),
    )
