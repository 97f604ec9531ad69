# wrong: a completed task with an empty result is done again
# diagnosed: a falsy result is taken for no result
from dataclasses import replace

from labkit import TaskNotFound, TaskState


def resume_task(store, task_id, work):
    task = store.get(task_id)
    if task is None:
        raise TaskNotFound(task_id)
    if (task.result and task.state == TaskState.COMPLETED) or task.state == TaskState.CANCELLED:
        return task
    if task.state == TaskState.FAILED:
        task = store.save(replace(task, state=TaskState.PENDING, error=None))

    if task.state != TaskState.COMPLETED:
        task = store.save(replace(task, state=TaskState.RUNNING))
    try:
        result = work(task.user_input, task.id)
    except Exception as error:
        store.save(replace(task, state=TaskState.FAILED, error=str(error)))
        raise
    return store.save(replace(task, state=TaskState.COMPLETED, result=result))
