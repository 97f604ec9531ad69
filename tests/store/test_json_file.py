"""What only the JSON file can get wrong: half-written, damaged or half-replaced files, and two processes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labkit.clock import Clock, VirtualClock
from labkit.errors import StaleTask, StoreBusy, StoreCorrupt
from labkit.files import DiskFiles
from labkit.store import JsonFileStore
from labkit.task import Task, TaskState


class Died(BaseException):
    """The process died here."""


class DyingFiles(DiskFiles):
    """A disk whose process dies at crossing number `at`: before a call, after it, or with a write half done."""

    def __init__(self, at: int) -> None:
        self.at, self.seen = at, 0

    def _crossing(self) -> None:
        self.seen += 1
        if self.seen == self.at:
            raise Died

    def _call(self, call: Callable[..., None], *arguments: Any) -> None:
        self._crossing()
        call(*arguments)
        self._crossing()

    def write(self, path: Path, data: bytes) -> None:
        self._crossing()
        super().write(path, data[: len(data) // 2])
        self._crossing()
        super().write(path, data)
        self._crossing()

    def fsync(self, path: Path) -> None:
        self._call(super().fsync, path)

    def replace(self, src: Path, dst: Path) -> None:
        self._call(super().replace, src, dst)

    @contextmanager
    def lock(self, path: Path, clock: Clock, timeout: float) -> Iterator[None]:
        with super().lock(path, clock, timeout):
            yield


def test_cut_at_every_byte(tmp_path: Path, clock: VirtualClock) -> None:
    """B21: a file cut anywhere is StoreCorrupt for every call, stays in place, and is kept aside; it is never an empty store."""
    path = tmp_path / "tasks.json"
    store = JsonFileStore(path, clock)
    saved = store.save(Task("t1", "größe \U0001f680", result="r"))
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        for use in (
            lambda: store.get("t1"),
            lambda: store.save(Task("t2", "x")),
            lambda: store.list_by_state(TaskState.PENDING),
        ):
            with pytest.raises(StoreCorrupt) as caught:
                use()
            assert whole[:length] == Path(caught.value.kept_at).read_bytes() == path.read_bytes()
    path.write_bytes(whole)
    assert saved == store.get("t1")


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace("deploy", "delete"),
        lambda text: text.replace('"version": 1', '"version": NaN'),
        lambda text: "[]",
        lambda text: "null",
        lambda text: json.dumps({"tasks": []}),
        lambda text: "[" * 100_000,
        lambda text: text + text,
        lambda text: text.replace('"pending"', '"paused"'),
    ],
)
def test_edited_file(tmp_path: Path, clock: VirtualClock, damage: Callable[[str], str]) -> None:
    """A file that was changed by hand is corrupt, not obeyed."""
    path = tmp_path / "tasks.json"
    store = JsonFileStore(path, clock)
    store.save(Task("t1", "deploy"))
    path.write_text(damage(path.read_text()))
    with pytest.raises(StoreCorrupt):
        store.get("t1")
    assert [path.read_bytes()] == [kept.read_bytes() for kept in tmp_path.glob("*.corrupt-*")]


def test_bytes_that_are_no_text(tmp_path: Path, clock: VirtualClock) -> None:
    """Bytes that are no UTF-8 are corrupt too."""
    path = tmp_path / "tasks.json"
    path.write_bytes(b"\xff\xfe{}")
    with pytest.raises(StoreCorrupt):
        JsonFileStore(path, clock).get("t1")


def test_crash_at_every_crossing_of_a_save(tmp_path: Path, clock: VirtualClock) -> None:
    """B21: a crash before or after each file call, or inside the write, leaves the task before the save or after it."""
    path = tmp_path / "tasks.json"
    before = JsonFileStore(path, clock).save(Task("t1", "x"))
    whole, seen, at = path.read_bytes(), set(), 0
    while True:
        at += 1
        path.write_bytes(whole)
        files = DyingFiles(at)
        try:
            JsonFileStore(path, clock, files).save(replace(before, state=TaskState.RUNNING))
            break
        except Died:
            pass
        read = JsonFileStore(path, clock).get("t1")
        assert read is not None
        seen.add(read.state)
        JsonFileStore(path, clock).save(replace(read, state=TaskState.RUNNING))  # the next process is not in the way
    assert 10 == at
    assert {TaskState.PENDING, TaskState.RUNNING} == seen


def test_locked_for_too_long(tmp_path: Path, clock: VirtualClock) -> None:
    """A save waits for the lock on the clock; then it is StoreBusy and nothing was written. Reading needs no lock."""
    store = JsonFileStore(tmp_path / "tasks.json", clock)
    saved = store.save(Task("t1", "x"))
    with DiskFiles().lock(tmp_path / "tasks.json.lock", clock, 0):
        with pytest.raises(StoreBusy):
            store.save(replace(saved, state=TaskState.RUNNING))
        assert saved == store.get("t1")
    assert 5.0 == pytest.approx(clock.monotonic(), abs=0.1)
    assert 2 == store.save(replace(saved, state=TaskState.RUNNING)).version


@pytest.mark.slow
def test_two_processes(tmp_path: Path) -> None:
    """Two processes that count in one file lose no count."""
    program = f"""
from dataclasses import replace
from labkit.clock import SystemClock
from labkit.errors import StaleTask
from labkit.store import JsonFileStore
from labkit.task import TaskState
store = JsonFileStore({str(tmp_path / "tasks.json")!r}, SystemClock())
done = 0
while done < 25:
    try:
        store.execute_step("t1", lambda task: replace(task, state=TaskState.RUNNING, priority=task.priority + 1))
        done += 1
    except StaleTask:
        pass
"""
    store = JsonFileStore(tmp_path / "tasks.json", VirtualClock())
    store.save(Task("t1", "x", state=TaskState.RUNNING))
    children = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(2)]
    assert [0, 0] == [child.wait(60) for child in children]
    read = store.get("t1")
    assert read is not None
    assert (50, 51) == (read.priority, read.version)


def test_the_newest_read_wins_over_two_stores(tmp_path: Path, clock: VirtualClock) -> None:
    """Two store objects on one file see each other's saves."""
    one, two = (JsonFileStore(tmp_path / "tasks.json", clock) for _ in range(2))
    saved = one.save(Task("t1", "x"))
    two.save(replace(saved, state=TaskState.RUNNING))
    with pytest.raises(StaleTask):
        one.save(replace(saved, state=TaskState.CANCELLED))
