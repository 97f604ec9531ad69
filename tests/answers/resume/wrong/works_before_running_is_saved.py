# wrong: running is saved after the work
# diagnosed: running is not saved before the work
from dataclasses import replace

from labkit import TaskNotFound, TaskState


def resume_task(store, task_id, work):
    task = store.get(task_id)
    if task is None:
        raise TaskNotFound(task_id)
    if task.state in (TaskState.COMPLETED, TaskState.CANCELLED):
        return task
    if task.state == TaskState.FAILED:
        task = store.save(replace(task, state=TaskState.PENDING, error=None))


    try:
        result = work(task.user_input, task.id)
    except Exception as error:
        task = store.save(replace(task, state=TaskState.RUNNING))
        store.save(replace(task, state=TaskState.FAILED, error=str(error)))
        raise
    task = store.save(replace(task, state=TaskState.RUNNING))
    return store.save(replace(task, state=TaskState.COMPLETED, result=result))
