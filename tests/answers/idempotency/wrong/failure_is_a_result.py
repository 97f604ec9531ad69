# wrong: the error becomes the result of a completed task
# diagnosed: a failure is stored as a success
from dataclasses import replace

from labkit import TaskNotFound, TaskState


def execute_task_if_not_done(store, task_id, work):
    task = store.get(task_id)
    if task is None:
        raise TaskNotFound(task_id)
    if task.state in (TaskState.COMPLETED, TaskState.CANCELLED):
        return task
    task = store.save(replace(task, state=TaskState.RUNNING))
    try:
        result = work(task.user_input, task.id)
    except Exception as error:
        result = f"error: {error}"
    return store.save(replace(task, state=TaskState.COMPLETED, result=result))
