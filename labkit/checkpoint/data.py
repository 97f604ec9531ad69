"""A snapshot as text and back: whatever is not exactly what was written is seen to be damaged.

Data go in as they are in Python (times, enums, tuples) and come out as JSON has them (ISO text in UTC, the value, lists).
What JSON or one of the databases cannot hold is `UnstorableValue` with the path to it, before anything is written; so is
what could be written and not read again. A checksum over the task's id and the text tells a damaged snapshot from a whole
one. A task is made from a snapshot of any age: fields that it lacks have their defaults, fields unknown today are left out.

Not handled here: damage that somebody did together with its checksum.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from labkit.errors import CheckpointNotResumable, UnstorableValue, ValueTooLarge
from labkit.store.contract import plain_count, plain_task, plain_text, plain_time, storable_text
from labkit.tables import task_from_row
from labkit.task import Task

LARGEST_DATA = 1_048_576  # bytes of UTF-8 in the JSON of one checkpoint
DEEPEST = 50  # containers inside each other


@dataclass(frozen=True)
class Checkpoint:
    """A snapshot of a task. `seq` is its place in the order; `intact` is False, and `data` empty, when it is damaged."""

    task_id: str
    seq: int
    created_at: datetime
    data: dict[str, Any]
    intact: bool

    def __str__(self) -> str:
        state = f" {self.data['state']}" if "state" in self.data else ""
        return f"<Checkpoint {self.task_id} {self.seq}{state}{'' if self.intact else ' damaged'}>"

    __repr__ = __str__


def encode(data: Mapping[str, Any]) -> str:
    """The data as JSON. `UnstorableValue` for what cannot be stored, `ValueTooLarge` for more than LARGEST_DATA bytes."""
    if not isinstance(data, Mapping):
        raise UnstorableValue(f"data must be a dict, not {type(data).__name__}", path="data")
    text = json.dumps(_plain("", data, 0), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if (length := len(text.encode())) > LARGEST_DATA:
        largest = max(data, key=lambda name: len(json.dumps(_plain("", data[name], 0))))
        raise ValueTooLarge(
            f"the checkpoint has {length} bytes, more than {LARGEST_DATA}, most of them in {largest}: "
            "put large results into the ArtifactStore and keep their id and a summary here",
            path=str(largest),
        )
    return text


def decode(task_id: str, text: str | bytes, checksum: str | bytes) -> dict[str, Any] | None:
    """The data that were written for this task; None when this is not, to the byte, what was written."""
    try:
        whole = text.decode() if isinstance(text, bytes) else text
        told = checksum.decode() if isinstance(checksum, bytes) else checksum
        data = json.loads(whole) if told == checksum_of(task_id, whole) else None
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def checksum_of(task_id: str, text: str) -> str:
    """What only this text as a snapshot of this task has."""
    return hashlib.sha256(f"{task_id}\n{text}".encode()).hexdigest()


def task_from_data(data: Mapping[str, Any]) -> Task:
    """The task in a checkpoint's data, with the version that it had then: a save of it is stale if the store went on.

    `CheckpointNotResumable` when there is none in it: no id, a state that does not exist.
    """
    try:
        return plain_task(task_from_row(data))
    except (TypeError, ValueError, AttributeError, OverflowError, UnstorableValue) as error:
        raise CheckpointNotResumable(f"there is no task in this checkpoint: {error}") from error


def _plain(path: str, value: Any, depth: int) -> Any:
    """`value` as JSON can hold it and give it back."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return _plain(path, value.value, depth)
    if isinstance(value, str):
        return plain_text(path, value)
    if isinstance(value, int):
        return plain_count(path, value)
    if isinstance(value, float):
        return _finite(path, value)
    if isinstance(value, datetime):
        return plain_time(path, value).isoformat()
    return _plain_container(path, value, depth)


def _plain_container(path: str, value: Any, depth: int) -> Any:
    if depth >= DEEPEST:
        raise UnstorableValue(f"{path} lies in more than {DEEPEST} containers", path=path)
    if isinstance(value, Mapping):
        return _plain_mapping(path, value, depth)
    if isinstance(value, list | tuple):
        return [_plain(f"{path}[{place}]", inner, depth + 1) for place, inner in enumerate(value)]
    hint = "; put bytes into the ArtifactStore" if isinstance(value, bytes | bytearray | memoryview) else ""
    raise UnstorableValue(f"{path} cannot be JSON: {type(value).__name__}{hint}", path=path)


def _plain_mapping(path: str, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, inner in value.items():
        key = _key(path, name)
        if key in made:
            raise UnstorableValue(f"two keys in {path or 'data'} become {key!r}", path=_inside(path, key))
        made[key] = _plain(_inside(path, key), inner, depth + 1)
    return made


def _key(path: str, name: Any) -> str:
    if type(name) is str and name.isidentifier() and name.isascii():
        return name
    name = name.value if isinstance(name, Enum) else name
    if not isinstance(name, str):  # subtle: JSON would make "1" of a key 1, and give back another dict
        where = path or "data"
        raise UnstorableValue(f"a key in {where} must be text, not {type(name).__name__}", path=where)
    return plain_text(_inside(path, storable_text(name)), name)


def _inside(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _finite(path: str, value: float) -> float:
    if not math.isfinite(value):
        raise UnstorableValue(f"{path} is {value}, which is no JSON", path=path)
    return float(value)
