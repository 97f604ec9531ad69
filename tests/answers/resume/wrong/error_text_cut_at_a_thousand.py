# wrong: an error is cut after a thousand characters
# diagnosed: the text of the error is lost: only its beginning
from dataclasses import replace

from labkit import TaskNotFound, TaskState


def resume_task(store, task_id, work):
    task = store.get(task_id)
    if task is None:
        raise TaskNotFound(f"there is no task {task_id!r}")
    if task.state in (TaskState.COMPLETED, TaskState.CANCELLED):
        return task
    if task.state == TaskState.FAILED:
        task = store.save(replace(task, state=TaskState.PENDING, error=None))
    task = store.save(replace(task, state=TaskState.RUNNING))
    try:
        result = work(task.user_input, task.id)
    except Exception as error:
        store.save(replace(task, state=TaskState.FAILED, error=str(error)[:1000]))
        raise
    return store.save(replace(task, state=TaskState.COMPLETED, result=result))
