"""What every store of tasks promises, and the rules they share.

A save is a compare-and-set: it goes through only for whoever read the newest version, and only along the transition
table. Otherwise it raises and nothing changes. What one store cannot hold, all refuse alike, so that a workflow that
passed on one store does not fail on another: text without an encoding, an id or a key of more than 1,000 bytes.

Not handled here: how a store makes its save atomic and durable; that is each store's own lesson.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any, Protocol, runtime_checkable

from labkit.errors import StaleTask, TaskNotFound, UnstorableValue, UsageError
from labkit.task import Task, TaskState, check_transition

_log = logging.getLogger("labkit.task")
_LARGEST = 2**63 - 1
LONGEST_KEY = 1000  # bytes of UTF-8 in an id or an idempotency key; a row of an index of PostgreSQL holds about 2,700
_UNSTORABLE = {"\x00": "U+0000"} | {chr(code): "a lone surrogate" for code in range(0xD800, 0xE000)}
_ESCAPES = str.maketrans({character: f"\\u{ord(character):04x}" for character in _UNSTORABLE})


@runtime_checkable
class StateStore(Protocol):
    """Tasks by id. What is returned is a copy: changing it changes nothing here."""

    def get(self, id: str) -> Task | None:
        """The stored task, or None."""

    def save(self, task: Task) -> Task:
        """Compare-and-set on `version`; an unknown id is inserted. Returns the stored copy with the next version.

        Sets `updated_at`, and the other times where they are None. `StaleTask` when another write came between (also
        when the change would be forbidden too), `InvalidTransition` for a forbidden change, `UnstorableValue`;
        nothing changes then.
        """

    def list_by_state(self, state: TaskState) -> list[Task]:
        """The tasks in this state by `created_at`, then `id`."""

    def execute_step(self, task_id: str, step: Callable[[Task], Task]) -> Task:
        """Get, run `step` outside any lock, save what it returns. A step that raises leaves the task as it was."""


class StepRunner:
    """`execute_step` for any store that has `get` and `save`."""

    def execute_step(self: StateStore, task_id: str, step: Callable[[Task], Task]) -> Task:
        task = self.get(task_id)
        if task is None:
            raise TaskNotFound(f"there is no task {task_id!r}")
        after = step(task)  # subtle: no lock is held here, the version tells whether another came between
        if not isinstance(after, Task) or after.id != task_id:
            raise UsageError(f"the step of task {task_id!r} must return that task, not {after!r}")
        return self.save(after)


def written(task: Task, stored: Task | None, now: datetime) -> Task:
    """What a save of `task` over `stored` leaves behind; raises where it is stale or forbidden."""
    if stored is not None:
        if stored.version != task.version:
            raise stale(task, stored.version)
        check_transition(stored.state, task.state)
    before = stored or replace(task, created_at=now, available_at=now)
    return replace(
        task,
        version=task.version + 1,
        updated_at=now,
        created_at=task.created_at or before.created_at,
        available_at=task.available_at or before.available_at,
    )


def stale(task: Task, newest: int) -> StaleTask:
    """The error for a save of a version that is no longer the newest."""
    return StaleTask(f"task {task.id} was read at version {task.version}, but version {newest} is stored")


def key_taken(task: Task) -> UnstorableValue:
    """The error for a second task under one idempotency key."""
    message = f"idempotency_key {task.idempotency_key!r} belongs to another task"
    return UnstorableValue(message, path="idempotency_key")


def log_written(task: Task) -> Task:
    """One structured line for each accepted write."""
    if _log.isEnabledFor(logging.INFO):
        told = {"task": task.id, "worker": task.worker_id, "attempt": task.attempt, "state": str(task.state)}
        _log.info("task %s %s", task.id, task.state, extra=told)
    return task


def storable(task: Task) -> Task:
    """`plain_task`, and within what every store can write: `UnstorableValue` also for a long key or a last version."""
    plain = plain_task(task)
    for path, value in (("id", plain.id), ("idempotency_key", plain.idempotency_key or "")):
        if (length := len(value.encode())) > LONGEST_KEY:
            raise UnstorableValue(f"{path} has {length} bytes, more than {LONGEST_KEY}", path=path)
    if plain.version == _LARGEST:
        raise UnstorableValue(f"version {_LARGEST} is the last, no write can follow it", path="version")
    return plain


def plain_task(task: Task) -> Task:
    """The same task in the plainest types (text, int, UTC times); `UnstorableValue` names the field that has none."""
    return Task(**{name: check(name, getattr(task, name)) for name, check in _CHECKS.items()})


def storable_text(value: str) -> str:
    """Text that every store can hold, for error messages: what cannot be stored is written as an escape."""
    return value.translate(_ESCAPES)


def error_text(error: BaseException) -> str:
    """What an error says, as text that every store can hold; of one that cannot be asked, its type."""
    try:
        return storable_text(str(error) or repr(error))
    except Exception:
        return f"{type(error).__name__}, whose text cannot be read"


def plain_text(path: str, value: Any) -> str:
    """`value` as text; `UnstorableValue(path=...)` for the rest, and for text that PostgreSQL or UTF-8 cannot hold."""
    if not isinstance(value, str):
        raise UnstorableValue(f"{path} must be text, not {type(value).__name__}", path=path)
    if "\x00" in value or not _encodes(value):
        at, character = next((at, character) for at, character in enumerate(value) if character in _UNSTORABLE)
        raise UnstorableValue(f"{path} holds {_UNSTORABLE[character]} at position {at}", path=path)
    return str.__str__(value)


def plain_key(path: str, value: Any) -> str:
    """`value` as text that every store can find something by: as `plain_text`, and not longer than an index takes."""
    text = plain_text(path, value)
    if (length := len(text.encode())) > LONGEST_KEY:
        raise UnstorableValue(f"{path} has {length} bytes, more than {LONGEST_KEY}", path=path)
    return text


def _encodes(value: str) -> bool:
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _state(path: str, value: Any) -> TaskState:
    try:
        return TaskState(value)
    except ValueError:
        raise UnstorableValue(f"{path} must be a TaskState, not {value!r}", path=path) from None


def plain_count(path: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > _LARGEST:
        raise UnstorableValue(f"{path} must be an int of 64 bits, not {type(value).__name__}", path=path)
    return int(value)


def plain_time(path: str, value: Any) -> datetime:
    try:
        if isinstance(value, datetime) and value.tzinfo is not None:
            return value.astimezone(UTC)
    except OverflowError:
        pass  # an hour before the year 1 is no instant in UTC
    raise UnstorableValue(f"{path} must be an aware time, not {value!r}", path=path)


def _optional(check: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    return lambda path, value: None if value is None else check(path, value)


_BY_TYPE: dict[str, Callable[[str, Any], Any]] = {
    "str": plain_text,
    "TaskState": _state,
    "int": plain_count,
    "str | None": _optional(plain_text),
    "datetime | None": _optional(plain_time),
}
_CHECKS: Mapping[str, Callable[[str, Any], Any]] = {field.name: _BY_TYPE[str(field.type)] for field in fields(Task)}
