"""The store of checkpoints on both databases: order, parents, damage, pruning."""

from __future__ import annotations

import threading
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, text

from labkit.checkpoint import CheckpointStore
from labkit.checkpoint.store import UNKNOWN
from labkit.clock import VirtualClock
from labkit.database import open_engine, write_transaction
from labkit.errors import StaleCheckpoint, StoreBusy, StoreFull, UnstorableValue, ValueTooLarge
from labkit.task import Task, TaskState
from tests.checkpoint.helpers import seqs

TASK = Task("t1", "deploy shop \U0001f680", TaskState.RUNNING, worker_id="w1")
NEVER = datetime.min.replace(tzinfo=UTC)


@pytest.fixture
def store(engine: Engine, clock: VirtualClock) -> CheckpointStore:
    return CheckpointStore(engine, now=clock.now)


def change(engine: Engine, sql: str, **values: Any) -> None:
    with engine.begin() as connection:
        connection.execute(text(sql), values)


def test_append_and_load(store: CheckpointStore, clock: VirtualClock) -> None:
    """What was saved is read, oldest first, with the times of the saves, each task for itself."""
    first = clock.now()
    assert [1, 2] == [store.append("t1", asdict(TASK)), store.append("t1", {"step": 2})]
    clock.sleep(1)
    assert [1, 3] == [store.append("t2", {}), store.append("t1", {"step": 3})]
    found = store.load("t1")
    assert [(1, first), (2, first), (3, clock.now())] == [(c.seq, c.created_at) for c in found]
    assert {**asdict(TASK), "state": "running"} == found[0].data
    assert all(c.intact and c.task_id == "t1" for c in found)
    assert found[-1] == store.newest("t1")


def test_none(store: CheckpointStore) -> None:
    """A task without checkpoints has none: no error, and nothing to delete or prune."""
    assert ([], None) == (store.load("t1"), store.newest("t1"))
    assert (False, 0) == (store.delete("t1", 1), store.prune("t1", max_count=0, before=NEVER))


def test_time_of_the_database(engine: Engine) -> None:
    """Without `now` a checkpoint has the database's own time."""
    CheckpointStore(engine).append("t1", {})
    (found,) = CheckpointStore(engine).load("t1")
    assert abs(found.created_at - datetime.now(UTC)) < timedelta(minutes=1)
    assert found.intact


def test_order_is_by_number(engine: Engine, store: CheckpointStore, clock: VirtualClock) -> None:
    """A clock that is set back changes no order: the newest is the one saved last."""
    store.append("t1", {"step": 1})
    clock.jump(-3600)
    store.append("t1", {"step": 2})
    found = store.newest("t1")
    assert found is not None
    assert ({"step": 2}, [1, 2]) == (found.data, seqs(store))


def test_expected_parent(store: CheckpointStore) -> None:
    """A save with a parent goes through only while that is the newest; None and 0 mean that there is none yet."""
    assert 1 == store.append("t1", {"by": "a"}, expected=None)
    assert 2 == store.append("t1", {"by": "a"}, expected=1)
    for stale in (None, 0, 1, 3):
        with pytest.raises(StaleCheckpoint):
            store.append("t1", {"by": "b"}, expected=stale)
        with pytest.raises(StaleCheckpoint):
            store.append_and_prune("t1", {"by": "b"}, max_count=1, before=NEVER, expected=stale)
    assert [1, 2] == seqs(store)
    assert 1 == store.append("t2", {}, expected=0)


@pytest.mark.parametrize("value", ["a\x00b", "\ud800", float("nan"), b"x", {1: 2}])
def test_unstorable(store: CheckpointStore, value: Any) -> None:
    """What a store cannot hold is refused with its path, and nothing is saved."""
    with pytest.raises(UnstorableValue) as caught:
        store.append("t1", {"extra": {"result": value}})
    assert caught.value.path.startswith("extra.result")
    for wrong in ("t\x00", "t" * 1001):
        with pytest.raises(UnstorableValue) as caught:
            store.append(wrong, {})
        assert "task_id" == caught.value.path
    assert [] == store.load("t1")


def test_too_large(store: CheckpointStore) -> None:
    """Data over the cap are refused, and nothing is saved or pruned."""
    store.append("t1", {"step": 1})
    with pytest.raises(ValueTooLarge):
        store.append_and_prune("t1", {"result": "x" * 2_000_000}, max_count=0, before=NEVER)
    assert [1] == seqs(store)


def test_delete(store: CheckpointStore) -> None:
    """Delete takes one away, once, of this task alone."""
    for task_id in ("t1", "t1", "t2"):
        store.append(task_id, {})
    assert [True, False] == [store.delete("t1", 1), store.delete("t1", 1)]
    assert ([2], [1]) == (seqs(store), seqs(store, "t2"))


@pytest.mark.parametrize(
    ("max_count", "left"), [(0, [5]), (1, [5]), (2, [4, 5]), (5, [1, 2, 3, 4, 5]), (10**30, [1, 2, 3, 4, 5])]
)
def test_prune_by_count(store: CheckpointStore, max_count: int, left: list[int]) -> None:
    """The newest `max_count` stay, always the newest one, and no other task is touched."""
    for task_id in ["t1"] * 5 + ["t2"] * 3:
        store.append(task_id, {})
    assert 5 - len(left) == store.prune("t1", max_count=max_count, before=NEVER)
    assert (left, [1, 2, 3]) == (seqs(store), seqs(store, "t2"))


def test_prune_by_age(store: CheckpointStore, clock: VirtualClock) -> None:
    """Those from before an instant go, one from that very instant stays, and so does the newest however old."""
    for _ in range(3):
        store.append("t1", {})
        clock.sleep(1)
    assert 1 == store.prune("t1", max_count=9, before=clock.now() - timedelta(seconds=2))
    assert [2, 3] == seqs(store)
    assert 1 == store.prune("t1", max_count=9, before=clock.now() + timedelta(days=1))
    assert [3] == seqs(store)


def test_prune_counts_rows_not_numbers(store: CheckpointStore) -> None:
    """Gaps in the numbers count for nothing."""
    for _ in range(5):
        store.append("t1", {})
    store.delete("t1", 4)
    assert 2 == store.prune("t1", max_count=2, before=NEVER)
    assert [3, 5] == seqs(store)


@pytest.mark.parametrize("max_count", [0, 1, 2, 3])
def test_append_and_prune(store: CheckpointStore, clock: VirtualClock, max_count: int) -> None:
    """A save that prunes leaves exactly what a save and then a prune would leave, ages too."""
    for step in range(1, 6):
        clock.sleep(1)
        before = clock.now() - timedelta(seconds=1)
        assert step == store.append_and_prune("t1", {}, max_count=max_count, before=before)
        store.append("t2", {})
        store.prune("t2", max_count=max_count, before=before)
        assert seqs(store) == seqs(store, "t2")
        assert len(seqs(store)) == min(step, max(max_count, 1), 2)


def row(engine: Engine) -> tuple[str, str, str]:
    with engine.connect() as connection:
        found = connection.execute(text("SELECT data, checksum, created_at FROM checkpoints")).one()
    return found.data, found.checksum, str(found.created_at)


def test_cut_and_changed_at_every_byte(engine: Engine, store: CheckpointStore) -> None:
    """A text that is cut or changed at any character is there and not intact; put right again it is intact."""
    store.append("t1", asdict(TASK))
    data, _, _ = row(engine)
    wrong = [data[:at] for at in range(0, len(data), 7)]
    wrong += [data[:at] + ("x" if data[at] != "x" else "y") + data[at + 1 :] for at in range(0, len(data), 7)]
    for damaged in [*wrong, data + " "]:
        change(engine, "UPDATE checkpoints SET data = :data", data=damaged)
        (found,) = store.load("t1")
        assert ({}, False, 1) == (found.data, found.intact, found.seq)
        assert found == store.newest("t1")
    change(engine, "UPDATE checkpoints SET data = :data", data=data)
    assert [True] == [c.intact for c in store.load("t1")]


def test_damaged_checksum(engine: Engine, store: CheckpointStore) -> None:
    """A checksum that is changed, cut or empty makes the checkpoint damaged."""
    store.append("t1", {"step": 1})
    _, checksum, _ = row(engine)
    for damaged in [checksum[:-1], "", checksum.upper(), checksum[1:] + checksum[0]]:
        change(engine, "UPDATE checkpoints SET checksum = :it", it=damaged)
        assert [False] == [c.intact for c in store.load("t1")]


def test_bytes_that_are_no_text(sqlite: Engine) -> None:
    """On SQLite any bytes can stand in any column: damaged, never an error; the whole ones beside it stay readable."""
    store = CheckpointStore(sqlite)
    store.append("t1", {"step": 1})
    store.append("t1", asdict(TASK))
    with sqlite.connect() as connection:
        whole = connection.execute(text("SELECT data, checksum, created_at FROM checkpoints WHERE seq = 2")).one()
    for column, value in whole._mapping.items():
        raw = value.encode()
        for at in range(0, len(raw), max(1, len(raw) // 20)):
            for wrong in (raw[:at] + b"\xff" + raw[at + 1 :], raw[:at] + b"\xff\x00"):
                change(sqlite, f"UPDATE checkpoints SET {column} = CAST(:wrong AS TEXT) WHERE seq = 2", wrong=wrong)
                first, second = store.load("t1")
                assert (True, {"step": 1}, False, {}) == (first.intact, first.data, second.intact, second.data)
                assert column != "created_at" or second.created_at == UNKNOWN
        change(sqlite, f"UPDATE checkpoints SET {column} = :value WHERE seq = 2", value=value)
    assert [True, True] == [c.intact for c in store.load("t1")]


def test_saving_after_damage(engine: Engine, store: CheckpointStore) -> None:
    """A damaged newest is still the newest: the next save comes after it and writes over nothing."""
    store.append("t1", {"step": 1})
    store.append("t1", {"step": 2})
    change(engine, "UPDATE checkpoints SET data = '' WHERE seq = 2")
    with pytest.raises(StaleCheckpoint):
        store.append("t1", {}, expected=None)
    assert 3 == store.append("t1", {"step": 3}, expected=2)
    assert [True, False, True] == [c.intact for c in store.load("t1")]


def test_threads_without_a_parent(engine: Engine) -> None:
    """Threads that save at once all go through, each under its own number."""
    store, barrier, got = CheckpointStore(engine), threading.Barrier(4), list[int]()

    def save() -> None:
        barrier.wait()
        got.extend([store.append("t1", {}) for _ in range(5)])

    threads = [threading.Thread(target=save) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(range(1, 21)) == sorted(got) == seqs(store)


def test_busy(sqlite: Engine) -> None:
    """A database that is locked for too long is StoreBusy, and nothing was saved."""
    impatient = open_engine(f"{sqlite.url}?timeout=0.01")
    with write_transaction(sqlite), pytest.raises(StoreBusy):
        CheckpointStore(impatient).append("t1", {})
    assert [] == CheckpointStore(sqlite).load("t1")
    impatient.dispose()


def test_full_disk(sqlite: Engine) -> None:
    """A save for which there is no room is StoreFull, and the checkpoints before it are there."""
    store = CheckpointStore(sqlite)
    store.append("t1", {"step": 1})
    with sqlite.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=1").scalar()  # not below what is there
    with pytest.raises(StoreFull):
        store.append_and_prune("t1", {"result": "x" * 500_000}, max_count=1, before=NEVER)
    assert [1] == seqs(store)


def test_one_line(store: CheckpointStore) -> None:
    """A store shows itself in one line."""
    assert repr(store).startswith("<CheckpointStore ")


def test_always_too_late(store: CheckpointStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A save that others are always faster than gives up as StoreBusy after a while, it never goes round for ever."""
    monkeypatch.setattr(store, "_write", lambda values: [])
    with pytest.raises(StoreBusy):
        store.append("t1", {})
