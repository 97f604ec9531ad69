# right: as the chapter builds it, resume prepares the task and hands over to an execute that reads it again
from dataclasses import replace

from labkit import TaskNotFound, TaskState


def load(store, task_id):
    if (task := store.get(task_id)) is None:
        raise TaskNotFound(f"task not found: {task_id}")
    return task


def execute_task(store, task_id, work):
    task = load(store, task_id)
    if task.state in (TaskState.COMPLETED, TaskState.CANCELLED):
        return task
    task = store.save(replace(task, state=TaskState.RUNNING))
    result = error = None
    try:
        result = work(task.user_input, task_id)
    except Exception as caught:
        error = caught
        task = replace(task, state=TaskState.FAILED, error=str(caught))
    else:
        task = replace(task, state=TaskState.COMPLETED, result=result)
    task = store.save(task)
    if error:
        raise error
    return task


def resume_task(store, task_id, work):
    task = load(store, task_id)
    if task.state == TaskState.FAILED:
        store.save(replace(task, state=TaskState.PENDING, error=None))
    return execute_task(store, task_id, work)
