"""A snapshot as text and back, and what is refused on the way."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta, timezone
from enum import Enum, IntEnum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.checkpoint import task_from_data
from labkit.checkpoint.data import DEEPEST, LARGEST_DATA, Checkpoint, checksum_of, decode, encode
from labkit.errors import CheckpointNotResumable, TerminalError, UnstorableValue, ValueTooLarge
from labkit.task import Task, TaskState

AT = datetime(2026, 1, 5, 9, 0, 0, 120000, tzinfo=UTC)
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=12,
)  # fmt: skip


class Level(IntEnum):
    HIGH = 3


class Colour(Enum):
    RED = "red"
    NONE = None
    OFF = False


def again(data: Any, task_id: str = "t1") -> dict[str, Any] | None:
    text = encode(data)
    return decode(task_id, text, checksum_of(task_id, text))


@settings(max_examples=40)
@given(st.dictionaries(TEXT, PLAIN, max_size=4))
def test_plain_data_come_back(data: dict[str, Any]) -> None:
    """Whatever is JSON comes back as it went in."""
    assert data == again(data)


def test_times_enums_and_tuples() -> None:
    """Times come out as ISO text in UTC, enums as their values, tuples as lists, an enum as key as its text."""
    berlin = timezone(timedelta(hours=1))
    data = {
        "at": AT.astimezone(berlin),
        "level": Level.HIGH,
        "colour": Colour.RED,
        "pair": (1, 2),
        TaskState.RUNNING: [Colour.NONE, Colour.OFF],
    }
    expected = {
        "at": "2026-01-05T09:00:00.120000+00:00",
        "level": 3,
        "colour": "red",
        "pair": [1, 2],
        "running": [None, False],
    }
    assert expected == again(data)


class Cycle(dict[str, Any]):
    def __init__(self) -> None:
        super().__init__(inner=self)


REFUSED: list[tuple[Any, str]] = [
    ({"a": "x\x00"}, "a"),
    ({"a": {"b": ["ok", "\ud800"]}}, "a.b[1]"),
    ({"a": float("nan")}, "a"),
    ({"a": [float("inf")]}, "a[0]"),
    ({"a": b"bytes"}, "a"),
    ({"a": {1: "x"}}, "a"),
    ({"a": {"b\x00": 1}}, "a.b\\u0000"),
    ({"a": datetime(2026, 1, 5)}, "a"),
    ({"a": 2**63}, "a"),
    ({"a": {1, 2}}, "a"),
    ({"a": {"red": 1, Colour.RED: 2}}, "a.red"),
    ({"a": Cycle()}, "a" + ".inner" * (DEEPEST - 1)),
    ({1: "x"}, "data"),
    (["no", "dict"], "data"),
]


@pytest.mark.parametrize(("data", "path"), REFUSED)
def test_unstorable(data: Any, path: str) -> None:
    """What JSON, UTF-8 or a database cannot hold is refused with the path to it."""
    with pytest.raises(UnstorableValue) as caught:
        encode(data)
    assert path == caught.value.path


def test_cap() -> None:
    """Data of exactly 1 MiB fit; one byte more is a terminal error that names the value and the way out."""
    room = LARGEST_DATA - len(encode({"id": "t1", "result": ""}))
    assert LARGEST_DATA == len(encode({"id": "t1", "result": "x" * room}).encode())
    with pytest.raises(ValueTooLarge, match="ArtifactStore") as caught:
        encode({"id": "t1", "result": "x" * (room + 1)})
    assert (True, "result") == (isinstance(caught.value, TerminalError), caught.value.path)
    with pytest.raises(ValueTooLarge):
        encode({"id": "t1", "result": "é" * (room // 2 + 1)})


def test_checksum_belongs_to_a_task() -> None:
    """The snapshot of one task is no snapshot of another."""
    text = encode({"id": "t1"})
    assert decode("t2", text, checksum_of("t1", text)) is None


@pytest.mark.parametrize("text", ["", "[]", "null", "{", "[" * 100_000, '{"a": ' + "9" * 5_000 + "}", b"\xff"])
def test_damage_under_a_right_checksum(text: str | bytes) -> None:
    """What is no dict in JSON is not intact, even if somebody put the checksum right."""
    told = checksum_of("t1", text) if isinstance(text, str) else "0" * 64
    assert decode("t1", text, told) is None


def test_task_comes_back() -> None:
    """A task goes in and the same comes out, with aware times and its state."""
    task = Task("t1", "deploy", TaskState.WAITING, priority=2, available_at=AT, attempt=1, created_at=AT, version=4)
    read = again(asdict(task))
    assert read is not None
    assert task == task_from_data(read)


def test_old_and_new_snapshots() -> None:
    """Fields that a snapshot lacks have their defaults, fields unknown today are left out."""
    assert Task("t1", "x") == task_from_data({"id": "t1", "user_input": "x", "mood": "good", "extra": {"done": {}}})


@pytest.mark.parametrize("wrong", [{}, {"id": "t1"}, {"id": "t1", "user_input": "x", "state": "asleep"},
                                   {"id": "t1", "user_input": "x", "created_at": "soon"}, {"id": 1, "user_input": "x"}])  # fmt: skip
def test_no_task(wrong: dict[str, Any]) -> None:
    """Where there is no task in it, nobody can go on from it."""
    with pytest.raises(CheckpointNotResumable):
        task_from_data(wrong)


def test_one_line() -> None:
    """A checkpoint shows itself in one line."""
    assert "<Checkpoint t1 3 running>" == str(Checkpoint("t1", 3, AT, {"state": "running"}, True))
    assert "<Checkpoint t1 3 damaged>" == repr(Checkpoint("t1", 3, AT, {}, False))
