# right: a context manager that books what happened in its body
from contextlib import contextmanager
from dataclasses import replace

from labkit import TaskNotFound, TaskState

OVER = frozenset({TaskState.COMPLETED, TaskState.CANCELLED})


@contextmanager
def booked(store, running):
    ended = {}
    try:
        yield ended
    except Exception as error:
        store.save(replace(running, state=TaskState.FAILED, error=f"{type(error).__qualname__}: {error}"))
        raise
    ended["task"] = store.save(replace(running, state=TaskState.COMPLETED, result=ended["result"]))


def resume_task(store, task_id, work):
    task = store.get(task_id)
    if task is None:
        raise TaskNotFound(task_id)
    if task.state in OVER:
        return task
    if task.state == "failed":
        task = store.save(replace(task, state=TaskState.PENDING, error=None))
    running = store.save(replace(task, state=TaskState.RUNNING))
    with booked(store, running) as ended:
        ended["result"] = work(running.user_input, running.id)
    return ended["task"]
