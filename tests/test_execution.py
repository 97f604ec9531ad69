"""Run once and resume: every crash between two crossings, and two callers at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlalchemy import Engine

from labkit.clock import VirtualClock
from labkit.errors import StaleTask, TaskNotFound, TransientError, UnstorableValue
from labkit.execution import execute_task_if_not_done, resume_task
from labkit.store import MemoryStore, SqlStore, StateStore
from labkit.task import Task, TaskState

RUNNERS = [execute_task_if_not_done, resume_task]
Runner = Callable[[StateStore, str, Callable[[str, str], str]], Task]


class Died(BaseException):
    """The process died here."""


class World:
    """A store and an outside world that knows keys; every call crosses twice, and the process dies at one crossing."""

    def __init__(self, store: StateStore, die_at: int = 0) -> None:
        self.store, self.die_at, self.crossings = store, die_at, 0
        self.effects: dict[str, str] = {}
        self.error: type[BaseException] = Died

    def cross(self) -> None:
        self.crossings += 1
        if self.crossings == self.die_at:
            raise self.error

    def get(self, task_id: str, /) -> Task | None:
        self.cross()
        return self.store.get(task_id)

    def save(self, task: Task, /) -> Task:
        self.cross()
        saved = self.store.save(task)
        self.cross()
        return saved

    def list_by_state(self, state: TaskState, /) -> list[Task]:
        return self.store.list_by_state(state)

    def execute_step(self, task_id: str, step: Callable[[Task], Task], /) -> Task:
        return self.store.execute_step(task_id, step)

    def work(self, user_input: str, key: str) -> str:
        self.cross()
        result = self.effects.setdefault(key, f"{user_input} done")
        self.cross()
        return result


@pytest.fixture
def store(engine: Engine) -> StateStore:
    return SqlStore(engine)


def memory(state: TaskState = TaskState.PENDING, **fields: str) -> World:
    store = MemoryStore(VirtualClock())
    store.save(Task("t1", "deploy", state=state, **fields))  # type: ignore[arg-type]
    return World(store)


@pytest.mark.parametrize("run", RUNNERS)
def test_runs_once(store: StateStore, run: Runner) -> None:
    """A pending task is run under its id as key; a second call returns the stored task and does not work."""
    world = World(store)
    store.save(Task("t1", "deploy"))
    done = run(world, "t1", world.work)
    assert (TaskState.COMPLETED, "deploy done", None) == (done.state, done.result, done.error)
    assert {"t1": "deploy done"} == world.effects
    assert done == store.get("t1") == run(world, "t1", lambda *_: pytest.fail("called"))


@pytest.mark.parametrize("run", RUNNERS)
def test_running_is_saved_first(run: Runner) -> None:
    """While the work runs the task is stored as running."""
    world, seen = memory(), []

    def work(user_input: str, key: str) -> str:
        stored = world.store.get("t1")
        assert stored is not None
        seen.append(stored.state)
        return ""

    assert "" == run(world, "t1", work).result
    assert [TaskState.RUNNING] == seen


@pytest.mark.parametrize("run", RUNNERS)
def test_unknown_task(run: Runner) -> None:
    """An unknown id is TaskNotFound, and nothing is called."""
    with pytest.raises(TaskNotFound):
        run(MemoryStore(VirtualClock()), "nobody", lambda *_: pytest.fail("called"))


@pytest.mark.parametrize("run", RUNNERS)
@pytest.mark.parametrize("state", [TaskState.COMPLETED, TaskState.CANCELLED])
def test_finished_task(run: Runner, state: TaskState) -> None:
    """A completed or cancelled task is returned as stored."""
    world = memory(state, result="old")
    assert world.store.get("t1") == run(world, "t1", lambda *_: pytest.fail("called"))


@pytest.mark.parametrize("run", RUNNERS)
@pytest.mark.parametrize("state", [TaskState.PENDING, TaskState.RUNNING, TaskState.WAITING, TaskState.FAILED])
def test_unfinished_task(run: Runner, state: TaskState) -> None:
    """Every other state is run to its end, and the old error is gone then."""
    world = memory(state, error="old")
    done = run(world, "t1", world.work)
    assert (TaskState.COMPLETED, None) == (done.state, done.error)


def test_failed_goes_back_to_pending(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resume writes pending without the error before it runs a failed task."""
    world, written = memory(TaskState.FAILED, error="old"), []
    save = world.store.save
    monkeypatch.setattr(world.store, "save", lambda task: written.append((task.state, task.error)) or save(task))
    resume_task(world, "t1", world.work)
    assert [(TaskState.PENDING, None), (TaskState.RUNNING, None), (TaskState.COMPLETED, None)] == written


@pytest.mark.parametrize("run", RUNNERS)
@pytest.mark.parametrize("error", [ValueError("disk full"), ValueError(), TransientError("a\x00b\ud800")])
def test_failed_work(store: StateStore, run: Runner, error: Exception) -> None:
    """A failure is stored as text that every store can hold, and the error itself is raised."""
    store.save(Task("t1", "deploy"))

    def work(user_input: str, key: str) -> str:
        raise error

    with pytest.raises(type(error)) as caught:
        run(store, "t1", work)
    assert error is caught.value
    failed = store.get("t1")
    assert failed is not None
    assert TaskState.FAILED == failed.state
    assert {"disk full": "disk full", "": "ValueError()"}.get(str(error), "a\\u0000b\\ud800") == failed.error


@pytest.mark.parametrize("run", RUNNERS)
def test_error_without_a_text(run: Runner) -> None:
    """An error that cannot even be asked for its text is stored by its type, and raised itself."""

    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

        __repr__ = __str__

    error, world = Mute(), memory()

    def work(user_input: str, key: str) -> str:
        raise error

    with pytest.raises(Mute) as caught:
        run(world, "t1", work)
    assert error is caught.value
    failed = world.store.get("t1")
    assert failed is not None
    assert (TaskState.FAILED, "Mute, whose text cannot be read") == (failed.state, failed.error)


@pytest.mark.parametrize("run", RUNNERS)
@pytest.mark.parametrize("result", ["a\x00b", "\ud800", b"bytes", None])
def test_unstorable_result(store: StateStore, run: Runner, result: str) -> None:
    """A result that no store can hold still ends the task, as failed, and says where it stood."""
    store.save(Task("t1", "deploy"))
    if result is None:
        assert TaskState.COMPLETED == run(store, "t1", lambda *_: result).state
        return
    with pytest.raises(UnstorableValue) as caught:
        run(store, "t1", lambda *_: result)
    assert "result" == caught.value.path
    failed = store.get("t1")
    assert failed is not None
    assert TaskState.FAILED == failed.state
    assert "result" in str(failed.error)


@pytest.mark.parametrize("run", RUNNERS)
@pytest.mark.parametrize("start", [TaskState.PENDING, TaskState.FAILED, TaskState.WAITING, TaskState.RUNNING])
def test_every_crash_and_every_crash_of_the_recovery(run: Runner, start: TaskState) -> None:
    """A crash at any crossing, and another in the recovery, leaves a task that the next call finishes; the effect is once."""
    total = memory(start)
    run(total, "t1", total.work)
    for first in range(1, total.crossings + 1):
        for second in range(total.crossings + 1):
            world = memory(start)
            for die_at in (first, second):
                world.die_at, world.crossings = die_at, 0
                try:
                    run(world, "t1", world.work)
                except Died:
                    stored = world.store.get("t1")
                    assert stored is not None
                    assert stored.state in (start, TaskState.PENDING, TaskState.RUNNING, TaskState.COMPLETED)
            world.die_at = 0
            assert "deploy done" == run(world, "t1", world.work).result
            assert {"t1": "deploy done"} == world.effects


@pytest.mark.parametrize("run", RUNNERS)
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_interrupts_go_through(run: Runner, error: type[BaseException]) -> None:
    """What is no Exception goes through untouched and is never stored as a failure."""
    for die_at in range(1, 9):
        world = memory()
        world.die_at, world.error = die_at, error
        if die_at <= 7:
            with pytest.raises(error):
                run(world, "t1", world.work)
        else:
            run(world, "t1", world.work)
        stored = world.store.get("t1")
        assert stored is not None
        assert TaskState.FAILED != stored.state
        assert stored.error is None


@pytest.mark.parametrize("run", RUNNERS)
def test_two_callers(store: StateStore, run: Runner) -> None:
    """Two callers at once: both may work under one key, one writes the end, the other gets StaleTask."""
    world = World(store)
    store.save(Task("t1", "deploy"))

    def slow(user_input: str, key: str) -> str:
        assert TaskState.COMPLETED == run(world, "t1", world.work).state
        return world.work(user_input, key)

    with pytest.raises(StaleTask):
        run(world, "t1", slow)
    done = store.get("t1")
    assert done is not None
    assert (TaskState.COMPLETED, {"t1": "deploy done"}) == (done.state, world.effects)


@pytest.mark.parametrize("run", RUNNERS)
def test_cancelled_meanwhile(store: StateStore, run: Runner) -> None:
    """A task that was cancelled while the work ran stays cancelled."""
    store.save(Task("t1", "deploy"))

    def work(user_input: str, key: str) -> str:
        store.execute_step("t1", lambda task: replace(task, state=TaskState.CANCELLED))
        return "too late"

    with pytest.raises(StaleTask):
        run(store, "t1", work)
    stored = store.get("t1")
    assert stored is not None
    assert (TaskState.CANCELLED, None) == (stored.state, stored.result)
