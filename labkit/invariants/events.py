"""One thing that happened to a task, in the words of the domain instead of SQL, and the line in which a record keeps it.

Not handled here: noticing that it happened (see `watch`).
"""

from __future__ import annotations

from dataclasses import dataclass

KINDS = ("submitted", "claimed", "written", "refused", "effect", "done", "undone", "progress")
BETWEEN = " | "


@dataclass(frozen=True)
class TraceEvent:
    """`worker` and `attempt` say under which claim it happened ("" and 0: under none). `kind` is one of

    - `submitted`: the task was accepted
    - `claimed`: a worker got a lease on it
    - `written`: its state was changed under a lease
    - `refused`: such a change was fenced off, and nothing changed
    - `effect`: the outside world did something for it (`name`), once for each `key`
    - `done`, `undone`: a step (`name`) of its saga, or the undo of one, is in the log
    - `progress`: those who watch were told; `name` is the status, and `completed` and `error` are the last that they hear
    """

    kind: str
    task_id: str
    worker: str = ""
    attempt: int = 0
    name: str = ""
    key: str = ""

    def __str__(self) -> str:
        by = f"{self.worker}#{self.attempt}" if self.worker else ""
        return f"{self.kind:<9} {self.task_id} {by:<5} {self.name}{f' key={self.key}' if self.key else ''}".rstrip()


def to_text(event: TraceEvent) -> str:
    """All but the kind, for a note in a record."""
    return BETWEEN.join((event.task_id, event.worker, str(event.attempt), event.name, event.key))


def from_text(kind: str, text: str) -> TraceEvent:
    """The inverse of `to_text`."""
    task_id, worker, attempt, name, key = text.split(BETWEEN)
    return TraceEvent(kind, task_id, worker, int(attempt), name, key)
