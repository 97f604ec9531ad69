# wrong: when the failure cannot be stored the caller gets the task and no error
# diagnosed: the error of the work is swallowed
from dataclasses import replace

from labkit import StaleTask, TaskNotFound, TaskState


def resume_task(store, task_id, work):
    task = store.get(task_id)
    if task is None:
        raise TaskNotFound(task_id)
    if task.state in (TaskState.COMPLETED, TaskState.CANCELLED):
        return task
    if task.state == TaskState.FAILED:
        task = store.save(replace(task, state=TaskState.PENDING, error=None))
    task = store.save(replace(task, state=TaskState.RUNNING))
    try:
        result = work(task.user_input, task.id)
    except Exception as error:
        try:
            store.save(replace(task, state=TaskState.FAILED, error=str(error)))
        except StaleTask:
            return store.get(task_id)
        raise
    return store.save(replace(task, state=TaskState.COMPLETED, result=result))
