# wrong: an error of the work is not booked
# diagnosed: a failure is not stored
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

    task = store.save(replace(task, state=TaskState.RUNNING))
    result = work(task.user_input, task.id)
    return store.save(replace(task, state=TaskState.COMPLETED, result=result))
