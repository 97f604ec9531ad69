"""Tasks in a dictionary: atomic for the threads of one process, and gone with it.

Not handled here: a crash. Everything is lost with the process, which is what a test wants and a workflow does not.
"""

from __future__ import annotations

from dataclasses import replace
from threading import Lock

from labkit.clock import Clock
from labkit.store.contract import StepRunner, key_taken, log_written, plain_text, storable, written
from labkit.task import Task, TaskState


class MemoryStore(StepRunner):
    """Tasks in memory. The lock is held for no longer than a look and a write."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tasks: dict[str, Task] = {}
        self._owners: dict[str, str] = {}  # idempotency key -> task id
        self._lock = Lock()

    def get(self, id: str) -> Task | None:
        with self._lock:
            task = self._tasks.get(plain_text("id", id))
        return task and replace(task)

    def save(self, task: Task) -> Task:
        task = storable(task)
        with self._lock:
            stored = self._tasks.get(task.id)
            after = written(task, stored, self._clock.now())
            self._own_key(stored, after)
            self._tasks[task.id] = after
        return replace(log_written(after))

    def list_by_state(self, state: TaskState) -> list[Task]:
        with self._lock:
            chosen = [replace(task) for task in self._tasks.values() if task.state == TaskState(state)]
        return sorted(chosen, key=lambda task: (task.created_at, task.id))

    def _own_key(self, stored: Task | None, after: Task) -> None:
        key = after.idempotency_key
        if key is not None and self._owners.setdefault(key, after.id) != after.id:
            raise key_taken(after)
        if stored is not None and stored.idempotency_key not in (None, key):
            del self._owners[str(stored.idempotency_key)]

    def __repr__(self) -> str:
        return f"<MemoryStore {len(self._tasks)} tasks>"
