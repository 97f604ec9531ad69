"""When a checkpoint is saved, which one may be resumed from, which ones go: on a plain store and on both databases."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, text

from labkit.checkpoint import CheckpointManager, CheckpointStore, task_from_data
from labkit.checkpoint.manager import STRATEGIES, TERMINAL
from labkit.clock import VirtualClock
from labkit.errors import (
    CheckpointCorrupt,
    CheckpointExpired,
    CheckpointNotFound,
    CheckpointNotResumable,
    StaleCheckpoint,
    ValueTooLarge,
)
from labkit.task import Task, TaskState
from tests.checkpoint.helpers import DAY, OnlyThree, PlainStore, manager_of, seqs

TASK = Task("t1", "deploy", TaskState.RUNNING)


@pytest.fixture(params=["plain", "sqlite", "three of sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def store(request: pytest.FixtureRequest, clock: VirtualClock) -> Any:
    if request.param == "plain":
        return PlainStore(clock)
    made = CheckpointStore(request.getfixturevalue(request.param.split()[-1]), now=clock.now)
    return OnlyThree(made) if request.param.startswith("three") else made


def in_state(state: TaskState, task_id: str = "t1") -> Task:
    return replace(TASK, id=task_id, state=state)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("state", list(TaskState))
def test_strategies(clock: VirtualClock, strategy: str, state: TaskState) -> None:
    """A save is made when the trigger is the strategy, and for a task that has ended at every trigger."""
    for trigger in STRATEGIES:
        store = PlainStore(clock)
        expected = trigger == strategy or state in (TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED)
        assert expected is manager_of(store, clock, strategy=strategy).maybe_save(in_state(state), trigger)
        assert [1] * expected == seqs(store)


def test_the_whole_task_is_saved(store: Any, clock: VirtualClock) -> None:
    """What is saved is the task, all of it, and what the run must know besides; it comes back as it was."""
    task = replace(TASK, worker_id="w1", attempt=2, created_at=clock.now(), available_at=clock.now(), version=3)
    manager = manager_of(store, clock)
    manager.maybe_save(task, "every_step", extra={"done": {"call-1": "a1"}})
    found = manager.validate_and_resume("t1")
    assert (task, {"done": {"call-1": "a1"}}) == (task_from_data(found.data), found.data["extra"])


def test_nothing_to_resume(store: Any, clock: VirtualClock) -> None:
    """Without a checkpoint there is nothing to resume, and nothing to clean up."""
    with pytest.raises(CheckpointNotFound):
        manager_of(store, clock).validate_and_resume("t1")
    assert 0 == manager_of(store, clock).cleanup("t1")


@pytest.mark.parametrize(("state", "fresh", "old"), [
    (TaskState.PENDING, CheckpointNotResumable, CheckpointNotResumable),
    (TaskState.CANCELLED, CheckpointNotResumable, CheckpointNotResumable),
    (TaskState.COMPLETED, None, None),
    (TaskState.RUNNING, None, CheckpointExpired),
    (TaskState.WAITING, None, CheckpointExpired),
    (TaskState.FAILED, None, CheckpointExpired),
])  # fmt: skip
def test_state_before_age(store: Any, clock: VirtualClock, state: TaskState, fresh: Any, old: Any) -> None:
    """The state is looked at first: completed is returned however old; only what would be run again can be too old."""
    store.append("t1", vars(in_state(state)))
    manager = manager_of(store, clock)
    for expected, seconds in (
        (fresh, 0),
        (fresh, DAY.total_seconds()),
        (old, 0.001),
    ):  # exactly that old is not too old
        clock.sleep(seconds)
        if expected is None:
            assert state == manager.validate_and_resume("t1").data["state"]
        else:
            with pytest.raises(expected):
                manager.validate_and_resume("t1")


def test_the_newest_counts(store: Any, clock: VirtualClock) -> None:
    """The newest by number is taken, also where the clock was set back since the one before it."""
    manager = manager_of(store, clock)
    store.append("t1", vars(in_state(TaskState.COMPLETED)))
    clock.jump(-3600)
    store.append("t1", vars(in_state(TaskState.CANCELLED)))
    with pytest.raises(CheckpointNotResumable):
        manager.validate_and_resume("t1")


@pytest.mark.parametrize("state", list(TaskState))
def test_damage_comes_first(engine: Engine, clock: VirtualClock, state: TaskState) -> None:
    """A damaged newest is CheckpointCorrupt, whatever it said and however old, though older ones are whole."""
    manager = manager_of(CheckpointStore(engine, now=clock.now), clock)
    for _ in range(2):
        CheckpointStore(engine, now=clock.now).append("t1", vars(in_state(state)))
    with engine.begin() as connection:
        connection.execute(text("UPDATE checkpoints SET data = '{}' WHERE seq = 2"))
    clock.sleep(10 * DAY.total_seconds())
    with pytest.raises(CheckpointCorrupt):
        manager.validate_and_resume("t1")


@pytest.mark.parametrize("data", [{}, {"state": "asleep"}, {"state": None}])
def test_no_state(store: Any, clock: VirtualClock, data: dict[str, Any]) -> None:
    """Data that say no state that we know cannot be resumed."""
    store.append("t1", data)
    with pytest.raises(CheckpointNotResumable):
        manager_of(store, clock).validate_and_resume("t1")


@pytest.mark.parametrize(("max_count", "left"), [(0, [4]), (1, [4]), (2, [3, 4]), (4, [1, 2, 3, 4]), (9, [1, 2, 3, 4])])
def test_cleanup_by_count(store: Any, clock: VirtualClock, max_count: int, left: list[int]) -> None:
    """At most `max_count` are left, the newest among them; the number of the others is returned."""
    for _ in range(4):
        store.append("t1", {})
        store.append("t2", {})
    manager = manager_of(store, clock, max_count=max_count)
    assert [4 - len(left), 0] == [manager.cleanup("t1"), manager.cleanup("t1")]
    assert (left, [1, 2, 3, 4]) == (seqs(store), seqs(store, "t2"))


def test_cleanup_by_age(store: Any, clock: VirtualClock) -> None:
    """Older than `max_age` goes, exactly that old stays, and the newest stays however old."""
    for _ in range(3):
        store.append("t1", {})
        clock.sleep(1)
    manager = manager_of(store, clock, max_age=timedelta(seconds=2))
    assert (1, [2, 3]) == (manager.cleanup("t1"), seqs(store))
    clock.sleep(3600)
    assert (1, [3]) == (manager.cleanup("t1"), seqs(store))
    assert (0, [3]) == (manager.cleanup("t1"), seqs(store))


def test_each_save_prunes(store: Any, clock: VirtualClock) -> None:
    """After each save both limits hold, and a save that was not made prunes nothing."""
    manager = manager_of(store, clock, max_count=2, max_age=timedelta(seconds=10))
    for step in range(1, 6):
        manager.maybe_save(TASK, "every_step")
        assert [n for n in (step - 1, step) if n] == seqs(store)
    clock.sleep(11)
    assert not manager.maybe_save(TASK, "every_iteration")
    assert [4, 5] == seqs(store)
    manager.maybe_save(TASK, "every_step")
    assert [6] == seqs(store)


def test_a_refused_save_prunes_nothing(engine: Engine, clock: VirtualClock) -> None:
    """A stale save and one that is too large leave all that is there."""
    store = CheckpointStore(engine, now=clock.now)
    for _ in range(3):
        store.append("t1", {})
    manager = manager_of(store, clock, max_count=1)
    with pytest.raises(StaleCheckpoint):
        manager.maybe_save(TASK, "every_step", expected=2)
    with pytest.raises(ValueTooLarge):
        manager.maybe_save(replace(TASK, result="x" * 2_000_000), "every_step", expected=3)
    assert [1, 2, 3] == seqs(store)
    assert manager.maybe_save(TASK, "every_step", expected=3)
    assert [4] == seqs(store)


def test_any_age(store: Any, clock: VirtualClock) -> None:
    """An age that nothing reaches is one, too."""
    manager = manager_of(store, clock, max_age=timedelta.max)
    assert manager.maybe_save(TASK, "every_step")
    clock.sleep(1e9)
    assert [1, 0] == [manager.validate_and_resume("t1").seq, manager.cleanup("t1")]


@pytest.mark.parametrize("wrong", [{"strategy": "sometimes"}, {"max_count": -1}, {"max_age": -DAY}])
def test_wrong_options(clock: VirtualClock, wrong: dict[str, Any]) -> None:
    """An unknown strategy and negative limits are refused at once."""
    with pytest.raises(ValueError):
        manager_of(PlainStore(clock), clock, **wrong)


MOVES = st.lists(st.sampled_from(["save", "end", "sleep", "back", "delete", "cleanup"]), max_size=14)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moves=MOVES, max_count=st.integers(0, 3))
def test_a_database_does_what_a_plain_store_does(sqlite: Engine, moves: list[str], max_count: int) -> None:
    """Whatever is done, one DELETE leaves what deleting one by one leaves, and never nothing."""
    clock = VirtualClock()
    with sqlite.begin() as connection:
        connection.execute(text("DELETE FROM checkpoints"))
    stores: list[Any] = [PlainStore(clock), CheckpointStore(sqlite, now=clock.now)]
    managers: list[CheckpointManager] = [
        manager_of(store, clock, max_count=max_count, max_age=timedelta(seconds=5)) for store in stores
    ]
    for move in moves:
        clock.sleep(2 if move == "sleep" else 0)
        clock.jump(-3 if move == "back" else 0)
        there = seqs(stores[0])
        for store, manager in zip(stores, managers, strict=True):
            if move in ("save", "end"):
                manager.maybe_save(in_state(TaskState.FAILED if move == "end" else TaskState.RUNNING), "every_step")
            elif move == "delete" and len(there) > 1:
                store.delete("t1", there[0])
            elif move == "cleanup":
                manager.cleanup("t1")
        assert [(c.seq, c.created_at) for c in stores[0].load("t1")] == [
            (c.seq, c.created_at) for c in stores[1].load("t1")
        ]
        assert bool(seqs(stores[0])) is bool(there or move in ("save", "end"))


def test_terminal() -> None:
    """The states that are saved under every strategy are those that end an attempt."""
    assert {"completed", "failed", "cancelled"} == TERMINAL


def test_one_line(clock: VirtualClock) -> None:
    """A manager shows itself in one line."""
    assert "<CheckpointManager every_step, at most 3, 1 day, 0:00:00 old>" == repr(manager_of(PlainStore(clock), clock))
