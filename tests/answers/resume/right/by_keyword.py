# right: names every argument as the contract does
from dataclasses import replace

from labkit import TaskNotFound, TaskState


def resume_task(store, task_id, work):
    task = store.get(id=task_id)
    if task is None:
        raise TaskNotFound(task_id)
    if task.state in (TaskState.COMPLETED, TaskState.CANCELLED):
        return task
    if task.state == TaskState.FAILED:
        task = store.save(task=replace(task, state=TaskState.PENDING, error=None))
    task = store.save(task=replace(task, state=TaskState.RUNNING))
    try:
        result = work(user_input=task.user_input, idempotency_key=task.id)
    except Exception as error:
        store.save(task=replace(task, state=TaskState.FAILED, error=str(error)))
        raise
    return store.save(task=replace(task, state=TaskState.COMPLETED, result=result))
