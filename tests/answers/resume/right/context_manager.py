# right: a context manager that books what happened in its body; uses execute_step for the ways to running
from contextlib import contextmanager
from dataclasses import replace

from labkit import TaskState

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


def to(state, **changes):
    return lambda task: replace(task, state=state, **changes)


def resume_task(store, task_id, work):
    task = store.get(task_id)
    if task is not None and task.state in OVER:
        return task
    if task is not None and task.state == "failed":
        store.execute_step(task_id, to(TaskState.PENDING, error=None))
    running = store.execute_step(task_id, to(TaskState.RUNNING))
    with booked(store, running) as ended:
        ended["result"] = work(running.user_input, running.id)
    return ended["task"]
