# wrong: an unknown id is answered with None
# diagnosed: an unknown id is not TaskNotFound
from dataclasses import replace

from labkit import TaskState


def resume_task(store, task_id, work):
    task = store.get(task_id)
    if task is None:
        return None
    if task.state in (TaskState.COMPLETED, TaskState.CANCELLED):
        return task
    if task.state == TaskState.FAILED:
        task = store.save(replace(task, state=TaskState.PENDING, error=None))

    task = store.save(replace(task, state=TaskState.RUNNING))
    try:
        result = work(task.user_input, task.id)
    except Exception as error:
        store.save(replace(task, state=TaskState.FAILED, error=str(error)))
        raise
    return store.save(replace(task, state=TaskState.COMPLETED, result=result))
