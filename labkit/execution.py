"""Run a task so that its effect happens once, however often the process dies: state, effect under a key, result.

Before the work starts `running` is stored; the work gets the task id as idempotency key; then the end is stored. A
crash between the effect and the record leaves `running`: the next call does the work again under the same key, and
the outside world answers from its own record. Two callers at once may both call the work, under one key; one writes
the end, the other gets `StaleTask`.

Not handled here: an outside world that knows no keys, and who should pick up a dead process's task (see `queue`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from labkit.errors import TaskNotFound, UnstorableValue
from labkit.store.contract import StateStore, error_text
from labkit.task import FINAL, Task, TaskState

Work = Callable[[str, str], str]  # (user_input, idempotency_key) -> result


def execute_task_if_not_done(store: StateStore, task_id: str, work: Work) -> Task:
    """The finished task: as stored when it was done or cancelled, else after running `work` under its key."""
    task = _find(store, task_id)
    return task if task.state in FINAL else _run(store, task, work)


def resume_task(store: StateStore, task_id: str, work: Work) -> Task:
    """The same for a task that a crash or a failure left behind; a failed one first goes back to pending."""
    task = _find(store, task_id)
    if task.state in FINAL:
        return task
    if task.state == TaskState.FAILED:
        task = store.save(replace(task, state=TaskState.PENDING, error=None))
    return _run(store, task, work)


def _find(store: StateStore, task_id: str) -> Task:
    task = store.get(task_id)
    if task is None:
        raise TaskNotFound(f"there is no task {task_id!r}")
    return task


def _run(store: StateStore, task: Task, work: Work) -> Task:
    running = store.save(replace(task, state=TaskState.RUNNING))
    try:
        result = work(running.user_input, running.id)
    except Exception as error:  # subtle: not BaseException, a crash must leave the task running
        _fail(store, running, error)
        raise
    # crash here: the effect is done and the record is lost; the key makes the next call harmless
    try:
        return store.save(replace(running, state=TaskState.COMPLETED, result=result, error=None))
    except UnstorableValue as error:
        _fail(store, running, error)
        raise


def _fail(store: StateStore, running: Task, error: Exception) -> None:
    store.save(replace(running, state=TaskState.FAILED, error=error_text(error)))
