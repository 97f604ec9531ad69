# wrong: a task of a priority below zero is left alone, though it was asked for by its id
# diagnosed: a task is left alone for its time or its priority
from dataclasses import replace

from labkit import TaskNotFound, TaskState


def resume_task(store, task_id, work):
    task = store.get(task_id)
    if task is None:
        raise TaskNotFound(task_id)
    if task.state in (TaskState.COMPLETED, TaskState.CANCELLED) or task.priority < 0:
        return task
    if task.state == TaskState.FAILED:
        task = store.save(replace(task, state=TaskState.PENDING, error=None))
    task = store.save(replace(task, state=TaskState.RUNNING))
    try:
        result = work(task.user_input, task_id)
    except Exception as error:
        store.save(replace(task, state=TaskState.FAILED, error=str(error)))
        raise
    return store.save(replace(task, state=TaskState.COMPLETED, result=result))
