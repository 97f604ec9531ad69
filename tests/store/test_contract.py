"""One contract, four stores: whatever holds for one of them holds for all."""

from __future__ import annotations

import logging
import threading
from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from labkit.clock import SystemClock
from labkit.errors import InvalidTransition, StaleTask, TaskNotFound, UnstorableValue, UsageError
from labkit.store import JsonFileStore, MemoryStore, SqlStore, StateStore
from labkit.task import TRANSITIONS, Task, TaskState

NEW = Task("t1", "deploy shop")
ONE_INSTANT = datetime(2026, 1, 5, 9, 0, 0, 120000, tzinfo=UTC)


@pytest.fixture(params=["memory", "json", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> StateStore:
    if request.param == "memory":
        return MemoryStore(SystemClock())
    if request.param == "json":
        return JsonFileStore(tmp_path / "tasks.json", SystemClock())  # threads wait for its lock in real time
    return SqlStore(request.getfixturevalue(request.param))


def running(store: StateStore) -> Task:
    return store.save(replace(store.save(NEW), state=TaskState.RUNNING))


def test_is_a_state_store(store: StateStore) -> None:
    """Each store is what the protocol asks for and shows itself in one line."""
    assert isinstance(store, StateStore)
    assert "\n" not in repr(store)


def test_unknown_id(store: StateStore) -> None:
    """An unknown id is None, not an error."""
    assert store.get("nobody") is None


def test_insert(store: StateStore) -> None:
    """A first save inserts, counts the version and fills in the times."""
    saved = store.save(NEW)
    assert saved == store.get("t1")
    assert saved.version == 1
    for time in (saved.created_at, saved.available_at, saved.updated_at):
        assert time is not None
        assert time.tzinfo == UTC
        assert abs(time - datetime.now(UTC)) < timedelta(minutes=1)


@pytest.mark.parametrize("state", list(TaskState))
def test_insert_in_any_state(store: StateStore, state: TaskState) -> None:
    """An unknown id may come in any state and with any version."""
    saved = store.save(replace(NEW, state=state, version=7))
    assert (state, 8) == (saved.state, saved.version)


def test_every_field_comes_back(store: StateStore) -> None:
    """What was saved is what is read, to the microsecond, with times in UTC whatever zone they came in."""
    berlin = timezone(timedelta(hours=1))
    full = Task(
        id="t-ü", user_input="zwei\nZeilen \U0001f680", state=TaskState.RUNNING, result="", error="é", priority=-3,
        available_at=ONE_INSTANT.astimezone(berlin), worker_id="w1", attempt=2, lease_expires_at=ONE_INSTANT,
        idempotency_key="k", created_at=ONE_INSTANT + timedelta(microseconds=1), version=4,
    )  # fmt: skip
    saved = store.save(full)
    assert replace(full, version=5, updated_at=saved.updated_at) == saved == store.get("t-ü")
    assert saved.available_at is not None
    assert saved.available_at.tzinfo == UTC


def test_given_times_stay_and_none_keeps(store: StateStore) -> None:
    """A save with None for the times of birth keeps the stored ones."""
    saved = store.save(replace(NEW, created_at=ONE_INSTANT, available_at=ONE_INSTANT))
    later = store.save(replace(saved, state=TaskState.RUNNING, created_at=None, available_at=None))
    assert (ONE_INSTANT, ONE_INSTANT) == (later.created_at, later.available_at)


def test_returned_tasks_are_copies(store: StateStore) -> None:
    """What is returned cannot be changed, and forcing it changes nothing in the store."""
    saved = store.save(NEW)
    with pytest.raises(FrozenInstanceError):
        saved.result = "forged"  # type: ignore[misc]
    for copy in (saved, store.get("t1"), *store.list_by_state(TaskState.PENDING)):
        object.__setattr__(copy, "result", "forged")
    read = store.get("t1")
    assert read is not None
    assert read.result is None


@pytest.mark.parametrize("old", list(TaskState))
@pytest.mark.parametrize("new", list(TaskState))
def test_transitions(store: StateStore, old: TaskState, new: TaskState) -> None:
    """Exactly the pairs of the table go through; another leaves the task as it was."""
    before = store.save(replace(NEW, state=old))
    if new in TRANSITIONS[old]:
        after = store.save(replace(before, state=new, result="r"))
        assert (new, "r", 2) == (after.state, after.result, after.version)
        assert after == store.get("t1")
    else:
        with pytest.raises(InvalidTransition):
            store.save(replace(before, state=new, result="r"))
        assert before == store.get("t1")


def test_stale_save(store: StateStore) -> None:
    """Of two saves of one version the second gets StaleTask and changes nothing."""
    read = store.save(NEW)
    first = store.save(replace(read, state=TaskState.RUNNING, worker_id="a"))
    with pytest.raises(StaleTask):
        store.save(replace(read, state=TaskState.RUNNING, worker_id="b"))
    with pytest.raises(StaleTask):
        store.save(replace(read, state=TaskState.RUNNING, version=9))
    assert first == store.get("t1")


def test_stale_before_invalid(store: StateStore) -> None:
    """A save that is stale and forbidden is stale."""
    read = running(store)
    store.save(replace(read, state=TaskState.COMPLETED))
    with pytest.raises(StaleTask):
        store.save(replace(read, state=TaskState.PENDING))


def test_second_insert_is_stale(store: StateStore) -> None:
    """Inserting an id that is there is a stale save."""
    store.save(NEW)
    with pytest.raises(StaleTask):
        store.save(NEW)


def test_updated_at_is_the_stores(store: StateStore) -> None:
    """`updated_at` is the store's time of the write, whatever the task said."""
    for state in (TaskState.PENDING, TaskState.RUNNING):
        saved = store.save(replace(store.get("t1") or NEW, state=state, updated_at=ONE_INSTANT))
        assert saved.updated_at is not None
        assert saved.updated_at > ONE_INSTANT + timedelta(days=1)


def test_list_by_state(store: StateStore) -> None:
    """Tasks of a state come by creation, then by id in code point order; the state may be plain text."""
    for number, name in enumerate(["b", "a", "Z", "ä"]):
        store.save(Task(name, "x", created_at=ONE_INSTANT + timedelta(seconds=number == 0)))
    store.save(Task("other", "x", state=TaskState.FAILED))
    assert ["Z", "a", "ä", "b"] == [task.id for task in store.list_by_state(TaskState.PENDING)]
    assert ["other"] == [task.id for task in store.list_by_state("failed")]  # type: ignore[arg-type]
    assert [] == store.list_by_state(TaskState.WAITING)


def test_one_task_per_key(store: StateStore) -> None:
    """A second task under one idempotency key is refused by name; a key that was given up is free again."""
    first = store.save(replace(NEW, idempotency_key="k"))
    other = store.save(Task("t2", "x"))
    for second in (Task("t3", "x", idempotency_key="k"), replace(other, state=TaskState.RUNNING, idempotency_key="k")):
        with pytest.raises(UnstorableValue) as caught:
            store.save(second)
        assert "idempotency_key" == caught.value.path
    assert (None, other) == (store.get("t3"), store.get("t2"))
    store.save(replace(first, state=TaskState.RUNNING, idempotency_key=None))
    assert "k" == store.save(Task("t3", "x", idempotency_key="k")).idempotency_key


BAD_TEXT: list[Any] = ["a\x00b", "\ud800", "ok\udfff", b"bytes", 7, float("nan"), {"a": 1}, object()]
TEXTS = ("id", "user_input", "result", "error", "worker_id", "idempotency_key")
BAD_FIELDS: list[tuple[str, Any]] = [
    *((name, value) for name in TEXTS for value in BAD_TEXT),
    *((name, value) for name in ("id", "user_input", "priority", "attempt") for value in (None,)),
    *(("priority", value) for value in (1.5, float("nan"), True, "1", 2**63)),
    *(("available_at", value) for value in (datetime(2026, 1, 1), "2026-01-01", 0)),
    ("lease_expires_at", datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2)))),
    ("state", "done"),
    ("state", None),
    *((name, value) for name in ("id", "idempotency_key") for value in ("x" * 1001, "\U0001f680" * 251, "x" * 20_000)),
    ("version", 2**63 - 1),
]


@pytest.mark.parametrize(("name", "value"), BAD_FIELDS, ids=lambda value: ascii(value)[:20].replace(" object at", ""))
def test_unstorable_values(store: StateStore, name: str, value: Any) -> None:
    """B25: what one store cannot hold, all refuse with the same error, which names the field; nothing changes."""
    before = store.save(NEW)
    with pytest.raises(UnstorableValue) as caught:
        store.save(replace(before, **{"state": TaskState.RUNNING, name: value}))
    assert name == caught.value.path
    assert name in str(caught.value)
    assert before == store.get("t1")


def test_the_longest_key_and_the_last_version(store: StateStore) -> None:
    """An id and a key of 1,000 bytes are stored, and a version that can still be counted on; a longer id is unknown."""
    longest = "".join(chr(0x10000 + 7919 * number % 0x9000) for number in range(250))
    saved = store.save(Task(longest, "x", idempotency_key=longest, version=2**63 - 2))
    assert saved == store.get(longest)
    assert [saved] == store.list_by_state(TaskState.PENDING)
    assert 2**63 - 1 == saved.version
    assert store.get(longest * 20) is None
    with pytest.raises(UnstorableValue) as caught:
        store.save(replace(saved, state=TaskState.RUNNING))
    assert "version" == caught.value.path


@pytest.mark.parametrize("value", ["a\x00b", "\ud800", 7, None])
def test_unstorable_id_in_get(store: StateStore, value: Any) -> None:
    """B25: asking for an id that no store can hold is the same error too."""
    with pytest.raises(UnstorableValue):
        store.get(value)


def test_kinds_of_text_and_int(store: StateStore) -> None:
    """Subclasses of text and int are stored as the plain type, in every store."""

    class Loud(str):
        __slots__ = ()

    saved = store.save(replace(NEW, result=Loud("x"), state="pending"))  # type: ignore[arg-type]
    read = store.get("t1")
    assert read is not None
    assert (str, str, TaskState) == (type(saved.result), type(read.result), type(read.state))


def test_execute_step(store: StateStore) -> None:
    """A step sees the stored task and what it returns is saved."""
    store.save(NEW)
    after = store.execute_step("t1", lambda task: replace(task, state=TaskState.RUNNING, worker_id="w"))
    assert (2, "w") == (after.version, after.worker_id)
    assert after == store.get("t1")


def test_failing_step(store: StateStore) -> None:
    """A step that raises, also by a BaseException, leaves the task unchanged and its error untouched."""
    before = store.save(NEW)
    for error in (ValueError("no"), KeyboardInterrupt()):

        def step(task: Task, error: BaseException = error) -> Task:
            raise error

        with pytest.raises(type(error)) as caught:
            store.execute_step("t1", step)
        assert error is caught.value
    assert before == store.get("t1")


def test_step_of_an_unknown_task(store: StateStore) -> None:
    """An unknown id is TaskNotFound and the step is not called."""
    with pytest.raises(TaskNotFound):
        store.execute_step("nobody", lambda task: pytest.fail("called"))


def test_step_that_returns_something_else(store: StateStore) -> None:
    """A step must return its own task."""
    store.save(NEW)
    for wrong in (None, Task("t2", "x")):
        with pytest.raises(UsageError):
            store.execute_step("t1", lambda task, wrong=wrong: wrong)  # type: ignore[misc]
    assert store.get("t2") is None


def test_no_lock_during_a_step(store: StateStore) -> None:
    """Two agents on one task: the one that saves meanwhile commits, the other gets StaleTask."""
    store.save(NEW)

    def slow(task: Task) -> Task:
        store.execute_step("t1", lambda same: replace(same, state=TaskState.RUNNING, worker_id="quick"))
        return replace(task, state=TaskState.RUNNING, worker_id="slow")

    with pytest.raises(StaleTask):
        store.execute_step("t1", slow)
    read = store.get("t1")
    assert read is not None
    assert ("quick", 2) == (read.worker_id, read.version)


def test_threads_at_once(store: StateStore) -> None:
    """Of many saves of one version at the same moment exactly one goes through, and the others get StaleTask."""
    read = store.save(NEW)
    start, outcomes = threading.Barrier(6), []

    def writer(name: str) -> None:
        start.wait()
        try:
            outcomes.append(store.save(replace(read, state=TaskState.RUNNING, worker_id=name)).worker_id)
        except StaleTask:
            outcomes.append("stale")

    threads = [threading.Thread(target=writer, args=(f"w{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    after = store.get("t1")
    assert after is not None
    assert sorted([str(after.worker_id), *["stale"] * 5]) == sorted(map(str, outcomes))
    assert 2 == after.version


def test_inserts_at_once(store: StateStore) -> None:
    """Of many inserts of one id exactly one goes through."""
    start, outcomes = threading.Barrier(6), []

    def writer() -> None:
        start.wait()
        try:
            outcomes.append(store.save(NEW).version)
        except StaleTask:
            outcomes.append(0)

    threads = [threading.Thread(target=writer) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [0, 0, 0, 0, 0, 1] == sorted(outcomes)


def test_log_line(store: StateStore, caplog: pytest.LogCaptureFixture) -> None:
    """Each accepted write is one structured line with task, worker, attempt and state; a refused one is none."""
    caplog.set_level(logging.INFO, logger="labkit.task")
    saved = store.save(NEW)
    store.save(replace(saved, state=TaskState.RUNNING, worker_id="w1", attempt=1))
    with pytest.raises(StaleTask):
        store.save(saved)
    told = [vars(record) for record in caplog.records]
    assert [("t1", None, 0, "pending"), ("t1", "w1", 1, "running")] == [
        (line["task"], line["worker"], line["attempt"], line["state"]) for line in told
    ]
