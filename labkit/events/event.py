"""What can be told of a task, and which entry of the progress log tells it.

The log says that a run ended and how it was told; as what it ended stands with the task (see `progress.ends`). A failed task is two events, `agent.error` and
`task.failed`, for those who count errors and for those who follow tasks. A task that asks a person is `task.waiting`, each time that it asks.

Not handled here: who hears it, and when (see `bus`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from labkit.progress.update import ProgressUpdate
from labkit.task import Task, TaskState

COMPLETED, FAILED, CANCELLED, WAITING = "task.completed", "task.failed", "task.cancelled", "task.waiting"
ERROR, EXECUTED, LOST = "agent.error", "tool.executed", "events.lost"
ALL = "*"
TYPES = frozenset({COMPLETED, FAILED, CANCELLED, WAITING, ERROR, EXECUTED})
_OF_STATE: dict[TaskState, tuple[str, ...]] = {TaskState.COMPLETED: (COMPLETED,), TaskState.FAILED: (ERROR, FAILED), TaskState.CANCELLED: (CANCELLED,)}


@dataclass(frozen=True)
class Event:
    """Something that happened to a task, at `time` (UTC). A failed task is `agent.error` and `task.failed`; `events.lost` is of no task."""

    type: str
    task_id: str
    payload: Mapping[str, Any]
    time: datetime | None = None

    def __repr__(self) -> str:
        return f"<Event {self.type} {self.task_id}>"


def events_of(update: ProgressUpdate, ended: Task | None) -> list[Event]:
    """The events that an entry of the log tells; `ended` is the task as that run left it, if it is the end of one."""
    types: tuple[str, ...]
    payload: dict[str, Any]
    if update.status == "tool_result":
        types, payload = (EXECUTED,), {"tool": update.tool, "step": update.step, "message": update.message}
    elif update.waiting:
        types, payload = (WAITING,), {"question": update.message}
    elif ended is not None:
        types, payload = _OF_STATE[ended.state], {"error": update.message}
        if ended.state == TaskState.COMPLETED:
            payload = {"result": ended.result}
    else:
        return []
    return [Event(type_, update.task_id, MappingProxyType(payload), update.time) for type_ in types]
