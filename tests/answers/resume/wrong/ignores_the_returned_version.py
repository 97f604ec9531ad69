# wrong: goes on with its own copy after save, whose version is old
# diagnosed: the version that save returned
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

    task = replace(task, state=TaskState.RUNNING)
    store.save(task)
    try:
        result = work(task.user_input, task.id)
    except Exception as error:
        store.save(replace(task, state=TaskState.FAILED, error=str(error)))
        raise
    return store.save(replace(task, state=TaskState.COMPLETED, result=result))
