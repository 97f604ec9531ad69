"""What only the JSON file can get wrong: half-written, damaged or half-replaced files, and two processes."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labkit.clock import Clock, VirtualClock
from labkit.errors import StaleTask, StoreBusy, StoreCorrupt, StoreFull
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


def _edited(rows: list[dict[str, Any]]) -> str:
    body = json.dumps(rows, ensure_ascii=False)
    return f'{{"sha256": "{hashlib.sha256(body.encode()).hexdigest()}", "tasks": {body}}}'


@pytest.mark.parametrize(
    ("edit", "wrong"),
    [
        (lambda row: [row | {"version": None}], "version must be an int"),
        (lambda row: [row | {"version": "1"}], "version must be an int"),
        (lambda row: [row | {"id": 5}], "id must be text"),
        (lambda row: [row | {"user_input": None}], "user_input must be text"),
        (lambda row: [row | {"created_at": None}], "task t1 lacks a time"),
        (lambda row: [{name: row[name] for name in row if name != "updated_at"}], "task t1 lacks a time"),
        (lambda row: [row | {"created_at": 5}], "int"),
        (lambda row: [row, row | {"idempotency_key": None}], "two tasks have one id: 't1'"),
        (lambda row: [row, row | {"id": "t2"}], "two tasks have one idempotency_key: 'k'"),
        (lambda row: [row, 5], "int"),
        (lambda row: row, "str"),
    ],
)  # fmt: skip
def test_edited_file_with_a_right_checksum(
    tmp_path: Path, clock: VirtualClock, edit: Callable[[dict[str, Any]], Any], wrong: str
) -> None:
    """What no save can have written is corrupt for every call, whatever its checksum, and the error says what is wrong."""
    path = tmp_path / "tasks.json"
    store = JsonFileStore(path, clock)
    saved = store.save(Task("t1", "deploy", idempotency_key="k"))
    row = json.loads(path.read_text())["tasks"][0]
    path.write_text(_edited([row]))
    assert saved == store.get("t1")
    path.write_text(_edited(edit(row)))
    for use in (lambda: store.get("t1"), lambda: store.list_by_state(TaskState.PENDING), lambda: store.save(saved)):
        with pytest.raises(StoreCorrupt) as caught:
            use()
        assert wrong in str(caught.value)
        assert path.read_bytes() == Path(caught.value.kept_at).read_bytes()


class FullFiles(DiskFiles):
    """A disk that gives out in one kind of call; a write gets half its bytes down."""

    def __init__(self, call: str, code: int = errno.ENOSPC) -> None:
        self.call, self.code = call, code

    def _give_out(self, call: str) -> None:
        if call == self.call:
            raise OSError(self.code, os.strerror(self.code))

    def write(self, path: Path, data: bytes) -> None:
        super().write(path, data[: len(data) // 2])
        self._give_out("write")
        super().write(path, data)

    def fsync(self, path: Path) -> None:
        self._give_out("fsync")

    def replace(self, src: Path, dst: Path) -> None:
        self._give_out("replace")


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
@pytest.mark.parametrize(("code", "told"), [(errno.ENOSPC, StoreFull), (errno.EFBIG, StoreFull), (errno.EIO, OSError)])
def test_save_on_a_full_disk(tmp_path: Path, clock: VirtualClock, call: str, code: int, told: type[Exception]) -> None:
    """A save without room is StoreFull, another failure of the disk is told as it is; the file is whole, no part stays."""
    path = tmp_path / "tasks.json"
    saved = JsonFileStore(path, clock).save(Task("t1", "x"))
    whole = path.read_bytes()
    with pytest.raises(told):
        JsonFileStore(path, clock, FullFiles(call, code)).save(replace(saved, state=TaskState.RUNNING))
    assert whole == path.read_bytes()
    assert ["tasks.json", "tasks.json.lock"] == sorted(file.name for file in tmp_path.iterdir())


def test_damaged_on_a_full_disk(tmp_path: Path, clock: VirtualClock) -> None:
    """A damaged file that cannot be copied aside is StoreCorrupt too; it says so, and leaves no half of a copy."""
    path = tmp_path / "tasks.json"
    path.write_bytes(b"torn")
    with pytest.raises(StoreCorrupt, match=r"no copy could be kept: .*No space left") as caught:
        JsonFileStore(path, clock, FullFiles("write")).get("t1")
    assert "" == caught.value.kept_at
    assert [b"torn"] == [file.read_bytes() for file in tmp_path.iterdir()]


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
